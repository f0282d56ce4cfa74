// SPDX-License-Identifier: Apache-2.0

// Delays are random numbers of the seed and the stream's number, so that a run
// can be repeated as far as threads allow it.

#include "stream.h"

#include "emulated.h"

#include <atomic>
#include <chrono>

CUstream_st::CUstream_st() {
  static std::atomic<uint64_t> streams{0};
  static const int64_t seed = emulated::setting("EMULATED_GPU_DELAYS", 0);
  random = seed ? uint64_t(seed) * 0x9e3779b97f4a7c15u + ++streams : 0;
}

CUstream_st::~CUstream_st() {
  {
    std::lock_guard<std::mutex> guard(lock);
    isEnding = true;
    changed.notify_all();
  }
  if (worker.joinable())
    worker.join();
}

void CUstream_st::enqueue(std::function<void()> work) {
  std::lock_guard<std::mutex> guard(lock);
  queue.push_back(std::move(work));
  if (!worker.joinable())
    worker = std::thread([this] { serve(); });
  changed.notify_all();
}

bool CUstream_st::isIdle() {
  std::lock_guard<std::mutex> guard(lock);
  return queue.empty() && !isBusy;
}

void CUstream_st::delay(uint64_t &random) {
  if (random == 0)
    return;
  random = random * 6364136223846793005u + 1442695040888963407u;
  uint64_t choice = (random >> 33) % 100, amount = (random >> 40) % 1000;
  if (choice < 50)
    return;
  uint64_t longest = choice < 97 ? 200 : 3000; // microseconds
  std::this_thread::sleep_for(
      std::chrono::microseconds(longest * amount / 1000));
}

void CUstream_st::serve() {
  std::unique_lock<std::mutex> guard(lock);
  while (true) {
    changed.wait(guard, [&] { return isEnding || !queue.empty(); });
    if (queue.empty())
      return;
    std::function<void()> work = std::move(queue.front());
    queue.pop_front();
    isBusy = true;
    guard.unlock();
    delay(random);
    work();
    work = nullptr;
    guard.lock();
    isBusy = false;
  }
}

void CUevent_st::Mark::finish() {
  std::lock_guard<std::mutex> guard(lock);
  isDone = true;
  changed.notify_all();
}

void CUevent_st::Mark::await() {
  std::unique_lock<std::mutex> guard(lock);
  changed.wait(guard, [&] { return isDone; });
}

bool CUevent_st::Mark::done() {
  std::lock_guard<std::mutex> guard(lock);
  return isDone;
}

std::shared_ptr<CUevent_st::Mark> CUevent_st::current() {
  std::lock_guard<std::mutex> guard(lock);
  return last;
}
