// SPDX-License-Identifier: Apache-2.0

// Values pass between members in registers, and stores come last, so that a
// buffer may be updated in place.

#include "weft/Codegen/Kernels/PointEmitter.h"

#include "weft/Codegen/Fusion/Orders.h"
#include "weft/Codegen/Program/EmitMemory.h"
#include "weft/Dialect/Weft/IR/Formulas.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

Type getElementType(Value value) { return getElementTypeOrSelf(value); }

/// Says whether an index in a body is known to be from 0 to below `size`: it is
/// a loop's, a constant, or chosen by a comparison with the size.
bool isBelow(Value index, int64_t size) {
  APInt number;
  if (matchPattern(index, m_ConstantInt(&number)))
    return number.ult(size);
  if (auto loop = index.getDefiningOp<linalg::IndexOp>())
    return loop->getParentOfType<linalg::GenericOp>()
               .getStaticLoopRanges()[loop.getDim()] <= size;
  auto select = index.getDefiningOp<arith::SelectOp>();
  auto compare =
      select ? select.getCondition().getDefiningOp<arith::CmpIOp>() : nullptr;
  return compare && compare.getPredicate() == arith::CmpIPredicate::ult &&
         compare.getLhs() == select.getTrueValue() &&
         matchPattern(compare.getRhs(), m_ConstantInt(&number)) &&
         number.ule(size) && isBelow(select.getFalseValue(), size);
}

} // namespace

Value PointEmitter::getPointer(Value tensor) {
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return arguments.buffers[bufferOf[argument.getArgNumber()]];
  auto yield = cast<rt::YieldOp>(op.getBody().front().getTerminator());
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (value == tensor)
      return arguments.buffers[bufferOf[op.getInputs().size() + i]];
  return scratch.lookup(tensor);
}

Value PointEmitter::emitIndex(const Access &access) {
  Value sum = emitInt(builder, loc, access.offset);
  for (auto [dim, stride] : llvm::enumerate(access.strides)) {
    if (stride == 0 || !index[dim])
      continue;
    Value term = index[dim];
    if (stride != 1)
      term = arith::MulIOp::create(builder, loc, term,
                                   emitInt(builder, loc, stride));
    sum = arith::AddIOp::create(builder, loc, sum, term);
  }
  return sum;
}

/// Where the loop of a dim is that may be cut.
Value PointEmitter::emitLoopIndex(int dim) {
  Value loop = index[dim];
  for (int part : shape.innerParts.lookup(dim)) {
    Value outer = arith::MulIOp::create(
        builder, loc, loop, emitInt(builder, loc, shape.sizes[part]));
    loop = arith::AddIOp::create(builder, loc, outer, index[part]);
  }
  return loop;
}

Value PointEmitter::emitScratchIndex(Value value) {
  Access access;
  access.strides.assign(shape.sizes.size(), 0);
  uint64_t inner = shape.valueDims.lookup(value) & ~shape.rowMask();
  const Member &from = shape.members[shape.findProducer(value)];
  int64_t stride = 1;
  for (int dim : llvm::reverse(shape.phases[from.phase].loops)) {
    if (!(inner >> dim & 1))
      continue;
    access.strides[dim] = stride;
    stride *= shape.sizes[dim];
  }
  return emitIndex(access);
}

bool PointEmitter::isCarried(Value value) {
  int from = shape.findProducer(value);
  return from >= 0 && shape.members[from].isReduction() &&
         shape.isRowScalar(value);
}

bool PointEmitter::needsScratch(Value value) {
  if (shape.isRowScalar(value))
    return false;
  bool isYielded = false, isReadLater = false;
  const Member &from = shape.members[shape.findProducer(value)];
  for (Operation *user : value.getUsers()) {
    isYielded |= isa<rt::YieldOp>(user);
    for (const Member &member : shape.members)
      if (member.op == user)
        isReadLater |= !shape.isForwarded(value, member);
  }
  return !isYielded && (isReadLater || from.isReduction());
}

