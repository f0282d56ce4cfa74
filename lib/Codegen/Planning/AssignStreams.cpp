// SPDX-License-Identifier: Apache-2.0

// First the kernels are found that go to a channel's stream. Then one walk
// keeps for each stream how many ops of each other one come before its next op,
// and asks for an event where an op touches what one that is not before it
// touches. At last events get numbers, the lowest that is free.

#include "weft/Codegen/Planning/Passes.h"

#include "weft/Analysis/BufferExtent.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <set>

namespace mlir::weft {
#define GEN_PASS_DEF_ASSIGNSTREAMSPASS
#include "weft/Codegen/Planning/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

//===----------------------------------------------------------------------===//
// What ops touch
//===----------------------------------------------------------------------===//

/// The memory that an op may touch, with all inside of it.
struct Touched {
  SmallVector<BufferExtent> read, written;
};

unsigned getNumRead(Operation *op) {
  if (auto fused = dyn_cast<rt::FusedOp>(op))
    return fused.getInputs().size();
  if (auto start = dyn_cast<rt::StartOp>(op))
    return start.getIns().size();
  if (auto attention = dyn_cast<rt::AttentionOp>(op))
    return attention.getIns().size();
  if (isa<rt::GemmOp>(op))
    return 2;
  return isa<rt::CopyOp, rt::ReadScalarOp>(op) ? 1 : 0;
}

Touched getTouched(Operation *op) {
  Touched touched;
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    if (isa<rt::BufferOp, rt::ViewOp, rt::AssembleOp>(inner))
      return WalkResult::advance();
    unsigned number = 0, numRead = getNumRead(inner);
    for (Value operand : inner->getOperands()) {
      if (!isa<MemRefType>(operand.getType()))
        continue;
      bool isRead = number++ < numRead;
      if (!operand.getDefiningOp<memref::GetGlobalOp>())
        (isRead ? touched.read : touched.written).push_back(getExtent(operand));
    }
    return isa<rt::FusedOp>(inner) ? WalkResult::skip() : WalkResult::advance();
  });
  return touched;
}

bool overlap(ArrayRef<BufferExtent> a, ArrayRef<BufferExtent> b) {
  return llvm::any_of(a, [&](const BufferExtent &one) {
    return llvm::any_of(
        b, [&](const BufferExtent &other) { return one.overlaps(other); });
  });
}

bool mustKeepOrder(const Touched &a, const Touched &b) {
  return overlap(a.written, b.written) || overlap(a.written, b.read) ||
         overlap(a.read, b.written);
}

//===----------------------------------------------------------------------===//
// What goes to a channel's stream
//===----------------------------------------------------------------------===//

/// Notes what a reduce-scatter has written.
void noteResults(Operation *op, DenseMap<Value, rt::WaitOp> &results) {
  auto wait = dyn_cast<rt::WaitOp>(op);
  auto start = wait ? wait.getTicket().getDefiningOp<rt::StartOp>() : nullptr;
  if (start && start.getKind() == CollectiveKind::ReduceScatter)
    for (Value out : start.getOuts())
      results[out] = wait;
}

/// Says whether a kernel only adds to buffers, in place, what collectives have
/// written to some of `results`.
bool isAddition(rt::FusedOp op,
                const llvm::DenseMap<Value, rt::WaitOp> &results,
                llvm::SmallSetVector<Operation *, 2> &waits) {
  if (!op.isOnBuffers() || !op.getScalars().empty())
    return false;
  for (Value out : op.getOuts())
    if (!llvm::is_contained(op.getInputs(), out))
      return false;
  for (Value input : op.getInputs()) {
    if (llvm::is_contained(op.getOuts(), input))
      continue;
    auto wait = results.find(input);
    if (wait == results.end())
      return false;
    waits.insert(wait->second);
  }
  return !waits.empty();
}

