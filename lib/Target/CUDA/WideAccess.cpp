// SPDX-License-Identifier: Apache-2.0

// What is known of addresses, LLVM finds out from the loops' indices: an access
// that turns out not to be aligned stays as it is.

#include "WideAccess.h"

#include "weft/Codegen/Program/EmitMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::weft;

/// What one access moves at most.
static constexpr int64_t kAccessBytes = 16;
/// The most points that a thread takes at once, and the ops of all of them.
static constexpr int64_t kMaxWidth = 8, kMaxOps = 512;

int64_t mlir::weft::getAccessWidth(const KernelShape &shape,
                                   ArrayRef<unsigned> members, int last) {
  int64_t bytes = 0, numOps = 0;
  for (unsigned i : members) {
    const Member &member = shape.members[i];
    linalg::GenericOp op = member.op;
    for (auto [access, operand] : llvm::zip(member.accesses, op->getOperands()))
      if (access.strides[last] == 1)
        bytes =
            std::max(bytes, rt::getElementBytes(getElementTypeOrSelf(operand)));
    op.getBody()->walk([&](Operation *) { ++numOps; });
  }
  int64_t width = bytes == 0 ? 1 : std::min(kAccessBytes / bytes, kMaxWidth);
  while (width > 1 &&
         (shape.sizes[last] % width != 0 || width * numOps > kMaxOps))
    width /= 2;
  return width;
}

int64_t mlir::weft::countWideInputs(const KernelShape &shape,
                                    ArrayRef<unsigned> members,
                                    ArrayRef<int> dims) {
  llvm::SmallDenseSet<Value> inputs;
  for (unsigned i : members) {
    const Member &member = shape.members[i];
    linalg::GenericOp op = member.op;
    for (OpOperand *operand : op.getDpsInputOperands()) {
      const Access &access = member.accesses[operand->getOperandNumber()];
      if (isa<BlockArgument>(operand->get()) && !dims.empty() &&
          access.strides[dims.front()] != 0 && access.strides[dims.back()] != 0)
        inputs.insert(operand->get());
    }
  }
  return inputs.size();
}

static Value emitIsAligned(OpBuilder &builder, Location loc,
                           const DeviceKernel &kernel) {
  Type i64 = builder.getI64Type();
  Value all = emitInt(builder, loc, 0);
  for (Value buffer : kernel.buffers)
    all = arith::OrIOp::create(
        builder, loc, all, LLVM::PtrToIntOp::create(builder, loc, i64, buffer));
  Value rest = arith::AndIOp::create(builder, loc, all,
                                     emitInt(builder, loc, kAccessBytes - 1));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rest,
                               emitInt(builder, loc, 0));
}

/// The buffers' addresses are multiples of what one access moves.
static void emitAlignment(OpBuilder &builder, Location loc,
                          const DeviceKernel &kernel) {
  Value yes = LLVM::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  Value bytes = emitInt(builder, loc, kAccessBytes);
  for (Value buffer : kernel.buffers)
    LLVM::AssumeOp::create(builder, loc, yes, LLVM::AssumeAlignTag(), buffer,
                           bytes);
}

void mlir::weft::emitByAlignment(OpBuilder &builder, Location loc,
                                 const DeviceKernel &kernel,
                                 function_ref<void(bool isAligned)> emit) {
  if (kernel.areAligned) {
    if (*kernel.areAligned)
      emitAlignment(builder, loc, kernel);
    return emit(*kernel.areAligned);
  }
  auto branch =
      scf::IfOp::create(builder, loc, emitIsAligned(builder, loc, kernel),
                        /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenYield());
  emitAlignment(builder, loc, kernel);
  emit(true);
  builder.setInsertionPoint(branch.elseYield());
  emit(false);
}

SmallVector<PointEmitter::Store>
mlir::weft::sortStores(ArrayRef<SmallVector<PointEmitter::Store>> ofPoints) {
  SmallVector<PointEmitter::Store> sorted;
  for (unsigned place = 0; place < ofPoints.front().size(); ++place)
    for (const SmallVector<PointEmitter::Store> &ofPoint : ofPoints)
      sorted.push_back(ofPoint[place]);
  return sorted;
}