void PointEmitter::mapEntryOps() {
  ArrayRef<BlockArgument> given = op.getBody().getArguments();
  scalars.map(given.drop_front(op.getInputs().size()), arguments.scalars);
  for (Operation &inner : op.getBody().front().without_terminator()) {
    if (isa<linalg::GenericOp, linalg::FillOp, tensor::EmptyOp>(inner))
      continue;
    if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
      Type type = extract.getType();
      scalars.map(
          extract.getResult(),
          emitLoad(builder, loc, type,
                   emitAddress(builder, loc, getPointer(extract.getTensor()),
                               type, emitInt(builder, loc, 0))));
      continue;
    }
    builder.clone(inner, scalars);
  }
}

/// Loads what a body looks up in a tensor from outside of the group. `source`
/// is the op in the body of which `extract` is a copy.
Value PointEmitter::emitLookup(tensor::ExtractOp extract,
                               tensor::ExtractOp source,
                               const IRMapping &mapping) {
  auto argument = cast<BlockArgument>(extract.getTensor());
  auto buffer =
      cast<MemRefType>(op.getInputs()[argument.getArgNumber()].getType());
  SmallVector<Value> subscripts, checked;
  for (auto [i, subscript] : llvm::enumerate(extract.getIndices())) {
    subscripts.push_back(
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                   mapping.lookupOrDefault(subscript)));
    bool isSafe = isBelow(source.getIndices()[i], buffer.getDimSize(i));
    checked.push_back(isSafe ? Value() : subscripts.back());
  }
  return emitElement(builder, loc, buffer, getPointer(argument), subscripts,
                     checked, [&](Value address) {
                       return emitLoad(builder, loc, buffer.getElementType(),
                                       address);
                     });
}

Value PointEmitter::emitInit(const Member &member, OpResult result) {
  linalg::GenericOp generic = member.op;
  Value init = generic.getDpsInits()[result.getResultNumber()];
  Type element = getElementType(init);
  if (auto fill = init.getDefiningOp<linalg::FillOp>())
    return scalars.lookupOrDefault(fill.getInputs()[0]);
  if (isa<BlockArgument>(init))
    return emitLoad(
        builder, loc, element,
        emitAddress(builder, loc, getPointer(init), element,
                    emitIndex(member.initAccesses[result.getResultNumber()])));
  // Undefined: any value will do.
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
}

Value PointEmitter::emitOperand(const Member &member, OpOperand &operand) {
  Value value = operand.get();
  if (!isa<RankedTensorType>(value.getType()))
    return scalars.lookupOrDefault(value);
  if (shape.isForwarded(value, member) ||
      (shape.findProducer(value) >= 0 && shape.isRowScalar(value)))
    return scalars.lookup(value);
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    return scalars.lookupOrDefault(fill.getInputs()[0]);
  Type element = getElementType(value);
  // Undefined, as the shape of a window is: any value will do.
  if (value.getDefiningOp<tensor::EmptyOp>())
    return arith::ConstantOp::create(builder, loc,
                                     builder.getZeroAttr(element));
  Value place;
  int from = shape.findProducer(value);
  if (from < 0)
    place = emitIndex(member.accesses[operand.getOperandNumber()]);
  else if (scratch.count(value))
    place = emitScratchIndex(value);
  else
    place = emitIndex(getWritten(shape.members[from], cast<OpResult>(value)));
  return emitLoad(builder, loc, element,
                  emitAddress(builder, loc, getPointer(value), element, place));
}

void PointEmitter::forEachPlace(const Member &member, OpResult result,
                                function_ref<void(Value address)> visit) {
  Type element = getElementType(result);
  auto yield = cast<rt::YieldOp>(op.getBody().front().getTerminator());
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (value == result)
      visit(emitAddress(builder, loc,
                        arguments.buffers[bufferOf[op.getInputs().size() + i]],
                        element, emitIndex(getWritten(member, result))));
  if (scratch.count(result))
    visit(emitAddress(builder, loc, scratch[result], element,
                      emitScratchIndex(result)));
}

