// SPDX-License-Identifier: Apache-2.0

// A captured stream has no queue: what is put on it becomes a node after the
// stream's last ones; an event that is recorded on it stands for these; waiting
// for it brings another stream into the capture.

#include "stream.h"

#include "emulated.h"

#include <algorithm>

using emulated::Capture;
using emulated::captureLock;

namespace {

constexpr int invalidHandle = 400;
constexpr int global = 0, threadLocal = 1; // CUstreamCaptureMode

std::vector<std::weak_ptr<Capture>> &captures() {
  static auto *all = new std::vector<std::weak_ptr<Capture>>;
  return *all;
}

} // namespace

std::mutex &emulated::captureLock() {
  static auto *lock = new std::mutex;
  return *lock;
}

int emulated::refuseUnsafe() {
  std::lock_guard<std::mutex> guard(captureLock());
  int result = 0;
  for (auto &known : captures()) {
    std::shared_ptr<Capture> capture = known.lock();
    bool isOwn = capture && capture->thread == std::this_thread::get_id();
    if (!capture ||
        !(capture->mode == global || (capture->mode == threadLocal && isOwn)))
      continue;
    capture->isInvalid = true;
    result = captureUnsupported;
  }
  return result;
}

int emulated::refuseLegacy() {
  std::lock_guard<std::mutex> guard(captureLock());
  int result = invalidHandle;
  for (auto &known : captures())
    if (std::shared_ptr<Capture> capture = known.lock()) {
      capture->isInvalid = true;
      result = captureImplicit;
    }
  return result;
}

bool CUstream_st::isCapturing() {
  std::lock_guard<std::mutex> guard(captureLock());
  return capture != nullptr;
}

int CUstream_st::submit(std::function<void()> work) {
  {
    std::lock_guard<std::mutex> guard(captureLock());
    if (capture) {
      if (capture->isInvalid)
        return emulated::captureInvalidated;
      capture->nodes.push_back({std::move(work), frontier, lane});
      frontier = {capture->nodes.size() - 1};
      return 0;
    }
  }
  enqueue(std::move(work));
  return 0;
}

int CUstream_st::record(CUevent_st &event) {
  {
    std::lock_guard<std::mutex> guard(captureLock());
    event.capture = capture;
    if (capture) {
      event.nodes = frontier;
      return capture->isInvalid ? emulated::captureInvalidated : 0;
    }
  }
  auto mark = std::make_shared<CUevent_st::Mark>();
  {
    std::lock_guard<std::mutex> guard(event.lock);
    event.last = mark;
  }
  enqueue([mark] { mark->finish(); });
  return 0;
}

int CUstream_st::wait(CUevent_st &event) {
  {
    std::lock_guard<std::mutex> guard(captureLock());
    if (event.capture) {
      if (event.capture->isInvalid)
        return emulated::captureInvalidated;
      if (capture && capture != event.capture) {
        capture->isInvalid = event.capture->isInvalid = true;
        return emulated::captureMerge;
      }
      if (!capture) {
        capture = event.capture;
        frontier.clear();
        auto &known = capture->streams;
        lane =
            size_t(std::find(known.begin(), known.end(), this) - known.begin());
        if (lane == known.size())
          known.push_back(this);
      }
      frontier.insert(event.nodes.begin(), event.nodes.end());
      return 0;
    }
    if (capture) { // waits for what the graph does not hold
      capture->isInvalid = true;
      return emulated::captureIsolation;
    }
  }
  if (std::shared_ptr<CUevent_st::Mark> mark = event.current())
    enqueue([mark] { mark->await(); });
  return 0;
}

int CUstream_st::query() {
  {
    std::lock_guard<std::mutex> guard(captureLock());
    if (capture) {
      capture->isInvalid = true;
      return emulated::captureUnsupported;
    }
  }
  return isIdle() ? 0 : weft::rt::cuda::driver::notReady;
}

int CUevent_st::query() {
  {
    std::lock_guard<std::mutex> guard(captureLock());
    if (capture) {
      capture->isInvalid = true;
      return emulated::capturedEvent;
    }
  }
  std::shared_ptr<Mark> mark = current();
  return !mark || mark->done() ? 0 : weft::rt::cuda::driver::notReady;
}

int CUstream_st::beginCapture(int mode) {
  std::lock_guard<std::mutex> guard(captureLock());
  if (capture)
    return emulated::captureUnmatched;
  capture = std::make_shared<Capture>();
  capture->origin = this;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->streams = {this};
  frontier.clear();
  lane = 0;
  captures().push_back(capture);
  return 0;
}

int CUstream_st::endCapture(CUgraph_st **graph) {
  std::lock_guard<std::mutex> guard(captureLock());
  *graph = nullptr;
  if (!capture || capture->origin != this)
    return emulated::captureUnmatched;
  std::shared_ptr<Capture> ended = capture;
  if (ended->thread != std::this_thread::get_id() && ended->mode != 2)
    return emulated::captureWrongThread;
  // All nodes must come before the origin's last ones.
  std::set<size_t> joined = frontier;
  for (size_t i = ended->nodes.size(); i-- > 0;)
    if (joined.count(i))
      joined.insert(ended->nodes[i].after.begin(), ended->nodes[i].after.end());
  for (CUstream_st *stream : ended->streams) {
    stream->capture = nullptr;
    stream->frontier.clear();
  }
  if (ended->isInvalid)
    return emulated::captureInvalidated;
  if (joined.size() != ended->nodes.size())
    return emulated::captureUnjoined;
  *graph = new CUgraph_st{std::move(ended->nodes), ended->streams.size()};
  return 0;
}

/// Each stream of the capture is a thread, which waits for what its nodes come
/// after.
void CUstream_st::launch(const std::shared_ptr<const CUgraph_st> &graph) {
  enqueue([this, graph] {
    std::vector<CUevent_st::Mark> done(graph->nodes.size());
    std::vector<std::thread> lanes;
    for (size_t lane = 0; lane < graph->lanes; ++lane)
      lanes.emplace_back([&, lane] {
        uint64_t own = random ? random + lane * 0x9e3779b97f4a7c15u : 0;
        for (size_t i = 0; i < graph->nodes.size(); ++i) {
          const emulated::Node &node = graph->nodes[i];
          if (node.lane != lane)
            continue;
          for (size_t earlier : node.after)
            done[earlier].await();
          delay(own);
          node.work();
          done[i].finish();
        }
      });
    for (std::thread &lane : lanes)
      lane.join();
  });
}
