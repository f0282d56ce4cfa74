// SPDX-License-Identifier: Apache-2.0

// Emits a kernel's loops. Per row, phases follow each other; in a phase, all
// members are computed for each point, values pass in registers, sums that end
// with the row are loop-carried, and stores come last, so that a buffer may be
// updated in place.

#include "KernelLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::weft;

void LoopEmitter::allocateScratch() {
  for (auto &[value, dims] : shape.valueDims) {
    if (!needsScratch(value))
      continue;
    Type element = getMemoryType(getElementTypeOrSelf(value));
    auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
    scratch[value] = LLVM::AllocaOp::create(
        builder, loc, pointer, element,
        emitInt(builder, loc, shape.getRowElements(value)), /*alignment=*/64);
  }
}

/// Emits a loop over `dim`; `body` replaces the carried values by new ones.
void LoopEmitter::emitLoop(int dim, const Range &range, ValueRange carried,
                           LoopBody body, SmallVectorImpl<Value> &results) {
  auto loop = scf::ForOp::create(builder, loc, range.lower, range.upper,
                                 emitInt(builder, loc, range.step), carried);
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

/// The same for all of `dim`.
void LoopEmitter::emitForLoop(int dim, ValueRange carried, LoopBody body,
                              SmallVectorImpl<Value> &results) {
  bool isCut = dim == shape.cutDim;
  int64_t step = dim == together.dim ? together.count : 1;
  Range range = {isCut ? kernel.begin : emitInt(builder, loc, 0),
                 isCut ? kernel.end : emitInt(builder, loc, shape.sizes[dim]),
                 step};
  if (ahead.dims.empty() || dim != ahead.dims.back())
    return emitLoop(dim, range, carried, body, results);
  range.step = ahead.count;
  auto emitPart = [&](SmallVectorImpl<Value> &values) {
    emitFetches();
    if (ahead.count == step)
      return body(values);
    Value first = index[dim];
    Value end = arith::AddIOp::create(builder, loc, first,
                                      emitInt(builder, loc, ahead.count));
    SmallVector<Value> before(values.begin(), values.end());
    emitLoop(dim, {first, end, step}, before, body, values);
  };
  emitLoop(dim, range, carried, emitPart, results);
}

/// The members at one point; or maxima of several ones, and with what they were
/// so far as one: LLVM makes no vector of a loop that carries a chain of them.
void LoopEmitter::emitPoints(ArrayRef<unsigned> members,
                             MutableArrayRef<Value> carried,
                             SmallVectorImpl<Store> &stores) {
  if (together.count == 1)
    return emitMembers(members, carried, stores);
  SmallVector<Value> maxima;
  for (Value value : carried)
    maxima.push_back(arith::ConstantOp::create(
        builder, loc, builder.getZeroAttr(value.getType())));
  Value first = index[together.dim];
  for (int64_t i = 0; i < together.count; ++i) {
    index[together.dim] =
        arith::AddIOp::create(builder, loc, first, emitInt(builder, loc, i));
    emitMembers(members, maxima, stores);
  }
  index[together.dim] = first;
  for (auto [value, most] : llvm::zip(carried, maxima))
    value = emitMagnitudeMaximum(value, most);
}

void LoopEmitter::emitNest(ArrayRef<unsigned> members, ArrayRef<int> loops,
                           SmallVectorImpl<Value> &carried) {
  if (loops.empty()) {
    SmallVector<Store> stores;
    emitPoints(members, carried, stores);
    return emitStores(stores);
  }
  SmallVector<Value> results;
  emitForLoop(
      loops.front(), carried,
      [&](SmallVectorImpl<Value> &values) {
        emitNest(members, loops.drop_front(), values);
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

/// Says whether all members of the phase reduce the same dims, for each point
/// of all its other loops.
static bool isSharedSum(const KernelShape &shape, const Phase &phase) {
  uint64_t reduced = shape.members[phase.members.front()].reductionDims;
  uint64_t inner = 0;
  for (int dim : phase.loops)
    inner |= uint64_t(1) << dim;
  return reduced && llvm::all_of(phase.members, [&](unsigned member) {
           return shape.members[member].reductionDims == reduced &&
                  (inner & ~shape.members[member].loopDims) == 0;
         });
}

/// The loops of a phase whose innermost ones all members reduce, and their
/// number; no loops if the phase is another. A few elements are reduced last,
/// wherever their loop was: the one around it can be a vector's.
std::pair<SmallVector<int>, unsigned>
LoopEmitter::findInnerSums(const Phase &phase) {
  constexpr int64_t maxSize = 4;
  if (phase.order || !isSharedSum(shape, phase))
    return {};
  uint64_t reduced = shape.members[phase.members.front()].reductionDims;
  auto isReduced = [&](int dim) { return reduced >> dim & 1; };
  SmallVector<int> loops(phase.loops);
  unsigned count = llvm::count_if(loops, isReduced);
  auto *first = llvm::find_if(loops, isReduced);
  if (count == 1 && shape.sizes[*first] <= maxSize)
    std::rotate(first, first + 1, loops.end());
  if (count == loops.size() ||
      !llvm::all_of(ArrayRef(loops).take_back(count), isReduced))
    return {};
  return {loops, count};
}

/// Sums of the innermost loops are taken in registers.
void LoopEmitter::emitInnerSums(const Phase &phase, ArrayRef<int> parallel,
                                ArrayRef<int> reduced) {
  SmallVector<Value> sums;
  if (!parallel.empty())
    return emitForLoop(
        parallel.front(), {},
        [&](SmallVectorImpl<Value> &) {
          emitInnerSums(phase, parallel.drop_front(), reduced);
        },
        sums);
  SmallVector<OpResult> results;
  for (unsigned member : phase.members)
    llvm::append_range(
        results, linalg::GenericOp(shape.members[member].op)->getResults());
  for (OpResult result : results)
    sums.push_back(emitInit(shape.members[shape.findProducer(result)], result));
  innerSums.insert(results.begin(), results.end());
  emitNest(phase.members, reduced, sums);
  SmallVector<Store> stores;
  for (auto [result, value] : llvm::zip(results, sums))
    forEachPlace(
        shape.members[shape.findProducer(result)], result,
        [&, sum = value](Value address) { stores.push_back({sum, address}); });
  emitStores(stores);
}

/// Of a square's magnitudes, rows are compared element by element, as many as
/// the code stays short with: then one vector is left, and not one of each row,
/// in which to find the greatest. Of long rows, in which that matters less, few
/// are read at once: they often lie so far apart that they push each other out
/// of the first-level cache.
void LoopEmitter::joinRows(const Phase &phase, ArrayRef<int> reduced) {
  constexpr int64_t maxCount = 16, maxElements = 512;
  if (reduced.size() < 2 || phase.order || !isSharedSum(shape, phase) ||
      !llvm::all_of(phase.members, [&](unsigned member) {
        return isMagnitudeMaximum(shape.members[member]);
      }))
    return;
  int dim = reduced[reduced.size() - 2];
  int64_t columns = std::max<int64_t>(1, shape.sizes[reduced.back()]);
  for (int64_t count = std::min(maxCount, maxElements / columns); count > 1;
       --count)
    if (shape.sizes[dim] % count == 0) {
      together = {dim, count};
      return;
    }
}

/// The loops of a phase. Those over a few elements that lie next to each other,
/// and that no sum is over, come last, unrolled: what is around them is then a
/// vector's that reads and writes all in between.
static SmallVector<int> getPointLoops(const KernelShape &shape,
                                      const Phase &phase) {
  constexpr int64_t maxSize = 4;
  SmallVector<int> loops(phase.loops);
  if (phase.order)
    return loops;
  auto isNext = [&](int dim) {
    auto isSummed = [&](unsigned member) {
      return shape.members[member].reductionDims >> dim & 1;
    };
    auto hasNext = [&](unsigned member) {
      return llvm::any_of(
          shape.members[member].accesses,
          [&](const Access &access) { return access.strides[dim] == 1; });
    };
    return shape.sizes[dim] <= maxSize &&
           llvm::none_of(phase.members, isSummed) &&
           llvm::any_of(phase.members, hasNext);
  };
  std::stable_partition(loops.begin(), loops.end(),
                        [&](int dim) { return !isNext(dim); });
  return loops;
}

void LoopEmitter::emitPhase(const Phase &phase) {
  together = {};
  if (phase.order && !phase.order->isChain)
    return emitOrderedPhase(phase);
  if (auto [loops, count] = findInnerSums(phase); !loops.empty()) {
    ArrayRef<int> parallel(loops), reduced = parallel.take_back(count);
    joinRows(phase, reduced);
    startFetches(phase, parallel.drop_back(count));
    return emitInnerSums(phase, parallel.drop_back(count), reduced);
  }
  if (llvm::all_of(phase.loops, [&](int dim) {
        return shape.members[phase.members.front()].reductionDims >> dim & 1;
      }))
    joinRows(phase, phase.loops);
  emitInits(phase);
  SmallVector<OpResult> results = getCarried(phase);
  SmallVector<Value> carried;
  for (OpResult result : results)
    carried.push_back(
        emitInit(shape.members[shape.findProducer(result)], result));
  SmallVector<int> loops = getPointLoops(shape, phase);
  startFetches(phase, loops);
  emitNest(phase.members, loops, carried);
  for (auto [result, value] : llvm::zip(results, carried)) {
    scalars.map(result, value);
    forEachPlace(
        shape.members[shape.findProducer(result)], result,
        [&](Value address) { emitStore(builder, loc, value, address); });
  }
}

void LoopEmitter::emitRowIndex(Value row, MutableArrayRef<Value> places) {
  for (int i = shape.rows.size() - 1; i > 0; --i) {
    Value size = emitInt(builder, loc, shape.sizes[shape.rows[i]]);
    places[i] = arith::RemUIOp::create(builder, loc, row, size);
    row = arith::DivUIOp::create(builder, loc, row, size);
  }
  if (!places.empty())
    places[0] = row;
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
  Value row = loop.getInductionVar();
  SmallVector<Value> places(shape.rows.size());
  emitRowIndex(row, places);
  for (auto [dim, place] : llvm::zip(shape.rows, places))
    index[dim] = place;
  if (shape.phases.size() > 1) {
    Value next =
        arith::AddIOp::create(builder, loc, row, emitInt(builder, loc, 1));
    nextRow.resize(places.size());
    emitRowIndex(next, nextRow);
  }
  for (const Phase &phase : shape.phases)
    emitPhase(phase);
}

void LoopEmitter::run() {
  LLVM::LLVMFuncOp func = kernel.func;
  builder.setInsertionPointToEnd(&func.getBody().front());
  mapEntryOps();
  allocateScratch();
  emitRows();
  LLVM::ReturnOp::create(builder, loc, ValueRange());
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

/// Buffers of a kernel whose body may become part of its entry. Inlining makes
/// scopes of arguments that do not alias: each access then lists those of all
/// other buffers, and LLVM goes through the lists for each pair of accesses.
constexpr unsigned kMaxInlinedBuffers = 16;

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
  body.setNoInline(numBuffers > kMaxInlinedBuffers);
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

void mlir::weft::emitKernel(rt::FusedOp op, const KernelShape &shape,
                            const KernelFunction &kernel,
                            ArrayRef<unsigned> bufferOf) {
  LoopEmitter(op, shape, kernel, bufferOf).run();
}
