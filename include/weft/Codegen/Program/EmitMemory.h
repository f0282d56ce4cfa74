// SPDX-License-Identifier: Apache-2.0

// Addresses, loads and stores in the LLVM dialect, and how elements lie in
// memory: i1 and floats of 8 bits are a byte, an index is an i64.

#ifndef WEFT_CODEGEN_PROGRAM_EMITMEMORY_H
#define WEFT_CODEGEN_PROGRAM_EMITMEMORY_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace mlir::weft {

/// The element type as it lies in memory.
Type getMemoryType(Type element);

/// An i64 constant.
Value emitInt(OpBuilder &builder, Location loc, int64_t value);

/// The address of the element at `index` of a buffer.
Value emitAddress(OpBuilder &builder, Location loc, Value buffer, Type element,
                  Value index);

/// Loads an element as what it is computed with.
Value emitLoad(OpBuilder &builder, Location loc, Type element, Value address);

/// Stores an element as it lies in memory.
void emitStore(OpBuilder &builder, Location loc, Value value, Value address);

/// A scalar as the 64 bits that a launch hands on, and back.
Value packScalar(OpBuilder &builder, Location loc, Value scalar);
Value unpackScalar(OpBuilder &builder, Location loc, Type type, Value bits);

/// The element of a buffer at `subscripts`, or zero if one of them that is
/// `checked` is outside; others are null there. `load` gives the element at an
/// address.
Value emitElement(OpBuilder &builder, Location loc, MemRefType type,
                  Value address, ValueRange subscripts,
                  llvm::ArrayRef<Value> checked,
                  llvm::function_ref<Value(Value)> load);

} // namespace mlir::weft

#endif // WEFT_CODEGEN_PROGRAM_EMITMEMORY_H
