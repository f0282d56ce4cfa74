// SPDX-License-Identifier: Apache-2.0

// Objects, LLVM IR and the C header of a program. Parts are compiled on
// threads, each with an LLVM context of its own.

#include "CompileParts.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

LogicalResult compilePart(ModuleOp part, const HostOptions &options,
                          SmallVectorImpl<char> &object) {
  std::unique_ptr<llvm::TargetMachine> machine =
      createTargetMachine(part, options);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module =
      optimizeModule(part, context, *machine);
  if (!module)
    return failure();
  generateObject(*module, *machine, object);
  return success();
}

/// A C identifier for a tensor's name. Names that differ only in what C does
/// not allow get their index at the end.
std::string getIdentifier(std::string identifier, StringRef name, size_t index,
                          llvm::StringSet<> &used) {
  for (char c : name)
    identifier += llvm::isAlnum(c) ? c : '_';
  while (!used.insert(identifier).second)
    identifier += "_" + std::to_string(index);
  return identifier;
}

} // namespace

LogicalResult mlir::weft::emitObjects(ModuleOp module,
                                      const HostOptions &options,
                                      HostObjects &objects) {
  // Once here, so that a wrong CPU is reported once.
  if (!createTargetMachine(module, options))
    return failure();
  unsigned numThreads =
      options.numThreads ? options.numThreads
                         : llvm::hardware_concurrency().compute_thread_count();
  // The number of parts does not depend on the machine, nor do the bytes.
  std::vector<OwningOpRef<ModuleOp>> parts = splitModule(module, 8);
  objects.assign(parts.size(), {});
  std::vector<char> failed(parts.size(), false);
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(numThreads));
  for (size_t i = 0; i < parts.size(); ++i)
    pool.async([&, i] {
      failed[i] = mlir::failed(compilePart(*parts[i], options, objects[i]));
    });
  pool.wait();
  return failure(llvm::is_contained(failed, true));
}

LogicalResult mlir::weft::emitObject(ModuleOp module,
                                     const HostOptions &options,
                                     SmallVectorImpl<char> &object) {
  return compilePart(module, options, object);
}

LogicalResult mlir::weft::emitLLVMIR(ModuleOp module,
                                     const HostOptions &options,
                                     llvm::raw_ostream &os) {
  std::unique_ptr<llvm::TargetMachine> machine =
      createTargetMachine(module, options);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> result =
      optimizeModule(module, context, *machine);
  if (!result)
    return failure();
  result->print(os, nullptr);
  return success();
}

LogicalResult mlir::weft::emitHeader(ModuleOp module, llvm::raw_ostream &os) {
  os << "/* Made by weft. The compiled step, as weft-rt/abi.h describes it. "
        "*/\n"
     << "#ifndef WEFT_PROGRAM_H\n#define WEFT_PROGRAM_H\n\n"
     << "#include \"weft-rt/abi.h\"\n\n";
  auto list = [&](StringRef attribute, StringRef kind) {
    auto names = module->getAttrOfType<ArrayAttr>(attribute);
    if (!names)
      return;
    os << "#define WEFT_NUM_" << kind << "S " << names.size() << "\n";
    llvm::StringSet<> used;
    for (auto [i, name] : llvm::enumerate(names.getAsRange<StringAttr>()))
      os << "#define "
         << getIdentifier(("WEFT_" + kind + "_").str(), name.getValue(), i,
                          used)
         << " " << i << "\n";
    os << "\n";
  };
  list("weft_rt.arg_names", "ARG");
  list("weft_rt.result_names", "RESULT");
  os << "#endif /* WEFT_PROGRAM_H */\n";
  return success();
}
