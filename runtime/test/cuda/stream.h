// SPDX-License-Identifier: Apache-2.0

// Streams and events of the emulated device.

#ifndef WEFT_RT_TEST_CUDA_STREAM_H
#define WEFT_RT_TEST_CUDA_STREAM_H

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

/// A queue, whose thread starts with its first work.
struct CUstream_st {
  CUstream_st();
  ~CUstream_st();

  void enqueue(std::function<void()> work);
  bool isIdle();

private:
  void serve();
  void delay();

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

  std::shared_ptr<Mark> current();
};

#endif // WEFT_RT_TEST_CUDA_STREAM_H
