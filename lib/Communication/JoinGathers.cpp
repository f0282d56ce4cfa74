// SPDX-License-Identifier: Apache-2.0

// Elements and scales of a quantized weight are needed by one op at one time:
// they travel as one collective, which has one latency.

#include "JoinGathers.h"

#include "weft/Analysis/Traffic.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"

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
