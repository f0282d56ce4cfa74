// SPDX-License-Identifier: Apache-2.0

#include "weft/Dialect/Weft/IR/RoundingErrors.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"

using namespace mlir;
using namespace mlir::weft;

static LogicalResult verifySame(ModuleOp module, ModuleOp other, StringRef what,
                                StringRef name, StringRef decided) {
  if (module->getAttr(name) == other->getAttr(name))
    return success();
  return module.emitError("'") << name << "' is not that of " << what
                               << ": it decides how " << decided;
}

LogicalResult weft::verifySameProducts(ModuleOp module, ModuleOp other,
                                       StringRef what) {
  return verifySame(module, other, what, WeftDialect::kTF32Attr,
                    "products are rounded");
}

LogicalResult weft::verifySameInvariance(ModuleOp module, ModuleOp other,
                                         StringRef what) {
  return verifySame(module, other, what, WeftDialect::kInvarianceAttr,
                    "narrow floats are computed");
}
