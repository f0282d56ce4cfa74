// SPDX-License-Identifier: Apache-2.0

// Reads of whole tensors inside bodies of linalg.generic, which cannot be
// partitioned, as operands, weft.take or tensor.concat.
//
// A read `tensor.extract %t[i0, .., in]` has *loop* indices (linalg.index),
// constants, and computed ones. No computed one: it is an operand with a map.
// One: it is a lookup along that axis; what computes the index becomes a
// linalg.generic of its own over just the loops that it depends on.

#include "Raise.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// The loop whose index `value` is, if it is one.
std::optional<unsigned> getLoop(Value value) {
  if (auto index = value.getDefiningOp<linalg::IndexOp>())
    return index.getDim();
  return std::nullopt;
}

bool isDefinedOutside(linalg::GenericOp op, Value value) {
  return !op.getRegion().isAncestor(value.getParentRegion());
}

/// Reads that stand directly in the body, of static tensors from outside.
SmallVector<tensor::ExtractOp> readsOf(linalg::GenericOp op) {
  SmallVector<tensor::ExtractOp> reads;
  for (auto extract : op.getBody()->getOps<tensor::ExtractOp>()) {
    auto type = dyn_cast<RankedTensorType>(extract.getTensor().getType());
    if (type && type.hasStaticShape() &&
        isDefinedOutside(op, extract.getTensor()))
      reads.push_back(extract);
  }
  return reads;
}

/// Adds an input to `op` whose element replaces `read`.
void replaceReadByInput(PatternRewriter &rewriter, linalg::GenericOp op,
                        tensor::ExtractOp read, Value input, AffineMap map) {
  SmallVector<Value> inputs(op.getInputs());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  unsigned place = inputs.size();
  inputs.push_back(input);
  maps.insert(maps.begin() + place, map);
  BlockArgument arg = op.getRegion().insertArgument(
      place, getElementTypeOrSelf(input), read.getLoc());
  rewriter.replaceOp(read, arg);
  auto replacement = linalg::GenericOp::create(
      rewriter, op.getLoc(), op.getResultTypes(), inputs, op.getOutputs(), maps,
      op.getIteratorTypesArray());
  rewriter.inlineRegionBefore(op.getRegion(), replacement.getRegion(),
                              replacement.getRegion().begin());
  rewriter.replaceOp(op, replacement.getResults());
}

/// The map of a read whose indices are distinct loops of the tensor's sizes,
/// and zeros where the size is 1; null if the read is not one.
AffineMap getMapOfRead(linalg::GenericOp op, tensor::ExtractOp read) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  auto type = cast<RankedTensorType>(read.getTensor().getType());
  SmallVector<AffineExpr> results;
  llvm::SmallDenseSet<unsigned> seen;
  for (auto [size, index] : llvm::zip(type.getShape(), read.getIndices())) {
    std::optional<unsigned> loop = getLoop(index);
    if (loop && sizes[*loop] == size && seen.insert(*loop).second)
      results.push_back(getAffineDimExpr(*loop, op.getContext()));
    else if (size == 1 && matchPattern(index, m_Zero()))
      results.push_back(getAffineConstantExpr(0, op.getContext()));
    else
      return AffineMap();
  }
  return AffineMap::get(op.getNumLoops(), 0, results, op.getContext());
}

/// tensor.extract %t[linalg.index 0, linalg.index 1] -> ins(%t)
struct ReadToInput : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    for (tensor::ExtractOp read : readsOf(op))
      if (AffineMap map = getMapOfRead(op, read)) {
        replaceReadByInput(rewriter, op, read, read.getTensor(), map);
        return success();
      }
    return rewriter.notifyMatchFailure(op, "reads no tensor by its loops");
  }
};

//===----------------------------------------------------------------------===//
// Lookups
//===----------------------------------------------------------------------===//

/// A read with one computed index. `tableLoops` has a loop per table dimension
/// but `axis`; `indexLoops`, sorted, are those that the index depends on.
struct Lookup {
  tensor::ExtractOp read;
  int64_t axis = -1;
  SmallVector<unsigned> tableLoops, indexLoops;
  /// What computes the index, in order.
  SmallVector<Operation *> slice;

  Value getIndex() { return read.getIndices()[axis]; }
};

