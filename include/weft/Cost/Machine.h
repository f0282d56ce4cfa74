// SPDX-License-Identifier: Apache-2.0

// What a machine can do, as far as the time of a step depends on it: rates of
// compute and memory of one rank, and the links between ranks. A description
// is a JSON file; docs/machines.md explains each field. Some are part of the
// compiler and have a name, such as "h100x8".
//
// A Machine is plain data and knows no IR. CostModel turns it into times.
//
// Worked example. Levels [nvlink: 8 ranks, infiniband: any number] say that
// ranks 0 to 7 are one node, 8 to 15 the next. On the mesh fsdp=4, tp=8 a group
// along tp lies in one node and uses nvlink; one along fsdp uses infiniband.

#ifndef WEFT_COST_MACHINE_H
#define WEFT_COST_MACHINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mlir::weft {

/// A factor that depends on a size: straight lines between points of rising
/// size, constant before the first and after the last; 1 without points.
struct EfficiencyTable {
  std::vector<std::pair<double, double>> points;

  double at(double size) const;
};

/// How fast products of one element type are computed.
struct ComputeRate {
  double flopsPerSecond = 1;
  /// By the operations of one product.
  EfficiencyTable byFlops;
  /// By the smallest of M, N and K.
  EfficiencyTable bySmallestDim;
};

/// How long a collective takes: latency + latencyPerRank * (ranks - 1) +
/// bytes received / bandwidth.
struct LinkRate {
  double latencyNs = 0;
  double latencyPerRankNs = 0;
  double bytesPerSecond = 1;
};

/// Ranks that one kind of link connects: blocks of `ranks` consecutive ranks.
struct MachineLevel {
  std::string name;
  /// 0: any number.
  int64_t ranks = 0;
  LinkRate link;
  /// Channels of this level take turns on one link; else each has its own.
  bool sharedLink = true;
};

class Machine {
public:
  /// Loads a description that is part of the compiler, by its name, or a file.
  /// What is wrong goes to `error`, naming file, field and value.
  static llvm::FailureOr<Machine> load(llvm::StringRef nameOrPath,
                                       std::string &error);

  /// Reads a description from text; `file` is its name in messages.
  static llvm::FailureOr<Machine>
  parse(llvm::StringRef text, llvm::StringRef file, std::string &error);

  /// Says whether this is the name of a description in the compiler.
  static bool isShipped(llvm::StringRef name);

  /// Names of the descriptions in the compiler, sorted.
  static std::vector<llvm::StringRef> getShippedNames();

  /// The rate of products of a type ("f32", "bf16", ...). A type that the
  /// description leaves out is computed in the next wider one.
  const ComputeRate &getRate(llvm::StringRef type) const;

  /// What is wrong with `ranks` ranks on this machine; empty if they fit.
  std::string checkRanks(int64_t ranks) const;

  std::string name;
  std::string description;
  /// 0: not said.
  int64_t memoryBytes = 0;
  double memoryBytesPerSecond = 1;
  EfficiencyTable memoryByBytes;
  /// Threads of a rank that the rates stand for.
  int64_t threads = 1;
  double kernelOverheadNs = 0;
  /// Additions or the like per second outside of products.
  double elementwisePerSecond = 1;
  std::map<std::string, ComputeRate> rates;
  /// Innermost first.
  std::vector<MachineLevel> levels;
  /// Links of mesh axes that differ from their level's.
  std::map<std::string, LinkRate> axes;
  /// Measured durations in nanoseconds, by the `weft.op` name of an op; they
  /// count instead of the formulas.
  llvm::StringMap<int64_t> durations;
};

} // namespace mlir::weft

#endif // WEFT_COST_MACHINE_H
