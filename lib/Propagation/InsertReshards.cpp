// SPDX-License-Identifier: Apache-2.0

// Insertion of reshards, in one walk over each function in program order.
//
// For every value of the original program the pass keeps its *versions*: the
// value as its op makes it, and what reshards made of it so far. An op states
// how it needs its operands (OpSharding.h); each is taken from the version that
// is there already, or made by a reshard from the cheapest one, right in front
// of the op. Later ops find it there.
//
// Gathers of storage axes are the exception: such a version may be used only
// until the next gather of another value, so that each use of a weight has a
// gather of its own, and the gathered weight dies.
//
// Fills, constants and the like have no sharding of their own: each sharding
// that a use needs is one copy of the op.

#include "ReshardInsertion.h"

#include "weft/Propagation/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"

namespace mlir::weft {
#define GEN_PASS_DEF_INSERTRESHARDSPASS
#include "weft/Propagation/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// What the choice of an op's sharding sees
//===----------------------------------------------------------------------===//

SmallVector<Operation *> ReshardInsertion::getUsesToCome(Value value,
                                                         Operation *op) {
  SmallVector<Operation *> users;
  for (Operation *user : value.getUsers()) {
    Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
    if (ancestor && !processed.contains(ancestor) &&
        !llvm::is_contained(users, ancestor))
      users.push_back(ancestor);
  }
  return users;
}

/// Says whether the op only moves elements, or converts them to another
/// floating-point type: a zero keeps its sign, and stays one.
static bool keepsZeros(Operation *op) {
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
          tensor::ExtractSliceOp, tensor::ConcatOp, linalg::TransposeOp,
          linalg::BroadcastOp>(op))
    return true;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && llvm::all_of(*generic.getBody(), [](Operation &inner) {
           return isa<arith::ExtFOp, arith::TruncFOp, linalg::YieldOp>(inner);
         });
}

/// Says whether all users could do with the contributions. Of their other
/// operands, those that are not made yet count as whole.
bool ReshardInsertion::mayStayPartial(Value value,
                                      ArrayRef<Operation *> users) {
  constexpr size_t kMaxUsers = 8;
  const Sharding &own = getState(value).versions.front().sharding;
  if (users.size() > kMaxUsers)
    return false;
  return llvm::all_of(users, [&](Operation *user) {
    if (isa<ShardOp, func::ReturnOp>(user) ||
        !llvm::is_contained(user->getOperands(), value) ||
        (getState(value).isLookedUp && !keepsZeros(user)))
      return false;
    SmallVector<bool> isPartial;
    for (Value operand : user->getOperands()) {
      auto it = states.find(operand);
      bool isKnown = it != states.end() && !it->second->isFree;
      const Sharding *other =
          isKnown ? &it->second->versions.front().sharding : nullptr;
      isPartial.push_back(other && other->isPartial() &&
                          other->kind == own.kind);
    }
    return keepsPartial(user, isPartial, own.kind);
  });
}

/// Notes the summands of `value`, another summand or a sum. Returns false if
/// it is whole.
bool ReshardInsertion::addSummand(Value value, TensorView &view) {
  Operation *op = value.getDefiningOp();
  if (op && isRematerializable(op))
    return true;
  auto it = states.find(value);
  if (it != states.end()) {
    view.knownSummands.push_back(it->second->versions.front().sharding);
    return view.knownSummands.back().isPartial();
  }
  if (!op || !value.hasOneUse())
    return false;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  ComputeClass computes = getComputeClass(op);
  if (computes == ComputeClass::Contraction ||
      computes == ComputeClass::RowUpdate ||
      (linalgOp && linalgOp.getNumReductionLoops() != 0)) {
    ++view.numOpenSummands;
    return true;
  }
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    Operation *maker = operand.getDefiningOp();
    return !isTensor(operand) || (maker && isRematerializable(maker)) ||
           (getLinearUser(operand) == op && addSummand(operand, view));
  });
}

/// Finds what contributions to a result would be added to.
void ReshardInsertion::findSummands(Value value, TensorView &view) {
  constexpr int64_t kMaxSummands = 8;
  TensorView found;
  while (Operation *user = getLinearUser(value)) {
    for (Value operand : user->getOperands())
      if (operand != value && isTensor(operand) &&
          (!addSummand(operand, found) || found.numOpenSummands > kMaxSummands))
        return;
    value = user->getResult(0);
    view.knownSummands = found.knownSummands;
    view.numOpenSummands = found.numOpenSummands;
  }
}