/// Collects what `value` depends on in the body; false if that includes an
/// init, an op with regions or side effects, or another lookup.
bool collectSlice(linalg::GenericOp op, Value value,
                  llvm::SetVector<Operation *> &slice,
                  llvm::SmallSetVector<unsigned, 4> &loops) {
  if (isDefinedOutside(op, value))
    return true;
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    if (arg.getArgNumber() >= op.getInputs().size())
      return false;
    AffineMap map = op.getIndexingMapsArray()[arg.getArgNumber()];
    for (unsigned loop = 0; loop < map.getNumDims(); ++loop)
      if (map.isFunctionOfDim(loop))
        loops.insert(loop);
    return true;
  }
  Operation *inner = value.getDefiningOp();
  if (std::optional<unsigned> loop = getLoop(value))
    loops.insert(*loop);
  else if (inner->getNumRegions() != 0 || isa<tensor::ExtractOp>(inner) ||
           !isMemoryEffectFree(inner))
    return false;
  for (Value operand : inner->getOperands())
    if (!collectSlice(op, operand, slice, loops))
      return false;
  slice.insert(inner);
  return true;
}

std::optional<Lookup> matchLookup(linalg::GenericOp op,
                                  tensor::ExtractOp read) {
  Lookup lookup;
  lookup.read = read;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  auto type = cast<RankedTensorType>(read.getTensor().getType());
  for (auto [dim, index] : llvm::enumerate(read.getIndices())) {
    std::optional<unsigned> loop = getLoop(index);
    if (loop && sizes[*loop] == type.getDimSize(dim) &&
        !llvm::is_contained(lookup.tableLoops, *loop))
      lookup.tableLoops.push_back(*loop);
    else if (lookup.axis < 0)
      lookup.axis = dim;
    else
      return std::nullopt;
  }
  llvm::SetVector<Operation *> slice;
  llvm::SmallSetVector<unsigned, 4> loops;
  if (lookup.axis < 0 || !collectSlice(op, lookup.getIndex(), slice, loops))
    return std::nullopt;
  lookup.slice = slice.takeVector();
  lookup.indexLoops.assign(loops.begin(), loops.end());
  llvm::sort(lookup.indexLoops);
  return lookup;
}

/// The map over the loops in `from` (in order) that picks those in `to`.
AffineMap pickLoops(MLIRContext *context, ArrayRef<unsigned> from,
                    ArrayRef<unsigned> to) {
  SmallVector<AffineExpr> results;
  for (unsigned loop : to)
    results.push_back(getAffineDimExpr(
        std::distance(from.begin(), llvm::find(from, loop)), context));
  return AffineMap::get(from.size(), 0, results, context);
}

/// `map` over fewer loops: those in `loops` are kept and renumbered.
AffineMap projectMap(AffineMap map, ArrayRef<unsigned> loops) {
  MLIRContext *context = map.getContext();
  SmallVector<AffineExpr> dims(map.getNumDims(),
                               getAffineConstantExpr(0, context));
  for (auto [place, loop] : llvm::enumerate(loops))
    dims[loop] = getAffineDimExpr(place, context);
  return map.replaceDimsAndSymbols(dims, {}, loops.size(), 0);
}

/// The body of the computation of indices: a copy of the slice.
void cloneIndexBody(OpBuilder &builder, linalg::GenericOp op, Lookup &lookup,
                    ValueRange args, Type elementType,
                    ArrayRef<unsigned> usedInputs) {
  IRMapping mapping;
  for (auto [arg, input] : llvm::zip(args, usedInputs))
    mapping.map(op.getRegion().getArgument(input), arg);
  for (Operation *inner : lookup.slice) {
    Operation *copy = builder.clone(*inner, mapping);
    if (auto index = dyn_cast<linalg::IndexOp>(copy))
      index.setDim(
          std::distance(lookup.indexLoops.begin(),
                        llvm::find(lookup.indexLoops, index.getDim())));
  }
  Value index = mapping.lookupOrDefault(lookup.getIndex());
  auto cast = index.getDefiningOp<arith::IndexCastOp>();
  if (cast && cast.getIn().getType() == elementType)
    index = cast.getIn();
  else
    index =
        arith::IndexCastOp::create(builder, index.getLoc(), elementType, index);
  linalg::YieldOp::create(builder, index.getLoc(), index);
}

/// The inputs of `op` that the slice of a lookup uses.
SmallVector<unsigned> usedInputs(linalg::GenericOp op, Lookup &lookup) {
  llvm::SmallSetVector<unsigned, 4> used;
  auto note = [&](Value value) {
    auto arg = dyn_cast<BlockArgument>(value);
    if (arg && arg.getOwner() == op.getBody())
      used.insert(arg.getArgNumber());
  };
  note(lookup.getIndex());
  for (Operation *inner : lookup.slice)
    llvm::for_each(inner->getOperands(), note);
  SmallVector<unsigned> sorted(used.begin(), used.end());
  llvm::sort(sorted);
  return sorted;
}

