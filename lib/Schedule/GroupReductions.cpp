// SPDX-License-Identifier: Apache-2.0

// Walks a block once, with one open group per channel. A group stands where its
// last member stood: what it reads is there, and all that use it come later.

#include "GroupReductions.h"

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Reductions that become one.
struct Group {
  SmallVector<AllReduceOp> members;
  /// Nanoseconds beyond the latency, of all members.
  int64_t transfer = 0;
};

class ReductionGrouping {
public:
  ReductionGrouping(Block &block, const CostModel &cost)
      : block(block), cost(cost) {}

  int64_t run() {
    SmallVector<AllReduceOp> reductions(block.getOps<AllReduceOp>());
    for (AllReduceOp op : reductions)
      visit(op);
    for (auto &[channel, group] : groups)
      close(group);
    return numGrouped;
  }

private:
  void visit(AllReduceOp op) {
    if (!op.getChannelAttr() || !isReduction(op))
      return;
    Group &group = groups[op.getChannelAttr()];
    std::optional<CollectiveCost> one = cost.getCollectiveCost(op);
    int64_t transfer = one ? one->nanoseconds - one->latency : 0;
    if (!one || transfer * 4 > one->latency)
      return close(group);
    if (!canJoin(group, op) || group.transfer + transfer > one->latency)
      close(group);
    group.members.push_back(op);
    group.transfer += transfer;
  }

  static bool isReduction(AllReduceOp op) {
    Purpose purpose = lookupChannel(op, op.getChannelAttr()).getPurpose();
    return purpose == Purpose::Reduce || purpose == Purpose::Data ||
           purpose == Purpose::ExpertReduce || purpose == Purpose::Amax;
  }

  /// Says whether all that use the members come after `op`, or can be moved
  /// there: only the caller needs what they make.
  bool canJoin(const Group &group, AllReduceOp op) const {
    if (group.members.empty())
      return true;
    AllReduceOp first = group.members.front();
    if (first.getKind() != op.getKind() ||
        first->getAttr(WeftDialect::kOrderAttr) !=
            op->getAttr(WeftDialect::kOrderAttr))
      return false;
    return llvm::all_of(group.members, [&](AllReduceOp member) {
      return llvm::all_of(member->getUsers(), [&](Operation *user) {
        Operation *inBlock = block.findAncestorOpInBlock(*user);
        return op->isBeforeInBlock(inBlock) || isFinal(inBlock);
      });
    });
  }

  bool isFinal(Operation *op) const {
    return isa<rt::FusedOp>(op) &&
           llvm::all_of(op->getUsers(), [&](Operation *user) {
             return user == block.getTerminator();
           });
  }

  void close(Group &group) {
    if (group.members.size() > 1)
      merge(group.members);
    group = Group();
  }

  void merge(ArrayRef<AllReduceOp> members) {
    AllReduceOp first = members.front(), last = members.back();
    SmallVector<Value> inputs, old;
    for (AllReduceOp member : members) {
      llvm::append_range(inputs, member.getInputs());
      llvm::append_range(old, member.getOutputs());
    }
    for (Value value : old)
      for (Operation *user : llvm::to_vector(value.getUsers()))
        if (user->getBlock() == &block && user->isBeforeInBlock(last))
          user->moveBefore(block.getTerminator());
    OpBuilder builder(last);
    auto grouped =
        AllReduceOp::create(builder, first.getLoc(), TypeRange(ValueRange(old)),
                            first.getKindAttr(), inputs, first.getMeshAttr(),
                            first.getAxesAttr(), first.getChannelAttr());
    if (Attribute order = first->getAttr(WeftDialect::kOrderAttr))
      grouped->setAttr(WeftDialect::kOrderAttr, order);
    setName(grouped, first);
    for (auto [before, after] : llvm::zip(old, grouped.getOutputs()))
      before.replaceAllUsesWith(after);
    numGrouped += static_cast<int64_t>(members.size());
    for (AllReduceOp member : members)
      member->erase();
  }

  /// "all_reduce a", or "all_reduce a +1", and so on: how many tensors more.
  void setName(AllReduceOp grouped, AllReduceOp first) {
    auto name = first->getAttrOfType<StringAttr>(WeftDialect::kOpNameAttr);
    if (!name)
      return;
    StringRef base = name.getValue();
    if (first.getInputs().size() > 1)
      base = base.rsplit(" +").first;
    grouped->setAttr(
        WeftDialect::kOpNameAttr,
        StringAttr::get(grouped->getContext(),
                        base + " +" + Twine(grouped.getInputs().size() - 1)));
  }

  Block &block;
  const CostModel &cost;
  llvm::MapVector<Attribute, Group> groups;
  int64_t numGrouped = 0;
};

} // namespace

int64_t mlir::weft::groupReductions(Block &block, const CostModel &cost) {
  return ReductionGrouping(block, cost).run();
}
