// SPDX-License-Identifier: Apache-2.0

// What a program computes again is what it computes twice: the same op on the
// same values, but for barriers. It frees what is read of it later, which would
// have waited for that otherwise.

#include "BlockProblem.h"
#include "DescribeSchedule.h"
#include "weft/Schedule/Recomputation.h"

#include "weft/Analysis/Traffic.h"
#include "weft/Cost/Machine.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <unordered_map>

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Rows that are told apart; what frees least is added up in the last one.
constexpr size_t kMaxRows = 24;

/// Finds the ops of a block that do what an earlier one did.
class Repetitions {
public:
  explicit Repetitions(Block &block) {
    for (Operation &op : block)
      add(&op);
  }

  /// From each such op to the first that did it, in the block's order.
  const llvm::MapVector<Operation *, Operation *> &get() const {
    return repeated;
  }

private:
  Value getFirst(Value value) const {
    Value first = firsts.lookup(value);
    return first ? first : value;
  }

  void add(Operation *op) {
    // Neither changes what it passes on.
    if (isa<OptimizationBarrierOp>(op) || getHostCopy(op)) {
      for (auto [result, operand] :
           llvm::zip(op->getResults(), op->getOperands()))
        firsts[result] = getFirst(operand);
      return;
    }
    if (op->getNumResults() == 0)
      return;
    std::vector<Operation *> &alike = byHash[getHash(op)];
    for (Operation *first : alike)
      if (isSame(first, op)) {
        for (auto [result, other] :
             llvm::zip(op->getResults(), first->getResults()))
          firsts[result] = getFirst(other);
        if (!isFreeOp(op))
          repeated[op] = first;
        return;
      }
    alike.push_back(op);
  }

  static constexpr OperationEquivalence::Flags flags =
      OperationEquivalence::Flags(
          unsigned(OperationEquivalence::IgnoreLocations) |
          unsigned(OperationEquivalence::IgnoreDiscardableAttrs));

  size_t getHash(Operation *op) const {
    return OperationEquivalence::computeHash(
        op, [&](Value value) { return hash_value(getFirst(value)); },
        OperationEquivalence::ignoreHashValue, flags);
  }

  /// Values inside of the two are matched while they are compared.
  bool isSame(Operation *first, Operation *op) const {
    llvm::DenseMap<Value, Value> inside;
    return OperationEquivalence::isEquivalentTo(
        first, op,
        [&](Value a, Value b) {
          Value known = inside.lookup(a);
          return success(known ? known == b : getFirst(a) == getFirst(b));
        },
        [&](Value a, Value b) { inside[a] = b; }, flags);
  }

  llvm::DenseMap<Value, Value> firsts;
  std::unordered_map<size_t, std::vector<Operation *>> byHash;
  llvm::MapVector<Operation *, Operation *> repeated;
};

/// "matmul params.layers.*.wq" of "matmul params.layers.3.wq": layers are one
/// row. Numbers of unnamed ops say nothing.
std::string getStem(StringRef name) {
  std::string stem;
  for (StringRef rest = name.split(" #").first; !rest.empty();) {
    StringRef digits = rest.take_while(llvm::isDigit);
    bool isPart = !digits.empty() && (stem.empty() || stem.back() == '.') &&
                  (rest.size() == digits.size() || rest[digits.size()] == '.');
    StringRef taken = digits.empty() ? rest.take_front() : digits;
    stem += isPart ? "*" : taken.str();
    rest = rest.drop_front(taken.size());
  }
  return stem;
}

/// What an op that has no name yet does with each element: "exp, addf, divf".
std::string describeElements(linalg::LinalgOp op) {
  SmallVector<StringRef, 4> kinds;
  for (Operation &inner : op.getBlock()->without_terminator())
    if (StringRef kind = inner.getName().stripDialect();
        !llvm::is_contained(kinds, kind))
      kinds.push_back(kind);
  constexpr size_t kMaxKinds = 4;
  if (kinds.empty())
    return "copies";
  bool isMore = kinds.size() > kMaxKinds;
  kinds.truncate(std::min(kinds.size(), kMaxKinds));
  return "elements: " + llvm::join(kinds, ", ") + (isMore ? ", ..." : "");
}

