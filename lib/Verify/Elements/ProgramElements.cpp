// SPDX-License-Identifier: Apache-2.0

// The function, scalars, collectives, and what is not known.

#include "ProgramElements.h"

#include "weft/Analysis/Traffic.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

void ProgramElements::set(Operation *op, Value value, const Element *element) {
  // A tensor without elements is like any other.
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (type && type.hasStaticShape() && type.getNumElements() == 0)
    element = table.getUndefined(type.getElementType());
  else if (type && element)
    element = table.nameIfLarge(element);
  values[value] = element;
  made.push_back({element, op});
}

Operation *ProgramElements::getOrigin(const Element *element) const {
  if (origins.empty())
    for (auto [element, op] : made) {
      origins.try_emplace(element, op);
      if (element->kind == ElementKind::Read)
        origins.try_emplace(element->operands[0], op);
    }
  return origins.lookup(element);
}

ProgramElements::Elements ProgramElements::getIndices(ArrayRef<int64_t> shape) {
  Elements indices;
  for (auto [i, size] : llvm::enumerate(shape))
    indices.push_back(table.getVariable(i, size));
  return indices;
}

const Element *ProgramElements::readAt(const Element *element,
                                       ArrayRef<int64_t> shape,
                                       ArrayRef<const Element *> indices) {
  Assignment at;
  for (auto [i, size] : llvm::enumerate(shape))
    if (size != 1)
      at.push_back({table.getVariable(i, size), indices[i]});
  return table.substitute(element, at);
}

const Element *ProgramElements::readTensor(Value tensor,
                                           ArrayRef<const Element *> indices) {
  return readAt(get(tensor),
                cast<RankedTensorType>(tensor.getType()).getShape(), indices);
}

const Element *ProgramElements::getIndexOf(OpFoldResult value) {
  if (std::optional<int64_t> number = getConstantIntValue(value))
    return table.getIndex(*number);
  return get(cast<Value>(value));
}

const Element *ProgramElements::getOffset(Operation *op, OpFoldResult value,
                                          int64_t span, int64_t size) {
  if (isGlobal() && span >= size)
    return table.getIndex(0);
  const Element *offset = getIndexOf(value);
  if (isGlobal())
    return clamp(offset, size - span);
  if (!getConstantIntValue(value))
    places.push_back({op, offset, size - span});
  return offset;
}

/// All attributes that say what an op computes.
DictionaryAttr ProgramElements::getDetails(Operation *op,
                                           ArrayRef<StringRef> without) {
  DictionaryAttr all = attributes.get(op);
  auto isLeftOut = [&](NamedAttribute attr) {
    return attr.getName() == WeftDialect::kOpNameAttr ||
           (table.isOfReals() && attr.getName() == WeftDialect::kOrderAttr) ||
           llvm::is_contained(without, attr.getName().strref());
  };
  if (llvm::none_of(all, isLeftOut))
    return all;
  SmallVector<NamedAttribute> attrs(all.getValue());
  llvm::erase_if(attrs, isLeftOut);
  return DictionaryAttr::get(op->getContext(), attrs);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

static bool isFollowed(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.hasStaticShape();
  return type.isIntOrIndexOrFloat() || isa<FutureType>(type);
}

/// An argument of the function, or of a region that stands for itself.
LogicalResult ProgramElements::liftArguments() {
  for (BlockArgument arg : func.getArguments()) {
    if (!isFollowed(arg.getType()))
      return func.emitOpError("argument #")
             << arg.getArgNumber() << " has type " << arg.getType()
             << ", which cannot be followed";
    Element argument{ElementKind::Argument};
    argument.type = getElementTypeOrSelf(arg.getType());
    argument.numbers = {0, arg.getArgNumber()};
    Elements indices;
    if (auto type = dyn_cast<RankedTensorType>(arg.getType())) {
      argument.shape.assign(type.getShape().begin(), type.getShape().end());
      indices = getIndices(type.getShape());
    }
    set(func, arg, table.getRead(table.get(std::move(argument)), indices));
  }
  return success();
}

LogicalResult ProgramElements::liftBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (table.isFull() || failed(liftOp(&op)))
      return failure();
  return success();
}

