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
  if (depth == phase.loops.size()) {
    SmallVector<Store> stores;
    emitMembers(phase.members, carried, stores);
    return emitStores(stores);
  }
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

/// The dim over which all members of the phase reduce a few elements, for each
/// point of all other loops; -1 if there is none.
int LoopEmitter::findShortSum(const Phase &phase) {
  constexpr int64_t maxSize = 4;
  uint64_t reduced = shape.members[phase.members.front()].reductionDims;
  uint64_t inner = 0;
  int found = -1;
  for (int dim : phase.loops) {
    inner |= uint64_t(1) << dim;
    if (reduced == uint64_t(1) << dim && shape.sizes[dim] <= maxSize)
      found = dim;
  }
  bool isShared = llvm::all_of(phase.members, [&](unsigned member) {
    return shape.members[member].reductionDims == reduced &&
           (inner & ~shape.members[member].loopDims) == 0;
  });
  return isShared && !phase.order && phase.loops.size() > 1 ? found : -1;
}

/// Sums of a few elements are taken in registers, as the innermost loop: the
/// one around it can be a vector's.
void LoopEmitter::emitShortSums(const Phase &phase, int dim) {
  SmallVector<OpResult> results;
  for (unsigned member : phase.members)
    llvm::append_range(
        results, linalg::GenericOp(shape.members[member].op)->getResults());
  shortSums.insert(results.begin(), results.end());
  SmallVector<int> loops(phase.loops);
  llvm::erase(loops, dim);
  std::function<void(unsigned)> nest = [&](unsigned depth) {
    SmallVector<Value> carried, sums;
    if (depth < loops.size())
      return emitForLoop(
          loops[depth], {}, [&](SmallVectorImpl<Value> &) { nest(depth + 1); },
          sums);
    for (OpResult result : results)
      carried.push_back(
          emitInit(shape.members[shape.findProducer(result)], result));
    SmallVector<Store> stores;
    emitForLoop(
        dim, carried,
        [&](SmallVectorImpl<Value> &values) {
          emitMembers(phase.members, values, stores);
        },
        sums);
    for (auto [result, value] : llvm::zip(results, sums))
      forEachPlace(shape.members[shape.findProducer(result)], result,
                   [&, sum = value](Value address) {
                     stores.push_back({sum, address});
                   });
    emitStores(stores);
  };
  nest(0);
}

void LoopEmitter::emitPhase(const Phase &phase) {
  if (phase.order && !phase.order->isChain)
    return emitOrderedPhase(phase);
  if (int dim = findShortSum(phase); dim >= 0)
    return emitShortSums(phase, dim);
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

void mlir::weft::emitKernel(rt::FusedOp op, const KernelShape &shape,
                            const KernelFunction &kernel,
                            ArrayRef<unsigned> bufferOf) {
  LoopEmitter(op, shape, kernel, bufferOf).run();
}
