// SPDX-License-Identifier: Apache-2.0

// One walk forward for what values are made of, walks backward for what they
// go into: one, or a few where loops carry values around.

#include "CollectiveFlow.h"

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Rules/ShardingRule.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

namespace {

/// Ops whose inner ops are part of what they compute, not a program.
bool isOneComputation(Operation *op) {
  return isa<linalg::LinalgOp, rt::FusedOp, tensor::PadOp, tensor::GenerateOp>(
      op);
}

/// Result i is made of operand i.
bool isPairwise(Operation *op) {
  return isa<CollectiveOpInterface, WaitOp>(op);
}

/// Moves elements, or computes each from those at its own place.
bool isElementwise(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.getNumParallelLoops() == linalgOp.getNumLoops();
  if (isa<tensor::ExtractOp, tensor::FromElementsOp, tensor::GenerateOp>(op))
    return false;
  return isa<tensor::TensorDialect>(op->getDialect()) || isPairwise(op) ||
         op->hasTrait<OpTrait::Elementwise>();
}

/// Whether an operand is read element by element.
bool isReadElementwise(OpOperand &use) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(use.getOwner());
  return isElementwise(use.getOwner()) &&
         (!linalgOp || linalgOp.getMatchingIndexingMap(&use).isPermutation());
}

/// Computes what no longer is a weight, or what states are made of.
bool isCompute(Operation *op) {
  ComputeClass computes = getComputeClass(op);
  return computes == ComputeClass::Contraction ||
         computes == ComputeClass::RowUpdate;
}

bool hasBatchDim(MatmulOp op) {
  AffineMap lhs = op.getLhsMap();
  for (unsigned dim = 0; dim < lhs.getNumDims(); ++dim)
    if (lhs.isFunctionOfDim(dim) && op.getRhsMap().isFunctionOfDim(dim) &&
        op.getResultMap().isFunctionOfDim(dim))
      return true;
  return false;
}

/// Calls `visit` for what an op takes from outside, in its regions as well.
void forEachInput(Operation *op, function_ref<void(Value)> visit) {
  for (Value operand : op->getOperands())
    visit(operand);
  if (!isOneComputation(op))
    return;
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op->isAncestor(operand.getParentRegion()->getParentOp()))
          visit(operand);
    });
}

} // namespace

//===----------------------------------------------------------------------===//
// Weights and states
//===----------------------------------------------------------------------===//

void CollectiveFlow::findWeightsAndStates() {
  unsigned numArgs = func.getNumArguments(), numResults = func.getNumResults();
  weights.resize(numArgs);
  states.resize(numResults);
  for (unsigned i = 0; i < numResults; ++i)
    if (auto alias =
            func.getResultAttrOfType<IntegerAttr>(i, WeftDialect::kAliasAttr)) {
      states.set(i);
      weights.set(alias.getInt());
    }
  for (unsigned i = 0; i < numArgs; ++i) {
    auto sharding =
        func.getArgAttrOfType<ShardingAttr>(i, WeftDialect::kShardingAttr);
    if (sharding && !sharding.getStorage().empty())
      weights.set(i);
  }
  llvm::BitVector floats(numArgs);
  for (unsigned i = 0; i < numArgs; ++i)
    if (isa<FloatType>(getElementTypeOrSelf(func.getArgumentTypes()[i])))
      floats.set(i);
  weights &= floats;
  if (weights.none())
    weights = floats;
  if (states.any())
    return;
  for (unsigned i = 0; i < numResults; ++i)
    for (unsigned arg : weights.set_bits())
      if (func.getArgumentTypes()[arg] == func.getResultTypes()[i])
        states.set(i);
}

static std::string getName(StringAttr name, StringRef fallback,
                           unsigned index) {
  return name ? name.str() : fallback.str() + std::to_string(index);
}

std::string CollectiveFlow::getArgumentName(unsigned index) const {
  return getName(func::FuncOp(func).getArgAttrOfType<StringAttr>(
                     index, WeftDialect::kNameAttr),
                 "arg", index);
}

std::string CollectiveFlow::getResultName(unsigned index) const {
  return getName(func::FuncOp(func).getResultAttrOfType<StringAttr>(
                     index, WeftDialect::kNameAttr),
                 "result", index);
}

std::optional<unsigned> CollectiveFlow::getWeight(Value value) const {
  int weight = facts.lookup(value).weight;
  return weight >= 0 ? std::optional<unsigned>(weight) : std::nullopt;
}

