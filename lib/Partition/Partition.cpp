// SPDX-License-Identifier: Apache-2.0

// weft-partition: from the explicit global module to the program of one rank.
//
// Decides nothing: shardings stand on every value, reshards wherever they
// change. Ops are rebuilt one by one with local types (see Partition.h); a
// function's border keeps its global types and shardings as attributes.

#include "Partition.h"

#include "weft/Partition/Passes.h"
#include "weft/Rules/ReductionOrder.h"
#include "weft/Rules/ShardingConversion.h"
#include "weft/Rules/ShardingRule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::weft {
#define GEN_PASS_DEF_PARTITIONPASS
#include "weft/Partition/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// One function
//===----------------------------------------------------------------------===//

namespace {

class FunctionPartitioner {
public:
  FunctionPartitioner(func::FuncOp func, ReshardPlanner &planner,
                      FlatSymbolRefAttr meshName)
      : func(func), local(planner, meshName) {}

  LogicalResult run() {
    if (!func.getBody().hasOneBlock())
      return func.emitOpError("has ")
             << func.getBody().getBlocks().size()
             << " blocks, expected one: only straight-line code is partitioned";
    if (failed(readBorder()))
      return failure();
    Block &block = func.getBody().front();
    SmallVector<Operation *> globals = llvm::map_to_vector(
        block, [](Operation &op) -> Operation * { return &op; });
    unsigned numArgs = addLocalArguments(block);
    for (Operation *op : globals) {
      local.builder.setInsertionPoint(op);
      if (failed(partition(op)))
        return failure();
    }
    for (Operation *op : llvm::reverse(globals))
      op->erase();
    block.eraseArguments(0, numArgs);
    finishBorder();
    return success();
  }

private:
  Sharding toBorderSharding(Attribute attr, Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (auto sharding = dyn_cast_if_present<ShardingAttr>(attr))
      return toSharding(sharding, local.getMesh());
    return Sharding::replicated(tensor ? tensor.getRank() : 0);
  }

  /// Notes the shardings of arguments and results.
  LogicalResult readBorder() {
    for (BlockArgument arg : func.getArguments())
      local.setSharding(
          arg, toBorderSharding(func.getArgAttr(arg.getArgNumber(),
                                                WeftDialect::kShardingAttr),
                                arg.getType()));
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      resultShardings.push_back(
          toBorderSharding(func.getResultAttr(i, WeftDialect::kShardingAttr),
                           func.getResultTypes()[i]));
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      if (failed(checkAlias(i)))
        return failure();
    return success();
  }

  LogicalResult checkAlias(unsigned result) {
    auto alias =
        func.getResultAttrOfType<IntegerAttr>(result, WeftDialect::kAliasAttr);
    if (!alias)
      return success();
    Sharding arg = local.getSharding(func.getArgument(alias.getInt()));
    if (arg.isSameLayout(resultShardings[result]))
      return success();
    return func.emitOpError("result #")
           << result << " is sharded as "
           << resultShardings[result].str(local.getMesh())
           << ", but takes the place of argument #" << alias.getInt()
           << " that is sharded as " << arg.str(local.getMesh());
  }

  unsigned addLocalArguments(Block &block) {
    SmallVector<BlockArgument> args(block.getArguments());
    for (BlockArgument arg : args)
      local.setLocal(arg,
                     block.addArgument(local.getLocalType(arg), arg.getLoc()));
    return args.size();
  }

  LogicalResult partition(Operation *op) {
    if (auto reshard = dyn_cast<ReshardOp>(op))
      return partitionReshard(local, reshard);
    if (auto ret = dyn_cast<func::ReturnOp>(op))
      return partitionReturn(ret);
    if (failed(readShardings(op)) || failed(checkRegions(op)))
      return failure();
    if (isa<OptimizationBarrierOp>(op)) {
      local.cloneLocal(op);
      return success();
    }
    std::optional<ShardingRule> rule = getShardingRule(op);
    if (!rule)
      return partitionUnknown(op);
    FailureOr<FactorSharding> factors = getFactors(op, *rule);
    if (failed(factors) || failed(partitionWithRule(op)))
      return failure();
    setLocalOrder(op, *rule, *factors);
    return success();
  }

  LogicalResult partitionWithRule(Operation *op) {
    if (auto own = dyn_cast<PartitionOpInterface>(op))
      return own.partition(local);
    local.cloneLocal(op);
    return success();
  }

  /// A rank's part of a reduction is a part of its tree.
  void setLocalOrder(Operation *op, const ShardingRule &rule,
                     const FactorSharding &factors) {
    auto order = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
    if (order && rule.order)
      local.getLocal(op->getResult(0))
          .getDefiningOp()
          ->setAttr(WeftDialect::kOrderAttr,
                    getLocalOrder(order, rule, factors));
  }

