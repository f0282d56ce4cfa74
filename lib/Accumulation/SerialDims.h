// SPDX-License-Identifier: Apache-2.0

// Arguments and results of which each coordinate along the serial axis has a
// part: how they are cut, and how the parts are put together.

#ifndef WEFT_LIB_ACCUMULATION_SERIALDIMS_H
#define WEFT_LIB_ACCUMULATION_SERIALDIMS_H

#include "Accumulate.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace mlir::weft {

/// A dimension of an argument or result that the serial axis cuts.
struct SerialDim {
  int64_t dim;
  AxesSplit axes;
  /// Elements of one coordinate, and those that the rank holds of all.
  int64_t chunk, whole;
};

/// Finds the dims of an argument or result of `func` that are cut; an error at
/// `loc` that begins with `what` if it cannot be. `local` is the type of one
/// coordinate.
FailureOr<SmallVector<SerialDim>>
getSerialDims(func::FuncOp func, ShardingAttr sharding, TypeAttr global,
              Type local, const SerialAxis &serial, Location loc,
              const Twine &what);

/// Where the user's program takes an argument, or makes a result, if an op says
/// so; else where the function is.
Location locateArgument(func::FuncOp func, unsigned index);
Location locateResult(func::FuncOp func, unsigned index);

/// "argument #0", with its name if it has one.
std::string describe(StringRef kind, size_t number, StringAttr name);

/// The type of all coordinates' parts.
RankedTensorType getWholeType(Type local, ArrayRef<SerialDim> dims);

/// What one coordinate sees of an argument. What lies past its end is
/// unspecified on all ranks, so it may be zero.
Value cutArgument(OpBuilder &builder, Value value, ArrayRef<SerialDim> dims,
                  int64_t coordinate, RankedTensorType local);

/// The rank's part of a result, from those of the coordinates.
Value joinResult(OpBuilder &builder, Location loc, SmallVector<Value> clones,
                 ArrayRef<SerialDim> dims);

} // namespace mlir::weft

#endif // WEFT_LIB_ACCUMULATION_SERIALDIMS_H
