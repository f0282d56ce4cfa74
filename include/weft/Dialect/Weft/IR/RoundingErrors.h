// SPDX-License-Identifier: Apache-2.0

// How the numbers of a module are rounded, besides what its ops say.

#ifndef WEFT_DIALECT_WEFT_IR_ROUNDINGERRORS_H
#define WEFT_DIALECT_WEFT_IR_ROUNDINGERRORS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::weft {

/// Emits an error of `module` if one of the two has kTF32Attr. `what` is the
/// other module, as in "the global program".
LogicalResult verifySameProducts(ModuleOp module, ModuleOp other,
                                 StringRef what);

/// Emits an error of `module` if the two have not the same kInvarianceAttr.
LogicalResult verifySameInvariance(ModuleOp module, ModuleOp other,
                                   StringRef what);

} // namespace mlir::weft

#endif // WEFT_DIALECT_WEFT_IR_ROUNDINGERRORS_H
