// SPDX-License-Identifier: Apache-2.0

// Errors of meshes.

#ifndef WEFT_DIALECT_WEFT_IR_MESHERRORS_H
#define WEFT_DIALECT_WEFT_IR_MESHERRORS_H

#include "mlir/IR/Diagnostics.h"

namespace mlir::weft {

class MeshOp;

/// Returns where an error of `mesh` is reported: at its module if nobody says
/// where the mesh itself is, as in a module that a frontend has made.
Location getErrorLoc(MeshOp mesh);

/// Emits an error of `mesh`, at that place; what is wrong is for the caller to
/// append.
InFlightDiagnostic emitMeshError(MeshOp mesh);

} // namespace mlir::weft

#endif // WEFT_DIALECT_WEFT_IR_MESHERRORS_H
