// SPDX-License-Identifier: Apache-2.0

// One walk with a vector clock for each stream: of each other stream, how many
// of its ops come before what is enqueued next. An op is compared with those
// ops of other streams that its stream's clock does not have.
//
// Worked example; c is the stream that computes, x that of a channel.
//
//   kernel A                  c has 1 op
//   start R on x              x: after A, 1 op
//   wait R, on x              nothing: x is after R anyway
//   kernel B, on x            compared with ops of c after A: none yet
//   kernel C                  compared with R and B, which c is not after
//   record 0, on x            event 0: after A, R, B
//   await 0                   c is after R and B
//   kernel D                  compared with nothing
//
// A loop's body is walked twice. The second pass meets what the first one left,
// and stands for all later ones: an op that is after another one's last pass
// is after its earlier ones, since each stream runs its passes in order.

#include "StreamOrder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

namespace {

constexpr unsigned kCompute = 0;

/// Of each stream, how many of its ops come before. Streams past the end: none.
using Clock = SmallVector<size_t, 4>;

size_t get(const Clock &clock, unsigned stream) {
  return stream < clock.size() ? clock[stream] : 0;
}

void set(Clock &clock, unsigned stream, size_t count) {
  if (clock.size() <= stream)
    clock.resize(stream + 1, 0);
  clock[stream] = count;
}

void join(Clock &clock, const Clock &other) {
  for (auto [stream, count] : llvm::enumerate(other))
    set(clock, stream, std::max(get(clock, stream), count));
}

/// An op on a stream, and the bytes that it touches.
struct Enqueued {
  Operation *op;
  AccessList accesses;
  /// Per access, in the address space of all roots.
  SmallVector<ByteSet, 6> bytes;
};

class StreamProof {
public:
  explicit StreamProof(const PlannedProgram &program) : program(program) {
    getStream(FlatSymbolRefAttr());
  }

  LogicalResult run() {
    Block &body = func::FuncOp(program.getFunction()).getBody().front();
    return success(succeeded(checkBlock(body)) &&
                   succeeded(checkEnd({}, "the step")));
  }

private:
  LogicalResult checkBlock(Block &block);
  LogicalResult checkOp(Operation *op);
  LogicalResult checkInner(Operation *op);
  LogicalResult checkEnd(ArrayRef<size_t> begin, StringRef when);
  LogicalResult await(rt::AwaitOp op, Clock &clock);
  LogicalResult add(Operation *op, unsigned stream);
  Enqueued makeEnqueued(Operation *op) const;
  LogicalResult compare(const Enqueued &one, const Enqueued &other);
  LogicalResult report(Operation *op, const Access &access, Operation *other,
                       const Access &theirs);

  unsigned getStream(FlatSymbolRefAttr channel);
  unsigned getStreamOf(Operation *op) { return getStream(rt::getStream(op)); }
  /// Where an op does what it does.
  unsigned getPlaceOf(Operation *op) {
    auto start = dyn_cast<rt::StartOp>(op);
    return start ? getStream(start.getChannelAttr()) : getStreamOf(op);
  }

