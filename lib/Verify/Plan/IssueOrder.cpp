// SPDX-License-Identifier: Apache-2.0

// Each rank's collectives become a list of nodes: number i on a communicator is
// one node for all members. First the members' lists of each communicator are
// compared; then all lists are edges of one graph, which is taken apart from
// nodes without predecessors. What is left over contains a cycle.

#include "weft/Verify/Plan/IssueOrder.h"

#include "PlannedProgram.h"
#include "ValueNumbers.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Sharding/Mesh.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <set>

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

namespace {

/// One collective as a rank issues it.
struct Issue {
  rt::StartOp start;
  /// Position in the communicator's list.
  unsigned communicator = 0, number = 0;
};

/// Ranks that meet on a channel, and what each of them issues there.
struct Communicator {
  std::string channel;
  SmallVector<int64_t> members;
  llvm::MapVector<int64_t, SmallVector<rt::StartOp>> issues;
};

/// A result of a program, and the first rank that runs it.
struct Result {
  func::FuncOp function;
  /// Which planned function of its program, and which of its results.
  unsigned functionNumber, number;
  int64_t rank;
  ValueNumbers::Taken taken;
};

class SetProof {
public:
  explicit SetProof(ArrayRef<RankProgram> programs) : programs(programs) {}
  LogicalResult run();

private:
  LogicalResult checkRanks();
  LogicalResult checkCertificates();
  LogicalResult readProgram(const RankProgram &program);
  LogicalResult readBlock(Block &block, SmallVectorImpl<rt::StartOp> &starts);
  LogicalResult readLoop(scf::ForOp loop, SmallVectorImpl<rt::StartOp> &starts);
  void addResults(const PlannedProgram &program, unsigned functionNumber,
                  int64_t rank);
  static rt::TensorAttr getTensor(const Result &result);
  static std::string getLabel(const Result &result);
  LogicalResult checkLabels();
  LogicalResult checkResults();
  LogicalResult reportResult(const Result &first, const Result &result,
                             StringRef what);
  void addRank(int64_t rank, ArrayRef<rt::StartOp> starts);
  unsigned getCommunicator(int64_t rank, rt::StartOp start);
  LogicalResult checkCommunicator(const Communicator &communicator);
  LogicalResult checkCycles();
  LogicalResult reportCycle(ArrayRef<unsigned> cycle);
  unsigned getNode(const Issue &issue) const {
    return firstNode[issue.communicator] + issue.number;
  }

  ArrayRef<RankProgram> programs;
  /// What collectives send.
  ValueNumbers values;
  std::vector<Result> results;
  std::map<std::pair<std::string, std::vector<int64_t>>, unsigned> keys;
  std::vector<Communicator> communicators;
  std::map<int64_t, std::vector<Issue>> issuesOf;
  /// The first node of each communicator.
  std::vector<unsigned> firstNode;
};

std::string listRanks(ArrayRef<int64_t> ranks) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(ranks, os);
  return text;
}

//===----------------------------------------------------------------------===//
// Reading programs
//===----------------------------------------------------------------------===//

MeshAttr getMesh(ModuleOp module) {
  for (MeshOp mesh : module.getOps<MeshOp>())
    return mesh.getMesh();
  return nullptr;
}

int64_t getNumRanks(ModuleOp module) {
  MeshAttr mesh = getMesh(module);
  return mesh ? mesh.getNumRanks() : 1;
}

/// Programs may call the mesh by other names. Where a rank is along its axes
/// follows from their order.
bool haveSameAxes(ModuleOp module, ModuleOp other) {
  MeshAttr a = getMesh(module), b = getMesh(other);
  return a && b ? a.getAxes() == b.getAxes() : !a == !b;
}

LogicalResult SetProof::checkRanks() {
  int64_t count = getNumRanks(programs.front().module);
  std::vector<unsigned> uses(count, 0);
  for (const RankProgram &program : programs) {
    ModuleOp module = program.module;
    if (getNumRanks(module) != count)
      return module.emitError("is for ")
             << getNumRanks(module) << " ranks, the first program for "
             << count;
    if (!haveSameAxes(module, programs.front().module))
      return module.emitError("has other axes of its mesh than the program of "
                              "rank ")
             << programs.front().ranks.front()
             << ": ranks have other parts of what is cut along them";
    for (int64_t rank : program.ranks) {
      if (rank < 0 || rank >= count)
        return module.emitError("there is no rank ")
               << rank << ", the mesh has " << count;
      if (uses[rank]++)
        return module.emitError("rank ") << rank << " has two programs";
    }
  }
  for (int64_t rank = 0; rank < count; ++rank)
    if (!uses[rank])
      return ModuleOp(programs.front().module).emitError("rank ")
             << rank << " has no program";
  return success();
}