TensorView ReshardInsertion::viewOperand(Operation *op, Value value,
                                         const TensorFactors &factors) {
  TensorView view;
  view.factors = &factors;
  view.type = dyn_cast<RankedTensorType>(value.getType());
  if (!view.type)
    return view;
  ValueState &state = getState(value);
  view.isFree = state.isFree;
  if (view.isFree)
    return view;
  view.wish = state.wish;
  view.isWeight = state.isWeight;
  view.scattered = state.scattered;
  for (const Version &version : state.versions)
    if (isValid(version))
      view.sources.push_back(version.sharding);
  if (view.sources[0].isPartial()) {
    SmallVector<Operation *> users = getUsesToCome(value, op);
    view.numUses = users.size();
    view.mayStayPartial =
        view.sources.size() == 1 && mayStayPartial(value, users);
  }
  return view;
}

/// Returns the axes of contributions that the only use of a value takes too.
AxisList ReshardInsertion::getJoinedWith(Value value) {
  AxisList axes;
  auto user = value.hasOneUse()
                  ? dyn_cast<linalg::LinalgOp>(*value.user_begin())
                  : linalg::LinalgOp();
  if (!getInvariance(func) || !user || user.getNumReductionLoops() != 0)
    return axes;
  for (Value operand : user->getOperands()) {
    auto it = states.find(operand);
    if (it != states.end() && !it->second->isFree)
      llvm::append_range(axes, it->second->versions.front().sharding.partial);
  }
  return axes;
}

OpView ReshardInsertion::viewOp(Operation *op, const ShardingRule &rule) {
  OpView view;
  view.op = op;
  view.rule = &rule;
  view.isAccumulated = isAccumulated;
  for (auto [value, factors] : llvm::zip(op->getOperands(), rule.operands))
    view.operands.push_back(viewOperand(op, value, factors));
  for (auto [value, factors] : llvm::zip(op->getResults(), rule.results)) {
    TensorView &result = view.results.emplace_back();
    result.factors = &factors;
    result.type = dyn_cast<RankedTensorType>(value.getType());
    result.wish = getStatedSharding(value, mesh.mesh);
    if (hasReduction(rule))
      findSummands(value, result);
    result.joinedWith = getJoinedWith(value);
  }
  return view;
}

/// Returns the axes of a result that are storage: those that an operand, or
/// the wish for the result, has as storage on the same factor.
AxisList ReshardInsertion::getStorage(const OpView &view,
                                      const OpSharding &choice,
                                      unsigned index) const {
  AxisList storage;
  auto addCommon = [&](const TensorView &tensor, const Sharding &sharding) {
    if (sharding.storage.empty())
      return;
    FactorSharding own =
        projectToFactors(*view.rule, *tensor.factors, sharding);
    for (auto [mine, chosen] : llvm::zip_equal(own.axes, choice.factors.axes))
      for (const AxisRef &axis : sharding.storage)
        if (anyOverlap(mine, axis) && anyOverlap(chosen, axis))
          storage.push_back(axis);
  };
  for (const TensorView &operand : view.operands)
    for (const Sharding &source : operand.sources)
      addCommon(operand, source);
  const TensorView &result = view.results[index];
  if (result.wish)
    addCommon(result, *result.wish);
  AxisList used = getMade(view, choice, index).usedAxes();
  return canonicalAxisSet(subtractAxes(used, subtractAxes(used, storage)));
}

/// Returns the axes of a result that nobody wished: those along which
/// contributions to operands were joined in parts, or updates were.
AxisList ReshardInsertion::getScatteredAxes(const OpView &view,
                                            const Sharding &made) const {
  AxisList joined;
  for (const TensorView &operand : view.operands) {
    llvm::append_range(joined, operand.scattered);
    if (operand.sources.empty())
      continue;
    llvm::append_range(joined, operand.sources[0].partial);
    // Updates that may not be cut by rows are cut across.
    if (getComputeClass(view.op) == ComputeClass::RowUpdate)
      llvm::append_range(joined, operand.sources[0].usedAxes());
  }
  AxisList used = made.usedAxes();
  if (const std::optional<Sharding> &wish = view.results[0].wish)
    used = subtractAxes(used, wish->usedAxes());
  return subtractAxes(used, subtractAxes(used, joined));
}

