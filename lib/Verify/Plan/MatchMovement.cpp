// SPDX-License-Identifier: Apache-2.0

// Slices and reshapes are parts of what they are made of. A reshape that has no
// strides in the value is a value of its own, which comes to be where the plan
// copies what it is made of.

#include "Layouts.h"
#include "PlanMatcher.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

//===----------------------------------------------------------------------===//
// Parts of values
//===----------------------------------------------------------------------===//

LogicalResult PlanMatcher::addSlice(tensor::ExtractSliceOp op) {
  const Elements source = get(op.getSource());
  Elements slice;
  slice.value = source.value;
  slice.begin = source.begin;
  slice.shifts = source.shifts;
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (auto [dim, offset] : llvm::enumerate(op.getMixedOffsets())) {
    int64_t size = op.getStaticSize(dim), step = op.getStaticStride(dim);
    int64_t stride = source.strides[dim];
    if (!dropped.test(dim))
      slice.strides.push_back(stride * step);
    if (std::optional<int64_t> constant = getConstantIntValue(offset)) {
      slice.begin += *constant * stride;
      continue;
    }
    std::optional<unsigned> scalar = scalars.find(cast<Value>(offset));
    int64_t range = op.getSourceType().getDimSize(dim) - (size - 1) * step;
    if (!scalar || size == 0)
      return op.emitOpError("of the scheduled program is none that the proof "
                            "of planning knows");
    slice.shifts.push_back({*scalar, range, stride});
  }
  if (!slice.shifts.empty())
    shifted.push_back({slice, op.getType()});
  elementsOf[op.getResult()] = std::move(slice);
  return success();
}

void PlanMatcher::addExpanded(tensor::ExpandShapeOp op) {
  Elements expanded = get(op.getSrc());
  SmallVector<int64_t> strides = llvm::to_vector(expanded.strides);
  ArrayRef<int64_t> shape = op.getResultType().getShape();
  expanded.strides.assign(shape.size(), 1);
  // Dims that no dim of the source becomes have size 1.
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    int64_t stride = strides[dim];
    for (int64_t i : llvm::reverse(group)) {
      expanded.strides[i] = stride;
      stride *= shape[i];
    }
  }
  if (!expanded.shifts.empty())
    shifted.push_back({expanded, op.getResultType()});
  elementsOf[op.getResult()] = std::move(expanded);
}

/// Strides of the source's dims taken together; nullopt if there is none.
static std::optional<int64_t> collapse(const Elements &source,
                                       ArrayRef<int64_t> shape,
                                       ArrayRef<int64_t> group) {
  std::optional<int64_t> inner;
  int64_t next = 0;
  for (int64_t i : llvm::reverse(group)) {
    if (shape[i] == 1)
      continue;
    if (inner && source.strides[i] != next)
      return std::nullopt;
    if (!inner)
      inner = source.strides[i];
    next = source.strides[i] * shape[i];
  }
  return inner.value_or(1);
}

LogicalResult PlanMatcher::addCollapsed(tensor::CollapseShapeOp op) {
  const Elements source = get(op.getSrc());
  ArrayRef<int64_t> shape = op.getSrcType().getShape();
  Elements collapsed;
  collapsed.value = source.value;
  collapsed.begin = source.begin;
  collapsed.shifts = source.shifts;
  for (const ReassociationIndices &group : op.getReassociationIndices()) {
    std::optional<int64_t> stride = collapse(source, shape, group);
    if (!stride) {
      unsigned base = addBase(op.getSrcType(), op);
      bases[base].isUndefined = bases[source.value].isUndefined;
      aliases[source.value].push_back({source, op.getSrcType(), base});
      elementsOf[op.getResult()] = getWhole(base, op.getResultType());
      return success();
    }
    collapsed.strides.push_back(*stride);
  }
  if (!collapsed.shifts.empty())
    shifted.push_back({collapsed, op.getResultType()});
  elementsOf[op.getResult()] = std::move(collapsed);
  return success();
}

//===----------------------------------------------------------------------===//
// What is put together
//===----------------------------------------------------------------------===//

