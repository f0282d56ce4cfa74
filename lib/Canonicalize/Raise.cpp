// SPDX-License-Identifier: Apache-2.0

// Brings a module into the one form that the rest of the compiler takes.
//
// Order matters: what the user wrote is checked first, so that messages speak
// of the user's ops. Then calls are inlined and loops unrolled, which turns
// their index computations into constants. Then everything becomes
// linalg.generic, lookups are cut out of bodies, and contractions are
// recognized. One walk each, and greedy rewriting in between.

#include "weft/Canonicalize/Passes.h"

#include "Raise.h"
#include "weft/Analysis/MergeEqualOps.h"
#include "weft/Canonicalize/MissingElements.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::weft {
#define GEN_PASS_DEF_RAISEPASS
#include "weft/Canonicalize/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

//===----------------------------------------------------------------------===//
// What is required
//===----------------------------------------------------------------------===//

/// Finds the one public function with a body; reports if that is not possible.
FailureOr<func::FuncOp> findEntry(ModuleOp module) {
  func::FuncOp entry;
  for (Operation &op : *module.getBody()) {
    if (isa<MeshOp>(op))
      continue;
    auto func = dyn_cast<func::FuncOp>(op);
    if (!func)
      return op.emitOpError("is not supported at module level");
    if (!func.isPublic())
      continue;
    if (entry) {
      func.emitOpError("is the second public function, expected one")
              .attachNote(entry.getLoc())
          << "the first public function";
      return failure();
    }
    entry = func;
  }
  if (!entry)
    return module.emitError(
        "expected a public function with a body, found none");
  return entry;
}

/// Says whether tensors of this element type can be computed with.
bool isSupportedElementType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() &&
           llvm::is_contained({1, 8, 16, 32, 64}, integer.getWidth());
  return isa<IndexType, Float16Type, BFloat16Type, Float32Type, Float64Type,
             Float8E4M3FNType, Float8E5M2Type, Float8E8M0FNUType,
             Float4E2M1FNType>(type);
}

/// Reports at `op` if a value of this type is not supported. `what` names it.
LogicalResult checkType(Operation *op, Type type, const Twine &what) {
  std::string name = what.str();
  Type element = type;
  if (isa<UnrankedTensorType>(type))
    return op->emitOpError(name)
           << " has type " << type << ", expected a ranked tensor";
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    if (!tensor.hasStaticShape())
      return op->emitOpError(name)
             << " has type " << type << ", expected a static shape";
    if (tensor.getEncoding())
      return op->emitOpError(name)
             << " has type " << type << ", expected no encoding";
    element = tensor.getElementType();
  }
  if (!isSupportedElementType(element))
    return op->emitOpError(name) << " has unsupported type " << type;
  return success();
}

LogicalResult checkBorderType(func::FuncOp func, Type type, const Twine &what) {
  if (!isa<RankedTensorType>(type))
    return func.emitOpError(what)
           << " has type " << type << ", expected a ranked tensor";
  if (getElementTypeOrSelf(type).isIndex())
    return func.emitOpError(what) << " has unsupported type " << type;
  return checkType(func, type, what);
}

bool isSupportedDialect(StringRef name) {
  return llvm::is_contained(
      {"arith", "cf", "func", "linalg", "math", "scf", "tensor", "weft"}, name);
}

/// Slices go forward: an operand as a stride is told later, where it is not a
/// constant.
LogicalResult checkStrides(Operation *op) {
  auto slice = dyn_cast<OffsetSizeAndStrideOpInterface>(op);
  if (!slice)
    return success();
  for (auto [dim, stride] : llvm::enumerate(slice.getMixedStrides()))
    if (std::optional<int64_t> number = getConstantIntValue(stride);
        number && *number < 1)
      return op->emitOpError("has stride ")
             << *number << " in dim " << dim << ", expected at least 1";
  return success();
}

/// Checks ops and types of a function's body. What says how it may be sharded
/// may be of any dialect.
LogicalResult checkBody(func::FuncOp func) {
  WalkResult result = func.getBody().walk([](Operation *op) -> WalkResult {
    if (!isa<ShardingRuleOpInterface>(op) &&
        !isSupportedDialect(op->getName().getDialectNamespace()))
      return op->emitOpError("is not supported");
    if (failed(checkStrides(op)))
      return failure();
    for (OpResult result : op->getResults())
      if (failed(checkType(op, result.getType(),
                           "result #" + Twine(result.getResultNumber()))))
        return failure();
    return success();
  });
  return failure(result.wasInterrupted());
}

