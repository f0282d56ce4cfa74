// SPDX-License-Identifier: Apache-2.0

// Follows a function of the scheduled program and its plan side by side.
//
// Each op of the scheduled program that does work has one counterpart in the
// plan, in the same order: same kind, name, attributes and region. Each tensor
// that it takes must lie in the buffer that its counterpart reads: Contents
// says what lies where. Slices, reshapes and casts have no counterpart: what
// they make is some elements of what they take. Copies of the plan move what
// they find. `weft_rt.assemble` says where a concatenation, an insertion, or
// what a loop or branch gives is to be: that it is there is looked up.
//
// A loop is followed once: what it carries lies at one place at the beginning
// of each pass, and nothing is known of what a pass writes elsewhere.

#ifndef WEFT_LIB_VERIFY_PLAN_PLANMATCHER_H
#define WEFT_LIB_VERIFY_PLAN_PLANMATCHER_H

#include "Contents.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::weft::proof {

class PlanMatcher {
public:
  PlanMatcher(func::FuncOp scheduled, const PlannedProgram &program);
  LogicalResult run();

private:
  /// A tensor of the scheduled program that is no part of another.
  struct Base {
    RankedTensorType type;
    /// Its contents do not matter.
    bool isUndefined = false;
    /// What computes it, or the argument that it is.
    Operation *op = nullptr;
    int64_t argument = -1;
  };
  /// A part of a value that has become a value of its own.
  struct Alias {
    Elements elements;
    RankedTensorType type;
    unsigned base;
  };

  // Ops in order.
  LogicalResult matchBlock(Block &from, Block &to);
  LogicalResult match(Operation *op);
  FailureOr<Operation *> next(Operation *op);
  FailureOr<Operation *> expect(Operation *op,
                                llvm::function_ref<bool(Operation *)> isKind);
  /// The counterpart of `op`, which is of this kind.
  template <typename Op> FailureOr<Op> expect(Operation *op) {
    FailureOr<Operation *> planned =
        expect(op, [](Operation *other) { return isa<Op>(other); });
    if (failed(planned))
      return failure();
    return cast<Op>(*planned);
  }
  FailureOr<Operation *> takeEarly(Operation *op);
  bool isCounterpart(Operation *planned, Operation *op) const;
  bool isEarly(Operation *planned, Operation *op) const;
  LogicalResult checkOver(Operation *early, Operation *op);
  LogicalResult checkName(Operation *planned, Operation *op);
  LogicalResult checkSame(Operation *planned, Operation *op, Attribute a,
                          Attribute b, StringRef what);

  // Ops that compute (MatchComputation.cpp).
  LogicalResult matchFused(rt::FusedOp op);
  LogicalResult matchMatmul(MatmulOp op);
  LogicalResult matchAttention(Operation *op, Value start);
  LogicalResult checkStart(rt::AttentionOp planned, Operation *op, Value start);
  LogicalResult matchScatterAdd(ScatterAddOp op);
  LogicalResult matchStart(Operation *op);
  LogicalResult matchWait(WaitOp op);
  LogicalResult matchConstant(Operation *op);
  LogicalResult matchExtract(tensor::ExtractOp op);

  // Ops that move or reshape (MatchMovement.cpp).
  LogicalResult addSlice(tensor::ExtractSliceOp op);
  LogicalResult addCollapsed(tensor::CollapseShapeOp op);
  void addExpanded(tensor::ExpandShapeOp op);
  LogicalResult matchConcat(tensor::ConcatOp op);
  LogicalResult matchInsertSlice(tensor::InsertSliceOp op);
  Elements getInserted(tensor::InsertSliceOp op);
  Spot getPart(const Spot &whole, tensor::InsertSliceOp op);
  bool isMove(Operation *planned, Operation *op);
  LogicalResult move(Operation *planned);
  LogicalResult checkMoved(Operation *planned, ArrayRef<Elements> held);

  // Loops and branches (MatchControlFlow.cpp).
  LogicalResult matchFor(scf::ForOp op);
  LogicalResult matchIf(scf::IfOp op);
  LogicalResult matchBranch(Operation *op, Block &from, Block &to,
                            ArrayRef<Spot> spots);
  LogicalResult matchScalars(Operation *planned, Operation *op, ValueRange from,
                             ValueRange to);
  FailureOr<std::vector<Spot>> readJoins(ValueRange tensors, Operation *op,
                                         SmallVectorImpl<Operation *> &joins);
  LogicalResult checkJoin(Operation *join, Value value, Value a, Value b);
  void forget(Operation *planned);
  LogicalResult matchReturn(func::ReturnOp op);

  // What lies where.
  unsigned addBase(RankedTensorType type, Operation *op);
  void define(Value tensor, unsigned base) {
    elementsOf[tensor] = getWhole(base, bases[base].type);
  }
  const Elements &get(Value tensor) const {
    return elementsOf.find(tensor)->second;
  }
  RankedTensorType getType(Value tensor) const {
    return cast<RankedTensorType>(tensor.getType());
  }
  bool isUnneeded(Value tensor) const;
  Spot getSpot(Value buffer);
  void setBytes(Spot &spot) const;
  LogicalResult checkBuffer(Operation *planned, Value buffer,
                            RankedTensorType type);
  LogicalResult read(Operation *planned, Value buffer, unsigned number,
                     Value tensor);
  LogicalResult checkThere(Operation *planned, const Twine &verb,
                           const Spot &spot, Value tensor,
                           ArrayRef<Placed> others = {});
  LogicalResult write(Operation *planned, Value buffer, unsigned number,
                      unsigned base, Layer::Kind kind = Layer::Kind::Written);

  // Numbers on the plan.
  LogicalResult checkNumber(Operation *planned, int64_t id, unsigned base);
  LogicalResult checkId(Operation *planned, unsigned number, unsigned base);
  LogicalResult checkPart(Operation *planned, unsigned number, Value tensor);
  LogicalResult checkFrom(rt::AssembleOp planned, ValueRange tensors);
  LogicalResult checkInto(rt::AssembleOp planned, unsigned number,
                          const Elements &elements, RankedTensorType type);

  // Counterexamples.
  InFlightDiagnostic fail(Operation *planned, Operation *op);
  std::string describe(unsigned base) const;
  std::string describe(const Spot &spot) const;

  func::FuncOp scheduled;
  const PlannedProgram &program;
  ScalarNumbers scalars;
  Contents contents;
  std::vector<Base> bases;
  /// What each tensor of the scheduled program is a part of.
  DenseMap<Value, Elements> elementsOf;
  /// Parts at places that are known only at run time.
  SmallVector<std::pair<Elements, RankedTensorType>> shifted;
  DenseMap<unsigned, SmallVector<Alias, 1>> aliases;
  /// What a future will be, and the start of each collective.
  DenseMap<Value, unsigned> promised;
  DenseMap<Operation *, rt::StartOp> starts;
  DenseMap<Value, Spot> spots;
  /// The value of each number, and back.
  DenseMap<int64_t, unsigned> baseOf;
  DenseMap<unsigned, int64_t> idOf;
  /// The next op of the plan.
  Block::iterator at;
  /// Ops of the plan before it that stand before their place in the scheduled
  /// program.
  SmallVector<Operation *> early;
};

/// The numbers of a `weft_rt.values` or `weft_rt.reads`.
ArrayRef<int64_t> getIds(Operation *op, StringRef name);

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_PLAN_PLANMATCHER_H
