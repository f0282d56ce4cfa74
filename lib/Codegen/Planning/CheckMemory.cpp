// SPDX-License-Identifier: Apache-2.0

// The plan tells what a rank needs; the pass compares that with a limit.

#include "weft/Analysis/PlanSummary.h"
#include "weft/Codegen/Planning/Passes.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::weft {
#define GEN_PASS_DEF_CHECKMEMORYPASS
#include "weft/Codegen/Planning/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

struct CheckMemoryPass
    : public weft::impl::CheckMemoryPassBase<CheckMemoryPass> {
  using Base::Base;

  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (limit > 0 && failed(checkMemoryLimit(func, limit)))
        return signalPassFailure();
  }
};

} // namespace
