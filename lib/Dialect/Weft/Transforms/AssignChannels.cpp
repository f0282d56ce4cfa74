// SPDX-License-Identifier: Apache-2.0

// weft-assign-channels: which communicator and stream each collective uses.

#include "weft/Analysis/Traffic.h"
#include "weft/Dialect/Weft/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>

namespace mlir::weft {
#define GEN_PASS_DEF_ASSIGNCHANNELSPASS
#include "weft/Dialect/Weft/Transforms/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

Purpose getPurpose(Operation *op) {
  switch (*getCollectiveKind(op)) {
  case CollectiveKind::AllGather:
    return Purpose::Gather;
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllReduce:
    return Purpose::Reduce;
  case CollectiveKind::AllToAll:
  case CollectiveKind::Permute:
    return Purpose::Activation;
  }
  llvm_unreachable("a kind that is not listed");
}

std::string getChannelName(Purpose purpose, AxesAttr axes) {
  std::string name = stringifyPurpose(purpose).str();
  for (AxisRefAttr axis : axes.getAxes()) {
    name += "." + axis.getName().str();
    if (!axis.isWholeAxis())
      name += ":(" + std::to_string(axis.getPreSize()) + ")" +
              std::to_string(axis.getSize());
  }
  return name;
}

struct AssignChannelsPass
    : public weft::impl::AssignChannelsPassBase<AssignChannelsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> collectives;
    getOperation()->walk([&](Operation *op) {
      if (getCollectiveKind(op) && !getCollectiveChannel(op))
        collectives.push_back(op);
    });
    for (Operation *op : collectives)
      assign(op);
  }

  void assign(Operation *op) {
    Purpose purpose = getPurpose(op);
    AxesAttr axes = getCollectiveAxes(op);
    std::string name = getChannelName(purpose, axes);
    auto symbol = FlatSymbolRefAttr::get(&getContext(), name);
    if (!lookupChannel(op, symbol)) {
      Operation *outer = op;
      while (outer->getParentOp() != getOperation())
        outer = outer->getParentOp();
      OpBuilder builder(outer);
      ChannelOp::create(builder, op->getLoc(), name,
                        getCollectiveMesh(op).getValue(), axes, purpose);
    }
    op->setAttr("channel", symbol);
  }
};

} // namespace