LogicalResult PlanMatcher::matchConcat(tensor::ConcatOp op) {
  FailureOr<rt::AssembleOp> planned = expect<rt::AssembleOp>(op);
  if (failed(planned) ||
      failed(checkBuffer(*planned, planned->getBuffer(), op.getResultType())))
    return failure();
  unsigned base = addBase(op.getResultType(), op);
  define(op.getResult(), base);
  Spot whole = getSpot(planned->getBuffer()), part = whole;
  Elements into = get(op.getResult());
  int64_t dim = op.getDim();
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    ArrayRef<int64_t> shape = getType(input).getShape();
    part.sizes.assign(shape.begin(), shape.end());
    setBytes(part);
    if (failed(checkThere(*planned, "the concatenation needs", part, input)) ||
        (i < planned->getFrom().size() &&
         failed(checkInto(*planned, i, into, getType(input)))))
      return failure();
    part.begin += shape[dim] * whole.strides[dim];
    into.begin += shape[dim] * into.strides[dim];
  }
  if (failed(checkFrom(*planned, op.getInputs())) ||
      failed(checkNumber(*planned, planned->getValue(), base)))
    return failure();
  contents.name(whole, get(op.getResult()), *planned);
  return success();
}

/// The elements of a whole that an insertion sets.
Elements PlanMatcher::getInserted(tensor::InsertSliceOp op) {
  Elements whole = get(op.getResult()), into;
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (auto [dim, offset] : llvm::enumerate(op.getMixedOffsets())) {
    if (!dropped.test(dim))
      into.strides.push_back(whole.strides[dim] * op.getStaticStride(dim));
    if (std::optional<int64_t> constant = getConstantIntValue(offset))
      into.begin += *constant * whole.strides[dim];
    else
      into.shifts.push_back({});
  }
  return into;
}

/// The part of a buffer that an insertion sets.
Spot PlanMatcher::getPart(const Spot &whole, tensor::InsertSliceOp op) {
  Spot part = whole;
  part.sizes.clear();
  part.strides.clear();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (auto [dim, offset] : llvm::enumerate(op.getMixedOffsets())) {
    int64_t stride = whole.strides[dim];
    if (!dropped.test(dim)) {
      part.sizes.push_back(op.getStaticSize(dim));
      part.strides.push_back(stride * op.getStaticStride(dim));
    }
    if (std::optional<int64_t> constant = getConstantIntValue(offset))
      part.begin += *constant * stride;
    else
      part.shift.add(scalars.getForm(*scalars.find(cast<Value>(offset))),
                     stride);
  }
  setBytes(part);
  return part;
}

LogicalResult PlanMatcher::matchInsertSlice(tensor::InsertSliceOp op) {
  FailureOr<rt::AssembleOp> planned = expect<rt::AssembleOp>(op);
  if (failed(planned) ||
      failed(checkBuffer(*planned, planned->getBuffer(), op.getType())))
    return failure();
  Spot whole = getSpot(planned->getBuffer()), part = getPart(whole, op);
  SmallVector<Placed, 1> inserted;
  if (!isUnneeded(op.getSource()))
    inserted.push_back({get(op.getSource()), part});
  // What is inserted over all of a tensor leaves nothing of it.
  bool coversAll = op.getStaticSizes() == op.getType().getShape();
  if (failed(
          checkThere(*planned, "the insertion needs", part, op.getSource())) ||
      (!coversAll && failed(checkThere(*planned, "the insertion needs", whole,
                                       op.getDest(), inserted))))
    return failure();
  unsigned base = addBase(op.getType(), op);
  define(op.getResult(), base);
  if (failed(checkFrom(*planned, {op.getDest(), op.getSource()})) ||
      failed(checkInto(*planned, 0, get(op.getResult()), op.getType())) ||
      failed(checkInto(*planned, 1, getInserted(op), op.getSourceType())) ||
      failed(checkNumber(*planned, planned->getValue(), base)))
    return failure();
  contents.name(whole, get(op.getResult()), *planned);
  return success();
}

//===----------------------------------------------------------------------===//
// Copies of the plan
//===----------------------------------------------------------------------===//

/// Says whether a kernel gives its only input as it is.
static bool isCopy(rt::FusedOp op) {
  Block &block = op.getBody().front();
  SmallVector<linalg::GenericOp> ops(block.getOps<linalg::GenericOp>());
  if (ops.size() != 1 || op.getInputs().size() != 1 ||
      op.getOuts().size() != 1 || ops[0].getNumDpsInputs() != 1 ||
      ops[0].getNumDpsInits() != 1 ||
      ops[0].getDpsInputOperand(0)->get() != block.getArgument(0))
    return false;
  auto yield = cast<linalg::YieldOp>(ops[0].getBody()->getTerminator());
  return llvm::all_of(ops[0].getIndexingMapsArray(),
                      [](AffineMap map) { return map.isIdentity(); }) &&
         yield.getOperand(0) == ops[0].getBody()->getArgument(0);
}

