// SPDX-License-Identifier: Apache-2.0

// Structured ops: what they yield, at the indices of their results. Reductions
// are functions of the indices that stay, with what is reduced as it enters.

#include "ProgramElements.h"

#include "weft/Analysis/LoopSizes.h"
#include "weft/Dialect/Weft/IR/Lookups.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

//===----------------------------------------------------------------------===//
// Scalars that definitions need
//===----------------------------------------------------------------------===//

const Element *ProgramElements::compute(StringRef name, Type type,
                                        ArrayRef<const Element *> operands,
                                        ArrayRef<NamedAttribute> attrs) {
  auto opName = StringAttr::get(table.getContext(), name);
  return table.getScalar(opName, table.getDetails(opName, attrs), type,
                         operands);
}

const Element *ProgramElements::compare(arith::CmpIPredicate predicate,
                                        const Element *a, const Element *b) {
  MLIRContext *context = table.getContext();
  NamedAttribute attr(StringAttr::get(context, "predicate"),
                      arith::CmpIPredicateAttr::get(context, predicate));
  return compute("arith.cmpi", IntegerType::get(context, 1), {a, b}, attr);
}

/// A float in a wider or narrower type.
const Element *ProgramElements::convert(const Element *element, Type type) {
  if (table.isOfReals())
    return table.round(element, type);
  unsigned from = element->type.getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (element->type == type)
    return element;
  return compute(to > from ? "arith.extf" : "arith.truncf", type, element);
}

//===----------------------------------------------------------------------===//
// Structured ops
//===----------------------------------------------------------------------===//

ProgramElements::Structured::Structured(linalg::LinalgOp op)
    : op(op), firstInit(countInputs(op)) {
  // Most ops of a user's module: upstream makes its maps anew each time.
  if (isa<linalg::MapOp>(op) && op.hasPureTensorSemantics()) {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    AffineMap map =
        AffineMap::getMultiDimIdentityMap(type.getRank(), op.getContext());
    maps.assign(op->getNumOperands(), map);
    sizes.assign(type.getShape().begin(), type.getShape().end());
    isReduced.resize(type.getRank());
    return;
  }
  maps = op.getIndexingMapsArray();
  sizes = getLoopSizes(op, maps);
  auto iterators = op.getIteratorTypesArray();
  isReduced.resize(iterators.size());
  for (auto [loop, iterator] : llvm::enumerate(iterators))
    isReduced[loop] = iterator == utils::IteratorType::reduction;
}

/// Gives the arguments of the body what they read at `loops`; false if that
/// cannot be said.
bool ProgramElements::readLoops(const Structured &structured,
                                const Elements &loops) {
  linalg::LinalgOp op = structured.op;
  Block *body = op.getBlock();
  for (auto [i, value, map] : llvm::enumerate(ValueRange(op->getOperands()),
                                              ArrayRef(structured.maps))) {
    BlockArgument arg = body->getArgument(i);
    if (!isa<RankedTensorType>(value.getType())) {
      values[arg] = get(value);
      continue;
    }
    Elements indices;
    for (AffineExpr expr : map.getResults()) {
      indices.push_back(table.evaluate(expr, loops));
      if (!indices.back())
        return false;
    }
    bool isAccumulator =
        i >= structured.firstInit && structured.isReduced.any();
    values[arg] = isAccumulator ? table.getAccumulator(i - structured.firstInit,
                                                       arg.getType())
                                : readTensor(value, indices);
  }
  return true;
}