std::optional<unsigned> CollectiveFlow::getState(Value value) const {
  int state = facts.lookup(value).state;
  return state >= 0 ? std::optional<unsigned>(state) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// What the results of an op are made of.
int CollectiveFlow::getOrigin(Operation *op) const {
  if (isCompute(op) || (op->getNumRegions() != 0 && !isOneComputation(op)))
    return kMixed;
  int origin = kNeutral;
  forEachInput(op, [&](Value value) {
    auto it = facts.find(value);
    int other = it == facts.end() ? int(kMixed) : it->second.weight;
    if (origin != kMixed && (other == kMixed || origin == kNeutral))
      origin = other;
  });
  return origin;
}

void CollectiveFlow::visitForward(Operation *op) {
  for (Region &region : op->getRegions())
    for (BlockArgument argument : region.getArguments())
      if (!isa<ShapedType>(argument.getType()))
        facts[argument].weight = kNeutral;
  int origin = getOrigin(op);
  auto matmul = dyn_cast<MatmulOp>(op);
  bool perExpert = matmul && hasBatchDim(matmul);
  if (isElementwise(op))
    perExpert = llvm::any_of(op->getOperands(), [&](Value value) {
      return facts.lookup(value).perExpert;
    });
  for (OpResult result : op->getResults()) {
    Facts &fact = facts[result];
    fact.weight = origin;
    fact.perExpert = perExpert;
  }
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

void CollectiveFlow::noteCompute(Value value, bool compute) {
  if (!compute)
    return;
  Facts &fact = facts[value];
  changed |= !fact.compute;
  fact.compute = true;
}

void CollectiveFlow::noteState(Value value, int state) {
  if (state == kNoState)
    return;
  Facts &fact = facts[value];
  if (fact.state != kNoState && fact.state <= state)
    return;
  fact.state = state;
  changed = true;
}

/// The first state that an operand goes into by way of its op's results.
int CollectiveFlow::getStateThrough(OpOperand &use) const {
  Operation *op = use.getOwner();
  if (!isReadElementwise(use))
    return kNoState;
  if (isPairwise(op))
    return facts.lookup(op->getResult(use.getOperandNumber())).state;
  int state = kNoState;
  for (Value result : op->getResults()) {
    int other = facts.lookup(result).state;
    if (other != kNoState && (state == kNoState || other < state))
      state = other;
  }
  return state;
}

/// What a region gives goes where the results of its op go.
void CollectiveFlow::visitTerminator(Operation *op) {
  Operation *parent = op->getParentOp();
  for (OpOperand &use : op->getOpOperands()) {
    unsigned number = use.getOperandNumber();
    if (parent == func)
      noteState(use.get(), states.test(number) ? int(number) : int(kNoState));
    else if (number < parent->getNumResults()) {
      Facts fact = facts.lookup(parent->getResult(number));
      noteState(use.get(), fact.state);
      noteCompute(use.get(), fact.compute);
    }
  }
}

/// What a loop carries goes around.
void CollectiveFlow::visitLoop(Operation *op) {
  auto loop = cast<LoopLikeOpInterface>(op);
  for (auto [init, argument] :
       llvm::zip(loop.getInits(), loop.getRegionIterArgs())) {
    Facts fact = facts.lookup(argument);
    noteCompute(init, fact.compute);
    noteState(init, fact.state);
    if (OpOperand *yielded = loop.getTiedLoopYieldedValue(argument))
      noteCompute(yielded->get(), fact.compute);
  }
}

void CollectiveFlow::visitBackward(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>())
    return visitTerminator(op);
  if (isa<LoopLikeOpInterface>(op))
    return visitLoop(op);
  bool compute = isCompute(op);
  bool experts = isa<MatmulOp>(op) && hasBatchDim(cast<MatmulOp>(op));
  for (Value result : op->getResults()) {
    const Facts &fact = facts[result];
    compute |= fact.compute;
    experts |= fact.experts && fact.weight >= 0;
  }
  forEachInput(op, [&](Value value) { noteCompute(value, compute); });
  for (OpOperand &use : op->getOpOperands()) {
    noteState(use.get(), getStateThrough(use));
    Facts &fact = facts[use.get()];
    fact.experts |= experts && fact.weight >= 0;
  }
}

CollectiveFlow::CollectiveFlow(func::FuncOp func) : func(func) {
  findWeightsAndStates();
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    facts[func.getArgument(i)].weight = weights.test(i) ? int(i) : int(kMixed);
  SmallVector<Operation *> ops;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == func)
      return WalkResult::advance();
    visitForward(op);
    ops.push_back(op);
    return isOneComputation(op) ? WalkResult::skip() : WalkResult::advance();
  });
  // Without loops an op comes after all that use its results.
  bool hasLoops = llvm::any_of(ops, llvm::IsaPred<LoopLikeOpInterface>);
  do {
    changed = false;
    for (Operation *op : llvm::reverse(ops))
      visitBackward(op);
  } while (changed && hasLoops);
}