  LogicalResult readShardings(Operation *op) {
    auto list = op->getAttrOfType<ArrayAttr>(WeftDialect::kShardingsAttr);
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      if (list)
        local.setSharding(
            result, toSharding(cast<ShardingAttr>(list[i]), local.getMesh()));
      else if (local.getMesh().numRanks() > 1 &&
               isa<RankedTensorType>(result.getType()))
        return op->emitOpError("has no 'weft.shardings': the module is not "
                               "explicit");
    }
    return success();
  }

  /// Tensors that a region captures, or that ops in it make, are whole.
  LogicalResult checkRegions(Operation *op) {
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    for (Value value : captured)
      if (failed(checkReplicated(op, value, "captures a tensor")))
        return failure();
    return success();
  }

  LogicalResult checkReplicated(Operation *op, Value value, StringRef what) {
    if (local.isReplicated(value))
      return success();
    return op->emitOpError(what)
           << " that is sharded as "
           << local.getSharding(value).str(local.getMesh())
           << ", but can use whole ones only";
  }

  LogicalResult partitionUnknown(Operation *op) {
    if (auto dim = dyn_cast<tensor::DimOp>(op))
      if (std::optional<int64_t> index = dim.getConstantIndex()) {
        int64_t size = cast<RankedTensorType>(dim.getSource().getType())
                           .getDimSize(*index);
        local.setLocal(dim.getResult(), arith::ConstantIndexOp::create(
                                            local.builder, op->getLoc(), size));
        return success();
      }
    for (Value operand : op->getOperands())
      if (failed(checkReplicated(op, operand, "uses a tensor")))
        return failure();
    for (Value result : op->getResults())
      if (failed(checkReplicated(op, result, "makes a tensor")))
        return failure();
    local.cloneLocal(op);
    return success();
  }

  /// Returns the sharding of the op's iteration space that gives the shardings
  /// of all its tensors; fails if there is none.
  FailureOr<FactorSharding> getFactors(Operation *op,
                                       const ShardingRule &rule) {
    auto collect = [&](ValueRange values) {
      return llvm::map_to_vector<4>(
          values, [&](Value value) { return local.getSharding(value); });
    };
    SmallVector<Sharding, 4> operands = collect(op->getOperands());
    SmallVector<Sharding, 4> results = collect(op->getResults());
    if (auto factors = getFactorSharding(rule, operands, results))
      return *factors;
    InFlightDiagnostic diag = op->emitOpError("has operands sharded as ");
    auto print = [&](const Sharding &sharding) {
      diag << sharding.str(local.getMesh());
    };
    llvm::interleaveComma(operands, diag, print);
    diag << " and results sharded as ";
    llvm::interleaveComma(results, diag, print);
    diag << ", which no sharding of its iteration space gives";
    return failure();
  }

  LogicalResult partitionReturn(func::ReturnOp op) {
    SmallVector<Value> values;
    for (auto [i, value] : llvm::enumerate(op.getOperands())) {
      Sharding actual = local.getSharding(value);
      if (!actual.isSameLayout(resultShardings[i]))
        return op.emitOpError("operand #")
               << i << " is sharded as " << actual.str(local.getMesh())
               << ", but the function's result as "
               << resultShardings[i].str(local.getMesh());
      values.push_back(local.getLocal(value));
    }
    func::ReturnOp::create(local.builder, op.getLoc(), values);
    return success();
  }

  /// Writes the local types, and the global ones beside them.
  void finishBorder() {
    FunctionType global = func.getFunctionType();
    SmallVector<Type> results = llvm::to_vector(
        func.getBody().front().getTerminator()->getOperandTypes());
    func.setFunctionType(FunctionType::get(
        func.getContext(), func.getBody().getArgumentTypes(), results));
    auto getAttrs = [](ArrayRef<Type> types) {
      return llvm::map_to_vector(types, [](Type type) {
        return isa<RankedTensorType>(type) ? TypeAttr::get(type) : Attribute();
      });
    };
    setArgAttrs(func, WeftDialect::kGlobalTypeAttr,
                getAttrs(global.getInputs()));
    setResultAttrs(func, WeftDialect::kGlobalTypeAttr,
                   getAttrs(global.getResults()));
  }

  func::FuncOp func;
  RankBuilder local;
  SmallVector<Sharding, 4> resultShardings;
};

struct PartitionPass : public weft::impl::PartitionPassBase<PartitionPass> {
  using Base::Base;

  void runOnOperation() override {
    std::optional<NamedMesh> named = findMesh(getOperation());
    Mesh mesh = named ? named->mesh : Mesh();
    StringRef name = named ? named->name.getValue() : "mesh";
    ReshardPlanner planner(mesh, /*keepsOrder=*/getInvariance(getOperation()) !=
                                     nullptr);
    planner.setSerialAxis(mesh.axisIndex(serial).value_or(-1));
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() &&
          failed(FunctionPartitioner(
                     func, planner, FlatSymbolRefAttr::get(&getContext(), name))
                     .run()))
        return signalPassFailure();
  }
};

} // namespace
