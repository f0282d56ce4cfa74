// SPDX-License-Identifier: Apache-2.0

// The answers of NVIDIA's GPUs to what shared passes ask.

#include "weft/Target/CUDA/CUDA.h"

#include "Architectures.h"
#include "DeviceKernel.h"
#include "weft/Codegen/Machine/MachineCode.h"
#include "weft/Target/CUDA/Passes.h"
#include "weft/Target/Target.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Says whether the group is points that need nothing of each other.
bool isPointwise(const KernelShape &shape) {
  return shape.phases.size() == 1 &&
         llvm::none_of(shape.members, [](const Member &member) {
           return member.isReduction();
         });
}

/// The code of a group of points, by how its inputs lie.
rt::LaunchConfig emitPoints(rt::FusedOp op, const KernelShape &shape,
                            const DeviceKernel &kernel,
                            ArrayRef<unsigned> bufferOf) {
  return hasTransposedInput(shape)
             ? emitTransposeKernel(op, shape, kernel, bufferOf)
             : emitPointKernel(op, shape, kernel, bufferOf);
}

class CUDATarget : public Target {
public:
  StringRef getName() const override { return "cuda"; }

  StringRef getMainOption() const override { return "arch"; }

  /// A CPU only enqueues: a program runs on all machines with the GPU.
  StringRef getDefaultCPU() const override { return "generic"; }

  LogicalResult verifyOptions(ModuleOp module) const override;

  StringRef getDefaultMachine(ModuleOp module) const override {
    return getArchitecture(module).starts_with("sm_10") ? "b200x8" : "h100x8";
  }

  /// What cuBLASLt multiplies: both operands of one type.
  bool supportsGemm(ModuleOp, Type lhs, Type rhs, Type result) const override {
    if (lhs != rhs)
      return false;
    bool isNarrow = lhs.isBF16() || lhs.isF16();
    return ((lhs.isF32() || lhs.isF64() || isNarrow) && result == lhs) ||
           (isNarrow && result.isF32());
  }

  /// What later phases read waits in shared memory, of which any block may have
  /// 48 KiB. What they do not hold goes through global memory, by kernels of
  /// its own. A GPU has up to 160 multiprocessors, which take a few blocks at a
  /// time, and a sum is one block's.
  FusionLimits getFusionLimits(ModuleOp) const override {
    return {32 << 10,
            64,
            2048,
            /*alignsViews=*/true,
            /*sumParts=*/2048,
            /*spreadsSums=*/true};
  }

  /// Threads load all of their points before they store any, and wait for each
  /// other between phases.
  bool mayUpdateInPlace(const KernelShape &shape, Value input,
                        Value output) const override {
    return canUpdateInPlace(shape, input, output);
  }

  /// The parameters of a kernel have 4 KiB.
  unsigned getLaunchOperands(ModuleOp) const override { return 500; }

  bool hasStreams() const override { return true; }
  bool mayShareLaunch(const KernelShape &shape) const override {
    return isPointwise(shape) || mayShareRowLaunch(shape);
  }

  FailureOr<rt::LaunchConfig> emitTogether(OpBuilder &builder,
                                           ArrayRef<LaunchPart> parts,
                                           StringRef name, unsigned numBuffers,
                                           TypeRange scalars) const override;

  FailureOr<rt::LaunchConfig>
  emitKernel(OpBuilder &builder, Operation *op, StringRef name,
             const KernelBuffers &buffers) const override;

  void buildLowerPipeline(ModuleOp, OpPassManager &pm) const override {
    buildLowerCUDAPipeline(pm);
  }
};

LogicalResult CUDATarget::verifyOptions(ModuleOp module) const {
  for (NamedAttribute option : getOwnTargetOptions(module)) {
    auto name = dyn_cast<StringAttr>(option.getValue());
    if ((option.getName() != "arch" && option.getName() != kCubinOption) ||
        !name)
      return module.emitError("target 'cuda' has no option ")
             << option.getName() << " = " << option.getValue()
             << ", expected arch, cpu or cubin and its value";
    if (option.getName() == kCubinOption) {
      if (name != kCubinAuto && name != kCubinNever && name != kCubinAlways)
        return module.emitError("target 'cuda' has cubin = ")
               << name << ", expected " << kCubinAuto << ", " << kCubinAlways
               << " or " << kCubinNever;
    } else if (!findArchitecture(name))
      return module.emitError("target 'cuda' has no architecture '")
             << name.getValue() << "', expected one of " << listArchitectures();
  }
  return checkCPU(module);
}

FailureOr<rt::LaunchConfig>
CUDATarget::emitKernel(OpBuilder &builder, Operation *op, StringRef name,
                       const KernelBuffers &buffers) const {
  if (auto scatter = dyn_cast<rt::ScatterAddOp>(op)) {
    SmallVector<Type> scalars(scatter.getBase() ? 1 : 0,
                              builder.getIndexType());
    DeviceKernel kernel = createDeviceKernel(builder, op->getLoc(), name,
                                             buffers.isPrivate, scalars);
    return emitScatterKernel(scatter, kernel, buffers.indexOf);
  }
  auto fused = cast<rt::FusedOp>(op);
  FailureOr<KernelShape> shape = analyzeFused(fused);
  if (failed(shape))
    return failure();
  DeviceKernel kernel =
      createDeviceKernel(builder, op->getLoc(), name, buffers.isPrivate,
                         fused.getScalars().getTypes());
  kernel.areAligned = buffers.areAligned;
  if (!isPointwise(*shape))
    return emitRowKernel(fused, *shape, kernel, buffers.indexOf);
  return emitPoints(fused, *shape, kernel, buffers.indexOf);
}

FailureOr<rt::LaunchConfig> CUDATarget::emitTogether(OpBuilder &builder,
                                                     ArrayRef<LaunchPart> parts,
                                                     StringRef name,
                                                     unsigned numBuffers,
                                                     TypeRange scalars) const {
  return emitSharedLaunch(
      builder, parts, name, numBuffers, scalars,
      [](const LaunchPart &part,
         const DeviceKernel &kernel) -> FailureOr<rt::LaunchConfig> {
        FailureOr<KernelShape> shape = analyzeFused(part.op);
        if (failed(shape))
          return failure();
        if (isPointwise(*shape))
          return emitPoints(part.op, *shape, kernel, part.buffers.indexOf);
        if (mayShareRowLaunch(*shape))
          return emitRowKernel(part.op, *shape, kernel, part.buffers.indexOf);
        rt::FusedOp op = part.op;
        return op.emitOpError("shares a launch, and its blocks need more "
                              "shared memory than those of a part may have");
      });
}

} // namespace

void weft::registerCUDATarget() {
  registerTarget(std::make_unique<CUDATarget>());
}
