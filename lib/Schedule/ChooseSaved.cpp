// SPDX-License-Identifier: Apache-2.0

// weft-choose-saved: what the backward pass reads of the forward pass is kept,
// or computed again shortly before it is read, whichever costs less at a price
// for memory. Ops are not fused yet, so that what is computed again is fused
// with what reads it. A barrier with a value of the backward pass puts it off.

#include "RepeatedByFusion.h"
#include "SavedValuesOfBlock.h"
#include "weft/Schedule/Passes.h"
#include "weft/Schedule/Recomputation.h"

#include "weft/Cost/Machine.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

#include <algorithm>
#include <set>

namespace mlir::weft {
#define GEN_PASS_DEF_CHOOSESAVEDPASS
#include "weft/Schedule/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Tasks before a reader among which one is looked for that it waits for.
constexpr int kMaxDistance = 256;

/// Writes a choice into a block.
class RepeatedForwardPass {
public:
  RepeatedForwardPass(Block &block, const BlockProblem &tasks,
                      const SavedValuesOfBlock &saved,
                      const SavedChoice &choice)
      : tasks(tasks), saved(saved), choice(choice),
        firstReaders(choice.repeats.size(), nullptr) {
    for (auto [place, op] : llvm::enumerate(block))
      places[&op] = static_cast<int>(place);
  }

  /// Returns how many ops are repeated.
  int64_t run();

private:
  void place(int task);
  void repeat(int task);
  void useTwin(int task, Operation *twin);
  bool isHeldByCopies(int task) const;
  void hold(Operation *copy, int task);
  Value getHeld(Value value, Value trigger, Operation *copy);
  Value findHeld(Value value, Operation *reader) const;
  Value findTrigger(int task) const;
  Value resolve(Value value, OpBuilder &builder,
                llvm::DenseMap<Value, Value> &views);
  void rewire(Operation *op);
  int getPlace(Operation *op) const { return places.lookup(op); }

