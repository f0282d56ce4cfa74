// SPDX-License-Identifier: Apache-2.0

// Finds the axes that shard the batch, and marks them as storage axes on
// parameters. Looks at the function's arguments and results only.

#include "weft/Propagation/Passes.h"

#include "weft/Rules/ShardingConversion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::weft {
#define GEN_PASS_DEF_INFERSTORAGEPASS
#include "weft/Propagation/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

using AxisSet = llvm::SmallSetVector<StringRef, 4>;

ShardingAttr getArgSharding(func::FuncOp func, unsigned arg) {
  return func.getArgAttrOfType<ShardingAttr>(arg, WeftDialect::kShardingAttr);
}

ShardingAttr getResultSharding(func::FuncOp func, unsigned result) {
  return func.getResultAttrOfType<ShardingAttr>(result,
                                                WeftDialect::kShardingAttr);
}

/// For each argument the result that it is donated to, if any.
SmallVector<std::optional<unsigned>> getDonations(func::FuncOp func) {
  SmallVector<std::optional<unsigned>> donations(func.getNumArguments());
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    if (auto alias =
            func.getResultAttrOfType<IntegerAttr>(i, WeftDialect::kAliasAttr))
      donations[alias.getInt()] = i;
  return donations;
}

bool isInteger(func::FuncOp func, unsigned arg) {
  return isa<IntegerType>(getElementTypeOrSelf(func.getArgumentTypes()[arg]));
}

/// Says whether the argument is a weight or its state, not data.
bool isParameter(func::FuncOp func, unsigned arg,
                 std::optional<unsigned> donation) {
  if (isInteger(func, arg))
    return false;
  if (donation)
    return true;
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    if (func.getResultTypes()[i] == func.getArgumentTypes()[arg] &&
        getResultSharding(func, i) == getArgSharding(func, arg))
      return true;
  return false;
}

/// Adds the axes that shard an argument.
void collectAxes(ShardingAttr sharding, AxisSet &axes) {
  if (!sharding)
    return;
  for (DimShardingAttr dim : sharding.getDims())
    for (AxisRefAttr axis : dim.getAxes())
      axes.insert(axis.getName());
}

/// The axes that shard integer data, or if there are none, all data.
AxisSet getBatchAxes(func::FuncOp func, ArrayRef<bool> parameters) {
  AxisSet integerAxes, axes;
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    if (parameters[i])
      continue;
    collectAxes(getArgSharding(func, i), axes);
    if (isInteger(func, i))
      collectAxes(getArgSharding(func, i), integerAxes);
  }
  return integerAxes.empty() ? axes : integerAxes;
}

/// The sharding with its axes among `batch` as storage axes.
ShardingAttr withStorage(ShardingAttr sharding, const AxisSet &batch) {
  if (!sharding || !sharding.getStorage().empty())
    return sharding;
  SmallVector<AxisRefAttr> storage;
  for (DimShardingAttr dim : sharding.getDims())
    for (AxisRefAttr axis : dim.getAxes())
      if (batch.contains(axis.getName()))
        storage.push_back(axis);
  return ShardingAttr::get(sharding.getContext(), sharding.getMesh(),
                           sharding.getDims(), storage,
                           sharding.getPartialKind(), sharding.getPartial());
}

/// Reports if a result is sharded in another way than the argument that is
/// donated to it.
LogicalResult checkDonated(func::FuncOp func, unsigned arg, unsigned result) {
  ShardingAttr sharding = getArgSharding(func, arg);
  ShardingAttr other = getResultSharding(func, result);
  if (other && (!sharding || sharding.getDims() != other.getDims() ||
                (!other.getStorage().empty() &&
                 other.getStorage() != sharding.getStorage()))) {
    InFlightDiagnostic diag = func.emitOpError("result #")
                              << result << " is sharded as " << other
                              << ", but argument #" << arg
                              << ", which is donated to it, ";
    if (sharding)
      return diag << "as " << sharding;
    return diag << "has no sharding";
  }
  return success();
}

struct InferStoragePass : weft::impl::InferStoragePassBase<InferStoragePass> {
  using Base::Base;

  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(runOnFunction(func)))
        return signalPassFailure();
  }

private:
  LogicalResult runOnFunction(func::FuncOp func) {
    SmallVector<std::optional<unsigned>> donations = getDonations(func);
    if (infer)
      markStorage(func, donations);
    SmallVector<Attribute> results(func.getNumResults());
    for (auto [arg, result] : llvm::enumerate(donations)) {
      if (!result)
        continue;
      if (failed(checkDonated(func, arg, *result)))
        return failure();
      results[*result] = getArgSharding(func, arg);
    }
    setResultAttrs(func, WeftDialect::kShardingAttr, results);
    return success();
  }

  static void markStorage(func::FuncOp func,
                          ArrayRef<std::optional<unsigned>> donations) {
    SmallVector<bool> parameters;
    for (auto [arg, result] : llvm::enumerate(donations))
      parameters.push_back(isParameter(func, arg, result));
    AxisSet batch = getBatchAxes(func, parameters);
    SmallVector<Attribute> args;
    for (auto [arg, isParameter] : llvm::enumerate(parameters)) {
      ShardingAttr sharding = getArgSharding(func, arg);
      args.push_back(isParameter ? withStorage(sharding, batch) : sharding);
    }
    setArgAttrs(func, WeftDialect::kShardingAttr, args);
  }
};

} // namespace