/// Lookups take their assertions with them. Whatever else a program asserts,
/// a kernel cannot end it.
LogicalResult checkNoAssertion(func::FuncOp func) {
  WalkResult result = func.walk([](cf::AssertOp op) -> WalkResult {
    return op.emitOpError("is not supported but for the index of a lookup");
  });
  return failure(result.wasInterrupted());
}

LogicalResult checkFunction(func::FuncOp func) {
  if (func.isExternal())
    return success();
  if (!func.getBody().hasOneBlock())
    return func.emitOpError("has ")
           << func.getBody().getBlocks().size() << " blocks, expected one";
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
    if (failed(checkBorderType(func, type, "argument #" + Twine(i))))
      return failure();
  for (auto [i, type] : llvm::enumerate(func.getResultTypes()))
    if (failed(checkBorderType(func, type, "result #" + Twine(i))))
      return failure();
  return checkBody(func);
}

/// Ops that a function may have when its calls are inlined. Functions that call
/// each other twice have exponentially many.
constexpr int64_t kMaxInlined = 1 << 18;

/// Follows calls from `func` on; reports a call that leads back to a function
/// on the path, a call of a function without a body, and one with which there
/// are too many ops. `numOps` has those of each function that was followed,
/// with its calls inlined.
LogicalResult checkCalls(func::FuncOp func, SymbolTable &symbols,
                         SmallVectorImpl<func::FuncOp> &path,
                         llvm::DenseMap<Operation *, int64_t> &numOps) {
  if (numOps.contains(func))
    return success();
  path.push_back(func);
  int64_t count = 0;
  WalkResult result = func.walk([&](Operation *op) -> WalkResult {
    ++count;
    auto call = dyn_cast<func::CallOp>(op);
    if (!call)
      return WalkResult::advance();
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (callee.isExternal())
      return call.emitOpError("calls '")
             << call.getCallee() << "', which has no body";
    if (llvm::is_contained(path, callee))
      return call.emitOpError("calls '")
             << call.getCallee() << "' recursively, which is not supported";
    if (failed(checkCalls(callee, symbols, path, numOps)))
      return failure();
    count += numOps.lookup(callee);
    if (count > kMaxInlined)
      return call.emitOpError("calls '")
             << call.getCallee() << "', which makes '" << func.getName()
             << "' more than " << kMaxInlined << " ops with its calls inlined";
    return success();
  });
  path.pop_back();
  numOps[func] = count;
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Calls and loops
//===----------------------------------------------------------------------===//

/// Applies the sharding of an argument or result of a function to a value.
Value constrain(OpBuilder &builder, Location loc, Value value,
                Attribute sharding) {
  if (!sharding)
    return value;
  return ShardOp::create(builder, loc, value, cast<ShardingAttr>(sharding));
}

/// Replaces a call by the callee's body. Locations tell both places.
void inlineCall(func::CallOp call, func::FuncOp callee) {
  OpBuilder builder(call);
  IRMapping mapping;
  for (auto [i, operand] : llvm::enumerate(call.getOperands()))
    mapping.map(callee.getArgument(i),
                constrain(builder, call.getLoc(), operand,
                          callee.getArgAttr(i, WeftDialect::kShardingAttr)));
  Block &body = callee.getBody().front();
  for (Operation &op : body.without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    copy->walk([&](Operation *inner) {
      inner->setLoc(CallSiteLoc::get(inner->getLoc(), call.getLoc()));
    });
  }
  for (auto [i, result] : llvm::enumerate(body.getTerminator()->getOperands()))
    call.getResult(i).replaceAllUsesWith(
        constrain(builder, call.getLoc(), mapping.lookup(result),
                  callee.getResultAttr(i, WeftDialect::kShardingAttr)));
  call.erase();
}

/// Inlines all calls in `entry`, then removes all other functions.
void inlineCalls(func::FuncOp entry, SymbolTable &symbols) {
  while (true) {
    SmallVector<func::CallOp> calls;
    entry.walk([&](func::CallOp call) { calls.push_back(call); });
    if (calls.empty())
      break;
    for (func::CallOp call : calls)
      inlineCall(call, symbols.lookup<func::FuncOp>(call.getCallee()));
  }
  auto module = entry->getParentOfType<ModuleOp>();
  for (auto func : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (func != entry)
      func.erase();
}

/// The number of iterations of a loop with all loops inside, or nullopt if it
/// is not constant, zero, or above `limit`.
std::optional<int64_t> countIterations(scf::ForOp loop, int64_t limit) {
  std::optional<APInt> trips = loop.getStaticTripCount();
  if (!trips || !trips->isStrictlyPositive() || trips->sgt(limit))
    return std::nullopt;
  int64_t inside = 0;
  for (auto nested : loop.getBody()->getOps<scf::ForOp>()) {
    std::optional<int64_t> count = countIterations(nested, limit);
    if (!count)
      return std::nullopt;
    inside += *count;
  }
  int64_t total = trips->getSExtValue() * std::max<int64_t>(inside, 1);
  if (total > limit)
    return std::nullopt;
  return total;
}

/// Unrolls loops with at most `limit` iterations, outermost first, so that
/// nests stay whole where they are too large. Says whether there were any.
bool unrollLoops(func::FuncOp entry, int64_t limit) {
  bool changed = false;
  while (true) {
    scf::ForOp found;
    entry.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<linalg::LinalgOp>(op))
        return WalkResult::skip();
      auto loop = dyn_cast<scf::ForOp>(op);
      if (!loop)
        return WalkResult::advance();
      if (!countIterations(loop, limit))
        return WalkResult::skip();
      found = loop;
      return WalkResult::interrupt();
    });
    if (!found || failed(loopUnrollFull(found)))
      return changed;
    changed = true;
  }
}

