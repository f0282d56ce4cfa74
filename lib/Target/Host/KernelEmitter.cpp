// SPDX-License-Identifier: Apache-2.0

// Emits a kernel's loops. Per row, phases follow each other; in a phase, all
// members are computed for each point, values pass in registers, sums that end
// with the row are loop-carried, and stores come last, so that a buffer may be
// updated in place.

#include "KernelLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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

/// The buffer of a value that the region yields, or of a block argument.
Value LoopEmitter::getPointer(Value tensor) {
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return kernel.buffers[bufferOf[argument.getArgNumber()]];
  auto yield = cast<rt::YieldOp>(op.getBody().front().getTerminator());
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (value == tensor)
      return kernel.buffers[bufferOf[op.getInputs().size() + i]];
  return scratch.lookup(tensor);
}

Value LoopEmitter::emitIndex(const Access &access) {
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

/// The place of the current element of `value` among those of its row.
Value LoopEmitter::emitScratchIndex(Value value) {
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

bool LoopEmitter::isCarried(Value value) {
  int from = shape.findProducer(value);
  return from >= 0 && shape.members[from].isReduction() &&
         shape.isRowScalar(value);
}

bool LoopEmitter::needsScratch(Value value) {
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

void LoopEmitter::allocateScratch() {
  for (auto &[value, dims] : shape.valueDims) {
    if (!needsScratch(value))
      continue;
    Type element = getMemoryType(getElementType(value));
    auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
    scratch[value] = LLVM::AllocaOp::create(
        builder, loc, pointer, element,
        emitInt(builder, loc, shape.getRowElements(value)), /*alignment=*/64);
  }
}

/// Scalars that the region is given, or computes before its loops.
LogicalResult LoopEmitter::mapEntryOps() {
  ArrayRef<BlockArgument> arguments = op.getBody().getArguments();
  scalars.map(arguments.drop_front(op.getInputs().size()), kernel.scalars);
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
  return success();
}

/// Loads what a body looks up in a tensor from outside of the group. `source`
/// is the op in the body of which `extract` is a copy.
Value LoopEmitter::emitLookup(tensor::ExtractOp extract,
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

/// The value from which an output starts: a constant, or an element of a
/// tensor.
Value LoopEmitter::emitInit(const Member &member, OpResult result) {
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

Value LoopEmitter::emitOperand(const Member &member, OpOperand &operand) {
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

/// Visits where the current element of a result is stored: in each buffer for
/// which it is yielded, or in scratch memory.
void LoopEmitter::forEachPlace(const Member &member, OpResult result,
                               function_ref<void(Value address)> visit) {
  Type element = getElementType(result);
  auto yield = cast<rt::YieldOp>(op.getBody().front().getTerminator());
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (value == result)
      visit(emitAddress(builder, loc,
                        kernel.buffers[bufferOf[op.getInputs().size() + i]],
                        element, emitIndex(getWritten(member, result))));
  if (scratch.count(result))
    visit(emitAddress(builder, loc, scratch[result], element,
                      emitScratchIndex(result)));
}

IRMapping LoopEmitter::mapInputs(const Member &member) {
  linalg::GenericOp generic = member.op;
  IRMapping mapping = scalars;
  for (OpOperand *operand : generic.getDpsInputOperands())
    mapping.map(generic.getBody()->getArgument(operand->getOperandNumber()),
                emitOperand(member, *operand));
  return mapping;
}

/// Copies the ops of a body, but for `skipped` ones.
void LoopEmitter::cloneBody(const Member &member, IRMapping &mapping,
                            ArrayRef<Operation *> skipped) {
  Block *body = linalg::GenericOp(member.op).getBody();
  for (Operation &inner : body->without_terminator()) {
    if (llvm::is_contained(skipped, &inner))
      continue;
    if (auto indexOp = dyn_cast<linalg::IndexOp>(inner)) {
      Value loop = index[member.dims[indexOp.getDim()]];
      mapping.map(indexOp.getResult(),
                  arith::IndexCastOp::create(builder, loc,
                                             builder.getIndexType(), loop));
      continue;
    }
    if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
      mapping.map(extract.getResult(), emitLookup(extract, extract, mapping));
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

void LoopEmitter::emitMember(const Member &member,
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
  cloneBody(member, mapping, {});
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

void LoopEmitter::emitPoint(const Phase &phase,
                            SmallVectorImpl<Value> &carried) {
  SmallVector<Store> stores;
  unsigned first = 0;
  for (unsigned i : phase.members) {
    const Member &member = shape.members[i];
    unsigned count =
        llvm::count_if(linalg::GenericOp(member.op)->getResults(),
                       [&](Value result) { return isCarried(result); });
    emitMember(member, MutableArrayRef<Value>(carried).slice(first, count),
               stores);
    first += count;
  }
  for (Store &store : stores)
    emitStore(builder, loc, store.value, store.address);
}

/// Emits a loop over `dim`; `body` replaces the carried values by new ones.
void LoopEmitter::emitForLoop(int dim, ValueRange carried,
                              function_ref<void(SmallVectorImpl<Value> &)> body,
                              SmallVectorImpl<Value> &results) {
  bool isCut = dim == shape.cutDim;
  Value lower = isCut ? kernel.begin : emitInt(builder, loc, 0);
  Value upper = isCut ? kernel.end : emitInt(builder, loc, shape.sizes[dim]);
  auto loop = scf::ForOp::create(builder, loc, lower, upper,
                                 emitInt(builder, loc, 1), carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  index[dim] = loop.getInductionVar();
  SmallVector<Value> values(loop.getRegionIterArgs());
  body(values);
  if (!values.empty())
    scf::YieldOp::create(builder, loc, values);
  index[dim] = nullptr;
  results.assign(loop.getResults().begin(), loop.getResults().end());
}

void LoopEmitter::emitNest(const Phase &phase, unsigned depth,
                           SmallVectorImpl<Value> &carried) {
  if (depth == phase.loops.size())
    return emitPoint(phase, carried);
  SmallVector<Value> results;
  emitForLoop(
      phase.loops[depth], carried,
      [&](SmallVectorImpl<Value> &values) {
        emitNest(phase, depth + 1, values);
      },
      results);
  carried.assign(results.begin(), results.end());
}

/// Sums that do not end with the row are taken in memory, which starts from
/// the init.
void LoopEmitter::emitInitNest(const Member &member, OpResult result) {
  SmallVector<int> loops;
  uint64_t inner = shape.valueDims.lookup(result) & ~shape.rowMask();
  for (int dim : shape.phases[member.phase].loops)
    if (inner >> dim & 1)
      loops.push_back(dim);
  std::function<void(unsigned)> nest = [&](unsigned depth) {
    if (depth == loops.size()) {
      Value start = emitInit(member, result);
      forEachPlace(member, result, [&](Value address) {
        emitStore(builder, loc, start, address);
      });
      return;
    }
    SmallVector<Value> results;
    emitForLoop(
        loops[depth], {}, [&](SmallVectorImpl<Value> &) { nest(depth + 1); },
        results);
  };
  nest(0);
}

void LoopEmitter::emitInits(const Phase &phase) {
  for (unsigned i : phase.members) {
    const Member &member = shape.members[i];
    if (!member.isReduction())
      continue;
    for (OpResult result : linalg::GenericOp(member.op)->getResults())
      if (!isCarried(result))
        emitInitNest(member, result);
  }
}

SmallVector<OpResult> LoopEmitter::getCarried(const Phase &phase) {
  SmallVector<OpResult> results;
  for (unsigned i : phase.members)
    for (OpResult result : linalg::GenericOp(shape.members[i].op)->getResults())
      if (isCarried(result))
        results.push_back(result);
  return results;
}

void LoopEmitter::emitPhase(const Phase &phase) {
  if (phase.order && !phase.order->isChain)
    return emitOrderedPhase(phase);
  emitInits(phase);
  SmallVector<OpResult> results = getCarried(phase);
  SmallVector<Value> carried;
  for (OpResult result : results)
    carried.push_back(
        emitInit(shape.members[shape.findProducer(result)], result));
  emitNest(phase, 0, carried);
  for (auto [result, value] : llvm::zip(results, carried)) {
    scalars.map(result, value);
    forEachPlace(
        shape.members[shape.findProducer(result)], result,
        [&](Value address) { emitStore(builder, loc, value, address); });
  }
}

void LoopEmitter::emitRows() {
  if (shape.cutDim >= 0) {
    for (const Phase &phase : shape.phases)
      emitPhase(phase);
    return;
  }
  auto loop = scf::ForOp::create(builder, loc, kernel.begin, kernel.end,
                                 emitInt(builder, loc, 1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value rest = loop.getInductionVar();
  for (int dim : llvm::reverse(shape.rows)) {
    if (dim == shape.rows.front()) {
      index[dim] = rest;
      break;
    }
    Value size = emitInt(builder, loc, shape.sizes[dim]);
    index[dim] = arith::RemUIOp::create(builder, loc, rest, size);
    rest = arith::DivUIOp::create(builder, loc, rest, size);
  }
  for (const Phase &phase : shape.phases)
    emitPhase(phase);
}

LogicalResult LoopEmitter::run() {
  LLVM::LLVMFuncOp func = kernel.func;
  builder.setInsertionPointToEnd(&func.getBody().front());
  if (failed(mapEntryOps()))
    return failure();
  allocateScratch();
  emitRows();
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return success();
}

/// Loads entry `index` of an array of pointers or of numbers.
static Value loadEntry(OpBuilder &builder, Location loc, Type type, Value array,
                       int32_t index) {
  return LLVM::LoadOp::create(
      builder, loc, type,
      LLVM::GEPOp::create(builder, loc, array.getType(), type, array,
                          ArrayRef<LLVM::GEPArg>{index}));
}

/// The function that the runtime calls: it calls `body` with what is in the
/// arrays that it gets.
static void createKernelEntry(OpBuilder &builder, Location loc, StringRef name,
                              LLVM::LLVMFuncOp body, unsigned numBuffers,
                              unsigned numScalars) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i64 = builder.getI64Type();
  Type none = LLVM::LLVMVoidType::get(builder.getContext());
  auto entry = LLVM::LLVMFuncOp::create(
      builder, loc, name,
      LLVM::LLVMFunctionType::get(none, {pointer, pointer, i64, i64}));
  entry.setVisibility_(LLVM::Visibility::Hidden);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = entry.addEntryBlock(builder);
  builder.setInsertionPointToStart(block);
  SmallVector<Value> arguments;
  for (unsigned i = 0; i < numBuffers; ++i)
    arguments.push_back(
        loadEntry(builder, loc, pointer, block->getArgument(0), i));
  for (unsigned i = 0; i < numScalars; ++i)
    arguments.push_back(loadEntry(builder, loc, i64, block->getArgument(1), i));
  arguments.append({block->getArgument(2), block->getArgument(3)});
  LLVM::CallOp::create(builder, loc, body, arguments);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

KernelFunction mlir::weft::createKernelFunction(OpBuilder &builder,
                                                Location loc, StringRef name,
                                                ArrayRef<bool> isPrivate,
                                                TypeRange scalars) {
  MLIRContext *context = builder.getContext();
  Type i64 = builder.getI64Type();
  unsigned numBuffers = isPrivate.size(), numScalars = scalars.size();
  SmallVector<Type> types(numBuffers, LLVM::LLVMPointerType::get(context));
  types.append(numScalars + 2, i64);
  auto body = LLVM::LLVMFuncOp::create(
      builder, loc, (name + "_body").str(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types),
      LLVM::Linkage::Internal);
  for (auto [i, noAlias] : llvm::enumerate(isPrivate))
    if (noAlias)
      body.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                      builder.getUnitAttr());
  createKernelEntry(builder, loc, name, body, numBuffers, numScalars);

  KernelFunction kernel;
  kernel.func = body;
  OpBuilder::InsertionGuard guard(builder);
  Block *block = body.addEntryBlock(builder);
  builder.setInsertionPointToStart(block);
  ArrayRef<BlockArgument> arguments = block->getArguments();
  llvm::append_range(kernel.buffers, arguments.take_front(numBuffers));
  for (auto [bits, type] :
       llvm::zip(arguments.slice(numBuffers, numScalars), scalars))
    kernel.scalars.push_back(unpackScalar(builder, loc, type, bits));
  kernel.begin = arguments[numBuffers + numScalars];
  kernel.end = arguments[numBuffers + numScalars + 1];
  return kernel;
}

LogicalResult mlir::weft::emitKernel(rt::FusedOp op, const KernelShape &shape,
                                     const KernelFunction &kernel,
                                     ArrayRef<unsigned> bufferOf) {
  return LoopEmitter(op, shape, kernel, bufferOf).run();
}
