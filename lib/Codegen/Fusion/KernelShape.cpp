// SPDX-License-Identifier: Apache-2.0

// Loops of the members are united through the tensors that pass between them
// (union-find over loops); what is then parallel in all members are the rows.
// Neighbouring dims that every access walks as one are joined, so that a
// contiguous tensor is one long loop. The innermost loop is the dim that is
// contiguous in most bytes.

#include "weft/Codegen/Fusion/KernelShape.h"

#include "weft/Codegen/Fusion/Orders.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

constexpr unsigned kMaxDims = 64;

uint64_t bit(int dim) { return uint64_t(1) << dim; }

/// Adds `factor * expr` to strides per loop and offset; fails if not linear.
LogicalResult addLinear(AffineExpr expr, int64_t factor,
                        MutableArrayRef<int64_t> strides, int64_t &offset) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    strides[dim.getPosition()] += factor;
    return success();
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    offset += factor * constant.getValue();
    return success();
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return failure();
  if (expr.getKind() == AffineExprKind::Add)
    return success(
        succeeded(addLinear(binary.getLHS(), factor, strides, offset)) &&
        succeeded(addLinear(binary.getRHS(), factor, strides, offset)));
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (expr.getKind() != AffineExprKind::Mul || !constant)
    return failure();
  return addLinear(binary.getLHS(), factor * constant.getValue(), strides,
                   offset);
}

/// Builds a KernelShape step by step.
class Analysis {
public:
  Analysis(ArrayRef<linalg::GenericOp> ops, GetStrides getStrides)
      : ops(ops), getStrides(getStrides) {}

  FailureOr<KernelShape> run();

private:
  LogicalResult uniteLoops();
  LogicalResult uniteThrough(unsigned consumer, OpOperand &operand);
  void uniteSiblings();
  LogicalResult numberDims();
  LogicalResult computeAccesses();
  LogicalResult computeValueDims(Member &member);
  FailureOr<Access> getAccess(const Member &member, AffineMap map,
                              ArrayRef<int64_t> strides);
  SmallVector<int64_t> getTensorStrides(Value value);
  void joinDims();
  bool canJoin(int outer, int inner) const;
  bool keepsOrder(const Member &member, int outer, int inner) const;
  void join(int outer, int inner);
  uint64_t findParallelDims() const;
  int findVectorDim(uint64_t candidates) const;
  LogicalResult chooseRows();
  bool makesNumbers() const;
  void choosePhases();
  bool mayEnter(const Phase &phase, const Member &member) const;
  void orderLoops(Phase &phase);
  void chooseCut();

  unsigned id(unsigned member, unsigned loop) { return firstId[member] + loop; }

  ArrayRef<linalg::GenericOp> ops;
  GetStrides getStrides;
  KernelShape shape;
  llvm::SmallVector<unsigned> firstId;
  llvm::IntEqClasses classes;
  DenseMap<Value, unsigned> producer;
};

LogicalResult Analysis::uniteThrough(unsigned consumer, OpOperand &operand) {
  unsigned from = producer[operand.get()];
  linalg::GenericOp op = ops[from];
  AffineMap written =
      op.getIndexingMapMatchingResult(cast<OpResult>(operand.get()));
  linalg::GenericOp reader = ops[consumer];
  AffineMap read = reader.getMatchingIndexingMap(&operand);
  for (auto [writeExpr, readExpr] :
       llvm::zip(written.getResults(), read.getResults())) {
    auto writeDim = dyn_cast<AffineDimExpr>(writeExpr);
    auto readDim = dyn_cast<AffineDimExpr>(readExpr);
    if (!writeDim || !readDim)
      return failure();
    classes.join(id(from, writeDim.getPosition()),
                 id(consumer, readDim.getPosition()));
  }
  return success();
}

LogicalResult Analysis::uniteLoops() {
  unsigned numLoops = 0;
  for (linalg::GenericOp op : ops) {
    firstId.push_back(numLoops);
    numLoops += op.getNumLoops();
  }
  classes.grow(numLoops);
  for (unsigned i = 0; i < ops.size(); ++i)
    for (Value result : linalg::GenericOp(ops[i])->getResults())
      producer[result] = i;
  for (unsigned i = 0; i < ops.size(); ++i) {
    linalg::GenericOp op = ops[i];
    for (OpOperand &operand : op->getOpOperands())
      if (producer.count(operand.get()) && failed(uniteThrough(i, operand)))
        return failure();
    // A value of the group that a body looks into is not there row by row.
    bool captures = false;
    op.getBody()->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        captures |= producer.count(operand) != 0;
    });
    if (captures)
      return failure();
  }
  uniteSiblings();
  return success();
}

