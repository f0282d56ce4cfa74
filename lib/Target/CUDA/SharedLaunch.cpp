// SPDX-License-Identifier: Apache-2.0

// Launches of several kernels. Each part has blocks of its own, side by side in
// the grid. A block finds its part by its number, in a tree of comparisons, and
// calls the part's code with the part's buffers. Parts of the same code, such
// as updates of weights of one shape, are calls of one function, also from
// several launches.

#include "DeviceKernel.h"
#include "weft/Codegen/Program/EmitMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// A part, and which of the launch's blocks are its own.
struct Placed {
  const LaunchPart *part;
  int64_t begin;
};

class SharedLaunch {
public:
  SharedLaunch(OpBuilder &builder, Location loc, const DeviceKernel &kernel,
               unsigned numBuffers)
      : builder(builder), loc(loc), kernel(kernel),
        arguments(LLVM::LLVMFuncOp(kernel.func).getArguments()),
        numBuffers(numBuffers), block(emitBlock(builder, loc, kernel)) {}

  void emitChoice(ArrayRef<Placed> parts);

private:
  void emitCall(const Placed &placed);

  OpBuilder &builder;
  Location loc;
  const DeviceKernel &kernel;
  Block::BlockArgListType arguments;
  unsigned numBuffers;
  Value block;
};

void SharedLaunch::emitCall(const Placed &placed) {
  SmallVector<Value> operands;
  for (unsigned number : placed.part->bufferNumbers)
    operands.push_back(arguments[number]);
  for (unsigned number : placed.part->scalarNumbers)
    operands.push_back(arguments[numBuffers + number]);
  operands.push_back(arith::SubIOp::create(
      builder, loc, block, emitInt(builder, loc, placed.begin)));
  LLVM::CallOp::create(builder, loc, TypeRange(), placed.part->code->name,
                       operands);
}

/// The block is one of those of `parts`.
void SharedLaunch::emitChoice(ArrayRef<Placed> parts) {
  if (parts.size() == 1)
    return emitCall(parts.front());
  size_t half = parts.size() / 2;
  Value isBefore =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, block,
                            emitInt(builder, loc, parts[half].begin));
  auto choice =
      scf::IfOp::create(builder, loc, isBefore, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  emitChoice(parts.take_front(half));
  builder.setInsertionPointToStart(choice.elseBlock());
  emitChoice(parts.drop_front(half));
}

/// Whether buffers of parts overlap is said of each part's parameters.
SmallVector<bool> sayNothing(unsigned numBuffers) {
  return SmallVector<bool>(numBuffers, false);
}

} // namespace

FailureOr<rt::LaunchConfig> mlir::weft::emitSharedLaunch(
    OpBuilder &builder, ArrayRef<LaunchPart> parts, StringRef name,
    unsigned numBuffers, TypeRange scalars,
    llvm::function_ref<FailureOr<rt::LaunchConfig>(const LaunchPart &,
                                                   const DeviceKernel &)>
        emit) {
  Location loc = rt::FusedOp(parts.front().op).getLoc();
  DeviceKernel kernel =
      createDeviceKernel(builder, loc, name, sayNothing(numBuffers), scalars);
  SmallVector<Placed> placed;
  int64_t numBlocks = 0;
  for (const LaunchPart &part : parts) {
    rt::FusedOp op = part.op;
    if (part.code->numBlocks == 0) {
      DeviceKernel code =
          createDevicePart(builder, op.getLoc(), part.code->name,
                           part.buffers.isPrivate, op.getScalars().getTypes());
      code.areAligned = part.buffers.areAligned;
      FailureOr<rt::LaunchConfig> config = emit(part, code);
      if (failed(config))
        return failure();
      part.code->numBlocks = config->getNumbers()[0];
    }
    placed.push_back({&part, numBlocks});
    numBlocks += part.code->numBlocks;
  }
  OpBuilder inside(builder);
  inside.setInsertionPointToEnd(&kernel.func.getBody().front());
  SharedLaunch(inside, loc, kernel, numBuffers).emitChoice(placed);
  LLVM::ReturnOp::create(inside, loc, ValueRange());
  return setLaunch(kernel, numBlocks, kBlockThreads);
}
