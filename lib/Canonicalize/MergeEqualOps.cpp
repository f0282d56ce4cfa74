// SPDX-License-Identifier: Apache-2.0

#include "weft/Analysis/MergeEqualOps.h"

#include "weft/Canonicalize/Passes.h"

#include "mlir/IR/Dominance.h"

namespace mlir::weft {
#define GEN_PASS_DEF_MERGEEQUALOPSPASS
#include "weft/Canonicalize/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;

namespace {

struct MergeEqualOpsPass
    : weft::impl::MergeEqualOpsPassBase<MergeEqualOpsPass> {
  using Base::Base;

  void runOnOperation() override {
    if (!weft::mergeEqualOps(getOperation()))
      return markAllAnalysesPreserved();
    // No block and no branch goes.
    markAnalysesPreserved<DominanceInfo, PostDominanceInfo>();
  }
};

} // namespace
