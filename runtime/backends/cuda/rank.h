// SPDX-License-Identifier: Apache-2.0

// One rank: the thread that runs the program's entry, which only enqueues; the
// stream on which the rank computes; its memory; and the calls that compiled
// code makes on it.

#ifndef WEFT_RT_CUDA_RANK_H
#define WEFT_RT_CUDA_RANK_H

#include "backends/cuda/cudnn_attention.h"
#include "backends/cuda/flight.h"
#include "backends/cuda/late.h"
#include "backends/cuda/world.h"
#include "core/rank_log.h"
#include "core/streams.h"

#include <csetjmp>

namespace weft::rt::cuda {

/// A rank, used by its own thread, and between tasks by who calls the backend;
/// calls of a program that fail tell the world and return false (or a negative
/// ticket), after which the caller must unwind.
class CudaRank {
public:
  CudaRank(CudaWorld &world, int64_t rank, Device &device,
           Contractions &contractions, Attention &attentions);
  ~CudaRank();

  /// Makes streams, events, and what the rehearsed step needs.
  Status prepare(const Rehearsal &rehearsal);
  Status allocate(int64_t bytes);
  Status allocateOnHost(int64_t bytes);
  void *hostMemory() const { return onHost; }
  bool isOnHost(const void *address) const {
    auto *begin = static_cast<const char *>(onHost);
    return begin && address >= begin && address < begin + onHostBytes;
  }
  Status startThread();
  void join();

  // Between tasks; on any thread.
  Status upload(weft_rt_type type, const Region &region, const void *global,
                void *local);
  /// Cuts a tensor of this rank's device, also for other ranks of it.
  Status uploadOnDevice(weft_rt_type type, const std::vector<Shard> &shards,
                        const void *global);
  void *copyStream() const { return stream; }
  Status download(weft_rt_type type, const Region &region, const void *local,
                  void *global);
  Status fill(const Block &block, uint8_t value);
  /// Says whether the device has done all, or can do no more.
  bool isQuiet();

  // Calls of the program.
  bool gemm(int32_t op, const weft_rt_gemm &desc, const void *a, const void *b,
            void *c);
  bool attention(int32_t op, const weft_rt_attention &desc,
                 void *const *buffers, int64_t queryStart);
  bool launch(int32_t op, const weft_rt_launch &launch, void *const *buffers,
              const int64_t *scalars);
  bool copy(int32_t op, const weft_rt_copy &copy, const void *source,
            void *target);
  bool readScalar(int32_t op, weft_rt_type type, const void *source,
                  int64_t &value);
  int64_t startCollective(int32_t op, const weft_rt_collective &collective,
                          const void *const *in, void *const *out);
  bool wait(int32_t op, int64_t ticket);
  bool setStream(int32_t channel);
  bool record(int32_t event);
  bool await(int32_t event);
  void fail(const char *message);
  [[noreturn]] void leave();

  /// Starts a collective that a graph holds, for all but the device; a ticket,
  /// or a negative number.
  int64_t noteStart(const weft_rt_collective &collective, const Notes *notes,
                    int64_t launch);
  /// Makes the stream wait for all that the program has not waited for.
  Status awaitOpen();
  bool poisonsFlight() const { return world.options.poisonsFlight; }
  void report(GraphReport &report) const { calls.report(report); }

  /// A collective that has been ready for longer than the deadline, if any.
  LateCollective findLate(int64_t now, int64_t deadline);

  /// How many collectives of a channel this rank's device has come to.
  int64_t reachedOn(int32_t channel);

  /// Notes what is done before communicators are aborted, which ends the rest.
  void freezeFlight();
  void dropGraphs() { calls.dropGraphs(); }

  RankLog log;
  Device &device;
  int64_t id() const { return self.rank; }
  void *memory() const { return base; }

private:
  friend class StepCalls;
  /// What is on a channel's stream besides its collectives, and so in its
  /// order: a stream of the rank, which waits for the channel's and which it
  /// waits for, where an op of one comes after an op of the other.
  struct Side {
    CUstream_st *stream = nullptr; // null: there are only collectives
    /// Of the channel's last collective, if the stream has not waited for it.
    CUevent_st *pending = nullptr;
    Group *group = nullptr; // which records it; null: it is recorded
    int64_t number = 0;
    bool hasWork = false; // that the channel's next collective comes after
    bool isOpen = false;  // that the rank's stream has not waited for
  };

