// SPDX-License-Identifier: Apache-2.0

// Propagation of shardings to a fixpoint, over a worklist of ops.
//
// Each value has a sharding that only grows: an axis is appended to an open
// dimension, never taken away or moved. A visit of an op collects what its
// tensors say about the op's factors, the tensor with most bytes first, and
// appends what is new to the others. A value that grew puts the op that makes
// it and those that use it back on the list, so the number of visits is at
// most ops x axes. Order of the list is program order: equal input, equal
// output.
//
// Storage axes are kept in a second sharding per value and spread by rules of
// their own afterwards.

#include "weft/Propagation/Passes.h"
#include "weft/Rules/ShardingConversion.h"
#include "weft/Rules/ShardingRule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

#include <deque>

namespace mlir::weft {
#define GEN_PASS_DEF_PROPAGATESHARDINGSPASS
#include "weft/Propagation/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Returns what follows in `axes` after `prefix`, or nullopt if it does not
/// begin with that. A sub-axis is a prefix of its axis.
std::optional<AxisList> dropPrefix(ArrayRef<AxisRef> prefix,
                                   ArrayRef<AxisRef> axes) {
  AxisList rest(axes);
  for (const AxisRef &axis : prefix) {
    if (rest.empty() || rest.front().axis != axis.axis ||
        rest.front().pre != axis.pre || rest.front().size % axis.size != 0)
      return std::nullopt;
    if (rest.front().size == axis.size)
      rest.erase(rest.begin());
    else
      rest.front() = rest.front().split(axis.size).second;
  }
  return rest;
}

/// One tensor of an op: which value, and by which factors.
struct OpTensor {
  int value;
  const TensorFactors *factors;
};

struct OpNode {
  Operation *op;
  ShardingRule rule;
  /// Tensors that take part, the largest first, else operands first.
  SmallVector<OpTensor, 4> tensors;
  /// No contraction, lookup or reduction.
  bool mapsElements = false;
  /// Storage axes may pass: all tensors have the same number of elements.
  bool keepsStorage = false;
  bool isQueued = false;
};

struct ValueNode {
  Value value;
  int64_t bytes = 0;
  /// How compute sees the value.
  Sharding sharding;
  /// How it rests, if it has storage axes.
  std::optional<Sharding> stored;
  bool isFixed = false;
  /// The ops that make or use it.
  SmallVector<int, 4> ops;
};

int64_t getBytes(RankedTensorType type) {
  Type element = type.getElementType();
  int64_t bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
  return type.getNumElements() * ((bits + 7) / 8);
}

bool mapsElements(const ShardingRule &rule, Operation *op) {
  return getComputeClass(op) == ComputeClass::Other &&
         llvm::all_of(rule.factors, [](const Factor &factor) {
           return factor.kind != FactorKind::Reduction;
         });
}

/// Says whether anybody listens. A module inside of another is a copy, of which
/// all was said, or will be.
bool hasRemarks(func::FuncOp func) {
  return func->getContext()->getRemarkEngine() &&
         !func->getParentOp()->getParentOp();
}

class Propagation {
public:
  Propagation(func::FuncOp func, const NamedMesh &mesh)
      : func(func), mesh(mesh) {}

  void run() {
    collect();
    seedFromUser();
    runToFixpoint(/*onlyMaps=*/true);
    runToFixpoint(/*onlyMaps=*/false);
    runStorage();
    if (hasRemarks(func))
      for (OpNode &op : ops)
        reportConflicts(op);
    write();
  }

  int64_t numVisits = 0;

private:
  //===--------------------------------------------------------------------===//
  // Set-up
  //===--------------------------------------------------------------------===//

  void collect();
  void addOp(Operation *op);
  void addNode(Operation *op, const ShardingRule &rule, unsigned first,
               unsigned count);
  void addTensor(OpNode &node, Value value, const TensorFactors &factors);
  int getIndex(Value value);
  void seedFromUser();
  void fitConstraint(ShardOp op);
  void seed(Value value, const Sharding &sharding, bool isFixed);

  //===--------------------------------------------------------------------===//
  // Fixpoint
  //===--------------------------------------------------------------------===//

  void runToFixpoint(bool onlyMaps);
  FactorSharding merge(const OpNode &node) const;
  void addAxes(FactorSharding &merged, unsigned factor,
               ArrayRef<AxisRef> axes) const;
  bool extend(int value, const Sharding &suggestion);
  void enqueue(int op);

  //===--------------------------------------------------------------------===//
  // Storage
  //===--------------------------------------------------------------------===//

  void runStorage();
  bool visitStorage(const OpNode &node);
  bool canRest(const ValueNode &value, const Sharding &stored) const;
  bool giveStorage(const OpNode &node, const OpTensor &from, bool toResults);

