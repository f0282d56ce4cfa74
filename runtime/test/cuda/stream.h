// SPDX-License-Identifier: Apache-2.0

// Streams and events of the emulated device, and how streams are captured.

#ifndef WEFT_RT_TEST_CUDA_STREAM_H
#define WEFT_RT_TEST_CUDA_STREAM_H

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

struct CUstream_st;
struct CUevent_st;

namespace emulated {

/// What a graph does, after what.
struct Node {
  std::function<void()> work;
  std::set<size_t> after;
  size_t lane; // the stream that it came from
};

/// Streams that are being captured together.
struct Capture {
  CUstream_st *origin;
  int mode;
  std::thread::id thread;
  std::vector<Node> nodes;
  std::vector<CUstream_st *> streams; // [lane]
  bool isInvalid = false;
};

/// CUresult
constexpr int captureUnsupported = 900, captureInvalidated = 901,
              captureMerge = 902, captureUnmatched = 903, captureUnjoined = 904,
              captureIsolation = 905, captureImplicit = 906,
              capturedEvent = 907, captureWrongThread = 908;

/// Held by all that looks at captures.
std::mutex &captureLock();

/// Spoils the captures that a call which is not to be made now would spoil, of
/// this thread, or, by what touches the legacy stream, of all; 0: none.
int refuseUnsafe();
int refuseLegacy();

} // namespace emulated

struct CUgraph_st {
  std::vector<emulated::Node> nodes;
  size_t lanes = 0;
};
struct CUgraphExec_st {
  std::shared_ptr<const CUgraph_st> graph;
};

/// A queue, whose thread starts with its first work.
struct CUstream_st {
  CUstream_st();
  ~CUstream_st();

  /// Puts work in the queue, or in the graph; an error of the driver.
  int submit(std::function<void()> work);
  void enqueue(std::function<void()> work);
  bool isIdle();

  int record(CUevent_st &event);
  int wait(CUevent_st &event);
  int query();
  int beginCapture(int mode);
  int endCapture(CUgraph_st **graph);
  void launch(const std::shared_ptr<const CUgraph_st> &graph);
  bool isCapturing();

private:
  void serve();
  static void delay(uint64_t &random);

  // With captureLock held.
  std::shared_ptr<emulated::Capture> capture;
  std::set<size_t> frontier; // what the next node comes after
  size_t lane = 0;

  std::mutex lock;
  std::condition_variable changed;
  std::deque<std::function<void()>> queue;
  bool isBusy = false, isEnding = false;
  uint64_t random; // 0: no delays
  std::thread worker;
};

/// What was recorded last; waits are for what was recorded when they were
/// enqueued.
struct CUevent_st {
  struct Mark {
    std::mutex lock;
    std::condition_variable changed;
    bool isDone = false;
    void finish();
    void await();
    bool done();
  };
  std::mutex lock;
  std::shared_ptr<Mark> last;
  std::shared_ptr<emulated::Capture> capture; // with captureLock held
  std::set<size_t> nodes;

  std::shared_ptr<Mark> current();
  int query();
};

#endif // WEFT_RT_TEST_CUDA_STREAM_H
