// SPDX-License-Identifier: Apache-2.0

// Objects and LLVM IR of a program. Parts are compiled on
// threads, each with an LLVM context of its own.

#include "CompileParts.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

LogicalResult
compilePart(ModuleOp part, StringRef cpu, SmallVectorImpl<char> &object,
            llvm::CodeGenOptLevel level = llvm::CodeGenOptLevel::Default) {
  std::unique_ptr<llvm::TargetMachine> machine =
      createTargetMachine(cpu, level);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module =
      optimizeModule(part, context, *machine);
  if (!module)
    return failure();
  generateObject(*module, *machine, object);
  return success();
}

} // namespace

LogicalResult mlir::weft::emitObjects(ModuleOp module,
                                      const BuildOptions &options,
                                      ObjectFiles &objects) {
  StringRef cpu = getCPU(module);
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
      // The entry, the first, is long, and each of its lines runs once a step.
      failed[i] =
          mlir::failed(compilePart(*parts[i], cpu, objects[i],
                                   i == 0 ? llvm::CodeGenOptLevel::None
                                          : llvm::CodeGenOptLevel::Default));
    });
  pool.wait();
  return failure(llvm::is_contained(failed, true));
}

LogicalResult mlir::weft::emitObject(ModuleOp module, llvm::raw_ostream &os) {
  SmallVector<char, 0> object;
  if (failed(compilePart(module, getCPU(module), object)))
    return failure();
  os << StringRef(object.data(), object.size());
  return success();
}

LogicalResult mlir::weft::emitLLVMIR(ModuleOp module, llvm::raw_ostream &os) {
  std::unique_ptr<llvm::TargetMachine> machine =
      createTargetMachine(getCPU(module));
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> result =
      optimizeModule(module, context, *machine);
  if (!result)
    return failure();
  result->print(os, nullptr);
  return success();
}
