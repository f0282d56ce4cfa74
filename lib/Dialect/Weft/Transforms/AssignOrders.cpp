// SPDX-License-Identifier: Apache-2.0

// weft-assign-orders: gives each reduction of a global module its order.
//
// Orders are functions of global shapes and of the number of leaves alone, so
// that they are the same on every mesh. What would round contributions before
// they are joined is written apart here: a contraction with a narrow result
// becomes one with a wide result and a cast. So is what axes cut in parts that
// are not contiguous: a reduction over several loops. What would tell -0 from
// +0 on some meshes only, a lookup in a table that may be sharded, is followed
// by + 0.

#include "ReductionStages.h"

#include "weft/Dialect/Weft/Transforms/Passes.h"
#include "weft/Dialect/Weft/Transforms/ReductionOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Builders.h"

namespace mlir::weft {
#define GEN_PASS_DEF_ASSIGNORDERSPASS
#include "weft/Dialect/Weft/Transforms/Passes.h.inc"
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
        return mesh.emitOpError("axis \"")
               << axis.getName() << "\" of size " << axis.getSize()
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
      return mesh.emitOpError("axes ")
             << joinWords(names) << " shard dimension " << dim
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
/// by K: their leaves are longer. So are those of bf16, whose chains are fast:
/// it is joining them that costs. Leaves of other reductions cost little.
constexpr int64_t kLongFactor = 4;
constexpr int64_t kReductionDivisor = 2;

class OrderAssignment {
public:
  OrderAssignment(MLIRContext *context, int64_t leaves, int64_t minLeaf,
                  bool roundsPartials)
      : context(context), leaves(leaves), minLeaf(minLeaf),
        roundsPartials(roundsPartials) {}

  void run(Operation *op) {
    if (auto take = dyn_cast<TakeOp>(op))
      return addZero(take);
    if (!needsOrder(op))
      return;
    if (auto matmul = dyn_cast<MatmulOp>(op))
      return assign(matmul);
    SmallVector<linalg::LinalgOp> reductions = {cast<linalg::LinalgOp>(op)};
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      reductions =
          llvm::to_vector_of<linalg::LinalgOp>(splitReduction(generic));
    for (linalg::LinalgOp reduction : reductions)
      reduction->setAttr(WeftDialect::kOrderAttr, getOrder(reduction));
  }

private:
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

  void assign(MatmulOp op) {
    bool isLong = isBatched(op) || (isBF16(op.getLhs()) && isBF16(op.getRhs()));
    int64_t least = isLong ? minLeaf * kLongFactor : minLeaf;
    int64_t chosen =
        chooseLeaves(leaves, computeProduct(getReductionSizes(op)), least);
    Type element = getElementTypeOrSelf(op.getType());
    bool isNarrow = element.getIntOrFloatBitWidth() < 32 && chosen > 1;
    // Products of wider numbers are computed in f32 and rounded once.
    bool isRounded = isNarrow && roundsPartials &&
                     element == getElementTypeOrSelf(op.getLhs().getType()) &&
                     element == getElementTypeOrSelf(op.getRhs().getType());
    if (isNarrow && !isRounded)
      op = widen(op);
    op->setAttr(WeftDialect::kOrderAttr,
                OrderAttr::get(context, chosen, /*lanes=*/1, isRounded));
  }

  OrderAttr getOrder(linalg::LinalgOp op) const {
    if (!isPlainReduction(op))
      return OrderAttr::get(context, 1, 1, false);
    bool alongRows =
        op.getIteratorTypesArray().back() == utils::IteratorType::reduction;
    int64_t least = minLeaf / kReductionDivisor;
    int64_t size = computeProduct(getReductionSizes(op));
    int64_t chosen = chooseLeaves(leaves, size, least);
    int64_t lanes = 1;
    if (alongRows) {
      int64_t run = getReductionSizes(op).back(), length = size / chosen;
      if (std::min(run, length) >= kLanes && isWholeRuns(length, run))
        lanes = kLanes;
    }
    return OrderAttr::get(context, chosen, lanes, false);
  }

  /// matmul -> narrow becomes matmul -> f32, truncf.
  MatmulOp widen(MatmulOp op) {
    OpBuilder builder(op);
    auto type = cast<RankedTensorType>(op.getType());
    auto wide =
        MatmulOp::create(builder, op.getLoc(), type.clone(builder.getF32Type()),
                         op.getLhs(), op.getRhs(), op.getIndexingMaps());
    Value narrow = map(builder, op.getLoc(), wide, type,
                       [&](OpBuilder &body, Location loc, Value value) {
                         return arith::TruncFOp::create(
                             body, loc, type.getElementType(), value);
                       });
    op.replaceAllUsesWith(narrow);
    op.erase();
    return wide;
  }

  /// A rank without the row has +0, so that the sum of a -0 with others is +0.
  void addZero(TakeOp op) {
    auto type = cast<RankedTensorType>(op.getType());
    if (!isa<FloatType>(type.getElementType()))
      return;
    OpBuilder builder(context);
    builder.setInsertionPointAfter(op);
    Value sum =
        map(builder, op.getLoc(), op.getResult(), type,
            [&](OpBuilder &body, Location loc, Value value) -> Value {
              Value zero = arith::ConstantOp::create(
                  body, loc, body.getFloatAttr(type.getElementType(), 0.0));
              return arith::AddFOp::create(body, loc, value, zero);
            });
    op.getResult().replaceAllUsesExcept(sum, sum.getDefiningOp());
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
    getOperation()->setAttr(WeftDialect::kInvarianceAttr, *wanted);
    OrderAssignment assignment(&getContext(), leaves, minLeaf,
                               partials == "bf16");
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      assignment.run(op);
  }

private:
  /// Reads the options; reports what is wrong at the mesh.
  FailureOr<InvarianceAttr> makeInvariance() {
    Operation *at = getOperation();
    SmallVector<Attribute> names;
    Builder builder(&getContext());
    for (auto mesh : getOperation().getOps<MeshOp>()) {
      at = mesh;
      for (MeshAxisAttr axis : mesh.getMesh().getAxes())
        names.push_back(builder.getStringAttr(axis.getName()));
    }
    if (leaves < 1)
      return at->emitError("invariance needs at least 1 leaf, got ")
             << leaves.getValue();
    if (partials != "f32" && partials != "bf16")
      return at->emitError("partial sums are f32 or bf16, not ")
             << partials.getValue();
    if (axes.size() != 1 || axes[0] != "mesh") {
      SmallVector<Attribute> listed;
      for (const std::string &axis : axes) {
        listed.push_back(builder.getStringAttr(axis));
        if (!llvm::is_contained(names, listed.back()))
          return at->emitError("there is no axis ")
                 << listed.back() << " to be invariant in";
      }
      names = listed;
    }
    auto invariance = InvarianceAttr::getChecked(
        [&] { return at->emitError(); }, &getContext(),
        builder.getArrayAttr(names), leaves.getValue());
    if (!invariance)
      return failure();
    return invariance;
  }
};

} // namespace
