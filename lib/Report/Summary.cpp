// SPDX-License-Identifier: Apache-2.0

// Adds up a timeline. A wait's length is the exposed time of the collective
// that it has the flow of.

#include "Summary.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir::weft;
using llvm::StringRef;

StringRef mlir::weft::getKind(const Slice &slice) {
  return StringRef(slice.name).split(' ').first;
}

/// The collectives with exposed time and remarks.
static std::vector<CollectiveSummary> findCollectives(const Report &report) {
  llvm::DenseMap<int64_t, int64_t> exposed;
  llvm::StringMap<StringRef> why;
  for (const Slice &slice : report.timeline.slices)
    if (slice.kind == Slice::Wait && slice.flow >= 0)
      exposed[slice.flow] += slice.endNs - slice.beginNs;
  for (const ReportRemark &remark : report.remarks)
    why.try_emplace(remark.op, remark.text);
  std::vector<CollectiveSummary> result;
  for (const Slice &slice : report.timeline.slices)
    if (slice.kind == Slice::Collective)
      result.push_back({&slice, slice.flow < 0 ? 0 : exposed.lookup(slice.flow),
                        why.lookup(slice.name)});
  return result;
}

static std::vector<TrafficSummary>
addTraffic(const std::vector<CollectiveSummary> &collectives) {
  std::vector<TrafficSummary> rows;
  for (const CollectiveSummary &collective : collectives) {
    const Slice &slice = *collective.slice;
    StringRef kind = getKind(slice);
    auto row = llvm::find_if(rows, [&](const TrafficSummary &row) {
      return row.kind == kind && row.stream == slice.stream;
    });
    if (row == rows.end())
      row = rows.insert(rows.end(), {kind, slice.stream});
    ++row->count;
    row->bytes += slice.bytes;
    row->busyNs += slice.endNs - slice.beginNs;
    row->exposedNs += collective.exposedNs;
  }
  llvm::stable_sort(rows, [](const auto &a, const auto &b) {
    return std::tie(a.stream, a.kind) < std::tie(b.stream, b.kind);
  });
  return rows;
}

ReportSummary::ReportSummary(const Report &report)
    : collectives(findCollectives(report)), traffic(addTraffic(collectives)) {
  const Timeline &timeline = report.timeline;
  llvm::copy_if(
      collectives, std::back_inserter(exposed),
      [](const auto &collective) { return collective.exposedNs > 0; });
  llvm::stable_sort(exposed, [](const auto &a, const auto &b) {
    return a.exposedNs > b.exposedNs;
  });

  for (const TrafficSummary &row : traffic)
    collectiveNs += row.busyNs;
  hideableNs = std::max<int64_t>(
      collectiveNs -
          std::max<int64_t>(timeline.boundNs - timeline.computeNs, 0),
      0);
  hiddenNs =
      std::max<int64_t>(hideableNs - (timeline.stepNs - timeline.boundNs), 0);
  for (size_t i = 1; i < timeline.busyNs.size(); ++i) {
    if (timeline.busyNs[i] > busiestNs) {
      busiestNs = timeline.busyNs[i];
      busiestStream = i;
    }
  }

  auto peak = llvm::find_if(timeline.memory, [&](const MemoryPoint &point) {
    return point.bytes == timeline.peakBytes;
  });
  if (peak == timeline.memory.end())
    return;
  peakNs = peak->ns;
  for (const Owner &owner : timeline.owners)
    if (owner.firstStep <= peak->step && peak->step < owner.endStep)
      peakOwners.push_back(&owner);
  llvm::stable_sort(peakOwners, [](const Owner *a, const Owner *b) {
    return a->bytes > b->bytes;
  });
}
