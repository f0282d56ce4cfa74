// SPDX-License-Identifier: Apache-2.0

#include "KeptInputs.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::weft;

/// A layer has more contractions than that, and a sum of products of one layer
/// fewer between its parts.
static constexpr int kFarContractions = 4;

bool mlir::weft::isFar(Operation *op, Operation *reader) {
  if (op->getBlock() != reader->getBlock())
    return false;
  int between = 0;
  for (Operation *prev = reader->getPrevNode();
       prev && between < kFarContractions; prev = prev->getPrevNode()) {
    if (prev == op)
      return false;
    between += isa<MatmulOp, AttentionOp, AttentionGradOp>(prev);
  }
  return between == kFarContractions && op->isBeforeInBlock(reader);
}

static int64_t getTensorBytes(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isIntOrFloat())
    return 0;
  return type.getNumElements() * rt::getElementBytes(type.getElementType());
}

bool mlir::weft::keepsMore(ArrayRef<linalg::GenericOp> ops, Operation *reader) {
  auto isOurs = [&](Operation *op) {
    return llvm::any_of(ops, [&](Operation *own) { return own == op; });
  };
  llvm::SetVector<Value> read;
  int64_t kept = 0, spared = 0;
  for (linalg::GenericOp op : ops) {
    read.insert_range(op.getDpsInputs());
    for (Value result : op->getResults())
      if (llvm::all_of(result.getUsers(), [&](Operation *user) {
            return user == reader || isOurs(user);
          }))
        spared += getTensorBytes(result);
  }
  // Far readers are done with it by then.
  auto isDone = [&](Operation *user) {
    return isOurs(user) || isFar(user, reader);
  };
  for (Value input : read)
    if (Operation *def = input.getDefiningOp();
        def && !isOurs(def) && !def->hasTrait<OpTrait::ConstantLike>() &&
        llvm::all_of(input.getUsers(), isDone))
      kept += getTensorBytes(input);
  return kept > spared &&
         llvm::any_of(ops, [&](Operation *op) { return isFar(op, reader); });
}