bool hasBranches(func::FuncOp entry) {
  return entry.walk([](scf::IfOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct RaisePass : weft::impl::RaisePassBase<RaisePass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet cleanup(context);
    for (Dialect *dialect : context->getLoadedDialects())
      dialect->getCanonicalizationPatterns(cleanup);
    for (RegisteredOperationName op : context->getRegisteredOperations())
      op.getCanonicalizationPatterns(cleanup, context);
    populateFoldSlicePatterns(cleanup);
    cleanupPatterns = FrozenRewritePatternSet(std::move(cleanup));

    RewritePatternSet generic(context);
    populateRaiseToGenericPatterns(generic);
    populateRaiseLookupPatterns(generic);
    genericPatterns = FrozenRewritePatternSet(std::move(generic));

    RewritePatternSet contractions(context);
    populateRaiseContractionPatterns(contractions);
    contractionPatterns = FrozenRewritePatternSet(std::move(contractions));
    return success();
  }

  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = checkInput();
    if (failed(entry) || failed(raise(*entry)) ||
        failed(checkNoAssertion(*entry)))
      signalPassFailure();
  }

private:
  LogicalResult raise(func::FuncOp entry) {
    SymbolTable symbols(getOperation());
    inlineCalls(entry, symbols);
    if (failed(rewrite(entry, cleanupPatterns)))
      return failure();
    if (unrollLoops(entry, maxUnroll) &&
        failed(rewrite(entry, cleanupPatterns)))
      return failure();
    if (failed(clampSlices(entry)) || failed(rewrite(entry, genericPatterns)) ||
        failed(rewrite(entry, contractionPatterns)) ||
        failed(rewrite(entry, cleanupPatterns)))
      return failure();
    while (true) {
      // Indices that are constants only now.
      readMissingAsZero(entry);
      bool changed = mergeEqualOps(entry);
      // Conditions that have become one decide branches inside of others. What
      // is left for later is not proved to be the user's.
      if (!changed || !hasBranches(entry))
        return success();
      if (failed(rewrite(entry, cleanupPatterns)))
        return failure();
    }
  }

  FailureOr<func::FuncOp> checkInput() {
    ModuleOp module = getOperation();
    FailureOr<func::FuncOp> entry = findEntry(module);
    if (failed(entry))
      return failure();
    for (auto func : module.getOps<func::FuncOp>())
      if (failed(checkFunction(func)))
        return failure();
    SymbolTable symbols(module);
    SmallVector<func::FuncOp> path;
    llvm::DenseMap<Operation *, int64_t> numOps;
    if (failed(checkCalls(*entry, symbols, path, numOps)))
      return failure();
    return entry;
  }

  LogicalResult rewrite(func::FuncOp entry,
                        const FrozenRewritePatternSet &patterns) {
    GreedyRewriteConfig config;
    config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
    // There is one block: no branch is to be simplified.
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    return applyPatternsGreedily(entry, patterns, config);
  }

  FrozenRewritePatternSet cleanupPatterns, genericPatterns, contractionPatterns;
};

} // namespace
