// SPDX-License-Identifier: Apache-2.0

// Points whose inputs lie across their outputs. A block takes tiles of 32x32
// points. Its threads bring what an input has for a tile to shared memory, side
// by side as it lies there, wait for each other, and compute the points side by
// side as outputs lie. Rows of the tile in shared memory are one element longer
// than they need be: so neighbours of both kinds are in banks of their own.

#include "DeviceKernel.h"
#include "weft/Codegen/Program/EmitMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Points of a tile along each of its dims, and the rows of threads of a block.
constexpr int64_t kTile = 32, kThreadRows = kBlockThreads / kTile;
/// Less than this along a dim is no reason for tiles.
constexpr int64_t kLeastSize = 16;
/// What tiles of all inputs of a kernel may have of shared memory.
constexpr int64_t kTilesShared = 36 << 10;

/// An input that lies across the outputs.
struct Across {
  OpOperand *operand;
  /// The first byte of its tile in shared memory.
  int64_t place;
};

/// The dims of the tiles: outputs are contiguous along `along`, the inputs
/// along `across`.
struct Tiling {
  int along = -1, across = -1;
  SmallVector<Across> inputs;
  int64_t sharedBytes = 0;
};

/// The dim along which all outputs lie side by side; -1 if there is none.
int findOutputDim(const KernelShape &shape) {
  int found = -1;
  for (const Member &member : shape.members) {
    linalg::GenericOp op = member.op;
    for (OpResult result : op->getResults()) {
      if (llvm::none_of(result.getUsers(), llvm::IsaPred<rt::YieldOp>))
        continue;
      const Access &access =
          member.accesses[op.getNumDpsInputs() + result.getResultNumber()];
      auto *it = llvm::find(access.strides, 1);
      int dim = it == access.strides.end() ? -1 : it - access.strides.begin();
      if (dim < 0 || (found >= 0 && dim != found))
        return -1;
      found = dim;
    }
  }
  return found;
}

/// The dim along which the input lies side by side, if it is across `along`.
int findAcross(const KernelShape &shape, const Member &member,
               OpOperand &operand, int along) {
  if (!isa<BlockArgument>(operand.get()) ||
      !isa<RankedTensorType>(operand.get().getType()))
    return -1;
  ArrayRef<int64_t> strides =
      member.accesses[operand.getOperandNumber()].strides;
  if (strides[along] <= 1)
    return -1;
  for (auto [dim, stride] : llvm::enumerate(strides))
    if (stride == 1 && shape.sizes[dim] >= kLeastSize)
      return dim;
  return -1;
}

Tiling findTiling(const KernelShape &shape) {
  Tiling tiling;
  tiling.along = findOutputDim(shape);
  if (tiling.along < 0 || shape.sizes[tiling.along] < kLeastSize)
    return tiling;
  for (const Member &member : shape.members) {
    linalg::GenericOp op = member.op;
    for (OpOperand *operand : op.getDpsInputOperands()) {
      int dim = findAcross(shape, member, *operand, tiling.along);
      if (dim < 0 || (tiling.across >= 0 && dim != tiling.across))
        continue;
      int64_t bytes = kTile * (kTile + 1) *
                      rt::getElementBytes(getElementTypeOrSelf(operand->get()));
      int64_t place = llvm::alignTo(tiling.sharedBytes, 16);
      if (place + bytes > kTilesShared)
        continue;
      tiling.across = dim;
      tiling.inputs.push_back({operand, place});
      tiling.sharedBytes = place + bytes;
    }
  }
  return tiling;
}

class TransposeKernel : PointEmitter {
public:
  TransposeKernel(rt::FusedOp op, const KernelShape &shape, Tiling tiling,
                  const DeviceKernel &kernel, ArrayRef<unsigned> bufferOf)
      : PointEmitter(op, shape, kernel, bufferOf,
                     OpBuilder::atBlockEnd(
                         &LLVM::LLVMFuncOp(kernel.func).getBody().front())),
        kernel(kernel), tiling(std::move(tiling)) {}

  rt::LaunchConfig run();

private:
  Value emitOperand(const Member &member, OpOperand &operand) override;
  void emitTile(Value tile);
  void emitRows(int fast, int slow, function_ref<void()> body);
  void bringInputs();
  Value getAddress(const Across &input);
  int64_t countTiles(int dim) {
    return llvm::divideCeil(shape.sizes[dim], kTile);
  }
  Value number(int64_t value) { return emitInt(builder, loc, value); }

  const DeviceKernel &kernel;
  const Tiling tiling;
  /// The dims that are no tile's, outermost first.
  SmallVector<int> outer;
  Value shared, column, row, firstAlong, firstAcross;
};

