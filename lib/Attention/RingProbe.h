// SPDX-License-Identifier: Apache-2.0

// One attention by itself, to see what comes of it.

#ifndef WEFT_LIB_ATTENTION_RINGPROBE_H
#define WEFT_LIB_ATTENTION_RINGPROBE_H

#include "RingPieces.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::weft {

/// A module of phase `local` whose only function is the forward pass, with the
/// gathers of its keys and values, and its gradients in the same block with
/// what adds theirs up over ranks. What these read is an argument, and what
/// others read of them a result.
OwningOpRef<ModuleOp> makeProbe(const Ring &forward);

} // namespace mlir::weft

#endif // WEFT_LIB_ATTENTION_RINGPROBE_H