/// Members that no value connects still walk together if they read one tensor
/// in the same way.
void Analysis::uniteSiblings() {
  llvm::MapVector<Value, std::pair<unsigned, AffineMap>> seen;
  for (unsigned i = 0; i < ops.size(); ++i) {
    linalg::GenericOp op = ops[i];
    for (OpOperand *operand : op.getDpsInputOperands()) {
      if (producer.count(operand->get()))
        continue;
      AffineMap map = op.getMatchingIndexingMap(operand);
      auto [entry, isNew] = seen.insert({operand->get(), {i, map}});
      auto [other, otherMap] = entry->second;
      if (isNew || other == i || otherMap != map || !map.isPermutation() ||
          linalg::GenericOp(ops[other]).getNumLoops() != op.getNumLoops())
        continue;
      for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
        classes.join(id(other, loop), id(i, loop));
    }
  }
}

LogicalResult Analysis::numberDims() {
  classes.compress();
  if (classes.getNumClasses() > kMaxDims)
    return failure();
  SmallVector<int> dimOf(classes.getNumClasses(), -1);
  for (unsigned i = 0; i < ops.size(); ++i) {
    linalg::GenericOp op = ops[i];
    Member member;
    member.op = op;
    member.order = getOrder(cast<linalg::LinalgOp>(op.getOperation()));
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    auto iterators = op.getIteratorTypesArray();
    for (unsigned loop = 0; loop < op.getNumLoops(); ++loop) {
      if (ShapedType::isDynamic(ranges[loop]))
        return failure();
      int &dim = dimOf[classes[id(i, loop)]];
      if (dim < 0) {
        dim = shape.sizes.size();
        shape.sizes.push_back(ranges[loop]);
      }
      if (shape.sizes[dim] != ranges[loop] || (member.loopDims & bit(dim)))
        return failure();
      member.loopDims |= bit(dim);
      if (iterators[loop] == utils::IteratorType::reduction)
        member.reductionDims |= bit(dim);
      member.dims.push_back(dim);
    }
    shape.members.push_back(std::move(member));
  }
  return success();
}

FailureOr<Access> Analysis::getAccess(const Member &member, AffineMap map,
                                      ArrayRef<int64_t> strides) {
  Access access;
  access.strides.assign(shape.sizes.size(), 0);
  SmallVector<int64_t> loops(member.dims.size(), 0);
  for (auto [expr, stride] : llvm::zip(map.getResults(), strides))
    if (failed(addLinear(expr, stride, loops, access.offset)))
      return failure();
  for (auto [loop, stride] : llvm::enumerate(loops))
    access.strides[member.dims[loop]] = stride;
  return access;
}

SmallVector<int64_t> Analysis::getTensorStrides(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return {};
  return producer.count(value) ? rt::getDenseStrides(type.getShape())
                               : getStrides(value);
}

LogicalResult Analysis::computeAccesses() {
  for (Member &member : shape.members) {
    for (OpOperand &operand : member.op->getOpOperands()) {
      AffineMap map = member.op.getMatchingIndexingMap(&operand);
      bool isInit = member.op.isDpsInit(&operand);
      // A sum starts from a constant or from memory, not from another member.
      if (isInit && producer.count(operand.get()))
        return failure();
      FailureOr<Access> access =
          getAccess(member, map, getTensorStrides(operand.get()));
      if (failed(access))
        return failure();
      if (isInit) {
        member.initAccesses.push_back(*access);
        access = getAccess(member, map,
                           getStrides(member.op.getTiedOpResult(&operand)));
      }
      member.accesses.push_back(*access);
    }
    if (failed(computeValueDims(member)))
      return failure();
  }
  return success();
}

LogicalResult Analysis::computeValueDims(Member &member) {
  for (OpResult result : member.op->getResults()) {
    uint64_t mask = 0;
    AffineMap map = member.op.getIndexingMapMatchingResult(result);
    for (AffineExpr expr : map.getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim)
        return failure();
      mask |= bit(member.dims[dim.getPosition()]);
    }
    if ((mask | member.reductionDims) != member.loopDims ||
        (mask & member.reductionDims))
      return failure();
    shape.valueDims[result] = mask;
  }
  return success();
}

