// SPDX-License-Identifier: Apache-2.0

// Points whose inputs lie across their outputs. A block takes tiles of 64x64
// points, or 32x32 of small tensors. Its threads bring what an input has for a
// tile to shared memory, side by side as it lies there, wait for each other,
// and compute the points side by side as outputs lie. Each does so for several
// points at once: it loads all of them before it stores any. Rows of the tile
// in shared memory are 4 bytes longer than they need be: so neighbours of both
// kinds are in banks of their own. Of elements of fewer bytes a thread takes
// squares, whose sides are 4 bytes; then as many rows together are longer.

#include "WideAccess.h"
#include "weft/Codegen/Program/EmitMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Points of a tile along each of its dims, if there are blocks enough.
constexpr int64_t kTile = 64, kSmallTile = 32, kManyTiles = 512;
/// The most ops of the points that a thread takes at once.
constexpr int64_t kMaxOps = 1024;
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
  int64_t size = kSmallTile;
};

/// What is moved at once.
constexpr int64_t kWordBytes = 4;

/// The elements by which rows of a tile in shared memory are longer.
int64_t getPadding(Type element) {
  return std::max<int64_t>(1, kWordBytes / rt::getElementBytes(element));
}

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

Tiling findTiling(const KernelShape &shape, int64_t size) {
  Tiling tiling;
  tiling.size = size;
  tiling.along = findOutputDim(shape);
  if (tiling.along < 0 || shape.sizes[tiling.along] < kLeastSize)
    return tiling;
  for (const Member &member : shape.members) {
    linalg::GenericOp op = member.op;
    for (OpOperand *operand : op.getDpsInputOperands()) {
      int dim = findAcross(shape, member, *operand, tiling.along);
      if (dim < 0 || (tiling.across >= 0 && dim != tiling.across))
        continue;
      Type element = getElementTypeOrSelf(operand->get());
      int64_t bytes =
          size * (size + getPadding(element)) * rt::getElementBytes(element);
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

/// Large tiles, if all inputs have a place and tiles are many.
Tiling findTiling(const KernelShape &shape) {
  Tiling small = findTiling(shape, kSmallTile);
  if (small.across < 0)
    return small;
  int64_t numTiles = 1;
  for (auto [dim, size] : llvm::enumerate(shape.sizes)) {
    bool isTiled = int(dim) == small.along || int(dim) == small.across;
    if (isTiled && size < kTile)
      return small;
    numTiles *= isTiled ? llvm::divideCeil(size, kTile) : size;
  }
  Tiling large = findTiling(shape, kTile);
  bool areAllThere = large.inputs.size() == small.inputs.size();
  return numTiles >= kManyTiles && areAllThere ? large : small;
}

/// The side of squares that a thread takes, if buffers are aligned: all that
/// lies across, and all outputs, have no larger elements than fit it.
int64_t getSide(const KernelShape &shape, const Tiling &tiling) {
  int64_t bytes = 1;
  for (const Across &input : tiling.inputs)
    bytes = std::max(
        bytes, rt::getElementBytes(getElementTypeOrSelf(input.operand->get())));
  for (const Member &member : shape.members)
    for (OpResult result : linalg::GenericOp(member.op)->getResults())
      if (llvm::any_of(result.getUsers(), llvm::IsaPred<rt::YieldOp>))
        bytes =
            std::max(bytes, rt::getElementBytes(getElementTypeOrSelf(result)));
  int64_t side = std::max<int64_t>(1, kWordBytes / bytes);
  // Each thread of a block has one at least.
  auto countSquares = [&] {
    return (tiling.size / side) * (tiling.size / side);
  };
  while (countSquares() < kBlockThreads)
    side /= 2;
  bool isWhole = shape.sizes[tiling.along] % side == 0 &&
                 shape.sizes[tiling.across] % side == 0;
  return isWhole ? side : 1;
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
  using Points = function_ref<void(int64_t count, function_ref<void(int64_t)>)>;
  void forEachRun(int fast, int slow, Points body);
  void goTo(int fast, int slow, Value place, int64_t number);
  void emitTiles();
  void bringInputs();
  void computePoints();
  /// Squares of a tile side by side, and the rows of them that a block takes.
  int64_t getSquares() { return tiling.size / side; }
  int64_t getThreadRows() { return kBlockThreads / getSquares(); }
  Value getAddress(const Across &input);
  int64_t countTiles(int dim) {
    return llvm::divideCeil(shape.sizes[dim], tiling.size);
  }
  Value number(int64_t value) { return emitInt(builder, loc, value); }

  const DeviceKernel &kernel;
  const Tiling tiling;
  /// The dims that are no tile's, outermost first.
  SmallVector<int> outer;
  int64_t numTiles = 1, numBlocks = 1;
  /// The side of the thread's squares.
  int64_t side = 1;
  Value shared, column, row, firstAlong, firstAcross;
  /// Of the current point: its square in the tile; whether the tensors have it,
  /// if that is to be asked. Its place in the square.
  Value squareAlong, squareAcross, isInside;
  int64_t inAlong = 0, inAcross = 0;
};

/// Where the current point of the tile is in shared memory.
Value TransposeKernel::getAddress(const Across &input) {
  Type element = getElementTypeOrSelf(input.operand->get());
  auto multiply = [&](Value value, int64_t factor) -> Value {
    return arith::MulIOp::create(builder, loc, value, number(factor));
  };
  Value place = arith::AddIOp::create(
      builder, loc,
      multiply(squareAlong, side * tiling.size + getPadding(element)),
      multiply(squareAcross, side));
  place = arith::AddIOp::create(builder, loc, place,
                                number(inAlong * tiling.size + inAcross));
  Value begin =
      LLVM::GEPOp::create(builder, loc, shared.getType(), builder.getI8Type(),
                          shared, ArrayRef<LLVM::GEPArg>{int32_t(input.place)});
  return emitAddress(builder, loc, begin, element, place);
}

Value TransposeKernel::emitOperand(const Member &member, OpOperand &operand) {
  for (const Across &input : tiling.inputs)
    if (input.operand == &operand)
      return emitLoad(builder, loc, getElementTypeOrSelf(operand.get()),
                      getAddress(input));
  return PointEmitter::emitOperand(member, operand);
}

/// Goes to a point of the thread: its square's place along `slow` is so many
/// runs of threads after `place`. After the tensors' ends it is their last one.
void TransposeKernel::goTo(int fast, int slow, Value place, int64_t number) {
  isInside = {};
  int64_t inSquare = number % (side * side), run = number / (side * side);
  for (int dim : {fast, slow}) {
    Value square = dim == fast ? column : place;
    if (dim == slow && run > 0)
      square = arith::AddIOp::create(builder, loc, square,
                                     this->number(run * getThreadRows()));
    bool isAlong = dim == tiling.along;
    int64_t in = dim == fast ? inSquare % side : inSquare / side;
    (isAlong ? squareAlong : squareAcross) = square;
    (isAlong ? inAlong : inAcross) = in;
    Value &place = index[dim];
    place = arith::AddIOp::create(
        builder, loc, isAlong ? firstAlong : firstAcross,
        arith::MulIOp::create(builder, loc, square, this->number(side)));
    int64_t size = shape.sizes[dim];
    if (size % tiling.size != 0) {
      Value isBelow = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::slt, place, this->number(size));
      place = arith::MinSIOp::create(builder, loc, place,
                                     this->number(size - side));
      isInside = isInside
                     ? arith::AndIOp::create(builder, loc, isInside, isBelow)
                     : isBelow;
    }
    place = arith::AddIOp::create(builder, loc, place, this->number(in));
  }
}

/// Visits the points of the tile, of which threads side by side are at
/// neighbours along `fast`: `body` gets how many it is to take at once, which
/// are whole squares, and how to go to each.
void TransposeKernel::forEachRun(int fast, int slow, Points body) {
  int64_t numOps = 0, atOnce = getSquares() / getThreadRows();
  int64_t points = side * side;
  for (const Member &member : shape.members)
    linalg::GenericOp(member.op).getBody()->walk(
        [&](Operation *) { ++numOps; });
  while (atOnce > 1 && atOnce * points * numOps > kMaxOps)
    atOnce /= 2;
  auto take = [&](Value place) {
    body(atOnce * points, [&](int64_t i) { goTo(fast, slow, place, i); });
  };
  int64_t run = getThreadRows() * atOnce;
  if (run == getSquares())
    return take(row);
  auto loop =
      scf::ForOp::create(builder, loc, row, number(getSquares()), number(run));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  take(loop.getInductionVar());
}

void TransposeKernel::bringInputs() {
  forEachRun(tiling.across, tiling.along,
             [&](int64_t count, function_ref<void(int64_t)> goToPoint) {
               SmallVector<Store> stores;
               for (int64_t i = 0; i < count; ++i) {
                 goToPoint(i);
                 for (const Across &input : tiling.inputs) {
                   const Member &member =
                       *llvm::find_if(shape.members, [&](const Member &one) {
                         return one.op == input.operand->getOwner();
                       });
                   stores.push_back(
                       {PointEmitter::emitOperand(member, *input.operand),
                        getAddress(input)});
                 }
               }
               emitStores(stores);
             });
}

void TransposeKernel::computePoints() {
  forEachRun(tiling.along, tiling.across,
             [&](int64_t count, function_ref<void(int64_t)> goToPoint) {
               SmallVector<std::pair<Value, SmallVector<Store>>> ofSquares;
               for (int64_t i = 0; i < count; ++i) {
                 goToPoint(i);
                 if (i % (side * side) == 0)
                   ofSquares.push_back({isInside, {}});
                 emitMembers(shape.phases.front().members, {},
                             ofSquares.back().second);
               }
               for (auto &[isThere, stores] : ofSquares) {
                 OpBuilder::InsertionGuard guard(builder);
                 if (isThere) {
                   auto guarded =
                       scf::IfOp::create(builder, loc, isThere, /*else=*/false);
                   builder.setInsertionPoint(guarded.thenYield());
                 }
                 emitStores(stores);
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
                                 number(tiling.size));
  };
  firstAlong = first(tiling.along);
  firstAcross = first(tiling.across);
  for (int dim : llvm::reverse(outer))
    index[dim] = take(shape.sizes[dim]);
  bringInputs();
  emitBlockBarrier(builder, loc);
  computePoints();
}

void TransposeKernel::emitTiles() {
  Value thread = emitThread(builder, loc);
  column = arith::RemUIOp::create(builder, loc, thread, number(getSquares()));
  row = arith::DivUIOp::create(builder, loc, thread, number(getSquares()));
  auto loop = scf::ForOp::create(builder, loc, emitBlock(builder, loc, kernel),
                                 number(numTiles), number(numBlocks));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  emitTile(loop.getInductionVar());
  // The next tile is brought to the same place.
  if (numBlocks < numTiles)
    emitBlockBarrier(builder, loc);
}

rt::LaunchConfig TransposeKernel::run() {
  numTiles = countTiles(tiling.along) * countTiles(tiling.across);
  for (ArrayRef<int> dims :
       {ArrayRef<int>(shape.rows), ArrayRef<int>(shape.phases.front().loops)})
    for (int dim : dims)
      if (dim != tiling.along && dim != tiling.across) {
        outer.push_back(dim);
        numTiles *= shape.sizes[dim];
      }
  numBlocks = std::clamp<int64_t>(numTiles, 1, kMaxBlocks);
  if (numTiles > 0) {
    mapEntryOps();
    shared = emitSharedMemory(builder, loc, kernel, tiling.sharedBytes);
    int64_t wide = getSide(shape, tiling);
    auto emit = [&](bool isAligned) {
      side = isAligned ? wide : 1;
      emitTiles();
    };
    if (wide == 1)
      emit(false);
    else
      emitByAlignment(builder, loc, kernel, emit);
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
