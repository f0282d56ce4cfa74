// SPDX-License-Identifier: Apache-2.0

// Ranks that run one program issue the same collectives in the same order where
// they take the same branches. So for each collective inside a branch or loop
// the condition or bounds are followed back to what they are made of: the
// rank's own coordinates, and elements of buffers. The axes along which those
// differ must not be the collective's: then all members of a group take the
// same way, and the orders of all ranks are parts of one order.

#include "PlannedProgram.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Verify/Plan/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::weft {
#define GEN_PASS_DEF_VERIFYDEADLOCKPASS
#include "weft/Verify/Plan/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

namespace {

/// An op that gives different ranks different numbers, and along which axes;
/// without axes along all.
struct Source {
  Operation *op = nullptr;
  SmallVector<StringRef> axes;
  bool isAllAxes = false;
};

class DeadlockProof {
public:
  explicit DeadlockProof(const PlannedProgram &program) : program(program) {}
  LogicalResult run();

private:
  LogicalResult checkStart(rt::StartOp start);
  LogicalResult checkAround(rt::StartOp start, Operation *around);
  LogicalResult report(rt::StartOp start, Operation *around,
                       const Source &source, AxisRefAttr axis);
  std::optional<Source> getSource(Operation *op);
  Source getReadSource(rt::ReadScalarOp read);
  bool isConstant(rt::ReadScalarOp read);
  bool isWritten(unsigned root);

  const PlannedProgram &program;
  /// Values that are constants of the module, once they have been looked for.
  bool hasReadCopies = false;
  DenseSet<int64_t> constants;
};

//===----------------------------------------------------------------------===//
// What numbers are made of
//===----------------------------------------------------------------------===//

/// The values that `value` is made of in one step; those that decide which way
/// it comes are among them.
SmallVector<Value> getOrigins(Value value) {
  SmallVector<Value> origins;
  auto addLoop = [&](scf::ForOp loop, std::optional<unsigned> carried) {
    llvm::append_values(origins, loop.getLowerBound(), loop.getUpperBound(),
                        loop.getStep());
    if (carried)
      llvm::append_values(origins, loop.getInitArgs()[*carried],
                          loop.getYieldedValues()[*carried]);
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())) {
      unsigned number = argument.getArgNumber();
      addLoop(loop,
              number ? std::optional<unsigned>(number - 1) : std::nullopt);
    }
    return origins;
  }
  Operation *op = value.getDefiningOp();
  unsigned number = cast<OpResult>(value).getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    addLoop(loop, number);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    llvm::append_values(origins, branch.getCondition(),
                        branch.thenYield().getOperand(number),
                        branch.elseYield().getOperand(number));
  } else {
    llvm::append_range(origins, op->getOperands());
  }
  return origins;
}

/// All ops that the values are made of, in the order of the search.
SmallVector<Operation *> getAllOrigins(ValueRange values) {
  llvm::SetVector<Value> found(values.begin(), values.end());
  for (unsigned i = 0; i < found.size(); ++i)
    for (Value origin : getOrigins(found[i]))
      found.insert(origin);
  SmallVector<Operation *> ops;
  for (Value value : found)
    if (Operation *op = value.getDefiningOp())
      ops.push_back(op);
  return ops;
}

