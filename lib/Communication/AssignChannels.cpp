// SPDX-License-Identifier: Apache-2.0

// weft-assign-channels: which communicator and stream each collective uses,
// decided once. What a collective is for is seen from dataflow
// (CollectiveFlow), never from names.

#include "CollectiveFlow.h"

#include "weft/Communication/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::weft {
#define GEN_PASS_DEF_ASSIGNCHANNELSPASS
#include "weft/Communication/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// Purposes
//===----------------------------------------------------------------------===//

namespace {

/// What a collective is for, and the reason in words.
struct Decision {
  Purpose purpose;
  std::string reason;
};

bool isScalar(Value value) {
  return getTensorType(value.getType()).getNumElements() == 1;
}

/// Whether a value is made of absolute values by ops that compute elementwise
/// or reduce: at most a few, as an amax is.
bool isOfAbsoluteValues(Value value) {
  for (unsigned depth = 0; depth < 8; ++depth) {
    Operation *def = value.getDefiningOp();
    if (!def || isa<CollectiveOpInterface>(def))
      return false;
    bool hasAbs = isa<math::AbsFOp, linalg::AbsOp>(def);
    if (isa<linalg::LinalgOp>(def))
      def->walk([&](math::AbsFOp) { hasAbs = true; });
    if (hasAbs)
      return true;
    if (!isa<linalg::LinalgOp>(def) &&
        !isa<tensor::TensorDialect>(def->getDialect()))
      return false;
    if (def->getNumOperands() == 0)
      return false;
    value = def->getOperand(0);
  }
  return false;
}

bool isAmax(CollectiveOpInterface op) {
  return op.getCollectiveKind() == CollectiveKind::AllReduce &&
         op.getReduction() == ReduceKind::Max &&
         llvm::all_of(op->getOperands(), [](Value value) {
           return isScalar(value) || isOfAbsoluteValues(value);
         });
}

/// Whether a result of the step is sharded at rest over all of `axes`.
bool isStoredOver(func::FuncOp func, unsigned state, AxesAttr axes) {
  auto sharding =
      func.getResultAttrOfType<ShardingAttr>(state, WeftDialect::kShardingAttr);
  return sharding && llvm::all_of(axes.getAxes(), [&](AxisRefAttr axis) {
           return llvm::any_of(sharding.getDims(), [&](DimShardingAttr dim) {
             return llvm::is_contained(dim.getAxes(), axis);
           });
         });
}

/// The purpose of what moves weights, or nullopt.
std::optional<Decision> decideGather(CollectiveOpInterface op,
                                     const CollectiveFlow &flow) {
  if (op.getReduction())
    return std::nullopt;
  for (Value operand : op->getOperands())
    if (!flow.getWeight(operand))
      return std::nullopt;
  std::string name = flow.getArgumentName(*flow.getWeight(op->getOperand(0)));
  bool forExperts = llvm::any_of(op->getResults(), [&](Value result) {
    return flow.feedsExperts(result);
  });
  if (forExperts)
    return Decision{Purpose::ExpertGather,
                    "brings weight '" + name + "' to contractions per expert"};
  return Decision{Purpose::Gather, "brings weight '" + name + "' to its uses"};
}

/// The purpose of what brings a gradient to a state, or nullopt.
std::optional<Decision> decideReduce(CollectiveOpInterface op,
                                     const CollectiveFlow &flow) {
  std::optional<unsigned> state;
  for (Value result : op->getResults()) {
    if (flow.feedsCompute(result))
      return std::nullopt;
    if (!state)
      state = flow.getState(result);
  }
  if (llvm::all_of(op->getOperands(), isScalar))
    return Decision{Purpose::Data, "sums up scalars of the ranks"};
  if (!state)
    return std::nullopt;
  std::string name = "'" + flow.getResultName(*state) + "'";
  if (op.getCollectiveKind() == CollectiveKind::AllGather)
    return Decision{Purpose::Gather, "makes " + name + " whole"};
  if (llvm::any_of(op->getOperands(),
                   [&](Value value) { return flow.isPerExpert(value); }))
    return Decision{Purpose::ExpertReduce,
                    "sums up the gradient per expert of " + name};
  auto func = op->getParentOfType<func::FuncOp>();
  bool isStored = op.getCollectiveKind() == CollectiveKind::ReduceScatter ||
                  isStoredOver(func, *state, op.getAxesAttr());
  return Decision{isStored ? Purpose::Reduce : Purpose::Data,
                  "sums up the gradient of " + name + ", which is " +
                      (isStored ? "sharded" : "whole") + " at rest"};
}

Decision decide(CollectiveOpInterface op, const CollectiveFlow &flow) {
  if (isAmax(op))
    return {Purpose::Amax, "finds the largest absolute value"};
  if (std::optional<Decision> gather = decideGather(op, flow))
    return *gather;
  if (std::optional<Decision> reduce = decideReduce(op, flow))
    return *reduce;
  return {Purpose::Activation, "moves what is computed from data"};
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

/// The channels of a module: those that are there, and those that are made.
class Channels {
public:
  Channels(ModuleOp module, bool merge)
      : module(module), builder(module.getContext()), merge(merge) {
    for (Operation &op : *module.getBody()) {
      if (auto symbol = SymbolTable::getSymbolName(&op))
        names.insert(symbol.getValue());
      if (auto channel = dyn_cast<ChannelOp>(op)) {
        add(channel);
        last = channel;
      }
      if (isa<MeshOp>(op))
        last = &op;
    }
  }

  /// The channel for a purpose on the mesh and axes of `op`.
  FlatSymbolRefAttr get(CollectiveOpInterface op, Purpose purpose) {
    StringAttr &name =
        symbols[getKey(op.getMeshAttr(), op.getAxesAttr(), purpose)];
    if (!name)
      name = declare(op, purpose);
    return FlatSymbolRefAttr::get(name);
  }

  unsigned getNumDeclared() const { return numDeclared; }

private:
  using Key = std::tuple<Attribute, Attribute, unsigned>;

  Key getKey(FlatSymbolRefAttr mesh, AxesAttr axes, Purpose purpose) const {
    return {mesh, axes, merge ? 0 : unsigned(purpose) + 1};
  }

  /// Of two channels for the same, the first is used.
  void add(ChannelOp op) {
    symbols.try_emplace(
        getKey(op.getMeshAttr(), op.getAxesAttr(), op.getPurpose()),
        op.getSymNameAttr());
  }

  StringAttr declare(CollectiveOpInterface op, Purpose purpose);
  std::string makeName(Purpose purpose, AxesAttr axes);

  ModuleOp module;
  OpBuilder builder;
  bool merge;
  llvm::DenseMap<Key, StringAttr> symbols;
  llvm::StringSet<> names;
  /// New channels stand after the meshes and the other channels.
  Operation *last = nullptr;
  unsigned numDeclared = 0;
};

/// As in gather.fsdp, or all.fsdp for all purposes; unique in the module.
std::string Channels::makeName(Purpose purpose, AxesAttr axes) {
  std::string name = merge ? "all" : stringifyPurpose(purpose).str();
  for (AxisRefAttr axis : axes.getAxes()) {
    name += "." + axis.getName().str();
    if (!axis.isWholeAxis())
      name += ":(" + std::to_string(axis.getPreSize()) + ")" +
              std::to_string(axis.getSize());
  }
  std::string unique = name;
  for (unsigned i = 2; !names.insert(unique).second; ++i)
    unique = name + "_" + std::to_string(i);
  return unique;
}

StringAttr Channels::declare(CollectiveOpInterface op, Purpose purpose) {
  builder.setInsertionPointAfter(last);
  AxesAttr axes = op.getAxesAttr();
  auto channel =
      ChannelOp::create(builder, last->getLoc(), makeName(purpose, axes),
                        op.getMeshAttr().getValue(), axes, purpose);
  last = channel;
  ++numDeclared;
  return channel.getSymNameAttr();
}

struct AssignChannelsPass
    : public weft::impl::AssignChannelsPassBase<AssignChannelsPass> {
  using AssignChannelsPassBase::AssignChannelsPassBase;

  void runOnOperation() override {
    Channels channels(getOperation(), merge);
    for (auto func : getOperation().getOps<func::FuncOp>())
      assign(func, channels);
    numChannels += channels.getNumDeclared();
  }

  void assign(func::FuncOp func, Channels &channels) {
    SmallVector<CollectiveOpInterface> collectives;
    func.walk([&](CollectiveOpInterface op) {
      if (!op.getChannelAttr())
        collectives.push_back(op);
    });
    if (collectives.empty())
      return;
    CollectiveFlow flow(func);
    for (CollectiveOpInterface op : collectives) {
      Decision decision = decide(op, flow);
      FlatSymbolRefAttr channel = channels.get(op, decision.purpose);
      op.setChannelAttr(channel);
      remark::analysis(
          op->getLoc(),
          remark::RemarkOpts::name("channel").category("weft-channels"))
          << remark::add("'{0}' runs on {1}: it {2}", op->getName(), channel,
                         decision.reason);
    }
  }
};

} // namespace
