// SPDX-License-Identifier: Apache-2.0

// Collects tasks in the block's order first, then numbers them so that what
// only waits to be used comes late.

#include "BlockProblem.h"

#include "weft/Analysis/Traffic.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Schedule/FixedBytes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::weft;

static bool isView(Operation *op) {
  return isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
             tensor::CollapseShapeOp, tensor::CastOp, OptimizationBarrierOp>(
      op);
}

/// The value in whose memory a view's result lies.
static Value getViewed(OpResult view) {
  return view.getOwner()->getOperand(
      isa<OptimizationBarrierOp>(view.getOwner()) ? view.getResultNumber() : 0);
}

bool mlir::weft::isFreeOp(Operation *op) {
  if (op->getNumRegions() > 0 || !isMemoryEffectFree(op))
    return false;
  if (isView(op) || isa<tensor::EmptyOp, tensor::FromElementsOp>(op) ||
      op->hasTrait<OpTrait::ConstantLike>())
    return true;
  return llvm::none_of(op->getResultTypes(), llvm::IsaPred<TensorType>);
}

int LayerNames::getLayer(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(WeftDialect::kOpNameAttr);
  if (!name)
    return -1;
  // "all_gather params.layers.3.wq": the part "params.layers.3".
  StringRef text = name.getValue().split(' ').second;
  size_t begin = text.find_first_of("0123456789");
  if (begin == StringRef::npos || begin == 0 || text[begin - 1] != '.')
    return -1;
  size_t end = text.find_first_not_of("0123456789", begin);
  return layers.try_emplace(text.take_front(end), layers.size()).first->second;
}

namespace {

TaskRole getRole(Operation *op) {
  switch (lookupChannel(op, getCollectiveChannel(op)).getPurpose()) {
  case Purpose::Gather:
  case Purpose::ExpertGather:
    return TaskRole::Gather;
  case Purpose::Reduce:
  case Purpose::ExpertReduce:
  case Purpose::Data:
    return TaskRole::Reduce;
  case Purpose::Activation:
  case Purpose::Amax:
    return TaskRole::Activation;
  // What waits in the host's memory leaves when it is there, and is needed
  // late; it comes back ahead of what reads it, as weights do.
  case Purpose::Offload:
    return TaskRole::Reduce;
  case Purpose::Fetch:
    return TaskRole::Gather;
  }
  llvm_unreachable("a purpose that is not listed");
}

/// Builds the problem of one block. Until `number` is called, tasks have the
/// numbers of the block's order.
class ProblemBuilder {
public:
  ProblemBuilder(Block &block, const CostModel &cost,
                 const llvm::DenseMap<Operation *, NestedCost> &nested,
                 ComputeTimes times)
      : block(block), cost(cost), nested(nested), times(times) {}

  FailureOr<BlockProblem> build();

private:
  /// What a value stands for: the results of tasks and the constants that it
  /// depends on, and the argument that it lies in.
  struct Source {
    SmallVector<int, 2> results;
    SmallVector<Operation *, 0> constants;
    /// Whether it is in the memory of its only result or argument.
    bool isInPlace = false;
    int argument = -1;
  };

  LogicalResult collect();
  LogicalResult checkChannel(Operation *op);
  void addFree(Operation *op);
  void addTask(Operation *op);
  Source getSource(Value value) const;
  SmallVector<Value> getReadValues(Operation *op) const;
  bool isSinkable(Operation *op, ArrayRef<int> before) const;

  void placeResults();
  void placeResult(unsigned number, Value returned, bool isDonated, int root);
  bool comesAfterReaders(int task, int argument);

  void number();
  void emit(int task, std::vector<bool> &isEmitted);
  int64_t getDuration(Operation *op) const;
  void addCopies();
  void addTasks(BlockProblem &result);
  void addBuffers(BlockProblem &result);
  void shareMemory(BlockProblem &result);
  void shareParts(BlockProblem &result, int task);
  void shareUpdated(BlockProblem &result, int task);
  void reuseInputs(BlockProblem &result, int task);
  int findOnlyReadBy(const ScheduleProblem &problem, Value value,
                     int task) const;
  int getRoot(int buffer) const;
  void markRepeatedGathers(ScheduleTask &task, Operation *op, int number);

