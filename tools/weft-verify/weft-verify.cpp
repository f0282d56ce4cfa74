// SPDX-License-Identifier: Apache-2.0

// weft-verify: proves that planned programs are right, each by itself and all
// together on their ranks. Exit codes as weft-compile's: 1 for a program that
// is wrong, 2 for wrong usage.

#include "SourceProof.h"

#include "weft/Canonicalize/Passes.h"
#include "weft/Communication/Passes.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Rules/ExternalModels.h"
#include "weft/Support/Guard.h"
#include "weft/Support/OutputPath.h"
#include "weft/Support/Printable.h"
#include "weft/Support/Version.h"
#include "weft/Verify/Elements/Canonicalization.h"
#include "weft/Verify/Elements/Passes.h"
#include "weft/Verify/Plan/IssueOrder.h"
#include "weft/Verify/Plan/Passes.h"
#include "weft/Verify/Plan/Planning.h"
#include "weft/Verify/Sums/Partitioning.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace {

constexpr const char *kHelp = R"(usage: weft-verify FILE...
       weft-verify FILE=RANKS...
       weft-verify --from PHASE BEFORE AFTER

Proves that planned programs (weft-compile --to planned) are right: buffers do
not collide, nothing touches what a collective works on, every op reads the
values that it must, and the ranks cannot hang.

  weft-verify a.mlir b.mlir             each file is the program of all ranks
  weft-verify a.mlir=0-3 b.mlir=4,5-7   one job: ranks 0 to 3 run a.mlir, the
                                        others b.mlir
  weft-verify --from scheduled s.mlir p.mlir
                                        p.mlir is also a plan of s.mlir, of
                                        phase scheduled: it computes the same
  weft-verify --from local l.mlir s.mlir
                                        only this: s.mlir, of phase scheduled,
                                        computes what l.mlir does
  weft-verify --from global g.mlir l.mlir
                                        the ranks of l.mlir, of phase local,
                                        compute what g.mlir does, which is in
                                        canonical form (weft-compile --to global),
                                        with sums in the orders declared there
  weft-verify --from source m.mlir g.mlir
                                        g.mlir, of phase global, is the
                                        canonical form of m.mlir, made
                                        without --quantize and with
                                        --attention keep
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

/// Parses a module; null after an error. As in weft-compile, each of its ops
/// has a defined value, whether it is used or not.
OwningOpRef<ModuleOp> parse(MLIRContext &context, llvm::SourceMgr &sources,
                            StringRef path) {
  std::string problem = weft::checkInputPath(path);
  auto file = problem.empty() ? openInputFile(path, &problem) : nullptr;
  if (!file) {
    llvm::errs() << "weft-verify: error: " << weft::makePrintable(problem)
                 << "\n";
    return nullptr;
  }
  llvm::SourceMgr own;
  own.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer(file->getMemBufferRef()), SMLoc());
  sources.AddNewSourceBuffer(std::move(file), SMLoc());
  auto module = parseSourceFile<ModuleOp>(own, &context);
  if (!module || module
                     ->walk([](Operation *op) {
                       return WalkResult(weft::checkDefined(op));
                     })
                     .wasInterrupted())
    return nullptr;
  return module;
}

/// Parses a program and proves what can be said of it alone.
OwningOpRef<ModuleOp> load(MLIRContext &context, llvm::SourceMgr &sources,
                           StringRef path) {
  OwningOpRef<ModuleOp> module = parse(context, sources, path);
  if (!module)
    return nullptr;
  auto functions = module->getOps<func::FuncOp>();
  if (llvm::none_of(functions, [](func::FuncOp function) {
        return function->hasAttr(weft::rt::WeftRTDialect::kArenaBytesAttr);
      })) {
    module->emitError("has no planned program, there is nothing to prove");
    return nullptr;
  }
  PassManager pm(&context);
  weft::buildVerifyPlannedPipeline(pm);
  return succeeded(pm.run(*module)) && succeeded(weft::checkOrders(*module))
             ? std::move(module)
             : nullptr;
}

/// Whether a module is in phase `scheduled`, as weft-compile takes it: ops that
/// have no names get some, and no two have one.
LogicalResult checkScheduled(ModuleOp module) {
  OwningOpRef<ModuleOp> named = module.clone();
  PassManager gate(module.getContext());
  gate.addPass(weft::createNameOpsPass());
  gate.addPass(weft::createVerifyScheduledPass());
  return gate.run(*named);
}

/// How a module of one phase is proved to be made from one of the phase before.
using Proof = LogicalResult (*)(ModuleOp before, ModuleOp after);

