// SPDX-License-Identifier: Apache-2.0

// Upstream's CSE looks ops up by a hash in which regions have no part: ops that
// read the same and have different bodies are compared with one another, each
// with all. Here each op says what its body is in an attribute, which is
// hashed, while CSE runs.

#include "weft/Analysis/MergeEqualOps.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;
using namespace mlir::weft;

static constexpr llvm::StringLiteral kBodyAttr = "weft.body_hash";

/// A hash of a value from outside of a body. CSE may find another that is equal
/// to it: of both there is no more to tell than this.
static llvm::hash_code hashOutside(Value value) {
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return llvm::hash_combine(constant);
  return llvm::hash_combine(value.getType());
}

/// A hash of what a block computes, from its arguments to its terminator's
/// operands: neither what is dead nor what is computed twice changes it, as CSE
/// removes both.
static llvm::hash_code hashBlock(Block &block) {
  llvm::DenseMap<Value, llvm::hash_code> hashes;
  for (BlockArgument arg : block.getArguments())
    hashes.insert({arg, llvm::hash_combine(arg.getArgNumber(), arg.getType())});
  llvm::hash_code last(0);
  for (Operation &op : block) {
    last = OperationEquivalence::computeHash(
        &op,
        [&](Value value) {
          auto inside = hashes.find(value);
          return inside != hashes.end() ? inside->second : hashOutside(value);
        },
        OperationEquivalence::ignoreHashValue,
        OperationEquivalence::IgnoreLocations);
    for (OpResult result : op.getResults())
      hashes.insert(
          {result, llvm::hash_combine(last, result.getResultNumber())});
  }
  return last;
}

/// Gives each op with bodies a hash of them. Inner ops come first: theirs are
/// part of those of the ops around them.
static void addHashes(Operation *root) {
  root->walk([&](Operation *op) {
    if (op == root || op->getNumRegions() == 0 ||
        op->hasTrait<OpTrait::IsIsolatedFromAbove>())
      return;
    llvm::hash_code hash(0);
    for (Region &region : op->getRegions())
      if (region.hasOneBlock()) // CSE leaves others alone.
        hash = llvm::hash_combine(hash, hashBlock(region.front()));
    Type type = IntegerType::get(op->getContext(), 64);
    op->setDiscardableAttr(
        kBodyAttr, IntegerAttr::get(type, static_cast<int64_t>(size_t(hash))));
  });
}

bool mlir::weft::mergeEqualOps(Operation *op) {
  addHashes(op);
  bool changed = false;
  IRRewriter rewriter(op->getContext());
  DominanceInfo dominance(op);
  eliminateCommonSubExpressions(rewriter, dominance, op, &changed);
  op->walk([](Operation *inner) {
    if (inner->getNumRegions() != 0)
      inner->removeDiscardableAttr(kBodyAttr);
  });
  return changed;
}