/// Finds the kernels of a block, and puts them and the waits on their stream.
class Finder {
public:
  /// `isEarly`: they may stand before where they are scheduled.
  Finder(Block &block, bool isEarly) : block(block), isEarly(isEarly) {}

  /// How many kernels there are.
  unsigned run();

private:
  void note(Operation *op);
  bool move(rt::FusedOp op);
  bool mayStandBefore(Operation *place, rt::FusedOp op, rt::WaitOp wait);

  Block &block;
  const bool isEarly;
  /// What reduce-scatters have written that is still there.
  DenseMap<Value, rt::WaitOp> results;
  /// Of each channel, the last collective that was started, and of a collective
  /// the op of the block that starts the next one.
  DenseMap<Attribute, Operation *> lastStarted;
  DenseMap<Operation *, Operation *> next;
};

void Finder::note(Operation *op) {
  if (auto start = dyn_cast<rt::StartOp>(op)) {
    Operation *&last = lastStarted[start.getChannelAttr()];
    if (last)
      next[last] = block.findAncestorOpInBlock(*op);
    last = start;
    return;
  }
  noteResults(op, results);
}

/// Says whether nothing from `place` on touches what the kernel and the
/// collective touch, up to where they stand.
bool Finder::mayStandBefore(Operation *place, rt::FusedOp op, rt::WaitOp wait) {
  Touched own = getTouched(op);
  Touched sent = getTouched(wait.getTicket().getDefiningOp());
  for (Operation *other = place; other != op; other = other->getNextNode()) {
    if (!other)
      return false;
    if (auto assemble = dyn_cast<rt::AssembleOp>(other)) {
      Touched named;
      named.written.push_back(getExtent(assemble.getBuffer()));
      if (mustKeepOrder(own, named))
        return false;
      continue;
    }
    if (isNothingBetween(other) || isa<rt::WaitOp>(other))
      continue;
    Touched theirs = getTouched(other);
    if (mustKeepOrder(own, theirs) ||
        (other->isBeforeInBlock(wait) && mustKeepOrder(sent, theirs)))
      return false;
  }
  return true;
}

/// Moves an op before another one, after what makes its buffers.
void moveBefore(Operation *op, Operation *place) {
  for (Value operand : op->getOperands()) {
    Operation *made = operand.getDefiningOp();
    if (made && made->getBlock() == place->getBlock() &&
        !made->isBeforeInBlock(place) && isPure(made))
      moveBefore(made, place);
  }
  op->moveBefore(place);
}

bool Finder::move(rt::FusedOp op) {
  llvm::SmallSetVector<Operation *, 2> waits;
  if (!isAddition(op, results, waits) || waits.size() != 1)
    return false;
  auto wait = cast<rt::WaitOp>(waits.front());
  auto start = wait.getTicket().getDefiningOp<rt::StartOp>();
  // Not after the channel's next collective.
  if (Operation *place = next.lookup(start)) {
    if (!isEarly || wait->getBlock() != &block ||
        !mayStandBefore(place, op, wait))
      return false;
    if (!wait->isBeforeInBlock(place))
      moveBefore(wait, place);
    moveBefore(op, place);
  }
  for (Operation *moved : {wait.getOperation(), op.getOperation()})
    moved->setAttr(rt::WeftRTDialect::kStreamAttr, start.getChannelAttr());
  return true;
}

unsigned Finder::run() {
  unsigned count = 0;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    op.walk([&](Operation *inner) { note(inner); });
    if (auto fused = dyn_cast<rt::FusedOp>(op))
      count += move(fused);
  }
  return count;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// An op on a stream: what it touches, and what is before what comes after it.
struct Enqueued {
  Operation *op;
  Touched touched;
  SmallVector<size_t, 4> clock;
};

/// An event: after which op it is recorded, and before which it is awaited.
struct Event {
  Operation *after, *before;
  Attribute from, to;
};

