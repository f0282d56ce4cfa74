// SPDX-License-Identifier: Apache-2.0

// What a step needs of a rank's memory beside its arena.

#ifndef WEFT_SCHEDULE_FIXEDBYTES_H
#define WEFT_SCHEDULE_FIXEDBYTES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cstdint>

namespace mlir::weft {

/// 0 for what is no tensor of a known size.
int64_t getTensorBytes(Type type);

/// Bytes of the arguments of a local or scheduled function, and of results that
/// are no argument's.
int64_t getFixedBytes(func::FuncOp func);

} // namespace mlir::weft

#endif // WEFT_SCHEDULE_FIXEDBYTES_H
