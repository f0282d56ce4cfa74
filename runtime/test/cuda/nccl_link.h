// SPDX-License-Identifier: Apache-2.0

// How ranks of the emulated NCCL reach each other, in one process or in
// several: a socket for each direction of each pair, by names that are made of
// the communicator's id. A thread of each rank takes in what arrives.

#ifndef WEFT_RT_TEST_CUDA_NCCL_LINK_H
#define WEFT_RT_TEST_CUDA_NCCL_LINK_H

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace emulated {

/// A rank's end of a communicator.
class Link {
public:
  /// Begins to connect. Null: the name is taken.
  static std::shared_ptr<Link> open(const std::string &id, int size, int rank,
                                    const std::string &gpu);
  ~Link() { close(); }

  int size() const { return int(peers.size()); }
  bool isWhole() const { return whole; }
  bool isBroken() const { return broken; }
  bool sharesGpu() const { return shares; }

  void send(int to, const char *data, size_t bytes);
  /// False after an abort.
  bool receive(int from, size_t bytes, std::vector<char> &data);
  /// Says that a message of this rank was received, and waits for as many.
  void sayTaken(int to);
  void awaitTaken(int64_t messages);

  /// Graphs that hold calls of it. A communicator ends when none is left.
  void keep();
  void release();

  void abort();
  void close();

private:
  struct Peer {
    int to = -1, from = -1; // sockets
    std::string in;
    std::deque<std::vector<char>> mail;
  };
  Link(const std::string &id, int size, int rank, const std::string &gpu);
  void serve();
  bool connectAll();
  void take(int from);
  int acceptOne(int &rank);
  void write(int to, int32_t kind, const char *data, size_t bytes);

  const std::string id, gpu;
  const int rank;
  int listener = -1;
  std::vector<Peer> peers;
  std::mutex lock, writing;
  std::condition_variable changed;
  int64_t taken = 0, kept = 0;
  std::atomic<bool> whole{false}, broken{false}, shares{false},
      isAborted{false}, isClosing{false};
  std::thread worker;
};

} // namespace emulated

#endif // WEFT_RT_TEST_CUDA_NCCL_LINK_H
