// SPDX-License-Identifier: Apache-2.0

// The reshard planner: from one sharding of a tensor to another, with the
// fewest bytes received per rank.
//
// Worked example. On the mesh ["a"=2, "b"=2] a 8x8 f32 tensor goes from
// [{}, {"b"}], partial = sum {"a"} (local 8x4) to [{"a"}, {}] (local 4x8).
// The plan has two steps:
//   reduce_scatter sum {"a"} dim 0 -> [{"a"}, {"b"}], local 4x4, 64 bytes
//   all_gather {"b"} dim 1         -> [{"a"}, {}],    local 4x8, 64 bytes
// The other order, and all_reduce followed by a slice, move more.
//
// Every collective works on equal parts: its local shapes multiply or divide
// exactly by the group's size. Where a dimension of n elements does not divide,
// steps Pad and Unpad change its local extent on each rank: they stand where
// the dimension is whole (n elements and maybe some more), so element i stays
// at index i. What lies past the n-th element is unspecified, before and
// after each step; no step mixes it with valid elements. Between the steps a
// dimension may have other chunks than ceil(n / shards): `localShape` is the
// truth there. After the last step it is target.localShape(globalShape).
//
// Bytes are counted as weft_rt_traffic in abi.h says: all_gather and
// reduce_scatter (g-1)/g of the full buffer, all_reduce twice that (rounded
// up), all_to_all (g-1)/g of the local buffer, permute the local buffer.
//
// Ties are settled by the number of collectives, then of local steps, then by
// a fixed order: equal input, equal plan, on every machine. With up to four
// axes that move the plan is the cheapest there is of these steps; with many
// more the search is cut short, and the plan is correct but maybe not the
// cheapest.
//
// Where floating-point sums have an order, the contributions over the partial
// axes a1 a2 ... an, major first, are the leaves of one binary tree: n leaves
// are the tree of the first m and the tree of the rest, m the largest power of
// two below n. A plan that keeps the order combines all these axes at once, or
// the minor ones ai ... an first if their number of ranks is a power of two:
// then the trees nest. A reduce_scatter also cuts in that order.
//
// The partial axes of the target must be among those of the source, with its
// kind: contributions can be kept, not made. Both shardings must be valid on
// the mesh (Sharding::validate). canReshard() tells; plans assume it.

#ifndef WEFT_SHARDING_RESHARD_H
#define WEFT_SHARDING_RESHARD_H

#include "weft/Sharding/Sharding.h"

#include <map>
#include <optional>
#include <tuple>

namespace mlir::weft {

enum class ReshardStepKind {
  /// Concatenates the members' parts along `dim`, in group order.
  AllGather,
  /// Keeps the group-index-th of g equal parts along `dim`. Moves nothing.
  Slice,
  /// Cuts in g parts along `splitDim`, part j goes to member j; what arrives
  /// is concatenated in group order along `dim`.
  AllToAll,
  /// Combines the members' tensors and keeps a part as Slice does.
  ReduceScatter,
  /// Combines the members' tensors.
  AllReduce,
  /// Member i gets the tensor of member sources[i].
  Permute,
  /// Makes `dim` longer: localShape[dim] elements, new ones unspecified.
  Pad,
  /// Keeps the first localShape[dim] elements of `dim`.
  Unpad
};

/// Returns the name of a kind, as in "all_gather".
llvm::StringRef stringifyReshardStepKind(ReshardStepKind kind);

/// Says whether the kind moves data between ranks.
bool isCollective(ReshardStepKind kind);

struct ReshardStep {
  ReshardStepKind kind;
  /// The group, major first; empty for Pad and Unpad.
  AxisList axes;
  /// The dimension; for AllToAll the one that is concatenated. -1 for
  /// AllReduce and Permute.
  int64_t dim = -1;
  /// The dimension that AllToAll splits, else -1.
  int64_t splitDim = -1;
  /// How ReduceScatter and AllReduce combine.
  Reduction reduction = Reduction::Sum;
  /// Permute: per member the member that it gets its tensor from. A bijection.
  llvm::SmallVector<int64_t, 4> sources;
  /// What holds after the step. Canonical, closed, no storage axes.
  Sharding sharding;
  llvm::SmallVector<int64_t, 4> localShape;
  /// Bytes that a rank receives.
  int64_t bytes = 0;
};

using ReshardPlan = llvm::SmallVector<ReshardStep, 4>;

/// Returns an empty text if `from` can become `to`, else why not, as text for
/// a diagnostic. `keepsOrder` is that of the plan.
std::string canReshard(const Sharding &from, const Sharding &to,
                       const Mesh &mesh, bool keepsOrder = false);

/// Plans the way from one sharding to another. No steps if both are the same
/// layout. Storage axes count as sharding axes: the caller drops those that
/// are gathered. With `keepsOrder` sums and products are one tree over the
/// contributions in the order of the partial axes, see above.
ReshardPlan planReshard(const Sharding &from, const Sharding &to,
                        llvm::ArrayRef<int64_t> globalShape,
                        int64_t elementBits, const Mesh &mesh,
                        bool keepsOrder = false);

/// Returns the sum of the steps' bytes.
int64_t planBytes(llvm::ArrayRef<ReshardStep> plan);

/// Prints one step as `reduce_scatter sum {"a"} dim 0 -> [{"a"}, {"b"}],
/// local 4x4, 64 bytes`.
void printStep(llvm::raw_ostream &os, const ReshardStep &step,
               const Mesh &mesh);

/// What a planner has to know of a tensor's elements.
struct Elements {
  /*implicit*/ Elements(int64_t bits, bool areExact = false)
      : bits(bits), areExact(areExact) {}

