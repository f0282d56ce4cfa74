// SPDX-License-Identifier: Apache-2.0

// Scatters without atomics. Rows of the table are dealt out to groups of
// blocks, by their numbers' last bits; the threads of a group have an element
// of the rows each. A block looks at the indices of as many updates at a time
// as it has threads, and goes through those that are of its rows one by one:
// each element's updates are added in their order, which is the host's. Where
// an update goes to other rows for other elements, each thread walks all
// updates of its element.

#include "DeviceKernel.h"
#include "weft/Codegen/Kernels/ScatterEmitter.h"
#include "weft/Codegen/Program/EmitMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::weft;

/// Blocks that keep a GPU busy, and the updates that a group is worth.
static constexpr int64_t kManyBlocks = 1024, kFewUpdates = 16;

namespace {

class ScatterKernel {
public:
  ScatterKernel(rt::ScatterAddOp op, const DeviceKernel &kernel,
                ArrayRef<unsigned> bufferOf);

  rt::LaunchConfig run();

private:
  void emitElements(Value chunk);
  void findOwn(Value base);
  void addOwn(Value base);
  void addUpdate(Value base, Value place);
  void setIndex(Value flat, int64_t count, ArrayRef<int> dims);
  Value number(int64_t value) { return emitInt(builder, loc, value); }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  Value getAddress(Value array, Type element, Value place) {
    return emitAddress(builder, loc, array, element, place);
  }

  rt::ScatterAddOp op;
  const DeviceKernel &kernel;
  Location loc;
  OpBuilder builder;
  MemRefType type;
  ScatterEmitter emitter;
  SmallVector<int> elementDims, updateDims;
  int64_t numElements = 1, numUpdates = 1, numGroups = 1;
  /// In shared memory: the rows of the updates that the block looks at, and,
  /// for each warp, bits that say which are the block's.
  Value rows, masks;
  Value thread, group, isElement;
};

ScatterKernel::ScatterKernel(rt::ScatterAddOp op, const DeviceKernel &kernel,
                             ArrayRef<unsigned> bufferOf)
    : op(op), kernel(kernel), loc(op.getLoc()),
      builder(OpBuilder::atBlockEnd(
          &LLVM::LLVMFuncOp(kernel.func).getBody().front())),
      type(op.getUpdates().getType()), emitter(builder, op, kernel, bufferOf),
      elementDims(getScatterDims(op)) {
  for (int dim = 0; dim < type.getRank(); ++dim) {
    bool isElements = llvm::is_contained(elementDims, dim);
    (isElements ? numElements : numUpdates) *= type.getDimSize(dim);
    if (!isElements)
      updateDims.push_back(dim);
  }
}

void ScatterKernel::setIndex(Value flat, int64_t count, ArrayRef<int> dims) {
  emitDelinearize(builder, loc, flat, count, dims, type.getShape(),
                  /*width=*/1, emitter.index);
}

/// Notes which of the updates from `base` on are of the block's rows: each
/// thread looks at one.
void ScatterKernel::findOwn(Value base) {
  Type i32 = builder.getI32Type();
  Value place = arith::AddIOp::create(builder, loc, base, thread);
  Value last = number(numUpdates - 1);
  setIndex(arith::MinSIOp::create(builder, loc, place, last), numUpdates,
           updateDims);
  Value row = emitter.emitRow();
  Value isOwn =
      arith::AndIOp::create(builder, loc, emitter.emitIsInside(row),
                            compare(arith::CmpIPredicate::sle, place, last));
  Value rowsGroup =
      arith::AndIOp::create(builder, loc, row, number(numGroups - 1));
  isOwn = arith::AndIOp::create(
      builder, loc, isOwn, compare(arith::CmpIPredicate::eq, rowsGroup, group));
  Value lane = arith::AndIOp::create(builder, loc, thread, number(kWarp - 1));
  Value mask = arith::ShLIOp::create(
      builder, loc, arith::ExtUIOp::create(builder, loc, i32, isOwn),
      arith::TruncIOp::create(builder, loc, i32, lane));
  for (int64_t distance = kWarp / 2; distance > 0; distance /= 2)
    mask = arith::OrIOp::create(builder, loc, mask,
                                emitShuffle(builder, loc, mask, distance));
  emitBlockBarrier(builder, loc); // all have read what was there
  emitStore(builder, loc, row, getAddress(rows, builder.getI64Type(), thread));
  auto isFirst = scf::IfOp::create(
      builder, loc, compare(arith::CmpIPredicate::eq, lane, number(0)),
      /*withElse=*/false);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(isFirst.thenBlock());
    Value warp = arith::DivUIOp::create(builder, loc, thread, number(kWarp));
    emitStore(builder, loc, mask, getAddress(masks, i32, warp));
  }
  emitBlockBarrier(builder, loc);
}

