// SPDX-License-Identifier: Apache-2.0

// weft-assign-orders: gives each reduction of a global module its order.
//
// Orders are functions of global shapes, of the number of leaves, and of how
// axes whose sizes may matter cut sums, so that they are the same on every mesh
// of other sizes. What would round contributions before
// they are joined is written apart here: a contraction with a narrow result
// becomes one with a wide result and a cast. So is what axes cut into parts
// that are not contiguous: a reduction over several loops. What would tell -0
// from +0 on some meshes only, a lookup in a table that may be sharded, is
// followed by + 0.

#include "FreeAxes.h"
#include "ReductionStages.h"

#include "weft/Dialect/Weft/IR/MeshErrors.h"
#include "weft/Orders/Passes.h"
#include "weft/Rules/ReductionOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Builders.h"

namespace mlir::weft {
#define GEN_PASS_DEF_ASSIGNORDERSPASS
#include "weft/Orders/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// What a mesh allows
//===----------------------------------------------------------------------===//

namespace {

/// The numbers of parts that may cut `leaves` leaves in subtrees, ascending.
SmallVector<int64_t> getNumbersOfParts(int64_t leaves) {
  SmallVector<int64_t> numbers = {leaves};
  while (numbers.back() % 2 == 0)
    numbers.push_back(numbers.back() / 2);
  if (numbers.back() != 1)
    numbers.push_back(1);
  std::reverse(numbers.begin(), numbers.end());
  return numbers;
}

/// "1, 2, 4 and 8".
template <typename Range> std::string joinWords(const Range &items) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto [i, item] : llvm::enumerate(items)) {
    bool isLast = i + 1 == items.size();
    os << (i == 0 ? "" : isLast ? " and " : ", ") << item;
  }
  return text;
}

/// Checks that the sizes of axes allow what the module promises.
class MeshChecker {
public:
  MeshChecker(ModuleOp module, InvarianceAttr invariance)
      : module(module), invariance(invariance),
        numbers(getNumbersOfParts(invariance.getLeaves())) {}

  LogicalResult run() {
    for (auto mesh : module.getOps<MeshOp>()) {
      if (failed(checkAxes(mesh)))
        return failure();
      for (auto func : module.getOps<func::FuncOp>())
        for (unsigned arg = 0; arg < func.getNumArguments(); ++arg)
          if (failed(checkBatch(mesh, func, arg)))
            return failure();
    }
    return success();
  }

private:
  LogicalResult checkAxes(MeshOp mesh) {
    for (MeshAxisAttr axis : mesh.getMesh().getAxes())
      if (invariance.hasAxis(axis.getName()) &&
          !llvm::is_contained(numbers, axis.getSize()))
        return emitMeshError(mesh)
               << "axis \"" << axis.getName() << "\" of size " << axis.getSize()
               << " cannot be invariant with " << invariance.getLeaves()
               << " leaves: sizes that can are " << joinWords(numbers);
    return success();
  }

  /// Axes that shard a batch together cut the sums over it together. A batch is
  /// known by its integers.
  LogicalResult checkBatch(MeshOp mesh, func::FuncOp func, unsigned arg) {
    auto sharding =
        func.getArgAttrOfType<ShardingAttr>(arg, WeftDialect::kShardingAttr);
    if (!sharding ||
        !getElementTypeOrSelf(func.getArgumentTypes()[arg]).isInteger())
      return success();
    for (auto [dim, entry] : llvm::enumerate(sharding.getDims())) {
      SmallVector<AxisRefAttr> axes =
          llvm::filter_to_vector(entry.getAxes(), [&](AxisRefAttr axis) {
            return invariance.hasAxis(axis.getName());
          });
      int64_t parts = getNumShards(mesh.getMesh(), axes);
      if (llvm::is_contained(numbers, parts))
        continue;
      auto names = llvm::map_to_vector(axes, [](AxisRefAttr axis) {
        return ("\"" + axis.getName() + "\"").str();
      });
      return emitMeshError(mesh)
             << "axes " << joinWords(names) << " shard dimension " << dim
             << " of argument #" << arg << " in " << parts
             << " parts, which cannot be invariant with "
             << invariance.getLeaves() << " leaves: numbers that can are "
             << joinWords(numbers);
    }
    return success();
  }

  ModuleOp module;
  InvarianceAttr invariance;
  SmallVector<int64_t> numbers;
};

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

/// Runs along the last loop are summed in as many chains, which a vector holds.
constexpr int64_t kLanes = 16;