  bool operator<(const Elements &other) const {
    return std::tie(bits, areExact) < std::tie(other.bits, other.areExact);
  }

  int64_t bits;
  /// Their sums and products are the same in any order, as those of integers
  /// are.
  bool areExact;
};

/// Plans on one mesh, and remembers. For passes that ask the same again and
/// again; not thread-safe.
class ReshardPlanner {
public:
  /// With `keepsOrder` plans keep the order of contributions whose elements are
  /// not exact.
  explicit ReshardPlanner(Mesh mesh, bool keepsOrder = false)
      : mesh(std::move(mesh)), keepsOrder(keepsOrder) {}

  /// As planReshard; but what a rank has of several contributions is combined
  /// first, where its order allows it: ranks then move sums, and as much for
  /// any number of them. The reference lives as long as the planner.
  const ReshardPlan &plan(const Sharding &from, const Sharding &to,
                          llvm::ArrayRef<int64_t> globalShape,
                          Elements elements);

  /// Ranks compute the parts of this axis of the mesh one after the other; -1:
  /// none.
  void setSerialAxis(int axis) { serialAxis = axis; }
  bool isSerial(const AxisRef &axis) const { return axis.axis == serialAxis; }

  /// How often a rank does in a step what is sharded over `axes`, or moves a
  /// tensor that is: once for each coordinate along the serial axis.
  int64_t countRounds(llvm::ArrayRef<AxisRef> axes) const;

  /// Returns the bytes that a rank receives in that plan. What is moved along
  /// the serial axis is moved once for all of its coordinates.
  int64_t cost(const Sharding &from, const Sharding &to,
               llvm::ArrayRef<int64_t> globalShape, Elements elements) {
    return countBytes(plan(from, to, globalShape, elements), elements);
  }

  /// Returns the bytes of the plan if it is known, else a number that it does
  /// not go below: what a few ranks need and do not hold. Plans nothing.
  int64_t costAtLeast(const Sharding &from, const Sharding &to,
                      llvm::ArrayRef<int64_t> globalShape,
                      Elements elements) const;

  /// As above, with the planner's mesh, and its order for such elements.
  std::string canReshard(const Sharding &from, const Sharding &to,
                         Elements elements) const {
    return weft::canReshard(from, to, mesh, keepsOrderOf(elements));
  }

  const Mesh &getMesh() const { return mesh; }

  /// Says whether the plans keep the order of contributions of such elements.
  bool keepsOrderOf(Elements elements) const {
    return keepsOrder && !elements.areExact;
  }

private:
  using Key =
      std::tuple<Sharding, Sharding, llvm::SmallVector<int64_t, 4>, Elements>;

  int64_t countBytes(const ReshardStep &step, Elements elements) const;
  int64_t countBytes(const ReshardPlan &plan, Elements elements) const;
  std::optional<ReshardStep> joinRounds(const Sharding &from,
                                        const Sharding &to,
                                        llvm::ArrayRef<int64_t> globalShape,
                                        Elements elements) const;
  ReshardPlan makePlan(const Sharding &from, const Sharding &to,
                       llvm::ArrayRef<int64_t> globalShape,
                       Elements elements) const;

  Mesh mesh;
  bool keepsOrder;
  int serialAxis = -1;
  std::map<Key, ReshardPlan> plans;
};

} // namespace mlir::weft

#endif // WEFT_SHARDING_RESHARD_H
