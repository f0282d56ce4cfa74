// SPDX-License-Identifier: Apache-2.0

// weft-recompute: while a step in program order needs more memory than it may,
// what is alive at its peak and read only later is computed again before it is
// read: first what frees most bytes for its time. Some of its inputs may have
// to be kept longer, or computed again in turn. A barrier keeps the two
// computations apart and puts the second one off; both are the same ops, in the
// same order, on the same values.

#include "BlockProblem.h"
#include "DescribeSchedule.h"
#include "SimplePolicies.h"
#include "weft/Schedule/FixedBytes.h"
#include "weft/Schedule/Passes.h"

#include "weft/Cost/Machine.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Schedule/Scheduler.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallSet.h"

#include <algorithm>
#include <map>

namespace mlir::weft {
#define GEN_PASS_DEF_RECOMPUTEPASS
#include "weft/Schedule/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Ops that are computed again together at most, rounds, and rounds without
/// less memory after which no more is tried.
constexpr size_t kMaxChain = 16;
constexpr int kMaxRounds = 256, kMaxIdleRounds = 8;

/// Tasks that may be looked at for taking repetitions back, in blocks of so
/// many ops and in larger ones.
constexpr int64_t kMaxSmall = 10'000, kMaxLookedAt = 1'000'000,
                  kMaxLookedAtOfLarge = 200'000;

/// Ops that do the same on the same values have the same number there.
constexpr StringLiteral kSameAs = "weft.same_as";

/// Pure ops that are tasks; collectives are not repeated.
bool mayRepeat(Operation *op) {
  return isa<rt::FusedOp, MatmulOp, tensor::ConcatOp>(op);
}

/// What may be computed again, and what that costs and frees at the peak.
struct Candidate {
  /// The task whose results are freed, and the first that reads them later.
  int task, reader;
  /// Results of the task that are freed.
  SmallVector<int, 2> buffers;
  /// The tasks that are repeated, ascending; the last one is `task`.
  SmallVector<int, 4> chain;
  int64_t nanoseconds = 0, bytes = 0;
};

/// The step in program order, and what can be done about its peak.
class Round {
public:
  Round(BlockProblem &block, int64_t fixedBytes) : block(block) {
    block.problem.fixedBytes = fixedBytes;
    result = replay(block.problem, scheduleSync(block.problem));
  }

  int64_t getPeak() const { return result.peakBytes; }
  std::vector<Candidate> findCandidates() const;
  Value getTrigger(const Candidate &candidate) const;

private:
  bool isAlive(const ScheduleBuffer &buffer, int task) const;
  bool addToChain(Candidate &candidate, int task) const;

  const std::vector<ScheduleBuffer> &getBuffers() const {
    return block.problem.getBuffers();
  }