IRMapping PointEmitter::mapInputs(const Member &member) {
  linalg::GenericOp generic = member.op;
  IRMapping mapping = scalars;
  for (OpOperand *operand : generic.getDpsInputOperands())
    mapping.map(generic.getBody()->getArgument(operand->getOperandNumber()),
                emitOperand(member, *operand));
  return mapping;
}

/// Copies the ops of a body, but for `skipped` ones.
void PointEmitter::cloneBody(const Member &member, IRMapping &mapping,
                             ArrayRef<Operation *> skipped) {
  Block *body = linalg::GenericOp(member.op).getBody();
  for (Operation &inner : body->without_terminator()) {
    if (llvm::is_contained(skipped, &inner))
      continue;
    if (auto indexOp = dyn_cast<linalg::IndexOp>(inner)) {
      Value loop = emitLoopIndex(member.dims[indexOp.getDim()]);
      mapping.map(indexOp.getResult(),
                  arith::IndexCastOp::create(builder, loc,
                                             builder.getIndexType(), loop));
      continue;
    }
    if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
      mapping.map(extract.getResult(), emitLookup(extract, extract, mapping));
      continue;
    }
    // Here rather than with other formulas: kernels that differ in sizes share
    // their code.
    if (auto place = dyn_cast<PlaceOp>(inner)) {
      SmallVector<Value> indices =
          llvm::map_to_vector(place.getIndices(), [&](Value index) {
            return mapping.lookupOrDefault(index);
          });
      mapping.map(place.getResult(), emitPlace(builder, place, indices));
      continue;
    }
    Operation *cloned = builder.clone(inner, mapping);
    SmallVector<tensor::ExtractOp> sources, copies;
    inner.walk([&](tensor::ExtractOp extract) { sources.push_back(extract); });
    cloned->walk([&](tensor::ExtractOp extract) { copies.push_back(extract); });
    for (auto [extract, source] : llvm::zip(copies, sources)) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(extract);
      extract.getResult().replaceAllUsesWith(
          emitLookup(extract, source, IRMapping()));
      extract.erase();
    }
  }
}

/// The maximum of magnitudes that `result` is, if it starts from a number that
/// is not below 0.
static arith::MaximumFOp getMagnitudeMaximum(linalg::GenericOp op,
                                             OpResult result) {
  unsigned number = result.getResultNumber();
  auto most = op.getBody()
                  ->getTerminator()
                  ->getOperand(number)
                  .getDefiningOp<arith::MaximumFOp>();
  auto fill = op.getDpsInits()[number].getDefiningOp<linalg::FillOp>();
  APFloat start(0.0f);
  if (!most || !fill || op.getNumReductionLoops() == 0 ||
      !matchPattern(fill.getInputs()[0], m_ConstantFloat(&start)) ||
      start.isNegative() || start.isNaN())
    return {};
  Value carried = op.getRegionOutputArgs()[number];
  Value other = most.getLhs() == carried ? most.getRhs() : most.getLhs();
  bool isCarried = most.getLhs() == carried || most.getRhs() == carried;
  return isCarried && other.getDefiningOp<math::AbsFOp>() ? most : nullptr;
}

bool PointEmitter::isMagnitudeMaximum(const Member &member) {
  return llvm::all_of(linalg::GenericOp(member.op)->getResults(),
                      [&](OpResult result) {
                        return bool(getMagnitudeMaximum(member.op, result));
                      });
}

/// The bits of what is no less than 0, or a magnitude.
static Value emitMagnitudeBits(OpBuilder &builder, Location loc, Value value) {
  unsigned width = value.getType().getIntOrFloatBitWidth();
  Type bits = builder.getIntegerType(width);
  auto magnitude = value.getDefiningOp<math::AbsFOp>();
  if (!magnitude)
    return arith::BitcastOp::create(builder, loc, bits, value);
  // Without the sign, so that no narrow float is widened for that.
  Value mask = arith::ConstantOp::create(
      builder, loc,
      builder.getIntegerAttr(bits, APInt::getSignedMaxValue(width)));
  return arith::AndIOp::create(
      builder, loc,
      arith::BitcastOp::create(builder, loc, bits, magnitude.getOperand()),
      mask);
}