void ScatterKernel::addUpdate(Value base, Value place) {
  Value row = emitLoad(builder, loc, builder.getI64Type(),
                       getAddress(rows, builder.getI64Type(), place));
  setIndex(arith::AddIOp::create(builder, loc, base, place), numUpdates,
           updateDims);
  auto branch = scf::IfOp::create(builder, loc, isElement, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  emitter.emitUpdate(row);
}

/// Adds the updates that were found, in their order: for each warp, bit by bit.
void ScatterKernel::addOwn(Value base) {
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  auto warps = scf::ForOp::create(builder, loc, number(0),
                                  number(kBlockThreads / kWarp), number(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(warps.getBody());
  Value warp = warps.getInductionVar();
  Value found = emitLoad(builder, loc, i32, getAddress(masks, i32, warp));
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  };
  scf::WhileOp::create(
      builder, loc, i32, found,
      [&](OpBuilder &, Location, ValueRange left) {
        Value isLeft =
            compare(arith::CmpIPredicate::ne, left.front(), constant(0));
        scf::ConditionOp::create(builder, loc, isLeft, left);
      },
      [&](OpBuilder &, Location, ValueRange left) {
        Value bit = LLVM::CountTrailingZerosOp::create(
            builder, loc, i32, left.front(), /*is_zero_poison=*/false);
        Value place = arith::AddIOp::create(
            builder, loc,
            arith::MulIOp::create(builder, loc, warp, number(kWarp)),
            arith::ExtUIOp::create(builder, loc, i64, bit));
        addUpdate(base, place);
        Value less =
            arith::SubIOp::create(builder, loc, left.front(), constant(1));
        Value rest = arith::AndIOp::create(builder, loc, left.front(), less);
        scf::YieldOp::create(builder, loc, rest);
      });
}

/// A block's width of elements, with all updates.
void ScatterKernel::emitElements(Value chunk) {
  Value element = arith::AddIOp::create(
      builder, loc,
      arith::MulIOp::create(builder, loc, chunk, number(kBlockThreads)),
      thread);
  isElement = compare(arith::CmpIPredicate::ult, element, number(numElements));
  setIndex(element, numElements, elementDims);
  auto loop = scf::ForOp::create(builder, loc, number(0), number(numUpdates),
                                 number(kBlockThreads));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  findOwn(loop.getInductionVar());
  addOwn(loop.getInductionVar());
}

rt::LaunchConfig ScatterKernel::run() {
  int64_t numChunks = llvm::divideCeil(numElements, kBlockThreads);
  int64_t columns = std::clamp<int64_t>(numChunks, 1, kMaxBlocks);
  numGroups = llvm::bit_floor(uint64_t(
      std::clamp<int64_t>(kManyBlocks / columns, 1,
                          std::max<int64_t>(1, numUpdates / kFewUpdates))));
  if (numElements > 0 && numUpdates > 0) {
    thread = emitThread(builder, loc);
    constexpr int64_t rowBytes = kBlockThreads * sizeof(int64_t);
    rows = emitSharedMemory(builder, loc, kernel,
                            rowBytes + kBlockThreads / kWarp * 4);
    masks =
        LLVM::GEPOp::create(builder, loc, rows.getType(), builder.getI8Type(),
                            rows, ArrayRef<LLVM::GEPArg>{int32_t(rowBytes)});
    Value block = emitBlock(builder, loc, kernel);
    group = arith::RemUIOp::create(builder, loc, block, number(numGroups));
    Value first =
        arith::DivUIOp::create(builder, loc, block, number(numGroups));
    auto loop = scf::ForOp::create(builder, loc, first, number(numChunks),
                                   number(columns));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    emitElements(loop.getInductionVar());
  }
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return setLaunch(kernel, columns * numGroups, kBlockThreads);
}

/// Says whether an index is of all elements of a row.
bool areOfRows(rt::ScatterAddOp op) {
  return llvm::none_of(getScatterDims(op), [&](unsigned dim) {
    return op.getIndexMap().isFunctionOfDim(dim);
  });
}

rt::LaunchConfig emitSerialKernel(rt::ScatterAddOp op,
                                  const DeviceKernel &kernel,
                                  ArrayRef<unsigned> bufferOf) {
  MemRefType updates = op.getUpdates().getType();
  Location loc = op.getLoc();
  LLVM::LLVMFuncOp func = kernel.func;
  auto builder = OpBuilder::atBlockEnd(&func.getBody().front());
  SmallVector<int> dims = getScatterDims(op);
  int64_t numElements = 1;
  for (int dim : dims)
    numElements *= updates.getDimSize(dim);
  int64_t numBlocks = getNumBlocks(numElements);
  auto loop =
      scf::ForOp::create(builder, loc, emitGridThread(builder, loc, kernel),
                         emitInt(builder, loc, numElements),
                         emitInt(builder, loc, numBlocks * kBlockThreads));
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> given(updates.getRank());
  emitDelinearize(builder, loc, loop.getInductionVar(), numElements, dims,
                  updates.getShape(), /*width=*/1, given);
  emitScatterLoops(builder, op, kernel, bufferOf, given, [&](int dim) {
    return std::pair(emitInt(builder, loc, 0),
                     emitInt(builder, loc, updates.getDimSize(dim)));
  });
  builder.setInsertionPointToEnd(&func.getBody().front());
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return setLaunch(kernel, numBlocks, kBlockThreads);
}

} // namespace

rt::LaunchConfig mlir::weft::emitScatterKernel(rt::ScatterAddOp op,
                                               const DeviceKernel &kernel,
                                               ArrayRef<unsigned> bufferOf) {
  if (!areOfRows(op))
    return emitSerialKernel(op, kernel, bufferOf);
  return ScatterKernel(op, kernel, bufferOf).run();
}
