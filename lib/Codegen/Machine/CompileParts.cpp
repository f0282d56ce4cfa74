// SPDX-License-Identifier: Apache-2.0

// LLVM in process: target machine, the O3 pipeline, object emission; and the
// cut of a module into parts that can be compiled beside each other.

#include "CompileParts.h"

#include "weft/Target/Target.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

#include <mutex>

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Keeps loops of a few dozen iterations, as over the elements of a head, for
/// the vectorizer: full unrolling runs before it. LLVM has this as a command
/// line option only.
void limitFullUnrolling() {
  auto &options = llvm::cl::getRegisteredOptions();
  auto it = options.find("unroll-full-max-count");
  if (it != options.end())
    it->second->addOccurrence(1, "unroll-full-max-count", "8");
}

void initializeOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    limitFullUnrolling();
  });
}

/// The family of processors that the compiler runs on.
struct NativeTarget {
  llvm::Triple triple{llvm::sys::getDefaultTargetTriple()};
  const llvm::Target *target;

  NativeTarget() {
    initializeOnce();
    // There is one: initializeOnce registers the machine's own.
    std::string error;
    target = llvm::TargetRegistry::lookupTarget(triple, error);
  }
};

std::string getNativeFeatures() {
  std::vector<std::string> features;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    features.push_back((feature.second ? "+" : "-") + feature.first().str());
  llvm::sort(features);
  return llvm::join(features, ",");
}

/// Says for which CPU each function is, as inlining and the vectorizer read it
/// from functions.
void setFunctionAttributes(llvm::Module &module,
                           const llvm::TargetMachine &machine) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    if (!machine.getTargetFeatureString().empty())
      function.addFnAttr("target-features", machine.getTargetFeatureString());
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

/// Number of ops in a function: a measure of the time that it takes to compile.
size_t getSize(Operation *op) {
  size_t size = 0;
  op->walk([&](Operation *) { ++size; });
  return size;
}

} // namespace

StringRef mlir::weft::getCPU(ModuleOp module) {
  StringAttr cpu = getTargetOption(module, "cpu");
  if (cpu)
    return cpu.getValue();
  const Target *target = findTarget(getTargetName(module));
  return target ? target->getDefaultCPU() : StringRef("native");
}

LogicalResult mlir::weft::checkCPUOption(ModuleOp module) {
  for (NamedAttribute option : getOwnTargetOptions(module))
    return module.emitError("target '")
           << getTargetName(module) << "' has no option " << option.getName()
           << " = " << option.getValue() << ", expected cpu and its name";
  return checkCPU(module);
}

LogicalResult mlir::weft::checkCPU(ModuleOp module) {
  auto target = module->getAttrOfType<TargetAttr>(WeftDialect::kTargetAttr);
  DictionaryAttr options = target ? target.getOptions() : DictionaryAttr();
  if (Attribute cpu = options ? options.get("cpu") : Attribute();
      cpu && !isa<StringAttr>(cpu))
    return module.emitError("target '")
           << target.getName().getValue() << "' has the option cpu = " << cpu
           << ", expected the name of a CPU";
  NativeTarget native;
  StringRef name = getCPU(module);
  if (name == "native")
    return success();
  std::unique_ptr<llvm::MCSubtargetInfo> known(
      native.target->createMCSubtargetInfo(native.triple, "", ""));
  if (!known || !known->isCPUStringValid(name))
    return module.emitError("unknown CPU '")
           << name << "' for target '" << native.triple.str() << "'";
  // LLVM knows older processors of the family too, and ends the process when
  // it is to make 64-bit code for them.
  std::unique_ptr<llvm::MCSubtargetInfo> chosen(
      native.target->createMCSubtargetInfo(native.triple, name, ""));
  if (native.triple.isX86() && !chosen->checkFeatures("+64bit"))
    return module.emitError("CPU '")
           << name << "' has no 64-bit instructions, which '"
           << native.triple.str() << "' needs";
  return success();
}

std::unique_ptr<llvm::TargetMachine>
mlir::weft::createTargetMachine(StringRef name, llvm::CodeGenOptLevel level) {
  NativeTarget native;
  bool isNative = name == "native";
  std::string cpu = isNative ? llvm::sys::getHostCPUName().str() : name.str();
  std::string features = isNative ? getNativeFeatures() : std::string();
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(
      native.target->createTargetMachine(native.triple, cpu, features, options,
                                         llvm::Reloc::PIC_, std::nullopt,
                                         level));
}

bool mlir::weft::convertsBF16(ModuleOp module) {
  return createTargetMachine(getCPU(module))
      ->getMCSubtargetInfo()
      ->checkFeatures("+avx512bf16,+avx512vl");
}