/// Where the current point of the tile is in shared memory.
Value TransposeKernel::getAddress(const Across &input) {
  Value y = arith::SubIOp::create(builder, loc, index[tiling.along],
                                  firstAlong),
        x = arith::SubIOp::create(builder, loc, index[tiling.across],
                                  firstAcross);
  Value place = arith::AddIOp::create(
      builder, loc, arith::MulIOp::create(builder, loc, y, number(kTile + 1)),
      x);
  Value begin =
      LLVM::GEPOp::create(builder, loc, shared.getType(), builder.getI8Type(),
                          shared, ArrayRef<LLVM::GEPArg>{int32_t(input.place)});
  return emitAddress(builder, loc, begin,
                     getElementTypeOrSelf(input.operand->get()), place);
}

Value TransposeKernel::emitOperand(const Member &member, OpOperand &operand) {
  for (const Across &input : tiling.inputs)
    if (input.operand == &operand)
      return emitLoad(builder, loc, getElementTypeOrSelf(operand.get()),
                      getAddress(input));
  return PointEmitter::emitOperand(member, operand);
}

/// Visits the points of the tile, of which threads side by side are at
/// neighbours along `fast`.
void TransposeKernel::emitRows(int fast, int slow, function_ref<void()> body) {
  auto firstOf = [&](int dim) {
    return dim == tiling.along ? firstAlong : firstAcross;
  };
  auto loop =
      scf::ForOp::create(builder, loc, row, number(kTile), number(kThreadRows));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  index[fast] = arith::AddIOp::create(builder, loc, firstOf(fast), column);
  index[slow] = arith::AddIOp::create(builder, loc, firstOf(slow),
                                      loop.getInductionVar());
  Value isInside;
  for (int dim : {fast, slow}) {
    if (shape.sizes[dim] % kTile == 0)
      continue;
    Value isBelow =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                              index[dim], number(shape.sizes[dim]));
    isInside = isInside ? arith::AndIOp::create(builder, loc, isInside, isBelow)
                        : isBelow;
  }
  if (isInside) {
    auto guarded =
        scf::IfOp::create(builder, loc, isInside, /*withElseRegion=*/false);
    builder.setInsertionPoint(guarded.thenYield());
  }
  body();
}

void TransposeKernel::bringInputs() {
  emitRows(tiling.across, tiling.along, [&] {
    for (const Across &input : tiling.inputs) {
      const Member &member =
          *llvm::find_if(shape.members, [&](const Member &one) {
            return one.op == input.operand->getOwner();
          });
      emitStore(builder, loc, PointEmitter::emitOperand(member, *input.operand),
                getAddress(input));
    }
  });
}

void TransposeKernel::emitTile(Value tile) {
  Value rest = tile;
  auto take = [&](int64_t count) {
    Value one = arith::RemUIOp::create(builder, loc, rest, number(count));
    rest = arith::DivUIOp::create(builder, loc, rest, number(count));
    return one;
  };
  auto first = [&](int dim) {
    return arith::MulIOp::create(builder, loc, take(countTiles(dim)),
                                 number(kTile));
  };
  firstAlong = first(tiling.along);
  firstAcross = first(tiling.across);
  for (int dim : llvm::reverse(outer))
    index[dim] = take(shape.sizes[dim]);
  bringInputs();
  emitBlockBarrier(builder, loc);
  emitRows(tiling.along, tiling.across, [&] {
    SmallVector<Store> stores;
    emitMembers(shape.phases.front().members, {}, stores);
    emitStores(stores);
  });
  // The next tile is brought to the same place.
  emitBlockBarrier(builder, loc);
}

rt::LaunchConfig TransposeKernel::run() {
  int64_t numTiles = countTiles(tiling.along) * countTiles(tiling.across);
  for (ArrayRef<int> dims :
       {ArrayRef<int>(shape.rows), ArrayRef<int>(shape.phases.front().loops)})
    for (int dim : dims)
      if (dim != tiling.along && dim != tiling.across) {
        outer.push_back(dim);
        numTiles *= shape.sizes[dim];
      }
  int64_t numBlocks = std::clamp<int64_t>(numTiles, 1, kMaxBlocks);
  if (numTiles > 0) {
    mapEntryOps();
    shared = emitSharedMemory(builder, loc, kernel, tiling.sharedBytes);
    Value thread = emitThread(builder, loc);
    column = arith::RemUIOp::create(builder, loc, thread, number(kTile));
    row = arith::DivUIOp::create(builder, loc, thread, number(kTile));
    auto loop =
        scf::ForOp::create(builder, loc, emitBlock(builder, loc, kernel),
                           number(numTiles), number(numBlocks));
    builder.setInsertionPointToStart(loop.getBody());
    emitTile(loop.getInductionVar());
    builder.setInsertionPointAfter(loop);
  }
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return setLaunch(kernel, numBlocks, kBlockThreads);
}

} // namespace

bool mlir::weft::hasTransposedInput(const KernelShape &shape) {
  return findTiling(shape).across >= 0;
}

rt::LaunchConfig mlir::weft::emitTransposeKernel(rt::FusedOp op,
                                                 const KernelShape &shape,
                                                 const DeviceKernel &kernel,
                                                 ArrayRef<unsigned> bufferOf) {
  return TransposeKernel(op, shape, findTiling(shape), kernel, bufferOf).run();
}