/// Contractions of each of many batches are short, and cut by batch rather than
/// by K: their leaves are longer. Even more so those of bf16, whose chains are
/// fast: it is joining them that costs. Leaves of other reductions cost little.
constexpr int64_t kBatchedFactor = 4;
constexpr int64_t kBF16Factor = 8;
constexpr int64_t kReductionDivisor = 2;

/// Says whether the op computes each element from one of its only input.
bool isMap(linalg::GenericOp op) {
  return op.getNumDpsInputs() == 1 && op.getNumResults() == 1 &&
         op.getNumReductionLoops() == 0;
}

/// Says whether the elements of the op's result are those of its operand.
bool movesElements(Operation *op) {
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, ShardOp>(op))
    return true;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && isMap(generic) &&
         generic.getBody()->getTerminator()->getOperand(0) ==
             generic.getBody()->getArgument(0);
}

/// Says whether the op rounds each element of its only input.
bool isCast(linalg::GenericOp op) {
  if (!isMap(op) ||
      op.getIndexingMapsArray()[0] != op.getIndexingMapsArray()[1])
    return false;
  auto cast = op.getBody()
                  ->getTerminator()
                  ->getOperand(0)
                  .getDefiningOp<arith::TruncFOp>();
  return cast && !cast.getRoundingmode() &&
         cast.getIn() == op.getBody()->getArgument(0);
}

/// Returns the cast that is all that becomes of the op's result, and what moves
/// the elements in front of it.
linalg::GenericOp findCast(Operation *op, SmallVectorImpl<Operation *> &path) {
  while (op->hasOneUse()) {
    op = *op->user_begin();
    if (auto generic = dyn_cast<linalg::GenericOp>(op);
        generic && isCast(generic))
      return generic;
    if (!movesElements(op))
      return nullptr;
    path.push_back(op);
  }
  return nullptr;
}

void narrow(Value value, Type element) {
  value.setType(cast<RankedTensorType>(value.getType()).clone(element));
}

/// Makes an op that moves elements move those of another type.
void narrowMove(Operation *op, Type element) {
  narrow(op->getResult(0), element);
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic)
    return;
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(generic.getResult(0).getType());
  generic.setDpsInitOperand(
      0,
      tensor::EmptyOp::create(builder, op->getLoc(), type.getShape(), element));
  for (BlockArgument arg : generic.getBody()->getArguments())
    arg.setType(element);
}

class OrderAssignment {
public:
  OrderAssignment(ModuleOp module, int64_t leaves, int64_t minLeaf,
                  bool roundsPartials)
      : module(module), context(module.getContext()), leaves(leaves),
        minLeaf(minLeaf), roundsPartials(roundsPartials) {}

  /// Brings sums into the form that is given orders.
  void prepare() {
    for (Operation *op : getOps()) {
      auto generic = dyn_cast<linalg::GenericOp>(op);
      if (generic && needsOrder(op))
        splitReduction(generic);
    }
  }

  void run(const FreeParts &freeParts) {
    if (roundsPartials)
      for (Operation *op : getOps())
        if (auto matmul = dyn_cast<MatmulOp>(op))
          takeInCast(matmul, freeParts.get(op));
    for (Operation *op : getOps())
      if (auto matmul = dyn_cast<MatmulOp>(op))
        assign(matmul, freeParts.get(op));
      else if (needsOrder(op))
        widenSums(op, getOrder(op, freeParts.get(op)));
  }

private:
  /// Returns all ops: those that come up in a walk may be erased.
  SmallVector<Operation *> getOps() {
    SmallVector<Operation *> ops;
    module.walk([&](Operation *op) { ops.push_back(op); });
    return ops;
  }

  /// Says whether some dim is in all three tensors.
  static bool isBatched(MatmulOp op) {
    return llvm::any_of(llvm::seq(op.getResultMap().getNumDims()),
                        [&](unsigned dim) {
                          return op.getLhsMap().isFunctionOfDim(dim) &&
                                 op.getRhsMap().isFunctionOfDim(dim) &&
                                 op.getResultMap().isFunctionOfDim(dim);
                        });
  }

  static bool isBF16(Value value) {
    return getElementTypeOrSelf(value).isBF16();
  }

  /// Each of the parts that free axes make has leaves of its own. Their number
  /// is a power of two, so that other axes may cut the sum first.
  int64_t countLeaves(Operation *op, int64_t parts, int64_t least) const {
    int64_t size = computeProduct(getReductionSizes(op));
    int64_t each = parts == 1 ? leaves : leaves & -leaves;
    return parts * chooseLeaves(each, size / parts, least);
  }

