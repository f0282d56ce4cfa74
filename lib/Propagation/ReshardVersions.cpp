// SPDX-License-Identifier: Apache-2.0

// Versions of values: which one a use takes, and how one is made.

#include "ReshardInsertion.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace mlir::weft;

ValueState &ReshardInsertion::getState(Value value) {
  std::unique_ptr<ValueState> &state = states[value];
  if (!state)
    state = std::make_unique<ValueState>();
  return *state;
}

void ReshardInsertion::addResult(Value value, const Sharding &made) {
  getState(value).versions.push_back({value, made, std::nullopt});
}

int64_t ReshardInsertion::getCost(Value value, const Sharding &from,
                                  const Sharding &to) {
  auto type = cast<RankedTensorType>(value.getType());
  return planner.cost(from, to, type.getShape(), getElements(type));
}

/// Returns the version from which `needed` costs the fewest bytes, the oldest
/// of such.
const Version &ReshardInsertion::getCheapest(Value value,
                                             const Sharding &needed) {
  ArrayRef<Version> versions = getState(value).versions;
  Elements elements = getElements(cast<RankedTensorType>(value.getType()));
  const Version *best = &versions.front();
  int64_t bestCost = getCost(value, best->sharding, needed);
  for (const Version &version : versions.drop_front()) {
    if (!isValid(version) ||
        !planner.canReshard(version.sharding, needed, elements).empty())
      continue;
    int64_t cost = getCost(value, version.sharding, needed);
    if (cost < bestCost) {
      best = &version;
      bestCost = cost;
    }
  }
  return *best;
}

void ReshardInsertion::reportReshard(ReshardOp reshard, const Sharding &from,
                                     const Sharding &to, Operation *user) {
  if (!func->getContext()->getRemarkEngine())
    return;
  auto type = cast<RankedTensorType>(reshard.getType());
  std::string steps;
  llvm::raw_string_ostream os(steps);
  for (const ReshardStep &step :
       planner.plan(from, to, type.getShape(), getElements(type))) {
    os << (steps.empty() ? "" : "; ");
    printStep(os, step, mesh.mesh);
  }
  remark::passed(reshard.getLoc(),
                 remark::RemarkOpts::name("reshard").category("weft-reshard"))
      << remark::add("'{0}' needs {1}, its operand is {2}: {3}",
                     user->getName().getStringRef().str(), to.str(mesh.mesh),
                     from.str(mesh.mesh), steps)
      << remark::metric("bytes", getCost(reshard, from, to));
}

Value ReshardInsertion::insertReshard(Value value, Version source,
                                      const Sharding &to, Operation *user) {
  Version made{{}, to, std::nullopt};
  bool gathersStorage =
      llvm::any_of(source.sharding.storage, [&](const AxisRef &axis) {
        return !anyOverlap(to.usedAxes(), axis);
      });
  if (gathersStorage) {
    if (lastGathered != value)
      ++numGathers;
    lastGathered = value;
    made.gatherCount = numGathers;
  }
  builder.setInsertionPoint(user);
  auto reshard =
      ReshardOp::create(builder, user->getLoc(), source.value,
                        mesh.toAttr(source.sharding), mesh.toAttr(to));
  setStatedShardings(reshard, to, mesh);
  processed.insert(reshard);
  ++numReshards;
  reportReshard(reshard, source.sharding, to, user);
  made.value = reshard;
  auto &versions = getState(value).versions;
  llvm::erase_if(versions,
                 [&](const Version &version) { return !isValid(version); });
  versions.push_back(made);
  return reshard;
}

/// Makes a version of a value in front of `user`, or finds one.
Value ReshardInsertion::materialize(Value value, const Sharding &needed,
                                    Operation *user) {
  ValueState &state = getState(value);
  if (state.isFree)
    return materializeFree(value, needed, user);
  for (const Version &version : state.versions)
    if (isValid(version) && version.sharding.isSameLayout(needed))
      return version.value;
  Version source = getCheapest(value, needed);
  if (source.sharding.isPartial() && !needed.isPartial()) {
    // What was combined once serves all later uses: do it where it is wished.
    Sharding target = getTarget(state.wish, source.sharding);
    if (!target.isSameLayout(needed) &&
        getCost(value, source.sharding, target) +
                getCost(value, target, needed) <=
            getCost(value, source.sharding, needed)) {
      Value combined = insertReshard(value, source, target, user);
      source = {combined, target, std::nullopt};
    } else if (target.isSameLayout(needed)) {
      return insertReshard(value, source, target, user);
    }
  }
  // Weights move as storage axes are gathered.
  if (!source.sharding.isPartial() && !state.isWeight)
    if (std::optional<int64_t> cost = getNarrowCost(value, needed);
        cost && *cost < getCost(value, source.sharding, needed))
      return widenAfterMove(value, needed, user);
  return insertReshard(value, source, needed, user);
}

