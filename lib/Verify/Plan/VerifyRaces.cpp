// SPDX-License-Identifier: Apache-2.0

// One walk keeps what the collectives in flight read and write, sorted by
// address, and looks up each op's bytes among them. It looks at bytes only:
// which buffer they belong to, and what the plan says of it, plays no part. Ops
// on the streams of channels, and events, are StreamOrder.cpp's.

#include "KernelOrder.h"
#include "PlannedProgram.h"
#include "StreamOrder.h"

#include "weft/Verify/Plan/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace mlir::weft {
#define GEN_PASS_DEF_VERIFYRACESPASS
#include "weft/Verify/Plan/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

namespace {

/// As many as the runtime's ABI has room for.
constexpr unsigned kMaxInFlight = 1024;

/// A buffer of a collective between its start and its wait.
struct InFlight {
  rt::StartOp start;
  Access access;
};

class RaceProof {
public:
  explicit RaceProof(const PlannedProgram &program) : program(program) {}

  LogicalResult run() {
    return success(
        succeeded(checkBlock(
            func::FuncOp(program.getFunction()).getBody().front())) &&
        succeeded(checkStreams(program)));
  }

private:
  LogicalResult checkBlock(Block &block);
  LogicalResult checkOp(Operation *op);
  LogicalResult checkTicket(rt::StartOp start);
  LogicalResult checkWait(rt::WaitOp wait);
  LogicalResult checkTogether(Operation *op, const AccessList &accesses);
  LogicalResult checkWithin(Operation *op, const AccessList &accesses);
  LogicalResult checkPair(Operation *op, const Access &a, const Access &b);
  LogicalResult checkAgainstFlight(Operation *op, const Access &access);
  LogicalResult reportRace(Operation *op, const Access &access,
                           const InFlight &flight);
  LogicalResult launch(rt::StartOp start, const AccessList &accesses);
  void land(rt::StartOp start);

  /// The bytes of an access in the address space of all roots.
  ByteSet getBytes(const Access &access) const {
    ByteSet region = access.place->region;
    region.begin += program.getRoot(*access.place).begin;
    return region;
  }
  bool share(const Access &a, const Access &b) const {
    return overlaps(getBytes(a), getBytes(b));
  }

