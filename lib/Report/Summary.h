// SPDX-License-Identifier: Apache-2.0

// What a report says that its timeline does not say outright: which collective
// is exposed for how long, what each channel carries, whose the peak is.

#ifndef WEFT_LIB_REPORT_SUMMARY_H
#define WEFT_LIB_REPORT_SUMMARY_H

#include "weft/Report/Report.h"

#include "llvm/ADT/StringRef.h"

namespace mlir::weft {

/// A collective, and how long the compute stream stood still for it.
struct CollectiveSummary {
  /// Its slice; the timeline outlives the summary.
  const Slice *slice;
  int64_t exposedNs = 0;
  /// The remark about it, or empty.
  llvm::StringRef why;
};

/// The collectives of one kind on one stream.
struct TrafficSummary {
  llvm::StringRef kind;
  int stream = -1;
  int64_t count = 0, bytes = 0, busyNs = 0, exposedNs = 0;
};

struct ReportSummary {
  explicit ReportSummary(const Report &report);

  /// In the order of the timeline.
  std::vector<CollectiveSummary> collectives;
  /// Those with exposure, the longest first.
  std::vector<CollectiveSummary> exposed;
  std::vector<TrafficSummary> traffic;
  /// The time that collectives take together.
  int64_t collectiveNs = 0;
  /// What of it has compute to run beside it in the best of cases, and what of
  /// that is hidden here: each nanosecond above the bound is one that is not.
  int64_t hideableNs = 0, hiddenNs = 0;
  /// The stream, other than compute, that is busy longest; -1: there is none.
  int busiestStream = -1;
  int64_t busiestNs = 0;
  /// When the most bytes are in use, first.
  int64_t peakNs = 0;
  /// The buffers that live then, the largest first.
  std::vector<const Owner *> peakOwners;
};

/// The kind of a collective: the first word of its name.
llvm::StringRef getKind(const Slice &slice);

} // namespace mlir::weft

#endif // WEFT_LIB_REPORT_SUMMARY_H
