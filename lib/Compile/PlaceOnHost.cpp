// SPDX-License-Identifier: Apache-2.0

// An argument that lies in the host's memory has weft.host; what becomes of it
// is for weft-offload to say.

#include "PlaceOnHost.h"

#include "weft/Communication/Passes.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Schedule/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace mlir::weft;

static void takeMarksAway(ModuleOp module) {
  eraseOffloads(module);
  for (auto func : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      func.removeArgAttr(i, WeftDialect::kHostAttr);
}

/// Whether anything is to wait, or lie, in the host's memory.
static bool isMarked(ModuleOp module) {
  for (auto func : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      if (func.getArgAttr(i, WeftDialect::kHostAttr))
        return true;
  return module
      .walk([](OptimizationBarrierOp op) {
        return op.getOffload() ? WalkResult::interrupt()
                               : WalkResult::advance();
      })
      .wasInterrupted();
}

bool mlir::weft::isDonated(func::FuncOp func, unsigned argument) {
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    if (auto alias =
            func.getResultAttrOfType<IntegerAttr>(i, WeftDialect::kAliasAttr);
        alias && alias.getInt() == argument)
      return true;
  return false;
}

/// Marks what matches; returns how many those are.
static unsigned mark(ModuleOp module, const llvm::GlobPattern &pattern) {
  unsigned count = 0;
  for (auto func : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < func.getNumArguments(); ++i) {
      auto name = func.getArgAttrOfType<StringAttr>(i, WeftDialect::kNameAttr);
      if (!name || !pattern.match(name.getValue()) || !isDonated(func, i))
        continue;
      func.setArgAttr(i, WeftDialect::kHostAttr,
                      UnitAttr::get(module.getContext()));
      ++count;
    }
  return count;
}

LogicalResult mlir::weft::placeOnHost(ModuleOp module,
                                      ArrayRef<std::string> words) {
  bool isNone = llvm::is_contained(words, "none");
  if (isNone && !llvm::all_equal(words))
    return module.emitError("--offload has 'none' beside other words");
  if (isNone)
    takeMarksAway(module);
  for (const std::string &word : words) {
    if (isNone || word == "marked" || word == kAutoOffload)
      continue;
    auto pattern = llvm::GlobPattern::create(word, /*MaxSubPatterns=*/1024);
    if (!pattern)
      return module.emitError("--offload has the pattern '")
             << word << "': " << llvm::toString(pattern.takeError());
    if (mark(module, *pattern) == 0)
      return module.emitError("--offload has the pattern '")
             << word << "', which is the name of no donated argument";
  }
  // The channels of copies are on a mesh, also in a program of one rank. It is
  // there from the beginning, since proofs compare meshes.
  if (isMarked(module))
    getOrDeclareMesh(module);
  return success();
}