/// Whether elements of a linalg op's results can be said by its loops.
bool ProgramElements::hasPlainResults(const Structured &structured) {
  linalg::LinalgOp op = structured.op;
  if (!op.hasPureTensorSemantics())
    return false;
  for (unsigned i = structured.firstInit; i < op->getNumOperands(); ++i) {
    AffineMap map = structured.maps[i];
    if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
      return false;
    auto type = cast<RankedTensorType>(op->getOperand(i).getType());
    llvm::SmallBitVector isUsed(structured.sizes.size());
    for (auto [expr, size] : llvm::zip(map.getResults(), type.getShape()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        isUsed.set(dim.getPosition());
      else if (size != 1)
        return false;
    for (auto [loop, size] : llvm::enumerate(structured.sizes))
      if (size != 1 && isUsed[loop] == structured.isReduced[loop])
        return false;
  }
  return true;
}

/// As a sum of one element is defined if it has an order: zero comes first.
const Element *ProgramElements::addToZero(linalg::LinalgOp op, unsigned index,
                                          const Element *yielded) {
  Operation *def =
      op.getBlock()->getTerminator()->getOperand(index).getDefiningOp();
  BlockArgument accumulator = op.getRegionOutputArgs()[index];
  if (!op->hasAttr(WeftDialect::kOrderAttr) || table.isOfReals() ||
      !isa_and_present<arith::AddFOp>(def) || !accumulator.hasOneUse() ||
      *accumulator.user_begin() != def)
    return yielded;
  const Element *entering =
      get(def->getOperand(def->getOperand(0) == accumulator));
  Type type = accumulator.getType();
  const Element *zero = table.getConstant(FloatAttr::get(type, 0.0));
  return compute(
      "arith.addf", type,
      {get(accumulator), compute("arith.addf", type, {zero, entering})});
}

namespace {

/// The results that one result of a reduction needs, itself first.
SmallVector<unsigned> getNeeded(ArrayRef<const Element *> yielded,
                                ArrayRef<const Element *> accumulators,
                                unsigned index) {
  SmallVector<unsigned> needed = {index};
  for (unsigned i = 0; i < needed.size(); ++i)
    for (const Element *variable : yielded[needed[i]]->variables) {
      auto *it = llvm::find(accumulators, variable);
      if (it != accumulators.end() &&
          !llvm::is_contained(needed, it - accumulators.begin()))
        needed.push_back(it - accumulators.begin());
    }
  return needed;
}

} // namespace

/// Result `index` at `loops`, of which those that are reduced are bound.
const Element *ProgramElements::reduce(const Structured &structured,
                                       unsigned index, const Elements &loops) {
  linalg::LinalgOp op = structured.op;
  Block *body = op.getBlock();
  const SmallVector<int64_t> &sizes = structured.sizes;
  Elements reduced;
  SmallVector<int64_t> reducedSizes;
  for (unsigned loop : structured.isReduced.set_bits())
    if (sizes[loop] != 1) {
      reduced.push_back(loops[loop]);
      reducedSizes.push_back(sizes[loop]);
    }
  Elements yielded, accumulators, inits;
  for (unsigned i = 0; i < op->getNumResults(); ++i) {
    unsigned init = structured.firstInit + i;
    yielded.push_back(get(body->getTerminator()->getOperand(i)));
    accumulators.push_back(get(body->getArgument(init)));
    Elements indices;
    for (AffineExpr expr : structured.maps[init].getResults())
      indices.push_back(table.evaluate(expr, loops));
    inits.push_back(readTensor(op->getOperand(init), indices));
  }
  if (isGlobal())
    if (const Element *added =
            sum(op, yielded[index], accumulators[index], inits[index], reduced))
      return added;
  if (reduced.empty()) {
    Assignment begin;
    for (auto [accumulator, init] : llvm::zip(accumulators, inits))
      begin.push_back({accumulator, init});
    return table.substitute(addToZero(op, index, yielded[index]), begin);
  }
  // Nothing enters, or what changes nothing: what it begins with is left.
  if (llvm::is_contained(reducedSizes, 0) ||
      yielded[index] == accumulators[index])
    return inits[index];
  auto order = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
  // All elements of runs of one element are in the first lane.
  if (order && sizes.back() == 1)
    order = OrderAttr::get(op.getContext(), order.getLeaves(), /*lanes=*/1,
                           order.getRounded());
  Element made{ElementKind::Reduction};
  if (!table.isOfReals())
    made.details = order;
  SmallVector<unsigned> needed = getNeeded(yielded, accumulators, index);
  if (!order && !table.isOfReals() && needed.size() == 1)
    yielded[index] = table.mergeReductions(yielded[index], accumulators[index],
                                           inits[index], reduced);
  if (!yielded[index])
    return inits[index];
  // Not that of another result's accumulator, which may be what is yielded.
  made.type = llvm::is_contained(accumulators, yielded[index])
                  ? getElementTypeOrSelf(op->getResult(index).getType())
                  : yielded[index]->type;
  for (const Element *variable : reduced)
    made.numbers.push_back(variable->numbers[1]);
  for (unsigned i : needed) {
    reduced.push_back(accumulators[i]);
    made.operands.append({yielded[i], inits[i]});
  }
  return table.apply(std::move(made), reduced);
}

/// Whether an op takes its operands, and makes its results, in the order of its
/// loops. Many have the same maps.
bool ProgramElements::isElementwise(linalg::LinalgOp linalg) {
  auto op = dyn_cast<linalg::GenericOp>(linalg.getOperation());
  if (!op || !op.hasPureTensorSemantics())
    return false;
  auto [it, isNew] =
      elementwise.try_emplace({op.getIteratorTypes(), op.getIndexingMaps()});
  if (isNew)
    it->second = op.getNumReductionLoops() == 0 &&
                 llvm::all_of(op.getIndexingMapsArray(),
                              [](AffineMap map) { return map.isIdentity(); });
  return it->second;
}

/// Such an op's body says what it makes of what its operands are.
LogicalResult ProgramElements::liftElementwise(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  for (auto [operand, arg] :
       llvm::zip_equal(op->getOperands(), body->getArguments()))
    values[arg] = get(operand);
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  around.push_back(getIndices(shape));
  LogicalResult lifted = liftBlock(*body);
  around.pop_back();
  if (failed(lifted))
    return failure();
  for (auto [result, yielded] : llvm::zip_equal(
           op->getResults(), body->getTerminator()->getOperands())) {
    const Element *element = get(yielded);
    set(op, result, isGlobal() ? splitChoice(element, shape) : element);
  }
  return success();
}

LogicalResult ProgramElements::liftLinalg(linalg::LinalgOp op) {
  if (isElementwise(op))
    return liftElementwise(op);
  Structured structured(op);
  Elements loops = getIndices(structured.sizes);
  if (!hasPlainResults(structured) || !readLoops(structured, loops))
    return liftOther(op);
  around.push_back(loops);
  LogicalResult lifted = liftBlock(*op.getBlock());
  around.pop_back();
  if (failed(lifted))
    return failure();
  for (OpResult result : op->getResults()) {
    unsigned index = result.getResultNumber();
    const Element *element =
        structured.isReduced.any()
            ? reduce(structured, index, loops)
            : get(op.getBlock()->getTerminator()->getOperand(index));
    AffineMap map = structured.maps[structured.firstInit + index];
    Elements indices =
        getIndices(cast<RankedTensorType>(result.getType()).getShape());
    Assignment at;
    for (auto [expr, dim] : llvm::zip(map.getResults(), indices))
      if (auto loop = dyn_cast<AffineDimExpr>(expr);
          loop && loops[loop.getPosition()]->kind == ElementKind::Variable)
        at.push_back({loops[loop.getPosition()], dim});
    element = table.substitute(element, at);
    if (isGlobal())
      element = splitChoice(
          element, cast<RankedTensorType>(result.getType()).getShape());
    set(op, result, element);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// The loop that reads the dimension of a variable; null if there is none.
static AffineDimExpr getLoop(AffineMap map, const Element *variable) {
  bool isDim = variable->type.isIndex() &&
               uint64_t(variable->numbers[0]) < map.getNumResults();
  return isDim ? dyn_cast<AffineDimExpr>(map.getResult(variable->numbers[0]))
               : AffineDimExpr(nullptr);
}

/// Variables for the loops of a contraction, as far as can be seen in the order
/// in which a function of its product numbers its own: what is read then keeps
/// its variables.
ProgramElements::Elements ProgramElements::getLoops(MatmulOp op,
                                                    const Elements &factors,
                                                    ArrayRef<int64_t> sizes) {
  std::pair<const Element *, AffineMap> operands[] = {
      {factors[0], op.getLhsMap()}, {factors[1], op.getRhsMap()}};
  if (isGlobal() && factors[1]->pattern < factors[0]->pattern)
    std::swap(operands[0], operands[1]);
  llvm::SmallSetVector<unsigned, 8> order;
  // Of operands that are alike none is the first one.
  if (factors[0]->pattern == factors[1]->pattern)
    for (AffineExpr expr : op.getResultMap().getResults())
      order.insert(cast<AffineDimExpr>(expr).getPosition());
  for (auto [factor, map] : operands)
    for (const Element *variable : factor->variables)
      if (auto loop = getLoop(map, variable))
        if (op.getResultMap().isFunctionOfDim(loop.getPosition()))
          order.insert(loop.getPosition());
  for (unsigned loop = 0; loop < sizes.size(); ++loop)
    order.insert(loop);
  Elements loops(sizes.size());
  unsigned position = 0;
  for (unsigned loop : order) {
    loops[loop] = table.getVariable(position, sizes[loop]);
    position += sizes[loop] != 1;
  }
  return loops;
}

/// Sums are taken in f32, or f64, and rounded once: how wide the operands and
/// the result lie in memory is a conversion, wherever it is done. With rounded
/// leaves the result's type is part of the sum.
LogicalResult ProgramElements::liftMatmul(MatmulOp op) {
  SmallVector<int64_t> sizes = op.getLoopSizes();
  Elements factors = {table.nameFactor(get(op.getLhs())),
                      table.nameFactor(get(op.getRhs()))};
  Elements loops = getLoops(op, factors, sizes);
  Type result = getElementTypeOrSelf(op.getType());
  Builder builder(op.getContext());
  Type wide = result.isF64() ? builder.getF64Type() : builder.getF32Type();
  auto order = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
  if (order && order.getRounded() && order.getLeaves() == 1)
    order = OrderAttr::get(op.getContext(), 1, order.getLanes(),
                           /*rounded=*/false);
  bool isRounded = order && order.getRounded();
  Element made{ElementKind::Contraction};
  made.details = order;
  made.type = isRounded ? result : wide;
  auto readFactor = [&](const Element *factor, Value operand, AffineMap map) {
    Elements indices;
    for (AffineExpr expr : map.getResults())
      indices.push_back(table.evaluate(expr, loops));
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(operand.getType()).getShape();
    made.operands.push_back(convert(readAt(factor, shape, indices), wide));
  };
  readFactor(factors[0], op.getLhs(), op.getLhsMap());
  readFactor(factors[1], op.getRhs(), op.getRhsMap());
  Elements reduced;
  for (auto [loop, size] : llvm::enumerate(sizes))
    if (!op.getResultMap().isFunctionOfDim(loop) && size != 1) {
      reduced.push_back(loops[loop]);
      made.numbers.push_back(size);
    }
  const Element *product =
      isGlobal()
          ? addUp("arith.addf", compute("arith.mulf", wide, made.operands),
                  reduced, order)
          : table.apply(std::move(made), reduced);
  const Element *element = convert(product, result);
  Elements indices =
      getIndices(cast<RankedTensorType>(op.getType()).getShape());
  Assignment at;
  for (auto [expr, dim] : llvm::zip(op.getResultMap().getResults(), indices))
    if (const Element *loop = loops[cast<AffineDimExpr>(expr).getPosition()];
        loop->kind == ElementKind::Variable)
      at.push_back({loop, dim});
  set(op, op.getResult(), table.substitute(element, at));
  return success();
}

//===----------------------------------------------------------------------===//
// Lookups
//===----------------------------------------------------------------------===//

/// The row that an index finds: the index less that of the first one.
const Element *ProgramElements::getLocalIndex(const Element *index,
                                              Value base) {
  const Element *row =
      compute("arith.index_cast", IndexType::get(table.getContext()), index);
  return base ? table.add(row, get(base), -1) : row;
}

/// An index outside of the table finds zero.
LogicalResult ProgramElements::liftTake(TakeOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  auto tableType = cast<RankedTensorType>(op.getTable().getType());
  const Element *none =
      table.getConstant(getMissingElement(type.getElementType()));
  if (tableType.getNumElements() == 0) {
    set(op, op.getResult(), none);
    return success();
  }
  Elements loops = getIndices(type.getShape()), indices;
  for (AffineExpr expr : op.getIndexMap().getResults())
    indices.push_back(table.evaluate(expr, loops));
  const Element *row =
      getLocalIndex(readTensor(op.getIndices(), indices), op.getBase());
  const Element *size = table.getIndex(tableType.getDimSize(op.getAxis()));
  // Unsigned: a negative index is a large one.
  const Element *isInside = compare(arith::CmpIPredicate::ult, row, size);
  const Element *safe =
      compute("arith.select", row->type, {isInside, row, table.getIndex(0)});
  SmallVector<const Element *> at;
  for (AffineExpr expr : op.getTableMap().getResults())
    at.push_back(table.evaluate(expr, loops));
  at.insert(at.begin() + op.getAxis(), safe);
  set(op, op.getResult(),
      compute("arith.select", type.getElementType(),
              {isInside, readTensor(op.getTable(), at), none}));
  return success();
}

/// If each element gets one update at most, that is added; else the sum is a
/// function of all of them, in f32 at least.
LogicalResult ProgramElements::liftScatterAdd(ScatterAddOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  Type element = type.getElementType();
  auto updatesType = cast<RankedTensorType>(op.getUpdates().getType());
  AffineMap tableMap = op.getTableMap();
  Elements loops = getIndices(updatesType.getShape()), indices;
  for (AffineExpr expr : op.getIndexMap().getResults())
    indices.push_back(table.evaluate(expr, loops));
  const Element *found = readTensor(op.getIndices(), indices);
  Elements result = getIndices(type.getShape());
  Type wide = element;
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32)
    wide = Float32Type::get(op.getContext());
  auto widen = [&](const Element *value) {
    return wide == element ? value : convert(value, wide);
  };
  // What is left out of the table has one element.
  bool isSingle =
      llvm::all_of(llvm::seq(tableMap.getNumDims()), [&](unsigned dim) {
        return tableMap.isFunctionOfDim(dim) ||
               updatesType.getDimSize(dim) == 1;
      });
  if (isSingle) {
    Assignment at;
    for (auto [i, expr] : llvm::enumerate(tableMap.getResults()))
      if (const Element *loop = loops[cast<AffineDimExpr>(expr).getPosition()];
          loop->kind == ElementKind::Variable)
        at.push_back({loop, result[i + (int64_t(i) >= int64_t(op.getAxis()))]});
    const Element *row =
        getLocalIndex(table.substitute(found, at), op.getBase());
    const Element *hit =
        compare(arith::CmpIPredicate::eq, row, result[op.getAxis()]);
    const Element *init = widen(get(op.getInit()));
    const Element *update = widen(table.substitute(get(op.getUpdates()), at));
    const Element *sum =
        compute(isa<FloatType>(element) ? "arith.addf" : "arith.addi", wide,
                {init, update});
    sum = compute("arith.select", wide, {hit, sum, init});
    set(op, op.getResult(), wide == element ? sum : convert(sum, element));
    return success();
  }
  Element made{ElementKind::Other, op->getName().getIdentifier(),
               getDetails(op, {"index_map"}), wide};
  auto addTensor = [&](const Element *value, ArrayRef<int64_t> shape) {
    made.operands.push_back(table.getTensor(value, shape));
  };
  addTensor(widen(get(op.getInit())), type.getShape());
  addTensor(found, updatesType.getShape());
  addTensor(widen(get(op.getUpdates())), updatesType.getShape());
  if (op.getBase())
    made.operands.push_back(get(op.getBase()));
  made.shape.assign(type.getShape().begin(), type.getShape().end());
  const Element *sum = table.apply(std::move(made), {}, result);
  set(op, op.getResult(), wide == element ? sum : convert(sum, element));
  return success();
}