/// Says whether each element stays in its leaf and lane if the two dims, which
/// the member reduces, become one, and leaves are still whole runs of it or
/// parts of one.
bool Analysis::keepsOrder(const Member &member, int outer, int inner) const {
  SmallVector<int> dims = member.getReducedDims();
  auto it = llvm::find(dims, outer);
  if (it + 1 == dims.end() || *(it + 1) != inner)
    return false;
  int64_t count = 1, run = 1;
  for (int dim : dims)
    count *= shape.sizes[dim];
  for (int dim : ArrayRef<int>(it, dims.end()))
    run *= shape.sizes[dim];
  int64_t leaf = count / member.order.getLeaves();
  if (leaf == 0 || (leaf % run != 0 && run % leaf != 0))
    return false;
  return inner != dims.back() ||
         shape.sizes[inner] % member.order.getLanes() == 0;
}

/// Says whether all members walk `outer` and `inner` as one dim.
bool Analysis::canJoin(int outer, int inner) const {
  uint64_t both = bit(outer) | bit(inner);
  auto isSplit = [&](uint64_t mask) {
    return (mask & both) != 0 && (mask & both) != both;
  };
  for (const Member &member : shape.members) {
    if (isSplit(member.loopDims) || isSplit(member.reductionDims))
      return false;
    if (!(member.loopDims & both))
      continue;
    if (member.order && (member.reductionDims & both) &&
        !keepsOrder(member, outer, inner))
      return false;
    for (const Access &access :
         llvm::concat<const Access>(member.accesses, member.initAccesses))
      if (access.strides[outer] != access.strides[inner] * shape.sizes[inner])
        return false;
    bool usesIndex = false;
    const_cast<linalg::GenericOp &>(member.op).getBody()->walk(
        [&](linalg::IndexOp index) {
          usesIndex |= (bit(member.dims[index.getDim()]) & both) != 0;
        });
    if (usesIndex)
      return false;
  }
  return llvm::none_of(shape.valueDims,
                       [&](auto &entry) { return isSplit(entry.second); });
}

void Analysis::join(int outer, int inner) {
  shape.sizes[inner] *= shape.sizes[outer];
  shape.sizes[outer] = 1;
  for (Member &member : shape.members) {
    member.loopDims &= ~bit(outer);
    member.reductionDims &= ~bit(outer);
    llvm::replace(member.dims, outer, -1);
    for (Access &access :
         llvm::concat<Access>(member.accesses, member.initAccesses))
      access.strides[outer] = 0;
  }
  for (auto &entry : shape.valueDims)
    entry.second &= ~bit(outer);
}

void Analysis::joinDims() {
  int numDims = shape.sizes.size();
  bool changed = true;
  while (changed) {
    changed = false;
    for (int outer = 0; outer < numDims; ++outer)
      for (int inner = 0; inner < numDims; ++inner) {
        auto isUsed = [&](int dim) {
          return llvm::any_of(shape.members, [&](const Member &member) {
            return member.loopDims & bit(dim);
          });
        };
        if (outer == inner || !isUsed(outer) || !isUsed(inner) ||
            !canJoin(outer, inner))
          continue;
        join(outer, inner);
        changed = true;
      }
  }
}

uint64_t Analysis::findParallelDims() const {
  uint64_t mask = ~uint64_t(0);
  for (const Member &member : shape.members)
    mask &= member.loopDims & ~member.reductionDims;
  return mask;
}

/// The dim among `candidates` that is contiguous in most bytes; -1 if none is
/// a loop. Each tensor counts once for each member that reads it.
int Analysis::findVectorDim(uint64_t candidates) const {
  int best = -1;
  double bestScore = -1;
  for (int dim = 0, e = shape.sizes.size(); dim < e; ++dim) {
    if (!(candidates & bit(dim)))
      continue;
    double score = 0;
    for (const Member &member : shape.members) {
      if (!(member.loopDims & bit(dim)))
        continue;
      for (const Access &access : member.accesses) {
        double elements = 1;
        for (auto [d, stride] : llvm::enumerate(access.strides))
          elements *= stride ? shape.sizes[d] : 1;
        int64_t stride = access.strides[dim];
        score += stride == 1 ? elements : stride == 0 ? elements * 0.01 : 0;
      }
    }
    // Loops of a few iterations are not worth a vector.
    if (shape.sizes[dim] < 8)
      score *= 0.05;
    if (score > bestScore ||
        (score == bestScore && shape.sizes[dim] > shape.sizes[best])) {
      best = dim;
      bestScore = score;
    }
  }
  return best;
}

