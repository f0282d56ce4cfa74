// SPDX-License-Identifier: Apache-2.0

// The host's answers to what shared passes ask.

#include "weft/Target/Host/Host.h"

#include "KernelEmitter.h"
#include "TileRows.h"
#include "weft/Codegen/Machine/MachineCode.h"
#include "weft/Target/Host/Pipelines.h"
#include "weft/Target/Target.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Scalar operations that are worth handing to another thread.
constexpr int64_t kMinWork = 32 << 10;

/// So much work in so many iterations.
rt::LaunchConfig makeRange(Operation *op, int64_t work, int64_t extent) {
  int64_t perIteration =
      std::max<int64_t>(1, work / std::max<int64_t>(1, extent));
  return rt::HostRangeAttr::get(op->getContext(), extent,
                                std::max<int64_t>(1, kMinWork / perIteration));
}

class HostTarget : public Target {
public:
  StringRef getName() const override { return "host"; }

  LogicalResult verifyOptions(ModuleOp module) const override {
    return checkCPUOption(module);
  }

  StringRef getDefaultMachine(ModuleOp) const override { return "host"; }

  /// See weft_rt_gemm.
  bool supportsGemm(ModuleOp, Type lhs, Type rhs, Type result) const override {
    auto isF32OrBF16 = [](Type type) { return type.isF32() || type.isBF16(); };
    if (isF32OrBF16(lhs) && isF32OrBF16(rhs))
      return isF32OrBF16(result);
    return lhs == rhs && ((lhs.isF64() && result.isF64()) ||
                          (lhs.isF16() && (result.isF16() || result.isF32())));
  }

  /// Scratch memory stays in the first-level cache; LLVM's time grows with the
  /// square of a loop's length.
  FusionLimits getFusionLimits(ModuleOp) const override {
    FusionLimits limits = {32 << 10, 48, 2048};
    limits.joinsNumbers = true;
    limits.tileRows = tileRows;
    return limits;
  }

  /// Kernels are written so that what is safe by their loops is safe.
  bool mayUpdateInPlace(const KernelShape &shape, Value input,
                        Value output) const override {
    return canUpdateInPlace(shape, input, output);
  }

  FailureOr<rt::LaunchConfig>
  emitKernel(OpBuilder &builder, Operation *op, StringRef name,
             const KernelBuffers &buffers) const override;

  void buildLowerPipeline(ModuleOp module, OpPassManager &pm) const override {
    // The instruction flushes denormals, which the other CPUs keep.
    bool isInvariant = module->hasAttr(WeftDialect::kInvarianceAttr);
    buildLowerHostPipeline(pm, isInvariant || !convertsBF16(module));
  }
};

FailureOr<rt::LaunchConfig>
HostTarget::emitKernel(OpBuilder &builder, Operation *op, StringRef name,
                       const KernelBuffers &buffers) const {
  if (auto scatter = dyn_cast<rt::ScatterAddOp>(op)) {
    SmallVector<Type> scalars(scatter.getBase() ? 1 : 0,
                              builder.getIndexType());
    KernelFunction function = createKernelFunction(builder, op->getLoc(), name,
                                                   buffers.isPrivate, scalars);
    int64_t extent = emitScatterAdd(scatter, function, buffers.indexOf);
    int64_t work = scatter.getUpdates().getType().getNumElements();
    return makeRange(op, work, extent);
  }
  auto fused = cast<rt::FusedOp>(op);
  FailureOr<KernelShape> shape = analyzeFused(fused);
  if (failed(shape))
    return failure();
  tileRows(*shape);
  KernelFunction function =
      createKernelFunction(builder, op->getLoc(), name, buffers.isPrivate,
                           fused.getScalars().getTypes());
  weft::emitKernel(fused, *shape, function, buffers.indexOf);
  return makeRange(op, shape->getWork(), shape->getExtent());
}

} // namespace

void weft::registerHostTarget() {
  registerTarget(std::make_unique<HostTarget>());
}
