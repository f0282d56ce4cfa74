// SPDX-License-Identifier: Apache-2.0

// A barrier stands for each reading: of the first value, and of the one that
// was read before, which stays for as long as it may be wanted again.

#include "ReadAsKept.h"
#include "AttentionPlan.h"
#include "JoinScores.h"
#include "weft/Analysis/EqualOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::weft;

static constexpr StringLiteral kReadAsKept = "weft.read_as_kept";

bool mlir::weft::isReadAsKept(Operation *op) {
  return op->hasAttr(kReadAsKept);
}

/// Whether it is a product of scores that a barrier keeps.
static bool isKept(MatmulOp op) {
  return llvm::any_of(op->getUsers(),
                      [](Operation *user) {
                        return isa<OptimizationBarrierOp>(user);
                      }) &&
         reachesExponential(op);
}

/// Whether it adds up kept scores.
static bool isKeptSum(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic)
    return false;
  SmallVector<MatmulOp> products = getScoreProducts(generic);
  return !products.empty() && llvm::all_of(products, isKept);
}

/// Whether nothing is to be read in place of it.
static bool isWithoutSource(Value value) {
  Operation *def = value.getDefiningOp();
  return def &&
         (isa<tensor::EmptyOp>(def) || def->hasTrait<OpTrait::ConstantLike>());
}

/// Whether it is scores, or their maxima, or of another product.
static bool isOfScores(Value value, const llvm::SetVector<Operation *> &scores,
                       int depth = 6) {
  Operation *def = value.getDefiningOp();
  if (!def || depth == 0)
    return false;
  return scores.contains(def) || isa<MatmulOp>(def) ||
         (isa<linalg::GenericOp, tensor::ExpandShapeOp,
              tensor::CollapseShapeOp>(def) &&
          llvm::any_of(def->getOperands(), [&](Value operand) {
            return isOfScores(operand, scores, depth - 1);
          }));
}

namespace {

class KeptReader {
public:
  void run(Block &block, ArrayRef<Value> values) {
    for (Value value : values)
      add(value);
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      visit(op);
  }

private:
  void visit(Operation &op) {
    if (auto barrier = dyn_cast<OptimizationBarrierOp>(op)) {
      // What was in the host's memory is not kept here as well.
      if (barrier.getOffload())
        return;
      for (auto [result, input] :
           llvm::zip_equal(barrier.getResults(), barrier.getInputs()))
        equal.setFirst(result, input);
      return;
    }
    if (!isMemoryEffectFree(&op))
      return;
    if (auto matmul = dyn_cast<MatmulOp>(op); matmul && isKept(matmul))
      addOperands(matmul);
    Operation *first = equal.add(&op);
    if (!first)
      return;
    bool isSum = isKeptSum(&op);
    for (auto [result, same] :
         llvm::zip_equal(op.getResults(), first->getResults())) {
      equal.setFirst(result, same);
      if (isSum || operands.contains(same))
        readInstead(result, same);
    }
  }

  /// Queries and keys, and what is added to their product.
  void addOperands(MatmulOp product) {
    for (Value operand : {product.getLhs(), product.getRhs()})
      add(operand);
    llvm::SetVector<Operation *> scores = findOpsToExponential(product);
    for (Operation *op : scores.getArrayRef().drop_front())
      for (Value operand : op->getOperands())
        if (!isWithoutSource(operand) && !isOfScores(operand, scores))
          add(operand);
  }

  /// What it was before it was put into a form, which is looked through.
  void add(Value operand) {
    operand = skipBarriers(operand);
    while (Value unformed = getUnformed(operand))
      operand = skipBarriers(unformed);
    operands.insert(equal.getFirst(operand));
  }

  void readInstead(Value value, Value same) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    Type types[] = {same.getType(), value.getType()};
    auto barrier = OptimizationBarrierOp::create(
        builder, value.getLoc(), TypeRange(types), ValueRange{same, value},
        /*offload=*/false);
    barrier->setAttr(kReadAsKept, builder.getUnitAttr());
    value.replaceAllUsesExcept(barrier.getResult(0), barrier);
    equal.setFirst(barrier.getResult(0), same);
  }

  EqualOps equal;
  /// Of attention, whose scores are kept.
  llvm::DenseSet<Value> operands;
};

} // namespace

bool mlir::weft::keepsScores(Block &block) {
  return llvm::any_of(block.getOps<MatmulOp>(), isKept);
}

void mlir::weft::readAsKept(Block &block, ArrayRef<Value> values) {
  KeptReader().run(block, values);
}

bool mlir::weft::readAsMarked(Block &block) {
  bool isAny = false;
  for (auto barrier :
       llvm::make_early_inc_range(block.getOps<OptimizationBarrierOp>()))
    if (isReadAsKept(barrier)) {
      barrier.getResult(0).replaceAllUsesWith(barrier.getInputs()[1]);
      barrier.erase();
      isAny = true;
    }
  return isAny;
}
