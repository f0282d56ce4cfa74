// SPDX-License-Identifier: Apache-2.0

// What the parts of the reshard planner share: a reshard as a search problem.
//
// The axes of both shardings are cut at all of their bounds in *atoms*, so
// that every sharding in between is an arrangement of atoms. Atoms that both
// shardings have in front on a dimension, and that nest exactly, are *fixed*:
// the problem is then the one of the part that a group of ranks holds, over
// the other atoms. A *state* says where each moving atom is, and the local
// extents.
//
// Example: mesh ["a"=2, "b"=4], 16x6, from [{"a"}, {"b"}] to [{"a", "b":(1)2},
// {"b":(2)2}]. Atoms: 0 = "a", 1 = "b":(1)2, 2 = "b":(2)2. Dimension 0 fixes
// atom 0 and is whole at 8 elements; from is {[], [1, 2]} with extents 8x2, to
// is {[1], [2]} with extents 4x3. 6 does not divide by 4: dimension 1 is 8
// elements long when padded for `from`, and 6 for `to`.

#ifndef WEFT_LIB_SHARDING_RESHARDPROBLEM_H
#define WEFT_LIB_SHARDING_RESHARDPROBLEM_H

#include "weft/Sharding/Reshard.h"

namespace mlir::weft::reshard {

/// Atoms by number, major first.
using AtomList = llvm::SmallVector<uint8_t, 4>;
using Extents = llvm::SmallVector<int64_t, 4>;

struct State {
  /// Per dimension the moving atoms that shard it.
  llvm::SmallVector<AtomList, 4> dims;
  /// The local shape.
  Extents extents;
  /// The atoms along which the state is partial, as a bit mask.
  uint64_t partial = 0;

  bool operator==(const State &other) const {
    return dims == other.dims && extents == other.extents &&
           partial == other.partial;
  }
};

struct Problem {
  llvm::SmallVector<AxisRef, 8> atoms;
  /// Per dimension the atoms that never move.
  llvm::SmallVector<AtomList, 4> fixed;
  /// Per dimension the local extent when no moving atom shards it.
  Extents whole;
  /// Per dimension the extent of all chunks together, in each end state.
  Extents fromPadded, toPadded;
  State from, to;
  /// Partial axes of both ends.
  AxisList keptPartial;
  /// The atoms that are to be combined, major first.
  AtomList reduced;
  /// Whether contributions may only be combined as one tree over `reduced`.
  bool isOrdered = false;
  Reduction kind = Reduction::Sum;
  int64_t elementBits = 8;

  int64_t numDims() const { return static_cast<int64_t>(fixed.size()); }
  int64_t sizeOf(llvm::ArrayRef<uint8_t> list) const;

  /// Returns the extents to which a dimension may be padded locally so that
  /// `parts` divides it. Only whole dimensions without fixed atoms are padded;
  /// others give their own extent, or nothing if it does not divide.
  llvm::SmallVector<int64_t, 3> dividedExtents(const State &state, int64_t dim,
                                               int64_t parts) const;

  /// Returns the atoms along which a state is partial, major first.
  AtomList partialAtoms(const State &state) const;

  /// Says whether these atoms, the last ones of `partialAtoms`, may be combined
  /// before the others: the tree over all is then one over such trees.
  bool mayCombine(llvm::ArrayRef<uint8_t> suffix, size_t numPartial) const;

  /// Returns the bytes of a buffer.
  int64_t bytesOf(int64_t elements) const;
};

/// One collective or slice between two states, with the padding it needs.
struct Move {
  ReshardStepKind kind = ReshardStepKind::Slice;
  /// The group; for Permute unused: the states tell.
  AtomList atoms;
  int64_t dim = -1;
  int64_t splitDim = -1;
  /// The extent to which the dimension that gets the atoms is padded first.
  int64_t padded = 0;

  /// Returns the dimension that gets the atoms, or -1.
  int64_t receivingDim() const;
};

struct PathEdge {
  Move move;
  State after;
};
using Path = llvm::SmallVector<PathEdge, 4>;

/// Returns the number of elements of a local tensor.
int64_t numElements(llvm::ArrayRef<int64_t> extents);

/// Returns the state after a move (not for Permute), its dims cut to `whole`
/// where no moving atom is left.
State applyMove(const Problem &problem, const State &before, const Move &move);

/// Returns the bytes that a rank receives in a move.
int64_t moveBytes(const Problem &problem, const State &before,
                  const Move &move);

/// Finds the cheapest path from problem.from to problem.to. Returns nullopt
/// when the problem is too large to search.
std::optional<Path> searchPath(const Problem &problem);

/// Returns the path that always works: resolve, gather, slice.
Path simplePath(const Problem &problem);

} // namespace mlir::weft::reshard

#endif // WEFT_LIB_SHARDING_RESHARDPROBLEM_H