  const BlockProblem &tasks;
  const SavedValuesOfBlock &saved;
  const SavedChoice &choice;
  /// Of the block's own ops.
  llvm::DenseMap<Operation *, int> places;
  /// Per task that is repeated, the first op that needs it then.
  std::vector<Operation *> firstReaders;
  /// From what the forward pass makes to what takes its place.
  llvm::DenseMap<Value, Value> again;
  /// What barriers make of a value that copies read.
  llvm::DenseMap<Value, SmallVector<OpResult, 1>> held;
};

/// Finds the op before which a task is repeated.
void RepeatedForwardPass::place(int task) {
  Operation *&first = firstReaders[task];
  auto take = [&](Operation *op) {
    if (op && (!first || getPlace(op) < getPlace(first)))
      first = op;
  };
  for (int reader : saved.getReaders(task)) {
    if (reader >= saved.getBoundary())
      take(tasks.ops[reader]);
    else if (choice.repeats[reader])
      take(firstReaders[reader]);
  }
  if (first && saved.getTwin(task) >= 0)
    take(tasks.ops[saved.getTwin(task)]);
}

/// A value of the backward pass that is there some time before the task is
/// needed: before the last collective that compute waits for, so that the
/// repetition can be done meanwhile. It is in memory: a kernel would be torn
/// apart that makes it on the way, or what is put together of what kernels
/// make. At the beginning of the backward pass it is the last one of the
/// forward pass: with none, what the last layer repeats would be part of its
/// kernels.
Value RepeatedForwardPass::findTrigger(int task) const {
  Operation *first = firstReaders[task];
  int reader = saved.getNumber(first);
  int lowest = std::max(0, reader - kMaxDistance);
  Value latest;
  bool isBeforeCollective = false;
  for (int other = reader - 1; other >= lowest; --other) {
    if (other < saved.getBoundary() && latest)
      break;
    Operation *op = tasks.ops[other];
    isBeforeCollective |=
        tasks.problem.task(other).role == TaskRole::Activation;
    if (isa<linalg::LinalgOp, tensor::InsertSliceOp, tensor::ConcatOp>(op) ||
        getPlace(op) >= getPlace(first) ||
        tasks.problem.task(other).isCollective())
      continue;
    auto made = llvm::find_if(op->getResults(), [](Value result) {
      return getValueBytes(result) > 0;
    });
    if (made == op->result_end())
      continue;
    if (isBeforeCollective)
      return *made;
    if (!latest)
      latest = *made;
  }
  return latest;
}

/// Says whether nothing must put a copy off, since what it reads is made again
/// as well. Of what was made again for a reader before some product, a wider
/// copy would be part of that reader's kernel, and wait in memory.
bool RepeatedForwardPass::isHeldByCopies(int task) const {
  int reader = saved.getNumber(firstReaders[task]);
  int64_t made = getValueBytes(tasks.ops[task]->getResult(0)), read = 0;
  for (Value operand : tasks.ops[task]->getOperands())
    if (Operation *def = operand.getDefiningOp(); def && saved.isTask(def))
      read += getValueBytes(operand);
  bool isWider = made > read;
  return llvm::any_of(saved.getReads(task), [&](OpResult read) {
    int from = saved.getNumber(read.getOwner());
    if (from >= saved.getBoundary() || !choice.repeats[from] ||
        !firstReaders[from])
      return false;
    int earlier = saved.getNumber(firstReaders[from]);
    return !isWider || saved.getTwin(from) >= 0 ||
           saved.countProducts(earlier, reader) <= 0;
  });
}

/// Puts a copy off that nothing else puts off.
void RepeatedForwardPass::hold(Operation *copy, int task) {
  if (tasks.problem.task(task).role == TaskRole::Gather)
    return;
  Value trigger = findTrigger(task);
  if (!trigger)
    return;
  for (OpOperand &operand : copy->getOpOperands()) {
    Operation *def = operand.get().getDefiningOp();
    bool isPlain = def && def->getNumOperands() == 0 && isFreeOp(def);
    if (isPlain || !isa<RankedTensorType>(operand.get().getType()))
      continue;
    operand.set(getHeld(operand.get(), trigger, copy));
    return;
  }
}

/// The value as it is there only once the trigger is: copies that wait for the
/// same read the same, so that one kernel reads it once.
Value RepeatedForwardPass::getHeld(Value value, Value trigger,
                                   Operation *copy) {
  for (OpResult known : held[value])
    if (known.getOwner()->getOperand(1) == trigger &&
        known.getOwner()->isBeforeInBlock(copy))
      return known;
  OpBuilder builder(copy);
  auto barrier = OptimizationBarrierOp::create(
      builder, copy->getLoc(), TypeRange{value.getType(), trigger.getType()},
      ValueRange{value, trigger}, /*offload=*/UnitAttr());
  held[value].push_back(cast<OpResult>(barrier.getResult(0)));
  return barrier.getResult(0);
}

/// What copies before the reader read of a value: if it reads that too, one
/// kernel of both reads it once.
Value RepeatedForwardPass::findHeld(Value value, Operation *reader) const {
  auto it = held.find(value);
  if (it != held.end())
    for (OpResult known : it->second)
      if (known.getOwner()->isBeforeInBlock(reader))
        return known;
  return value;
}

/// The value that is to be read instead, by what is inserted at `builder`.
Value RepeatedForwardPass::resolve(Value value, OpBuilder &builder,
                                   llvm::DenseMap<Value, Value> &views) {
  if (Value known = again.lookup(value))
    return known;
  Operation *def = value.getDefiningOp();
  if (!def || !isFreeOp(def) || saved.isTask(def) || def->getNumOperands() == 0)
    return value;
  if (Value known = views.lookup(value))
    return known;
  IRMapping mapping;
  bool isChanged = false;
  for (Value operand : def->getOperands()) {
    Value resolved = resolve(operand, builder, views);
    isChanged |= resolved != operand;
    mapping.map(operand, resolved);
  }
  Operation *used = isChanged ? builder.clone(*def, mapping) : def;
  for (auto [old, now] : llvm::zip(def->getResults(), used->getResults()))
    views[old] = now;
  return views.lookup(value);
}

/// What reads it reads the later gather instead, which comes early enough.
void RepeatedForwardPass::useTwin(int task, Operation *twin) {
  if (firstReaders[task] != twin)
    twin->moveBefore(firstReaders[task]);
  for (auto [old, now] :
       llvm::zip(tasks.ops[task]->getResults(), twin->getResults()))
    again[old] = now;
}

void RepeatedForwardPass::repeat(int task) {
  Operation *op = tasks.ops[task];
  if (saved.getTwin(task) >= 0)
    return useTwin(task, tasks.ops[saved.getTwin(task)]);
  OpBuilder builder(firstReaders[task]);
  llvm::DenseMap<Value, Value> views;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(resolve(operand, builder, views));
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  copy->removeAttr(WeftDialect::kOpNameAttr);
  if (!isHeldByCopies(task))
    hold(copy, task);
  for (auto [old, now] : llvm::zip(op->getResults(), copy->getResults()))
    again[old] = now;
}

void RepeatedForwardPass::rewire(Operation *op) {
  OpBuilder builder(op);
  llvm::DenseMap<Value, Value> views;
  op->walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands())
      operand.set(findHeld(resolve(operand.get(), builder, views), op));
  });
}