/// Says whether the op makes of each element another, in more bytes than all
/// that it reads has.
static bool isWidening(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic->getNumResults() != 1 ||
      generic.getNumReductionLoops() != 0)
    return false;
  auto getBits = [](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getNumElements() * getElementBits(type);
  };
  int64_t read = 0;
  for (Value input : generic.getDpsInputs())
    read += isTensor(input) ? getBits(input) : 0;
  return read < getBits(generic.getResult(0));
}

/// What the op of a value has on its factors if it is to make the value so.
std::optional<FactorSharding>
ReshardInsertion::getFactors(Value value, const Sharding &made) {
  std::optional<ShardingRule> rule = getShardingRule(value.getDefiningOp());
  if (!rule)
    return std::nullopt;
  bool isExact = true;
  FactorSharding factors =
      projectToFactors(*rule, rule->results[0], made, &isExact);
  if (!isExact || !isLegal(*rule, factors))
    return std::nullopt;
  return factors;
}

/// Returns what it costs to move what a value was widened from, if it was.
std::optional<int64_t> ReshardInsertion::getNarrowCost(Value value,
                                                       const Sharding &needed) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1)
    return std::nullopt;
  bool isReshape = isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op);
  if (!isReshape && !isWidening(op))
    return std::nullopt;
  std::optional<FactorSharding> factors = getFactors(value, needed);
  if (!factors)
    return std::nullopt;
  ShardingRule rule = *getShardingRule(op);
  int64_t cost = 0;
  for (auto [operand, own] : llvm::zip(op->getOperands(), rule.operands)) {
    if (!isTensor(operand) || getState(operand).isFree)
      continue;
    if (getState(operand).versions.empty())
      return std::nullopt;
    Sharding sharding = getTensorSharding(own, *factors);
    std::optional<int64_t> part =
        isReshape ? getNarrowCost(operand, sharding)
                  : getCost(operand, getCheapest(operand, sharding).sharding,
                            sharding);
    if (!part)
      return std::nullopt;
    cost += *part;
  }
  return cost;
}

/// Moves what a value was widened from, and widens that again.
Value ReshardInsertion::widenAfterMove(Value value, const Sharding &needed,
                                       Operation *user) {
  Operation *op = value.getDefiningOp();
  ShardingRule rule = *getShardingRule(op);
  FactorSharding factors = *getFactors(value, needed);
  builder.setInsertionPoint(user);
  Operation *made = builder.clone(*op);
  processed.insert(made);
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (isTensor(operand))
      made->setOperand(
          i, materialize(operand, getTensorSharding(rule.operands[i], factors),
                         made));
  Sharding sharding = getTensorSharding(rule.results[0], factors);
  setStatedShardings(made, sharding, mesh);
  getState(value).versions.push_back(
      {made->getResult(0), sharding, std::nullopt});
  return made->getResult(0);
}

/// Gives the op of a free value the sharding, or a copy of the op.
Value ReshardInsertion::materializeFree(Value value, const Sharding &needed,
                                        Operation *user) {
  ValueState &state = getState(value);
  for (const Version &version : state.versions)
    if (version.sharding.isSameLayout(needed))
      return version.value;
  Operation *op = value.getDefiningOp();
  ShardingRule rule = *getShardingRule(op);
  bool isExact = true;
  FactorSharding factors =
      projectToFactors(rule, rule.results[0], needed, &isExact);
  if (!isExact || !isLegal(rule, factors)) {
    Version whole{{}, Sharding::replicated(needed.rank()), std::nullopt};
    whole.value = materializeFree(value, whole.sharding, user);
    return insertReshard(value, whole, needed, user);
  }
  Operation *made = op;
  if (!state.versions.empty()) {
    builder.setInsertionPointAfter(op);
    made = builder.clone(*op);
    processed.insert(made);
  }
  for (auto [i, operand] : llvm::enumerate(freeOperands[op]))
    if (isTensor(operand))
      made->setOperand(
          i, materialize(operand, getTensorSharding(rule.operands[i], factors),
                         made));
  Sharding sharding = getTensorSharding(rule.results[0], factors);
  setStatedShardings(made, sharding, mesh);
  getState(value).versions.push_back(
      {made->getResult(0), sharding, std::nullopt});
  return made->getResult(0);
}
