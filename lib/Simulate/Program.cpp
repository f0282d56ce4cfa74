// SPDX-License-Identifier: Apache-2.0

// Walks a planned function in order. Loops in which collectives are started are
// unrolled; other loops are one step.

#include "Program.h"

#include "weft/Rules/ShardingConversion.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <map>
#include <set>

using namespace mlir;
using namespace mlir::weft;

namespace {

bool hasCollectives(Operation *op) {
  return op->walk([](rt::StartOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

class ProgramMaker {
public:
  ProgramMaker(func::FuncOp function, const CostModel &cost)
      : function(function), cost(cost) {
    if (cost.getMesh())
      mesh = toMesh(cost.getMesh());
  }

  SimulatedProgram make();

private:
  void declareChannels();
  void addChannel(const std::string &name, AxesAttr axes);
  void visit(Block &block);
  void visit(Operation *op);
  void visitStart(rt::StartOp op);
  void visitWait(rt::WaitOp op);
  bool visitStream(Operation *op);
  void addStep(ReplayStep step, std::string name);
  std::string getName(Operation *op);
  void use(Value buffer, size_t first, size_t end);
  void useAll(Operation *op, size_t first);
  void shareLinks(ArrayRef<int> links);

  func::FuncOp function;
  const CostModel &cost;
  Mesh mesh;
  SimulatedProgram program;
  llvm::StringMap<int32_t> channels;
  /// The collective that a ticket stands for, as of now.
  DenseMap<Value, int32_t> tickets;
  /// The last collective that was started on a channel, and the one that an
  /// event is after, as of now; of an event of the stream that computes, none.
  DenseMap<Attribute, int32_t> lastOn;
  DenseMap<int64_t, int32_t> lastBefore;
  /// Of each channel, what its stream waits for before the next collective.
  DenseMap<Attribute, std::vector<int32_t>> awaited;
  DenseMap<Operation *, size_t> lifeOf;
  std::vector<int> links;
  /// The step that starts each collective.
  std::vector<size_t> startSteps;
  llvm::StringMap<int> numUnnamed;
};

} // namespace

void ProgramMaker::addChannel(const std::string &name, AxesAttr axes) {
  channels[name] = int32_t(program.channelNames.size());
  program.channelNames.push_back(name);
  ReplayChannel channel;
  AxisList refs = toAxes(axes.getAxes(), mesh);
  DenseMap<int64_t, int32_t> groups;
  for (int64_t rank = 0; rank < program.replay.numRanks; ++rank)
    channel.groupOf.push_back(groups
                                  .try_emplace(mesh.groupMember(rank, refs, 0),
                                               int32_t(groups.size()))
                                  .first->second);
  channel.numGroups = int32_t(groups.size());
  program.replay.channels.push_back(std::move(channel));
}

void ProgramMaker::declareChannels() {
  for (auto op : function->getParentOfType<ModuleOp>().getOps<ChannelOp>())
    addChannel(op.getSymName().str(), op.getAxes());
}

/// The name that the op has in the IR, or one made of its kind and a number.
std::string ProgramMaker::getName(Operation *op) {
  if (auto name = op->getAttrOfType<StringAttr>("weft.op"))
    return name.str();
  std::string kind = op->getName().stripDialect().str();
  if (auto start = dyn_cast<rt::StartOp>(op))
    kind = stringifyCollectiveKind(start.getKind()).str();
  return kind + " #" + std::to_string(numUnnamed[kind]++);
}

void ProgramMaker::addStep(ReplayStep step, std::string name) {
  program.replay.steps.push_back(step);
  program.stepNames.push_back(std::move(name));
}

/// Notes that a buffer is in use. Only blocks of the arena are of interest.
void ProgramMaker::use(Value buffer, size_t first, size_t end) {
  while (auto view = buffer.getDefiningOp<rt::ViewOp>())
    buffer = view.getSource();
  auto root = buffer.getDefiningOp<rt::BufferOp>();
  if (!root || root.getSpace() != rt::Space::Arena)
    return;
  auto [entry, isNew] = lifeOf.try_emplace(root, program.lives.size());
  if (isNew)
    program.lives.push_back({root, first, end});
  BufferLife &life = program.lives[entry->second];
  life.end = std::max(life.end, end);
}

/// Notes the buffers of an op, and of all inside it, from step `first` on.
void ProgramMaker::useAll(Operation *op, size_t first) {
  size_t end = program.replay.steps.size();
  op->walk([&](Operation *inner) {
    if (isa<rt::ViewOp>(inner))
      return;
    for (Value operand : inner->getOperands())
      if (isa<MemRefType>(operand.getType()))
        use(operand, first, end);
  });
}

void ProgramMaker::visitStart(rt::StartOp op) {
  auto index = int32_t(program.replay.collectives.size());
  CollectiveCost time = *cost.getCollectiveCost(op);
  program.replay.collectives.push_back(
      {channels.lookup(op.getChannel()), /*link=*/-1, time.nanoseconds,
       std::exchange(awaited[op.getChannelAttr()], {})});
  links.push_back(time.link);
  program.bytes.push_back(time.bytes);
  program.kernelNs.push_back(0);
  size_t first = program.replay.steps.size();
  startSteps.push_back(first);
  addStep({ReplayStep::Start, index, 0}, getName(op));
  useAll(op, first);
  tickets[op.getTicket()] = index;
  lastOn[op.getChannelAttr()] = index;
}

/// The buffers of a collective are in use until the wait is over.
void ProgramMaker::visitWait(rt::WaitOp op) {
  auto start = op.getTicket().getDefiningOp<rt::StartOp>();
  auto ticket = tickets.find(op.getTicket());
  if (!start || ticket == tickets.end())
    return;
  size_t first = program.replay.steps.size();
  addStep({ReplayStep::Wait, ticket->second, 0},
          program.stepNames[startSteps[ticket->second]]);
  useAll(start, first);
}

/// Sees to events, and to what is on the stream of a channel: a kernel there
/// makes the collective before it longer, and a wait there waits for nothing.
bool ProgramMaker::visitStream(Operation *op) {
  size_t first = program.replay.steps.size();
  FlatSymbolRefAttr channel = rt::getStream(op);
  auto last = lastOn.find(channel);
  bool hasCollective = channel && last != lastOn.end();
  if (auto record = dyn_cast<rt::RecordOp>(op)) {
    lastBefore.erase(record.getEvent());
    if (hasCollective)
      lastBefore[record.getEvent()] = last->second;
    return true;
  }
  if (auto await = dyn_cast<rt::AwaitOp>(op)) {
    auto event = lastBefore.find(await.getEvent());
    if (!channel && event != lastBefore.end())
      addStep({ReplayStep::Wait, event->second, 0},
              program.stepNames[startSteps[event->second]]);
    if (channel && event != lastBefore.end())
      awaited[channel].push_back(event->second);
    return true;
  }
  if (!hasCollective || isa<rt::StartOp>(op))
    return false;
  if (auto wait = dyn_cast<rt::WaitOp>(op))
    op = wait.getTicket().getDefiningOp<rt::StartOp>();
  else {
    int64_t ns = cost.getComputeNanoseconds(op);
    program.replay.collectives[last->second].ns += ns;
    program.kernelNs[last->second] += ns;
  }
  if (op)
    useAll(op, first);
  return true;
}

void ProgramMaker::visit(Operation *op) {
  if (visitStream(op))
    return;
  if (auto start = dyn_cast<rt::StartOp>(op))
    return visitStart(start);
  if (auto wait = dyn_cast<rt::WaitOp>(op))
    return visitWait(wait);
  auto loop = dyn_cast<scf::ForOp>(op);
  if (loop && hasCollectives(op)) {
    std::optional<APInt> trips = loop.getStaticTripCount();
    for (int64_t i = 0, e = trips ? trips->getSExtValue() : 1; i < e; ++i)
      visit(*loop.getBody());
    return;
  }
  auto branch = dyn_cast<scf::IfOp>(op);
  if (branch && hasCollectives(op))
    return visit(*branch.thenBlock());
  size_t first = program.replay.steps.size();
  if (int64_t ns = cost.getComputeNanoseconds(op))
    addStep({ReplayStep::Compute, -1, ns}, getName(op));
  useAll(op, first);
}

void ProgramMaker::visit(Block &block) {
  for (Operation &op : block)
    visit(&op);
}

/// A link that one channel has for itself needs no turns.
void ProgramMaker::shareLinks(ArrayRef<int> links) {
  std::map<int, std::set<int32_t>> users;
  auto &collectives = program.replay.collectives;
  for (auto [link, collective] : llvm::zip(links, collectives))
    users[link].insert(collective.channel);
  std::map<int, int32_t> numbers;
  for (auto [link, collective] : llvm::zip(links, collectives))
    if (link >= 0 && users[link].size() > 1)
      collective.link =
          numbers.try_emplace(link, int32_t(numbers.size())).first->second;
  program.replay.numLinks = int32_t(numbers.size());
}

SimulatedProgram ProgramMaker::make() {
  program.replay.numRanks = mesh.numRanks();
  declareChannels();
  visit(function.getBody().front());
  shareLinks(links);
  return std::move(program);
}

SimulatedProgram weft::makeProgram(func::FuncOp function,
                                   const CostModel &cost) {
  return ProgramMaker(function, cost).make();
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

namespace {
/// Ids of the values that an op reads and writes.
struct Access {
  SmallVector<int64_t> reads, writes;
};
} // namespace

/// How many of an op's buffer operands, from the first on, are read; the rest
/// are written.
static size_t getNumRead(Operation *op) {
  if (auto fused = dyn_cast<rt::FusedOp>(op))
    return fused.getInputs().size();
  if (auto start = dyn_cast<rt::StartOp>(op))
    return start.getIns().size();
  if (auto attention = dyn_cast<rt::AttentionOp>(op))
    return attention.getIns().size();
  return isa<rt::GemmOp>(op) ? 2 : 0;
}

static Access getAccess(Operation *op) {
  Access access;
  auto ids = op->getAttrOfType<DenseI64ArrayAttr>("weft_rt.values");
  if (auto from = op->getAttrOfType<DenseI64ArrayAttr>("from")) {
    llvm::append_range(access.reads, from.asArrayRef());
    if (auto value = op->getAttrOfType<IntegerAttr>("value"))
      access.writes.push_back(value.getInt());
  } else if (!ids) {
    return access;
  } else if (isa<rt::ScatterAddOp>(op)) {
    llvm::append_range(access.reads, ids.asArrayRef().drop_front());
    access.writes.push_back(ids[0]);
  } else if (isa<rt::FusedOp, rt::GemmOp, rt::AttentionOp, rt::StartOp>(op)) {
    size_t numRead = std::min<size_t>(getNumRead(op), ids.size());
    llvm::append_range(access.reads, ids.asArrayRef().take_front(numRead));
    llvm::append_range(access.writes, ids.asArrayRef().drop_front(numRead));
  }
  if (auto reads = op->getAttrOfType<DenseI64ArrayAttr>("weft_rt.reads"))
    llvm::append_range(access.reads, reads.asArrayRef());
  return access;
}

int64_t weft::getLongestChain(func::FuncOp function, const CostModel &cost) {
  // Any number may stand in a file that is not proved.
  std::map<int64_t, int64_t> readyAt;
  int64_t longest = 0;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    Access access = getAccess(op);
    int64_t ready = 0;
    for (int64_t id : access.reads)
      if (auto it = readyAt.find(id); it != readyAt.end())
        ready = std::max(ready, it->second);
    if (!access.writes.empty())
      ready +=
          cost.getComputeNanoseconds(op) + cost.getCollectiveNanoseconds(op);
    for (int64_t id : access.writes)
      readyAt[id] = std::max(readyAt[id], ready);
    longest = std::max(longest, ready);
    return isa<rt::FusedOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
  return longest;
}
