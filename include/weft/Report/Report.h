// SPDX-License-Identifier: Apache-2.0

// A schedule as a page for people: one HTML file that needs nothing else, with
// the numbers, the timeline, memory over time with its owners, and what the
// compiler says about its decisions. The same data gives the same bytes.

#ifndef WEFT_REPORT_REPORT_H
#define WEFT_REPORT_REPORT_H

#include "weft/Support/Timeline.h"

#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir::weft {

/// What the compiler says about an op.
struct ReportRemark {
  /// The op's `weft.op`, which is the name of its slices; empty: none.
  std::string op;
  std::string text;
  /// Where in the input it is about, as in "step.mlir:12"; empty: unknown.
  std::string place;
};

/// What is computed again instead of being kept.
struct ReportRecomputed {
  std::string what;
  int64_t count = 0, nanoseconds = 0;
  /// What would have been kept.
  int64_t bytes = 0;
};

/// One schedule of a step, and what is known about it beside its timeline.
struct Report {
  /// What was compiled, without a folder.
  std::string title;
  std::string policy;
  std::string machine;
  /// The mesh's axes and sizes, as in "fsdp=2, tp=4"; empty: one rank.
  std::string mesh;
  Timeline timeline;
  /// The longest chain of ops that depend on each other.
  std::optional<int64_t> criticalPathNs;
  /// The largest of the schedule's own bounds.
  std::string boundTerm = "heads and tails";
  /// What arguments, results and arena may take together.
  std::optional<int64_t> memoryLimit;
  /// Bytes of arguments, results and arena; 0: not known.
  int64_t neededBytes = 0;
  /// What a rank has on the machine.
  std::optional<int64_t> machineBytes;
  /// What frees most comes first.
  std::vector<ReportRecomputed> recomputed;
  std::vector<ReportRemark> remarks;
};

/// Writes the page of one schedule.
void writeReport(const Report &report, llvm::raw_ostream &os);

/// Writes the page that compares two schedules of one step, on one time axis.
void writeComparison(const Report &first, const Report &second,
                     llvm::raw_ostream &os);

} // namespace mlir::weft

#endif // WEFT_REPORT_REPORT_H
