// SPDX-License-Identifier: Apache-2.0

// The walk that makes the planned function: each op gets its form on buffers
// when it is met, and its results their places.

#ifndef WEFT_LIB_CODEGEN_PLANNING_PLANNER_H
#define WEFT_LIB_CODEGEN_PLANNING_PLANNER_H

#include "Places.h"
#include "weft/Codegen/Fusion/KernelShape.h"

#include "weft/Analysis/PlanSummary.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Target/Target.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::weft {

class Planner {
public:
  /// `planned` has no body yet.
  Planner(func::FuncOp source, func::FuncOp planned, const Target &target);

  /// Fails with an error at the op that has no form on buffers.
  LogicalResult run();
  /// Bytes of the arena, the most of them that are in use at one time, and
  /// bytes of the host's arena.
  struct Arena {
    int64_t bytes = 0, bound = 0, hostBytes = 0;
  };
  const Arena &getArena() const { return arena; }
  int64_t getNumCopies() const { return numCopies; }
  /// The id of the value that the step returns as its result `number`.
  int64_t getResultId(unsigned number);
  /// Which part of it; null if it returns all.
  rt::PartAttr getResultPart(unsigned number);

private:
  void layOut();
  int64_t layOut(const PlanSummary &plan, rt::Space space);
  LogicalResult visitBlock(Block &block);
  LogicalResult visit(Operation *op);
  LogicalResult visitScalar(Operation *op);
  LogicalResult visitEmpty(tensor::EmptyOp op);

  // Ops that compute.
  LogicalResult visitFused(rt::FusedOp op);
  LogicalResult visitMatmul(MatmulOp op);
  LogicalResult visitAttention(Operation *op, Value start);
  LogicalResult visitScatterAdd(ScatterAddOp op);
  LogicalResult visitStart(Operation *op);
  LogicalResult visitWait(WaitOp op);
  Place placeResult(OpResult result, Operation *op);
  Place placeUpdated(OpOperand &input, OpResult result);
  Place placeCollected(Operation *op, unsigned i, OpResult result);

  // Ops that move or reshape.
  LogicalResult visitExtractSlice(tensor::ExtractSliceOp op);
  LogicalResult visitInsertSlice(tensor::InsertSliceOp op);
  LogicalResult visitReshape(Operation *op);
  LogicalResult visitConcat(tensor::ConcatOp op);
  LogicalResult visitConstant(arith::ConstantOp op);
  LogicalResult visitExtract(tensor::ExtractOp op);
  FailureOr<Place> getSlice(Place place, OffsetSizeAndStrideOpInterface op,
                            const llvm::SmallBitVector &dropped);

  // Control flow.
  LogicalResult visitFor(scf::ForOp op);
  LogicalResult visitIf(scf::IfOp op);
  LogicalResult visitReturn(func::ReturnOp op);
  LogicalResult visitBranch(Block &from, Block &to, ArrayRef<Place> into);
  void join(ValueRange values, ArrayRef<Place> into, ValueRange first,
            ValueRange second);
  void carry(ValueRange values, ArrayRef<Place> into, Operation *at);

  // IR of the planned function.
  rt::BufferOp emitRoot(int root);
  Value emitBuffer(RankedTensorType type, const Place &place);
  Value emitBuffer(Value value);
  rt::AssembleOp emitAssemble(Value value, const Place &place, ValueRange from);
  void emitCopy(Value value, Value result, const Place &from, const Place &to);
  void emitCopy(Value value, const Place &to);
  Place emitDenseCopy(Value value, Value result, Operation *at);
  Place emitDenseCopy(Value value, Operation *at);
  SmallVector<int64_t> getIds(ValueRange values);
  SmallVector<rt::PartAttr> getParts(ValueRange values);
  void setParts(Operation *op, StringRef name, ArrayRef<rt::PartAttr> parts);
  SmallVector<Value> lookUp(ValueRange values);
  void describe(Operation *op, Operation *origin, ValueRange values);

  func::FuncOp source, planned;
  const Target &target;
  Places places;
  OpBuilder builder;
  /// Inserts at the top of the function, where buffers are named.
  OpBuilder entry;
  /// Scalars of the planned function.
  IRMapping scalars;
  /// One op per root, and one view per root, offsets and type.
  std::vector<rt::BufferOp> buffers;
  DenseMap<std::pair<std::pair<int, int64_t>, std::pair<Value, Type>>, Value>
      views;
  /// What the started collectives gave, until they are waited for.
  DenseMap<Operation *, Value> tickets;
  Arena arena;
  int64_t numCopies = 0;
  /// Constants of the module; -1 if they have not been counted.
  int64_t numGlobals = -1;
};

} // namespace mlir::weft

#endif // WEFT_LIB_CODEGEN_PLANNING_PLANNER_H