/// What a program's certificate says, without the places in its source, which
/// another module of the same program need not have.
llvm::json::Value getCertificate(ModuleOp module) {
  auto text = module->getAttrOfType<StringAttr>(WeftDialect::kCertificateAttr);
  if (!text)
    return nullptr;
  llvm::Expected<llvm::json::Value> certificate =
      llvm::json::parse(text.getValue());
  if (!certificate) {
    llvm::consumeError(certificate.takeError());
    return text.str();
  }
  llvm::json::Object *root = certificate->getAsObject();
  if (llvm::json::Array *ops = root ? root->getArray("ops") : nullptr)
    for (llvm::json::Value &op : *ops)
      if (llvm::json::Object *members = op.getAsObject())
        members->erase("location");
  return *certificate;
}

/// What is proved of the bits of one program is proved of all.
LogicalResult SetProof::checkCertificates() {
  llvm::json::Value certificate = getCertificate(programs.front().module);
  StringRef tf32 = WeftDialect::kTF32Attr, axes = WeftDialect::kInvarianceAttr;
  for (const RankProgram &program : programs) {
    ModuleOp module = program.module, first = programs.front().module;
    if (getCertificate(module) != certificate)
      return module.emitError(
                 "has another certificate than the program of rank ")
             << programs.front().ranks.front();
    if (module->getAttr(axes) != first->getAttr(axes))
      return module.emitError("computes narrow floats in another way than the "
                              "program of rank ")
             << programs.front().ranks.front() << ": '" << axes
             << "' is not the same";
    if (module->hasAttr(tf32) != first->hasAttr(tf32))
      return module.emitError("rounds products in another way than the "
                              "program of rank ")
             << programs.front().ranks.front() << ": one of them has '" << tf32
             << "'";
  }
  return success();
}

/// Collectives of a program that are written out for a comparison, at most.
constexpr int64_t kMaxIssues = 1 << 20;

/// How often a loop goes through its body, at most kMaxIssues + 1 times.
static int64_t getNumPasses(int64_t lower, int64_t upper, int64_t step) {
  if (lower >= upper || step <= 0)
    return 0;
  uint64_t distance =
      static_cast<uint64_t>(upper) - static_cast<uint64_t>(lower);
  uint64_t passes = (distance - 1) / static_cast<uint64_t>(step) + 1;
  return std::min<uint64_t>(passes, kMaxIssues + 1);
}

LogicalResult SetProof::readLoop(scf::ForOp loop,
                                 SmallVectorImpl<rt::StartOp> &starts) {
  SmallVector<rt::StartOp> body;
  if (failed(readBlock(*loop.getBody(), body)))
    return failure();
  if (body.empty())
    return success();
  APInt lower, upper, step;
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)) ||
      !matchPattern(loop.getStep(), m_ConstantInt(&step)))
    return body.front().emitError()
           << getOpName(body.front())
           << " is in a loop whose length is not known before it runs: the "
              "ranks' programs cannot be compared";
  int64_t passes = getNumPasses(lower.getSExtValue(), upper.getSExtValue(),
                                step.getSExtValue());
  if (static_cast<int64_t>(starts.size()) +
          passes * static_cast<int64_t>(body.size()) >
      kMaxIssues)
    return body.front().emitError()
           << getOpName(body.front())
           << " is in a loop that issues more collectives than the "
           << kMaxIssues << " that can be compared";
  for (int64_t pass = 0; pass < passes; ++pass)
    llvm::append_range(starts, body);
  return success();
}

