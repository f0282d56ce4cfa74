// SPDX-License-Identifier: Apache-2.0

// The weft_rt dialect object and the verifier of its fused op.

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::weft::rt;

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.cpp.inc"
#include "weft/Dialect/WeftRT/IR/WeftRTEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "weft/Dialect/WeftRT/IR/WeftRTAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "weft/Dialect/WeftRT/IR/WeftRTOps.cpp.inc"

void WeftRTDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "weft/Dialect/WeftRT/IR/WeftRTAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "weft/Dialect/WeftRT/IR/WeftRTOps.cpp.inc"
      >();
}

namespace {

/// What the region sees of an operand: a tensor in place of a buffer.
Type getValueType(Type type) {
  if (auto memref = dyn_cast<MemRefType>(type))
    return RankedTensorType::get(memref.getShape(), memref.getElementType());
  return type;
}

} // namespace


LogicalResult FusedOp::verify() {
  if (!getOuts().empty() && getNumResults() != 0) // fused_c3
    return emitOpError("has ")
           << getNumResults() << " results and " << getOuts().size()
           << " outputs, expected one kind only";
  Block &block = getBody().front();
  if (block.getNumArguments() != getInputs().size())
    return emitOpError("region has ")
           << block.getNumArguments() << " arguments, expected "
           << getInputs().size();
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    Type expected = getValueType(input.getType());
    if (block.getArgument(i).getType() != expected) // fused_c1
      return emitOpError("region argument #")
             << i << " has type " << block.getArgument(i).getType()
             << ", expected " << expected;
  }
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  TypeRange given = isOnBuffers() ? TypeRange(getOuts().getTypes())
                                  : TypeRange(getResultTypes());
  if (!yield || yield.getValues().size() != given.size())
    return emitOpError("yields ") << (yield ? yield.getValues().size() : 0)
                                  << " values, expected " << given.size();
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (value.getType() != getValueType(given[i])) // fused_c2
      return emitOpError("yields #") << i << " of type " << value.getType()
                                     << ", expected " << getValueType(given[i]);
  return success();
}
