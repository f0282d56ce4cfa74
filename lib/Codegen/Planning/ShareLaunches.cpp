// SPDX-License-Identifier: Apache-2.0

// One walk over each block. A kernel joins those right before it if
// nothing but them lies between that does anything, if it touches nothing that
// one of them writes and writes nothing that one of them touches, and if the
// launch has room for what it takes.

#include "weft/Codegen/Planning/Passes.h"

#include "weft/Analysis/BufferExtent.h"
#include "weft/Codegen/Fusion/KernelShape.h"
#include "weft/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::weft {
#define GEN_PASS_DEF_SHARELAUNCHESPASS
#include "weft/Codegen/Planning/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// The kernels of a launch, while they are found.
class Launch {
public:
  explicit Launch(unsigned maxOperands) : maxOperands(maxOperands) {}

  /// Adds the kernel if it may run beside the others.
  bool add(rt::FusedOp op);
  /// Says of the kernels that they are one launch. Gives how many they are if
  /// they are several.
  unsigned close(int64_t number);

private:
  unsigned maxOperands;
  SmallVector<rt::FusedOp> kernels;
  /// Each buffer once.
  llvm::SmallSetVector<Value, 16> buffers;
  unsigned numScalars = 0;
};

bool Launch::add(rt::FusedOp op) {
  llvm::SmallSetVector<Value, 16> all = buffers;
  for (Value operand : op->getOperands())
    if (isa<MemRefType>(operand.getType()))
      all.insert(operand);
  unsigned scalars = numScalars + op.getScalars().size();
  if (all.size() + scalars > maxOperands ||
      (!kernels.empty() &&
       rt::getStream(kernels.front()) != rt::getStream(op)) ||
      llvm::any_of(kernels,
                   [&](rt::FusedOp other) { return haveConflict(op, other); }))
    return false;
  kernels.push_back(op);
  buffers = std::move(all);
  numScalars = scalars;
  return true;
}

unsigned Launch::close(int64_t number) {
  unsigned count = kernels.size() > 1 ? kernels.size() : 0;
  for (rt::FusedOp op : kernels)
    if (count > 0)
      op->setAttr(kTogetherAttr,
                  Builder(op.getContext()).getI64IntegerAttr(number));
  kernels.clear();
  buffers.clear();
  numScalars = 0;
  return count;
}

struct ShareLaunchesPass
    : public weft::impl::ShareLaunchesPassBase<ShareLaunchesPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult share(Block &block, const Target &target);
  void close(Launch &launch);

  int64_t next = 0;
};

void ShareLaunchesPass::close(Launch &launch) {
  unsigned count = launch.close(next);
  if (count == 0)
    return;
  ++next;
  ++numShared;
  numSpared += count - 1;
}

LogicalResult ShareLaunchesPass::share(Block &block, const Target &target) {
  Launch launch(target.getLaunchOperands(getOperation()));
  for (Operation &op : block) {
    if (isNothingBetween(&op))
      continue;
    auto fused = dyn_cast<rt::FusedOp>(op);
    if (!fused || !fused.isOnBuffers()) {
      close(launch);
      continue;
    }
    FailureOr<KernelShape> shape = analyzeFused(fused);
    if (failed(shape))
      return failure();
    bool mayShare = target.mayShareLaunch(*shape);
    if (mayShare && launch.add(fused))
      continue;
    close(launch);
    if (mayShare)
      launch.add(fused);
  }
  close(launch);
  return success();
}

void ShareLaunchesPass::runOnOperation() {
  const Target *target = lookupTarget(getOperation());
  if (!target)
    return signalPassFailure();
  if (target->getLaunchOperands(getOperation()) == 0)
    return;
  for (func::FuncOp func : getOperation().getOps<func::FuncOp>()) {
    next = 0;
    SmallVector<Block *> blocks;
    func.walk([&](Block *block) {
      if (!block->getParent()->getParentOfType<rt::FusedOp>())
        blocks.push_back(block);
    });
    for (Block *block : blocks)
      if (failed(share(*block, *target)))
        return signalPassFailure();
  }
}

} // namespace