/// Says whether the op computes from a weight alone, and makes no more
/// elements: a cast, a transposition, a reshape, a slice, the scales of its
/// blocks, and its elements times these.
bool ReshardInsertion::isPlainImage(const OpView &view) const {
  int64_t most = -1;
  for (const TensorView &operand : view.operands) {
    if (!operand.type || operand.isFree || operand.type.getRank() == 0)
      continue;
    bool isSecond = most >= 0;
    if (!operand.isWeight || (isSecond && !isa<linalg::LinalgOp>(view.op)))
      return false;
    most = std::max(most, operand.type.getNumElements());
  }
  return llvm::all_of(view.results, [&](const TensorView &result) {
    return result.type.getNumElements() <= most;
  });
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Says how a sum that has an order is cut, and if it is not, why.
void ReshardInsertion::reportOrder(const OpView &view,
                                   const OpSharding &choice) {
  auto order = view.op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
  if (!view.rule->order || !order || !func->getContext()->getRemarkEngine())
    return;
  AxisList cut = getReductionAxes(*view.rule, choice.factors);
  if (cut.empty())
    return reportGather(view, choice);
  const TensorView &result = view.results[0];
  Sharding made = getMade(view, choice, 0);
  int64_t bytes =
      getCost(view.op->getResult(0), made, getTarget(result.wish, made));
  std::string axes;
  llvm::raw_string_ostream os(axes);
  mesh.mesh.print(os, cut);
  remark::passed(view.op->getLoc(),
                 remark::RemarkOpts::name("tree").category("weft-order"))
      << remark::add(
             "'{0}' is cut over {1}: each rank sums {2} of {3} leaves",
             view.op->getName().getStringRef().str(), axes,
             getLocalOrder(order, *view.rule, choice.factors).getLeaves(),
             order.getLeaves())
      << remark::metric("bytes", bytes);
}

void ReshardInsertion::reportGather(const OpView &view,
                                    const OpSharding &choice) {
  const SumOrder &order = *view.rule->order;
  FactorSharding held(*view.rule);
  int64_t bytes = 0;
  for (auto [i, operand] : llvm::enumerate(view.operands)) {
    if (operand.sources.empty())
      continue;
    FactorSharding own = projectToFactors(*view.rule, *operand.factors,
                                          operand.sources[0].withoutStorage());
    bool isCut = false;
    for (int loop : order.loops)
      if (!own.axes[loop].empty()) {
        held.axes[loop] = own.axes[loop];
        isCut = true;
      }
    if (isCut)
      bytes += getCost(view.op->getOperand(i), operand.sources[0],
                       getNeeded(view, choice, i));
  }
  if (bytes == 0)
    return;
  remark::missed(view.op->getLoc(),
                 remark::RemarkOpts::name("gather").category("weft-order"))
      << remark::add("'{0}' gathers what it sums: {1}",
                     view.op->getName().getStringRef().str(),
                     keepsOrder(*view.rule, held)
                         ? "that costs less than to join parts"
                         : "the ranks' parts are no subtrees of its " +
                               std::to_string(order.leaves) + " leaves")
      << remark::metric("bytes", bytes);
}

void ReshardInsertion::processArguments() {
  SmallVector<Attribute> attrs(func.getNumArguments());
  for (BlockArgument arg : func.getArguments()) {
    if (!isTensor(arg))
      continue;
    int64_t rank = cast<RankedTensorType>(arg.getType()).getRank();
    Sharding sharding = getStatedSharding(arg, mesh.mesh)
                            .value_or(Sharding::replicated(rank))
                            .closed();
    attrs[arg.getArgNumber()] = mesh.toAttr(sharding);
    addResult(arg, sharding);
    getState(arg).wish = sharding;
    getState(arg).isWeight = true;
  }
  setArgAttrs(func, WeftDialect::kShardingAttr, attrs);
}

/// Tensors that the op's regions use are replicated in front of it.
void ReshardInsertion::replicateCaptures(Operation *op) {
  SmallVector<OpOperand *> captures;
  op->walk([&](Operation *inner) {
    if (inner == op)
      return;
    for (OpOperand &operand : inner->getOpOperands())
      if (isTensor(operand.get()) &&
          !op->isAncestor(operand.get().getParentBlock()->getParentOp()))
        captures.push_back(&operand);
  });
  for (OpOperand *capture : captures) {
    int64_t rank = cast<RankedTensorType>(capture->get().getType()).getRank();
    capture->set(materialize(capture->get(), Sharding::replicated(rank), op));
  }
}

/// Only notes the op; uses say what shardings it is needed in.
void ReshardInsertion::processFree(Operation *op) {
  freeOperands[op] = SmallVector<Value, 2>(op->getOperands());
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (isTensor(operand) && !getState(operand).isFree)
      op->setOperand(i, materialize(operand, Sharding::replicated(0), op));
  getState(op->getResult(0)).isFree = true;
}

/// Replaces a user's sharding by the version that has it.
void ReshardInsertion::processShard(ShardOp op) {
  Value input = op.getInput();
  toErase.push_back(op);
  ValueState &from = getState(input);
  if (from.isFree) {
    op.getResult().replaceAllUsesWith(input);
    return;
  }
  ValueState &state = getState(op.getResult());
  Sharding stated = toSharding(op.getSharding(), mesh.mesh).canonical();
  state.wish = getStatedSharding(op.getResult(), mesh.mesh).value_or(stated);
  const Sharding &source = from.versions.front().sharding;
  Sharding wanted = getTarget(state.wish, source);
  AxisList dropped = subtractAxes(source.usedAxes(), wanted.usedAxes());
  Version alias = from.versions.front();
  state.isWeight = from.isWeight;
  if (from.isWeight && !source.isPartial() &&
      source.withoutAxes(dropped).isSameLayout(wanted)) {
    // The user gathers a weight: it is gathered at each use instead.
    llvm::append_range(alias.sharding.storage, dropped);
    alias.sharding = alias.sharding.canonical();
    state.versions.push_back(alias);
    return;
  }
  bool onlyMovesOn =
      llvm::all_of(op->getUsers(), llvm::IsaPred<ShardOp, func::ReturnOp>);
  if (onlyMovesOn) {
    state.versions.push_back(alias);
    return;
  }
  state.versions.push_back(
      {materialize(input, wanted, op), wanted, std::nullopt});
}

/// Each value passes as it is, without contributions. One choice for the whole
/// op would not do: an axis may cut several of its values.
void ReshardInsertion::processBarrier(OptimizationBarrierOp op) {
  SmallVector<Sharding, 1> shardings;
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    Value input = op.getInputs()[i];
    ValueState &from = getState(input);
    Sharding sharding =
        Sharding::replicated(cast<RankedTensorType>(input.getType()).getRank());
    if (!from.isFree) {
      sharding = from.versions.front().sharding;
      if (sharding.isPartial())
        sharding = getTarget(from.wish, sharding);
    }
    op->setOperand(i, materialize(input, sharding, op));
    addResult(result, sharding);
    ValueState &state = getState(result);
    state.wish = getStatedSharding(result, mesh.mesh).value_or(sharding);
    state.isWeight = from.isWeight;
    state.scattered = from.scattered;
    shardings.push_back(sharding);
  }
  setStatedShardings(op, shardings, mesh);
}