  void reportConflicts(const OpNode &node);
  Sharding getFinal(Value value) const;
  void write();

  func::FuncOp func;
  const NamedMesh &mesh;
  std::deque<OpNode> ops;
  std::vector<ValueNode> values;
  llvm::DenseMap<Value, int> indices;
  std::deque<int> queue;
};

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

int Propagation::getIndex(Value value) {
  auto [it, isNew] = indices.try_emplace(value, values.size());
  if (isNew) {
    auto type = cast<RankedTensorType>(value.getType());
    ValueNode node;
    node.value = value;
    node.bytes = getBytes(type);
    node.sharding = Sharding::fullyOpen(type.getRank());
    values.push_back(std::move(node));
  }
  return it->second;
}

void Propagation::addTensor(OpNode &node, Value value,
                            const TensorFactors &factors) {
  Operation *maker = value.getDefiningOp();
  if (factors.empty() || (maker && isRematerializable(maker)))
    return;
  int index = getIndex(value);
  node.tensors.push_back({index, &factors});
  if (!llvm::is_contained(values[index].ops, static_cast<int>(ops.size()) - 1))
    values[index].ops.push_back(ops.size() - 1);
}

void Propagation::addOp(Operation *op) {
  if (isRematerializable(op))
    return;
  std::optional<ShardingRule> rule = getShardingRule(op);
  if (!rule)
    return;
  // A barrier's values have nothing to do with each other: an axis may cut
  // several.
  if (isa<OptimizationBarrierOp>(op)) {
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      addNode(op, *rule, i, 1);
    return;
  }
  addNode(op, *rule, 0, ~0u);
}

/// Adds the op with `count` of its operands and results from `first` on, or
/// all.
void Propagation::addNode(Operation *op, const ShardingRule &rule,
                          unsigned first, unsigned count) {
  OpNode &node = ops.emplace_back();
  node.op = op;
  node.rule = rule;
  node.mapsElements = mapsElements(node.rule, op);
  auto addTensors = [&](ValueRange values, ArrayRef<TensorFactors> factors) {
    for (auto [i, value] : llvm::enumerate(values))
      if (i >= first && i - first < count)
        addTensor(node, value, factors[i]);
  };
  addTensors(op->getOperands(), node.rule.operands);
  addTensors(op->getResults(), node.rule.results);
  auto numElements = [&](const OpTensor &tensor) {
    return cast<RankedTensorType>(values[tensor.value].value.getType())
        .getNumElements();
  };
  node.keepsStorage =
      node.mapsElements && !node.tensors.empty() &&
      llvm::all_of(node.tensors, [&](const OpTensor &tensor) {
        return numElements(tensor) == numElements(node.tensors[0]);
      });
  llvm::stable_sort(node.tensors, [&](const OpTensor &a, const OpTensor &b) {
    return values[a.value].bytes > values[b.value].bytes;
  });
}

void Propagation::collect() {
  for (Operation &op : func.getBody().front())
    addOp(&op);
}

/// A fixed sharding is taken as it stands; another leaves the dimensions that
/// it does not shard open.
void Propagation::seed(Value value, const Sharding &sharding, bool isFixed) {
  ValueNode &node = values[getIndex(value)];
  if (node.isFixed)
    return;
  Sharding compute = sharding.withoutStorage();
  if (isFixed) {
    node.sharding = compute;
    node.isFixed = true;
  } else if (node.sharding.isReplicated()) {
    node.sharding = compute;
    for (int64_t d = 0; d < compute.rank(); ++d)
      node.sharding.setOpen(d, compute.dims[d].empty());
  }
  if (!sharding.storage.empty() && !node.stored)
    node.stored = sharding.closed();
}

/// Takes from a constraint the minor parts of axes that would cut a dimension
/// in more parts than it has elements: heads on more ranks than heads. Ranks
/// without any element would wait for those that have one; it is better that
/// they do the same work, or another dimension's.
void Propagation::fitConstraint(ShardOp op) {
  Sharding stated = toSharding(op.getSharding(), mesh.mesh).canonical();
  Sharding fitting = stated;
  for (auto [axes, size] :
       llvm::zip_equal(fitting.dims, op.getType().getShape())) {
    AxisList taken, rest = axes;
    if (numShards(axes) > size && takeEvenAxes(taken, rest, size) == 1)
      axes = taken;
  }
  if (fitting == stated || !stated.storage.empty())
    return;
  if (hasRemarks(func))
    remark::missed(
        op.getLoc(),
        remark::RemarkOpts::name("constraint").category("weft-propagate"))
        << remark::add("{0} leaves ranks without elements, {1} is taken",
                       stated.str(mesh.mesh), fitting.str(mesh.mesh));
  op.setShardingAttr(mesh.toAttr(fitting));
}

void Propagation::seedFromUser() {
  auto isTensor = [](Value value) {
    return isa<RankedTensorType>(value.getType());
  };
  for (BlockArgument arg : func.getArguments())
    if (isTensor(arg))
      if (std::optional<Sharding> stated = getStatedSharding(arg, mesh.mesh))
        seed(arg, *stated, /*isFixed=*/true);
  for (ShardOp op : func.getBody().front().getOps<ShardOp>()) {
    fitConstraint(op);
    seed(op.getResult(), toSharding(op.getSharding(), mesh.mesh).canonical(),
         /*isFixed=*/true);
  }
  Operation *ret = func.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(ret->getOperands())) {
    auto declared =
        func.getResultAttrOfType<ShardingAttr>(i, WeftDialect::kShardingAttr);
    if (declared && isTensor(value))
      seed(value, toSharding(declared, mesh.mesh).canonical(),
           /*isFixed=*/false);
  }
}

