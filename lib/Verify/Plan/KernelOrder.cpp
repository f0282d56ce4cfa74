// SPDX-License-Identifier: Apache-2.0

// The rule is that of docs/proofs.md, "Updates in place": an op of the kernel
// that reads the input must touch in each step of its loops the very element
// that the op that writes the output touches in the same step, and must surely
// have read it by then: because the writer waits for it, or because the two can
// be one step, in which a kernel reads all before it writes. How the code
// generator arranges the ops plays no part: any arrangement that gives each op
// what it needs will do.

#include "KernelOrder.h"
#include "PlannedProgram.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#include <set>
#include <vector>

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
  /// The op that writes, and what follows from it.
  struct Writer {
    unsigned op;
    Walk walk;
    /// Its loops but for those that it reduces.
    std::set<unsigned> loops;
    bool isReduction;
    /// The ops of the kernel that it waits for.
    std::vector<bool> needed;
    /// The ops that need nothing that a step of the writer has not got.
    std::vector<bool> inStep;
  };

  void uniteProducers(unsigned consumer);
  void uniteReaders();
  Walk getWalk(unsigned op, AffineMap map, MemRefType buffer,
               bool withReductions);
  std::set<unsigned> getLoops(unsigned op, bool withReductions);
  SmallVector<unsigned> getProducers(unsigned op);
  void findNeeded(Writer &writer);
  void findInStep(Writer &writer);
  Writer getWriter(OpResult written, MemRefType type);
  bool isSafeRead(unsigned reader, OpOperand &operand, MemRefType type,
                  const Writer &writer, OpResult written);
  unsigned loop(unsigned op, unsigned number) { return firstLoop[op] + number; }

  rt::FusedOp fused;
  SmallVector<linalg::GenericOp> ops;
  SmallVector<unsigned> firstLoop;
  DenseMap<Value, unsigned> producer;
  llvm::IntEqClasses classes;
  /// A reduction has an order, and so may be moved to later steps.
  bool isOrdered = false;
};

