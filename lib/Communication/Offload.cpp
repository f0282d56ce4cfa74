// SPDX-License-Identifier: Apache-2.0

// weft-offload: a value that waits in the host's memory is copied there where
// its barrier stands, and back before it is read. Both copies are permutes of
// the rank alone: what follows knows collectives, and needs to know nothing
// else.

#include "weft/Communication/Passes.h"
#include "weft/Dialect/Weft/IR/OptimizationBarrier.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::weft {
#define GEN_PASS_DEF_OFFLOADPASS
#include "weft/Communication/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

MeshOp mlir::weft::getOrDeclareMesh(ModuleOp module) {
  for (auto op : module.getOps<MeshOp>())
    return op;
  // It must not know the new one yet, to give it another name than others have.
  SymbolTable symbols(module);
  MLIRContext *context = module.getContext();
  auto axis = MeshAxisAttr::get(context, "rank", 1);
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  auto made = MeshOp::create(builder, module.getLoc(), "mesh",
                             MeshAttr::get(context, axis));
  symbols.insert(made);
  return made;
}

namespace {

/// The mesh and the two channels of a module, which are declared when they are
/// needed first.
class HostChannels {
public:
  explicit HostChannels(ModuleOp module) : module(module), symbols(module) {}

  FlatSymbolRefAttr getMesh() {
    return FlatSymbolRefAttr::get(getOrDeclareMesh(module).getSymNameAttr());
  }

  FlatSymbolRefAttr get(Purpose purpose) {
    for (auto op : module.getOps<ChannelOp>())
      if (op.getPurpose() == purpose)
        return FlatSymbolRefAttr::get(op.getSymNameAttr());
    FlatSymbolRefAttr mesh = getMesh();
    Operation *last = nullptr;
    for (Operation &op : *module.getBody())
      if (isa<MeshOp, ChannelOp>(op))
        last = &op;
    OpBuilder builder(module.getContext());
    builder.setInsertionPointAfter(last);
    auto made = ChannelOp::create(
        builder, last->getLoc(), stringifyPurpose(purpose), mesh.getValue(),
        AxesAttr::get(module.getContext(), {}), purpose);
    return FlatSymbolRefAttr::get(
        symbols.insert(made, std::next(last->getIterator())));
  }

private:
  ModuleOp module;
  SymbolTable symbols;
};

/// What reads a value, also after barriers that pass it on.
class Readers {
public:
  /// `kept`: a use that the value stays where it is for, or null.
  Readers(Value value, OpOperand *kept) : kept(kept) { find(value); }

  bool empty() const { return uses.empty(); }

  /// The first op of `block` that is, or holds, a reader.
  Operation *getFirst(Block &block) const {
    Operation *first = nullptr;
    for (OpOperand *use : uses) {
      Operation *op = block.findAncestorOpInBlock(*use->getOwner());
      if (!first || op->isBeforeInBlock(first))
        first = op;
    }
    return first;
  }

  /// They read `value` from here on; barriers do not hold it any more.
  void replaceBy(Value value) {
    for (OpOperand *use : uses)
      use->set(value);
    // Those that come later first: what they pass on is of those before.
    for (Operation *op : llvm::reverse(passing))
      dropUnused(cast<OptimizationBarrierOp>(op));
  }

private:
  void find(Value value) {
    for (OpOperand &use : value.getUses()) {
      if (&use == kept)
        continue;
      auto next = dyn_cast<OptimizationBarrierOp>(use.getOwner());
      if (!next || next.getOffload()) {
        uses.push_back(&use);
        continue;
      }
      Value passed = next->getResult(use.getOperandNumber());
      if (!seen.insert(passed).second)
        continue;
      passing.insert(next);
      find(passed);
    }
  }