  BlockProblem &block;
  ScheduleResult result;
};

/// Whether it is there when a task runs.
bool Round::isAlive(const ScheduleBuffer &buffer, int task) const {
  return buffer.producer < task && !buffer.readers.empty() &&
         buffer.readers.back() >= task;
}

/// Adds what has to be repeated for a task, before the candidate's reader.
/// Small inputs are kept instead. Fails if that is too much.
bool Round::addToChain(Candidate &candidate, int task) const {
  if (llvm::is_contained(candidate.chain, task))
    return true;
  int peak = result.events[result.peakEvent].task;
  int64_t freed = candidate.bytes;
  for (int input : block.problem.inputs(task)) {
    const ScheduleBuffer &buffer = getBuffers()[input];
    if (isAlive(buffer, candidate.reader))
      continue;
    if (isAlive(buffer, peak))
      continue;
    // A part of another buffer has no bytes of its own that could be kept.
    if (buffer.bytes > 0 && buffer.bytes <= freed / 8) {
      candidate.bytes -= buffer.bytes;
      continue;
    }
    if (!mayRepeat(block.ops[buffer.producer]) ||
        candidate.chain.size() >= kMaxChain ||
        !addToChain(candidate, buffer.producer))
      return false;
  }
  candidate.chain.push_back(task);
  candidate.nanoseconds += block.problem.task(task).duration;
  return candidate.chain.size() <= kMaxChain;
}

/// In the order in which they are worth most.
std::vector<Candidate> Round::findCandidates() const {
  std::vector<Candidate> found;
  if (result.events.empty()) // nothing is computed
    return found;
  int peak = result.events[result.peakEvent].task;
  for (int task = 0; task < peak; ++task) {
    if (!mayRepeat(block.ops[task]))
      continue;
    Candidate candidate;
    candidate.task = task;
    candidate.reader = block.problem.size();
    for (int output : block.problem.outputs(task)) {
      const ScheduleBuffer &buffer = getBuffers()[output];
      auto later = llvm::upper_bound(buffer.readers, peak);
      bool isReadNow = llvm::is_contained(buffer.readers, peak);
      if (buffer.bytes == 0 || later == buffer.readers.end() || isReadNow)
        continue;
      candidate.buffers.push_back(output);
      candidate.bytes += buffer.bytes;
      candidate.reader = std::min(candidate.reader, *later);
    }
    if (!candidate.buffers.empty() && addToChain(candidate, task) &&
        candidate.bytes > 0)
      found.push_back(std::move(candidate));
  }
  llvm::stable_sort(found, [](const Candidate &a, const Candidate &b) {
    return __int128(a.nanoseconds) * b.bytes <
           __int128(b.nanoseconds) * a.bytes;
  });
  return found;
}

/// A value that is there only shortly before the candidate's reader; null if
/// nothing is computed between the peak and it.
Value Round::getTrigger(const Candidate &candidate) const {
  int peak = result.events[result.peakEvent].task;
  auto isLate = [&](int buffer) {
    return getBuffers()[buffer].producer >= peak && block.values[buffer] &&
           !llvm::is_contained(candidate.buffers, buffer);
  };
  int latest = -1;
  for (int input : block.problem.inputs(candidate.reader))
    if (isLate(input) && (latest < 0 || getBuffers()[input].producer >
                                            getBuffers()[latest].producer))
      latest = input;
  for (int task = candidate.reader - 1; latest < 0 && task >= peak; --task)
    for (int output : block.problem.outputs(task))
      if (isLate(output))
        latest = output;
  return latest < 0 ? Value() : block.values[latest];
}

/// Writes one candidate into the program.
class Repetition {
public:
  Repetition(const BlockProblem &block, const Candidate &candidate)
      : block(block), candidate(candidate) {}

  /// Says whether it could be written: all that it needs stands before the
  /// first op that reads what is freed.
  bool run(Value trigger);

private:
  void findReaders();
  bool findInputs();
  Value rewire(Value value, OpBuilder &builder);

  const BlockProblem &block;
  const Candidate &candidate;
  /// In the block's order.
  std::vector<Operation *> readers;
  llvm::SetVector<Value> inputs;
  llvm::SmallSetVector<Operation *, 4> repeated;
  /// From freed values, and views of them, to what takes their place.
  IRMapping mapping;
};

void Repetition::findReaders() {
  for (int buffer : candidate.buffers)
    for (int reader : block.problem.getBuffers()[buffer].readers)
      if (reader >= candidate.reader &&
          !llvm::is_contained(readers, block.ops[reader]))
        readers.push_back(block.ops[reader]);
  llvm::sort(readers,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
}

/// Collects the tensors from outside that the repeated ops read.
bool Repetition::findInputs() {
  for (int task : candidate.chain)
    repeated.insert(block.ops[task]);
  for (Operation *op : repeated)
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (def && repeated.contains(def))
        continue;
      if (def && !def->isBeforeInBlock(readers.front()))
        return false;
      // Constants and empty tensors have no order.
      bool isPlain = def && def->getNumOperands() == 0;
      if (isa<RankedTensorType>(operand.getType()) && !isPlain)
        inputs.insert(operand);
    }
  return true;
}

/// The value that a reader has from now on.
Value Repetition::rewire(Value value, OpBuilder &builder) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *def = value.getDefiningOp();
  if (!def || !isFreeOp(def) || def->getBlock() != readers.front()->getBlock())
    return value;
  // All that reads it comes later, too.
  if (readers.front()->isBeforeInBlock(def)) {
    mapping.map(def->getResults(), def->getResults());
    for (OpOperand &operand : def->getOpOperands())
      operand.set(rewire(operand.get(), builder));
    return value;
  }
  bool isChanged = false;
  for (Value operand : def->getOperands())
    isChanged |= rewire(operand, builder) != operand;
  if (!isChanged)
    return value;
  builder.clone(*def, mapping);
  return mapping.lookup(value);
}

