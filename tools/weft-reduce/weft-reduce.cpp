// SPDX-License-Identifier: Apache-2.0

// weft-reduce: makes a module smaller for as long as a script says that it
// still shows what is looked for, like mlir-reduce.

#include "ReduceOps.h"

#include "weft/InitAll.h"
#include "weft/Support/Guard.h"
#include "weft/Support/OutputPath.h"
#include "weft/Support/Version.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

int main(int argc, char **argv) {
  mlir::weft::initTool();
  mlir::DialectRegistry registry;
  mlir::weft::registerAll(registry);
  mlir::weft::registerReduceOps();
  return mlir::weft::runGuarded("weft-reduce", [&] {
    if (mlir::weft::refusePaths("weft-reduce", {argv, size_t(argc)}))
      return 1;
    mlir::MLIRContext context(registry);
    return mlir::failed(mlir::mlirReduceMain(argc, argv, context)) ? 1 : 0;
  });
}
