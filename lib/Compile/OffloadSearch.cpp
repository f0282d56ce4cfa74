// SPDX-License-Identifier: Apache-2.0

// Each try is a plan, with the values that it computes again. More arguments in
// the host's memory are more copies and fewer values that are computed again,
// so the first tries are none of them and all of them; then halves.

#include "OffloadSearch.h"

#include "PlaceOnHost.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Rules/ShardingRule.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::weft;

/// How often the bytes that lie in the host's memory are halved.
static constexpr int kMaxHalvings = 3;

/// Whether a value is read before the step is about to end, or may be: a
/// product is made of it, or code is told it.
static bool isReadEarly(Operation *op) {
  bool isCode = op->getNumRegions() > 0 && !isa<linalg::LinalgOp>(op);
  return isCode || isa<CallOpInterface>(op) ||
         getComputeClass(op) != ComputeClass::Other ||
         op->hasTrait<OpTrait::IsTerminator>();
}

/// Whether all that an argument is for is what takes its place, as with the
/// moments of an optimizer.
static bool isForLater(func::FuncOp func, unsigned argument) {
  llvm::SetVector<Value> values;
  values.insert(func.getArgument(argument));
  for (size_t i = 0; i < values.size(); ++i)
    for (Operation *user : values[i].getUsers()) {
      if (isa<func::ReturnOp>(user))
        continue;
      if (isReadEarly(user))
        return false;
      values.insert_range(user->getResults());
    }
  return true;
}

void OffloadSearch::findArguments() {
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal())
      continue;
    for (unsigned i = 0; i < func.getNumArguments(); ++i) {
      auto type = dyn_cast<RankedTensorType>(func.getArgument(i).getType());
      if (!type || !type.hasStaticShape() ||
          !type.getElementType().isIntOrFloat() || type.getRank() == 0 ||
          func.getArgAttr(i, WeftDialect::kHostAttr) || !isDonated(func, i) ||
          !isForLater(func, i))
        continue;
      int64_t bits = type.getElementTypeBitWidth() * type.getNumElements();
      arguments.push_back({func, i, (bits + 7) / 8});
    }
  }
  llvm::stable_sort(arguments, [](const Argument &a, const Argument &b) {
    return a.bytes > b.bytes;
  });
}

/// How many, from the largest on, have about so many bytes.
size_t OffloadSearch::countWithin(int64_t bytes) const {
  size_t count = 0;
  for (int64_t sum = 0; count < arguments.size() && sum < bytes; ++count)
    sum += arguments[count].bytes;
  return count;
}

/// Marks the first of the arguments, or takes their marks away.
void OffloadSearch::setMarks(size_t count, bool isMarked) {
  for (Argument &argument : MutableArrayRef(arguments).take_front(count)) {
    if (isMarked)
      argument.func.setArgAttr(argument.number, WeftDialect::kHostAttr,
                               UnitAttr::get(module.getContext()));
    else
      argument.func.removeArgAttr(argument.number, WeftDialect::kHostAttr);
  }
}

std::optional<int64_t> OffloadSearch::tryFirst(size_t count) {
  setMarks(count, true);
  std::optional<int64_t> nanoseconds = plan(module);
  setMarks(count, false);
  return nanoseconds;
}

void OffloadSearch::mark() {
  findArguments();
  if (arguments.empty())
    return;
  size_t best = 0;
  std::optional<int64_t> fastest = tryFirst(0);
  int64_t bytes = 0;
  for (const Argument &argument : arguments)
    bytes += argument.bytes;
  size_t count = arguments.size();
  for (int i = 0; i <= kMaxHalvings && count > 0; ++i) {
    std::optional<int64_t> taken = tryFirst(count);
    // With fewer it would not fit either.
    if (!taken)
      break;
    // Of two that take the same, the one with fewer copies.
    if (!fastest || *taken < *fastest || (*taken == *fastest && best > 0)) {
      fastest = taken;
      best = count;
    }
    bytes /= 2;
    count = std::min(countWithin(bytes), count - 1);
  }
  setMarks(fastest ? best : arguments.size(), true);
}
