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

static bool isReduction(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && generic.getNumReductionLoops() != 0;
}

/// Whether it is a product of scores, and a barrier keeps it, or what is made
/// of it element by element: masked scores, weights.
static bool isKept(MatmulOp product) {
  constexpr size_t kMostOps = 32;
  if (!reachesExponential(product))
    return false;
  int64_t count = product.getType().getNumElements();
  llvm::SetVector<Operation *> made;
  made.insert(product);
  for (size_t i = 0; i < made.size() && i < kMostOps; ++i)
    for (Operation *user : made[i]->getUsers()) {
      if (isa<OptimizationBarrierOp>(user))
        return true;
      auto generic = dyn_cast<linalg::GenericOp>(user);
      if (generic && generic.hasPureTensorSemantics() &&
          cast<RankedTensorType>(generic.getResult(0).getType())
                  .getNumElements() == count)
        made.insert(generic);
    }
  return false;
}

/// Whether a maximum or sum is taken of what an exponential is of, or of the
/// exponential: of scores, and not of what an activation is of.
static bool isNormalized(MatmulOp product) {
  auto isReduced = [](Operation *op) {
    return llvm::any_of(op->getUsers(), isReduction);
  };
  return llvm::any_of(findOpsToExponential(product), [&](Operation *op) {
    return isReduced(op) || llvm::any_of(op->getUsers(), [&](Operation *user) {
             auto widened = dyn_cast<linalg::GenericOp>(user);
             return widened && widened.getNumDpsInputs() == 1 &&
                    isReduced(widened);
           });
  });
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
      for (auto [result, input] :
           llvm::zip_equal(barrier.getResults(), barrier.getInputs())) {
        bool isWeights = weights.contains(input);
        if (isWeights)
          weights.insert(result);
        // What was in the host's memory is not kept here as well.
        if (isWeights || !barrier.getOffload())
          equal.setFirst(result, input);
      }
      return;
    }
    if (!isMemoryEffectFree(&op))
      return;
    auto matmul = dyn_cast<MatmulOp>(op);
    bool isOfKept = matmul && isKept(matmul);
    if (isOfKept)
      addOperands(matmul);
    bool isScores = isOfKept && isNormalized(matmul);
    if (isScores || (!matmul && readsWeights(op)))
      weights.insert(op.result_begin(), op.result_end());
    Operation *first = equal.add(&op);
    if (!first && isScores)
      operands.insert(op.getResult(0));
    else if (!first && matmul && readsWeights(op))
      weighed.insert(op.getResult(0));
    if (!first)
      return;
    bool isSum = isKeptSum(&op);
    for (auto [result, same] :
         llvm::zip_equal(op.getResults(), first->getResults())) {
      equal.setFirst(result, same);
      // Of kept weights alone it would be computed again, and need them.
      if (weighed.contains(same))
        result.replaceAllUsesWith(same);
      else if (isSum || operands.contains(same))
        readInstead(result, same);
    }
  }

  /// Whether it reads kept scores, or weights that are made of them.
  bool readsWeights(Operation &op) const {
    return !isReduction(&op) &&
           llvm::any_of(op.getOperands(), [&](Value operand) {
             return weights.contains(operand);
           });
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
  /// Of attention, whose scores are kept, and these.
  llvm::DenseSet<Value> operands;
  /// Scores that are kept, and what is made of them element by element.
  llvm::DenseSet<Value> weights;
  /// Products of these and other tensors.
  llvm::DenseSet<Value> weighed;
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