  static void *threadMain(void *rank);
  void serve();
  void runTask();
  bool check(const Status &status);
  Status awaitStream(bool sleeps = true);
  Status awaitProfiled();
  Status awaitPlace(InFlight *&entry);
  void noteFinished();
  bool isOwn(const void *address) const;
  Result<const void *> onDevice(const void *source, int64_t bytes);
  Status stage(void *local, void *host, int64_t bytes, bool isUpload);
  Status growWorkspace(int64_t bytes);
  /// How a call is done: by cuDNN's plan, or else by kernels.
  struct AttentionPlan {
    const DnnPlan *ofLibrary;
    int64_t scratchBytes;
  };
  Result<AttentionPlan> prepareAttention(const weft_rt_attention &desc,
                                         void *const *buffers,
                                         int64_t queryStart);
  Status tryAttention(const weft_rt_attention &desc, void *const *buffers,
                      int64_t queryStart);
  Status tryLaunch(const weft_rt_launch &launch, void *const *buffers,
                   const int64_t *scalars);
  Status tryCopy(const weft_rt_copy &copy, const void *source, void *target);
  Status moveOnDevice(const weft_rt_copy &copy, const void *source,
                      void *target);
  Status tryRead(weft_rt_type type, const void *source, int64_t &value);
  Status tryStart(int32_t op, const weft_rt_collective &collective,
                  const void *const *in, void *const *out, int64_t &ticket);
  Status tryNoteStart(const weft_rt_collective &collective, const Notes *notes,
                      int64_t launch, int64_t &ticket);
  Status tryWait(InFlight &entry);
  Status makeSide(int32_t channel);
  Status catchUp(Side &side);
  Status chosenStream(CUstream_st *&on);
  Status inputStream(int32_t channel, CUstream_st *&on);
  void noteStarted(int32_t channel, CUevent_st *done, Group *group,
                   int64_t number);
  Status order(CUstream_st *before, CUstream_st *after);
  Status joinSides();
  Status forkSides();
  Status tryRecord(int32_t event);
  Status tryAwait(int32_t event);
  Status injectFault(const weft_rt_collective &collective, int64_t number);
  Status checkStart(const weft_rt_collective &collective, const void *const *in,
                    void *const *out) const;
  Status poisonOutputs(const weft_rt_collective &collective,
                       const void *const *in, void *const *out,
                       CUstream_st *on);
  std::vector<InFlight *> channelHeads();
  void perturb();

  CudaWorld &world;
  Contractions &contractions;
  Attention &attentions;
  weft_rt_rank self;
  const weft_rt_program &program;
  const DriverApi &api;
  std::vector<Seat> seats; // [channel]
  std::vector<CUfunc_st *> kernels;
  std::vector<int64_t> sharedBytes; // that kernels may have; [kernel]
  std::vector<void *> params;       // of a launch
  CUstream_st *stream = nullptr;
  std::unique_ptr<DnnAttention> dnnAttention; // on it
  Streams streams;
  std::vector<Side> sides;          // [channel]
  std::vector<CUevent_st *> events; // of the program
  std::vector<bool> isInGraph;      // [event]: all that comes is after it
  CUevent_st *edge = nullptr;       // recorded and waited for at once
  Flight flight;
  StepCalls calls;
  void *base = nullptr;
  int64_t baseBytes = 0;
  void *staging = nullptr; // pinned
  void *onHost = nullptr;  // pinned: what lies in the host's memory
  int64_t onHostBytes = 0;
  Workspace workspace;
  struct Constant {
    void *data;
    int64_t bytes;
  };
  std::map<const void *, Constant> constants; // of the program, on the device
  uint64_t perturbState;
  pthread_t thread{};
  bool isStarted = false;
  jmp_buf home;
};

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_RANK_H