int64_t RepeatedForwardPass::run() {
  int count = static_cast<int>(choice.repeats.size());
  int64_t repeated = 0;
  for (int task = count; task-- > 0;)
    if (choice.repeats[task])
      place(task);
  std::vector<int> late;
  for (int task = 0; task < count; ++task) {
    if (!choice.repeats[task] || !firstReaders[task])
      continue;
    repeat(task);
    repeated += saved.getTwin(task) < 0;
    for (int reader : saved.getReaders(task))
      if (reader >= saved.getBoundary())
        late.push_back(reader);
  }
  llvm::sort(late);
  late.erase(std::unique(late.begin(), late.end()), late.end());
  for (int reader : late)
    rewire(tasks.ops[reader]);
  return repeated;
}

FailureOr<BlockProblem> buildTasks(func::FuncOp func, const CostModel &cost) {
  return buildBlockProblem(func.getBody().front(), cost,
                           llvm::DenseMap<Operation *, NestedCost>());
}

struct ChooseSavedPass
    : public weft::impl::ChooseSavedPassBase<ChooseSavedPass> {
  using ChooseSavedPassBase::ChooseSavedPassBase;

  LogicalResult checkKept(func::FuncOp func,
                          const SavedValuesOfBlock &saved) const {
    auto count = static_cast<int64_t>(saved.getProblem().tasks.size());
    for (int64_t task : kept)
      if (task < 0 || task >= count)
        return func.emitOpError("has ")
               << count << " tasks before its backward pass, and no number "
               << task << " that could be kept";
    return success();
  }

  /// The first tasks are chosen at one price, the others at the other.
  SavedChoice choose(const SavedValuesOfBlock &saved) const {
    SavedProblem problem = saved.getProblem();
    for (int64_t task : kept)
      problem.tasks[task].mayRepeat = false;
    SavedChoice choice = chooseSaved(problem, price);
    if (share >= 100)
      return choice;
    SavedChoice late = chooseSaved(problem, latePrice);
    for (size_t i = choice.repeats.size() * share / 100;
         i < choice.repeats.size(); ++i)
      choice.repeats[i] = late.repeats[i];
    return choice;
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::string error;
    FailureOr<Machine> description = Machine::load(machine, error);
    if (failed(description)) {
      module.emitError(error);
      return signalPassFailure();
    }
    if (price < 0 || latePrice < 0 || share < 0 || share > 100) {
      module.emitError("weft-choose-saved: price=")
          << int64_t(price) << " late-price=" << int64_t(latePrice)
          << " share=" << int64_t(share)
          << ": prices are 0 or more, a share is 0 to 100 percent";
      return signalPassFailure();
    }
    CostModel cost(*description, module);
    for (auto func : module.getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      FailureOr<BlockProblem> tasks = buildTasks(func, cost);
      if (failed(tasks))
        return signalPassFailure();
      Block &block = func.getBody().front();
      SavedValuesOfBlock saved(block, *tasks, cost, waists, time);
      if (failed(checkKept(func, saved)))
        return signalPassFailure();
      SavedChoice choice = choose(saved);
      numRepeated += RepeatedForwardPass(block, *tasks, saved, choice).run();
    }
  }
};

} // namespace