std::string getSubject(Operation *op) {
  if (auto elements = dyn_cast<linalg::LinalgOp>(op))
    return describeElements(elements);
  return getStem(getOpName(op));
}

int64_t getBytes(Operation *op) {
  int64_t bytes = 0;
  for (Type type : op->getResultTypes())
    bytes += getShapedBytes(type);
  return bytes;
}

/// What is read in a kernel does not pass through memory, so that its time is
/// that of its arithmetic.
int64_t getNanoseconds(Operation *op, const CostModel &cost) {
  if (getCollectiveKind(op))
    return cost.getCollectiveNanoseconds(op);
  auto elements = dyn_cast<linalg::LinalgOp>(op);
  if (!elements)
    return cost.getComputeNanoseconds(op);
  std::optional<OpWork> work = cast<CostOpInterface>(op).getWork();
  double perSecond = cost.getMachine().elementwisePerSecond;
  return work ? std::llround(work->operations * 1e9 / perSecond) : 0;
}

/// A weight is gathered again for the backward pass in any case.
bool isGather(Operation *op) {
  if (!getCollectiveKind(op))
    return false;
  Purpose purpose = lookupChannel(op, getCollectiveChannel(op)).getPurpose();
  return purpose == Purpose::Gather || purpose == Purpose::ExpertGather;
}

/// Says whether what an op makes is read by what is not in the list, if only
/// through views.
bool isReadByOthers(Operation *op,
                    const llvm::MapVector<Operation *, Operation *> &list) {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    return isFreeOp(user) ? isReadByOthers(user, list) : !list.contains(user);
  });
}

struct Row {
  std::string subject;
  int64_t count = 0, nanoseconds = 0, bytes = 0;

  void add(const Row &other) {
    count += other.count;
    nanoseconds += other.nanoseconds;
    bytes += other.bytes;
  }
};

std::vector<Row> makeRows(func::FuncOp func, const CostModel &cost) {
  Repetitions repetitions(func.getBody().front());
  std::vector<Row> rows;
  llvm::StringMap<size_t> places;
  for (auto [op, first] : repetitions.get()) {
    if (isGather(op))
      continue;
    // What only others that are repeated read would not have been kept.
    bool isKept = isReadByOthers(op, repetitions.get());
    std::string subject = getSubject(first);
    auto [place, isNew] = places.try_emplace(subject, rows.size());
    if (isNew)
      rows.push_back({subject});
    rows[place->second].add(
        {"", 1, getNanoseconds(op, cost), isKept ? getBytes(op) : 0});
  }
  llvm::stable_sort(rows, [](const Row &a, const Row &b) {
    return std::tie(a.bytes, a.nanoseconds) > std::tie(b.bytes, b.nanoseconds);
  });
  while (rows.size() > kMaxRows) {
    Row last = std::move(rows.back());
    rows.pop_back();
    rows.back().add(last);
    rows.back().subject = "all others";
  }
  return rows;
}

} // namespace

ArrayAttr mlir::weft::describeRecomputed(ModuleOp module,
                                         const Machine &machine) {
  Builder builder(module.getContext());
  CostModel cost(machine, module);
  SmallVector<Attribute> described;
  auto number = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal())
      continue;
    for (const Row &row : makeRows(func, cost))
      described.push_back(builder.getDictionaryAttr(
          {builder.getNamedAttr("what", builder.getStringAttr(row.subject)),
           number("count", row.count), number("ns", row.nanoseconds),
           number("bytes", row.bytes)}));
  }
  return builder.getArrayAttr(described);
}
