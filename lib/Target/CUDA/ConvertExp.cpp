// SPDX-License-Identifier: Apache-2.0

// exp(x) = 2^j 2^f with x log2(e) = j + f: the GPU has an instruction for 2^f,
// whose error is below 2 units in the last place. j is not below -126 nor above
// 126, so that 2^j is a normal number; beyond, f is larger than 1/2, and the
// product is denormal, 0 or infinite. A product that saturates finds j: it
// brings x log2(e) / 252 + 1/2 between 0 and 1.

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Target/CUDA/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::weft {
#define GEN_PASS_DEF_CONVERTEXPPASS
#include "weft/Target/CUDA/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// log2(e) in two parts.
constexpr double kLog2E = 0x1.715476p+0, kLog2ELow = 0x1.4ae0cp-26;
/// The most that j differs from 0.
constexpr double kMost = 126;
/// Adding it rounds to an integer, which is then in the low bits.
constexpr double kRound = 0x1.8p23;

void convert(math::ExpOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
  Value x = op.getOperand();
  auto number = [&](double value) -> Value {
    return arith::ConstantOp::create(
        builder, loc, builder.getF32FloatAttr(static_cast<float>(value)));
  };
  auto fma = [&](Value a, double factor, Value b) -> Value {
    return math::FmaOp::create(builder, loc, a, number(factor), b);
  };
  auto call = [&](StringRef name, ValueRange operands) -> Value {
    return LLVM::CallIntrinsicOp::create(builder, loc, f32,
                                         builder.getStringAttr(name), operands)
        .getResults();
  };
  Value factor = number(kLog2E / (2 * kMost)), half = number(0.5);
  Value part = call("llvm.nvvm.fma.rn.sat.f", {x, factor, half});
  // The low bits are j as a float's exponent, whose bias is 127.
  Value round = number(kRound + 1);
  Value shifted = fma(part, 2 * kMost, round);
  Value origin = number(kRound + 1 + kMost);
  Value minusJ = arith::SubFOp::create(builder, loc, origin, shifted);
  Value rest = fma(x, kLog2E, minusJ);
  rest = fma(x, kLog2ELow, rest);
  Value power = call("llvm.nvvm.ex2.approx.ftz", rest);
  Value bits = arith::ShLIOp::create(
      builder, loc, arith::BitcastOp::create(builder, loc, i32, shifted),
      arith::ConstantIntOp::create(builder, loc, 23, 32));
  Value scale = arith::BitcastOp::create(builder, loc, f32, bits);
  op.replaceAllUsesWith(
      arith::MulFOp::create(builder, loc, power, scale).getResult());
  op.erase();
}

struct ConvertExpPass : public weft::impl::ConvertExpPassBase<ConvertExpPass> {
  using Base::Base;

  void runOnOperation() override {
    if (getOperation()->hasAttr(WeftDialect::kInvarianceAttr))
      return;
    SmallVector<math::ExpOp> ops;
    getOperation().walk([&](math::ExpOp op) {
      if (op.getType().isF32())
        ops.push_back(op);
    });
    for (math::ExpOp op : ops)
      convert(op);
  }
};

} // namespace
