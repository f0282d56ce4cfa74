// SPDX-License-Identifier: Apache-2.0

// A loop over a block of few elements is a short vector's. Several blocks that
// lie next to each other are walked as one, and what there is once for each
// block is chosen by the element.

#include "KernelLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::weft;

/// Elements that are worth a vector.
static constexpr int64_t kVector = 16;

/// Whether `operand` is the same in all of a block.
bool LoopEmitter::isOfBlocks(const Member &member, OpOperand &operand) {
  Value value = operand.get();
  if (!isa<RankedTensorType>(value.getType()) ||
      value.getDefiningOp<linalg::FillOp>() || shape.isForwarded(value, member))
    return false;
  const Access &access = member.accesses[operand.getOperandNumber()];
  return access.strides[blocks.outer] != 0 && access.strides[blocks.inner] == 0;
}

Value LoopEmitter::emitOperand(const Member &member, OpOperand &operand) {
  Value value = PointEmitter::emitOperand(member, operand);
  if (blocks.count == 1 || !isOfBlocks(member, operand))
    return value;
  Value first = index[blocks.outer];
  for (int64_t i = 1; i < blocks.count; ++i) {
    index[blocks.outer] =
        arith::AddIOp::create(builder, loc, first, emitInt(builder, loc, i));
    Value end = emitInt(builder, loc, i * shape.sizes[blocks.inner]);
    Value isPast = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::uge, index[blocks.inner], end);
    value = arith::SelectOp::create(builder, loc, isPast,
                                    PointEmitter::emitOperand(member, operand),
                                    value);
  }
  index[blocks.outer] = first;
  return value;
}

/// Whether all that a member reads and writes is either once for each block, or
/// lies block by block; and the member asks not where in them it is.
bool LoopEmitter::mayJoinBlocks(const Member &member, int outer, int inner) {
  uint64_t both = uint64_t(1) << outer | uint64_t(1) << inner;
  linalg::GenericOp op = member.op;
  bool asks = false;
  op.getBody()->walk([&](linalg::IndexOp place) {
    int dim = member.dims[place.getDim()];
    asks |= both >> dim & 1;
    for (int part : shape.innerParts.lookup(dim))
      asks |= both >> part & 1;
  });
  if (asks || (member.loopDims & both) != both || member.reductionDims & both)
    return false;
  auto liesByBlock = [&](const Access &access) {
    return access.strides[outer] == access.strides[inner] * shape.sizes[inner];
  };
  auto isKept = [&](Value value) {
    return scratch.count(value) && (shape.valueDims.lookup(value) >> inner & 1);
  };
  // What an earlier phase made is read where that wrote it.
  auto getPlaces = [&](Value value, const Access &access) {
    int from = shape.findProducer(value);
    return from < 0 ? access
                    : getWritten(shape.members[from], cast<OpResult>(value));
  };
  unsigned numInputs = op.getNumDpsInputs();
  for (auto [i, access] : llvm::enumerate(member.accesses)) {
    bool isResult = i >= numInputs;
    Value value = isResult ? op->getResult(i - numInputs) : op->getOperand(i);
    Access places = getPlaces(value, access);
    if (isKept(value) ||
        !(liesByBlock(places) || (!isResult && places.strides[inner] == 0)))
      return false;
  }
  return llvm::all_of(member.initAccesses, liesByBlock);
}

void LoopEmitter::joinBlocks(const Phase &phase, ArrayRef<int> loops) {
  auto isSmall = [&](int dim) { return shape.sizes[dim] <= 4; };
  while (!loops.empty() && isSmall(loops.back()))
    loops = loops.drop_back();
  // What threads share out are elements, not blocks.
  if (loops.size() < 2 || phase.order || together.count > 1 ||
      shape.cutDim >= 0)
    return;
  int inner = loops.back(), outer = loops[loops.size() - 2];
  int64_t size = std::max<int64_t>(shape.sizes[inner], 1);
  int64_t count = kVector / size;
  if (count < 2 || kVector % size != 0 || shape.sizes[outer] % count != 0 ||
      !llvm::all_of(
          phase.members,
          [&](unsigned member) {
            return mayJoinBlocks(shape.members[member], outer, inner);
          }))
    return;
  blocks = {outer, inner, count};
}