/// Null for `scheduled`, whose plan has proofs of its own, and what is no
/// phase.
Proof getProofFrom(StringRef phase) {
  return llvm::StringSwitch<Proof>(phase)
      .Case("source", weft::verifyFromSource)
      .Case("global",
            [](ModuleOp before, ModuleOp after) {
              return success(
                  succeeded(weft::checkOrders(after)) &&
                  succeeded(weft::verifyPartitioning(before, after)) &&
                  succeeded(weft::verifyOrders(before, after)));
            })
      .Case("local",
            [](ModuleOp before, ModuleOp after) {
              return success(succeeded(checkScheduled(after)) &&
                             succeeded(weft::verifyScheduling(before, after)));
            })
      .Default(nullptr);
}

int verifyFrom(MLIRContext &context, Proof proof, ArrayRef<StringRef> paths) {
  llvm::SourceMgr sources;
  weft::PrintableStream said(llvm::errs());
  SourceMgrDiagnosticHandler handler(sources, &context, said);
  OwningOpRef<ModuleOp> before = parse(context, sources, paths[0]);
  OwningOpRef<ModuleOp> after =
      before ? parse(context, sources, paths[1]) : nullptr;
  return after && succeeded(proof(*before, *after)) ? 0 : 1;
}

int verifyFromScheduled(MLIRContext &context, ArrayRef<StringRef> paths) {
  llvm::SourceMgr sources;
  weft::PrintableStream said(llvm::errs());
  SourceMgrDiagnosticHandler handler(sources, &context, said);
  OwningOpRef<ModuleOp> scheduled = parse(context, sources, paths[0]);
  OwningOpRef<ModuleOp> planned =
      scheduled && succeeded(checkScheduled(*scheduled))
          ? load(context, sources, paths[1])
          : nullptr;
  return planned && succeeded(weft::verifyPlanning(*scheduled, *planned)) ? 0
                                                                          : 1;
}

int verify(MLIRContext &context, ArrayRef<StringRef> arguments) {
  llvm::SourceMgr sources;
  weft::PrintableStream said(llvm::errs());
  SourceMgrDiagnosticHandler handler(sources, &context, said);
  std::vector<OwningOpRef<ModuleOp>> modules;
  std::vector<weft::RankProgram> programs;
  bool isRight = true;
  for (StringRef argument : arguments) {
    auto [path, ranks] = argument.split('=');
    weft::RankProgram program;
    if (argument.contains('=') && !parseRanks(ranks, program.ranks)) {
      llvm::errs() << "weft-verify: error: '" << weft::makePrintable(ranks)
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

/// Says whether some arguments are programs of ranks and others are not.
bool isMixed(ArrayRef<StringRef> arguments) {
  unsigned count = llvm::count_if(
      arguments, [](StringRef argument) { return argument.contains('='); });
  return count != 0 && count != arguments.size();
}

int runTool(ArrayRef<StringRef> arguments) {
  if (llvm::is_contained(arguments, "--help")) {
    llvm::outs() << kHelp;
    return 0;
  }
  bool hasBefore = arguments.size() == 4 && arguments[0] == "--from";
  bool hasScheduled = hasBefore && arguments[1] == "scheduled";
  Proof proof = hasBefore ? getProofFrom(arguments[1]) : nullptr;
  ArrayRef<StringRef> files =
      arguments.drop_front(hasScheduled || proof ? 2 : 0);
  if (files.empty() || isMixed(files) ||
      llvm::any_of(files, [](StringRef argument) {
        return argument.starts_with("-");
      })) {
    llvm::errs() << kHelp;
    return 2;
  }
  DialectRegistry registry;
  registry
      .insert<weft::WeftDialect, weft::rt::WeftRTDialect, affine::AffineDialect,
              arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
              linalg::LinalgDialect, math::MathDialect, memref::MemRefDialect,
              scf::SCFDialect, tensor::TensorDialect>();
  // Of what weft-assign-orders asks about ops.
  weft::registerShardingRuleExternalModels(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  // Proofs make ops of their own.
  context.loadAllAvailableDialects();
  if (proof)
    return verifyFrom(context, proof, files);
  return hasScheduled ? verifyFromScheduled(context, files)
                      : verify(context, files);
}

} // namespace

int main(int argc, char **argv) {
  weft::initTool();
  SmallVector<StringRef> arguments(argv + 1, argv + argc);
  return weft::runGuarded("weft-verify", [&] { return runTool(arguments); });
}