bool Repetition::run(Value trigger) {
  findReaders();
  Operation *first = readers.front();
  if (!findInputs() || inputs.empty())
    return false;
  if (Operation *def = trigger.getDefiningOp();
      !def || !def->isBeforeInBlock(first))
    return false;
  inputs.insert(trigger);
  OpBuilder builder(first);
  auto barrier = OptimizationBarrierOp::create(
      builder, block.ops[candidate.task]->getLoc(),
      ValueRange(inputs.getArrayRef()).getTypes(), inputs.getArrayRef(),
      /*offload=*/UnitAttr());
  IRMapping copies;
  copies.map(ValueRange(inputs.getArrayRef()), barrier.getResults());
  for (Operation *op : repeated)
    builder.clone(*op, copies)->removeAttr(WeftDialect::kOpNameAttr);
  for (int buffer : candidate.buffers)
    mapping.map(block.values[buffer], copies.lookup(block.values[buffer]));
  for (Operation *reader : readers)
    reader->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        operand.set(rewire(operand.get(), builder));
    });
  return true;
}

/// Lets one function need fewer bytes.
class FunctionRecomputation {
public:
  FunctionRecomputation(func::FuncOp func, const CostModel &cost,
                        int64_t target)
      : func(func), cost(cost), target(target) {}

  LogicalResult run();

  int64_t numRepeated = 0;

private:
  LogicalResult repeat();
  void apply(const BlockProblem &block, const Round &round, int64_t excess);
  void takeBack();
  bool isWithin(int64_t bytes);
  int64_t getNanoseconds(Operation *op);
  FailureOr<BlockProblem> buildProblem();
  void report(const BlockProblem &block, const Candidate &candidate) const;

  func::FuncOp func;
  const CostModel &cost;
  int64_t target;
  /// By the number of what they repeat, which takes as long.
  llvm::DenseMap<int64_t, int64_t> times;
  /// What is needed with what was repeated.
  int64_t best = -1;
};

void FunctionRecomputation::report(const BlockProblem &block,
                                   const Candidate &candidate) const {
  if (!func->getContext()->getRemarkEngine())
    return;
  remark::passed(
      block.ops[candidate.task]->getLoc(),
      remark::RemarkOpts::name("recompute").category("weft-recompute"))
      << remark::add("what {0} makes is computed again for {1}",
                     getOpName(block.ops[candidate.task]),
                     getOpName(block.ops[candidate.reader]))
      << remark::metric("bytes", candidate.bytes)
      << remark::metric("ns", candidate.nanoseconds);
}

/// Applies candidates that have nothing to do with each other, until they free
/// enough.
void FunctionRecomputation::apply(const BlockProblem &block, const Round &round,
                                  int64_t excess) {
  llvm::SmallSet<int, 16> touched;
  for (const Candidate &candidate : round.findCandidates()) {
    if (excess <= 0)
      return;
    llvm::SmallSetVector<int, 16> own(candidate.chain.begin(),
                                      candidate.chain.end());
    for (int task : candidate.chain)
      for (int input : block.problem.inputs(task))
        own.insert(block.problem.getBuffers()[input].producer);
    Value trigger = round.getTrigger(candidate);
    if (!trigger ||
        llvm::any_of(own, [&](int task) { return touched.contains(task); }))
      continue;
    if (!Repetition(block, candidate).run(trigger))
      continue;
    touched.insert(own.begin(), own.end());
    report(block, candidate);
    excess -= candidate.bytes;
    numRepeated += candidate.chain.size();
  }
}

int64_t FunctionRecomputation::getNanoseconds(Operation *op) {
  auto number = op->getAttrOfType<IntegerAttr>(kSameAs);
  if (!number)
    return cost.getComputeNanoseconds(op);
  auto [it, isNew] = times.try_emplace(number.getInt(), 0);
  if (isNew)
    it->second = cost.getComputeNanoseconds(op);
  return it->second;
}

FailureOr<BlockProblem> FunctionRecomputation::buildProblem() {
  return buildBlockProblem(func.getBody().front(), cost,
                           llvm::DenseMap<Operation *, NestedCost>(),
                           [&](Operation *op) { return getNanoseconds(op); });
}

