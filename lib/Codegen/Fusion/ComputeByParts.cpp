// SPDX-License-Identifier: Apache-2.0

// The gradient of x[..., :h] and x[..., h:] is a sum of two padded tensors:
//   pad(a, 0, h) + pad(b, h, 0)
// which would be zeros that are written, copies into them, and a pass over
// both. It is a concatenation of sums,
//   concat(a + 0, 0 + b)
// whose parts are computed where they lie. (Zeros stay: -0 + 0 is 0.) A
// conversion to a narrow type of a concatenation is one of its parts, which are
// then stored narrow; and a slice of what an op makes is made of a slice of
// what it reads, so that it need not be stored as a whole.

#include "ComputeByParts.h"

#include "ProgramOps.h"

#include "weft/Codegen/Fusion/Orders.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Parts of a concatenation that an op is moved into: each is a kernel's.
constexpr size_t kMaxParts = 4;

/// Says whether the op makes one tensor, each element of those of its inputs at
/// the same place.
bool isPointwise(linalg::GenericOp op) {
  if (llvm::any_of(op.getBody()->getOperations(),
                   llvm::IsaPred<tensor::ExtractOp>))
    return false;
  return op->getNumResults() == 1 && op.hasPureTensorSemantics() &&
         op.isAllParallelLoops() && !op.hasIndexSemantics() && !isJoin(op) &&
         op.getMatchingBlockArgument(op.getDpsInitOperand(0)).use_empty() &&
         cast<RankedTensorType>(op->getResult(0).getType()).hasStaticShape() &&
         llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isIdentity(); });
}

bool isUnary(linalg::GenericOp op) {
  return op && op.getNumDpsInputs() == 1 && isPointwise(op);
}

/// The op on other inputs of one shape.
Value cloneOn(OpBuilder &builder, linalg::GenericOp op, ValueRange inputs,
              ArrayRef<int64_t> shape) {
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  Value empty = tensor::EmptyOp::create(builder, op.getLoc(), shape, element);
  AffineMap map = builder.getMultiDimIdentityMap(shape.size());
  SmallVector<AffineMap> maps(inputs.size() + 1, map);
  SmallVector<utils::IteratorType> iterators(shape.size(),
                                             utils::IteratorType::parallel);
  auto made = linalg::GenericOp::create(
      builder, op.getLoc(), empty.getType(), inputs, empty, maps, iterators,
      /*bodyBuilder=*/nullptr, llvm::to_vector(op->getDiscardableAttrs()));
  IRMapping mapping;
  op.getRegion().cloneInto(&made.getRegion(), mapping);
  return made->getResult(0);
}

//===----------------------------------------------------------------------===//
// Sums of padded tensors
//===----------------------------------------------------------------------===//

/// A tensor inside of one that is a number elsewhere.
struct Padded {
  tensor::InsertSliceOp op;
  TypedAttr number;

  int64_t getOffset(unsigned dim) { return op.getStaticOffset(dim); }
  int64_t getSize(unsigned dim) { return op.getStaticSize(dim); }
};

std::optional<Padded> matchPadded(Value value) {
  auto op = value.getDefiningOp<tensor::InsertSliceOp>();
  DenseElementsAttr constant;
  if (!op || !op->hasOneUse() || !op.hasUnitStride() ||
      op.getSourceType().getRank() != op.getType().getRank() ||
      !op.getType().hasStaticShape() || !op.getSourceType().hasStaticShape() ||
      ShapedType::isDynamicShape(op.getStaticOffsets()) ||
      !matchPattern(op.getDest(), m_Constant(&constant)) || !constant.isSplat())
    return std::nullopt;
  return Padded{op, constant.getSplatValue<TypedAttr>()};
}

/// The dim along which one begins where the other ends, and together they are
/// all of it; -1 if there is none.
int findSeam(Padded &first, Padded &second) {
  int seam = -1;
  ArrayRef<int64_t> shape = first.op.getType().getShape();
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (first.getSize(dim) == size && second.getSize(dim) == size)
      continue;
    if (seam >= 0 || first.getOffset(dim) != 0 ||
        second.getOffset(dim) != first.getSize(dim) ||
        second.getOffset(dim) + second.getSize(dim) != size)
      return -1;
    seam = dim;
  }
  return seam;
}

/// Says whether the op adds its two inputs, of floats: of integers a part and 0
/// is the part, and the proof would see other parts than there were.
bool isSum(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 2 || !isPointwise(op) ||
      !llvm::hasNItems(op.getBody()->getOperations(), 2))
    return false;
  Operation &inner = op.getBody()->front();
  Block *body = op.getBody();
  return isa<arith::AddFOp>(inner) &&
         inner.getOperand(0) == body->getArgument(0) &&
         inner.getOperand(1) == body->getArgument(1) &&
         body->getTerminator()->getOperand(0) == inner.getResult(0);
}

