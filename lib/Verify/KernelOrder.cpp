// SPDX-License-Identifier: Apache-2.0

// An op of the kernel that reads the input must touch in each step of its loops
// the very element that the op that writes the output touches in the same step:
// the distance from one step of a loop to the next must be that of the writer's
// loop that it is common with. If it comes before the writer, or is the writer,
// each element is then read first, whatever order the steps are taken in. If it
// comes after it, it must be part of the same step, in which a kernel reads all
// before it writes: it must need nothing but what ops over the same loops give
// in that step, and what the writer waits for, too.

#include "KernelOrder.h"
#include "PlannedProgram.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

namespace {

/// Elements from one step of a loop to the next, per class of
/// loops, and the first element. Loops of one step are left out.
struct Walk {
  llvm::MapVector<unsigned, int64_t> distances;
  int64_t offset = 0;
  /// Two loops of the op are of one class, or a subscript is not linear.
  bool isKnown = true;

  bool operator==(const Walk &other) const {
    if (!isKnown || !other.isKnown || offset != other.offset ||
        distances.size() != other.distances.size())
      return false;
    return llvm::all_of(distances, [&](auto &entry) {
      auto it = other.distances.find(entry.first);
      return it != other.distances.end() && it->second == entry.second;
    });
  }
};

class Kernel {
public:
  explicit Kernel(rt::FusedOp op);
  bool readsBeforeWriting(unsigned input, unsigned out);

private:
  void uniteProducers(unsigned consumer);
  void uniteReaders();
  Walk getWalk(unsigned op, AffineMap map, MemRefType buffer);
  void addNeeded(unsigned op, llvm::SmallSet<unsigned, 8> &needed);
  bool isStepwise(unsigned op, const llvm::SmallSet<unsigned, 8> &before);
  llvm::SmallSet<unsigned, 4> getLoops(unsigned op);
  bool isSafeRead(unsigned reader, OpOperand &operand, MemRefType type,
                  unsigned writer, OpResult written);
  unsigned loop(unsigned op, unsigned number) { return firstLoop[op] + number; }

  rt::FusedOp fused;
  SmallVector<linalg::GenericOp> ops;
  SmallVector<unsigned> firstLoop;
  DenseMap<Value, unsigned> producer;
  llvm::IntEqClasses classes;
};

Kernel::Kernel(rt::FusedOp op)
    : fused(op), ops(op.getBody().front().getOps<linalg::GenericOp>()) {
  unsigned numLoops = 0;
  for (auto [i, generic] : llvm::enumerate(ops)) {
    firstLoop.push_back(numLoops);
    numLoops += generic.getNumLoops();
    for (Value result : generic->getResults())
      producer[result] = i;
  }
  classes.grow(numLoops);
  for (unsigned i = 0; i < ops.size(); ++i)
    uniteProducers(i);
  uniteReaders();
  classes.compress();
}

/// Loops that index one dim of a tensor between two ops are common.
void Kernel::uniteProducers(unsigned consumer) {
  linalg::GenericOp reader = ops[consumer];
  for (OpOperand &operand : reader->getOpOperands()) {
    auto it = producer.find(operand.get());
    if (it == producer.end())
      continue;
    linalg::GenericOp writer = ops[it->second];
    AffineMap written =
        writer.getIndexingMapMatchingResult(cast<OpResult>(operand.get()));
    AffineMap read = reader.getMatchingIndexingMap(&operand);
    for (auto [w, r] : llvm::zip(written.getResults(), read.getResults()))
      if (isa<AffineDimExpr>(w) && isa<AffineDimExpr>(r))
        classes.join(loop(it->second, cast<AffineDimExpr>(w).getPosition()),
                     loop(consumer, cast<AffineDimExpr>(r).getPosition()));
  }
}

/// So are the loops of two ops that read a tensor in the same way.
void Kernel::uniteReaders() {
  llvm::MapVector<std::pair<Value, AffineMap>, unsigned> first;
  for (unsigned i = 0; i < ops.size(); ++i)
    for (OpOperand *operand : ops[i].getDpsInputOperands()) {
      AffineMap map = ops[i].getMatchingIndexingMap(operand);
      auto [it, isNew] = first.insert({{operand->get(), map}, i});
      if (isNew || !map.isPermutation())
        continue;
      for (unsigned number = 0; number < ops[i].getNumLoops(); ++number)
        classes.join(loop(it->second, number), loop(i, number));
    }
}

/// How `op` walks over a buffer that it subscripts with `map`.
Walk Kernel::getWalk(unsigned op, AffineMap map, MemRefType buffer) {
  Walk walk;
  SmallVector<int64_t> ranges = ops[op].getStaticLoopRanges();
  SmallVector<int64_t> distances(ranges.size(), 0);
  for (auto [expr, stride] : llvm::zip(map.getResults(), getStrides(buffer))) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      distances[dim.getPosition()] += stride;
    else if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      walk.offset += constant.getValue() * stride;
    else
      walk.isKnown = false;
  }
  for (auto [number, range] : llvm::enumerate(ranges)) {
    if (range == 1)
      continue;
    unsigned common = classes[loop(op, number)];
    walk.isKnown &= walk.distances.insert({common, distances[number]}).second;
  }
  return walk;
}