/// An op is a function of its operands, and of what its regions read.
void ProgramElements::liftAlike(Operation *op, unsigned function) {
  Element made{ElementKind::Alike};
  for (Value operand : op->getOperands())
    made.operands.push_back(get(operand));
  for (Value value : alike->getCaptured(op))
    made.operands.push_back(get(value));
  for (OpResult result : op->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    Element one = made;
    one.type = type.getElementType();
    one.numbers = {function, result.getResultNumber()};
    one.shape.assign(type.getShape().begin(), type.getShape().end());
    set(op, result,
        table.getRead(table.get(std::move(one)), getIndices(type.getShape())));
  }
}

LogicalResult ProgramElements::liftBody(Block &body) {
  if (!alike)
    return liftBlock(body);
  for (auto [op, function] :
       llvm::zip_equal(body.without_terminator(), alike->getFunctions(func))) {
    if (function != AlikeOps::kNone)
      liftAlike(&op, function);
    else if (failed(liftOp(&op)))
      return failure();
    if (table.isFull())
      return failure();
  }
  return success();
}

LogicalResult ProgramElements::run() {
  if (!llvm::hasSingleElement(func.getBody()))
    return func.emitOpError("has ")
           << func.getBody().getBlocks().size() << " blocks, expected one";
  Block &body = func.getBody().front();
  size_t numOps = body.getOperations().size();
  values.reserve(2 * numOps);
  made.reserve(numOps);
  if (failed(liftArguments()) || failed(liftBody(body)))
    return failure();
  for (Value result : body.getTerminator()->getOperands())
    results.push_back(getOperand(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult ProgramElements::liftConstant(Operation *op, Attribute value) {
  Value result = op->getResult(0);
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!type) {
    set(op, result, table.getConstant(cast<TypedAttr>(value)));
    return success();
  }
  if (auto splat = dyn_cast<SplatElementsAttr>(value)) {
    set(op, result,
        table.getConstant(cast<TypedAttr>(splat.getSplatValue<Attribute>())));
    return success();
  }
  // Reshapes of constants are constants.
  const Element *at = table.getIndex(0);
  for (auto [index, size] :
       llvm::zip(getIndices(type.getShape()), type.getShape()))
    at = table.add(table.scale(at, size), index);
  Element data{ElementKind::Data};
  data.type = type.getElementType();
  data.shape = {type.getNumElements()};
  data.details = value;
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    data.details = dense.reshape(type.clone(ArrayRef(type.getNumElements())));
  set(op, result, table.getRead(table.get(std::move(data)), at));
  return success();
}

/// The lower half is the plain sum or product, into which upstream turns the
/// op where nobody reads the upper one.
void ProgramElements::liftExtended(Operation *op, const Elements &operands,
                                   DictionaryAttr details) {
  OpResult lower = op->getResult(0), upper = op->getResult(1);
  Type type = getElementTypeOrSelf(lower.getType());
  bool isSum = isa<arith::AddUIExtendedOp>(op);
  set(op, lower, compute(isSum ? "arith.addi" : "arith.muli", type, operands));
  set(op, upper,
      table.getScalar(op->getName().getIdentifier(), details,
                      getElementTypeOrSelf(upper.getType()), operands, 1));
}

/// An op on scalars, or the same on tensors, element by element.
LogicalResult ProgramElements::liftScalar(Operation *op) {
  Elements operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand));
  DictionaryAttr details = getDetails(op, {WeftDialect::kOrderAttr});
  if (auto both = dyn_cast<math::SincosOp>(op)) {
    Type type = getElementTypeOrSelf(both.getOperand());
    set(op, both.getSin(), compute("math.sin", type, operands));
    set(op, both.getCos(), compute("math.cos", type, operands));
    return success();
  }
  if (isa<arith::AddUIExtendedOp, arith::MulSIExtendedOp,
          arith::MulUIExtendedOp>(op)) {
    liftExtended(op, operands, details);
    return success();
  }
  for (OpResult result : op->getResults())
    set(op, result,
        table.getScalar(op->getName().getIdentifier(), details,
                        getElementTypeOrSelf(result.getType()), operands,
                        result.getResultNumber()));
  return success();
}

LogicalResult ProgramElements::liftFused(rt::FusedOp op) {
  Block &body = op.getBody().front();
  SmallVector<Value> taken(op.getInputs());
  llvm::append_range(taken, op.getScalars());
  for (auto [input, argument] : llvm::zip(taken, body.getArguments()))
    values[argument] = get(input);
  if (failed(liftBlock(body)))
    return failure();
  for (auto [result, yielded] :
       llvm::zip(op.getResults(), body.getTerminator()->getOperands()))
    set(op, result, get(yielded));
  return success();
}

