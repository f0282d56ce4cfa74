// SPDX-License-Identifier: Apache-2.0

// The calls that compiled code makes on a rank. Without graphs each goes on to
// the rank. With graphs calls are first written down, up to where the CPU needs
// a result: this is a chain. The first time a chain is met it is enqueued call
// by call; the second time it is captured; from then on one launch is all. What
// is not a call of the device, such as notes for the watchdog, is done each
// time.

#ifndef WEFT_RT_CUDA_STEP_CALLS_H
#define WEFT_RT_CUDA_STEP_CALLS_H

#include "backends/cuda/chain.h"
#include "core/backend.h"

#include <memory>
#include <mutex>

struct CUevent_st;
struct CUgraphExec_st;
struct CUstream_st;

namespace weft::rt::cuda {

class CudaRank;

/// The words of pinned memory into which a graph copies the number of its
/// launch when its device has come to a collective, and when it is over.
struct Notes {
  int64_t reached, over;
};

/// A word of it, which the device may be writing.
inline int64_t readNote(const int64_t &word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

class StepCalls {
public:
  explicit StepCalls(CudaRank &rank) : rank(rank) {}
  ~StepCalls();

  /// Makes what capturing takes; nothing is captured without this.
  Status prepare();

  // Calls of the program, as in rank_api.h.
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

  /// A task begins, and ends: gives the last chain to the device.
  void begin();
  bool finish();

  /// After a failure: destroys the graphs, on any thread, since NCCL aborts a
  /// communicator only when no graph holds it. Nothing is launched any more.
  void dropGraphs();

  /// What was captured so far.
  void report(GraphReport &report) const;

private:
  /// A chain that was met.
  struct Known {
    Chain chain;
    int64_t runs = 0;
    bool isCaptured = false;
    CUgraphExec_st *graph = nullptr; // by graphLock
    Notes *notes = nullptr;          // [start], pinned
  };

  Known *find();
  Status runChain();
  bool addNumber(CallKind kind, int64_t number);
  bool runCalls(const Chain &chain);
  bool runCall(const Chain &chain, const ChainCall &call);
  Status capture(Known &known);
  Status tryCapture(Known &known);
  Status makeRoom(Known &known);
  Status captureCalls(Known &known);
  Status captureAll(Known &known);
  Status captureCall(const Known &known, const ChainCall &call, int64_t &start);
  Status captureStart(const Known &known, const ChainCall &call, int64_t start);
  Status captureEvent(const ChainCall &call, int32_t event);
  std::vector<int32_t> sidesOf(const Chain &chain) const;
  Status joinStreams(const Chain &chain);
  Status joinStream(CUstream_st *side);
  Status launchGraph(Known &known);
  bool book(Known &known);
  int64_t ticketOf(int64_t virtualTicket) const;

  static constexpr size_t mostKnown = 256;

  CudaRank &rank;
  bool isOn = false;
  Chain current;
  int64_t firstStart = 0;       // of the current chain, in the task
  std::vector<int64_t> tickets; // of the task's starts, as the rank knows them
  std::vector<std::unique_ptr<Known>> known;
  std::mutex graphLock; // of all graphs
  bool isDropped = false;

  // For captures.
  std::vector<CUevent_st *> events; // ends of the chain's starts
  std::vector<bool> isCaptured;     // events of the program, in the chain
  CUevent_st *edge = nullptr;
  CUstream_st *inputNotes = nullptr;
  std::vector<CUstream_st *> endNotes; // [channel]
  void *deviceNumber = nullptr;        // the launch's, as the graph reads it
  int64_t *number = nullptr;           // the same, pinned

  GraphReport counts;
};

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_STEP_CALLS_H
