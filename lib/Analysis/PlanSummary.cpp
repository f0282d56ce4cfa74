// SPDX-License-Identifier: Apache-2.0

// One walk numbers the ops, another notes which blocks each op touches. A block
// that is touched in a loop and outside of it is in use during the whole loop.

#include "weft/Analysis/PlanSummary.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Memory/ArenaLayout.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Blocks that an error about the limit names.
constexpr unsigned kNumNamed = 8;

int64_t roundUp(int64_t bytes) { return llvm::alignTo(bytes, kArenaAlignment); }

rt::BufferOp getRoot(Value buffer) {
  while (auto view = buffer.getDefiningOp<rt::ViewOp>())
    buffer = view.getSource();
  return buffer.getDefiningOp<rt::BufferOp>();
}

class Summarizer {
public:
  explicit Summarizer(func::FuncOp planned) : planned(planned) {}

  PlanSummary run();

private:
  void number(Operation *op);
  void addRoot(rt::BufferOp op);
  void noteTouches();
  void noteTouch(Value buffer, Operation *op);
  void setLife(PlannedRoot &root, ArrayRef<Operation *> touches);
  void addOutside();
  void findPeak();

  func::FuncOp planned;
  PlanSummary plan;
  /// The op of each position, and the last position of ops with regions.
  SmallVector<Operation *> ops;
  DenseMap<Operation *, int64_t> ends;
  DenseMap<Operation *, unsigned> rootOf;
  /// One list per root.
  std::vector<SmallVector<Operation *, 4>> touches;
};

void Summarizer::number(Operation *op) {
  plan.positions[op] = ops.size();
  ops.push_back(op);
  if (auto buffer = dyn_cast<rt::BufferOp>(op))
    addRoot(buffer);
  if (op->getNumRegions() == 0 || isa<rt::FusedOp>(op))
    return;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &inner : block)
        number(&inner);
  ends[op] = ops.size();
  ops.push_back(op);
}

void Summarizer::addRoot(rt::BufferOp op) {
  PlannedRoot root;
  root.buffer = op;
  root.name = op.getName().value_or("").str();
  root.space = op.getSpace();
  root.position = op.getPosition();
  root.bytes = rt::getBufferBytes(op.getType());
  rootOf[op] = plan.roots.size();
  plan.roots.push_back(std::move(root));
  touches.emplace_back();
}

void Summarizer::noteTouch(Value buffer, Operation *op) {
  if (rt::BufferOp root = getRoot(buffer))
    touches[rootOf.lookup(root)].push_back(op);
}

void Summarizer::noteTouches() {
  for (auto [position, op] : llvm::enumerate(ops)) {
    if (isa<rt::BufferOp, rt::ViewOp>(op) ||
        plan.positions.lookup(op) != static_cast<int64_t>(position))
      continue;
    for (Value operand : op->getOperands()) {
      if (!isa<MemRefType>(operand.getType()))
        continue;
      noteTouch(operand, op);
      if (auto start = dyn_cast<rt::StartOp>(op))
        for (Operation *wait : start.getTicket().getUsers())
          noteTouch(operand, wait);
    }
  }
}

/// From the first to the last op, seen from the innermost region around all.
void Summarizer::setLife(PlannedRoot &root, ArrayRef<Operation *> touches) {
  Region *home = touches.empty() ? root.buffer->getParentRegion()
                                 : touches.front()->getParentRegion();
  for (Operation *op : touches)
    while (!home->findAncestorOpInRegion(*op))
      home = home->getParentRegion();
  root.begin = ops.size();
  for (Operation *op : touches) {
    Operation *outer = home->findAncestorOpInRegion(*op);
    int64_t begin = plan.positions.lookup(outer);
    auto end = ends.find(outer);
    root.begin = std::min(root.begin, begin);
    root.end = std::max(root.end, end == ends.end() ? begin : end->second);
  }
  // What no op touches is in use where it is named.
  if (touches.empty())
    root.begin = root.end = plan.positions.lookup(root.buffer);
}

