// SPDX-License-Identifier: Apache-2.0

#include "Linears.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Says whether a generic moves or casts each element of its one input.
bool isCast(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumResults() != 1 ||
      op.getNumReductionLoops() != 0)
    return false;
  return llvm::all_of(
             *op.getBody(),
             [](Operation &inner) {
               return isa<arith::ExtFOp, arith::TruncFOp, linalg::YieldOp>(
                   inner);
             }) &&
         op.getBody()->getTerminator()->getOperand(0) !=
             op.getBody()->getArgument(1);
}

/// What an op only moves, casts or cuts; null for others.
Value getSource(OpResult value) {
  Operation *op = value.getOwner();
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return isCast(generic) ? generic.getDpsInputs()[0] : Value();
  if (auto barrier = dyn_cast<OptimizationBarrierOp>(op))
    return barrier.getInputs()[value.getResultNumber()];
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
          tensor::ExtractSliceOp, ShardOp>(op))
    return op->getOperand(0);
  return {};
}

/// What a value was moved, cast or cut from, first of all.
Value getRoot(Value value) {
  while (auto result = dyn_cast<OpResult>(value)) {
    Value source = getSource(result);
    if (!source)
      break;
    value = source;
  }
  return value;
}

/// Says whether an op computes each element from those at its place; not a
/// magnitude, as for a scale.
bool isElementwise(linalg::GenericOp op) {
  return op.getNumReductionLoops() == 0 && op.getNumResults() == 1 &&
         op.getBody()->getOps<math::AbsFOp>().empty();
}