Kernel::Kernel(rt::FusedOp op)
    : fused(op), ops(op.getBody().front().getOps<linalg::GenericOp>()) {
  unsigned numLoops = 0;
  for (auto [i, generic] : llvm::enumerate(ops)) {
    firstLoop.push_back(numLoops);
    numLoops += generic.getNumLoops();
    isOrdered |= generic->hasAttr(WeftDialect::kOrderAttr);
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

/// So are the loops of an op that reads a tensor in the way of the first op
/// that reads it.
void Kernel::uniteReaders() {
  DenseMap<Value, std::pair<unsigned, AffineMap>> first;
  for (unsigned i = 0; i < ops.size(); ++i)
    for (OpOperand *operand : ops[i].getDpsInputOperands()) {
      AffineMap map = ops[i].getMatchingIndexingMap(operand);
      auto [it, isNew] = first.insert({operand->get(), {i, map}});
      auto [other, otherMap] = it->second;
      if (isNew || otherMap != map || !map.isPermutation())
        continue;
      for (unsigned number = 0; number < ops[i].getNumLoops(); ++number)
        classes.join(loop(other, number), loop(i, number));
    }
}

/// How `op` walks over a buffer that it subscripts with `map`.
Walk Kernel::getWalk(unsigned op, AffineMap map, MemRefType buffer,
                     bool withReductions) {
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
  auto kinds = ops[op].getIteratorTypesArray();
  for (auto [number, range] : llvm::enumerate(ranges)) {
    bool isReduction = kinds[number] == utils::IteratorType::reduction;
    // Its steps all touch one element, or the walk is not known.
    if (isReduction && !withReductions) {
      walk.isKnown &= distances[number] == 0;
      continue;
    }
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

/// The classes of an op's loops, those of one step too.
std::set<unsigned> Kernel::getLoops(unsigned op, bool withReductions) {
  std::set<unsigned> loops;
  for (auto [number, kind] : llvm::enumerate(ops[op].getIteratorTypesArray()))
    if (withReductions || kind != utils::IteratorType::reduction)
      loops.insert(classes[loop(op, number)]);
  return loops;
}

/// The ops of the kernel from which `op` takes values; all come before it.
SmallVector<unsigned> Kernel::getProducers(unsigned op) {
  SmallVector<unsigned> result;
  ops[op]->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (auto it = producer.find(operand);
          it != producer.end() && it->second < op)
        result.push_back(it->second);
  });
  return result;
}

void Kernel::findNeeded(Writer &writer) {
  writer.needed.assign(ops.size(), false);
  for (unsigned op = writer.op + 1; op-- > 0;)
    if (op == writer.op || writer.needed[op])
      for (unsigned from : getProducers(op))
        writer.needed[from] = true;
}

/// All that an op of the step needs of the kernel is needed by the writer too,
/// or is given in the same step by such an op.
void Kernel::findInStep(Writer &writer) {
  for (unsigned op = 0; op < ops.size(); ++op)
    writer.inStep.push_back(llvm::all_of(getProducers(op), [&](unsigned from) {
      return writer.needed[from] ||
             (writer.inStep[from] && ops[from].getNumReductionLoops() == 0 &&
              getLoops(from, /*withReductions=*/true) == writer.loops);
    }));
}

Kernel::Writer Kernel::getWriter(OpResult written, MemRefType type) {
  Writer writer;
  writer.op = producer.lookup(written);
  linalg::GenericOp op = ops[writer.op];
  writer.walk = getWalk(writer.op, op.getIndexingMapMatchingResult(written),
                        type, /*withReductions=*/false);
  writer.loops = getLoops(writer.op, /*withReductions=*/false);
  writer.isReduction = op.getNumReductionLoops() != 0;
  findNeeded(writer);
  findInStep(writer);
  return writer;
}

bool Kernel::isSafeRead(unsigned reader, OpOperand &operand, MemRefType type,
                        const Writer &writer, OpResult written) {
  linalg::GenericOp op = ops[reader];
  AffineMap map = op.getMatchingIndexingMap(&operand);
  // A sum that goes on from what lies there.
  if (reader == writer.op && op.isDpsInit(&operand) &&
      op.getTiedOpResult(&operand) == written)
    return getWalk(reader, map, type, /*withReductions=*/false) == writer.walk;
  if (getLoops(reader, /*withReductions=*/true) != writer.loops ||
      !(getWalk(reader, map, type, /*withReductions=*/true) == writer.walk))
    return false;
  if (writer.needed[reader])
    return true;
  // Steps of a reduction write an element that later steps read.
  bool mayBeLate = op.getNumReductionLoops() != 0 && isOrdered;
  return !writer.isReduction && !mayBeLate && writer.inStep[reader];
}

bool Kernel::readsBeforeWriting(unsigned input, unsigned out) {
  Block &block = fused.getBody().front();
  Value value = block.getArgument(input);
  auto yield = cast<rt::YieldOp>(block.getTerminator());
  auto written = dyn_cast<OpResult>(yield.getValues()[out]);
  if (!written || !producer.contains(written))
    return false;
  // The bytes are the same, but the two may walk over them in different ways.
  auto read = cast<MemRefType>(fused.getInputs()[input].getType());
  auto type = cast<MemRefType>(fused.getOuts()[out].getType());
  if (read.getElementTypeBitWidth() != type.getElementTypeBitWidth())
    return false;
  Writer writer = getWriter(written, type);
  for (unsigned i = 0; i < ops.size(); ++i) {
    if (isLookedUp(ops[i], value))
      return false;
    for (OpOperand &operand : ops[i]->getOpOperands())
      if (operand.get() == value &&
          !isSafeRead(i, operand, read, writer, written))
        return false;
  }
  return true;
}

} // namespace

bool mlir::weft::proof::readsBeforeWriting(rt::FusedOp op, unsigned input,
                                           unsigned out) {
  return Kernel(op).readsBeforeWriting(input, out);
}