/// The problem of each function; none after an error.
static std::vector<SavedProblem>
findProblems(ModuleOp module, const Machine &machine, bool waists) {
  CostModel cost(machine, module);
  std::vector<SavedProblem> problems;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal())
      continue;
    FailureOr<BlockProblem> tasks = buildTasks(func, cost);
    if (failed(tasks))
      return {};
    problems.push_back(SavedValuesOfBlock(func.getBody().front(), *tasks, cost,
                                          waists, /*savesTime=*/false)
                           .getProblem());
  }
  return problems;
}

SmallVector<RecomputePrice>
mlir::weft::getRecomputePrices(ModuleOp module, const Machine &machine,
                               bool waists) {
  std::vector<SavedProblem> problems = findProblems(module, machine, waists);
  if (problems.empty())
    return {};
  std::set<int64_t> prices{0};
  for (const SavedProblem &problem : problems) {
    std::vector<int64_t> own = findPrices(problem);
    prices.insert(own.begin(), own.end());
  }
  SmallVector<RecomputePrice> found;
  for (int64_t price : prices) {
    found.push_back({price, 0});
    for (const SavedProblem &problem : problems)
      found.back().keptBytes += chooseSaved(problem, price).bytes;
  }
  return found;
}

SmallVector<RepeatedTask> mlir::weft::getRepeatedTasks(ModuleOp module,
                                                       const Machine &machine,
                                                       int64_t price,
                                                       bool waists) {
  std::vector<SavedProblem> problems = findProblems(module, machine, waists);
  if (problems.size() != 1)
    return {};
  const SavedProblem &problem = problems.front();
  SavedChoice choice = chooseSaved(problem, price);
  SmallVector<RepeatedTask> repeated(problem.tasks.size());
  for (auto [number, task] : llvm::enumerate(problem.tasks))
    if (choice.repeats[number])
      repeated[number] = {static_cast<int64_t>(number), task.nanoseconds, 0};
  for (const SavedProblem::Value &value : problem.values)
    repeated[value.task].bytes += value.bytes;
  llvm::erase_if(repeated, [](const RepeatedTask &task) {
    return task.nanoseconds == 0 || task.bytes == 0;
  });
  llvm::stable_sort(repeated, [](const RepeatedTask &a, const RepeatedTask &b) {
    return __int128(a.nanoseconds) * b.bytes >
           __int128(b.nanoseconds) * a.bytes;
  });
  return repeated;
}

/// What it costs to keep what fusion does not have each reader compute anyway.
/// Where kernels wait for arithmetic, that says little, and all counts.
static int64_t getAsFusedNanoseconds(const SavedValuesOfBlock &saved,
                                     const BlockProblem &tasks,
                                     const Machine &machine) {
  SavedProblem asFused = saved.getProblem();
  std::vector<bool> repeated(asFused.tasks.size(), false);
  if (waitsForMemory(machine))
    repeated = findRepeatedByFusion(tasks.ops, saved);
  for (auto [task, isRepeated] : llvm::zip(asFused.tasks, repeated))
    task.mayRepeat &= isRepeated;
  return chooseSaved(asFused, 0).nanoseconds;
}

int64_t mlir::weft::getCheapGain(ModuleOp module, const Machine &machine) {
  CostModel cost(machine, module);
  int64_t gain = 0;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal())
      continue;
    FailureOr<BlockProblem> tasks = buildTasks(func, cost);
    if (failed(tasks))
      return 0;
    SavedValuesOfBlock saved(func.getBody().front(), *tasks, cost,
                             /*keepsWaists=*/false, /*savesTime=*/true);
    gain += getAsFusedNanoseconds(saved, *tasks, machine) -
            chooseSaved(saved.getProblem(), 0).nanoseconds;
  }
  return gain;
}
