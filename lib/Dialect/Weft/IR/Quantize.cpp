// SPDX-License-Identifier: Apache-2.0

// What the ops of quantization demand: blocks that divide, and element types;
// and its formulas, which are ops on numbers.

#include "weft/Dialect/Weft/IR/Formulas.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

RankedTensorType getTensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

bool isWide(RankedTensorType type) {
  return isa<Float32Type, BFloat16Type, Float16Type>(type.getElementType());
}

bool isNarrow(Type element) {
  return isa<Float8E4M3FNType, Float8E5M2Type, Float4E2M1FNType>(element);
}

/// Checks that each size of `whole` is a multiple of that of `blocks`.
LogicalResult verifyBlocks(Operation *op, RankedTensorType whole,
                           RankedTensorType blocks) {
  bool divides = whole.getRank() == blocks.getRank();
  if (divides)
    for (auto [size, count] :
         llvm::zip_equal(whole.getShape(), blocks.getShape()))
      divides &= count == size || (count != 0 && size % count == 0);
  if (!divides)
    return op->emitOpError("expected blocks that divide ")
           << whole << ", got one number for each in " << blocks;
  return success();
}

LogicalResult verifySame(Operation *op, RankedTensorType a,
                         RankedTensorType b) {
  if (a.getShape() != b.getShape())
    return op->emitOpError("expected one shape, got ") << a << " and " << b;
  return success();
}

/// Checks that scales of `type` are ones that the op's elements have, and that
/// it knows the tensor's magnitude exactly if these need it.
template <typename Op> LogicalResult verifyScale(Op op, Type type) {
  Type element = op.getElement();
  bool fits = isa<Float32Type, Float8E4M3FNType>(type) ||
              (isa<Float8E8M0FNUType>(type) && !isa<Float4E2M1FNType>(element));
  // What blocks have beside the scale of a tensor are no powers of two.
  bool mayBePower = type.isF32() && !isa<Float4E2M1FNType>(element);
  if (!isNarrow(element) || !fits || (op.getPowerOfTwo() && !mayBePower))
    return op.emitOpError("has no scales of ")
           << type << (op.getPowerOfTwo() ? " that are powers of two" : "")
           << " for " << element;
  bool hasWhole = op.getTensorAmax() != nullptr;
  if (isa<Float8E4M3FNType>(type) != hasWhole)
    return op.emitOpError(
               hasWhole ? "has a magnitude of the tensor, but scales of "
                        : "has no magnitude of the tensor, but scales of ")
           << type;
  return success();
}

} // namespace

LogicalResult AmaxOp::verify() {
  RankedTensorType input = getTensor(getInput()), result = getTensor(*this);
  bool divides = static_cast<int64_t>(getBlocks().size()) == input.getRank();
  SmallVector<int64_t> expected;
  if (divides)
    for (auto [size, block] : llvm::zip_equal(input.getShape(), getBlocks())) {
      divides &= block > 0 && size % block == 0;
      expected.push_back(block > 0 ? size / block : 0);
    }
  if (!divides) // amax_c1
    return emitOpError("expected blocks that divide ")
           << input << ", got [" << getBlocks() << "]";
  // amax_c2
  if (!isWide(input) || !result.getElementType().isF32() ||
      result.getShape() != ArrayRef(expected))
    return emitOpError("expected f32, bf16 or f16, and an f32 for each block "
                       "of [")
           << getBlocks() << "], got " << input << " and " << result;
  return success();
}

LogicalResult BlockScaleOp::verify() {
  RankedTensorType amax = getTensor(getAmax()),
                   multiplier = getTensor(getMultiplier()),
                   scale = getTensor(getScale());
  // block_scale_c1
  if (failed(verifySame(*this, amax, multiplier)) ||
      failed(verifySame(*this, amax, scale)))
    return failure();
  if (!amax.getElementType().isF32() || !multiplier.getElementType().isF32())
    return emitOpError("expected magnitudes and multipliers in f32, got ")
           << amax << " and " << multiplier;
  // block_scale_c2, block_scale_c3
  if (failed(verifyScale(*this, scale.getElementType())))
    return failure();
  RankedTensorType whole =
      getTensorAmax() ? getTensor(getTensorAmax()) : RankedTensorType();
  if (whole && (!whole.getElementType().isF32() || whole.getNumElements() != 1))
    return emitOpError("expected one f32 for the tensor, got ") << whole;
  return success();
}

LogicalResult QuantizeOp::verify() {
  RankedTensorType input = getTensor(getInput()),
                   multiplier = getTensor(getMultiplier()),
                   result = getTensor(*this);
  // quantize_c1
  if (!isWide(input) || !multiplier.getElementType().isF32() ||
      !isNarrow(result.getElementType()))
    return emitOpError("cannot cast ")
           << input << " by " << multiplier << " to " << result;
  if (failed(verifySame(*this, input, result)) ||
      failed(verifyBlocks(*this, input, multiplier))) // quantize_c2
    return failure();
  bool isNibble = isa<Float4E2M1FNType>(result.getElementType());
  // quantize_c3
  if (isNibble && (result.getRank() == 0 || result.getShape().back() % 2 != 0))
    return emitOpError("expected an even last dimension, got ") << result;
  // quantize_c4
  if (isNibble && multiplier.getShape().back() != 0) {
    int64_t along = result.getShape().back() / multiplier.getShape().back();
    if (along != 1 && along % 2 != 0)
      return emitOpError("expected blocks of 1 or an even number along the "
                         "last dimension, got ")
             << along;
  }
  // quantize_c5
  if (!llvm::isUInt<32>(getSeed()))
    return emitOpError("expected a seed of 32 bits, got ")
           << getSeedAttr().getInt();
  if (!getKey() && getSeed() != 0)
    return emitOpError("has the seed ") << getSeed() << " and no key";
  if (!getKey())
    return success();
  RankedTensorType key = getTensor(getKey());
  if (!isNibble || !key.getElementType().isInteger(32) ||
      key.getNumElements() != 1)
    return emitOpError("expected one i32 for f4E2M1FN, got ")
           << key << " for " << result;
  return success();
}

