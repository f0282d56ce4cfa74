// SPDX-License-Identifier: Apache-2.0

// Sizes and places are compared one by one. For overlaps, each buffer of the
// arena gets its life, from the first op that touches it to the last (a
// collective touches its buffers until its wait; a buffer that is touched both
// in and outside of a loop is in use during all of the loop), and one sweep
// over the program keeps the buffers that are in use sorted by address.

#include "PlannedProgram.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Verify/Plan/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <queue>

namespace mlir::weft {
#define GEN_PASS_DEF_VERIFYPLANPASS
#include "weft/Verify/Plan/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

namespace {

/// From the first op that touches a root to the last.
struct Life {
  /// The innermost block around all ops that touch the root.
  Block *home = nullptr;
  int64_t begin = 0, end = -1;
  Operation *first = nullptr, *last = nullptr;
};

class PlanProof {
public:
  explicit PlanProof(const PlannedProgram &program)
      : program(program), lives(program.getRoots().size()) {}

  LogicalResult run() {
    return success(succeeded(checkShards()) && succeeded(checkAliases()) &&
                   succeeded(checkRoots()) && succeeded(checkHost()) &&
                   succeeded(checkWrites()) && succeeded(checkLives()));
  }

private:
  LogicalResult checkShards();
  LogicalResult checkShard(rt::TensorAttr tensor, const Twine &what);
  LogicalResult checkAliases();
  LogicalResult checkRoots();
  LogicalResult checkArenaRoot(const Root &root);
  LogicalResult checkHost();
  LogicalResult checkHostAccess(Operation *op);
  LogicalResult checkCallersRoot(const Root &root);
  LogicalResult checkWrites();
  LogicalResult checkLives();
  LogicalResult checkApart(unsigned earlier, unsigned later);
  void number(Block &block);
  void findHomes(Block &block);
  void findLives(Block &block);
  void touch(unsigned root, Operation *from, Operation *to);