/// Emits the tensor of looked-up indices over the loops that they depend on.
Value emitIndices(PatternRewriter &rewriter, linalg::GenericOp op,
                  Lookup &lookup) {
  auto cast = lookup.getIndex().getDefiningOp<arith::IndexCastOp>();
  Type elementType = cast ? cast.getIn().getType() : rewriter.getI64Type();
  SmallVector<int64_t> shape, sizes = op.getStaticLoopRanges();
  for (unsigned loop : lookup.indexLoops)
    shape.push_back(sizes[loop]);
  SmallVector<unsigned> used = usedInputs(op, lookup);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (unsigned input : used) {
    inputs.push_back(op.getInputs()[input]);
    maps.push_back(
        projectMap(op.getIndexingMapsArray()[input], lookup.indexLoops));
  }
  maps.push_back(rewriter.getMultiDimIdentityMap(shape.size()));
  Location loc = lookup.read.getLoc();
  Value empty = tensor::EmptyOp::create(rewriter, loc, shape, elementType);
  SmallVector<utils::IteratorType> loops(shape.size(),
                                         utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             rewriter, loc, empty.getType(), inputs, empty, maps, loops,
             [&](OpBuilder &builder, Location, ValueRange args) {
               cloneIndexBody(builder, op, lookup, args, elementType, used);
             })
      .getResult(0);
}

/// The indices of a lookup as an input of `op` already, if its map allows.
Value findIndices(linalg::GenericOp op, Lookup &lookup,
                  SmallVectorImpl<unsigned> &loops) {
  auto cast = lookup.getIndex().getDefiningOp<arith::IndexCastOp>();
  auto arg = dyn_cast_or_null<BlockArgument>(cast ? cast.getIn() : Value());
  if (!arg || arg.getOwner() != op.getBody())
    return Value();
  AffineMap map = op.getIndexingMapsArray()[arg.getArgNumber()];
  if (!map.isProjectedPermutation(/*allowZeroInResults=*/false))
    return Value();
  loops.clear();
  for (AffineExpr expr : map.getResults())
    loops.push_back(llvm::cast<AffineDimExpr>(expr).getPosition());
  return op.getInputs()[arg.getArgNumber()];
}

/// Removes the assertions that the looked-up index, or what it is cast from,
/// is in range: weft.take defines what an index outside of the table gives.
void eraseBoundsAssertions(PatternRewriter &rewriter, linalg::GenericOp op,
                           Value index) {
  auto cast = index.getDefiningOp<arith::IndexCastOp>();
  Value source = cast ? cast.getIn() : index;
  auto isIndex = [&](Value value) { return value == index || value == source; };
  for (auto assertion :
       llvm::make_early_inc_range(op.getBody()->getOps<cf::AssertOp>())) {
    auto compare = assertion.getArg().getDefiningOp<arith::CmpIOp>();
    if (compare && (isIndex(compare.getLhs()) || isIndex(compare.getRhs())))
      rewriter.eraseOp(assertion);
  }
}

/// %i = index_cast %in ; tensor.extract %t[%i, linalg.index 2]
///   -> weft.take %t, %indices ; ins(%taken)
struct RaiseLookup : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    for (tensor::ExtractOp read : readsOf(op))
      if (std::optional<Lookup> lookup = matchLookup(op, read)) {
        rewriteLookup(rewriter, op, *lookup);
        return success();
      }
    return rewriter.notifyMatchFailure(op, "looks nothing up");
  }

  static void rewriteLookup(PatternRewriter &rewriter, linalg::GenericOp op,
                            Lookup &lookup) {
    SmallVector<unsigned> indexLoops = lookup.indexLoops;
    Value indices = findIndices(op, lookup, indexLoops);
    if (!indices)
      indices = emitIndices(rewriter, op, lookup);
    eraseBoundsAssertions(rewriter, op, lookup.getIndex());

    // The result has the loops of table and indices, in the body's order.
    SmallVector<unsigned> loops(lookup.tableLoops);
    loops.append(indexLoops);
    llvm::sort(loops);
    loops.erase(llvm::unique(loops), loops.end());
    SmallVector<int64_t> shape, sizes = op.getStaticLoopRanges();
    for (unsigned loop : loops)
      shape.push_back(sizes[loop]);

    MLIRContext *context = op.getContext();
    Value table = lookup.read.getTensor();
    Value taken = TakeOp::create(
        rewriter, lookup.read.getLoc(),
        RankedTensorType::get(shape, getElementTypeOrSelf(table)), table,
        indices, /*base=*/Value(), lookup.axis,
        pickLoops(context, loops, lookup.tableLoops),
        pickLoops(context, loops, indexLoops));
    SmallVector<AffineExpr> dims;
    for (unsigned loop : loops)
      dims.push_back(getAffineDimExpr(loop, context));
    replaceReadByInput(rewriter, op, lookup.read, taken,
                       AffineMap::get(op.getNumLoops(), 0, dims, context));
  }
};