  OpOperand *kept;
  SmallVector<OpOperand *> uses;
  llvm::SetVector<Operation *> passing;
  llvm::DenseSet<Value> seen;
};

struct OffloadPass : public weft::impl::OffloadPassBase<OffloadPass> {
  void runOnOperation() override {
    HostChannels channels(getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal())
        for (BlockArgument argument : func.getArguments())
          if (func.getArgAttr(argument.getArgNumber(), WeftDialect::kHostAttr))
            fetchArgument(func, argument, channels);
    SmallVector<OptimizationBarrierOp> barriers;
    getOperation().walk([&](OptimizationBarrierOp op) {
      if (op.getOffload())
        barriers.push_back(op);
    });
    for (OptimizationBarrierOp op : barriers)
      offload(op, channels);
  }

private:
  Value copy(OpBuilder &builder, Location loc, Value value, Purpose purpose,
             HostChannels &channels) {
    FlatSymbolRefAttr channel = channels.get(purpose);
    auto axes = AxesAttr::get(builder.getContext(), {});
    return PermuteOp::create(builder, loc, TypeRange(value.getType()), value,
                             channels.getMesh(), axes,
                             builder.getDenseI64ArrayAttr({0}), channel)
        ->getResult(0);
  }

  /// Between the steps it lies in the host's memory.
  void fetchArgument(func::FuncOp func, BlockArgument argument,
                     HostChannels &channels);
  void offload(OptimizationBarrierOp barrier, HostChannels &channels);
};

void OffloadPass::fetchArgument(func::FuncOp func, BlockArgument argument,
                                HostChannels &channels) {
  Operation *terminator = func.getBody().front().getTerminator();
  OpOperand *successor = nullptr;
  for (OpOperand &returned : terminator->getOpOperands())
    if (auto alias = func.getResultAttrOfType<IntegerAttr>(
            returned.getOperandNumber(), WeftDialect::kAliasAttr);
        alias && alias.getInt() == argument.getArgNumber())
      successor = &returned;
  // What is returned as it came stays where it is.
  bool stays = successor && successor->get() == argument;
  Readers readers(argument, stays ? successor : nullptr);
  if (!readers.empty()) {
    OpBuilder builder(readers.getFirst(func.getBody().front()));
    readers.replaceBy(
        copy(builder, argument.getLoc(), argument, Purpose::Fetch, channels));
    ++numOffloaded;
  }
  if (!successor || stays)
    return;
  OpBuilder builder(terminator);
  successor->set(copy(builder, successor->get().getLoc(), successor->get(),
                      Purpose::Offload, channels));
}

void OffloadPass::offload(OptimizationBarrierOp barrier,
                          HostChannels &channels) {
  Location loc = barrier.getLoc();
  Type type = barrier.getInputs()[0].getType();
  auto options = remark::RemarkOpts::name("offload").category("weft-offload");
  // An argument's successor goes to the host's memory by itself.
  bool isSuccessor = false;
  for (OpOperand &use :
       llvm::make_early_inc_range(barrier->getResult(0).getUses()))
    if (getHostCopy(use.getOwner()) == Purpose::Offload) {
      use.set(barrier.getInputs()[0]);
      isSuccessor = true;
    }
  Readers readers(barrier->getResult(0), /*kept=*/nullptr);
  if (readers.empty() && !isSuccessor) {
    remark::missed(loc, options) << remark::add(
        "nothing reads a value of type {0} after it was to wait in the host's "
        "memory",
        type);
  } else if (!readers.empty()) {
    ++numOffloaded;
    remark::passed(loc, options)
        << remark::add("a value of type {0} waits in the host's memory", type);
    OpBuilder builder(barrier);
    Value stored =
        copy(builder, loc, barrier.getInputs()[0], Purpose::Offload, channels);
    builder.setInsertionPoint(readers.getFirst(*barrier->getBlock()));
    readers.replaceBy(copy(builder, loc, stored, Purpose::Fetch, channels));
  }
  barrier.replaceAllUsesWith(barrier.getInputs());
  barrier.erase();
}

} // namespace
