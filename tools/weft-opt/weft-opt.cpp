// SPDX-License-Identifier: Apache-2.0

// weft-opt: runs passes and pipelines over a module, like mlir-opt.

#include "weft/InitAll.h"
#include "weft/Support/Guard.h"
#include "weft/Support/OutputPath.h"
#include "weft/Support/Version.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::weft::initTool();
  mlir::DialectRegistry registry;
  mlir::weft::registerAll(registry);
  return mlir::weft::runGuarded("weft-opt", [&] {
    if (mlir::weft::refusePaths("weft-opt", {argv, size_t(argc)}))
      return 1;
    return mlir::asMainReturnCode(
        mlir::MlirOptMain(argc, argv, "weft optimizer driver\n", registry));
  });
}
