// SPDX-License-Identifier: Apache-2.0

// Lifetimes of values, and the arena: greedy by size, which for the straight
// lines that training steps are comes close to the most that is ever alive.

#include "BufferPlan.h"
#include "KernelShape.h"

#include "weft/Analysis/Traffic.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::weft;

int64_t mlir::weft::getElementBytes(Type element) {
  return element.isIntOrFloat()
             ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)
             : sizeof(int64_t);
}

int64_t mlir::weft::getTensorBytes(ShapedType type) {
  return type.getNumElements() * getElementBytes(type.getElementType());
}

SmallVector<int64_t> mlir::weft::getBufferStrides(MemRefType type) {
  // Not MLIR's own strides of dense memrefs, which do not exist for sizes of 0.
  if (type.getLayout().isIdentity())
    return getDenseStrides(type.getShape());
  auto [strides, offset] = type.getStridesAndOffset();
  return strides;
}

int64_t mlir::weft::placeRoots(MutableArrayRef<Root> roots) {
  SmallVector<Root *> order;
  for (Root &root : roots)
    if (root.space == rt::Space::Arena)
      order.push_back(&root);
  llvm::stable_sort(order, [](const Root *a, const Root *b) {
    return std::make_pair(-a->bytes, a->begin) <
           std::make_pair(-b->bytes, b->begin);
  });
  // Placed roots, sorted by offset.
  SmallVector<Root *> placed;
  int64_t total = 0;
  for (Root *root : order) {
    int64_t offset = 0;
    for (const Root *other : placed) {
      if (other->end < root->begin || root->end < other->begin)
        continue;
      if (offset + root->bytes <= other->position)
        break;
      offset = std::max<int64_t>(
          offset,
          llvm::alignTo(other->position + other->bytes, kArenaAlignment));
    }
    root->position = offset;
    auto where = llvm::lower_bound(placed, root, [](Root *a, Root *b) {
      return a->position < b->position;
    });
    placed.insert(where, root);
    total = std::max(total, offset + root->bytes);
  }
  return llvm::alignTo(total, kArenaAlignment);
}

Lifetimes::Lifetimes(Operation *function) {
  int64_t next = 0;
  std::function<void(Operation *)> number = [&](Operation *op) {
    first[op] = last[op] = next++;
    // A fused op happens at one time.
    if (op->getNumRegions() == 0 || isa<rt::FusedOp>(op))
      return;
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Operation &inner : block)
          number(&inner);
    last[op] = next++;
  };
  number(function);
}

int64_t Lifetimes::getLastUse(Value value, Operation *except) const {
  Region *home = value.getParentRegion();
  int64_t lastUse = value.getDefiningOp() ? getPosition(value.getDefiningOp())
                                          : getPosition(home->getParentOp());
  for (Operation *user : value.getUsers()) {
    Operation *outer = home->findAncestorOpInRegion(*user);
    if (outer == except)
      continue;
    WaitOp wait = getWait(outer);
    lastUse = std::max(lastUse, getEnd(wait ? wait : outer));
  }
  return lastUse;
}
