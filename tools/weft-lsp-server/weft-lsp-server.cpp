// SPDX-License-Identifier: Apache-2.0

// weft-lsp-server: diagnostics, definitions and hover in editors, for files
// with weft's and upstream's dialects.

#include "weft/InitAll.h"
#include "weft/Support/Version.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::weft::initTool();
  mlir::DialectRegistry registry;
  mlir::weft::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
