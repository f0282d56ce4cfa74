// SPDX-License-Identifier: Apache-2.0

// Clones ops with all that they need of each other.

#include "RingProbe.h"

#include "AttentionPlan.h"
#include "RingFinder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

class ProbeBuilder {
public:
  explicit ProbeBuilder(const Ring &forward) : forward(forward) {}

  OwningOpRef<ModuleOp> build();

private:
  void findOps();
  void addWithReduce(Value gradient);
  Value get(Value value);
  void clone(Operation *op);
  SmallVector<Value> getResults();

  const Ring &forward;
  /// In the order in which they are cloned; gathers come with what reads them.
  llvm::SetVector<Operation *> ops;
  IRMapping mapping;
  OpBuilder builder{forward.op->getContext()};
  func::FuncOp function;
};

/// Where pieces begin is computed of the rank's number.
bool isIndexOp(Operation *op) {
  return isa<AxisIndexOp>(op) || isa<arith::ArithDialect>(op->getDialect());
}

} // namespace

/// The sum over ranks of a gradient of keys or values, and what reshapes it
/// before.
void ProbeBuilder::addWithReduce(Value gradient) {
  while (gradient.hasOneUse()) {
    Operation *user = *gradient.user_begin();
    if (!isa<tensor::ExpandShapeOp, ReduceScatterOp, AllReduceOp>(user) ||
        !ops.insert(user))
      return;
    gradient = user->getResult(0);
  }
}

void ProbeBuilder::findOps() {
  for (unsigned operand : {1, 2})
    ops.insert(forward.shape.parts[operand].value.getDefiningOp());
  ops.insert(forward.op);
  SmallVector<AttentionGradOp> gradients;
  for (auto gradient : forward.op->getBlock()->getOps<AttentionGradOp>())
    if (skipBarriers(gradient.getLse()) ==
        cast<AttentionOp>(forward.op).getLse())
      gradients.push_back(gradient);
  for (AttentionGradOp gradient : gradients) {
    ops.insert(gradient);
    addWithReduce(gradient.getDk());
    addWithReduce(gradient.getDv());
  }
}

Value ProbeBuilder::get(Value value) {
  if (Value done = mapping.lookupOrNull(value))
    return done;
  Operation *op = value.getDefiningOp();
  Operation *made = skipBarriers(value).getDefiningOp();
  if (op != made && ops.contains(made))
    return get(skipBarriers(value));
  if (op && (ops.contains(op) || isIndexOp(op))) {
    clone(op);
  } else {
    Block &entry = function.getBody().front();
    mapping.map(value, entry.addArgument(value.getType(), value.getLoc()));
  }
  return mapping.lookup(value);
}

void ProbeBuilder::clone(Operation *op) {
  for (Value operand : op->getOperands())
    get(operand);
  for (Value operand : op->getOperands())
    mapping.map(operand, get(operand));
  builder.clone(*op, mapping);
}

/// Gathered keys that others read as well stay whatever becomes of these.
SmallVector<Value> ProbeBuilder::getResults() {
  SmallVector<Value> results;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (!isa<AllGatherOp>(op) &&
          llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !ops.contains(user); }))
        results.push_back(mapping.lookup(result));
  return results;
}

OwningOpRef<ModuleOp> ProbeBuilder::build() {
  Location loc = forward.op->getLoc();
  auto whole = forward.op->getParentOfType<ModuleOp>();
  OwningOpRef<ModuleOp> probe = ModuleOp::create(loc);
  if (Attribute target = whole->getAttr(WeftDialect::kTargetAttr))
    (*probe)->setAttr(WeftDialect::kTargetAttr, target);
  builder.setInsertionPointToStart(probe->getBody());
  for (auto mesh : whole.getOps<MeshOp>())
    builder.clone(*mesh);
  function = func::FuncOp::create(builder, loc, "attention",
                                  builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  findOps();
  for (Operation *op : ops)
    if (!mapping.contains(op))
      clone(op);
  SmallVector<Value> results = getResults();
  func::ReturnOp::create(builder, loc, results);
  function.setFunctionType(builder.getFunctionType(
      function.getBody().front().getArgumentTypes(), ValueRange(results)));
  return probe;
}

OwningOpRef<ModuleOp> mlir::weft::makeProbe(const Ring &forward) {
  return ProbeBuilder(forward).build();
}