std::unique_ptr<llvm::Module>
mlir::weft::optimizeModule(ModuleOp module, llvm::LLVMContext &context,
                           llvm::TargetMachine &machine) {
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(module, context, "weft");
  if (!result) {
    module.emitError("cannot be translated to LLVM IR");
    return nullptr;
  }
  result->setTargetTriple(machine.getTargetTriple());
  result->setDataLayout(machine.createDataLayout());
  setFunctionAttributes(*result, machine);

  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::ModulePassManager passes =
      machine.getOptLevel() == llvm::CodeGenOptLevel::None
          ? builder.buildO0DefaultPipeline(llvm::OptimizationLevel::O0)
          : builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3);
  passes.run(*result, modules);
  if (failed(sealProgram(module, *result, machine)))
    return nullptr;
  return result;
}

void mlir::weft::generateObject(llvm::Module &llvmModule,
                                llvm::TargetMachine &machine,
                                SmallVectorImpl<char> &object) {
  llvm::raw_svector_ostream os(object);
  llvm::legacy::PassManager passes;
  // A machine that runs this emits object files.
  machine.addPassesToEmitFile(passes, os, nullptr,
                              llvm::CodeGenFileType::ObjectFile);
  passes.run(llvmModule);
}

namespace {

/// The name of the kernel that a function is, or whose it is: a kernel's name
/// without what follows an underline.
StringRef getKernelName(LLVM::LLVMFuncOp func) {
  constexpr StringLiteral prefix = "weft_k";
  StringRef name = func.getSymName();
  if (func.isExternal() || !name.starts_with(prefix))
    return "";
  return name.take_front(name.find('_', prefix.size()));
}

/// What has to be compiled together: kernels, and the functions that only these
/// call.
struct Unit {
  SmallVector<LLVM::LLVMFuncOp, 1> kernels;
  SmallVector<LLVM::LLVMFuncOp, 1> called;
  size_t size = 0;
};

/// Kernels by their names; those that share functions are one class.
llvm::EquivalenceClasses<StringRef> joinKernels(ModuleOp module) {
  llvm::EquivalenceClasses<StringRef> joined;
  SymbolTable symbols(module);
  for (auto func : module.getOps<LLVM::LLVMFuncOp>()) {
    StringRef own = getKernelName(func);
    if (own.empty())
      continue;
    joined.insert(own);
    func.walk([&](LLVM::CallOp call) {
      auto callee = call.getCallee()
                        ? symbols.lookup<LLVM::LLVMFuncOp>(*call.getCallee())
                        : LLVM::LLVMFuncOp();
      if (callee && !getKernelName(callee).empty())
        joined.unionSets(own, getKernelName(callee));
    });
  }
  return joined;
}

/// Units, the largest first. Kernels that share functions are one.
std::vector<Unit> findUnits(ModuleOp module) {
  llvm::EquivalenceClasses<StringRef> joined = joinKernels(module);
  std::vector<Unit> units;
  llvm::StringMap<unsigned> unitOf;
  for (auto func : module.getOps<LLVM::LLVMFuncOp>()) {
    StringRef own = getKernelName(func);
    if (own.empty())
      continue;
    auto [it, isNew] =
        unitOf.try_emplace(joined.getLeaderValue(own), units.size());
    if (isNew)
      units.emplace_back();
    Unit &unit = units[it->second];
    if (own == func.getSymName()) {
      unit.kernels.push_back(func);
      continue;
    }
    unit.called.push_back(func);
    unit.size += getSize(func);
  }
  llvm::stable_sort(
      units, [](const Unit &a, const Unit &b) { return a.size > b.size; });
  return units;
}

} // namespace

std::vector<OwningOpRef<ModuleOp>> mlir::weft::splitModule(ModuleOp module,
                                                           unsigned count) {
  std::vector<Unit> units = findUnits(module);
  count = std::min<size_t>(count, units.size());
  std::vector<OwningOpRef<ModuleOp>> parts;
  std::vector<size_t> loads(count, 0);
  parts.push_back(module.clone());
  OpBuilder builder(module.getContext());
  for (unsigned i = 0; i < count; ++i) {
    parts.push_back(ModuleOp::create(module.getLoc()));
    builder.setInsertionPointToEnd(parts.back()->getBody());
    // What any kernel may call.
    for (auto func : module.getOps<LLVM::LLVMFuncOp>())
      if (func.isExternal())
        builder.clone(*func);
  }
  for (const Unit &unit : units) {
    unsigned best = llvm::min_element(loads) - loads.begin();
    loads[best] += unit.size + 16;
    builder.setInsertionPointToEnd(parts[best + 1]->getBody());
    // The entry only takes the addresses of kernels.
    for (LLVM::LLVMFuncOp func : unit.kernels) {
      auto declared = cast<LLVM::LLVMFuncOp>(
          SymbolTable::lookupSymbolIn(*parts[0], func.getSymName()));
      declared.getBody().getBlocks().clear();
    }
    for (LLVM::LLVMFuncOp func : unit.called) {
      SymbolTable::lookupSymbolIn(*parts[0], func.getSymName())->erase();
      builder.clone(*func);
    }
    for (LLVM::LLVMFuncOp func : unit.kernels)
      builder.clone(*func);
  }
  return parts;
}
