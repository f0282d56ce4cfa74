// SPDX-License-Identifier: Apache-2.0

// What the parts of weft-accumulate share: coordinates along the serial axis,
// and the local forms of collectives over it.
//
// Worked example. On ["dp"=2, "mb"=4] with the serial axis mb, a rank has four
// coordinates, 0 to 3, and a value up to four clones, one per coordinate. An
// all_reduce over {"dp", "mb"} is a join of the clones and an all_reduce of the
// result over {"dp"}. One over {"mb":(2)2} joins the clones 0 and 1, and 2 and
// 3: two groups of two members.

#ifndef WEFT_LIB_ACCUMULATION_ACCUMULATE_H
#define WEFT_LIB_ACCUMULATION_ACCUMULATE_H

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::weft {

/// The axis whose coordinates one rank goes through, one after the other.
struct SerialAxis {
  StringRef name;
  int64_t size;
  /// The mesh that still has the axis.
  MeshAttr mesh;

  bool isIn(ArrayRef<AxisRefAttr> axes) const {
    return llvm::any_of(
        axes, [&](AxisRefAttr axis) { return axis.getName() == name; });
  }
  /// The axes without those parts of the list that are on this one.
  SmallVector<AxisRefAttr> dropFrom(ArrayRef<AxisRefAttr> axes) const;
};

/// A list of axes, cut where the serial axis, or a part of it, stands.
struct AxesSplit {
  SmallVector<AxisRefAttr> major, minor;
  /// Their numbers of shards.
  int64_t numMajor = 1, numMinor = 1;
  /// Members along the serial axis, and how far apart their coordinates are.
  int64_t size = 1, stride = 1;

  /// The place among the members of a coordinate.
  int64_t getDigit(int64_t coordinate) const {
    return coordinate / stride % size;
  }
  /// The first coordinate of the group of one, and all of a group.
  int64_t getFirst(int64_t coordinate) const {
    return coordinate - getDigit(coordinate) * stride;
  }
  SmallVector<int64_t> getMembers(int64_t first) const {
    SmallVector<int64_t> members;
    for (int64_t digit = 0; digit < size; ++digit)
      members.push_back(first + digit * stride);
    return members;
  }
  bool isLocal() const { return numMajor * numMinor == 1; }
  /// The axes of other ranks, in order.
  SmallVector<AxisRefAttr> getRest() const;
};

/// Cuts a list; null if the serial axis is not in it, or more than once.
std::optional<AxesSplit> splitAxes(ArrayRef<AxisRefAttr> axes,
                                   const SerialAxis &serial);

/// Fails if a collective, or weft.axis_index, over the serial axis has no local
/// form, and says why.
LogicalResult checkSerialAxes(Operation *op, const SerialAxis &serial);

/// The same of a permute, whose axes are cut in `axes`.
LogicalResult checkSerialPermute(PermuteOp op, const AxesSplit &axes,
                                 const SerialAxis &serial);

/// Finds the mesh of a module that is to lose `axis`. Emits and fails if it has
/// no such axis.
FailureOr<MeshOp> findSerialMesh(ModuleOp module, StringRef axis);

/// Combines members' values in the order in which they come: as a chain, or as
/// the binary tree of weft.order with few of them at a time in memory.
class Join {
public:
  Join(ReduceKind kind, bool isTree) : kind(kind), isTree(isTree) {}

  void add(OpBuilder &builder, Location loc, Value value);
  /// The result, after all members; resets nothing.
  Value finish(OpBuilder &builder, Location loc);

private:
  Value combine(OpBuilder &builder, Location loc, Value a, Value b) const;

  ReduceKind kind;
  bool isTree;
  /// Subtrees that wait for their sibling, with their numbers of leaves.
  SmallVector<std::pair<int64_t, Value>, 4> pending;
};

struct RankTable;
struct Rounds;

/// The local form of one operand of a collective over the serial axis, for one
/// group of members.
class LocalCollective {
public:
  LocalCollective(Operation *op, unsigned operand, const SerialAxis &serial,
                  OpBuilder &builder)
      : op(cast<CollectiveOpInterface>(op)), operand(operand), builder(builder),
        loc(op->getLoc()),
        axes(*splitAxes(this->op.getAxesAttr().getAxes(), serial)),
        mesh(serial.mesh) {}

  const AxesSplit &getAxes() const { return axes; }

  /// Of an all_reduce or reduce_scatter: an empty join, what a member's value
  /// goes through before it is added, and each member's result.
  Join makeJoin() const;
  Value prepare(Value member) const;
  SmallVector<Value> finish(Value joined) const;

  /// Of another collective: each member's result.
  SmallVector<Value> run(ArrayRef<Value> members) const;

private:
  SmallVector<Value> gather(ArrayRef<Value> members, int64_t dim) const;
  SmallVector<Value> exchange(ArrayRef<Value> members, int64_t split,
                              int64_t concat) const;
  SmallVector<Value> exchangeParts(ArrayRef<Value> members, int64_t split,
                                   int64_t concat, int64_t size) const;
  SmallVector<Value> exchangePieces(ArrayRef<Value> members, int64_t split,
                                    int64_t concat) const;
  SmallVector<Value> permute(ArrayRef<Value> members,
                             ArrayRef<int64_t> sources) const;
  Value permuteRanks(Value value, ArrayRef<int64_t> sources) const;
  SmallVector<Value> exchangeRounds(ArrayRef<Value> members,
                                    const Rounds &rounds) const;
  Value lookUp(const RankTable &table) const;
  Value stack(ArrayRef<Value> values) const;
  Value pick(ArrayRef<Value> values, Value stack, const RankTable &table) const;
  Value addDim(Value value) const;
  SmallVector<Value> scatter(Value joined, int64_t dim) const;

  Value reduce(Value value, ArrayRef<AxisRefAttr> over, int64_t group) const;
  Value reduceScatter(Value value, ArrayRef<AxisRefAttr> over, int64_t group,
                      int64_t dim) const;
  Value allGather(Value value, ArrayRef<AxisRefAttr> over, int64_t group,
                  int64_t dim) const;
  Value allToAll(Value value, ArrayRef<AxisRefAttr> over, int64_t group,
                 int64_t split, int64_t concat) const;

  Value expand(Value value, int64_t dim, ArrayRef<int64_t> sizes) const;
  Value collapse(Value value, int64_t dim) const;
  Value part(Value value, int64_t dim, int64_t index, int64_t size) const;
  SmallVector<Value> cutMembers(Value value, int64_t dim) const;
  Value concat(ArrayRef<Value> values, int64_t dim) const;
  /// The sizes of a dimension of `size` that is cut over the axes: major axes,
  /// members, minor axes, and what is left.
  SmallVector<int64_t> getParts(int64_t size) const {
    return {axes.numMajor, axes.size, axes.numMinor,
            size / (axes.numMajor * axes.size * axes.numMinor)};
  }

  /// The order of a part of the collective; null if that is open.
  OrderAttr getOrder(int64_t leaves) const;

  mutable CollectiveOpInterface op;
  unsigned operand;
  OpBuilder &builder;
  Location loc;
  AxesSplit axes;
  MeshAttr mesh;
};

/// Concatenates along `dim`; what was cut from one tensor, part after part, is
/// that tensor again.
Value concatParts(OpBuilder &builder, Location loc, ArrayRef<Value> values,
                  int64_t dim);

/// The elements [offset, offset + size) along `dim`.
Value cutPart(OpBuilder &builder, Location loc, Value value, int64_t dim,
              int64_t offset, int64_t size);

/// A tensor of zeros.
Value makeZeros(OpBuilder &builder, Location loc, RankedTensorType type);

} // namespace mlir::weft

#endif // WEFT_LIB_ACCUMULATION_ACCUMULATE_H