void splitPaddedSum(linalg::GenericOp op) {
  if (!isSum(op))
    return;
  std::optional<Padded> a = matchPadded(op.getDpsInputs()[0]),
                        b = matchPadded(op.getDpsInputs()[1]);
  if (!a || !b || a->number != b->number || a->op == b->op)
    return;
  int seam = findSeam(*a, *b);
  bool isSwapped = seam < 0;
  if (isSwapped)
    seam = findSeam(*b, *a);
  if (seam < 0)
    return;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto addTo = [&](Padded &padded, bool isSecond) {
    RankedTensorType type = padded.op.getSourceType();
    Value around = arith::ConstantOp::create(
        builder, loc, SplatElementsAttr::get(type, Attribute(padded.number)));
    SmallVector<Value> inputs = {padded.op.getSource(), around};
    if (isSecond)
      std::swap(inputs[0], inputs[1]);
    return cloneOn(builder, op, inputs, type.getShape());
  };
  SmallVector<Value> parts = {addTo(*a, false), addTo(*b, true)};
  if (isSwapped)
    std::swap(parts[0], parts[1]);
  Value whole = tensor::ConcatOp::create(builder, loc, op->getResultTypes()[0],
                                         seam, parts);
  op->getResult(0).replaceAllUsesWith(whole);
  op->erase();
  for (Padded *padded : {&*a, &*b})
    padded->op->erase();
}

//===----------------------------------------------------------------------===//
// Conversions of concatenations
//===----------------------------------------------------------------------===//

unsigned getWidth(Value value) {
  Type element = getElementTypeOrSelf(value);
  return element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
}

/// What kernels compute is stored narrow at once.
void narrowParts(linalg::GenericOp op) {
  if (!isUnary(op) ||
      getWidth(op->getResult(0)) >= getWidth(op.getDpsInputs()[0]))
    return;
  auto concat = op.getDpsInputs()[0].getDefiningOp<tensor::ConcatOp>();
  if (!concat || !concat->hasOneUse() || concat->getBlock() != op->getBlock() ||
      concat.getInputs().size() > kMaxParts ||
      !llvm::all_of(concat.getInputs(), [](Value part) {
        return part.hasOneUse() && part.getDefiningOp<linalg::GenericOp>();
      }))
    return;
  OpBuilder builder(op);
  SmallVector<Value> parts;
  for (Value part : concat.getInputs())
    parts.push_back(cloneOn(builder, op, part,
                            cast<RankedTensorType>(part.getType()).getShape()));
  Value whole =
      tensor::ConcatOp::create(builder, concat.getLoc(),
                               op->getResultTypes()[0], concat.getDim(), parts);
  op->getResult(0).replaceAllUsesWith(whole);
  op->erase();
  concat->erase();
}

//===----------------------------------------------------------------------===//
// Slices and reshapes
//===----------------------------------------------------------------------===//

bool isView(Operation *op) {
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return slice.getOffsets().empty() && slice.getSizes().empty() &&
           slice.getStrides().empty() && slice.getType().hasStaticShape();
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op) &&
         cast<RankedTensorType>(op->getResult(0).getType()).hasStaticShape();
}

/// Says whether kernels alone read what the view shows, through more views or
/// not.
bool isReadByKernels(Operation *view) {
  return !view->use_empty() &&
         llvm::all_of(view->getUsers(), [&](Operation *user) {
           return user->getBlock() == view->getBlock() &&
                  (isView(user) ? isReadByKernels(user)
                                : isa<linalg::GenericOp>(user));
         });
}

/// Says whether it is done once for each element if it is done for each view.
bool isSharedOut(linalg::GenericOp op) {
  int64_t shown = 0;
  for (Operation *user : op->getUsers()) {
    if (user->getBlock() != op->getBlock() || !isView(user) ||
        !isReadByKernels(user))
      return false;
    shown +=
        cast<RankedTensorType>(user->getResult(0).getType()).getNumElements();
  }
  return shown > 0 &&
         shown <= cast<RankedTensorType>(op->getResult(0).getType())
                      .getNumElements();
}

/// Says whether the op makes narrow what a kernel computes, which can store it
/// so.
bool isStoredNarrow(linalg::GenericOp op) {
  Value source = op.getDpsInputs()[0];
  if (getWidth(op->getResult(0)) >= getWidth(source))
    return false;
  while (source.getDefiningOp() && isView(source.getDefiningOp()))
    source = source.getDefiningOp()->getOperand(0);
  return source.getDefiningOp<linalg::GenericOp>() != nullptr;
}

/// Gives each view of what the op makes an op of its own, on a view of what it
/// reads. Adds these to `moved`.
void sinkBelowViews(linalg::GenericOp op,
                    SmallVectorImpl<linalg::GenericOp> &moved) {
  if (!isUnary(op) || isStoredNarrow(op) || !isSharedOut(op))
    return;
  Value source = op.getDpsInputs()[0];
  Type element = getElementTypeOrSelf(source.getType());
  for (Operation *view : llvm::make_early_inc_range(op->getUsers())) {
    OpBuilder builder(view);
    auto type = cast<RankedTensorType>(view->getResult(0).getType());
    Operation *shown = builder.clone(*view);
    shown->setOperand(0, source);
    shown->getResult(0).setType(type.clone(element));
    Value made = cloneOn(builder, op, shown->getResult(0), type.getShape());
    view->getResult(0).replaceAllUsesWith(made);
    view->erase();
    moved.push_back(made.getDefiningOp<linalg::GenericOp>());
  }
  op->erase();
}

SmallVector<linalg::GenericOp> getOps(func::FuncOp func) {
  SmallVector<linalg::GenericOp> ops;
  forEachOp<linalg::GenericOp>(
      func, [&](linalg::GenericOp op) { ops.push_back(op); });
  return ops;
}

} // namespace

void mlir::weft::computeByParts(func::FuncOp func) {
  for (linalg::GenericOp op : getOps(func))
    splitPaddedSum(op);
  for (linalg::GenericOp op : getOps(func))
    narrowParts(op);
  SmallVector<linalg::GenericOp> pending = getOps(func);
  while (!pending.empty())
    sinkBelowViews(pending.pop_back_val(), pending);
}