LogicalResult Analysis::chooseRows() {
  uint64_t all = 0;
  for (const Member &member : shape.members)
    all |= member.loopDims;
  uint64_t rows = findParallelDims();
  int vectorDim = findVectorDim(all);
  if (vectorDim >= 0)
    rows &= ~bit(vectorDim);
  for (int dim = 0, e = shape.sizes.size(); dim < e; ++dim)
    if (rows & bit(dim))
      shape.rows.push_back(dim);
  // Rows are walked in the order in which the largest operand lies.
  auto getReach = [&](int dim) {
    int64_t reach = 0;
    for (const Member &member : shape.members)
      for (const Access &access : member.accesses)
        reach += access.strides[dim];
    return reach;
  };
  llvm::stable_sort(shape.rows,
                    [&](int a, int b) { return getReach(a) > getReach(b); });
  return success();
}

/// Reductions of one phase have one order.
bool Analysis::mayEnter(const Phase &phase, const Member &member) const {
  if (!member.isReduction())
    return true;
  std::optional<ReductionOrder> order = member.getReductionOrder();
  return llvm::all_of(phase.members, [&](unsigned other) {
    return !shape.members[other].isReduction() ||
           (order ? phase.order == order : !phase.order);
  });
}

void Analysis::choosePhases() {
  uint64_t rows = shape.rowMask();
  SmallVector<uint64_t> phaseDims;
  for (auto [i, member] : llvm::enumerate(shape.members)) {
    uint64_t inner = member.loopDims & ~rows;
    int first = 0;
    for (Value operand : linalg::GenericOp(member.op)->getOperands()) {
      auto it = producer.find(operand);
      if (it == producer.end())
        continue;
      const Member &from = shape.members[it->second];
      bool together = !from.isReduction() && (from.loopDims & ~rows) == inner;
      first = std::max(first, from.phase + (together ? 0 : 1));
    }
    int phase = first;
    int numPhases = phaseDims.size();
    while (phase < numPhases && (phaseDims[phase] != inner ||
                                 !mayEnter(shape.phases[phase], member)))
      ++phase;
    if (phase == numPhases) {
      phaseDims.push_back(inner);
      shape.phases.emplace_back();
      for (int dim = 0, e = shape.sizes.size(); dim < e; ++dim)
        if (inner & bit(dim))
          shape.phases.back().loops.push_back(dim);
    }
    member.phase = phase;
    shape.phases[phase].members.push_back(i);
    if (member.order)
      shape.phases[phase].order = member.getReductionOrder();
  }
  for (Phase &phase : shape.phases)
    orderLoops(phase);
}

void Analysis::orderLoops(Phase &phase) {
  uint64_t inner = 0;
  for (int dim : phase.loops)
    inner |= bit(dim);
  int vectorDim = findVectorDim(inner);
  auto getReach = [&](int dim) {
    int64_t reach = 0;
    for (unsigned member : phase.members)
      for (const Access &access : shape.members[member].accesses)
        reach += access.strides[dim];
    return dim == vectorDim ? -1 : reach;
  };
  llvm::stable_sort(phase.loops,
                    [&](int a, int b) { return getReach(a) > getReach(b); });
  if (!phase.order)
    return;
  // What is reduced is walked in its own order.
  const int *next = phase.order->dims.begin();
  for (int &dim : phase.loops)
    if (llvm::is_contained(phase.order->dims, dim))
      dim = *next++;
}

void Analysis::chooseCut() {
  int64_t numRows = 1;
  for (int dim : shape.rows)
    numRows *= shape.sizes[dim];
  if (shape.phases.size() != 1 || numRows >= 16)
    return;
  uint64_t parallel = findParallelDims() & ~shape.rowMask();
  int best = -1;
  for (int dim : shape.phases[0].loops)
    if ((parallel & bit(dim)) &&
        (best < 0 || shape.sizes[dim] > shape.sizes[best]))
      best = dim;
  if (best < 0 || shape.sizes[best] <= numRows)
    return;
  shape.cutDim = best;
  // The rows become loops outside of the cut one.
  shape.phases[0].loops.insert(shape.phases[0].loops.begin(),
                               shape.rows.begin(), shape.rows.end());
  shape.rows.clear();
}

/// Says whether each member makes one number, of tensors from outside.
bool Analysis::makesNumbers() const {
  return llvm::all_of(shape.members, [&](const Member &member) {
    return member.loopDims == member.reductionDims &&
           llvm::none_of(
               linalg::GenericOp(member.op)->getOperands(),
               [&](Value operand) { return producer.contains(operand); });
  });
}