/// Says whether an op of the plan is a copy that the scheduled program does not
/// have: one that is not called as `op`, the next of that program.
bool PlanMatcher::isMove(Operation *planned, Operation *op) {
  if (auto copy = dyn_cast<rt::CopyOp>(planned))
    return !copy.getSource().getDefiningOp<memref::GetGlobalOp>();
  auto fused = dyn_cast<rt::FusedOp>(planned);
  if (!fused || !isCopy(fused))
    return false;
  return !isa<rt::FusedOp>(op) ||
         op->getAttr(WeftDialect::kOpNameAttr) !=
             planned->getAttr(WeftDialect::kOpNameAttr);
}

/// Says whether two tensors of one shape have the same elements of a value.
static bool isSame(const Elements &a, const Elements &b,
                   ArrayRef<int64_t> shape) {
  if (a.value != b.value || a.begin != b.begin || a.shifts != b.shifts)
    return false;
  for (auto [size, x, y] : llvm::zip(shape, a.strides, b.strides))
    if (size != 1 && x != y)
      return false;
  return true;
}

/// A copy says which part of which value it copies. What a loop carries has
/// other numbers in each pass: there only what lies there counts, which goes
/// with the copy. Another number is that of a value of its own that the copy
/// makes.
LogicalResult PlanMatcher::checkMoved(Operation *planned,
                                      ArrayRef<Elements> held) {
  ArrayRef<int64_t> ids = getIds(planned, rt::WeftRTDialect::kValuesAttr);
  if (held.empty() || ids.size() != 2)
    return success();
  ArrayRef<int64_t> sizes =
      cast<MemRefType>(planned->getOperand(0).getType()).getShape();
  rt::PartAttr part = proof::getPart(planned, rt::WeftRTDialect::kPartsAttr, 0);
  auto isCopied = [&](const Elements &elements) {
    auto it = baseOf.find(ids[0]);
    return it != baseOf.end() && it->second == elements.value;
  };
  bool isInLoop = isa<scf::ForOp>(planned->getParentOp());
  bool isNamed = isInLoop || llvm::any_of(held, isCopied);
  bool isSaid = isInLoop || llvm::any_of(held, [&](const Elements &elements) {
                  return isCopied(elements) && isPart(part, elements, sizes);
                });
  if (isNamed && !isSaid)
    return planned->emitError()
           << getOpName(planned) << " copies another part of value number "
           << ids[0] << " than it says";
  const Elements *made = &held.front();
  if (ids[0] != ids[1])
    made = llvm::find_if(held, [&](const Elements &elements) {
      auto number = idOf.find(elements.value);
      return isa_and_nonnull<tensor::CollapseShapeOp>(
                 bases[elements.value].op) &&
             (number == idOf.end() ? !baseOf.count(ids[1])
                                   : number->second == ids[1]);
    });
  if (isNamed && ids[0] != ids[1] && made != held.end())
    return checkNumber(planned, ids[1], made->value);
  if (isNamed && ids[0] == ids[1])
    return success();
  return planned->emitError()
         << getOpName(planned) << " copies value number " << ids[0]
         << " to value number " << ids[1] << ", but " << describe(held[0].value)
         << " lies there";
}

/// Copies all that is known of the source.
LogicalResult PlanMatcher::move(Operation *planned) {
  Value from = planned->getOperand(0), to = planned->getOperand(1);
  auto type = cast<MemRefType>(from.getType());
  auto tensor = RankedTensorType::get(type.getShape(), type.getElementType());
  if (failed(checkBuffer(planned, from, tensor)) ||
      failed(checkBuffer(planned, to, tensor)))
    return failure();
  Spot source = getSpot(from), target = getSpot(to);
  SmallVector<Elements> held = contents.getAll(source);
  if (source.isDynamic())
    for (auto &[elements, shape] : shifted)
      if (shape == tensor && !contents.find({elements, source}))
        held.push_back(elements);
  for (unsigned i = 0, e = held.size(); i < e; ++i)
    for (const Alias &alias : aliases.lookup(held[i].value))
      if (alias.type == tensor &&
          isSame(alias.elements, held[i], type.getShape()))
        held.push_back(getWhole(alias.base, tensor));
  if (failed(checkMoved(planned, held)))
    return failure();
  contents.write(target, held.empty() ? nullptr : &held[0], planned);
  for (unsigned i = 1; i < held.size(); ++i)
    contents.name(target, held[i], planned);
  return success();
}