  const PlannedProgram &program;
  unsigned numInFlight = 0;
  /// The kernels before this op that may be one launch with it, and the number
  /// that they have.
  SmallVector<Operation *> together;
  Attribute launchNumber;
  /// By first byte.
  std::multimap<int64_t, InFlight> flights;
  /// The longest that ever was in flight.
  int64_t longest = 0;
};

//===----------------------------------------------------------------------===//
// Tickets
//===----------------------------------------------------------------------===//

/// The wait that ends a collective; null if there is none in its block.
Operation *findWait(rt::StartOp start) {
  for (Operation *user : start->getUsers())
    if (isa<rt::WaitOp>(user))
      return user;
  return nullptr;
}

LogicalResult RaceProof::checkTicket(rt::StartOp start) {
  SmallVector<Operation *> users(start->getUsers());
  if (users.empty())
    return start.emitError() << getOpName(start) << " is never waited for";
  if (users.size() == 1 && isa<rt::WaitOp>(users.front()) &&
      users.front()->getBlock() == start->getBlock())
    return success();
  if (users.size() > 1) {
    // Users are listed last first.
    InFlightDiagnostic diag = users.front()->emitError()
                              << getOpName(start) << " is waited for twice";
    diag.attachNote(users.back()->getLoc()) << "it has been waited for here";
    return diag;
  }
  InFlightDiagnostic diag = users.front()->emitError()
                            << getOpName(start)
                            << " is not waited for in the block that starts it";
  diag.attachNote(start.getLoc()) << "it is started here";
  return diag;
}

LogicalResult RaceProof::checkWait(rt::WaitOp wait) {
  rt::StartOp start = getStart(wait);
  if (!start)
    return wait.emitError("the wait is for no collective of this program");
  land(start);
  return success();
}

LogicalResult RaceProof::launch(rt::StartOp start, const AccessList &accesses) {
  if (++numInFlight > kMaxInFlight)
    return start.emitError()
           << getOpName(start) << " is started while " << kMaxInFlight
           << " collectives are in flight, which is all that a rank may have";
  for (const Access &access : accesses) {
    ByteSet bytes = getBytes(access);
    longest = std::max(longest, bytes.end() - bytes.begin);
    flights.insert({bytes.begin, {start, access}});
  }
  return checkTicket(start);
}

void RaceProof::land(rt::StartOp start) {
  --numInFlight;
  for (const Access &access : program.getAccesses(start)) {
    auto [first, last] = flights.equal_range(getBytes(access).begin);
    for (auto it = first; it != last;)
      it = it->second.start == start ? flights.erase(it) : std::next(it);
  }
}

//===----------------------------------------------------------------------===//
// One op against the collectives in flight
//===----------------------------------------------------------------------===//

LogicalResult RaceProof::reportRace(Operation *op, const Access &access,
                                    const InFlight &flight) {
  std::string other = getOpName(flight.start);
  InFlightDiagnostic diag = op->emitError()
                            << getOpName(op)
                            << (access.writes ? " writes " : " reads ")
                            << program.describe(*access.place);
  if (flight.access.writes)
    diag << (access.writes ? " while " + other + " is writing it"
                           : " before " + other + " has arrived there");
  else
    diag << " while " << other << " is still sending it";
  if (!(*access.place == *flight.access.place))
    diag << " (" << program.describe(*flight.access.place) << ")";
  rt::StartOp start = flight.start;
  diag.attachNote(start.getLoc()) << other << " is started here";
  if (Operation *wait = findWait(start))
    diag.attachNote(wait->getLoc()) << "and waited for only here";
  return diag;
}

LogicalResult RaceProof::checkAgainstFlight(Operation *op,
                                            const Access &access) {
  ByteSet bytes = getBytes(access);
  for (auto it = flights.lower_bound(bytes.begin - longest);
       it != flights.end() && it->first < bytes.end(); ++it)
    if ((access.writes || it->second.access.writes) &&
        share(access, it->second.access))
      return reportRace(op, access, it->second);
  return success();
}

//===----------------------------------------------------------------------===//
// One op against itself
//===----------------------------------------------------------------------===//

/// Says whether an op that reads and writes the same bytes does so in an order
/// that is right.
bool mayUpdateInPlace(Operation *op, const Access &read, const Access &write) {
  if (auto start = dyn_cast<rt::StartOp>(op))
    return start.getKind() == CollectiveKind::AllReduce &&
           read.number + start.getIns().size() == write.number;
  auto fused = dyn_cast<rt::FusedOp>(op);
  return fused && readsBeforeWriting(fused, read.number,
                                     write.number - fused.getInputs().size());
}

LogicalResult RaceProof::checkPair(Operation *op, const Access &a,
                                   const Access &b) {
  if (!share(a, b))
    return success();
  if (a.writes && b.writes)
    return op->emitError() << getOpName(op) << " writes "
                           << program.describe(*a.place) << " and "
                           << program.describe(*b.place) << ", which overlap";
  if (!(*a.place == *b.place))
    return op->emitError() << getOpName(op) << " reads "
                           << program.describe(*a.place) << " and writes "
                           << program.describe(*b.place) << ", which overlap";
  if (mayUpdateInPlace(op, a, b))
    return success();
  return op->emitError() << getOpName(op) << " updates "
                         << program.describe(*a.place)
                         << " in place, but reads elements that it has "
                            "overwritten by then";
}

LogicalResult RaceProof::checkWithin(Operation *op,
                                     const AccessList &accesses) {
  for (const Access &write : accesses)
    for (const Access &other : accesses) {
      if (!write.writes || other.number == write.number ||
          (other.writes && other.number > write.number))
        continue;
      if (failed(checkPair(op, other, write)))
        return failure();
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels of one launch
//===----------------------------------------------------------------------===//

/// Kernels in a row that have one number run in any order, or at one time.
LogicalResult RaceProof::checkTogether(Operation *op,
                                       const AccessList &accesses) {
  Attribute number = op->getAttr("weft_rt.together");
  if (!number || number != launchNumber)
    together.clear();
  launchNumber = number;
  if (!number)
    return success();
  for (Operation *other : together)
    for (const Access &theirs : program.getAccesses(other))
      for (const Access &access : accesses) {
        if (!(access.writes || theirs.writes) || !share(access, theirs))
          continue;
        InFlightDiagnostic diag =
            op->emitError()
            << getOpName(op) << (access.writes ? " writes " : " reads ")
            << program.describe(*access.place) << ", which " << getOpName(other)
            << (theirs.writes ? " writes" : " reads") << " in the same launch";
        diag.attachNote(other->getLoc()) << getOpName(other) << " is here";
        return diag;
      }
  together.push_back(op);
  return success();
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

LogicalResult RaceProof::checkOp(Operation *op) {
  if ((isStep(op) || op->getNumRegions() > 0) && !isa<rt::FusedOp>(op))
    launchNumber = {};
  if (auto wait = dyn_cast<rt::WaitOp>(op))
    return checkWait(wait);
  AccessList accesses = program.getAccesses(op);
  for (const Access &access : accesses)
    if (failed(checkAgainstFlight(op, access)))
      return failure();
  if (failed(checkWithin(op, accesses)) ||
      (isa<rt::FusedOp>(op) && failed(checkTogether(op, accesses))))
    return failure();
  auto start = dyn_cast<rt::StartOp>(op);
  if (!start)
    return success();
  return launch(start, accesses);
}

LogicalResult RaceProof::checkBlock(Block &block) {
  launchNumber = {};
  // What is in flight where a block begins still is where it ends: a block
  // waits for what it starts. So one walk stands for all passes of a loop.
  for (Operation &op : block) {
    if (failed(checkOp(&op)))
      return failure();
    if (!isa<scf::ForOp, scf::IfOp>(op))
      continue;
    for (mlir::Region &region : op.getRegions())
      for (Block &inner : region)
        if (failed(checkBlock(inner)))
          return failure();
    launchNumber = {};
  }
  return success();
}

struct VerifyRacesPass
    : public weft::impl::VerifyRacesPassBase<VerifyRacesPass> {
  using Base::Base;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(proveEach<RaceProof>(getOperation(), getAnalysisManager())))
      signalPassFailure();
  }
};

} // namespace