namespace {

/// The dims along which a collective moves an operand; -1: none.
struct MovedDims {
  int64_t first = -1, second = -1;
};

} // namespace

static MovedDims getMovedDims(Operation *op, unsigned index) {
  return llvm::TypeSwitch<Operation *, MovedDims>(op)
      .Case([&](AllGatherOp op) { return MovedDims{op.getDims()[index], -1}; })
      .Case([&](ReduceScatterOp op) {
        return MovedDims{op.getDims()[index], -1};
      })
      .Case([&](AllToAllOp op) {
        return MovedDims{op.getSplitDims()[index], op.getConcatDims()[index]};
      })
      .Default([](Operation *) { return MovedDims(); });
}

/// Whether each rank gets what it has itself: a copy within the rank, or to the
/// host's memory and back.
static bool isCopy(Operation *op) {
  auto permute = dyn_cast<PermuteOp>(op);
  return permute && cast<CollectiveOpInterface>(op).getGroupSize() == 1 &&
         llvm::equal(permute.getSources(), ArrayRef<int64_t>({0}));
}

/// A collective is a function of its operand, of which other ranks have theirs.
/// Along dims that it does not move anything it works on each index by itself.
LogicalResult ProgramElements::liftCollective(Operation *op) {
  if (isCopy(op)) {
    for (auto [input, result] : llvm::zip(op->getOperands(), op->getResults()))
      set(op, result, get(input));
    return success();
  }
  DictionaryAttr details =
      getDetails(op, {"channel", "dims", "split_dims", "concat_dims"});
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    Type resultType = op->getResult(i).getType();
    if (auto future = dyn_cast<FutureType>(resultType))
      resultType = future.getTensor();
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(operand.getType()).getShape();
    ArrayRef<int64_t> resultShape =
        cast<RankedTensorType>(resultType).getShape();
    Element made{ElementKind::Collective, op->getName().getIdentifier(),
                 details, getElementTypeOrSelf(resultType)};
    made.operands = {get(operand)};
    // What moves is bound; its index in the result is the function's.
    Elements bound, more;
    MovedDims moved = getMovedDims(op, i);
    for (int64_t dim : {moved.first, moved.second}) {
      if (dim < 0)
        continue;
      made.numbers.append({shape[dim], resultShape[dim]});
      if (dim == moved.second && dim == moved.first)
        continue;
      const Element *variable = table.getVariable(dim, shape[dim]);
      made.numbers.push_back(variable->kind == ElementKind::Variable);
      if (variable->kind == ElementKind::Variable)
        bound.push_back(variable);
      made.shape.push_back(resultShape[dim]);
      more.push_back(table.getVariable(dim, resultShape[dim]));
    }
    set(op, op->getResult(i), table.apply(std::move(made), bound, more));
  }
  return success();
}

/// What a value is as an operand of an op that is not known.
const Element *ProgramElements::getOperand(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  const Element *element = get(value);
  return type && element ? table.getTensor(element, type.getShape()) : element;
}

/// The loops of a structured op that is followed as one that is not known.
ProgramElements::Elements ProgramElements::getUnknownLoops(unsigned count) {
  Elements loops;
  for (unsigned loop = 0; loop < count; ++loop) {
    Element index{ElementKind::Argument};
    index.type = IndexType::get(table.getContext());
    index.numbers = {depth + 1, -1, loop};
    loops.push_back(table.getRead(table.get(std::move(index)), {}));
  }
  return loops;
}

/// Follows a region whose arguments stand for themselves.
LogicalResult ProgramElements::liftRegion(Region &region, Element &other) {
  other.numbers.push_back(region.empty() ? -1
                                         : region.front().getNumArguments());
  if (region.empty())
    return success();
  if (!llvm::hasSingleElement(region))
    return region.getParentOp()->emitOpError(
        "has branches, which cannot be followed");
  Block &block = region.front();
  ++depth;
  for (BlockArgument arg : block.getArguments()) {
    if (!isFollowed(arg.getType()))
      return region.getParentOp()->emitOpError("carries a value of type ")
             << arg.getType() << ", which cannot be followed";
    Element carried{ElementKind::Argument};
    carried.type = getElementTypeOrSelf(arg.getType());
    carried.numbers = {depth, region.getRegionNumber(), arg.getArgNumber()};
    Elements indices;
    if (auto type = dyn_cast<RankedTensorType>(arg.getType())) {
      carried.shape.assign(type.getShape().begin(), type.getShape().end());
      indices = getIndices(type.getShape());
    }
    values[arg] = table.getRead(table.get(std::move(carried)), indices);
  }
  if (failed(liftBlock(block)))
    return failure();
  --depth;
  Operation *end = block.getTerminator();
  other.numbers.push_back(end->getNumOperands());
  for (Value operand : end->getOperands())
    other.operands.push_back(getOperand(operand));
  return success();
}

