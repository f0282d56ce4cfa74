// SPDX-License-Identifier: Apache-2.0

#include "weft/Analysis/EqualOps.h"

#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::weft;

bool EqualOps::areEqual(Operation *a, Operation *b) const {
  llvm::DenseMap<Value, Value> inner;
  return OperationEquivalence::isEquivalentTo(
      a, b,
      [&](Value x, Value y) {
        return success(getFirst(x) == getFirst(y) || inner.lookup(x) == y);
      },
      [&](Value x, Value y) { inner[x] = y; },
      OperationEquivalence::IgnoreLocations);
}

Operation *EqualOps::add(Operation *op) {
  size_t hash = OperationEquivalence::computeHash(
      op, [&](Value value) { return hash_value(getFirst(value)); },
      OperationEquivalence::ignoreHashValue,
      OperationEquivalence::IgnoreLocations);
  SmallVector<Operation *, 1> &alike = added[hash];
  auto first = llvm::find_if(
      alike, [&](Operation *other) { return areEqual(other, op); });
  if (first != alike.end())
    return *first;
  alike.push_back(op);
  return nullptr;
}