//===----------------------------------------------------------------------===//
// Fixpoint
//===----------------------------------------------------------------------===//

void Propagation::enqueue(int op) {
  if (std::exchange(ops[op].isQueued, true))
    return;
  queue.push_back(op);
}

/// Puts axes on a factor: those that follow what it has, as far as no other
/// factor has them.
void Propagation::addAxes(FactorSharding &merged, unsigned factor,
                          ArrayRef<AxisRef> axes) const {
  std::optional<AxisList> more = dropPrefix(merged.axes[factor], axes);
  if (!more)
    return;
  for (const AxisRef &axis : *more) {
    if (llvm::any_of(merged.axes, [&](const AxisList &list) {
          return anyOverlap(list, axis);
        }))
      return;
    merged.axes[factor].push_back(axis);
  }
  merged.axes[factor] = canonicalAxes(merged.axes[factor]);
}

FactorSharding Propagation::merge(const OpNode &node) const {
  FactorSharding merged(node.rule);
  for (const OpTensor &tensor : node.tensors) {
    FactorSharding own = projectToFactors(node.rule, *tensor.factors,
                                          values[tensor.value].sharding);
    for (auto [factor, axes] : llvm::enumerate(own.axes))
      addAxes(merged, factor, axes);
  }
  return merged;
}

/// Appends to open dims of a value what `suggestion` has more. A suggestion
/// that cuts a dimension in more parts than it has elements is not taken.
bool Propagation::extend(int value, const Sharding &suggestion) {
  ValueNode &node = values[value];
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(node.value.getType()).getShape();
  bool changed = false;
  for (int64_t d = 0; d < suggestion.rank(); ++d) {
    if (!node.sharding.isOpen(d) || suggestion.shardCount(d) > shape[d])
      continue;
    std::optional<AxisList> more =
        dropPrefix(node.sharding.dims[d], suggestion.dims[d]);
    if (!more || more->empty() ||
        llvm::any_of(node.sharding.dims, [&](const AxisList &list) {
          return anyOverlap(list, *more);
        }))
      continue;
    node.sharding.dims[d] = suggestion.dims[d];
    changed = true;
  }
  return changed;
}

void Propagation::runToFixpoint(bool onlyMaps) {
  auto takesPart = [&](const OpNode &node) {
    return node.mapsElements || !onlyMaps;
  };
  for (size_t i = 0; i < ops.size(); ++i)
    if (takesPart(ops[i]))
      enqueue(i);
  while (!queue.empty()) {
    OpNode &node = ops[queue.front()];
    queue.pop_front();
    node.isQueued = false;
    ++numVisits;
    FactorSharding merged = merge(node);
    for (const OpTensor &tensor : node.tensors)
      if (extend(tensor.value, getTensorSharding(*tensor.factors, merged)))
        for (int op : values[tensor.value].ops)
          if (takesPart(ops[op]))
            enqueue(op);
  }
}

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

/// Says whether compute's axes of a value leave the stored dims to it: they
/// are what is stored without the storage axes that compute does not use
/// itself, as it may those of experts.
bool Propagation::canRest(const ValueNode &value,
                          const Sharding &stored) const {
  if (value.stored || value.isFixed)
    return false;
  if (value.sharding.isReplicated())
    return true;
  Sharding atRest = stored;
  atRest.storage = subtractAxes(stored.storage, value.sharding.usedAxes());
  return value.sharding.closed().dims == atRest.withoutStorage().dims;
}

