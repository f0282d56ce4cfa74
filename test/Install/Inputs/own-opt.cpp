// SPDX-License-Identifier: Apache-2.0

// An opt of somebody else: weft's passes from the installed libraries.

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::weft::registerAll(registry);
  registry.insert<mlir::weft::WeftDialect>();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "an opt of somebody else\n", registry));
}