/// Says whether the largest of so many elements is taken, or found, along the
/// last dim of an operand; lax.top_k compares floats as integers.
bool takesMaximum(linalg::GenericOp op, OpOperand &operand, int64_t count) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  if (map.getNumResults() == 0 || op.getNumParallelLoops() == 0)
    return false;
  auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
  if (!last || op.getIteratorTypesArray()[last.getPosition()] !=
                   utils::IteratorType::reduction)
    return false;
  int64_t reduced = 1;
  for (auto [size, kind] :
       llvm::zip_equal(op.getStaticLoopRanges(), op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      reduced *= size;
  return reduced == count && llvm::any_of(*op.getBody(), [](Operation &inner) {
           return isa<arith::MaximumFOp, arith::MaxNumFOp, arith::CmpFOp,
                      arith::MaxSIOp>(inner);
         });
}

/// Says whether the elements of a row, so many, are compared with each other.
bool isCompared(Value value, int64_t count) {
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (unsigned i = 0; i < reached.size(); ++i)
    for (OpOperand &use : reached[i].getUses()) {
      auto generic = dyn_cast<linalg::GenericOp>(use.getOwner());
      if (generic && takesMaximum(generic, use, count))
        return true;
      for (OpResult result : use.getOwner()->getResults())
        if (generic ? isElementwise(generic) : getSource(result) == use.get())
          reached.insert(result);
    }
  return false;
}

/// The sizes of the loops that an operand has and the contraction sums, or that
/// it does not; experts are neither.
SmallVector<int64_t> getSizes(MatmulOp op, unsigned operand, bool summed) {
  AffineMap map = operand ? op.getRhsMap() : op.getLhsMap();
  AffineMap other = operand ? op.getLhsMap() : op.getRhsMap();
  SmallVector<int64_t> loops = op.getLoopSizes(), sizes;
  for (unsigned dim = 0; dim < map.getNumResults(); ++dim) {
    unsigned loop = map.getDimPosition(dim);
    bool isKept = op.getResultMap().isFunctionOfDim(loop);
    if (isKept != summed && !(isKept && other.isFunctionOfDim(loop)))
      sizes.push_back(loops[loop]);
  }
  return sizes;
}

/// The dimensions of an operand that are summed, as bits.
uint64_t getSummedDims(MatmulOp op, unsigned operand) {
  AffineMap map = operand ? op.getRhsMap() : op.getLhsMap();
  uint64_t dims = 0;
  for (unsigned dim = 0; dim < map.getNumResults(); ++dim)
    if (!op.getResultMap().isFunctionOfDim(map.getDimPosition(dim)))
      dims |= uint64_t(1) << dim;
  return dims;
}

int64_t multiply(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

class LinearFinder {
public:
  explicit LinearFinder(func::FuncOp func) : func(func) {}

  Linears run() {
    findParameters();
    SmallVector<MatmulOp> others;
    func.walk([&](MatmulOp op) {
      if (isCandidate(op) && !addWithWeight(op))
        others.push_back(op);
    });
    for (MatmulOp op : others)
      if (!addWeightGradient(op))
        addWithFrozen(op);
    llvm::stable_sort(found.ops, [&](const Linear &a, const Linear &b) {
      return order.lookup(a.op) < order.lookup(b.op);
    });
    noteWide();
    return std::move(found);
  }

private:
  /// Not yet quantized, ordered or f64, and in the function's own block.
  bool isCandidate(MatmulOp op) {
    order[op] = order.size();
    Type element = getElementTypeOrSelf(op.getLhs().getType());
    return op->getParentOp() == func.getOperation() && op.getScales().empty() &&
           !op->hasAttr(WeftDialect::kOrderAttr) &&
           isa<Float32Type, BFloat16Type, Float16Type>(element) &&
           element == getElementTypeOrSelf(op.getRhs().getType());
  }

  /// Parameters are what is updated; if nothing is, what has a gradient's type
  /// in the results; if nothing has, each argument.
  void findParameters() {
    auto add = [&](auto isOne) {
      for (BlockArgument arg : func.getArguments())
        if (isOne(arg))
          parameters.insert(arg);
    };
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      if (auto alias =
              func.getResultAttrOfType<IntegerAttr>(i, WeftDialect::kAliasAttr))
        parameters.insert(func.getArgument(alias.getInt()));
    isUpdate = !parameters.empty();
    if (parameters.empty())
      add([&](BlockArgument arg) {
        return llvm::is_contained(func.getResultTypes(), arg.getType());
      });
    if (parameters.empty())
      add([](BlockArgument) { return true; });
  }

  /// The argument that an operand is, if it is a weight.
  BlockArgument getWeight(Value operand) {
    auto arg = dyn_cast<BlockArgument>(getRoot(operand));
    return arg && parameters.contains(arg) ? arg : BlockArgument();
  }

  bool addWithWeight(MatmulOp op) {
    BlockArgument left = getWeight(op.getLhs()), right = getWeight(op.getRhs());
    if ((!left && !right) || (left && right && isUpdate))
      return false;
    // Of x @ w where nothing says which is the weight, the second.
    unsigned index = right ? 1 : 0;
    add(op, index, right ? right : left);
    return true;
  }

  /// What the step does not update stays wide unless its name is asked for.
  void addWithFrozen(MatmulOp op) {
    for (unsigned index : {1, 0})
      if (auto arg = dyn_cast<BlockArgument>(getRoot(op->getOperand(index)))) {
        add(op, index, arg);
        if (isUpdate)
          found.keptWide.try_emplace(arg,
                                     "the step does not update its weight");
        return;
      }
  }

  void add(MatmulOp op, unsigned index, BlockArgument weight) {
    Value operand = op->getOperand(index), other = op->getOperand(1 - index);
    // Slices and reshapes of one argument are weights of their own.
    uint64_t dims = getSummedDims(op, index);
    auto [first, isFirst] =
        firstUse.try_emplace(getTensorKey(operand, weight), dims);
    bool isForward = isFirst || first->second == dims;
    Linear linear{op,
                  isForward ? LinearKind::Forward : LinearKind::InputGradient,
                  {OperandRole::Weight, OperandRole::Weight},
                  weight};
    linear.roles[1 - index] =
        isForward ? OperandRole::Activation : OperandRole::Gradient;
    (isForward ? inputs : gradients)[getRoot(other)].push_back(
        {weight, multiply(getSizes(op, index, true)),
         multiply(getSizes(op, index, false))});
    if (isForward && isFirst)
      forwards.push_back(linear);
    found.ops.push_back(linear);
  }

  /// Two uses of one weight sum the same or other dimensions of one shape.
  std::pair<Value, Type> getTensorKey(Value operand, BlockArgument weight) {
    return {weight, RankedTensorType::get(
                        cast<RankedTensorType>(operand.getType()).getShape(),
                        IntegerType::get(func.getContext(), 1))};
  }

  /// An operand of a forward contraction or of one for its gradient, and the
  /// sizes of the weight there.
  struct Use {
    BlockArgument weight;
    int64_t summed, kept;
  };

  /// Of the operands one is x, [tokens, summed] as forward has it, the other y,
  /// [tokens, kept]; the gradient of the input sums what is kept. What the
  /// latter is made of says best which weight it is: layers share inputs.
  bool addWeightGradient(MatmulOp op) {
    for (bool byGradient : {true, false})
      for (unsigned x : {0, 1})
        if (BlockArgument weight = findWeight(op, x, byGradient)) {
          Linear linear{op,
                        LinearKind::WeightGradient,
                        {OperandRole::Gradient, OperandRole::Gradient},
                        weight};
          linear.roles[x] = OperandRole::Activation;
          found.ops.push_back(linear);
          return true;
        }
    return false;
  }

  BlockArgument findWeight(MatmulOp op, unsigned x, bool byGradient) {
    int64_t ofX = multiply(getSizes(op, x, false)),
            ofY = multiply(getSizes(op, 1 - x, false));
    Value known = getRoot(op->getOperand(byGradient ? 1 - x : x));
    for (const Use &use : (byGradient ? gradients : inputs).lookup(known))
      if (use.summed == (byGradient ? ofY : ofX) &&
          use.kept == (byGradient ? ofX : ofY))
        return use.weight;
    return {};
  }

  //===--------------------------------------------------------------------===//
  // What stays wide
  //===--------------------------------------------------------------------===//

  void noteWide() {
    for (const Linear &linear : forwards) {
      std::string reason = getReason(linear);
      if (!reason.empty())
        found.keptWide.try_emplace(linear.weight,
                                   "its weight is that of " + reason);
    }
  }

  std::string getReason(const Linear &linear) {
    std::string name = StringRef(getWeightName(linear.weight)).lower();
    for (auto [what, pattern] : {std::pair("a router", "*router*"),
                                 {"a router", "*{.,'}gate{,'*,.*}"},
                                 {"an embedding", "*emb*"},
                                 {"the head", "*head*"}}) {
      auto glob = llvm::GlobPattern::create(pattern, /*MaxSubPatterns=*/64);
      if (glob && glob->match(name))
        return what;
    }
    if (isLookedUp(linear.weight))
      return "an embedding";
    if (isLast(linear))
      return "the head";
    if (makesScores(linear))
      return "scores, of which the largest is taken";
    return {};
  }

  /// Of the outputs for each token one or a few count: a router's experts, the
  /// classes of a loss.
  static bool makesScores(const Linear &linear) {
    unsigned index = linear.roles[0] == OperandRole::Weight ? 0 : 1;
    MatmulOp op = linear.op;
    int64_t outputs = multiply(getSizes(op, index, false));
    return outputs > 1 && isCompared(op.getResult(), outputs);
  }

  static bool isLookedUp(Value value) {
    return llvm::any_of(value.getUsers(), [](Operation *user) {
      if (isa<TakeOp, ScatterAddOp>(user))
        return true;
      return llvm::any_of(user->getResults(), [](OpResult result) {
        return getSource(result) && isLookedUp(result);
      });
    });
  }

  /// Scores more classes than it has inputs, and no linear layer is after it.
  bool isLast(const Linear &linear) {
    unsigned index = linear.roles[0] == OperandRole::Weight ? 0 : 1;
    MatmulOp op = linear.op;
    if (multiply(getSizes(op, index, false)) <=
        2 * multiply(getSizes(op, index, true)))
      return false;
    llvm::SetVector<Operation *> reached;
    reached.insert(op);
    for (unsigned i = 0; i < reached.size(); ++i)
      for (Operation *user : reached[i]->getUsers())
        if (Operation *own = op->getBlock()->findAncestorOpInBlock(*user))
          reached.insert(own);
    return llvm::none_of(forwards, [&](const Linear &other) {
      return other.weight != linear.weight && reached.contains(other.op);
    });
  }

  func::FuncOp func;
  Linears found;
  llvm::DenseMap<Operation *, size_t> order;
  llvm::DenseSet<Value> parameters;
  /// Whether the step updates them.
  bool isUpdate = false;
  llvm::DenseMap<std::pair<Value, Type>, uint64_t> firstUse;
  llvm::DenseMap<Value, SmallVector<Use, 2>> inputs, gradients;
  /// The first of each weight.
  SmallVector<Linear> forwards;
};

} // namespace

StringRef weft::stringifyLinearKind(LinearKind kind) {
  switch (kind) {
  case LinearKind::Forward:
    return "forward";
  case LinearKind::InputGradient:
    return "input gradient";
  case LinearKind::WeightGradient:
    return "weight gradient";
  }
  llvm_unreachable("a kind that is not listed");
}

std::string weft::getWeightName(BlockArgument weight) {
  auto func = cast<func::FuncOp>(weight.getOwner()->getParentOp());
  auto name = func.getArgAttrOfType<StringAttr>(weight.getArgNumber(),
                                                WeftDialect::kNameAttr);
  return name ? name.str() : ("#" + Twine(weight.getArgNumber())).str();
}

Linears weft::findLinears(func::FuncOp func) {
  return LinearFinder(func).run();
}
