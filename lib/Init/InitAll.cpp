// SPDX-License-Identifier: Apache-2.0

// The one file that includes upstream's InitAll headers.

#include "weft/InitAll.h"

#include "weft/Conversion/WeftToHost/Passes.h"
#include "weft/Conversion/WeftToHost/ValuePasses.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/Weft/Transforms/AccumulatePasses.h"
#include "weft/Dialect/Weft/Transforms/Passes.h"
#include "weft/Dialect/Weft/Transforms/ValuePasses.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Pipelines/Pipelines.h"
#include "weft/Schedule/Passes.h"
#include "weft/Verify/Passes.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

void mlir::weft::registerAllDialects(DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  registry.insert<WeftDialect, rt::WeftRTDialect>();
}

void mlir::weft::registerAll(DialectRegistry &registry) {
  weft::registerAllDialects(registry);
  mlir::registerAllPasses();
  registerWeftPasses();
  registerWeftAccumulatePasses();
  registerWeftValuePasses();
  registerWeftPipelines();
  registerWeftSchedulePasses();
  registerWeftToHostPasses();
  registerWeftToHostValuePasses();
  registerHostPipelines();
  registerVerifyPasses();
  registerVerifyPipelines();
}
