// SPDX-License-Identifier: Apache-2.0

// weft-print-traffic: says, as remarks, what each function moves.

#include "weft/Analysis/Traffic.h"
#include "weft/Communication/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::weft {
#define GEN_PASS_DEF_PRINTTRAFFICPASS
#include "weft/Communication/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

struct PrintTrafficPass
    : public weft::impl::PrintTrafficPassBase<PrintTrafficPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (const TrafficEntry &entry : computeTraffic(func))
        func.emitRemark() << stringifyCollectiveKind(entry.kind) << " over "
                          << entry.axes << ": " << entry.count << " operands, "
                          << entry.bytes << " bytes";
    markAllAnalysesPreserved();
  }
};

} // namespace