/// Finds the events that a block needs.
class Orderer {
public:
  explicit Orderer(Block &block) : block(block) { getStream(Attribute()); }
  std::vector<Event> run();

private:
  unsigned getStream(Attribute channel);
  void visit(Operation *op);
  void add(Operation *op, unsigned stream, Operation *before);
  const Enqueued *findConflict(const Touched &touched, unsigned stream,
                               unsigned other) const;
  void order(const Enqueued &first, unsigned other, unsigned stream,
             Operation *before);
  size_t &known(unsigned stream, unsigned other) {
    clocks[stream].resize(std::max<size_t>(clocks[stream].size(), ops.size()));
    return clocks[stream][other];
  }
  void join(unsigned stream, ArrayRef<size_t> clock) {
    for (unsigned other = 0; other < clock.size(); ++other)
      known(stream, other) = std::max(known(stream, other), clock[other]);
  }

  Block &block;
  llvm::MapVector<Attribute, unsigned> streams; // null: the one that computes
  std::vector<std::vector<Enqueued>> ops;       // [stream]
  std::vector<SmallVector<size_t, 4>> clocks;   // [stream]
  DenseMap<Operation *, SmallVector<size_t, 4>> ends; // of collectives
  std::vector<Event> events;
};

unsigned Orderer::getStream(Attribute channel) {
  auto [it, isNew] = streams.insert({channel, streams.size()});
  if (isNew) {
    ops.emplace_back();
    clocks.emplace_back();
  }
  return it->second;
}

/// The last op of another stream that has to come before and does not.
const Enqueued *Orderer::findConflict(const Touched &touched, unsigned stream,
                                      unsigned other) const {
  size_t first = other < clocks[stream].size() ? clocks[stream][other] : 0;
  for (size_t i = ops[other].size(); i > first; --i)
    if (mustKeepOrder(touched, ops[other][i - 1].touched))
      return &ops[other][i - 1];
  return nullptr;
}

/// Where the program has done with an op: of a collective the wait, of a loop
/// or a branch what says where it leaves its values.
Operation *getEnd(Operation *op, Operation *before) {
  auto start = dyn_cast<rt::StartOp>(op);
  if (!start) {
    if (op->getNumRegions() > 0 && !isa<rt::FusedOp>(op))
      while (isa<rt::BufferOp, rt::ViewOp, rt::AssembleOp>(op->getNextNode()))
        op = op->getNextNode();
    return op;
  }
  for (Operation *user : start->getUsers())
    if (user->getBlock() == before->getBlock() && user->isBeforeInBlock(before))
      return user;
  return op;
}

void Orderer::order(const Enqueued &first, unsigned other, unsigned stream,
                    Operation *before) {
  join(stream, first.clock);
  events.push_back({getEnd(first.op, before), before,
                    (streams.begin() + other)->first,
                    (streams.begin() + stream)->first});
}

/// Enqueues an op, after what it has to come after.
void Orderer::add(Operation *op, unsigned stream, Operation *before) {
  Touched touched = getTouched(op);
  for (unsigned other = 0; other < ops.size(); ++other)
    if (other != stream)
      if (const Enqueued *first = findConflict(touched, stream, other))
        order(*first, other, stream, before);
  size_t count = ops[stream].size() + 1;
  known(stream, stream) = count;
  ops[stream].push_back({op, std::move(touched), clocks[stream]});
}

void Orderer::visit(Operation *op) {
  unsigned stream = getStream(rt::getStream(op));
  if (auto wait = dyn_cast<rt::WaitOp>(op)) {
    auto end = ends.find(wait.getTicket().getDefiningOp());
    if (end != ends.end())
      join(stream, SmallVector<size_t, 4>(end->second));
    return;
  }
  if (auto start = dyn_cast<rt::StartOp>(op)) {
    unsigned channel = getStream(start.getChannelAttr());
    join(channel, SmallVector<size_t, 4>(clocks[stream]));
    add(op, channel, op);
    ends[op] = clocks[channel];
    return;
  }
  if (!isNothingBetween(op))
    add(op, stream, op);
}

