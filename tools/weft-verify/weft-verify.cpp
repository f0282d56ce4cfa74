// SPDX-License-Identifier: Apache-2.0

// weft-verify: proves that planned programs are right, each by itself and all
// together on their ranks. Exit codes as weft-compile's: 1 for a program that
// is wrong, 2 for wrong usage.

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Support/Guard.h"
#include "weft/Support/Version.h"
#include "weft/Verify/IssueOrder.h"
#include "weft/Verify/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace {

constexpr const char *kHelp = R"(usage: weft-verify FILE...
       weft-verify FILE=RANKS...

Proves that planned programs (weft-compile --to planned) are right: buffers do
not collide, nothing touches what a collective works on, every op reads the
values that it must, and the ranks cannot hang.

  weft-verify a.mlir b.mlir             each file is the program of all ranks
  weft-verify a.mlir=0-3 b.mlir=4,5-7   one job: ranks 0 to 3 run a.mlir, the
                                        others b.mlir
)";

/// Reads "4,5-7"; false if it is not such a list.
bool parseRanks(StringRef text, std::vector<int64_t> &ranks) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    auto [first, last] = part.split('-');
    int64_t begin = 0, end = 0;
    if (first.getAsInteger(10, begin) ||
        (part.contains('-') ? last.getAsInteger(10, end)
                            : first.getAsInteger(10, end)) ||
        begin < 0 || end < begin || end - begin >= (1 << 20))
      return false;
    for (int64_t rank = begin; rank <= end; ++rank)
      ranks.push_back(rank);
  }
  return true;
}

/// Parses a program and proves what can be said of it alone.
OwningOpRef<ModuleOp> load(MLIRContext &context, llvm::SourceMgr &sources,
                           StringRef path) {
  std::string problem;
  auto file = openInputFile(path, &problem);
  if (!file) {
    llvm::errs() << "weft-verify: error: " << problem << "\n";
    return nullptr;
  }
  llvm::SourceMgr own;
  own.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer(file->getMemBufferRef()), SMLoc());
  sources.AddNewSourceBuffer(std::move(file), SMLoc());
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(own, &context);
  if (!module)
    return nullptr;
  PassManager pm(&context);
  weft::buildVerifyPlannedPipeline(pm);
  return succeeded(pm.run(*module)) ? std::move(module) : nullptr;
}

int verify(MLIRContext &context, ArrayRef<StringRef> arguments) {
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  std::vector<OwningOpRef<ModuleOp>> modules;
  std::vector<weft::RankProgram> programs;
  bool isRight = true;
  for (StringRef argument : arguments) {
    auto [path, ranks] = argument.split('=');
    weft::RankProgram program;
    if (argument.contains('=') && !parseRanks(ranks, program.ranks)) {
      llvm::errs() << "weft-verify: error: '" << ranks
                   << "' is no list of ranks\n";
      return 2;
    }
    modules.push_back(load(context, sources, path));
    if (!modules.back()) {
      isRight = false;
      continue;
    }
    program.module = *modules.back();
    if (argument.contains('='))
      programs.push_back(std::move(program));
  }
  if (isRight && !programs.empty())
    isRight = succeeded(weft::verifyIssueOrder(programs));
  return isRight ? 0 : 1;
}

int runTool(ArrayRef<StringRef> arguments) {
  if (llvm::is_contained(arguments, "--help")) {
    llvm::outs() << kHelp;
    return 0;
  }
  if (arguments.empty() || llvm::any_of(arguments, [](StringRef argument) {
        return argument.starts_with("-");
      })) {
    llvm::errs() << kHelp;
    return 2;
  }
  DialectRegistry registry;
  registry
      .insert<weft::WeftDialect, weft::rt::WeftRTDialect, affine::AffineDialect,
              arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
              math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
              tensor::TensorDialect>();
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  return verify(context, arguments);
}

} // namespace

int main(int argc, char **argv) {
  weft::initTool();
  SmallVector<StringRef> arguments(argv + 1, argv + argc);
  return weft::runGuarded("weft-verify", [&] { return runTool(arguments); });
}