  int64_t countLeaves(MatmulOp op, int64_t parts) const {
    if (isBF16(op.getLhs()) && isBF16(op.getRhs()))
      return countLeaves(op, parts, minLeaf * kBF16Factor);
    return countLeaves(op, parts,
                       isBatched(op) ? minLeaf * kBatchedFactor : minLeaf);
  }

  /// Says whether there are contractions of such operands whose leaves are
  /// rounded to `result`. Others are computed in f32 and rounded once.
  static bool mayRound(MatmulOp op, Type result) {
    return llvm::all_of(ValueRange{op.getLhs(), op.getRhs()}, [&](Value value) {
      Type element = getElementTypeOrSelf(value);
      return element == result || (result.isBF16() && element.isF32());
    });
  }

  /// A contraction in f32 of which only a rounded copy is used becomes one with
  /// a narrow result, whose parts may be rounded.
  void takeInCast(MatmulOp op, int64_t parts) {
    if (!getElementTypeOrSelf(op.getType()).isF32() ||
        countLeaves(op, parts) == 1)
      return;
    SmallVector<Operation *> path;
    linalg::GenericOp cast = findCast(op, path);
    if (!cast)
      return;
    Type element = getElementTypeOrSelf(cast.getResult(0));
    if (!mayRound(op, element))
      return;
    narrow(op.getResult(), element);
    for (Operation *move : path)
      narrowMove(move, element);
    cast.getResult(0).replaceAllUsesWith(cast.getInputs()[0]);
    cast.erase();
  }

  void assign(MatmulOp op, int64_t parts) {
    int64_t chosen = countLeaves(op, parts);
    Type element = getElementTypeOrSelf(op.getType());
    bool isNarrow = element.getIntOrFloatBitWidth() < 32 && chosen > 1;
    bool isRounded = isNarrow && roundsPartials && mayRound(op, element);
    if (isNarrow && !isRounded)
      op = widen(op);
    op->setAttr(WeftDialect::kOrderAttr,
                OrderAttr::get(context, chosen, /*lanes=*/1, isRounded));
  }

  /// The order of any op that needs one, but for contractions.
  OrderAttr getOrder(Operation *op, int64_t parts) const {
    if (!isPlainReduction(op))
      return OrderAttr::get(context, 1, 1, false);
    int64_t chosen = countLeaves(op, parts, minLeaf / kReductionDivisor);
    return OrderAttr::get(context, chosen, countLanes(op, chosen), false);
  }

