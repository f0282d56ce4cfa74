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
#include <optional>
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

/// How fast attention is, or its gradient: factors on the rate of products of
/// its element type.
struct AttentionRate {
  /// By the keys that a query sees, on average.
  EfficiencyTable byKeys;
  /// By the size of a head.
  EfficiencyTable byHeadSize;
};

/// How long a collective takes that is done in one way: latency +
/// latencyPerStep * steps + bytes / (bandwidth * factor). CollectiveTime.h says
/// how many steps and bytes that are.
struct LinkRate {
  double latencyNs = 0;
  double latencyPerStepNs = 0;
  double bytesPerSecond = 1;
  /// By the bytes of the whole buffer of a rank.
  EfficiencyTable byBytes;
};

/// Sums and copies that the switches between ranks make (NVLS).
struct SwitchRate {
  LinkRate link;
  /// Smaller groups do without.
  int64_t leastRanks = 2;
  /// Names of the collectives that are done so, as in "all_reduce".
  std::vector<std::string> collectives;
};

/// Ranks that one kind of link connects: blocks of `ranks` consecutive ranks.
struct MachineLevel {
  std::string name;
  /// 0: any number.
  int64_t ranks = 0;
  /// A ring, which all collectives can use.
  LinkRate link;
  /// Other ways, of which the fastest is taken: a ring in a protocol of low
  /// latency, a tree (all_reduce), the switches.
  std::optional<LinkRate> lowLatencyRing, tree;
  std::optional<SwitchRate> switches;
  /// Channels of this level take turns on one link; else each has its own.
  bool sharedLink = true;
  /// Whether rings and trees use the links of all members that the group has
  /// in a block of the level before; else `link` is what a block has.
  bool hasRails = false;
  /// What a collective takes from compute beside it: multiprocessors, and
  /// bytes read or written in memory for each byte received.
  int64_t multiprocessors = 0;
  double memoryBytesPerByte = 0;
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

  /// The type in which products of a type ("f32", "bf16", ...) run: what
  /// `runsAs` says, the type itself if it has a rate, or the next wider one
  /// that has one.
  llvm::StringRef getRunType(llvm::StringRef type) const;

  /// The rate of products of a type.
  const ComputeRate &getRate(llvm::StringRef type) const;

  /// Whether the description says how products of a type run.
  bool hasRate(llvm::StringRef type) const {
    return rates.count(type.str()) || runsAs.count(type.str());
  }

  /// Numbers of the description that no entry of its `sources` covers, by their
  /// path.
  std::vector<std::string> unsourced;

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
  /// Types whose products run in another type.
  std::map<std::string, std::string> runsAs;
  /// Without them attention is as fast as other products.
  std::optional<AttentionRate> attention, attentionGradient;
  /// Multiprocessors of a rank; 0: not said.
  int64_t multiprocessors = 0;
  /// Between a rank and the host's memory, in one direction; both directions
  /// run beside each other. Without it, a copy goes through the rank's memory.
  std::optional<LinkRate> hostLink;
  /// Innermost first.
  std::vector<MachineLevel> levels;
  /// Links of mesh axes that differ from their level's.
  std::map<std::string, LinkRate> axes;
  /// Where figures come from: text by the path of a field, such as
  /// "compute.flops.bf16" or "levels[0].tree".
  std::map<std::string, std::string> sources;
  /// Measured durations in nanoseconds, by the `weft.op` name of an op; they
  /// count instead of the formulas.
  llvm::StringMap<int64_t> durations;
};

} // namespace mlir::weft

#endif // WEFT_COST_MACHINE_H