LogicalResult ProgramElements::liftOther(Operation *op) {
  Element other{ElementKind::Other, op->getName().getIdentifier(),
                getDetails(op)};
  other.numbers = {0, depth};
  for (Value operand : op->getOperands())
    other.operands.push_back(getOperand(operand));
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    around.push_back(getUnknownLoops(structured.getNumLoops()));
  for (Region &region : op->getRegions())
    if (failed(liftRegion(region, other)))
      return failure();
  if (isa<linalg::LinalgOp>(op))
    around.pop_back();
  for (OpResult result : op->getResults()) {
    Element one = other;
    Type type = getElementTypeOrSelf(result.getType());
    // The sums of attention's gradient are f32, and rounded once.
    bool isRounded = isa<AttentionGradOp>(op);
    one.type = isRounded ? Float32Type::get(op->getContext()) : type;
    one.numbers[0] = result.getResultNumber();
    Elements indices;
    if (auto type = dyn_cast<RankedTensorType>(result.getType())) {
      one.shape.assign(type.getShape().begin(), type.getShape().end());
      indices = getIndices(type.getShape());
    }
    const Element *made = table.apply(std::move(one), {}, indices);
    set(op, result, isRounded ? convert(made, type) : made);
  }
  return success();
}

/// Whether it is an op on scalars of `arith` or `math`, as most are.
static bool isScalarMath(Operation *op) {
  return isa_and_present<arith::ArithDialect, math::MathDialect>(
             op->getDialect()) &&
         llvm::none_of(op->getOperandTypes(), llvm::IsaPred<ShapedType>) &&
         llvm::none_of(op->getResultTypes(), llvm::IsaPred<ShapedType>);
}

LogicalResult ProgramElements::liftOp(Operation *op) {
  for (Type type : op->getResultTypes())
    if (!isFollowed(type))
      return op->emitOpError("makes a value of type ")
             << type << ", which cannot be followed";
  Attribute constant;
  if (matchPattern(op, m_Constant(&constant)) && isa<TypedAttr>(constant))
    return liftConstant(op, constant);
  if (isScalarMath(op))
    return liftScalar(op);
  if (getCollectiveKind(op))
    return liftCollective(op);
  if (isGlobal()) {
    if (auto call = dyn_cast<func::CallOp>(op))
      return liftCall(call);
    if (auto choice = dyn_cast<scf::IfOp>(op))
      return liftIf(choice);
    if (auto region = dyn_cast<scf::ExecuteRegionOp>(op);
        region && llvm::hasSingleElement(region.getRegion()))
      return liftHere(region);
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && countPasses(loop))
      return liftFor(loop);
    if (isa<scf::ForOp, scf::WhileOp>(op))
      return liftLoop(op);
    if (auto shard = dyn_cast<ShardOp>(op))
      return set(op, shard.getResult(), get(shard.getInput())), success();
  }
  if (liftMovement(op))
    return success();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](WaitOp op) {
        for (auto [future, result] :
             llvm::zip(op.getFutures(), op.getOutputs()))
          set(op, result, get(future));
        return success();
      })
      .Case([&](OptimizationBarrierOp op) {
        for (auto [input, result] : llvm::zip(op.getInputs(), op.getResults()))
          set(op, result, get(input));
        return success();
      })
      .Case([&](rt::FusedOp op) { return liftFused(op); })
      .Case([&](MatmulOp op) {
        return op.getScales().empty() ? liftMatmul(op) : liftOther(op);
      })
      .Case([&](TakeOp op) { return liftTake(op); })
      .Case([&](ScatterAddOp op) { return liftScatterAdd(op); })
      .Case([&](linalg::LinalgOp op) { return liftLinalg(op); })
      .Default([&](Operation *op) {
        bool isScalar =
            op->getNumRegions() == 0 && op->getNumResults() > 0 &&
            llvm::none_of(op->getOperandTypes(), llvm::IsaPred<ShapedType>) &&
            llvm::none_of(op->getResultTypes(), llvm::IsaPred<ShapedType>);
        if (isScalar || OpTrait::hasElementwiseMappableTraits(op))
          return liftScalar(op);
        return liftOther(op);
      });
}