/// With the serial axis last in each dimension, as that of each border is.
static Sharding orderSerialAxis(Sharding sharding, int64_t axis) {
  for (AxisList &dim : sharding.dims)
    llvm::stable_sort(dim, [&](auto &a, auto &b) {
      return (a.axis == axis) < (b.axis == axis);
    });
  return sharding;
}

/// Returns the sharding of a result: as declared; else as the argument that it
/// takes the place of; else as the value is wished.
Sharding ReshardInsertion::getReturned(unsigned index, Value value) {
  auto declared =
      func.getResultAttrOfType<ShardingAttr>(index, WeftDialect::kShardingAttr);
  if (declared)
    return toSharding(declared, mesh.mesh).canonical().closed();
  auto alias =
      func.getResultAttrOfType<IntegerAttr>(index, WeftDialect::kAliasAttr);
  if (alias)
    return *getStatedSharding(func.getArgument(alias.getInt()), mesh.mesh);
  ValueState &state = getState(value);
  if (state.isFree)
    return Sharding::replicated(
        cast<RankedTensorType>(value.getType()).getRank());
  Sharding wished = getTarget(state.wish, state.versions.front().sharding);
  return serialAxis < 0 ? wished
                        : orderSerialAxis(wished, serialAxis).canonical();
}

void ReshardInsertion::processReturn(func::ReturnOp op) {
  SmallVector<Attribute> attrs(op.getNumOperands());
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isTensor(operand.get()))
      continue;
    unsigned index = operand.getOperandNumber();
    Sharding sharding = getReturned(index, operand.get());
    attrs[index] = mesh.toAttr(sharding);
    operand.set(materialize(operand.get(), sharding, op));
  }
  setResultAttrs(func, WeftDialect::kShardingAttr, attrs);
}

