// SPDX-License-Identifier: Apache-2.0

// Plain text, a line for each figure.

#include "Summary.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

std::string milliseconds(int64_t ns) {
  return llvm::formatv("{0,12:F3} ms", double(ns) / 1e6).str();
}

std::string percent(int64_t part, int64_t whole) {
  return llvm::formatv("{0:F1} %",
                       whole ? 100.0 * double(part) / double(whole) : 0.0)
      .str();
}

std::string mebibytes(int64_t bytes) {
  return llvm::formatv("{0:F1} MiB", double(bytes) / (1 << 20)).str();
}

/// Collectives of a stream, or of all, with what the program waits for each.
struct Use {
  const Slice *slice = nullptr;
  int64_t exposedNs = 0;
};

/// By flow, which numbers collectives.
std::vector<Use> getCollectives(const Timeline &timeline) {
  std::vector<Use> uses;
  for (const Slice &slice : timeline.slices) {
    if (slice.flow < 0)
      continue;
    if (size_t(slice.flow) >= uses.size())
      uses.resize(slice.flow + 1);
    if (slice.kind == Slice::Collective)
      uses[slice.flow].slice = &slice;
    else
      uses[slice.flow].exposedNs += slice.endNs - slice.beginNs;
  }
  return uses;
}

void printChannels(const Timeline &timeline, const std::vector<Use> &uses,
                   raw_ostream &os) {
  if (uses.empty())
    return;
  os << llvm::formatv("{0,-24} {1,11} {2,14} {3,15} {4,15}\n", "channel",
                      "collectives", "received", "busy", "exposed");
  for (size_t i = 1; i < timeline.streams.size(); ++i) {
    int64_t count = 0, bytes = 0, exposed = 0;
    for (const Use &use : uses) {
      if (use.slice->stream != int(i))
        continue;
      ++count;
      bytes += use.slice->bytes;
      exposed += use.exposedNs;
    }
    if (count)
      os << llvm::formatv("{0,-24} {1,11} {2,14} {3} {4}\n",
                          timeline.streams[i], count, mebibytes(bytes),
                          milliseconds(timeline.busyNs[i]),
                          milliseconds(exposed));
  }
}

void printExposed(std::vector<Use> uses, raw_ostream &os) {
  llvm::stable_sort(uses, [](const Use &a, const Use &b) {
    return a.exposedNs > b.exposedNs;
  });
  constexpr size_t most = 5;
  if (uses.empty() || uses.front().exposedNs == 0)
    return;
  os << "exposed longest:\n";
  for (size_t i = 0; i < std::min(most, uses.size()); ++i)
    if (uses[i].exposedNs)
      os << "  " << milliseconds(uses[i].exposedNs) << " of "
         << milliseconds(uses[i].slice->endNs - uses[i].slice->beginNs) << "  "
         << uses[i].slice->name << "\n";
}

void printRanks(const Simulation &simulation, raw_ostream &os) {
  os << "ranks           " << simulation.numRanks << ", "
     << simulation.numClasses << " simulated\n";
  if (simulation.numMeasuredSteps)
    os << "durations       of " << simulation.numMeasuredSteps
       << " steps, step time is the mean, all else of one like it\n";
  else if (simulation.fastestNs != simulation.stepNs)
    os << "ranks done at " << milliseconds(simulation.fastestNs)
       << " the first, " << milliseconds(simulation.medianNs)
       << " the middle one, " << milliseconds(simulation.stepNs) << " rank "
       << simulation.slowestRank << "\n";
}

} // namespace

void weft::printSummary(const Simulation &simulation, raw_ostream &os) {
  const Timeline &timeline = simulation.timeline;
  os << timeline.title << ", rank " << timeline.rank << "\n";
  printRanks(simulation, os);
  int64_t step = simulation.stepNs;
  auto line = [&](StringRef name, int64_t ns, const Twine &text) {
    os << llvm::formatv("{0,-12}", name) << milliseconds(ns) << "  " << text
       << "\n";
  };
  line("step time", step, "the last rank");
  line("compute", timeline.computeNs, percent(timeline.computeNs, step));
  line("exposed", timeline.exposedNs, percent(timeline.exposedNs, step));
  line("bound", timeline.boundNs,
       "gap " + percent(timeline.stepNs - timeline.boundNs, timeline.boundNs));
  os << "peak memory " << mebibytes(timeline.peakBytes) << ": "
     << mebibytes(timeline.fixedBytes) << " arguments and results, "
     << mebibytes(timeline.peakBytes - timeline.fixedBytes)
     << " in an arena of " << mebibytes(timeline.arenaBytes) << "\n";
  if (timeline.hostBytes > 0)
    os << "in the host's memory " << mebibytes(timeline.hostBytes) << "\n";
  std::vector<Use> uses = getCollectives(timeline);
  printChannels(timeline, uses, os);
  printExposed(uses, os);
}
