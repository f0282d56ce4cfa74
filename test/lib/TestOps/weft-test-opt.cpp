// SPDX-License-Identifier: Apache-2.0

// weft-test-opt: weft-opt and the test dialect. Nothing in lib/ knows its ops.

#include "TestOps.h"

#include "weft/InitAll.h"
#include "weft/Support/Guard.h"
#include "weft/Support/Version.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::weft::initTool();
  mlir::DialectRegistry registry;
  mlir::weft::registerAll(registry);
  registry.insert<mlir::weft::test::WeftTestDialect>();
  mlir::weft::test::registerEmulateDevice();
  mlir::weft::test::registerLowerTestOps();
  return mlir::weft::runGuarded("weft-test-opt", [&] {
    return mlir::asMainReturnCode(mlir::MlirOptMain(
        argc, argv, "weft optimizer driver with test ops\n", registry));
  });
}