  /// Lanes are those of a linalg op's last loop: of other ops it is not known
  /// which loop is the inner one.
  static int64_t countLanes(Operation *op, int64_t leaves) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp || linalgOp.getIteratorTypesArray().back() !=
                         utils::IteratorType::reduction)
      return 1;
    SmallVector<int64_t> sizes = getReductionSizes(op);
    int64_t run = sizes.back(), length = computeProduct(sizes) / leaves;
    bool isLong = std::min(run, length) >= kLanes && isWholeRuns(length, run);
    return isLong ? kLanes : 1;
  }

  /// Gives an op its order. Narrow sums of attention's gradient of which ranks
  /// may have leaves become f32, and are rounded when they have been joined.
  void widenSums(Operation *op, OrderAttr order) {
    op->setAttr(WeftDialect::kOrderAttr, order);
    auto gradient = dyn_cast<AttentionGradOp>(op);
    if (!gradient || order.getLeaves() == 1)
      return;
    OpBuilder builder(context);
    builder.setInsertionPointAfter(op);
    for (Value sum : {gradient.getDk(), gradient.getDv()}) {
      auto type = cast<RankedTensorType>(sum.getType());
      if (type.getElementType().isF32())
        continue;
      sum.setType(type.clone(builder.getF32Type()));
      Value rounded = round(builder, op->getLoc(), sum, type);
      sum.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
    }
  }

  static Value round(OpBuilder &builder, Location loc, Value wide,
                     RankedTensorType type) {
    return map(builder, loc, wide, type,
               [&](OpBuilder &body, Location loc, Value value) {
                 return arith::TruncFOp::create(body, loc,
                                                type.getElementType(), value);
               });
  }

  /// matmul -> narrow becomes matmul -> f32, truncf.
  MatmulOp widen(MatmulOp op) {
    OpBuilder builder(op);
    auto type = cast<RankedTensorType>(op.getType());
    auto wide =
        MatmulOp::create(builder, op.getLoc(), type.clone(builder.getF32Type()),
                         op.getLhs(), op.getRhs(), op.getIndexingMaps());
    Value narrow = round(builder, op.getLoc(), wide, type);
    op.replaceAllUsesWith(narrow);
    op.erase();
    return wide;
  }

  /// Emits a linalg.generic that computes each element from one of `input`.
  static Value map(OpBuilder &builder, Location loc, Value input,
                   RankedTensorType type,
                   function_ref<Value(OpBuilder &, Location, Value)> compute) {
    Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                          type.getElementType());
    AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
    SmallVector<utils::IteratorType> loops(type.getRank(),
                                           utils::IteratorType::parallel);
    auto body = [&](OpBuilder &inner, Location loc, ValueRange args) {
      linalg::YieldOp::create(inner, loc, compute(inner, loc, args[0]));
    };
    return linalg::GenericOp::create(builder, loc, type, input, empty,
                                     ArrayRef<AffineMap>{identity, identity},
                                     loops, body)
        .getResult(0);
  }

  ModuleOp module;
  MLIRContext *context;
  int64_t leaves, minLeaf;
  bool roundsPartials;
};

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct AssignOrdersPass : weft::impl::AssignOrdersPassBase<AssignOrdersPass> {
  using Base::Base;

  void runOnOperation() override {
    InvarianceAttr there = getInvariance(getOperation());
    if (axes.empty()) {
      // The mesh may have been changed since.
      if (there && failed(MeshChecker(getOperation(), there).run()))
        signalPassFailure();
      return;
    }
    FailureOr<InvarianceAttr> wanted = makeInvariance();
    if (failed(wanted) || failed(MeshChecker(getOperation(), *wanted).run()))
      return signalPassFailure();
    if (there) {
      if (there != *wanted) {
        getOperation().emitError("orders are assigned for ")
            << there << " already, not for " << *wanted;
        signalPassFailure();
      }
      return;
    }
    OrderAssignment assignment(getOperation(), leaves, minLeaf,
                               partials == "bf16");
    assignment.prepare();
    auto run = [&](OpPassManager &pm, Operation *op) {
      return runPipeline(pm, op);
    };
    FreeParts freeParts;
    if (hasFreeAxes(getOperation(), *wanted) &&
        failed(freeParts.count(getOperation(), *wanted, run)))
      return signalPassFailure();
    getOperation()->setAttr(WeftDialect::kInvarianceAttr, *wanted);
    assignment.run(freeParts);
  }

private:
  /// Reports an axis that the mesh does not have; `names` are those that it
  /// has.
  LogicalResult reportUnknown(Location at, StringRef axis,
                              ArrayRef<Attribute> names) {
    InFlightDiagnostic diag = mlir::emitError(at);
    if (axis == "mesh")
      diag << "\"mesh\" is for all axes, and cannot be listed with others";
    else
      diag << "there is no axis \"" << axis << "\" to be invariant in";
    if (names.empty())
      return diag << ": the mesh has none";
    diag << ": expected mesh, or some of ";
    llvm::interleaveComma(names, diag);
    return diag;
  }

  /// Reads the options; reports what is wrong at the mesh.
  FailureOr<InvarianceAttr> makeInvariance() {
    Location at = getOperation().getLoc();
    SmallVector<Attribute> names;
    Builder builder(&getContext());
    for (auto mesh : getOperation().getOps<MeshOp>()) {
      at = getErrorLoc(mesh);
      for (MeshAxisAttr axis : mesh.getMesh().getAxes())
        names.push_back(builder.getStringAttr(axis.getName()));
    }
    if (leaves < 1)
      return mlir::emitError(at)
             << "invariance needs at least 1 leaf, got " << leaves.getValue();
    if (partials != "f32" && partials != "bf16")
      return mlir::emitError(at)
             << "partial sums are f32 or bf16, not " << partials.getValue();
    if (axes.size() != 1 || axes[0] != "mesh") {
      SmallVector<Attribute> listed;
      for (const std::string &axis : axes) {
        listed.push_back(builder.getStringAttr(axis));
        if (!llvm::is_contained(names, listed.back()))
          return reportUnknown(at, axis, names);
      }
      names = listed;
    }
    auto invariance = InvarianceAttr::getChecked(
        [&] { return mlir::emitError(at); }, &getContext(),
        builder.getArrayAttr(names), leaves.getValue());
    if (!invariance)
      return failure();
    return invariance;
  }
};

} // namespace