LogicalResult DequantizeOp::verify() {
  RankedTensorType input = getTensor(getInput()), scale = getTensor(getScale()),
                   result = getTensor(*this);
  // dequantize_c1
  if (!isNarrow(input.getElementType()) ||
      !isa<Float32Type, Float8E8M0FNUType, Float8E4M3FNType>(
          scale.getElementType()) ||
      !isWide(result))
    return emitOpError("cannot multiply ")
           << input << " with " << scale << " to " << result;
  if (failed(verifySame(*this, input, result)))
    return failure();
  return verifyBlocks(*this, input, scale); // dequantize_c2
}

LogicalResult MultiplierOfOp::verify() {
  return verifyScale(*this, getScale()); // multiplier_of_c1
}

LogicalResult ScaleOfOp::verify() {
  return verifyScale(*this, getScale().getType()); // scale_of_c1
}

LogicalResult DecodeOp::verify() {
  // decode_c1
  if (getValue().getType().isInteger() != bool(getHalf()))
    return emitOpError("expected a half of i8, and of nothing else, got ")
           << getValue().getType();
  return success();
}

LogicalResult PlaceOp::verify() {
  // place_c1
  if (getIndices().empty() || getIndices().size() != getSizes().size())
    return emitOpError("has ")
           << getIndices().size() << " indices of " << getSizes().size()
           << " sizes, expected as many, and at least one";
  for (int64_t size : getSizes())
    if (size < 1)
      return emitOpError("has size ") << size << ", expected at least 1";
  return success();
}

int weft::countIndices(PlaceOp op) {
  return llvm::count_if(op.getIndices(), [](Value index) {
    return !matchPattern(index, m_Constant());
  });
}

/// A first index of zero, as of a loop of one iteration, has nothing to add.
Value weft::emitPlace(OpBuilder &builder, PlaceOp op, ValueRange indices) {
  Location loc = op.getLoc();
  Type type = op.getType(), i64 = builder.getI64Type();
  Value place;
  for (auto [index, size] : llvm::zip_equal(indices, op.getSizes())) {
    if (!place && index != indices.back() && matchPattern(index, m_Zero()))
      continue;
    Value here = arith::IndexCastOp::create(builder, loc, i64, index);
    if (type != i64)
      here = arith::TruncIOp::create(builder, loc, type, here);
    if (!place) {
      place = here;
      continue;
    }
    Value extent = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(type, size));
    place = arith::MulIOp::create(builder, loc, place, extent);
    place = arith::AddIOp::create(builder, loc, place, here);
  }
  return place;
}

/// Beside the multiplier of the same block most of it is there.
static int getScaleSize(ScaleOfOp op) {
  bool isBeside = llvm::any_of(op.getAmax().getUsers(), [&](Operation *user) {
    return isa<MultiplierOfOp>(user) && user->getBlock() == op->getBlock();
  });
  Type type = op.getScale().getType();
  if (isa<Float8E8M0FNUType>(type))
    return isBeside ? 5 : 18;
  if (isa<Float8E4M3FNType>(type))
    return isBeside ? 1 : 18;
  return isBeside ? 4 : op.getPowerOfTwo() ? 21 : 12;
}

std::optional<int> weft::getFormulaSize(Operation *op) {
  if (!isa_and_present<WeftDialect>(op->getDialect()))
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, std::optional<int>>(op)
      .Case([](MultiplierOfOp op) {
        if (isa<Float8E8M0FNUType>(op.getScale()))
          return 21;
        if (isa<Float8E4M3FNType>(op.getScale()))
          return 23;
        return op.getPowerOfTwo() ? 17 : 8;
      })
      .Case([](ScaleOfOp op) { return getScaleSize(op); })
      .Case([](RoundF8Op op) {
        return isa<Float8E5M2Type>(op.getType()) ? 11 : 5;
      })
      .Case([](RoundF4Op op) { return op.getRandom() ? 48 : 40; })
      .Case([](DecodeOp op) { return op.getHalf() ? 26 : 11; })
      .Case([](MixBitsOp) { return 12; })
      .Case([](RandomBitsOp) { return 29; })
      .Case([](PlaceOp op) {
        int count = countIndices(op);
        return (op.getType().isInteger(32) ? 5 : 4) * count -
               (count > 0 ? 3 : 0);
      })
      .Default(std::nullopt);
}

#define GET_OP_CLASSES
#include "weft/Dialect/Weft/IR/WeftFormulaOps.cpp.inc"
