// SPDX-License-Identifier: Apache-2.0

// The formulas of quantization become arithmetic, where code is made of them.
// Until then each is one op: passes and proofs go through all ops of kernels.

#include "weft/Quantize/Passes.h"

#include "Formulas.h"
#include "weft/Dialect/Weft/IR/Formulas.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::weft {
#define GEN_PASS_DEF_EXPANDFORMULASPASS
#include "weft/Quantize/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Null if the op is no formula.
Value emitFormula(OpBuilder &b, Operation *op) {
  Location loc = op->getLoc();
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](MultiplierOfOp op) {
        return emitScale(b, loc, op.getAmax(), op.getTensorAmax(),
                         op.getElement(), op.getScale(), op.getPowerOfTwo())
            .multiplier;
      })
      .Case([&](ScaleOfOp op) {
        return emitScale(b, loc, op.getAmax(), op.getTensorAmax(),
                         op.getElement(), op.getScale().getType(),
                         op.getPowerOfTwo())
            .scale;
      })
      .Case([&](RoundF8Op op) {
        return emitCast8(b, loc, op.getProduct(), op.getType());
      })
      .Case([&](RoundF4Op op) {
        return emitCast4(b, loc, op.getProduct(), op.getRandom(), op.getHalf());
      })
      .Case([&](DecodeOp op) {
        return emitDecode(b, loc, op.getValue(), op.getHalf());
      })
      .Case([&](PlaceOp op) { return emitPlace(b, op, op.getIndices()); })
      .Case([&](MixBitsOp op) { return emitMix(b, loc, op.getValue()); })
      .Case([&](RandomBitsOp op) {
        return emitRandom(b, loc, op.getFirst(), op.getSecond(), op.getIndex());
      })
      .Default(Value());
}

struct ExpandFormulasPass
    : public weft::impl::ExpandFormulasPassBase<ExpandFormulasPass> {
  using Base::Base;

  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      OpBuilder builder(op);
      if (Value value = emitFormula(builder, op)) {
        op->getResult(0).replaceAllUsesWith(value);
        op->erase();
      }
    });
  }
};

} // namespace
