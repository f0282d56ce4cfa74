// SPDX-License-Identifier: Apache-2.0

#include "KeptInputs.h"

#include "FuseElementwise.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::weft;

/// A layer has more contractions than that, and a sum of products of one layer
/// fewer between its parts.
static constexpr int kFarContractions = 4;

/// What a kernel more is worth: GPUs move several times as much while one is
/// launched.
static constexpr int64_t kLeastSparedBytes = 256 << 10;

/// Visits the ops after `op`, or before it, up to the contraction after which
/// others are far, for as long as `visit` says so. False if it is reached.
static bool walkNear(Operation *op, bool forward,
                     function_ref<bool(Operation *)> visit) {
  int contractions = 0;
  while ((op = forward ? op->getNextNode() : op->getPrevNode()) && visit(op)) {
    contractions += isa<MatmulOp, AttentionOp, AttentionGradOp>(op);
    if (contractions == kFarContractions)
      return false;
  }
  return true;
}

/// Says whether `reader`, which comes after `op`, does so several contractions
/// later.
static bool isFar(Operation *op, Operation *reader) {
  return op->getBlock() == reader->getBlock() &&
         !walkNear(op, /*forward=*/true,
                   [&](Operation *next) { return next != reader; });
}

/// Whether others wait for the value that comes out of an op.
static bool isMade(Value value) {
  Operation *def = value.getDefiningOp();
  return def && !def->hasTrait<OpTrait::ConstantLike>();
}

bool mlir::weft::keepsMore(ArrayRef<linalg::GenericOp> ops, Operation *reader) {
  if (llvm::none_of(ops, [&](Operation *op) { return isFar(op, reader); }))
    return false;
  DenseSet<Operation *> ours(ops.begin(), ops.end());
  llvm::SetVector<Value> read;
  int64_t spared = 0;
  for (linalg::GenericOp op : ops) {
    read.insert_range(llvm::make_filter_range(op.getDpsInputs(), isMade));
    for (Value result : op->getResults())
      if (llvm::all_of(result.getUsers(), [&](Operation *user) {
            return user == reader || ours.contains(user);
          }))
        spared += getBytes(result);
  }
  // Who reads it there as well is done with it by the time of the reader.
  DenseSet<Operation *> near = ours;
  auto add = [&](Operation *op) {
    near.insert(op);
    return true;
  };
  for (Operation *op : ops)
    for (bool forward : {false, true})
      walkNear(op, forward, add);
  int64_t kept = 0;
  for (Value input : read)
    if (!ours.contains(input.getDefiningOp()) &&
        llvm::all_of(input.getUsers(), [&](Operation *user) {
          return near.contains(
              reader->getBlock()->findAncestorOpInBlock(*user));
        }))
      kept += getBytes(input);
  return kept - spared >= kLeastSparedBytes;
}
