// SPDX-License-Identifier: Apache-2.0

#include "RepeatedByFusion.h"

#include "weft/Interfaces/CostOpInterface.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::weft;

/// An element that takes as many additions is not computed twice: the least
/// that a function like an exponential counts as.
static constexpr double kHeavy = 16;

/// But for what is in longer rows, which a kernel does not keep.
static constexpr int64_t kRowBytes = 32 << 10;

namespace {

/// A task, with those before it that are part of its body.
struct Chain {
  bool isElementwise = false;
  double operations = 0;
  /// What it reads of memory.
  llvm::SmallSetVector<Value, 4> sources;
};

class RepeatedByFusion {
public:
  RepeatedByFusion(ArrayRef<Operation *> tasks, const SavedValuesOfBlock &saved)
      : tasks(tasks), saved(saved), chains(saved.getBoundary()),
        repeated(saved.getBoundary(), false) {}

  std::vector<bool> find() {
    for (int task = 0, e = saved.getBoundary(); task < e; ++task)
      if (auto op = dyn_cast<linalg::GenericOp>(tasks[task]))
        if (op.isAllParallelLoops() && op->getNumResults() == 1)
          visit(task, op);
    return std::move(repeated);
  }

private:
  void visit(int task, linalg::GenericOp op);
  bool isRepeated(int task, linalg::GenericOp op) const;
  bool isPartOfReader(int task) const {
    return chains[task].isElementwise &&
           (repeated[task] || saved.getReaders(task).size() == 1);
  }

  ArrayRef<Operation *> tasks;
  const SavedValuesOfBlock &saved;
  std::vector<Chain> chains;
  std::vector<bool> repeated;
};

void RepeatedByFusion::visit(int task, linalg::GenericOp op) {
  Chain &own = chains[task];
  own.isElementwise = true;
  if (std::optional<OpWork> work = cast<CostOpInterface>(*op).getWork())
    own.operations = work->operations;
  for (Value input : op.getDpsInputs())
    if (!input.getDefiningOp())
      own.sources.insert(input);
  for (OpResult read : saved.getReads(task)) {
    int from = saved.getNumber(read.getOwner());
    if (from < saved.getBoundary() && isPartOfReader(from)) {
      own.sources.insert_range(chains[from].sources);
      own.operations += chains[from].operations;
    } else {
      own.sources.insert(read);
    }
  }
  repeated[task] = isRepeated(task, op);
}

/// A single reader has it in its body.
bool RepeatedByFusion::isRepeated(int task, linalg::GenericOp op) const {
  ArrayRef<int> readers = saved.getReaders(task);
  bool areKernels = llvm::all_of(readers, [&](int reader) {
    return isa<linalg::GenericOp>(tasks[reader]);
  });
  if (llvm::hasSingleElement(*op.getBody()) ||
      (areKernels && readers.size() == 1))
    return true;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!areKernels || !type || !type.hasStaticShape() || type.getRank() == 0)
    return false;
  double read = 0, made = double(getValueBytes(op->getResult(0)));
  for (Value source : chains[task].sources)
    read += double(getValueBytes(source));
  double elements = double(type.getNumElements());
  bool isLight = chains[task].operations < kHeavy * elements;
  bool isRowLong =
      readers.size() == 2 &&
      made / elements * double(type.getShape().back()) > double(kRowBytes);
  return read * 8 <= made * 9 && (isLight || isRowLong);
}

} // namespace

std::vector<bool>
mlir::weft::findRepeatedByFusion(ArrayRef<Operation *> tasks,
                                 const SavedValuesOfBlock &saved) {
  return RepeatedByFusion(tasks, saved).find();
}
