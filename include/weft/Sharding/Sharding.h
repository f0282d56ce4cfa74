// SPDX-License-Identifier: Apache-2.0

// How a tensor is split over a mesh, as a value: axes per dimension, partial
// state, storage axes, open dimensions.
//
// Worked example. On the mesh ["dp"=2, "tp"=4] the sharding
//   [{"tp"}, {}], partial = sum {"dp"}
// of a tensor 10x6 gives every rank a local tensor 3x6: dimension 0 is cut in
// 4 chunks of ceil(10 / 4) = 3 rows. Rank 7, coordinates (1, 3), has chunk 3,
// the range [9, 10): one valid row; its other two rows are unspecified. What
// it holds is a contribution: the value of a row is the sum over the two ranks
// that differ along dp.
//
// Axes of one dimension are ordered, major first: [{"dp", "tp"}] cuts into 8
// chunks, and the rank's chunk index is dp * 4 + tp. A dimension that the
// shards do not divide does not nest: chunks over ["dp", "tp"] of 10 rows have
// 2 rows, four of them hold 8, but a chunk over ["dp"] alone has 5.
//
// `storage` names axes, also in the dims, along which the value is sharded
// only where it rests. Open dimensions may get more axes by propagation. Both
// are carried so that the conversion from and to the MLIR attribute loses
// nothing; local shapes and ranges read the dims as they stand.
//
// A sharding need not be valid: validate() says what is wrong, as text for a
// diagnostic. The other queries assume a valid one.

#ifndef WEFT_SHARDING_SHARDING_H
#define WEFT_SHARDING_SHARDING_H

#include "weft/Sharding/Mesh.h"

namespace mlir::weft {

/// How the contributions of a partial value are combined. The values are those
/// of the ReduceKind of the dialect and of weft_rt_reduction.
enum class Reduction : uint32_t {
  Sum = 0,
  Max = 1,
  Min = 2,
  Prod = 3,
  And = 4,
  Or = 5
};

/// Returns "sum", "max", "min", "prod", "and" or "or".
llvm::StringRef stringifyReduction(Reduction kind);

/// A half-open range of indices in a global dimension.
struct IndexRange {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  bool operator==(const IndexRange &other) const {
    return begin == other.begin && end == other.end;
  }
};

struct Sharding {
  /// Per dimension its axes, major first.
  llvm::SmallVector<AxisList, 4> dims;
  /// Axes along which the ranks hold contributions, in the order in which these
  /// cut what is summed, major first. Only plans that keep orders look at it.
  AxisList partial;
  /// How the contributions are combined; Sum if `partial` is empty.
  Reduction kind = Reduction::Sum;
  /// Axes of the dims that shard only at rest; sorted when canonical.
  AxisList storage;
  /// Bit d: dimension d is open.
  uint64_t openDims = 0;

  static constexpr int64_t kMaxRank = 64;

  Sharding() = default;
  explicit Sharding(llvm::ArrayRef<AxisList> dims)
      : dims(dims.begin(), dims.end()) {}

  /// Returns the closed sharding that keeps a tensor of `rank` dims whole.
  static Sharding replicated(int64_t rank);

  /// Returns the sharding with no axes and all dims open: "not known yet".
  static Sharding fullyOpen(int64_t rank);

  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  bool isOpen(int64_t dim) const { return (openDims >> dim) & 1; }
  void setOpen(int64_t dim, bool open = true);
  bool isPartial() const { return !partial.empty(); }
  /// Says whether every rank holds the whole value.
  bool isReplicated() const;

  /// Returns the number of shards of a dimension.
  int64_t shardCount(int64_t dim) const { return numShards(dims[dim]); }

  /// Returns ceil(n / shardCount(dim)), the chunk size of a dim of n elements.
  int64_t chunkSize(int64_t dim, int64_t globalSize) const;

  /// Returns what one rank holds of a tensor of the given shape.
  llvm::SmallVector<int64_t> localShape(llvm::ArrayRef<int64_t> shape) const;

  /// Says whether every dimension is divided by its number of shards.
  bool isEven(llvm::ArrayRef<int64_t> globalShape) const;

  /// Returns which chunk of a dimension the mesh's rank `rankId` holds.
  int64_t chunkIndex(const Mesh &mesh, int64_t rankId, int64_t dim) const {
    return mesh.groupIndex(rankId, dims[dim]);
  }

  /// Returns the global indices that a rank holds of a dimension of
  /// `globalSize` elements: maybe fewer than a chunk, maybe none.
  IndexRange range(const Mesh &mesh, int64_t rankId, int64_t dim,
                   int64_t globalSize) const;

  /// Returns the axes that shard dimensions, as a canonical set.
  AxisList usedAxes() const;

  /// Returns the canonical form: axes of size 1 dropped, neighbours joined,
  /// storage sorted, the kind of no partial axes Sum. Two canonical shardings
  /// with partial axes in one order mean the same iff they are equal.
  Sharding canonical() const;

  /// Returns the canonical sharding without the given axes, also in the
  /// partial state and in storage.
  Sharding withoutAxes(llvm::ArrayRef<AxisRef> axes) const;

  /// Returns how compute sees the value: the storage axes dropped.
  Sharding withoutStorage() const;

  /// Returns the canonical sharding with no partial state.
  Sharding resolved() const;

  /// Returns the canonical sharding with all dims closed.
  Sharding closed() const;

  /// Returns the canonical sharding with its partial axes sorted.
  Sharding unordered() const;

  /// Says whether both split the value in the same way: compares the canonical
  /// dims and partial state in any order, not storage and open dims.
  bool isSameLayout(const Sharding &other) const;

  /// Checks the sharding of a tensor of the given global shape. Returns an
  /// empty text if it is valid, else what is wrong, as in
  /// `axis "tp" shards dimension 0 and dimension 1`.
  std::string validate(const Mesh &mesh, llvm::ArrayRef<int64_t> shape) const;

  /// Prints `[{"fsdp"}, {"tp":(1)2, ?}], storage = {"fsdp"},
  /// partial = sum {"dp"}`: the attribute's text without the mesh.
  void print(llvm::raw_ostream &os, const Mesh &mesh) const;

  /// Returns what print() prints.
  std::string str(const Mesh &mesh) const;

  bool operator==(const Sharding &other) const;
  bool operator!=(const Sharding &other) const { return !(*this == other); }
  /// A total order, without a meaning.
  bool operator<(const Sharding &other) const;
};

llvm::hash_code hash_value(const Sharding &sharding);

} // namespace mlir::weft

#endif // WEFT_SHARDING_SHARDING_H