/// Gives the stored sharding of one tensor to the op's results, or to its
/// operands.
bool Propagation::giveStorage(const OpNode &node, const OpTensor &from,
                              bool toResults) {
  const Sharding &stored = *values[from.value].stored;
  bool isExact = true;
  FactorSharding factors =
      projectToFactors(node.rule, *from.factors, stored, &isExact);
  if (!isExact || !isLegal(node.rule, factors))
    return false;
  bool changed = false;
  for (const OpTensor &tensor : node.tensors) {
    bool isResult = values[tensor.value].value.getDefiningOp() == node.op;
    Sharding given = getTensorSharding(*tensor.factors, factors);
    given.storage = stored.storage;
    if (isResult != toResults || !canRest(values[tensor.value], given))
      continue;
    values[tensor.value].stored = given;
    changed = true;
  }
  return changed;
}

/// Forward if all operands rest in one way; backward from any result.
bool Propagation::visitStorage(const OpNode &node) {
  const OpTensor *firstOperand = nullptr, *storedResult = nullptr;
  bool allStored = true;
  for (const OpTensor &tensor : node.tensors) {
    const ValueNode &value = values[tensor.value];
    if (value.value.getDefiningOp() == node.op) {
      if (value.stored)
        storedResult = &tensor;
      continue;
    }
    firstOperand = firstOperand ? firstOperand : &tensor;
    allStored &= value.stored.has_value();
  }
  bool changed = false;
  if (firstOperand && allStored)
    changed |= giveStorage(node, *firstOperand, /*toResults=*/true);
  if (storedResult)
    changed |= giveStorage(node, *storedResult, /*toResults=*/false);
  return changed;
}

void Propagation::runStorage() {
  for (size_t i = 0; i < ops.size(); ++i)
    if (ops[i].keepsStorage)
      enqueue(i);
  while (!queue.empty()) {
    OpNode &node = ops[queue.front()];
    queue.pop_front();
    node.isQueued = false;
    ++numVisits;
    if (!visitStorage(node))
      continue;
    for (const OpTensor &tensor : node.tensors)
      for (int op : values[tensor.value].ops)
        if (ops[op].keepsStorage)
          enqueue(op);
  }
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

/// Says which tensors of an op do not get the axes that they have.
void Propagation::reportConflicts(const OpNode &node) {
  FactorSharding merged = merge(node);
  for (const OpTensor &tensor : node.tensors) {
    const ValueNode &value = values[tensor.value];
    Sharding used = getTensorSharding(*tensor.factors, merged);
    if (used.dims == value.sharding.dims ||
        value.value.getDefiningOp() == node.op)
      continue;
    remark::missed(
        node.op->getLoc(),
        remark::RemarkOpts::name("conflict").category("weft-propagate"))
        << remark::add("an operand of '{0}' has sharding {1}, the op uses {2}",
                       node.op->getName().getStringRef().str(),
                       value.sharding.closed().str(mesh.mesh),
                       used.str(mesh.mesh))
        << remark::metric("bytes", value.bytes);
  }
}

Sharding Propagation::getFinal(Value value) const {
  auto it = indices.find(value);
  if (it == indices.end())
    return Sharding::fullyOpen(
        cast<RankedTensorType>(value.getType()).getRank());
  const ValueNode &node = values[it->second];
  if (node.stored)
    return *node.stored;
  Sharding sharding = node.sharding;
  // A dimension stays open if nobody said anything about it.
  for (int64_t d = 0; d < sharding.rank(); ++d)
    sharding.setOpen(d, sharding.isOpen(d) && sharding.dims[d].empty());
  return sharding;
}

void Propagation::write() {
  SmallVector<Attribute> args;
  for (BlockArgument arg : func.getArguments())
    args.push_back(isa<RankedTensorType>(arg.getType())
                       ? mesh.toAttr(getFinal(arg).closed())
                       : Attribute());
  setArgAttrs(func, WeftDialect::kShardingAttr, args);
  for (Operation &op : func.getBody().front()) {
    if (op.getNumResults() == 0 || isRematerializable(&op) ||
        !llvm::all_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>))
      continue;
    SmallVector<Sharding, 1> shardings;
    for (Value result : op.getResults())
      shardings.push_back(getFinal(result));
    setStatedShardings(&op, shardings, mesh);
  }
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

struct PropagateShardingsPass
    : weft::impl::PropagateShardingsPassBase<PropagateShardingsPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(forEachBody(getOperation(),
                           [&](func::FuncOp func, const NamedMesh &mesh) {
                             Propagation propagation(func, mesh);
                             propagation.run();
                             numVisits += propagation.numVisits;
                           })))
      signalPassFailure();
  }
};

} // namespace