/// Magnitudes are in the order of their bits, NaN above all. Processors have
/// one instruction for this maximum, and several for one of floats that knows
/// NaN.
Value PointEmitter::emitMagnitudeMaximum(Value a, Value b) {
  Type type = a.getType();
  Value most =
      arith::MaxSIOp::create(builder, loc, emitMagnitudeBits(builder, loc, a),
                             emitMagnitudeBits(builder, loc, b));
  return arith::BitcastOp::create(builder, loc, type, most);
}

void PointEmitter::emitMember(const Member &member,
                              MutableArrayRef<Value> carried,
                              SmallVectorImpl<Store> &stores) {
  linalg::GenericOp generic = member.op;
  Block *body = generic.getBody();
  IRMapping mapping = mapInputs(member);
  unsigned numInputs = generic.getNumDpsInputs();
  unsigned next = 0;
  for (OpResult result : generic->getResults()) {
    BlockArgument argument =
        body->getArgument(numInputs + result.getResultNumber());
    if (isCarried(result)) {
      mapping.map(argument, carried[next++]);
      continue;
    }
    if (argument.use_empty())
      continue;
    Value start;
    if (member.isReduction())
      forEachPlace(member, result, [&](Value address) {
        if (!start)
          start = emitLoad(builder, loc, argument.getType(), address);
      });
    else
      start = emitInit(member, result);
    mapping.map(argument, start);
  }
  SmallVector<Operation *> maxima;
  for (OpResult result : generic->getResults())
    if (arith::MaximumFOp most = getMagnitudeMaximum(generic, result))
      maxima.push_back(most);
  cloneBody(member, mapping, maxima);
  for (Operation *most : maxima)
    mapping.map(
        most->getResult(0),
        emitMagnitudeMaximum(mapping.lookupOrDefault(most->getOperand(0)),
                             mapping.lookupOrDefault(most->getOperand(1))));
  next = 0;
  auto yield = cast<linalg::YieldOp>(body->getTerminator());
  for (OpResult result : generic->getResults()) {
    Value value =
        mapping.lookupOrDefault(yield.getOperand(result.getResultNumber()));
    if (isCarried(result)) {
      carried[next++] = value;
      continue;
    }
    if (!member.isReduction())
      scalars.map(result, value);
    forEachPlace(member, result,
                 [&](Value address) { stores.push_back({value, address}); });
  }
}

void PointEmitter::emitMembers(ArrayRef<unsigned> members,
                               MutableArrayRef<Value> carried,
                               SmallVectorImpl<Store> &stores) {
  for (unsigned i : members) {
    const Member &member = shape.members[i];
    unsigned count =
        llvm::count_if(linalg::GenericOp(member.op)->getResults(),
                       [&](Value result) { return isCarried(result); });
    emitMember(member, carried.take_front(count), stores);
    carried = carried.drop_front(count);
  }
}

void PointEmitter::emitStores(ArrayRef<Store> stores) {
  for (const Store &store : stores)
    emitStore(builder, loc, store.value, store.address);
}

void PointEmitter::emitTerms(const Member &member,
                             SmallVectorImpl<Value> &terms) {
  auto op = cast<linalg::LinalgOp>(linalg::GenericOp(member.op).getOperation());
  SmallVector<Combiner> combiners;
  SmallVector<Operation *> skipped;
  for (unsigned i = 0; i < op->getNumResults(); ++i) {
    combiners.push_back(*getCombiner(op, i));
    skipped.push_back(combiners.back().op);
  }
  IRMapping mapping = mapInputs(member);
  cloneBody(member, mapping, skipped);
  for (Combiner &combiner : combiners)
    terms.push_back(mapping.lookupOrDefault(combiner.term));
}