/// Says whether a body takes elements of `value` by subscripts of its own.
bool isLookedUp(linalg::GenericOp op, Value value) {
  return op.getBody()
      ->walk([&](Operation *inner) {
        return llvm::is_contained(inner->getOperands(), value)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

llvm::SmallSet<unsigned, 4> Kernel::getLoops(unsigned op) {
  llvm::SmallSet<unsigned, 4> loops;
  for (auto [number, range] : llvm::enumerate(ops[op].getStaticLoopRanges()))
    if (range != 1)
      loops.insert(classes[loop(op, number)]);
  return loops;
}

/// Adds all ops of the kernel that `op` needs.
void Kernel::addNeeded(unsigned op, llvm::SmallSet<unsigned, 8> &needed) {
  for (Value operand : ops[op]->getOperands()) {
    auto it = producer.find(operand);
    if (it != producer.end() && needed.insert(it->second).second)
      addNeeded(it->second, needed);
  }
}

/// Says whether all that `op` needs of the kernel, but for what is done before
/// anyway, is there in the same step.
bool Kernel::isStepwise(unsigned op,
                        const llvm::SmallSet<unsigned, 8> &before) {
  return llvm::all_of(ops[op]->getOperands(), [&](Value operand) {
    auto it = producer.find(operand);
    return it == producer.end() || before.contains(it->second) ||
           (ops[it->second].getNumReductionLoops() == 0 &&
            getLoops(it->second) == getLoops(op) &&
            isStepwise(it->second, before));
  });
}

bool Kernel::isSafeRead(unsigned reader, OpOperand &operand, MemRefType type,
                        unsigned writer, OpResult written) {
  linalg::GenericOp from = ops[writer], op = ops[reader];
  // A sum that goes on from what lies there.
  if (reader == writer && op.isDpsInit(&operand) &&
      op.getTiedOpResult(&operand) == written)
    return true;
  // Steps of a reduction write an element that later steps read.
  bool isReduction = from.getNumReductionLoops() != 0;
  llvm::SmallSet<unsigned, 8> before;
  addNeeded(writer, before);
  // Those with an order do not share their steps with those of another.
  bool mayBeLate = op.getNumReductionLoops() != 0 &&
                   op->hasAttr(WeftDialect::kOrderAttr);
  if ((reader >= writer && isReduction) ||
      (reader > writer && (mayBeLate || !isStepwise(reader, before))))
    return false;
  Walk writing =
      getWalk(writer, from.getIndexingMapMatchingResult(written), type);
  if (isReduction)
    writing.distances.remove_if([](auto &entry) { return entry.second == 0; });
  return getWalk(reader, op.getMatchingIndexingMap(&operand), type) == writing;
}

bool Kernel::readsBeforeWriting(unsigned input, unsigned out) {
  Block &block = fused.getBody().front();
  Value value = block.getArgument(input);
  auto yield = cast<rt::YieldOp>(block.getTerminator());
  auto written = cast<OpResult>(yield.getValues()[out]);
  auto type = cast<MemRefType>(fused.getOuts()[out].getType());
  for (unsigned i = 0; i < ops.size(); ++i) {
    if (isLookedUp(ops[i], value))
      return false;
    for (OpOperand &operand : ops[i]->getOpOperands())
      if (operand.get() == value &&
          !isSafeRead(i, operand, type, producer.lookup(written), written))
        return false;
  }
  return true;
}

} // namespace

bool mlir::weft::proof::readsBeforeWriting(rt::FusedOp op, unsigned input,
                                           unsigned out) {
  return Kernel(op).readsBeforeWriting(input, out);
}