/// All collectives of a block, in the order in which they are issued.
LogicalResult SetProof::readBlock(Block &block,
                                  SmallVectorImpl<rt::StartOp> &starts) {
  for (Operation &op : block) {
    if (auto start = dyn_cast<rt::StartOp>(op))
      starts.push_back(start);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      if (failed(readLoop(loop, starts)))
        return failure();
    auto branch = dyn_cast<scf::IfOp>(op);
    if (!branch)
      continue;
    WalkResult result = branch.walk([&](rt::StartOp start) {
      start.emitError() << getOpName(start)
                        << " is in a branch: the ranks' programs cannot be "
                           "compared";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}

/// The ranks of the group of `rank` along a collective's axes.
SmallVector<int64_t> getMembers(MeshAttr mesh, AxesAttr axes, int64_t rank) {
  SmallVector<std::pair<StringRef, int64_t>> sizes;
  for (MeshAxisAttr axis : mesh.getAxes())
    sizes.push_back({axis.getName(), axis.getSize()});
  Mesh plain(sizes);
  AxisList refs;
  for (AxisRefAttr axis : axes.getAxes()) {
    AxisRef ref = plain.wholeAxis(*plain.axisIndex(axis.getName()));
    if (!axis.isWholeAxis())
      ref = {ref.axis, axis.getPreSize(), axis.getSize()};
    refs.push_back(ref);
  }
  SmallVector<int64_t> members;
  for (int64_t i = 0, e = numShards(refs); i < e; ++i)
    members.push_back(plain.groupMember(rank, refs, i));
  return members;
}

unsigned SetProof::getCommunicator(int64_t rank, rt::StartOp start) {
  SmallVector<int64_t> members =
      getMembers(start.getMesh(), start.getCollective().getAxes(), rank);
  std::string channelName = start.getChannel().str();
  auto [it, isNew] = keys.insert(
      {{channelName, std::vector<int64_t>(members.begin(), members.end())},
       static_cast<unsigned>(communicators.size())});
  if (isNew) {
    communicators.emplace_back();
    communicators.back().channel = channelName;
    communicators.back().members = std::move(members);
  }
  return it->second;
}

void SetProof::addRank(int64_t rank, ArrayRef<rt::StartOp> starts) {
  std::vector<Issue> &issues = issuesOf[rank];
  for (rt::StartOp start : starts) {
    Issue issue;
    issue.start = start;
    issue.communicator = getCommunicator(rank, start);
    auto &list = communicators[issue.communicator].issues[rank];
    issue.number = list.size();
    list.push_back(start);
    issues.push_back(issue);
  }
}

/// Says how two things differ.
static StringRef describeOther(const ValueNumbers::Taken &one,
                               const ValueNumbers::Taken &other) {
  return one.values == other.values ? "part of a value" : "value";
}

void SetProof::addResults(const PlannedProgram &program,
                          unsigned functionNumber, int64_t rank) {
  func::FuncOp function = program.getFunction();
  for (unsigned i = 0, e = rt::getResults(function).size(); i < e; ++i)
    results.push_back(
        {function, functionNumber, i, rank, values.getResult(program, i)});
}

rt::TensorAttr SetProof::getTensor(const Result &result) {
  func::FuncOp function = result.function;
  return rt::getResults(function)[result.number];
}

std::string SetProof::getLabel(const Result &result) {
  StringAttr name = getTensor(result).getName();
  return name ? ("'" + name.getValue() + "'").str()
              : std::to_string(result.number);
}

/// What one program gives all of them give.
LogicalResult SetProof::checkLabels() {
  std::map<int64_t, std::set<std::string>> labelsOf;
  for (const Result &result : results)
    labelsOf[result.rank].insert(getLabel(result));
  for (const Result &result : results)
    for (const RankProgram &program : programs) {
      int64_t rank = program.ranks.front();
      if (labelsOf[rank].count(getLabel(result)))
        continue;
      InFlightDiagnostic diag = func::FuncOp(result.function).emitError()
                                << "result " << getLabel(result) << " of rank "
                                << result.rank << " is none of rank " << rank;
      diag.attachNote(ModuleOp(program.module).getLoc())
          << "the program of rank " << rank << " is here";
      return diag;
    }
  return success();
}

/// How ranks hold a tensor. Their programs may call the mesh by other names.
static bool areHeldAlike(rt::TensorAttr a, rt::TensorAttr b) {
  ShardingAttr one = a.getSharding(), other = b.getSharding();
  if (a.getGlobal() != b.getGlobal() || a.getLocal() != b.getLocal() ||
      !one != !other)
    return false;
  return !one || (one.getDims() == other.getDims() &&
                  one.getStorage() == other.getStorage() &&
                  one.getPartialKind() == other.getPartialKind() &&
                  one.getPartial() == other.getPartial());
}

LogicalResult SetProof::reportResult(const Result &first, const Result &result,
                                     StringRef what) {
  InFlightDiagnostic diag = func::FuncOp(result.function).emitError()
                            << "result " << getLabel(result) << " " << what
                            << " on rank " << result.rank << " than on rank "
                            << first.rank;
  diag.attachNote(func::FuncOp(first.function).getLoc())
      << "the program of rank " << first.rank << " is here";
  return diag;
}

/// What several programs give under one name is the same in all of them.
LogicalResult SetProof::checkResults() {
  if (failed(checkLabels()))
    return failure();
  std::map<std::pair<unsigned, std::string>, const Result *> known;
  for (const Result &result : results) {
    std::pair key(result.functionNumber, getLabel(result));
    const Result &first = *known.insert({key, &result}).first->second;
    if (!areHeldAlike(getTensor(first), getTensor(result)))
      return reportResult(first, result, "has another type or sharding");
    if (!(first.taken == result.taken))
      return reportResult(
          first, result,
          ("is another " + describeOther(first.taken, result.taken)).str());
  }
  return success();
}

LogicalResult SetProof::readProgram(const RankProgram &program) {
  SmallVector<rt::StartOp> starts;
  unsigned functionNumber = 0;
  for (func::FuncOp function : ModuleOp(program.module).getOps<func::FuncOp>())
    if (function->hasAttr("weft_rt.arena_bytes")) {
      if (failed(readBlock(function.getBody().front(), starts)))
        return failure();
      PlannedProgram planned(function);
      values.add(planned);
      addResults(planned, functionNumber++, program.ranks.front());
    }
  for (int64_t rank : program.ranks)
    addRank(rank, starts);
  return success();
}

//===----------------------------------------------------------------------===//
// One communicator
//===----------------------------------------------------------------------===//

/// Says whether two ranks do the same with the same: kind, attributes, types of
/// buffers, and the name, if both have one.
bool isSame(rt::StartOp a, rt::StartOp b) {
  Attribute nameA = a->getAttr("weft.op"), nameB = b->getAttr("weft.op");
  if (nameA && nameB && nameA != nameB)
    return false;
  // Their programs may call the mesh by different names.
  rt::CollectiveAttr does = a.getCollective();
  return does == b.getCollective().withMesh(does.getMesh()) &&
         a.getIns().getTypes() == b.getIns().getTypes() &&
         a.getOuts().getTypes() == b.getOuts().getTypes();
}

LogicalResult SetProof::checkCommunicator(const Communicator &communicator) {
  auto getIssues = [&](int64_t rank) -> ArrayRef<rt::StartOp> {
    auto it = communicator.issues.find(rank);
    return it == communicator.issues.end() ? ArrayRef<rt::StartOp>()
                                           : ArrayRef(it->second);
  };
  std::string where = "@" + communicator.channel + " of ranks " +
                      listRanks(communicator.members);
  int64_t first = communicator.members.front();
  for (int64_t rank : llvm::drop_begin(communicator.members)) {
    ArrayRef<rt::StartOp> a = getIssues(first), b = getIssues(rank);
    for (unsigned i = 0, e = std::min(a.size(), b.size()); i < e; ++i) {
      rt::StartOp one = a[i], other = b[i];
      const auto &sent = values.getSent(one), &others = values.getSent(other);
      if (isSame(one, other) && !(sent == others)) {
        InFlightDiagnostic diag =
            one.emitError()
            << getOpName(one) << ", collective " << i << " on " << where
            << ", sends another "
            << (sent.values == others.values ? "part of a value" : "value")
            << " on rank " << first << " than on rank " << rank;
        diag.attachNote(other.getLoc()) << "on rank " << rank << " it is here";
        return diag;
      }
      if (isSame(one, other))
        continue;
      InFlightDiagnostic diag =
          one.emitError() << "collective " << i << " on " << where << " is "
                          << getOpName(one) << " on rank " << first << ", but "
                          << getOpName(other) << " on rank " << rank;
      diag.attachNote(other.getLoc()) << "on rank " << rank << " it is here";
      return diag;
    }
    if (a.size() == b.size())
      continue;
    bool isFirstLonger = a.size() > b.size();
    rt::StartOp extra = isFirstLonger ? a[b.size()] : b[a.size()];
    return extra.emitError()
           << getOpName(extra) << " waits for ever on " << where << ": rank "
           << first << " issues " << a.size() << " collectives there, rank "
           << rank << " issues " << b.size();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// All communicators
//===----------------------------------------------------------------------===//

/// Finds nodes each of which leads to the next, and the last to the first;
/// empty if there are none.
std::vector<unsigned>
findCycle(const std::vector<SmallVector<unsigned, 2>> &successors) {
  unsigned count = successors.size();
  std::vector<unsigned> numBefore(count, 0), ready;
  for (const auto &list : successors)
    for (unsigned next : list)
      ++numBefore[next];
  for (unsigned node = 0; node < count; ++node)
    if (numBefore[node] == 0)
      ready.push_back(node);
  unsigned done = 0;
  for (; done < ready.size(); ++done)
    for (unsigned next : successors[ready[done]])
      if (--numBefore[next] == 0)
        ready.push_back(next);
  if (done == count)
    return {};
  // Each node that is left over has a predecessor that is left over.
  std::vector<unsigned> before(count, count);
  unsigned node = count;
  for (unsigned from = 0; from < count; ++from)
    for (unsigned next : successors[from])
      if (numBefore[from] != 0 && numBefore[next] != 0) {
        before[next] = from;
        node = next;
      }
  std::vector<unsigned> path;
  std::vector<bool> seen(count, false);
  for (; !seen[node]; node = before[node]) {
    seen[node] = true;
    path.push_back(node);
  }
  std::vector<unsigned> cycle(llvm::find(path, node), path.end());
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

LogicalResult SetProof::checkCycles() {
  unsigned numNodes = 0;
  for (const Communicator &communicator : communicators) {
    firstNode.push_back(numNodes);
    numNodes += communicator.issues.front().second.size();
  }
  std::vector<SmallVector<unsigned, 2>> successors(numNodes);
  for (auto &[rank, issues] : issuesOf)
    for (unsigned i = 1; i < issues.size(); ++i) {
      auto &list = successors[getNode(issues[i - 1])];
      if (!llvm::is_contained(list, getNode(issues[i])))
        list.push_back(getNode(issues[i]));
    }
  std::vector<unsigned> cycle = findCycle(successors);
  return cycle.empty() ? success() : reportCycle(cycle);
}

/// One line per rank that goes a part of the cycle.
LogicalResult SetProof::reportCycle(ArrayRef<unsigned> cycle) {
  std::optional<InFlightDiagnostic> diag;
  unsigned at = 0, numNodes = cycle.size();
  while (at < numNodes) {
    // The rank that goes furthest along the cycle from here.
    unsigned furthest = at;
    const Issue *from = nullptr, *to = nullptr;
    int64_t by = 0;
    for (auto &[rank, issues] : issuesOf) {
      unsigned reached = at;
      const Issue *begin = nullptr, *end = nullptr;
      for (const Issue &issue : issues) {
        if (!begin && getNode(issue) == cycle[at])
          begin = end = &issue;
        else if (begin && reached < numNodes &&
                 getNode(issue) == cycle[(reached + 1) % numNodes]) {
          end = &issue;
          ++reached;
        }
      }
      if (reached > furthest) {
        furthest = reached;
        from = begin;
        to = end;
        by = rank;
      }
    }
    std::string line = "rank " + std::to_string(by) + " starts " +
                       getOpName(from->start) + " with ranks " +
                       listRanks(communicators[from->communicator].members) +
                       " before " + getOpName(to->start) + " with ranks " +
                       listRanks(communicators[to->communicator].members);
    if (diag)
      diag->attachNote(rt::StartOp(from->start).getLoc()) << line;
    else
      diag.emplace(rt::StartOp(from->start).emitError()
                   << "the ranks can wait for each other in a cycle: " << line);
    at = furthest;
  }
  return *diag;
}

LogicalResult SetProof::run() {
  if (failed(checkRanks()) || failed(checkCertificates()))
    return failure();
  // One program for all ranks has one order: weft-verify-deadlock proves that
  // they follow it.
  if (programs.size() == 1)
    return success();
  for (const RankProgram &program : programs)
    if (failed(readProgram(program)))
      return failure();
  for (const Communicator &communicator : communicators)
    if (failed(checkCommunicator(communicator)))
      return failure();
  return success(succeeded(checkCycles()) && succeeded(checkResults()));
}

} // namespace

LogicalResult
mlir::weft::verifyIssueOrder(llvm::ArrayRef<RankProgram> programs) {
  return SetProof(programs).run();
}
