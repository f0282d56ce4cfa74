// SPDX-License-Identifier: Apache-2.0

// LLVM's optimizer and code generator for NVPTX, in process. Nothing that it
// would call, or give up over, may reach it: either ends the process, or leaves
// a function that no GPU has.

#include "Architectures.h"
#include "DeviceInstructions.h"
#include "DeviceKernel.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Support/OutputPath.h"
#include "weft/Target/CUDA/Passes.h"
#include "weft/Target/Target.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

namespace mlir::weft {
#define GEN_PASS_DEF_EMITPTXPASS
#include "weft/Target/CUDA/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

std::unique_ptr<llvm::TargetMachine>
createDeviceMachine(const Architecture &architecture) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, architecture.name,
      "+ptx" + std::to_string(architecture.ptxVersion), llvm::TargetOptions(),
      std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// Says whether the code generator has instructions for an intrinsic. For
/// others it would call the C library.
bool isInstruction(llvm::Intrinsic::ID id) {
  StringRef name = llvm::Intrinsic::getBaseName(id);
  return name.starts_with("llvm.nvvm.") ||
         llvm::is_contained<StringRef>(
             {"llvm.abs",        "llvm.assume",     "llvm.ceil",
              "llvm.copysign",   "llvm.ctlz",       "llvm.ctpop",
              "llvm.cttz",       "llvm.fabs",       "llvm.floor",
              "llvm.fma",        "llvm.fptosi.sat", "llvm.fptoui.sat",
              "llvm.is.fpclass", "llvm.maximum",    "llvm.maxnum",
              "llvm.minimum",    "llvm.minnum",     "llvm.rint",
              "llvm.round",      "llvm.roundeven",  "llvm.smax",
              "llvm.smin",       "llvm.sqrt",       "llvm.trunc",
              "llvm.umax",       "llvm.umin"},
             name);
}

/// What the instruction is called if there is no code for it on the device.
std::string getUnsupported(const llvm::Instruction &instruction) {
  // The code generator's remainder is not exact.
  if (instruction.getOpcode() == llvm::Instruction::FRem)
    return "frem";
  auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  llvm::Function *callee = call ? call->getCalledFunction() : nullptr;
  if (!callee || !callee->isDeclaration() ||
      (callee->isIntrinsic() && isInstruction(callee->getIntrinsicID())))
    return "";
  return callee->getName().str();
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

struct EmitPTXPass : public weft::impl::EmitPTXPassBase<EmitPTXPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult emit(ModuleOp device, const Architecture &architecture,
                     std::string &ptx);
  LogicalResult checkCode(ModuleOp device, llvm::Module &module);
  LogicalResult keepDeviceIR(ModuleOp device, llvm::Module &module);
  void addImage(ModuleOp device, StringRef ptx);
};

LogicalResult EmitPTXPass::checkCode(ModuleOp device, llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (std::string what = getUnsupported(instruction); !what.empty())
        return device.lookupSymbol(function.getName())->emitError("kernel '")
               << function.getName() << "' needs '" << what
               << "', for which there is no code on GPUs";
  return success();
}

LogicalResult EmitPTXPass::keepDeviceIR(ModuleOp device, llvm::Module &module) {
  if (deviceIR.empty())
    return success();
  std::string problem = writeOutputFile(
      deviceIR, [&](llvm::raw_ostream &os) { module.print(os, nullptr); });
  return problem.empty() ? success()
                         : LogicalResult(device.emitError() << problem);
}

LogicalResult EmitPTXPass::emit(ModuleOp device,
                                const Architecture &architecture,
                                std::string &ptx) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(device, context, "weft");
  if (!module)
    return failure();
  std::unique_ptr<llvm::TargetMachine> machine =
      createDeviceMachine(architecture);
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  if (failed(checkCode(device, *module)) ||
      failed(keepDeviceIR(device, *module)))
    return failure();
  markRoundings(*module);
  optimize(*module, *machine);
  useDeviceInstructions(*module, device->hasAttr(WeftDialect::kInvarianceAttr));
  SmallString<0> text;
  llvm::raw_svector_ostream os(text);
  llvm::legacy::PassManager passes;
  // A machine that is for PTX emits it as assembly.
  machine->addPassesToEmitFile(passes, os, nullptr,
                               llvm::CodeGenFileType::AssemblyFile);
  passes.run(*module);
  ptx = text.str().str();
  return success();
}

/// Adds the image, and says of each kernel with a body that it is there.
void EmitPTXPass::addImage(ModuleOp device, StringRef ptx) {
  OpBuilder builder(device);
  std::string bytes = ptx.str() + '\0';
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size());
  LLVM::GlobalOp::create(builder, device.getLoc(), type, /*isConstant=*/true,
                         LLVM::Linkage::Internal, kPTXImage,
                         builder.getStringAttr(bytes));
  for (auto body : device.getOps<LLVM::LLVMFuncOp>())
    if (auto kernel =
            getOperation().lookupSymbol<LLVM::LLVMFuncOp>(body.getSymName()))
      kernel->setAttr(rt::WeftRTDialect::kImageAttr,
                      FlatSymbolRefAttr::get(&getContext(), kPTXImage));
}

void EmitPTXPass::runOnOperation() {
  auto device = getOperation().lookupSymbol<ModuleOp>(kDeviceModule);
  if (!device)
    return;
  if (!lookupTarget(getOperation()))
    return signalPassFailure();
  const Architecture *architecture =
      findArchitecture(getArchitecture(getOperation()));
  std::string ptx;
  if (failed(emit(device, *architecture, ptx)))
    return signalPassFailure();
  addImage(device, ptx);
  device.erase();
}

} // namespace
