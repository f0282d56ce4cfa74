// SPDX-License-Identifier: Apache-2.0

// weft-verify-local: the gate of phase `local`. Nothing is left to decide: no
// shardings but at a function's border, static types only, and every op that
// weft adds is one that a rank can run.

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/Weft/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::weft {
#define GEN_PASS_DEF_VERIFYLOCALPASS
#include "weft/Dialect/Weft/Transforms/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

LogicalResult verifyTypes(Operation *op) {
  for (Value result : op->getResults()) {
    auto type = dyn_cast<ShapedType>(result.getType());
    if (type && !type.hasStaticShape())
      return op->emitOpError("makes a value of type ")
             << type << ", but local types are static";
  }
  return success();
}

LogicalResult verifyOp(Operation *op) {
  if (isa<ShardOp, ReshardOp>(op))
    return op->emitOpError("is not allowed in phase 'local'");
  if (op->hasAttr(WeftDialect::kShardingsAttr))
    return op->emitOpError("has '")
           << WeftDialect::kShardingsAttr
           << "', which is not allowed in phase 'local'";
  return verifyTypes(op);
}

/// A sharding at the border is allowed only beside the global type.
LogicalResult verifyBorder(func::FuncOp func, unsigned index,
                           DictionaryAttr attrs, StringRef what) {
  if (!attrs || !attrs.contains(WeftDialect::kShardingAttr) ||
      attrs.contains(WeftDialect::kGlobalTypeAttr))
    return success();
  return func.emitOpError(what)
         << " #" << index << " has a sharding, but no '"
         << WeftDialect::kGlobalTypeAttr << "': its type is not local";
}

LogicalResult verifyFunction(func::FuncOp func) {
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (failed(verifyBorder(func, i, func.getArgAttrDict(i), "argument")))
      return failure();
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    if (failed(verifyBorder(func, i, func.getResultAttrDict(i), "result")))
      return failure();
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
    if (auto shaped = dyn_cast<ShapedType>(type);
        shaped && !shaped.hasStaticShape())
      return func.emitOpError("argument #")
             << i << " has type " << type << ", but local types are static";
  return success();
}

struct VerifyLocalPass : public weft::impl::VerifyLocalPassBase<VerifyLocalPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](Operation *op) {
      auto func = dyn_cast<func::FuncOp>(op);
      if (failed(verifyOp(op)) || (func && failed(verifyFunction(func))))
        return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
