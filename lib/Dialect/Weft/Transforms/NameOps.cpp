// SPDX-License-Identifier: Apache-2.0

// weft-name-ops: the names by which schedules, traces and reports call ops.

#include "weft/Analysis/Traffic.h"
#include "weft/Dialect/Weft/Transforms/Passes.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::weft {
#define GEN_PASS_DEF_NAMEOPSPASS
#include "weft/Dialect/Weft/Transforms/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// The first word of an op's name; empty for ops that take no time.
StringRef getKindName(Operation *op) {
  if (std::optional<CollectiveKind> kind = getCollectiveKind(op))
    return stringifyCollectiveKind(*kind);
  if (isa<MatmulOp>(op))
    return "matmul";
  if (isa<ScatterAddOp>(op))
    return "scatter_add";
  return isa<rt::FusedOp>(op) ? "kernel" : "";
}

struct NameOpsPass : public weft::impl::NameOpsPassBase<NameOpsPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      llvm::StringMap<unsigned> counts;
      func.walk<WalkOrder::PreOrder>([&](Operation *op) {
        StringRef kind = getKindName(op);
        if (kind.empty() || op->hasAttr(WeftDialect::kOpNameAttr))
          return;
        op->setAttr(WeftDialect::kOpNameAttr,
                    StringAttr::get(op->getContext(),
                                    kind + " #" + Twine(counts[kind]++)));
      });
    }
  }
};

} // namespace