//===----------------------------------------------------------------------===//
// Concatenations
//===----------------------------------------------------------------------===//

/// Says whether `read` has the indices of all loops, but for `axis`, where the
/// index is the loop's minus `offset`.
bool readsFrom(tensor::ExtractOp read, int64_t axis, int64_t offset) {
  for (auto [dim, index] : llvm::enumerate(read.getIndices())) {
    Value base = index;
    if (static_cast<int64_t>(dim) == axis && offset != 0) {
      auto sub = index.getDefiningOp<arith::SubIOp>();
      if (!sub || getConstantIntValue(sub.getRhs()) != offset)
        return false;
      base = sub.getLhs();
    }
    if (getLoop(base) != static_cast<unsigned>(dim))
      return false;
  }
  return true;
}

/// Appends the tensors that `value`, an scf.if on `loop axis < bound` or a
/// read, chooses from the element `offset` on; false if it is anything else.
bool collectPieces(linalg::GenericOp op, Value value,
                   std::optional<int64_t> &axis, int64_t offset,
                   SmallVectorImpl<Value> &pieces) {
  if (auto read = value.getDefiningOp<tensor::ExtractOp>()) {
    if (!axis || !isDefinedOutside(op, read.getTensor()) ||
        !readsFrom(read, *axis, offset))
      return false;
    pieces.push_back(read.getTensor());
    return true;
  }
  auto choice = value.getDefiningOp<scf::IfOp>();
  if (!choice || choice.getNumResults() != 1)
    return false;
  auto compare = choice.getCondition().getDefiningOp<arith::CmpIOp>();
  std::optional<unsigned> loop =
      compare ? getLoop(compare.getLhs()) : std::nullopt;
  std::optional<int64_t> bound =
      compare ? getConstantIntValue(compare.getRhs()) : std::nullopt;
  if (!loop || !bound || (axis && *axis != *loop) ||
      (compare.getPredicate() != arith::CmpIPredicate::ult &&
       compare.getPredicate() != arith::CmpIPredicate::slt))
    return false;
  axis = *loop;
  unsigned first = pieces.size();
  if (!collectPieces(op, choice.thenYield().getOperand(0), axis, offset,
                     pieces) ||
      pieces.size() != first + 1)
    return false;
  auto piece = cast<RankedTensorType>(pieces.back().getType());
  return piece.getDimSize(*axis) == *bound - offset &&
         collectPieces(op, choice.elseYield().getOperand(0), axis, *bound,
                       pieces);
}

/// yield (if linalg.index 1 < 32 then %a[.., i, ..] else %b[.., i - 32, ..])
///   -> tensor.concat dim(1) %a, %b
struct RaiseConcat : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getNumResults() != 1 ||
        op.getNumParallelLoops() != op.getNumLoops() ||
        !op.getIndexingMapsArray().back().isIdentity())
      return rewriter.notifyMatchFailure(op, "is not elementwise");
    std::optional<int64_t> axis;
    SmallVector<Value> pieces;
    if (!collectPieces(op, op.getBody()->getTerminator()->getOperand(0), axis,
                       0, pieces) ||
        pieces.size() < 2)
      return rewriter.notifyMatchFailure(op, "chooses not by a loop's index");
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    if (tensor::ConcatOp::inferResultType(
            *axis, ValueRange(pieces).getTypes()) != type)
      return rewriter.notifyMatchFailure(op, "the pieces do not add up");
    rewriter.replaceOpWithNewOp<tensor::ConcatOp>(op, type, *axis, pieces);
    return success();
  }
};

} // namespace

void weft::populateRaiseLookupPatterns(RewritePatternSet &patterns) {
  patterns.add<ReadToInput, RaiseLookup, RaiseConcat>(patterns.getContext());
}