FailureOr<KernelShape> Analysis::run() {
  if (failed(uniteLoops()) || failed(numberDims()) || failed(computeAccesses()))
    return failure();
  joinDims();
  if (failed(chooseRows()))
    return failure();
  choosePhases();
  // Without rows, all of a value would wait between two phases.
  if (shape.members.size() > 1 && shape.phases.size() > 1 &&
      shape.rows.empty() && !makesNumbers())
    return failure();
  chooseCut();
  return std::move(shape);
}

} // namespace

SmallVector<int> Member::getReducedDims() const {
  SmallVector<int> result;
  for (int dim : dims)
    if (dim >= 0 && (reductionDims >> dim & 1))
      result.push_back(dim);
  return result;
}

std::optional<ReductionOrder> Member::getReductionOrder() const {
  if (!order)
    return std::nullopt;
  auto reduction = cast<linalg::LinalgOp>(linalg::GenericOp(op).getOperation());
  bool isPlain =
      llvm::all_of(llvm::seq(reduction->getNumResults()), [&](unsigned i) {
        return getCombiner(reduction, i).has_value();
      });
  return ReductionOrder{getReducedDims(), order.getLeaves(), order.getLanes(),
                        !isPlain};
}

uint64_t KernelShape::rowMask() const {
  uint64_t mask = 0;
  for (int dim : rows)
    mask |= bit(dim);
  return mask;
}

int64_t KernelShape::getExtent() const {
  if (cutDim >= 0)
    return sizes[cutDim];
  int64_t extent = 1;
  for (int dim : rows)
    extent *= sizes[dim];
  return extent;
}

int64_t KernelShape::getWork() const {
  int64_t work = 0;
  for (const Member &member : members) {
    int64_t points = 1;
    for (int dim = 0, e = sizes.size(); dim < e; ++dim)
      if (member.loopDims & bit(dim))
        points *= sizes[dim];
    work += points;
  }
  return work;
}

int KernelShape::findProducer(Value value) const {
  Operation *def = value.getDefiningOp();
  for (auto [i, member] : llvm::enumerate(members))
    if (linalg::GenericOp(member.op).getOperation() == def)
      return i;
  return -1;
}

bool KernelShape::isRowScalar(Value value) const {
  return cutDim < 0 && (valueDims.lookup(value) & ~rowMask()) == 0;
}

bool KernelShape::isForwarded(Value value, const Member &member) const {
  int from = findProducer(value);
  return from >= 0 && members[from].phase == member.phase &&
         !members[from].isReduction();
}

int64_t KernelShape::getRowElements(Value value) const {
  uint64_t inner = valueDims.lookup(value) & ~rowMask();
  int64_t elements = 1;
  for (int dim = 0, e = sizes.size(); dim < e; ++dim)
    if (inner & bit(dim))
      elements *= sizes[dim];
  return elements;
}

//===----------------------------------------------------------------------===//
// Updates in place
//===----------------------------------------------------------------------===//

namespace {

/// The rule of docs/memory-plan.md, "Updates in place", for one output.
class InPlaceRule {
public:
  InPlaceRule(const KernelShape &shape, int writer, OpResult output);

  bool allows(Value input) const;

private:
  static bool looksUp(linalg::GenericOp op, Value input);
  bool mayRead(int reader, OpOperand &operand) const;
  bool mayBeInStep(int reader) const;
  SmallVector<int> getProducers(const Member &member) const;

