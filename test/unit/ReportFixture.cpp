// SPDX-License-Identifier: Apache-2.0

// Lays out the slices of the made-up schedule one after the other.

#include "ReportFixture.h"

#include <algorithm>

using namespace mlir::weft;

namespace {

class FixtureBuilder {
public:
  explicit FixtureBuilder(bool ahead) : ahead(ahead) {
    timeline.streams = {"compute", "gather.fsdp", "reduce.fsdp", "experts.tp"};
    timeline.busyNs.resize(4);
    timeline.fixedBytes = 16 << 20;
  }

  void addLayer(int layer) {
    std::string name = "params.layers." + std::to_string(layer) + ".wq";
    int64_t gatherBegin = ahead ? free[1] : std::max(free[0], free[1]);
    int64_t gatherEnd = gatherBegin + gatherNs;
    int64_t gather =
        addCollective("all_gather " + name, 1, gatherBegin, gatherNs, 3 << 20);
    addWait("all_gather " + name, gather, gatherEnd);
    timeline.owners.push_back({"gathered " + name, 4 << 20, gatherBegin,
                               free[0] + computeNs, (layer % 5) * (4 << 20), 0,
                               0});
    addCompute("matmul #" + std::to_string(layer));
    int64_t reduceBegin = std::max(free[0], free[2]);
    pending = addCollective("reduce_scatter grads." + name, 2, reduceBegin,
                            reduceNs, 1 << 20);
    pendingEnd = reduceBegin + reduceNs;
    pendingName = "reduce_scatter grads." + name;
    if (layer % 4 == 3)
      addCollective("all_to_all tokens." + std::to_string(layer), 3, free[0],
                    5000, 1 << 18);
    timeline.owners.push_back({"grads." + name, 2 << 20, reduceBegin,
                               pendingEnd, (20 << 20) + (layer % 2) * (2 << 20),
                               0, 0});
  }

  Timeline finish() {
    if (pending >= 0)
      addWait(pendingName, pending, pendingEnd);
    timeline.stepNs = free[0];
    timeline.boundNs = timeline.computeNs + gatherNs;
    for (Owner &owner : timeline.owners)
      owner.endNs = std::min(owner.endNs, timeline.stepNs);
    addMemory();
    return timeline;
  }

private:
  static constexpr int64_t gatherNs = 30000, computeNs = 40000,
                           reduceNs = 20000;

  void addCompute(std::string name) {
    timeline.slices.push_back({std::move(name), 0, free[0], free[0] + computeNs,
                               Slice::Compute, 0, -1, -1});
    free[0] += computeNs;
    timeline.computeNs += computeNs;
    timeline.busyNs[0] += computeNs;
  }

  int64_t addCollective(std::string name, int stream, int64_t begin,
                        int64_t length, int64_t bytes) {
    timeline.slices.push_back({std::move(name), stream, begin, begin + length,
                               Slice::Collective, bytes, flows,
                               std::min(free[0], begin)});
    timeline.busyNs[stream] += length;
    free[stream] = begin + length;
    return flows++;
  }

  void addWait(std::string name, int64_t flow, int64_t until) {
    int64_t end = std::max(free[0], until);
    timeline.slices.push_back(
        {std::move(name), 0, free[0], end, Slice::Wait, 0, flow, -1});
    timeline.exposedNs += end - free[0];
    free[0] = end;
  }

  /// Arguments, and what the owners take.
  void addMemory() {
    std::vector<MemoryPoint> changes = {{0, timeline.fixedBytes, 0}};
    for (Owner &owner : timeline.owners) {
      // A step for each nanosecond.
      owner.firstStep = owner.beginNs;
      owner.endStep = owner.endNs;
      changes.push_back({owner.beginNs, owner.bytes, owner.beginNs});
      changes.push_back({owner.endNs, -owner.bytes, owner.endNs});
    }
    // What dies at a time makes room for what begins then.
    std::stable_sort(changes.begin(), changes.end(),
                     [](const MemoryPoint &a, const MemoryPoint &b) {
                       return a.ns != b.ns ? a.ns < b.ns : a.bytes < b.bytes;
                     });
    int64_t bytes = 0;
    for (const MemoryPoint &change : changes) {
      bytes += change.bytes;
      if (!timeline.memory.empty() && timeline.memory.back().ns == change.ns)
        timeline.memory.back().bytes = bytes;
      else
        timeline.memory.push_back({change.ns, bytes, change.ns});
      timeline.peakBytes = std::max(timeline.peakBytes, bytes);
    }
  }

  bool ahead;
  Timeline timeline;
  int64_t free[4] = {};
  int64_t flows = 0, pending = -1, pendingEnd = 0;
  std::string pendingName;
};

} // namespace

Report mlir::weft::makeReportFixture(int layers, bool ahead) {
  FixtureBuilder builder(ahead);
  for (int layer = 0; layer < layers; ++layer)
    builder.addLayer(layer);
  Report report;
  report.title = "step.mlir";
  report.policy = ahead ? "best" : "sync";
  report.machine = "h100x8";
  report.mesh = "fsdp=4, tp=2";
  report.timeline = builder.finish();
  report.criticalPathNs = report.timeline.computeNs + 30000;
  report.timeline.arenaBytes = 24 << 20;
  report.recomputed = {{"matmul params.layers.*.wq", layers, 2500000, 1 << 20},
                       {"elements: exp, addf", 2 * layers, 100000, 0}};
  report.remarks = {
      {"", "each weight is gathered beside the layer before it", ""},
      {"all_gather params.layers.0.wq",
       "exposed 30.0 us: nothing can run before it", "step.mlir:7"}};
  return report;
}
