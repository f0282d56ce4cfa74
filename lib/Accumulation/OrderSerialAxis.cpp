// SPDX-License-Identifier: Apache-2.0

// weft-order-serial-axis: the axis whose parts a rank computes one after the
// other comes last in each dimension that the user shards, so that what the
// rank holds of all coordinates together is one part of the dimension.

#include "Accumulate.h"

#include "weft/Accumulation/Passes.h"
#include "weft/Rules/ShardingConversion.h"

namespace mlir::weft {
#define GEN_PASS_DEF_ORDERSERIALAXISPASS
#include "weft/Accumulation/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

ShardingAttr orderAxes(ShardingAttr sharding, StringRef axis) {
  SmallVector<DimShardingAttr> dims;
  for (DimShardingAttr dim : sharding.getDims()) {
    SmallVector<AxisRefAttr> axes(dim.getAxes());
    std::stable_partition(axes.begin(), axes.end(), [&](AxisRefAttr ref) {
      return ref.getName() != axis;
    });
    dims.push_back(
        DimShardingAttr::get(sharding.getContext(), axes, dim.getIsOpen()));
  }
  return ShardingAttr::get(sharding.getContext(), sharding.getMesh(), dims,
                           sharding.getStorage(), sharding.getPartialKind(),
                           sharding.getPartial());
}

struct OrderSerialAxisPass
    : public weft::impl::OrderSerialAxisPassBase<OrderSerialAxisPass> {
  using OrderSerialAxisPassBase::OrderSerialAxisPassBase;

  void runOnOperation() override {
    if (failed(findSerialMesh(getOperation(), axis)))
      return signalPassFailure();
    getOperation().walk([&](Operation *op) {
      if (auto func = dyn_cast<FunctionOpInterface>(op))
        orderBorder(func);
      if (auto shard = dyn_cast<ShardOp>(op))
        shard.setShardingAttr(orderAxes(shard.getSharding(), axis));
    });
  }

  void orderBorder(FunctionOpInterface func) {
    auto order = [&](Attribute attr) -> Attribute {
      auto sharding = dyn_cast_if_present<ShardingAttr>(attr);
      return sharding ? orderAxes(sharding, axis) : attr;
    };
    SmallVector<Attribute> args, results;
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      args.push_back(order(func.getArgAttr(i, WeftDialect::kShardingAttr)));
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      results.push_back(
          order(func.getResultAttr(i, WeftDialect::kShardingAttr)));
    setArgAttrs(func, WeftDialect::kShardingAttr, args);
    setResultAttrs(func, WeftDialect::kShardingAttr, results);
  }
};

} // namespace
