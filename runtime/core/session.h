// SPDX-License-Identifier: Apache-2.0

// The session of session.h: programs, where their tensors lie in the ranks'
// memory, and the backend that runs them. session.cpp does the work;
// api/session_api.cpp puts the C functions over it.

#ifndef WEFT_RT_CORE_SESSION_H
#define WEFT_RT_CORE_SESSION_H

#include "core/backend_registry.h"
#include "core/executable.h"
#include "core/memory_layout.h"
#include "core/profile.h"

namespace weft::rt {

/// The memory of a rank of this process: where each argument, result and the
/// arena lie in it.
struct RankMemory {
  int64_t rank;
  MemoryLayout layout;
  std::vector<void *> args, results; // aliased results: the argument's place
  void *arena = nullptr;
  void *host = nullptr; // the arena in the host's memory
};

/// The place of this process that options say for a backend, or the
/// environment.
Result<JobPlace> placeFor(const BackendEntry &entry,
                          const weft_rt_options &options);

/// Arguments in, steps, results out.
class Session {
public:
  /// Checks the programs (one, or one per rank) and the options, and prepares
  /// all ranks. `executable`, if any, is kept as long as the session.
  static Result<std::unique_ptr<Session>>
  create(std::vector<const weft_rt_program *> programs,
         const weft_rt_options &options,
         std::unique_ptr<Executable> executable);

  /// Leaks everything when a rank is stuck in the program, which may still use
  /// it, and in a forked process, which has no ranks to end.
  static void close(std::unique_ptr<Session> session);

  const weft_rt_program &program() const { return *programs[0]; }
  const std::vector<int64_t> &ranks() const { return backend->localRanks(); }
  Status setArgument(int32_t index, const void *data, int64_t bytes);
  Status getResult(int32_t index, void *data, int64_t bytes);
  int32_t deviceNumber(int64_t rank) const {
    return backend->deviceNumber(rank);
  }
  Result<void *> deviceStream(int32_t device) const;
  Status setArgumentOnDevice(int32_t index, int32_t device, const void *data,
                             int64_t bytes);
  Status findResultOnDevice(int32_t index, int32_t &device, void *&data) const;
  Status run(int64_t steps, double *seconds);
  bool isUsable() const { return checkUsable().ok(); }
  weft_rt_stats stats() const;
  TrafficCount traffic(weft_rt_collective_kind kind, int32_t channel) const;
  Result<const std::vector<weft_rt_profile_row> *> profile();
  JobPlace place() const;
  const GraphReport &graphs() { return lastGraphs = backend->graphs(); }
  const char *flightRecord();
  const char *calls();
  Status writeTrace(const std::string &path) const;

private:
  Session(std::vector<const weft_rt_program *> programs,
          const weft_rt_options &options,
          std::unique_ptr<Executable> executable);

  Status start(const BackendEntry &entry, const BackendOptions &options);
  Status checkBackend(const std::string &name) const;
  Status allocateOnHost(std::vector<void *> &places);
  Status checkPlaces(const std::string &name,
                     const std::vector<void *> &places) const;
  Status checkUsable() const;
  Status checkArgumentsSet() const;
  Status checkWhole(const weft_rt_tensor &result,
                    const std::vector<bool> &isHere) const;
  Status checkArgument(int32_t index, int64_t bytes) const;
  Status checkResult(int32_t index) const;
  Status shardsToTake(int32_t index, std::vector<Shard> &shards);
  std::vector<Shard> shardsToGive(int32_t index);
  std::vector<int64_t> partsOf(const weft_rt_tensor &result,
                               int64_t process) const;
  bool isWholeEverywhere(const weft_rt_tensor &result) const;
  Status gatherResult(int32_t index, void *data, int64_t bytes);
  Status sendParts(int32_t index);
  Status receiveParts(const weft_rt_tensor &result, int64_t process,
                      void *data);
  Status note(Outcome outcome);
  Status poisonBuffers();
  Status runStep();
  bool isInterrupted();

  std::unique_ptr<Executable> executable;
  std::vector<const weft_rt_program *> programs; // one per rank
  bool poison, isProfiling, isTracing;
  int32_t (*poll)(void *);
  void *pollContext;
  int64_t lastPoll = 0;
  const int64_t process;                  // that has the ranks
  std::vector<RankMemory> memory;         // of the backend's local ranks
  std::vector<RankMemory *> memoryOfRank; // null: lives in another process
  std::unique_ptr<Backend> backend;
  std::vector<bool> isSet; // arguments
  int64_t stepsDone = 0;
  bool failed = false;
  std::string flightText, callText;
  Profile lastProfile;
  GraphReport lastGraphs;
};

} // namespace weft::rt

#endif // WEFT_RT_CORE_SESSION_H
