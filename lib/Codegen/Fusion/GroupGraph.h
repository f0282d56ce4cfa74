// SPDX-License-Identifier: Apache-2.0

// Groups of the ops of a block, and which of them wait for which.
//
// Groups are numbered such that each waits only for groups of lower numbers (a
// topological order). Merging two groups looks only at groups that are numbered
// between them: those that the higher one waits for go below the merged one,
// and those that wait for the lower one above it (Pearce and Kelly, "A dynamic
// topological sort algorithm for directed acyclic graphs"). If one of them is
// both, the merged group would wait for itself.
//
// Worked example: a, b = f(a), c = g(a), d = h(b, c). The groups {a, c} and
// {a, b} can be made, {a, d} cannot: d waits for b, which waits for a. Once b
// and c are one group, {a, d} still cannot, while {b, c, d} can. Where the ops
// of a group stand in the block plays no part: a group with ops at its begin
// and at its end may wait for anything in between.

#ifndef WEFT_LIB_CODEGEN_FUSION_GROUPGRAPH_H
#define WEFT_LIB_CODEGEN_FUSION_GROUPGRAPH_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <utility>
#include <vector>

namespace mlir::weft {

class GroupGraph {
public:
  using Group = llvm::SmallVector<unsigned, 1>;

  /// Each op of the block is a group by itself.
  explicit GroupGraph(Block &block);

  unsigned getNumOps() const { return ops.size(); }
  Operation *getOp(unsigned position) const { return ops[position]; }
  unsigned getPosition(Operation *op) const { return positions.lookup(op); }
  /// Positions of the ops that the op, or one inside it, takes values from.
  llvm::ArrayRef<unsigned> getDependences(unsigned position) const {
    return dependences[position];
  }
  unsigned getGroup(unsigned position) const { return groupOf[position]; }
  /// Positions of the ops of a group, lowest first; none if it was merged.
  llvm::ArrayRef<unsigned> getMembers(unsigned group) const {
    return groups[group];
  }

  /// Makes one group of two, which is `into`, unless it would wait for itself,
  /// or that takes too long to find out.
  bool merge(unsigned from, unsigned into);

  /// The groups in an order in which each comes after those that it waits for,
  /// and otherwise where its last op is.
  std::vector<unsigned> getOrder() const;

private:
  using Edges = std::vector<llvm::SmallVector<unsigned, 2>>;

  bool search(unsigned start, unsigned end, const Edges &edges,
              std::vector<unsigned> &found);
  bool isBetween(unsigned group, unsigned a, unsigned b) const;

  std::vector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> positions;
  Edges dependences, users;
  std::vector<unsigned> groupOf;
  std::vector<Group> groups;
  /// The number of each group.
  std::vector<unsigned> numbers;
  /// The last search that met a group.
  std::vector<unsigned> seen;
  unsigned numSearches = 0;
};

} // namespace mlir::weft

#endif // WEFT_LIB_CODEGEN_FUSION_GROUPGRAPH_H