bool DeadlockProof::isWritten(unsigned root) {
  return program.getFunction()
      ->walk([&](Operation *op) {
        for (const Access &access : program.getAccesses(op))
          if (access.writes && access.place->root == root)
            return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

/// Says whether a read gives elements of a constant: of the module, or of a
/// value, the only one of its number, that is copied from there. That the value
/// lies where it is read, the proof of freshness shows.
bool DeadlockProof::isConstant(rt::ReadScalarOp read) {
  if (read.getBuffer().getDefiningOp<memref::GetGlobalOp>())
    return true;
  auto ids = read->getAttrOfType<DenseI64ArrayAttr>("weft_rt.values");
  if (!ids || ids.size() != 1)
    return false;
  if (!hasReadCopies) {
    hasReadCopies = true;
    program.getFunction().walk([&](rt::CopyOp copy) {
      auto written = copy->getAttrOfType<DenseI64ArrayAttr>("weft_rt.values");
      if (written && written.size() == 2 &&
          copy.getSource().getDefiningOp<memref::GetGlobalOp>())
        constants.insert(written[1]);
    });
  }
  return constants.contains(ids[0]);
}

/// An argument that nobody writes is the same on ranks that hold the same part
/// of it; nothing is known about other buffers.
Source DeadlockProof::getReadSource(rt::ReadScalarOp read) {
  Source source;
  source.op = read;
  source.isAllAxes = true;
  const Place &place = program.getPlace(read.getBuffer());
  rt::BufferOp buffer = program.getRoot(place).op;
  SmallVector<rt::TensorAttr> args = rt::getArgs(program.getFunction());
  uint64_t number = buffer.getPosition();
  if (buffer.getSpace() != rt::Space::Argument || number >= args.size() ||
      isWritten(place.root))
    return source;
  rt::TensorAttr argument = args[number];
  ShardingAttr sharding = argument.getSharding();
  // Without a sharding each rank has all of it, if that is all that there is.
  if (!sharding && argument.getGlobal() != argument.getLocal())
    return source;
  source.isAllAxes = false;
  if (!sharding)
    return source;
  for (DimShardingAttr dim : sharding.getDims())
    for (AxisRefAttr axis : dim.getAxes())
      source.axes.push_back(axis.getName());
  return source;
}

std::optional<Source> DeadlockProof::getSource(Operation *op) {
  if (auto read = dyn_cast<rt::ReadScalarOp>(op))
    return isConstant(read) ? std::nullopt
                            : std::optional<Source>(getReadSource(read));
  auto index = dyn_cast<AxisIndexOp>(op);
  if (!index)
    return std::nullopt;
  Source source;
  source.op = op;
  for (AxisRefAttr axis : index.getAxes().getAxes())
    source.axes.push_back(axis.getName());
  return source;
}

//===----------------------------------------------------------------------===//
// Collectives in branches and loops
//===----------------------------------------------------------------------===//

/// Two ranks of the mesh that differ along `axis` only.
int64_t getNeighbour(MeshAttr mesh, StringRef axis) {
  int64_t stride = 1;
  for (MeshAxisAttr other : llvm::reverse(mesh.getAxes())) {
    if (other.getName() == axis)
      return stride;
    stride *= other.getSize();
  }
  return stride;
}

LogicalResult DeadlockProof::report(rt::StartOp start, Operation *around,
                                    const Source &source, AxisRefAttr axis) {
  int64_t other = getNeighbour(start.getMesh(), axis.getName());
  bool isLoop = isa<scf::ForOp>(around);
  InFlightDiagnostic diag = start.emitError()
                            << getOpName(start) << " may hang: ranks 0 and "
                            << other << " of a group along \"" << axis.getName()
                            << "\" need not "
                            << (isLoop ? "go through this loop equally often"
                                       : "take the same branch");
  diag.attachNote(around->getLoc())
      << (isLoop ? "the loop is here" : "the branch is here");
  diag.attachNote(source.op->getLoc()) << "what decides differs between ranks";
  return diag;
}

LogicalResult DeadlockProof::checkAround(rt::StartOp start, Operation *around) {
  auto loop = dyn_cast<scf::ForOp>(around);
  SmallVector<Value> deciders;
  if (loop)
    llvm::append_values(deciders, loop.getLowerBound(), loop.getUpperBound(),
                        loop.getStep());
  else
    deciders.push_back(cast<scf::IfOp>(around).getCondition());
  AxesAttr axes = start.getCollective().getAxes();
  MeshAttr mesh = start.getMesh();
  for (Operation *op : getAllOrigins(deciders)) {
    std::optional<Source> source = getSource(op);
    if (!source)
      continue;
    for (AxisRefAttr axis : axes.getAxes())
      if (getAxisRefSize(mesh, axis).value_or(1) != 1 &&
          (source->isAllAxes ||
           llvm::is_contained(source->axes, axis.getName())))
        return report(start, around, *source, axis);
  }
  return success();
}

LogicalResult DeadlockProof::checkStart(rt::StartOp start) {
  for (Operation *around = start->getParentOp();
       around != program.getFunction(); around = around->getParentOp())
    if (failed(checkAround(start, around)))
      return failure();
  return success();
}

LogicalResult DeadlockProof::run() {
  WalkResult result = program.getFunction()->walk(
      [&](rt::StartOp start) { return WalkResult(checkStart(start)); });
  return failure(result.wasInterrupted());
}

struct VerifyDeadlockPass
    : public weft::impl::VerifyDeadlockPassBase<VerifyDeadlockPass> {
  using Base::Base;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(proveEach<DeadlockProof>(getOperation(), getAnalysisManager())))
      signalPassFailure();
  }
};

} // namespace