  const PlannedProgram &program;
  SmallVector<Life> lives;
  /// Positions of an op's beginning and end in program order.
  DenseMap<Operation *, std::pair<int64_t, int64_t>> positions;
  int64_t next = 0;
  /// The result that lies in an argument.
  DenseMap<int64_t, unsigned> resultOfArgument;
};

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

int64_t getBytes(RankedTensorType type) {
  Type element = type.getElementType();
  int64_t bytes = element.isIndex()
                      ? 8
                      : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  return bytes * type.getNumElements();
}

/// What a rank holds is its shard of what the caller has.
LogicalResult PlanProof::checkShard(rt::TensorAttr tensor, const Twine &what) {
  ShardingAttr sharding = tensor.getSharding();
  if (!sharding)
    return success();
  func::FuncOp function = program.getFunction();
  MeshAttr mesh = lookupMesh(function, sharding.getMesh());
  for (auto [dim, axes] : llvm::enumerate(sharding.getDims())) {
    int64_t size = tensor.getLocal().getDimSize(dim);
    int64_t expected = llvm::divideCeil(tensor.getGlobal().getDimSize(dim),
                                        getNumShards(mesh, axes.getAxes()));
    if (size != expected)
      return function.emitError()
             << what << " has " << size << " elements on a rank along dim "
             << dim << ", expected " << expected << " of "
             << tensor.getGlobal();
  }
  return success();
}

LogicalResult PlanProof::checkShards() {
  func::FuncOp function = program.getFunction();
  for (auto [i, argument] : llvm::enumerate(rt::getArgs(function)))
    if (failed(checkShard(argument, "argument " + Twine(i))))
      return failure();
  for (auto [i, result] : llvm::enumerate(rt::getResults(function)))
    if (failed(checkShard(result, "result " + Twine(i))))
      return failure();
  return success();
}

LogicalResult PlanProof::checkAliases() {
  func::FuncOp function = program.getFunction();
  for (auto [i, result] : llvm::enumerate(rt::getResults(function))) {
    std::optional<int64_t> alias = result.getAlias();
    if (!alias)
      continue;
    RankedTensorType argument = rt::getArgs(function)[*alias].getLocal();
    if (argument.getElementType() != result.getLocal().getElementType() ||
        argument.getNumElements() != result.getLocal().getNumElements())
      return function.emitError("result ")
             << i << " is " << result.getLocal() << ", but lies in argument "
             << *alias << ", which is " << argument;
    auto [it, isNew] = resultOfArgument.insert({*alias, i});
    if (!isNew)
      return function.emitError("results ")
             << it->second << " and " << i << " both lie in argument "
             << *alias;
  }
  return success();
}

LogicalResult PlanProof::checkArenaRoot(const Root &root) {
  int64_t end = program.getArenaBegin(root) + root.bytes;
  if (end <= program.getArenaBytes(root))
    return success();
  return rt::BufferOp(root.op).emitError()
         << program.getName(root) << " ends at byte " << end
         << " of an arena of " << program.getArenaBytes(root) << " bytes"
         << (root.isOnHost ? " in the host's memory" : "");
}

/// What is in the host's memory is written by an offload and read by a fetch,
/// and both touch nothing else there.
LogicalResult PlanProof::checkHostAccess(Operation *op) {
  std::optional<Purpose> copy = getHostCopy(op);
  for (const Access &access : program.getAccesses(op)) {
    const Root &root = program.getRoot(*access.place);
    bool maybe = (copy == Purpose::Offload && access.writes) ||
                 (copy == Purpose::Fetch && access.reads);
    if (root.isOnHost == maybe)
      continue;
    return op->emitError()
           << getOpName(op) << (access.writes ? " writes " : " reads ")
           << program.getName(root)
           << (root.isOnHost ? " in the host's memory, and is no copy "
                             : ", which is not in the host's memory: it is a "
                               "copy ")
           << (access.writes ? "to there" : "from there");
  }
  return success();
}

LogicalResult PlanProof::checkHost() {
  WalkResult result = program.getFunction().walk(
      [&](Operation *op) -> WalkResult { return checkHostAccess(op); });
  return failure(result.wasInterrupted());
}

LogicalResult PlanProof::checkCallersRoot(const Root &root) {
  rt::BufferOp op = root.op;
  StringRef space = rt::stringifySpace(op.getSpace());
  int64_t number = op.getPosition();
  func::FuncOp function = program.getFunction();
  SmallVector<rt::TensorAttr> entries =
      root.isArgument() ? rt::getArgs(function) : rt::getResults(function);
  if (number >= static_cast<int64_t>(entries.size()))
    return op.emitError() << program.getName(root) << " is " << space << " "
                          << number << " of a step with " << entries.size();
  std::optional<int64_t> alias = entries[number].getAlias();
  if (!root.isArgument() && alias)
    return op.emitError() << "result " << number << " lies in argument "
                          << *alias << ", it has no buffer of its own";
  RankedTensorType local = entries[number].getLocal();
  if (root.bytes != getBytes(local))
    return op.emitError() << program.getName(root) << " has " << root.bytes
                          << " bytes, but " << space << " " << number << " has "
                          << getBytes(local);
  Type element = cast<MemRefType>(op.getType()).getElementType();
  if (element == local.getElementType())
    return success();
  return op.emitError() << program.getName(root) << " has elements of "
                        << element << ", but " << space << " " << number
                        << " has " << local.getElementType();
}

LogicalResult PlanProof::checkRoots() {
  DenseMap<std::pair<unsigned, int64_t>, rt::BufferOp> seen;
  for (const Root &root : program.getRoots()) {
    rt::BufferOp op = root.op;
    if (root.isArena()) {
      if (failed(checkArenaRoot(root)))
        return failure();
      continue;
    }
    auto [it, isNew] = seen.insert(
        {{static_cast<unsigned>(op.getSpace()), op.getPosition()}, op});
    if (!isNew) {
      InFlightDiagnostic diag = op.emitError()
                                << program.getName(root) << " has two buffers";
      diag.attachNote(it->second.getLoc()) << "the first is here";
      return diag;
    }
    if (failed(checkCallersRoot(root)))
      return failure();
  }
  return success();
}

LogicalResult PlanProof::checkWrites() {
  WalkResult result = program.getFunction()->walk([&](Operation *op) {
    for (const Access &access : program.getAccesses(op)) {
      const Root &root = program.getRoot(*access.place);
      if (!access.writes || !root.isArgument() ||
          resultOfArgument.count(rt::BufferOp(root.op).getPosition()))
        continue;
      op->emitError() << getOpName(op) << " writes " << program.getName(root)
                      << ", which is the caller's and not donated";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Lives
//===----------------------------------------------------------------------===//

void PlanProof::number(Block &block) {
  for (Operation &op : block) {
    int64_t begin = next++;
    if (isa<scf::ForOp, scf::IfOp>(op))
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          number(inner);
    positions[&op] = {begin, next++};
  }
}

/// The innermost block that is around both.
Block *getCommonBlock(Block *a, Block *b) {
  for (; a; a = a->getParentOp()->getBlock())
    if (a == b || a->findAncestorOpInBlock(*b->getParentOp()))
      return a;
  return b;
}

void PlanProof::findHomes(Block &block) {
  block.walk([&](Operation *op) {
    for (const Access &access : program.getAccesses(op)) {
      Block *&home = lives[access.place->root].home;
      home = home ? getCommonBlock(home, op->getBlock()) : op->getBlock();
    }
  });
}

/// Notes that a root is touched from the beginning of one op to the end of
/// another.
void PlanProof::touch(unsigned root, Operation *from, Operation *to) {
  Life &life = lives[root];
  int64_t begin =
      positions.lookup(life.home->findAncestorOpInBlock(*from)).first;
  int64_t end = positions.lookup(life.home->findAncestorOpInBlock(*to)).second;
  if (!life.first || begin < life.begin) {
    life.begin = begin;
    life.first = from;
  }
  if (end > life.end) {
    life.end = end;
    life.last = to;
  }
}

/// The op up to which `op` works on its buffers.
Operation *getLastOp(Operation *op) {
  if (auto start = dyn_cast<rt::StartOp>(op))
    for (Operation *user : start->getUsers())
      if (isa<rt::WaitOp>(user))
        return user;
  return op;
}

void PlanProof::findLives(Block &block) {
  block.walk([&](Operation *op) {
    for (const Access &access : program.getAccesses(op))
      touch(access.place->root, op, getLastOp(op));
  });
}

LogicalResult PlanProof::checkApart(unsigned earlier, unsigned later) {
  const Root &a = program.getRoots()[earlier], &b = program.getRoots()[later];
  int64_t begin = std::max(a.begin, b.begin);
  int64_t end = std::min(a.begin + a.bytes, b.begin + b.bytes);
  if (begin >= end)
    return success();
  Operation *first = lives[later].first;
  InFlightDiagnostic diag = first->emitError()
                            << getOpName(first) << " begins to use "
                            << program.getName(b) << " at bytes "
                            << program.getArenaBegin(b) << " to "
                            << program.getArenaBegin(b) + b.bytes << " of the "
                            << (b.isOnHost ? "host's " : "") << "arena, where "
                            << program.getName(a) << " at bytes "
                            << program.getArenaBegin(a) << " to "
                            << program.getArenaBegin(a) + a.bytes
                            << " is still in use";
  diag.attachNote(lives[earlier].first->getLoc())
      << program.getName(a) << " is in use from here, "
      << getOpName(lives[earlier].first);
  diag.attachNote(lives[earlier].last->getLoc())
      << "to here, " << getOpName(lives[earlier].last);
  return diag;
}

LogicalResult PlanProof::checkLives() {
  Block &body = func::FuncOp(program.getFunction()).getBody().front();
  number(body);
  findHomes(body);
  findLives(body);
  SmallVector<unsigned> order;
  for (auto [i, root] : llvm::enumerate(program.getRoots()))
    if (root.isArena() && root.bytes != 0 && lives[i].first)
      order.push_back(i);
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    return lives[a].begin < lives[b].begin;
  });
  // What is in use: by address, and by the end of its life.
  std::map<int64_t, unsigned> inUse;
  using Ending = std::pair<int64_t, unsigned>;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings;
  for (unsigned root : order) {
    for (; !endings.empty() && endings.top().first < lives[root].begin;
         endings.pop())
      inUse.erase(program.getRoots()[endings.top().second].begin);
    auto [it, isNew] = inUse.insert({program.getRoots()[root].begin, root});
    auto before = it == inUse.begin() ? it : std::prev(it);
    auto after = std::next(it);
    if ((!isNew && failed(checkApart(it->second, root))) ||
        (before != it && failed(checkApart(before->second, root))) ||
        (after != inUse.end() && failed(checkApart(after->second, root))))
      return failure();
    endings.push({lives[root].end, root});
  }
  return success();
}

struct VerifyPlanPass : public weft::impl::VerifyPlanPassBase<VerifyPlanPass> {
  using Base::Base;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(proveEach<PlanProof>(getOperation(), getAnalysisManager())))
      signalPassFailure();
  }
};

} // namespace
