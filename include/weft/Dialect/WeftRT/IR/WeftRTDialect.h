// SPDX-License-Identifier: Apache-2.0

// The weft_rt dialect: a rank's program on planned buffers.

#ifndef WEFT_DIALECT_WEFTRT_IR_WEFTRTDIALECT_H
#define WEFT_DIALECT_WEFTRT_IR_WEFTRTDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "weft/Dialect/Weft/IR/Attention.h"
#include "weft/Dialect/Weft/IR/Collectives.h"

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h.inc"
#include "weft/Dialect/WeftRT/IR/WeftRTEnums.h.inc"

namespace mlir::weft::rt {

/// Says whether the type is a memref of integers, floats or indices whose sizes
/// and strides are static.
bool isBuffer(Type type);

/// Says whether a kernel can be given such a value with its launch: an index,
/// or an integer or float of at most 64 bits.
bool isScalar(Type type);

/// Bytes of an element in memory: i1 and types of fewer bits than a byte take
/// one, an index 8.
int64_t getElementBytes(Type element);
/// Bytes of the elements of a buffer or tensor, without gaps.
int64_t getBufferBytes(ShapedType type);

/// Elements from the first of a buffer to past its last.
int64_t getSpan(MemRefType type);

/// Says whether nothing lies between a buffer's elements, which are in
/// row-major order.
bool isDense(MemRefType type);

/// Strides of a dense row-major tensor, in elements.
llvm::SmallVector<int64_t> getDenseStrides(llvm::ArrayRef<int64_t> shape);
/// Strides of a buffer of static layout, in elements.
llvm::SmallVector<int64_t> getBufferStrides(MemRefType type);

} // namespace mlir::weft::rt

#include "weft/Dialect/WeftRT/IR/LaunchConfig.h.inc"

#define GET_ATTRDEF_CLASSES
#include "weft/Dialect/WeftRT/IR/WeftRTAttrs.h.inc"

namespace mlir::weft::rt {

/// What the caller of a planned function gives and wants; empty if it does not
/// say.
llvm::SmallVector<TensorAttr> getArgs(Operation *planned);
llvm::SmallVector<TensorAttr> getResults(Operation *planned);

/// The channel on whose stream an op is; null: on the one that computes.
FlatSymbolRefAttr getStream(Operation *op);

} // namespace mlir::weft::rt

#define GET_OP_CLASSES
#include "weft/Dialect/WeftRT/IR/WeftRTOps.h.inc"

#endif // WEFT_DIALECT_WEFTRT_IR_WEFTRTDIALECT_H
