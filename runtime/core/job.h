// SPDX-License-Identifier: Apache-2.0

// The processes of a job, connected to the first one. They exchange what they
// need to know of each other, hand over tensors, and see at once if one of them
// fails or is gone. Connections are of TCP, without a secret: docs/security.md
// says who can reach them.

#ifndef WEFT_RT_CORE_JOB_H
#define WEFT_RT_CORE_JOB_H

#include "core/job_place.h"
#include "core/socket.h"
#include "core/wire.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace weft::rt {

/// Who is told what happens elsewhere; on the job's thread.
class JobListener {
public:
  virtual ~JobListener() = default;
  virtual void jobFailed(const Status &failure) = 0;
  /// A message for process 0.
  virtual void jobMessage(int64_t process, const std::string &bytes) = 0;
};

/// A process' place among the others.
class JobMember {
public:
  /// Meets the others. Each process has as many ranks, one after the other.
  static Result<std::unique_ptr<JobMember>>
  join(const JobPlace &place, int64_t ranksPerProcess, double deadlineSeconds);
  /// Tells the others that this process is done.
  ~JobMember();

  const JobPlace &place() const { return own; }
  bool isFirst() const { return own.process == 0; }
  int64_t processOf(int64_t rank) const { return rank / ranksPerProcess; }

  /// The ranks of a process: "rank 3", "ranks 4 to 7".
  std::string nameOf(int64_t process) const;

  /// What each process brings, for all of them; they call it in one order.
  /// Fails at the deadline.
  Result<std::vector<std::string>> exchange(const std::string &mine);

  /// Hands bytes from one process to another, one of which is the first, and
  /// the other calls the other function; after an exchange.
  Status send(int64_t to, const void *data, int64_t bytes);
  Status receive(int64_t from, void *data, int64_t bytes);

  /// Sends a message to process 0.
  void tell(const std::string &bytes);

  /// Ends the job on all processes, if this is the first failure.
  void fail(const Status &failure);
  bool hasFailed() const { return failed.load(std::memory_order_acquire); }
  Status failure();

  /// Notes that a step begins. Fails if somebody has left before it.
  Status beginStep();

  /// Who listens from now on, or null.
  void listen(JobListener *listener);

private:
  /// A connected process: all of them, or only the first.
  struct Peer {
    Descriptor control, data;
    std::string in, out;
    std::deque<std::string> blobs;
    bool isThere = false, hasLeft = false;
    int64_t steps = 0; // when it left
  };
  /// A connection that has not said yet what it is.
  struct Stranger {
    Descriptor socket;
    std::string in;
  };

  static constexpr int64_t protocol = 1; // moves with what is said

  JobMember(const JobPlace &place, int64_t ranksPerProcess,
            double deadlineSeconds);
  Status meet();
  Status lookAround(int64_t until);
  Status awaitWelcome(int64_t until);
  Status connectTo(Descriptor &socket, int64_t isData, int64_t deadline);
  std::vector<int64_t> others() const;
  Result<std::vector<std::string>> gather(const std::string &mine);
  Result<std::vector<std::string>> askFirst(const std::string &mine);
  Status awaitBlob(int64_t process, int64_t deadline, std::string &blob);
  Status lateness(int64_t process) const;
  Status goOn(int64_t lastMove);
  Status lost(const std::string &who, const Status &status);
  void post(int64_t process, FrameKind kind, const std::string &content);
  void leave();

  // On the job's thread.
  void serve();
  void readStrangers();
  void greet(Stranger &stranger, const Frame &frame);
  void refuse(Stranger &stranger, const std::string &why);
  void readPeer(int64_t process);
  void takeIn(int64_t process, const Frame &frame);
  void writePeer(int64_t process);
  void wake();
  bool isWanted(int64_t process) const;
  void checkLeft(int64_t process);
  static Status decodeFailure(const std::string &content);
  void failLocked(const Status &failure);
  void report();

  const JobPlace own;
  const int64_t ranksPerProcess, deadline; // the latter in nanoseconds
  std::mutex lock;
  std::condition_variable changed;
  std::vector<Peer> peers; // [process]; of a later process: the first alone
  std::vector<Stranger> strangers;
  std::deque<std::pair<int64_t, std::string>> messages; // to be reported
  Descriptor listener, wakeUp;
  std::thread thread;
  bool isEnding = false, isReported = false;
  int64_t steps = 0;
  Status firstFailure;
  std::atomic<bool> failed{false};
  std::mutex listenerLock; // taken before the other one
  JobListener *listening = nullptr;
};

} // namespace weft::rt

#endif // WEFT_RT_CORE_JOB_H