  /// A result of a task.
  struct Result {
    OpResult value;
    int task;
    int64_t bytes;
  };

  Block &block;
  const CostModel &cost;
  const llvm::DenseMap<Operation *, NestedCost> &nested;
  ComputeTimes times;
  std::vector<Operation *> ops;
  std::vector<Result> results;
  llvm::DenseMap<Value, Source> sources;
  /// Per task, the results that it reads and the tasks before it.
  std::vector<SmallVector<int, 4>> reads, before;
  /// Tasks that come just before what needs them, and copies from the host's
  /// memory among them.
  std::vector<bool> sinkable, fetches;
  std::vector<std::vector<int>> argumentReaders;
  /// Each plan copies a constant to the step's memory once, before what reads
  /// it. That counts with the task that does, if it is one: of several the
  /// first is another one in another order, and no bound may count on it.
  llvm::MapVector<Operation *, llvm::SmallPtrSet<Operation *, 2>> readers;
  llvm::DenseMap<Operation *, int64_t> copyTimes;
  /// Tasks by their new number, and the other way round.
  std::vector<int> order, numbers;
  /// Per result its buffer, and where what was updated stays: in which buffer.
  std::vector<int> bufferOf;
  llvm::DenseMap<int, int> updatedIn;
  llvm::DenseMap<Value, int> resultOf;
  llvm::DenseMap<Attribute, int> channels;
  LayerNames layers;
  /// The first gather of each value, by operand.
  llvm::DenseMap<Value, SmallVector<int, 1>> gathers;
};

LogicalResult ProblemBuilder::checkChannel(Operation *op) {
  if (!getCollectiveKind(op))
    return success();
  if (!getCollectiveChannel(op))
    return op->emitOpError("has no channel to be started on");
  if (getWait(op))
    return op->emitOpError("is started already, so its place is fixed");
  return success();
}

LogicalResult ProblemBuilder::collect() {
  argumentReaders.resize(block.getNumArguments());
  for (BlockArgument argument : block.getArguments()) {
    Source &source = sources[argument];
    source.argument = argument.getArgNumber();
    source.isInPlace = true;
  }
  for (Operation &op : block.without_terminator()) {
    if (failed(checkChannel(&op)))
      return failure();
    if (isFreeOp(&op))
      addFree(&op);
    else
      addTask(&op);
  }
  return success();
}

ProblemBuilder::Source ProblemBuilder::getSource(Value value) const {
  return sources.lookup(value);
}

/// All values from outside that an op reads.
SmallVector<Value> ProblemBuilder::getReadValues(Operation *op) const {
  SmallVector<Value> values(op->getOperands());
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  values.append(captured.begin(), captured.end());
  return values;
}

void ProblemBuilder::addFree(Operation *op) {
  Source source;
  for (Value operand : op->getOperands()) {
    Source from = getSource(operand);
    for (int result : from.results)
      if (!llvm::is_contained(source.results, result))
        source.results.push_back(result);
    for (Operation *constant : from.constants)
      if (!llvm::is_contained(source.constants, constant))
        source.constants.push_back(constant);
    if (from.argument >= 0)
      source.argument = from.argument;
  }
  if (op->hasTrait<OpTrait::ConstantLike>() &&
      cost.getComputeNanoseconds(op) > 0)
    source.constants.push_back(op);
  for (OpResult result : op->getResults()) {
    sources[result] = source;
    if (!isView(op))
      continue;
    Source viewed = getSource(getViewed(result));
    sources[result].argument = viewed.argument;
    sources[result].isInPlace = viewed.isInPlace;
  }
}

/// Casts and gathers of what is there from the start.
bool ProblemBuilder::isSinkable(Operation *op, ArrayRef<int> before) const {
  bool isGather = getCollectiveKind(op) && getRole(op) == TaskRole::Gather;
  return (isGather || isa<rt::FusedOp>(op)) &&
         llvm::all_of(before, [&](int task) {
           return sinkable[task] && !fetches[task];
         });
}

void ProblemBuilder::addTask(Operation *op) {
  int task = ops.size();
  ops.push_back(op);
  reads.emplace_back();
  before.emplace_back();
  for (Value value : getReadValues(op)) {
    Source source = getSource(value);
    for (int result : source.results)
      if (!llvm::is_contained(reads[task], result)) {
        reads[task].push_back(result);
        before[task].push_back(results[result].task);
      }
    if (source.argument >= 0)
      argumentReaders[source.argument].push_back(task);
    for (Operation *constant : source.constants)
      readers[constant].insert(op);
  }
  bool isFetch = getHostCopy(op) == Purpose::Fetch;
  sinkable.push_back(isFetch || isSinkable(op, before[task]));
  fetches.push_back(isFetch);
  for (OpResult value : op->getResults()) {
    Source &source = sources[value];
    source.results.push_back(results.size());
    source.isInPlace = true;
    resultOf[value] = results.size();
    // What is copied to the host's memory takes none of the rank's.
    bool isOnHost = getHostCopy(op) == Purpose::Offload;
    results.push_back(
        Result{value, task, isOnHost ? 0 : getTensorBytes(value.getType())});
  }
}

/// Makes `task` come after all others that read `argument`, if it does.
bool ProblemBuilder::comesAfterReaders(int task, int argument) {
  for (int reader : argumentReaders[argument])
    if (reader > task)
      return false;
  for (int reader : argumentReaders[argument])
    if (reader != task)
      before[task].push_back(reader);
  return true;
}

/// What is returned is computed where the caller wants it: it needs no memory
/// of its own. In a donated argument that is so if nobody reads the old value
/// any more.
void ProblemBuilder::placeResults() {
  auto func = dyn_cast<func::FuncOp>(block.getParentOp());
  if (!func)
    return;
  for (OpOperand &returned : block.getTerminator()->getOpOperands()) {
    unsigned number = returned.getOperandNumber();
    auto alias =
        func.getResultAttrOfType<IntegerAttr>(number, WeftDialect::kAliasAttr);
    Value value = returned.get();
    while (Operation *def = value.getDefiningOp()) {
      if (!isView(def) || isa<tensor::ExtractSliceOp>(def))
        break;
      value = getViewed(cast<OpResult>(value));
    }
    auto it = resultOf.find(value);
    if (it == resultOf.end())
      continue;
    Result &result = results[it->second];
    if (!alias || comesAfterReaders(result.task, alias.getInt()))
      result.bytes = 0;
  }
}

/// Emits what `task` needs and then the task. Tasks that can wait are emitted
/// only so.
void ProblemBuilder::emit(int task, std::vector<bool> &isEmitted) {
  SmallVector<std::pair<int, bool>> stack{{task, false}};
  while (!stack.empty()) {
    auto [top, isExpanded] = stack.pop_back_val();
    if (isEmitted[top])
      continue;
    if (isExpanded) {
      isEmitted[top] = true;
      numbers[top] = order.size();
      order.push_back(top);
      continue;
    }
    stack.emplace_back(top, true);
    SmallVector<int> needed;
    for (int other : before[top])
      if (!isEmitted[other])
        needed.push_back(other);
    // The stack turns them round.
    llvm::sort(needed, std::greater<int>());
    for (int other : needed)
      stack.emplace_back(other, false);
  }
}

void ProblemBuilder::number() {
  numbers.assign(ops.size(), -1);
  std::vector<bool> isEmitted(ops.size(), false);
  for (int pass = 0; pass < 2; ++pass)
    for (int task = 0, e = ops.size(); task < e; ++task)
      if (pass == 1 || !sinkable[task])
        emit(task, isEmitted);
}

/// A barrier passes on the same data.
static SmallVector<Value> getOperandsBeforeBarriers(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  for (Value &value : values)
    while (value.getDefiningOp<OptimizationBarrierOp>())
      value = getViewed(cast<OpResult>(value));
  return values;
}

/// Whether both say the same of what they do: dims, axes, sources. On which
/// channel that is does not matter.
static bool haveSameAttributes(Operation *a, Operation *b) {
  return a->getName() == b->getName() &&
         llvm::all_of(a->getName().getAttributeNames(), [&](StringAttr name) {
           return name == "channel" || a->getAttr(name) == b->getAttr(name);
         });
}

/// Finds an earlier gather of the same data.
void ProblemBuilder::markRepeatedGathers(ScheduleTask &task, Operation *op,
                                         int number) {
  if (task.role != TaskRole::Gather || op->getNumOperands() == 0)
    return;
  SmallVector<Value> gathered = getOperandsBeforeBarriers(op);
  SmallVector<int, 1> &earlier = gathers[gathered.front()];
  for (int other : earlier) {
    Operation *first = ops[order[other]];
    if (haveSameAttributes(first, op) &&
        getOperandsBeforeBarriers(first) == gathered &&
        first->getResultTypes() == op->getResultTypes()) {
      task.sameAs = other;
      return;
    }
  }
  earlier.push_back(number);
}

/// How many kernels the plan makes of an op that takes time: what is inserted
/// into is copied by one of its own if somebody else needs it, and so is each
/// part of a concatenation that is not computed where it belongs.
static int64_t countKernels(Operation *op) {
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return insert.getDest().hasOneUse() ? 1 : 2;
  auto concat = dyn_cast<tensor::ConcatOp>(op);
  return concat
             ? llvm::count_if(concat.getInputs(),
                              [](Value part) {
                                return !isa_and_nonnull<rt::FusedOp, MatmulOp>(
                                    part.getDefiningOp());
                              })
             : 1;
}

int64_t ProblemBuilder::getDuration(Operation *op) const {
  int64_t duration = times ? times(op) : cost.getComputeNanoseconds(op);
  int64_t more = std::max<int64_t>(countKernels(op) - 1, 0);
  if (duration > 0)
    duration += more * std::llround(cost.getMachine().kernelOverheadNs);
  return duration;
}

void ProblemBuilder::addCopies() {
  for (auto &[constant, tasks] : readers)
    if (tasks.size() == 1 && !getCollectiveKind(*tasks.begin()))
      copyTimes[*tasks.begin()] += cost.getComputeNanoseconds(constant);
}

void ProblemBuilder::addTasks(BlockProblem &result) {
  addCopies();
  for (int i = 0, e = order.size(); i < e; ++i) {
    Operation *op = ops[order[i]];
    ScheduleTask task;
    task.layer = layers.getLayer(op);
    if (getCollectiveKind(op)) {
      task.duration = cost.getCollectiveNanoseconds(op);
      task.link = cost.getLink(op);
      task.channel = channels
                         .try_emplace(getCollectiveChannel(op),
                                      static_cast<int>(channels.size()))
                         .first->second;
      task.role = getRole(op);
      markRepeatedGathers(task, op, i);
      task.mayOverwrite = isa<AllReduceOp>(op);
      task.isFetch = getHostCopy(op) == Purpose::Fetch;
    } else if (auto it = nested.find(op); it != nested.end()) {
      task.mayOverwrite = true;
      task.duration = it->second.nanoseconds;
    } else {
      task.mayOverwrite = !isa<MatmulOp>(op);
      task.duration = getDuration(op);
    }
    task.duration += copyTimes.lookup(op);
    result.problem.addTask(task);
    result.ops.push_back(op);
    for (int other : before[order[i]])
      result.problem.addDependence(numbers[other], i);
  }
}

void ProblemBuilder::addBuffers(BlockProblem &result) {
  auto addBuffer = [&](int64_t bytes, int task, Value value) {
    result.values.push_back(value);
    return result.problem.addBuffer(bytes, numbers[task]);
  };
  for (const Result &made : results)
    bufferOf.push_back(addBuffer(made.bytes, made.task, made.value));
  for (int task = 0, e = ops.size(); task < e; ++task) {
    for (int read : reads[task])
      result.problem.addReader(bufferOf[read], numbers[task]);
    auto it = nested.find(ops[task]);
    if (it != nested.end() && it->second.bytes > 0)
      addBuffer(it->second.bytes, task, Value());
  }
}

/// The buffer of `value` if it is made by a task in memory of its own and only
/// `task` reads it; -1 otherwise.
int ProblemBuilder::findOnlyReadBy(const ScheduleProblem &problem, Value value,
                                   int task) const {
  auto it = resultOf.find(value);
  if (it == resultOf.end())
    return -1;
  int buffer = bufferOf[it->second];
  const ScheduleBuffer &made = problem.getBuffers()[buffer];
  bool isOnly = made.bytes > 0 && made.readers.size() == 1 &&
                made.readers.front() == numbers[task];
  return isOnly ? buffer : -1;
}

/// The parts of a concatenation are computed where they belong.
void ProblemBuilder::shareParts(BlockProblem &result, int task) {
  auto concat = dyn_cast<tensor::ConcatOp>(ops[task]);
  if (!concat)
    return;
  SmallVector<int> parts;
  for (Value part : concat.getInputs()) {
    int buffer = findOnlyReadBy(result.problem, part, task);
    if (buffer < 0 ||
        !isa_and_nonnull<rt::FusedOp, MatmulOp>(part.getDefiningOp()))
      return;
    parts.push_back(buffer);
  }
  int whole = bufferOf[resultOf.lookup(concat.getResult())];
  for (int part : parts)
    result.problem.shareBuffer(whole, part);
}

/// What is updated stays where it is if nobody else needs it.
void ProblemBuilder::shareUpdated(BlockProblem &result, int task) {
  Operation *op = ops[task];
  auto share = [&](OpResult updated, Value input) {
    int buffer = findOnlyReadBy(result.problem, input, task);
    int other = bufferOf[resultOf.lookup(updated)];
    bool isWished = result.problem.getBuffers()[other].bytes == 0;
    if (buffer < 0 || isWished)
      return;
    result.problem.shareBuffer(other, buffer);
    updatedIn[other] = buffer;
  };
  if (isa<AllReduceOp>(op))
    for (OpResult updated : op->getResults())
      share(updated, op->getOperand(updated.getResultNumber()));
  else if (auto scatter = dyn_cast<ScatterAddOp>(op))
    share(op->getResult(0), scatter.getInit());
  else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    share(op->getResult(0), insert.getDest());
}

/// The buffer in whose memory `buffer` lies.
int ProblemBuilder::getRoot(int buffer) const {
  for (auto it = updatedIn.find(buffer); it != updatedIn.end();
       it = updatedIn.find(buffer))
    buffer = it->second;
  return buffer;
}

/// A kernel may write where it reads.
void ProblemBuilder::reuseInputs(BlockProblem &result, int task) {
  if (!isa<rt::FusedOp>(ops[task]))
    return;
  SmallVector<Value> taken;
  for (OpResult made : ops[task]->getResults()) {
    int buffer = bufferOf[resultOf.lookup(made)];
    if (result.problem.getBuffers()[buffer].bytes == 0)
      continue;
    for (Value input : ops[task]->getOperands()) {
      auto it = resultOf.find(input);
      if (it == resultOf.end() || input.getType() != made.getType() ||
          llvm::is_contained(taken, input))
        continue;
      int root = getRoot(bufferOf[it->second]);
      if (result.problem.getBuffers()[root].readers.back() != numbers[task])
        continue;
      taken.push_back(input);
      result.problem.setInPlace(buffer, root);
      break;
    }
  }
}

/// From the last task to the first, so that who shares is known.
void ProblemBuilder::shareMemory(BlockProblem &result) {
  for (int task = ops.size(); task-- > 0;) {
    shareParts(result, task);
    shareUpdated(result, task);
  }
  for (int task = 0, e = ops.size(); task < e; ++task)
    reuseInputs(result, task);
}

FailureOr<BlockProblem> ProblemBuilder::build() {
  if (failed(collect()))
    return failure();
  placeResults();
  number();
  BlockProblem result;
  addTasks(result);
  addBuffers(result);
  result.problem.finalize();
  shareMemory(result);
  result.problem.finalize();
  return result;
}

} // namespace

FailureOr<BlockProblem> mlir::weft::buildBlockProblem(
    Block &block, const CostModel &cost,
    const llvm::DenseMap<Operation *, NestedCost> &nested, ComputeTimes times) {
  return ProblemBuilder(block, cost, nested, times).build();
}