void ReshardInsertion::processUnknown(Operation *op) {
  SmallVector<Sharding, 1> results;
  bool losesAxes = false;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isTensor(operand.get()))
      continue;
    int64_t rank = cast<RankedTensorType>(operand.get().getType()).getRank();
    ValueState &state = getState(operand.get());
    losesAxes |= !state.isFree && !state.versions[0].sharding.isReplicated();
    operand.set(materialize(operand.get(), Sharding::replicated(rank), op));
  }
  for (Value result : op->getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type)
      continue;
    results.push_back(Sharding::replicated(type.getRank()));
    addResult(result, results.back());
  }
  if (!results.empty() && results.size() == op->getNumResults())
    setStatedShardings(op, results, mesh);
  if (losesAxes && op->getContext()->getRemarkEngine())
    remark::missed(
        op->getLoc(),
        remark::RemarkOpts::name("replicated").category("weft-reshard"))
        << remark::add("'{0}' has no sharding rule: it is replicated",
                       op->getName().getStringRef().str());
}

void ReshardInsertion::processWithRule(Operation *op,
                                       const ShardingRule &rule) {
  OpView view = viewOp(op, rule);
  OpSharding choice = chooseOpSharding(view, planner);
  reportOrder(view, choice);
  for (OpOperand &operand : op->getOpOperands())
    if (isTensor(operand.get()))
      operand.set(
          materialize(operand.get(),
                      getNeeded(view, choice, operand.getOperandNumber()), op));
  SmallVector<Sharding, 1> results;
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    Sharding made = getMade(view, choice, i);
    // What is found in a table does not rest as the table does.
    if (getComputeClass(op) != ComputeClass::Lookup)
      made.storage = getStorage(view, choice, i);
    results.push_back(made);
    addResult(result, made);
    getState(result).wish = view.results[i].wish;
    getState(result).isWeight = isPlainImage(view);
    getState(result).isLookedUp =
        made.isPartial() &&
        (getComputeClass(op) == ComputeClass::Lookup ||
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return isTensor(operand) && getState(operand).isLookedUp;
         }));
    if (getInvariance(func))
      getState(result).scattered = getScatteredAxes(view, made);
  }
  if (!results.empty())
    setStatedShardings(op, results, mesh);
}

void ReshardInsertion::processOp(Operation *op) {
  bool hasTensors = llvm::any_of(op->getOperands(), isTensor) ||
                    llvm::any_of(op->getResults(), isTensor);
  replicateCaptures(op);
  if (isRematerializable(op))
    processFree(op);
  else if (auto shard = dyn_cast<ShardOp>(op))
    processShard(shard);
  else if (auto barrier = dyn_cast<OptimizationBarrierOp>(op))
    processBarrier(barrier);
  else if (auto ret = dyn_cast<func::ReturnOp>(op))
    processReturn(ret);
  else if (std::optional<ShardingRule> rule =
               hasTensors ? getShardingRule(op) : std::nullopt)
    processWithRule(op, *rule);
  else if (hasTensors)
    processUnknown(op);
  processed.insert(op);
}

void ReshardInsertion::run() {
  processArguments();
  Block &body = func.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(body))
    if (!processed.contains(&op))
      processOp(&op);
  for (Operation *op : llvm::reverse(toErase))
    op->erase();
  // Free ops that nobody needed.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (op.use_empty() && isRematerializable(&op))
      op.erase();
}

namespace {

struct InsertReshardsPass
    : weft::impl::InsertReshardsPassBase<InsertReshardsPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(forEachBody(getOperation(),
                           [&](func::FuncOp func, const NamedMesh &mesh) {
                             ReshardInsertion insertion(func, mesh, serial);
                             insertion.run();
                             numReshards += insertion.numReshards;
                           })))
      signalPassFailure();
  }
};

} // namespace
