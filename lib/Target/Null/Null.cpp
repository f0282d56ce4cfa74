// SPDX-License-Identifier: Apache-2.0

// Every answer is the most permissive one that needs no knowledge of hardware,
// but for updates in place: code that does not exist cannot be known to be
// safe.

#include "weft/Target/Null/Null.h"

#include "weft/Codegen/Machine/MachineCode.h"
#include "weft/Codegen/Program/Passes.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Target/Target.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

class NullTarget : public Target {
public:
  StringRef getName() const override { return "null"; }

  LogicalResult verifyOptions(ModuleOp module) const override {
    return checkCPUOption(module);
  }

  StringRef getDefaultMachine(ModuleOp) const override { return "host"; }

  bool supportsGemm(ModuleOp, Type, Type, Type) const override { return true; }

  FusionLimits getFusionLimits(ModuleOp) const override {
    return {/*scratchBytes=*/1 << 20, /*numOps=*/256, /*compileCost=*/1 << 16};
  }

  bool mayUpdateInPlace(const KernelShape &, Value, Value) const override {
    return false;
  }

  FailureOr<rt::LaunchConfig>
  emitKernel(OpBuilder &builder, Operation *op, StringRef name,
             const KernelBuffers &buffers) const override;

  void buildLowerPipeline(ModuleOp module, OpPassManager &pm) const override;
};

/// A function that is only declared: a kernel without code. Its launch says how
/// many elements it writes.
FailureOr<rt::LaunchConfig>
NullTarget::emitKernel(OpBuilder &builder, Operation *op, StringRef name,
                       const KernelBuffers &) const {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i64 = builder.getI64Type();
  Type none = LLVM::LLVMVoidType::get(builder.getContext());
  LLVM::LLVMFuncOp::create(
      builder, op->getLoc(), name,
      LLVM::LLVMFunctionType::get(none, {pointer, pointer, i64, i64}));
  auto fused = dyn_cast<rt::FusedOp>(op);
  Value written =
      fused ? fused.getOuts().front() : cast<rt::ScatterAddOp>(op).getTable();
  int64_t extent = cast<MemRefType>(written.getType()).getNumElements();
  return rt::LaunchConfig(
      rt::LaunchNumbersAttr::get(op->getContext(), {extent}));
}

/// The entry runs on a CPU, as that of every target.
void NullTarget::buildLowerPipeline(ModuleOp, OpPassManager &pm) const {
  pm.addPass(createOutlineKernelsPass());
  pm.addPass(createCSEPass());
  pm.addPass(createConvertWeftRTToLLVMPass());
  addFinishEntry(pm, buildFinishLLVMPipeline);
}

} // namespace

void weft::registerNullTarget() {
  registerTarget(std::make_unique<NullTarget>());
}
