// SPDX-License-Identifier: Apache-2.0

// Elements and scales of a quantized weight are needed by one op at one time:
// they travel as one collective, which has one latency. So do elements of which
// a rank has less than a block.

#include "JoinGathers.h"

#include "weft/Analysis/Traffic.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Rules/ShardingConversion.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// How many times more bytes the larger of two has.
constexpr int64_t kMinRatio = 4;

/// A gather of one tensor that one op reads, and the views between.
struct Read {
  AllGatherOp gather;
  Operation *reader = nullptr;
  SmallVector<Operation *> views;
};

bool isView(Operation *op) {
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op);
}

/// The only op that reads what is gathered; none if there are several.
std::optional<Read> findReader(AllGatherOp gather) {
  if (gather->getNumResults() != 1)
    return std::nullopt;
  Read read{gather, nullptr, {}};
  for (Value value = gather->getResult(0); value.hasOneUse();) {
    Operation *user = *value.user_begin();
    if (user->getBlock() != gather->getBlock())
      break;
    if (!isView(user)) {
      read.reader = user;
      return read;
    }
    read.views.push_back(user);
    value = user->getResult(0);
  }
  return std::nullopt;
}

int64_t getBytes(AllGatherOp gather) {
  return getBufferBytes(
      cast<RankedTensorType>(gather->getOperand(0).getType()));
}

bool canJoin(const Read &a, const Read &b) {
  AllGatherOp x = a.gather, y = b.gather;
  int64_t least = std::min(getBytes(x), getBytes(y)),
          most = std::max(getBytes(x), getBytes(y));
  return a.reader == b.reader && x.getMeshAttr() == y.getMeshAttr() &&
         x.getAxesAttr() == y.getAxesAttr() &&
         x.getChannelAttr() == y.getChannelAttr() && least * kMinRatio <= most;
}

/// Puts both where the later one is, and what views the earlier one in front of
/// the reader.
void join(Read first, Read second) {
  if (second.gather->isBeforeInBlock(first.gather))
    std::swap(first, second);
  for (Operation *view : first.views)
    view->moveBefore(first.reader);
  OpBuilder builder(second.gather);
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  SmallVector<int64_t> dims;
  for (AllGatherOp gather : {first.gather, second.gather}) {
    inputs.push_back(gather->getOperand(0));
    types.push_back(gather->getResult(0).getType());
    llvm::append_range(
        dims,
        cast<CollectiveOpInterface>(gather.getOperation()).getGatheredDims());
  }
  Location loc =
      builder.getFusedLoc({first.gather.getLoc(), second.gather.getLoc()});
  auto like = cast<CollectiveOpInterface>(first.gather.getOperation());
  Operation *both = createLike(builder, loc, like, types, inputs, dims, {});
  first.gather->getResult(0).replaceAllUsesWith(both->getResult(0));
  second.gather->getResult(0).replaceAllUsesWith(both->getResult(1));
  first.gather.erase();
  second.gather.erase();
}

} // namespace

unsigned weft::joinGathers(Block &block) {
  llvm::MapVector<Operation *, SmallVector<Read, 2>> reads;
  for (auto gather : block.getOps<AllGatherOp>())
    if (std::optional<Read> read = findReader(gather))
      reads[read->reader].push_back(*read);
  unsigned joined = 0;
  for (auto &[reader, given] : reads)
    if (given.size() == 2 && canJoin(given[0], given[1])) {
      join(given[0], given[1]);
      ++joined;
    }
  return joined;
}

//===----------------------------------------------------------------------===//
// Nested gathers
//===----------------------------------------------------------------------===//

namespace {

/// Two gathers of which the second takes what the first gives.
struct Nested {
  AllGatherOp inner, outer;

  /// The gather of the first, and of the second, of two neighbouring dims.
  AllGatherOp getMajor() {
    return inner.getDims()[0] < outer.getDims()[0] ? inner : outer;
  }
  AllGatherOp getMinor() { return getMajor() == inner ? outer : inner; }
};

bool areNested(AllGatherOp inner, AllGatherOp outer) {
  if (inner->getNumResults() != 1 || outer->getNumResults() != 1 ||
      inner->getBlock() != outer->getBlock() ||
      inner.getMeshAttr() != outer.getMeshAttr() ||
      inner.getChannelAttr() != outer.getChannelAttr())
    return false;
  int64_t first = inner.getDims()[0], second = outer.getDims()[0],
          major = std::min(first, second);
  auto type = cast<RankedTensorType>(inner->getOperand(0).getType());
  return std::abs(first - second) == 1 && type.getDimSize(major) == 1;
}

/// What makes the operand of `outer`, if each that takes it gathers it further:
/// joined with each of them it need not be kept from one to the next.
std::optional<Nested> findNested(AllGatherOp outer) {
  auto inner = outer->getOperand(0).getDefiningOp<AllGatherOp>();
  if (!inner || !llvm::all_of(inner->getUsers(), [&](Operation *user) {
        auto other = dyn_cast<AllGatherOp>(user);
        return other && areNested(inner, other);
      }))
    return std::nullopt;
  return Nested{inner, outer};
}

/// In order of the major dimension's ranks, then of the minor one's: as one
/// dimension that is gathered.
void joinNested(Nested nested) {
  auto [inner, outer] = nested;
  AllGatherOp major = nested.getMajor(), minor = nested.getMinor();
  OpBuilder builder(outer);
  Location loc = builder.getFusedLoc({inner.getLoc(), outer.getLoc()});
  auto type = cast<RankedTensorType>(inner->getOperand(0).getType());
  auto whole = cast<RankedTensorType>(outer->getResult(0).getType());
  int64_t dim = major.getDims()[0];
  SmallVector<ReassociationIndices> groups;
  SmallVector<int64_t> shape;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (d == dim + 1) {
      groups.back().push_back(d);
      shape.back() *= whole.getDimSize(d);
      continue;
    }
    groups.push_back({d});
    shape.push_back(whole.getDimSize(d));
  }
  Value joined = tensor::CollapseShapeOp::create(builder, loc,
                                                 inner->getOperand(0), groups);
  Mesh mesh = toMesh(lookupMesh(outer, outer.getMeshAttr()));
  AxisList axes = toAxes(major.getAxes().getAxes(), mesh);
  llvm::append_range(axes, toAxes(minor.getAxes().getAxes(), mesh));
  Type gatheredType = type.clone(shape);
  auto gathered = AllGatherOp::create(
      builder, loc, TypeRange(gatheredType), joined, outer.getMesh(),
      toAttr(builder.getContext(), canonicalAxes(axes), mesh),
      ArrayRef<int64_t>{dim}, outer.getChannelAttr());
  outer->getResult(0).replaceAllUsesWith(tensor::ExpandShapeOp::create(
      builder, loc, whole, gathered->getResult(0), groups));
  outer.erase();
}

} // namespace

unsigned weft::joinNestedGathers(Block &block) {
  unsigned joined = 0;
  SmallVector<AllGatherOp> gathers(block.getOps<AllGatherOp>());
  llvm::SetVector<Operation *> inner;
  for (AllGatherOp gather : gathers)
    if (std::optional<Nested> nested = findNested(gather)) {
      inner.insert(nested->inner);
      joinNested(*nested);
    }
  for (Operation *op : inner)
    if (op->use_empty()) {
      op->erase();
      ++joined;
    }
  return joined;
}
