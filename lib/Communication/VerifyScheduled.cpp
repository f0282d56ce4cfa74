// SPDX-License-Identifier: Apache-2.0

// weft-verify-scheduled: the gate of phase `scheduled`. What is left to do is
// the memory: ops are kernels, contractions and started collectives, in order.
// That a wait stands in the block of its start, after it, the ops' own
// verifiers have seen to.

#include "TimedOps.h"

#include "weft/Communication/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::weft {
#define GEN_PASS_DEF_VERIFYSCHEDULEDPASS
#include "weft/Communication/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

LogicalResult verifyForm(Operation *op) {
  if (isa<ShardOp, ReshardOp, linalg::LinalgOp>(op))
    return op->emitOpError("is not allowed in phase 'scheduled'");
  if (auto fused = dyn_cast<rt::FusedOp>(op); fused && fused.isOnBuffers())
    return op->emitOpError("is on buffers, which phase 'scheduled' has not");
  if (isa<CollectiveOpInterface>(op) && !getWait(op))
    return op->emitOpError("is not started in phase 'scheduled'");
  for (Type type : op->getResultTypes())
    if (isa<BaseMemRefType>(type))
      return op->emitOpError("makes a value of type ")
             << type << ", but phase 'scheduled' has no buffers";
  return success();
}

/// Whether a value lies in the host's memory: an argument does that is marked,
/// and what was copied there.
bool isOnHost(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return func &&
           func.getArgAttr(argument.getArgNumber(), WeftDialect::kHostAttr);
  }
  Operation *maker = value.getDefiningOp();
  if (auto wait = dyn_cast<WaitOp>(maker))
    maker = wait.getFutures()[cast<OpResult>(value).getResultNumber()]
                .getDefiningOp();
  return maker && getHostCopy(maker) == Purpose::Offload;
}

/// What takes the place of an argument lies where that does; what is returned
/// besides, on the device.
LogicalResult verifyReturnedHost(func::ReturnOp op) {
  auto func = cast<func::FuncOp>(op->getParentOp());
  for (auto [i, value] : llvm::enumerate(op.getOperands())) {
    auto alias =
        func.getResultAttrOfType<IntegerAttr>(i, WeftDialect::kAliasAttr);
    bool takesHost =
        alias && func.getArgAttr(alias.getInt(), WeftDialect::kHostAttr);
    if (isOnHost(value) != takesHost)
      return op.emitOpError("returns result #")
             << i << " in the memory of the "
             << (takesHost ? "device, but its argument is in the host's"
                           : "host, where no argument is that it replaces");
  }
  return success();
}

/// Copies from the host's memory take what is there, and nothing else does.
LogicalResult verifyHostValues(Operation *op) {
  if (auto returned = dyn_cast<func::ReturnOp>(op))
    return verifyReturnedHost(returned);
  if (isa<WaitOp>(op))
    return success();
  bool isFetch = getHostCopy(op) == Purpose::Fetch;
  for (auto [i, value] : llvm::enumerate(op->getOperands()))
    if (isOnHost(value) != isFetch)
      return op->emitOpError("operand #")
             << i
             << (isFetch ? " is copied from the host's memory, but is not there"
                         : " is in the host's memory, which only copies read");
  return success();
}

/// Checks the names of one function's ops.
class NameVerifier {
public:
  LogicalResult verify(Operation *op) {
    if (getTimedKind(op).empty())
      return success();
    auto name = op->getAttrOfType<StringAttr>(WeftDialect::kOpNameAttr);
    if (!name)
      return op->emitOpError("has no name: '")
             << WeftDialect::kOpNameAttr << "' is missing";
    auto [other, isNew] = owners.try_emplace(name.getValue(), op);
    if (isNew)
      return success();
    InFlightDiagnostic error = op->emitOpError("has the name ")
                               << name << " of another op";
    error.attachNote(other->second->getLoc()) << "the other op";
    return error;
  }

private:
  llvm::StringMap<Operation *> owners;
};

struct VerifyScheduledPass
    : public weft::impl::VerifyScheduledPassBase<VerifyScheduledPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      NameVerifier names;
      WalkResult result = func.walk<WalkOrder::PreOrder>([&](Operation *op) {
        if (failed(verifyForm(op)) || failed(names.verify(op)) ||
            failed(verifyHostValues(op)))
          return WalkResult::interrupt();
        return isa<rt::FusedOp>(op) ? WalkResult::skip()
                                    : WalkResult::advance();
      });
      if (result.wasInterrupted())
        return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};

} // namespace
