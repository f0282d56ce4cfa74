// SPDX-License-Identifier: Apache-2.0

// LLVM has no floats of 8 bits, and i1 has no bytes of its own.

#include "weft/Codegen/Program/EmitMemory.h"

#include "weft/Dialect/Weft/IR/Lookups.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::weft;

static bool isByteFloat(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8;
}

Type mlir::weft::getMemoryType(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  if (element.isIndex())
    return IntegerType::get(element.getContext(), 64);
  if (isByteFloat(element))
    return IntegerType::get(element.getContext(), 8);
  return element;
}

Value mlir::weft::emitInt(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 64);
}

Value mlir::weft::emitAddress(OpBuilder &builder, Location loc, Value buffer,
                              Type element, Value index) {
  return LLVM::GEPOp::create(builder, loc, buffer.getType(),
                             getMemoryType(element), buffer,
                             ArrayRef<LLVM::GEPArg>{index});
}

Value mlir::weft::emitLoad(OpBuilder &builder, Location loc, Type element,
                           Value address) {
  Value value =
      LLVM::LoadOp::create(builder, loc, getMemoryType(element), address);
  if (element.isInteger(1))
    return arith::TruncIOp::create(builder, loc, element, value);
  if (element.isIndex())
    return arith::IndexCastOp::create(builder, loc, element, value);
  if (isByteFloat(element))
    return arith::BitcastOp::create(builder, loc, element, value);
  return value;
}

void mlir::weft::emitStore(OpBuilder &builder, Location loc, Value value,
                           Value address) {
  Type type = getMemoryType(value.getType());
  if (value.getType().isInteger(1))
    value = arith::ExtUIOp::create(builder, loc, type, value);
  else if (value.getType().isIndex())
    value = arith::IndexCastOp::create(builder, loc, type, value);
  else if (isByteFloat(value.getType()))
    value = arith::BitcastOp::create(builder, loc, type, value);
  LLVM::StoreOp::create(builder, loc, value, address);
}

Value mlir::weft::packScalar(OpBuilder &builder, Location loc, Value scalar) {
  Type type = scalar.getType(), i64 = builder.getI64Type();
  if (type.isIndex())
    return arith::IndexCastOp::create(builder, loc, i64, scalar);
  unsigned width = type.getIntOrFloatBitWidth();
  if (isa<FloatType>(type))
    scalar = arith::BitcastOp::create(builder, loc,
                                      builder.getIntegerType(width), scalar);
  return width == 64 ? scalar
                     : arith::ExtUIOp::create(builder, loc, i64, scalar);
}

Value mlir::weft::unpackScalar(OpBuilder &builder, Location loc, Type type,
                               Value bits) {
  if (type.isIndex())
    return arith::IndexCastOp::create(builder, loc, type, bits);
  unsigned width = type.getIntOrFloatBitWidth();
  if (width != 64)
    bits = arith::TruncIOp::create(builder, loc, builder.getIntegerType(width),
                                   bits);
  return isa<FloatType>(type)
             ? arith::BitcastOp::create(builder, loc, type, bits)
             : bits;
}

Value mlir::weft::emitElement(OpBuilder &builder, Location loc, MemRefType type,
                              Value address, ValueRange subscripts,
                              ArrayRef<Value> checked,
                              llvm::function_ref<Value(Value)> load) {
  Type element = type.getElementType();
  Value place = emitInt(builder, loc, 0), inside;
  for (auto [i, subscript] : llvm::enumerate(subscripts)) {
    if (!checked[i])
      continue;
    Value isInside = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, subscript,
        emitInt(builder, loc, type.getDimSize(i)));
    inside = inside ? arith::AndIOp::create(builder, loc, inside, isInside)
                    : isInside;
  }
  Value zero =
      arith::ConstantOp::create(builder, loc, getMissingElement(element));
  if (type.getNumElements() == 0)
    return zero;
  for (auto [subscript, stride] :
       llvm::zip(subscripts, rt::getBufferStrides(type))) {
    Value term = arith::MulIOp::create(builder, loc, subscript,
                                       emitInt(builder, loc, stride));
    place = arith::AddIOp::create(builder, loc, place, term);
  }
  if (inside)
    place = arith::SelectOp::create(builder, loc, inside, place,
                                    emitInt(builder, loc, 0));
  Value value = load(emitAddress(builder, loc, address, element, place));
  return inside ? arith::SelectOp::create(builder, loc, inside, value, zero)
                : value;
}
