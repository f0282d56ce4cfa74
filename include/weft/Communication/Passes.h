// SPDX-License-Identifier: Apache-2.0

// The passes over collectives of the local and scheduled phases.

#ifndef WEFT_COMMUNICATION_PASSES_H
#define WEFT_COMMUNICATION_PASSES_H

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Communication/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Communication/Passes.h.inc"

/// The module's first mesh. Where there is none, one of a single rank is
/// declared: the channels of copies to the host's memory are on a mesh.
MeshOp getOrDeclareMesh(ModuleOp module);

} // namespace mlir::weft

#endif // WEFT_COMMUNICATION_PASSES_H
