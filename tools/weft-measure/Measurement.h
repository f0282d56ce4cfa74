// SPDX-License-Identifier: Apache-2.0

// Measures what a machine description says, with the runtime's own products and
// collectives: all ranks do the same at once, as in a step, and the first one's
// clock counts.

#ifndef WEFT_TOOLS_WEFT_MEASURE_MEASUREMENT_H
#define WEFT_TOOLS_WEFT_MEASURE_MEASUREMENT_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weft::rt {

struct MeasureOptions {
  int64_t ranks = 1;
  /// Of each rank.
  int32_t threads = 1;
  /// Small sizes and one round: figures mean nothing, all else works. For
  /// tests.
  bool isQuick = false;
};

/// [size, factor] with rising sizes.
using Table = std::vector<std::pair<double, double>>;

/// Products of one type.
struct ProductFigures {
  std::string type;
  double flopsPerSecond = 0;
  Table byFlops, bySmallestDim;
};

struct Figures {
  double bytesPerSecond = 0, kernelOverheadNs = 0, elementwisePerSecond = 0;
  Table byBytes;
  std::vector<ProductFigures> products;
  /// Of collectives; 0 with one rank.
  double latencyNs = 0, linkBytesPerSecond = 0;
};

/// Measures. Returns what went wrong as text, or an empty text.
std::string measure(const MeasureOptions &options, Figures &figures);

} // namespace weft::rt

#endif // WEFT_TOOLS_WEFT_MEASURE_MEASUREMENT_H