  const KernelShape &shape;
  int writer;
  unsigned number;
  Access written;
  /// The dims over which the writer writes.
  uint64_t dims;
  bool isOrdered;
  /// Of each member: the writer waits for it; all that it waits for is there in
  /// the writer's step.
  SmallVector<bool> isNeeded, isReady;
};

InPlaceRule::InPlaceRule(const KernelShape &shape, int writer, OpResult output)
    : shape(shape), writer(writer), number(output.getResultNumber()),
      dims(shape.valueDims.lookup(output)),
      isNeeded(shape.members.size(), false) {
  const Member &from = shape.members[writer];
  unsigned numInputs = linalg::GenericOp(from.op).getNumDpsInputs();
  written = from.accesses[numInputs + number];
  isOrdered = llvm::any_of(shape.members,
                           [](const Member &member) { return member.order; });
  // Members are in program order.
  isNeeded[writer] = true;
  for (int member = writer; member >= 0; --member)
    if (isNeeded[member])
      for (int producer : getProducers(shape.members[member]))
        isNeeded[producer] = true;
  isNeeded[writer] = false;
  for (const Member &member : shape.members)
    isReady.push_back(llvm::all_of(getProducers(member), [&](int producer) {
      const Member &other = shape.members[producer];
      return isNeeded[producer] || (isReady[producer] && !other.isReduction() &&
                                    other.loopDims == dims);
    }));
}

SmallVector<int> InPlaceRule::getProducers(const Member &member) const {
  SmallVector<int> result;
  for (Value operand : linalg::GenericOp(member.op)->getOperands())
    if (int producer = shape.findProducer(operand); producer >= 0)
      result.push_back(producer);
  return result;
}

bool InPlaceRule::looksUp(linalg::GenericOp op, Value input) {
  bool found = false;
  op.getBody()->walk([&](Operation *inner) {
    found |= llvm::is_contained(inner->getOperands(), input);
  });
  return found;
}

/// Says whether the member can be computed for a point when the writer is.
bool InPlaceRule::mayBeInStep(int reader) const {
  const Member &member = shape.members[reader];
  return !shape.members[writer].isReduction() && isReady[reader] &&
         !(member.isReduction() && isOrdered);
}

bool InPlaceRule::mayRead(int reader, OpOperand &operand) const {
  const Member &member = shape.members[reader];
  linalg::GenericOp op = member.op;
  if (!op.getMatchingIndexingMap(&operand).isProjectedPermutation(
          /*allowZeroInResults=*/true))
    return false;
  unsigned position = operand.getOperandNumber();
  unsigned numInputs = op.getNumDpsInputs();
  const Access &read = position < numInputs
                           ? member.accesses[position]
                           : member.initAccesses[position - numInputs];
  if (read != written)
    return false;
  if (reader == writer && position == numInputs + number)
    return true;
  return member.loopDims == dims && (isNeeded[reader] || mayBeInStep(reader));
}

bool InPlaceRule::allows(Value input) const {
  for (auto [reader, member] : llvm::enumerate(shape.members)) {
    linalg::GenericOp op = member.op;
    if (looksUp(op, input))
      return false;
    for (OpOperand &operand : op->getOpOperands())
      if (operand.get() == input && !mayRead(reader, operand))
        return false;
  }
  return true;
}

} // namespace

FailureOr<KernelShape>
mlir::weft::analyzeKernel(ArrayRef<linalg::GenericOp> ops,
                          GetStrides getStrides) {
  return Analysis(ops, getStrides).run();
}

bool mlir::weft::canUpdateInPlace(const KernelShape &shape, Value input,
                                  Value output) {
  int writer = shape.findProducer(output);
  return writer >= 0 &&
         InPlaceRule(shape, writer, cast<OpResult>(output)).allows(input);
}

linalg::GenericOp mlir::weft::createCopy(OpBuilder &builder, Location loc,
                                         Value source) {
  auto type = cast<RankedTensorType>(source.getType());
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  AffineMap map = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
      builder, loc, type, source, empty, ArrayRef<AffineMap>{map, map},
      iterators, [](OpBuilder &nested, Location nestedLoc, ValueRange args) {
        linalg::YieldOp::create(nested, nestedLoc, args[0]);
      });
}

FailureOr<KernelShape> mlir::weft::analyzeFused(rt::FusedOp op) {
  auto yield = cast<rt::YieldOp>(op.getBody().front().getTerminator());
  auto getStrides = [&](Value value) -> SmallVector<int64_t> {
    Value buffer;
    if (auto argument = dyn_cast<BlockArgument>(value))
      buffer = op.getInputs()[argument.getArgNumber()];
    for (auto [i, given] : llvm::enumerate(yield.getValues()))
      if (given == value && op.isOnBuffers())
        buffer = op.getOuts()[i];
    if (buffer && isa<MemRefType>(buffer.getType()))
      return rt::getBufferStrides(cast<MemRefType>(buffer.getType()));
    return rt::getDenseStrides(
        cast<RankedTensorType>(value.getType()).getShape());
  };
  SmallVector<linalg::GenericOp> ops(
      op.getBody().front().getOps<linalg::GenericOp>());
  FailureOr<KernelShape> shape = analyzeKernel(ops, getStrides);
  if (failed(shape))
    op.emitOpError("has no loop structure: its ops share no rows, or an "
                   "indexing map is not linear");
  return shape;
}