/// What the caller holds, whether the step touches it or not.
void Summarizer::addOutside() {
  for (rt::TensorAttr argument : rt::getArgs(planned)) {
    int64_t bytes = roundUp(rt::getBufferBytes(argument.getLocal()));
    (argument.getHost() ? plan.hostBytes : plan.argumentBytes) += bytes;
  }
  for (rt::TensorAttr result : rt::getResults(planned))
    if (!result.getAlias())
      plan.resultBytes += roundUp(rt::getBufferBytes(result.getLocal()));
  if (auto bytes = planned->getAttrOfType<IntegerAttr>(
          rt::WeftRTDialect::kArenaBytesAttr))
    plan.arenaBytes = roundUp(bytes.getInt());
  if (auto bytes = planned->getAttrOfType<IntegerAttr>(
          rt::WeftRTDialect::kHostBytesAttr))
    plan.hostBytes += roundUp(bytes.getInt());
}

void Summarizer::findPeak() {
  std::vector<ArenaBlock> blocks;
  for (const PlannedRoot &root : plan.roots)
    if (root.space == rt::Space::Arena)
      blocks.push_back({root.bytes, root.begin, root.end});
  ArenaPeak peak = findArenaPeak(blocks);
  plan.peakBytes = peak.bytes;
  plan.peakPosition = peak.time;
  plan.peakOp = ops[peak.time];
  for (auto [i, root] : llvm::enumerate(plan.roots))
    if (root.space == rt::Space::Arena && root.begin <= peak.time &&
        peak.time <= root.end)
      plan.peakOwners.push_back(i);
  llvm::stable_sort(plan.peakOwners, [&](unsigned a, unsigned b) {
    return plan.roots[a].bytes > plan.roots[b].bytes;
  });
}

PlanSummary Summarizer::run() {
  number(planned);
  noteTouches();
  for (auto [root, list] : llvm::zip(plan.roots, touches)) {
    if (root.space == rt::Space::Arena || root.space == rt::Space::Host)
      setLife(root, list);
    else
      root.end = ops.size() - 1;
  }
  addOutside();
  findPeak();
  return std::move(plan);
}

/// What a person calls an op.
std::string getName(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(WeftDialect::kOpNameAttr);
  return name ? name.str() : op->getName().getStringRef().str();
}

} // namespace

PlanSummary mlir::weft::summarizePlan(func::FuncOp planned) {
  return Summarizer(planned).run();
}

void mlir::weft::printPlan(const PlanSummary &plan, unsigned count,
                           raw_ostream &os) {
  auto line = [&](StringRef name, int64_t bytes) {
    os << "  " << llvm::left_justify(name, 48)
       << llvm::format("%21lld B\n", static_cast<long long>(bytes));
  };
  os << "bytes that each rank needs:\n";
  line("arguments", plan.argumentBytes);
  line("results", plan.resultBytes);
  line("arena", plan.arenaBytes);
  line("total", plan.getTotalBytes());
  if (plan.hostBytes > 0)
    line("in the host's memory", plan.hostBytes);
  if (plan.peakBytes == 0)
    return;
  os << "largest of " << plan.peakOwners.size()
     << " buffers of the arena at its peak, at '" << getName(plan.peakOp)
     << "':\n";
  int64_t rest = plan.peakBytes;
  ArrayRef<unsigned> named = ArrayRef(plan.peakOwners).take_front(count);
  for (unsigned owner : named) {
    line(plan.roots[owner].name, plan.roots[owner].bytes);
    rest -= roundUp(plan.roots[owner].bytes);
  }
  if (named.size() < plan.peakOwners.size())
    line("others", rest);
  line("all at the peak", plan.peakBytes);
  os << llvm::format("the arena has %.4f of them\n",
                     static_cast<double>(plan.arenaBytes) / plan.peakBytes);
}

LogicalResult mlir::weft::checkMemoryLimit(func::FuncOp planned,
                                           int64_t limit) {
  PlanSummary plan = summarizePlan(planned);
  if (plan.getTotalBytes() <= limit)
    return success();
  InFlightDiagnostic error =
      planned.emitOpError("needs ")
      << plan.getTotalBytes() << " bytes a rank (" << plan.argumentBytes
      << " for arguments, " << plan.resultBytes << " for results, "
      << plan.arenaBytes << " for the arena), more than the limit of " << limit;
  for (unsigned owner : ArrayRef(plan.peakOwners).take_front(kNumNamed)) {
    const PlannedRoot &root = plan.roots[owner];
    error.attachNote(root.buffer->getLoc())
        << "'" << root.name << "' has " << root.bytes
        << " bytes of the arena at the peak, at '" << getName(plan.peakOp)
        << "'";
  }
  return error;
}