LogicalResult FunctionRecomputation::repeat() {
  int idle = 0;
  OwningOpRef<func::FuncOp> bestFunc;
  for (int i = 0; i <= kMaxRounds; ++i) {
    FailureOr<BlockProblem> block = buildProblem();
    if (failed(block))
      return failure();
    Round round(*block, getFixedBytes(func));
    bool isLess = best < 0 || round.getPeak() < best;
    idle = isLess ? 0 : idle + 1;
    if (isLess) {
      best = round.getPeak();
      bestFunc = func.clone();
    }
    if (best <= target || idle > kMaxIdleRounds || i == kMaxRounds)
      break;
    int64_t before = numRepeated;
    apply(*block, round, round.getPeak() - target);
    if (numRepeated == before)
      break;
  }
  func.getBody().takeBody(bestFunc->getBody());
  return success();
}

/// Whether the program as it is now needs no more.
bool FunctionRecomputation::isWithin(int64_t bytes) {
  FailureOr<BlockProblem> block = buildProblem();
  return succeeded(block) &&
         Round(*block, getFixedBytes(func)).getPeak() <= bytes;
}

/// What was repeated for one reader may do for the next one too, or need not
/// have been repeated, now that other things are: the longest first.
void FunctionRecomputation::takeBack() {
  Block &block = func.getBody().front();
  std::map<int64_t, std::vector<Operation *>> same;
  for (Operation &op : block)
    if (auto number = op.getAttrOfType<IntegerAttr>(kSameAs))
      same[number.getInt()].push_back(&op);
  SmallVector<std::pair<int64_t, Operation *>> later;
  for (auto &[number, ops] : same)
    for (Operation *op : ArrayRef(ops).drop_front())
      later.emplace_back(getNanoseconds(op), op);
  llvm::stable_sort(
      later, [](const auto &a, const auto &b) { return a.first > b.first; });
  int64_t most = std::max(best, target);
  int64_t left = static_cast<int64_t>(block.getOperations().size()) > kMaxSmall
                     ? kMaxLookedAtOfLarge
                     : kMaxLookedAt;
  for (auto [duration, op] : later) {
    left -= static_cast<int64_t>(block.getOperations().size());
    if (left < 0)
      return;
    std::vector<Operation *> &ops =
        same[op->getAttrOfType<IntegerAttr>(kSameAs).getInt()];
    auto it = llvm::find(ops, op);
    Operation *earlier = *std::prev(it);
    SmallVector<SmallVector<OpOperand *>> uses;
    for (auto [result, other] :
         llvm::zip(op->getResults(), earlier->getResults())) {
      uses.push_back(llvm::map_to_vector(result.getUses(),
                                         [](OpOperand &use) { return &use; }));
      result.replaceAllUsesWith(other);
    }
    Operation *next = op->getNextNode();
    op->remove();
    if (isWithin(most)) {
      op->destroy();
      ops.erase(it);
      --numRepeated;
      continue;
    }
    block.getOperations().insert(Block::iterator(next), op);
    for (auto [result, list] : llvm::zip(op->getResults(), uses))
      for (OpOperand *use : list)
        use->set(result);
  }
}

LogicalResult FunctionRecomputation::run() {
  int64_t number = 0;
  for (Operation &op : func.getBody().front())
    if (mayRepeat(&op))
      op.setAttr(kSameAs, Builder(op.getContext()).getI64IntegerAttr(number++));
  LogicalResult repeated = repeat();
  if (succeeded(repeated) && numRepeated > 0)
    takeBack();
  for (Operation &op : func.getBody().front())
    op.removeAttr(kSameAs);
  return repeated;
}

struct RecomputePass : public weft::impl::RecomputePassBase<RecomputePass> {
  using RecomputePassBase::RecomputePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::string error;
    FailureOr<Machine> description = Machine::load(machine, error);
    if (failed(description)) {
      module.emitError(error);
      return signalPassFailure();
    }
    CostModel cost(*description, module);
    for (auto func : module.getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      FunctionRecomputation recomputation(func, cost, bytes);
      if (failed(recomputation.run()))
        return signalPassFailure();
      numRecomputed += recomputation.numRepeated;
    }
  }
};

} // namespace