std::vector<Event> Orderer::run() {
  for (Operation &op : block.without_terminator())
    visit(&op);
  // What comes after the step comes after what computes.
  for (unsigned other = 1; other < ops.size(); ++other)
    if (size_t count = ops[other].size(); known(0, other) < count)
      order(ops[other].back(), other, 0, block.getTerminator());
  return std::move(events);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Puts the events into the block. Two that are recorded after one op are one.
/// Gives how many there are.
unsigned insert(ArrayRef<Event> events) {
  struct Recorded {
    rt::RecordOp op;
    Operation *last; // that awaits it
  };
  llvm::MapVector<Operation *, Recorded> records;
  SmallVector<std::pair<rt::AwaitOp, Operation *>> awaits;
  for (const Event &event : events) {
    OpBuilder builder(event.before);
    Location loc = event.before->getLoc();
    auto await = rt::AwaitOp::create(builder, loc, 0);
    if (event.to)
      await->setAttr(rt::WeftRTDialect::kStreamAttr, event.to);
    awaits.push_back({await, event.after});
    Recorded &recorded = records[event.after];
    if (!recorded.op) {
      builder.setInsertionPointAfter(event.after);
      recorded.op = rt::RecordOp::create(builder, event.after->getLoc(), 0);
      if (event.from)
        recorded.op->setAttr(rt::WeftRTDialect::kStreamAttr, event.from);
    }
    if (!recorded.last || recorded.last->isBeforeInBlock(await))
      recorded.last = await;
  }
  SmallVector<Recorded> inOrder;
  for (auto &[after, recorded] : records)
    inOrder.push_back(recorded);
  llvm::sort(inOrder, [](const Recorded &a, const Recorded &b) {
    return rt::RecordOp(a.op)->isBeforeInBlock(rt::RecordOp(b.op));
  });
  SmallVector<Operation *> lastOf; // [number]
  for (Recorded &recorded : inOrder) {
    Operation *record = recorded.op;
    auto free = llvm::find_if(
        lastOf, [&](Operation *last) { return last->isBeforeInBlock(record); });
    recorded.op.setEvent(free - lastOf.begin());
    if (free == lastOf.end())
      lastOf.push_back(recorded.last);
    else
      *free = recorded.last;
  }
  for (auto &[await, after] : awaits)
    await.setEvent(records[after].op.getEvent());
  return inOrder.size();
}

struct AssignStreamsPass
    : public weft::impl::AssignStreamsPassBase<AssignStreamsPass> {
  using Base::Base;

  void runOnOperation() override {
    const Target *target = lookupTarget(getOperation());
    if (!target)
      return signalPassFailure();
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>()) {
      bool isAssigned = false;
      func.walk([&](Operation *op) {
        isAssigned |=
            isa<rt::RecordOp, rt::AwaitOp>(op) || rt::getStream(op) != nullptr;
      });
      if (isAssigned || func.isExternal() || !func.getBody().hasOneBlock())
        continue;
      Block &body = func.getBody().front();
      unsigned moved = Finder(body, target->hasStreams()).run();
      if (moved == 0)
        continue;
      numMoved += moved;
      numEvents += insert(Orderer(body).run());
    }
  }
};

} // namespace

bool weft::hasScatteredSums(ModuleOp planned) {
  return llvm::any_of(planned.getOps<func::FuncOp>(), [](func::FuncOp func) {
    DenseMap<Value, rt::WaitOp> results;
    return func
        .walk<WalkOrder::PreOrder>([&](Operation *op) {
          noteResults(op, results);
          llvm::SmallSetVector<Operation *, 2> waits;
          auto fused = dyn_cast<rt::FusedOp>(op);
          if (!fused)
            return WalkResult::advance();
          return isAddition(fused, results, waits) ? WalkResult::interrupt()
                                                   : WalkResult::skip();
        })
        .wasInterrupted();
  });
}