  const PlannedProgram &program;
  llvm::MapVector<Attribute, unsigned> streams; // null: the one that computes
  /// What is on a stream, and what comes before its next op.
  std::vector<std::vector<Enqueued>> ops;
  std::vector<Clock> clocks;
  /// What comes before what is after an event, or a collective's end.
  DenseMap<int64_t, Clock> events;
  DenseMap<Operation *, Clock> ends;
};

unsigned StreamProof::getStream(FlatSymbolRefAttr channel) {
  auto [it, isNew] = streams.insert({channel, streams.size()});
  if (isNew) {
    ops.emplace_back();
    clocks.emplace_back();
  }
  return it->second;
}

LogicalResult StreamProof::report(Operation *op, const Access &access,
                                  Operation *other, const Access &theirs) {
  InFlightDiagnostic diag =
      op->emitError() << getOpName(op)
                      << (access.writes ? " writes " : " reads ")
                      << program.describe(*access.place) << ", which "
                      << getOpName(other)
                      << (theirs.writes ? " writes" : " reads")
                      << " on another stream, and no event orders the two";
  diag.attachNote(other->getLoc()) << getOpName(other) << " is here";
  return diag;
}

Enqueued StreamProof::makeEnqueued(Operation *op) const {
  Enqueued made{op, program.getAccesses(op), {}};
  for (const Access &access : made.accesses) {
    ByteSet &bytes = made.bytes.emplace_back(access.place->region);
    bytes.begin += program.getRoot(*access.place).begin;
  }
  return made;
}

LogicalResult StreamProof::compare(const Enqueued &one, const Enqueued &other) {
  for (auto [theirs, theirBytes] : llvm::zip(other.accesses, other.bytes))
    for (auto [access, bytes] : llvm::zip(one.accesses, one.bytes))
      if ((access.writes || theirs.writes) && overlaps(bytes, theirBytes))
        return report(one.op, access, other.op, theirs);
  return success();
}

/// Enqueues an op, and compares it with what it is not after.
LogicalResult StreamProof::add(Operation *op, unsigned stream) {
  Enqueued one = makeEnqueued(op);
  for (unsigned other = 0; other < ops.size(); ++other) {
    if (other == stream)
      continue;
    ArrayRef<Enqueued> open(ops[other]);
    for (const Enqueued &theirs : open.drop_front(get(clocks[stream], other)))
      if (failed(compare(one, theirs)))
        return failure();
  }
  ops[stream].push_back(std::move(one));
  set(clocks[stream], stream, ops[stream].size());
  return success();
}

LogicalResult StreamProof::await(rt::AwaitOp op, Clock &clock) {
  auto event = events.find(op.getEvent());
  if (event == events.end())
    return op.emitError() << "event " << op.getEvent()
                          << " is awaited, but not recorded before in this "
                             "block or one around it";
  join(clock, event->second);
  return success();
}

LogicalResult StreamProof::checkOp(Operation *op) {
  if (isa<scf::ForOp, scf::IfOp>(op))
    return checkInner(op);
  unsigned stream = getStreamOf(op), place = getPlaceOf(op);
  if (auto record = dyn_cast<rt::RecordOp>(op)) {
    events[record.getEvent()] = clocks[stream];
    return success();
  }
  if (auto awaited = dyn_cast<rt::AwaitOp>(op))
    return await(awaited, clocks[stream]);
  if (auto wait = dyn_cast<rt::WaitOp>(op)) {
    if (rt::StartOp start = getStart(wait))
      join(clocks[stream], ends[start]);
    return success();
  }
  if (!isStep(op))
    return success();
  if (place != stream)
    join(clocks[place], Clock(clocks[stream]));
  if (failed(add(op, place)))
    return failure();
  if (isa<rt::StartOp>(op))
    ends[op] = clocks[place];
  return success();
}

/// What has been put on other streams since they had as many ops as `begin`
/// says: what computes is after it.
LogicalResult StreamProof::checkEnd(ArrayRef<size_t> begin, StringRef when) {
  for (auto &[channel, stream] : streams) {
    size_t count = ops[stream].size();
    size_t first = stream < begin.size() ? begin[stream] : 0;
    if (stream == kCompute || count == first ||
        get(clocks[kCompute], stream) >= count)
      continue;
    Operation *last = ops[stream].back().op;
    return last->emitError() << getOpName(last) << " is on the stream of "
                             << channel << ", and what computes is not after "
                             << "it where " << when << " ends";
  }
  return success();
}

/// Since what computes is after all that a body has put on other streams, the
/// ops after the body meet that as if it had been computed. Nothing else is
/// known of a body that may not have run.
LogicalResult StreamProof::checkInner(Operation *op) {
  DenseMap<int64_t, Clock> eventsBefore = events;
  std::vector<Clock> before = clocks;
  SmallVector<size_t> begin;
  for (const std::vector<Enqueued> &list : ops)
    begin.push_back(list.size());
  unsigned passes = isa<scf::ForOp>(op) ? 2 : 1;
  std::vector<Enqueued> inner;
  for (mlir::Region &region : op->getRegions()) {
    // Of two branches one runs: what the other one does and records is not
    // before it.
    events = eventsBefore;
    clocks = before;
    for (unsigned pass = 0; pass < passes; ++pass)
      for (Block &block : region)
        if (failed(checkBlock(block)) ||
            failed(checkEnd(begin, "the loop or branch around it")))
          return failure();
    begin.resize(ops.size(), 0);
    before.resize(ops.size());
    for (auto [list, first] : llvm::zip_equal(ops, begin)) {
      inner.insert(inner.end(), list.begin() + first, list.end());
      list.erase(list.begin() + first, list.end());
    }
  }
  llvm::append_range(ops[kCompute], inner);
  set(before[kCompute], kCompute, ops[kCompute].size());
  clocks = std::move(before);
  op->walk([&](rt::RecordOp record) { eventsBefore.erase(record.getEvent()); });
  events = std::move(eventsBefore);
  return success();
}

LogicalResult StreamProof::checkBlock(Block &block) {
  for (Operation &op : block)
    if (failed(checkOp(&op)))
      return failure();
  return success();
}

} // namespace

LogicalResult mlir::weft::proof::checkStreams(const PlannedProgram &program) {
  WalkResult found = program.getFunction()->walk([](Operation *op) {
    return isa<rt::RecordOp, rt::AwaitOp>(op) || rt::getStream(op)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  // Else starts and waits are all, each on the stream that computes.
  return found.wasInterrupted() ? StreamProof(program).run() : success();
}
