// SPDX-License-Identifier: Apache-2.0

// Linear layers take narrow operands. What is quantized once is used wherever
// the same elements are needed in the same blocks; it is made beside the wide
// value, so that this one need not be kept.

#include "weft/Quantize/Passes.h"

#include "Formats.h"
#include "Linears.h"

#include "weft/Dialect/Weft/IR/ScaledContraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/GlobPattern.h"

#include <set>

namespace mlir::weft {
#define GEN_PASS_DEF_QUANTIZEPASS
#include "weft/Quantize/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

RankedTensorType getTensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// What is asked for
//===----------------------------------------------------------------------===//

/// FORMAT or FORMAT=PATTERN.
struct Request {
  QuantizationFormat format;
  std::optional<llvm::GlobPattern> pattern;
};

FailureOr<SmallVector<Request>> readRequests(Operation *op,
                                             ArrayRef<std::string> texts) {
  SmallVector<Request> requests;
  for (StringRef text : texts) {
    auto [name, pattern] = text.split('=');
    std::optional<QuantizationFormat> format = symbolizeFormat(name);
    if (!format)
      return op->emitError("cannot quantize as '")
             << name << "', expected fp8, fp8-block, mxfp8 or nvfp4";
    Request &request = requests.emplace_back(Request{*format, std::nullopt});
    if (!text.contains('='))
      continue;
    if (pattern.empty())
      return op->emitError("cannot quantize as '")
             << text << "', which names no weight after '=': expected '" << name
             << "' for all of them, or a pattern of names, as in '" << name
             << "=layers.*'";
    auto glob = llvm::GlobPattern::create(pattern, /*MaxSubPatterns=*/1024);
    if (!glob)
      return op->emitError("cannot quantize weights '")
             << pattern << "': " << llvm::toString(glob.takeError());
    request.pattern = *glob;
  }
  return requests;
}

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

/// A narrow operand.
struct Narrow {
  Value data;
  /// Of blocks; null: the tensor is one.
  Value scale;
  /// What the contraction's result is multiplied with; null: nothing.
  Value factor;
  /// Bytes of data and scales.
  int64_t bytes = 0;
};

/// Of which wide value, how, and along which dimensions it is cut.
struct NarrowKey {
  Value wide;
  SmallVector<int64_t> blocks;
  OperandFormat format;

  bool operator==(const NarrowKey &other) const {
    return wide == other.wide && blocks == other.blocks &&
           format.element == other.format.element &&
           format.scale == other.format.scale &&
           format.isMixed == other.format.isMixed &&
           format.isRandom == other.format.isRandom;
  }
};

class Quantizer {
public:
  explicit Quantizer(func::FuncOp func) : builder(func.getContext()) {}

  /// `blocks`: elements along each dimension; `mixed`: the dimension whose runs
  /// are mixed, if the format asks for that. Where a user says that ranks are
  /// to have the wide value in another way, narrow ones are what moves.
  Narrow get(Value wide, ArrayRef<int64_t> blocks, const OperandFormat &format,
             unsigned mixed) {
    while (auto shard = wide.getDefiningOp<ShardOp>())
      wide = shard.getInput();
    NarrowKey key{wide, SmallVector<int64_t>(blocks), format};
    for (auto &[other, narrow] : made)
      if (other == key)
        return narrow;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(wide);
    made.push_back({key, make(key, mixed)});
    return made.back().second;
  }

  OpBuilder builder;

private:
  Narrow make(const NarrowKey &key, unsigned mixed) {
    Location loc = key.wide.getLoc();
    const OperandFormat &format = key.format;
    Value wide = format.isMixed ? mix(key.wide, mixed) : key.wide;
    RankedTensorType type = getTensor(wide);
    SmallVector<int64_t> counts;
    for (auto [size, block] : llvm::zip_equal(type.getShape(), key.blocks))
      counts.push_back(size / block);
    auto perBlock = RankedTensorType::get(counts, builder.getF32Type());
    Value amax = AmaxOp::create(builder, loc, perBlock, wide, key.blocks);
    Value tensorAmax = format.hasTensorScale() ? makeTensorAmax(amax) : Value();
    auto scale = BlockScaleOp::create(
        builder, loc, perBlock, perBlock.clone(format.scale), amax, tensorAmax,
        format.element, format.powerOfTwo);
    Value random = format.isRandom ? makeKey(tensorAmax) : Value();
    Value data = QuantizeOp::create(builder, loc, type.clone(format.element),
                                    wide, scale.getMultiplier(), random,
                                    random ? numRandom++ : 0);
    Narrow narrow;
    narrow.data = data;
    narrow.bytes = (getBits(data) + getBits(scale.getScale())) / 8;
    if (format.block == 0)
      narrow.factor = scale.getScale();
    else
      narrow.scale = scale.getScale();
    if (tensorAmax)
      narrow.factor = makeTensorScale(tensorAmax, format);
    return narrow;
  }

  static int64_t getBits(Value value) {
    RankedTensorType type = getTensor(value);
    return type.getNumElements() * type.getElementTypeBitWidth();
  }

  /// Of the magnitudes of blocks, that of the tensor.
  Value makeTensorAmax(Value amax) {
    RankedTensorType type = getTensor(amax);
    auto one = RankedTensorType::get(SmallVector<int64_t>(type.getRank(), 1),
                                     builder.getF32Type());
    return AmaxOp::create(builder, amax.getLoc(), one, amax, type.getShape());
  }

  /// Tensor magnitudes differ from step to step, and so do their bits.
  Value makeKey(Value tensorAmax) {
    Location loc = tensorAmax.getLoc();
    auto type = RankedTensorType::get({}, builder.getI32Type());
    Value amax = tensor::CollapseShapeOp::create(
        builder, loc, RankedTensorType::get({}, builder.getF32Type()),
        tensorAmax, ArrayRef<ReassociationIndices>());
    Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                          type.getElementType());
    AffineMap map = builder.getMultiDimIdentityMap(0);
    return linalg::GenericOp::create(
               builder, loc, type, amax, empty, ArrayRef<AffineMap>{map, map},
               ArrayRef<utils::IteratorType>(),
               [&](OpBuilder &b, Location l, ValueRange args) {
                 Value bits =
                     arith::BitcastOp::create(b, l, b.getI32Type(), args[0]);
                 linalg::YieldOp::create(b, l, bits);
               })
        .getResult(0);
  }

  /// The f32 that all elements are multiplied with after the contraction.
  Value makeTensorScale(Value tensorAmax, const OperandFormat &format) {
    auto scale = BlockScaleOp::create(
        builder, tensorAmax.getLoc(), tensorAmax.getType(),
        tensorAmax.getType(), tensorAmax, Value(), format.element, false);
    return scale.getScale();
  }

  Value mix(Value wide, unsigned dim);

  std::vector<std::pair<NarrowKey, Narrow>> made;
  int64_t numRandom = 1;
};

/// +1 or -1 at (i, j) of the Hadamard matrix of 16, by Sylvester's
/// construction.
int getHadamardSign(unsigned i, unsigned j) {
  return llvm::popcount(i & j) % 2 ? -1 : 1;
}

/// Row i of the matrix is negative where bit i is set, as in TransformerEngine.
constexpr uint32_t kMixSigns = 0xD7E8;

/// Runs of 16 along `dim` times the Hadamard matrix with random signs, which is
/// orthogonal: contractions along `dim` of two mixed tensors are what they
/// were.
Value Quantizer::mix(Value wide, unsigned dim) {
  constexpr int64_t kRun = 16;
  Location loc = wide.getLoc();
  RankedTensorType type = getTensor(wide);
  unsigned rank = type.getRank();
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= kRun;
  shape.insert(shape.begin() + dim + 1, kRun);
  SmallVector<ReassociationIndices> groups;
  for (unsigned d = 0; d < rank; ++d)
    groups.push_back(d < dim    ? ReassociationIndices{d}
                     : d == dim ? ReassociationIndices{d, d + 1}
                                : ReassociationIndices{d + 1});
  Value runs = tensor::ExpandShapeOp::create(builder, loc, type.clone(shape),
                                             wide, groups);
  SmallVector<float> numbers;
  for (unsigned i = 0; i < kRun; ++i)
    for (unsigned j = 0; j < kRun; ++j)
      numbers.push_back(0.25f * getHadamardSign(i, j) *
                        (kMixSigns >> i & 1 ? -1 : 1));
  auto square = RankedTensorType::get({kRun, kRun}, builder.getF32Type());
  Value matrix = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(square, ArrayRef<float>(numbers)));
  if (!type.getElementType().isF32()) {
    // Quarters and signs are exact in each type.
    bool losesInfo;
    auto narrow = cast<DenseFPElementsAttr>(
        DenseElementsAttr::get(square, ArrayRef<float>(numbers)));
    const llvm::fltSemantics &semantics =
        cast<FloatType>(type.getElementType()).getFloatSemantics();
    matrix = arith::ConstantOp::create(
        builder, loc,
        narrow.mapValues(type.getElementType(), [&](const APFloat &number) {
          APFloat same = number;
          same.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
          return same.bitcastToAPInt();
        }));
  }
  // Loops: the dims of `runs`, then what is made of a run.
  MLIRContext *context = builder.getContext();
  SmallVector<AffineExpr> in, out;
  for (unsigned d = 0; d <= rank; ++d) {
    in.push_back(builder.getAffineDimExpr(d));
    out.push_back(builder.getAffineDimExpr(d == dim + 1 ? rank + 1 : d));
  }
  AffineMap inMap = AffineMap::get(rank + 2, 0, in, context),
            outMap = AffineMap::get(rank + 2, 0, out, context),
            matrixMap = AffineMap::get(rank + 2, 0,
                                       {builder.getAffineDimExpr(dim + 1),
                                        builder.getAffineDimExpr(rank + 1)},
                                       context);
  Value mixed = MatmulOp::create(
      builder, loc, type.clone(shape), runs, matrix,
      builder.getAffineMapArrayAttr({inMap, matrixMap, outMap}));
  return tensor::CollapseShapeOp::create(builder, loc, type, mixed, groups);
}

//===----------------------------------------------------------------------===//
// One contraction
//===----------------------------------------------------------------------===//

/// How the operands of a contraction are cut, or why they are not.
struct Cut {
  OperandFormat formats[2];
  SmallVector<int64_t> blocks[2];
  /// The summed dimension of each that has the blocks.
  unsigned dims[2] = {0, 0};
};

AffineMap getMap(MatmulOp op, unsigned operand) {
  return operand ? op.getRhsMap() : op.getLhsMap();
}

/// The last summed dimension of lhs that blocks divide, and rhs's of that loop.
bool findSummed(MatmulOp op, int64_t block, Cut &cut, std::string &reason) {
  AffineMap lhs = op.getLhsMap();
  for (int dim = lhs.getNumResults() - 1; dim >= 0; --dim) {
    unsigned loop = lhs.getDimPosition(dim);
    std::optional<unsigned> other =
        op.getRhsMap().getResultPosition(lhs.getResult(dim));
    if (op.getResultMap().isFunctionOfDim(loop) || !other)
      continue;
    int64_t size = getTensor(op.getLhs()).getDimSize(dim);
    if (size != 0 && size % block == 0) {
      cut.dims[0] = dim;
      cut.dims[1] = *other;
      return true;
    }
    reason = ("blocks of " + Twine(block) + " do not divide the " +
              Twine(size) + " elements that it sums")
                 .str();
  }
  if (reason.empty())
    reason = "it sums nothing that both operands have";
  return false;
}

/// The last dimension of an operand that is not summed.
std::optional<unsigned> findKept(MatmulOp op, unsigned operand) {
  AffineMap map = getMap(op, operand);
  for (int dim = map.getNumResults() - 1; dim >= 0; --dim)
    if (op.getResultMap().isFunctionOfDim(map.getDimPosition(dim)) &&
        !getMap(op, 1 - operand).isFunctionOfDim(map.getDimPosition(dim)))
      return dim;
  return std::nullopt;
}

bool makeCut(const Linear &linear, QuantizationFormat format, Cut &cut,
             std::string &reason) {
  MatmulOp op = linear.op;
  for (unsigned i : {0, 1})
    cut.formats[i] =
        getOperandFormat(op.getContext(), format, linear.roles[i], linear.kind);
  int64_t block = cut.formats[0].block;
  if (!findSummed(op, std::max<int64_t>(block, 1), cut, reason))
    return false;
  for (unsigned i : {0, 1}) {
    RankedTensorType type = getTensor(op->getOperand(i));
    cut.blocks[i].assign(type.getRank(), 1);
    if (block == 0) {
      cut.blocks[i].assign(type.getShape().begin(), type.getShape().end());
      continue;
    }
    cut.blocks[i][cut.dims[i]] = block;
    if (isa<Float4E2M1FNType>(cut.formats[i].element) &&
        type.getShape().back() % 2 != 0) {
      reason = ("two elements share a byte, and an operand has an odd last "
                "dimension of " +
                Twine(type.getShape().back()))
                   .str();
      return false;
    }
    if (!cut.formats[i].isSquare)
      continue;
    std::optional<unsigned> kept = findKept(op, i);
    if (!kept || type.getDimSize(*kept) % block != 0) {
      reason = ("squares of " + Twine(block) + " do not divide the weight's " +
                Twine(kept ? type.getDimSize(*kept) : 1) +
                " elements along what it keeps")
                   .str();
      return false;
    }
    cut.blocks[i][*kept] = block;
  }
  return true;
}

/// The contraction's result times the scales of whole tensors, as it was typed.
Value applyFactors(OpBuilder &builder, Location loc, Value result,
                   ArrayRef<Value> factors, Type element) {
  RankedTensorType type = getTensor(result);
  SmallVector<Value> inputs = {result};
  SmallVector<AffineMap> maps = {
      builder.getMultiDimIdentityMap(type.getRank())};
  for (Value factor : factors) {
    Value scalar = factor;
    if (getTensor(factor).getRank() != 0)
      scalar = tensor::CollapseShapeOp::create(
          builder, loc, RankedTensorType::get({}, builder.getF32Type()), factor,
          ArrayRef<ReassociationIndices>());
    inputs.push_back(scalar);
    maps.push_back(AffineMap::get(type.getRank(), 0, builder.getContext()));
  }
  maps.push_back(maps.front());
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), element);
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  auto scaled = linalg::GenericOp::create(
      builder, loc, type.clone(element), inputs, empty, maps, iterators,
      [&](OpBuilder &b, Location l, ValueRange args) {
        Value factor = arith::MulFOp::create(b, l, args[1], args[2]);
        Value product = arith::MulFOp::create(b, l, args[0], factor);
        if (!element.isF32())
          product = arith::TruncFOp::create(b, l, element, product);
        linalg::YieldOp::create(b, l, product);
      });
  scaled->setAttr(kScalesContractionAttr, builder.getUnitAttr());
  return scaled.getResult(0);
}

void quantize(const Linear &linear, const Cut &cut, Quantizer &quantizer,
              int64_t (&bytes)[2]) {
  MatmulOp op = linear.op;
  OpBuilder &builder = quantizer.builder;
  builder.setInsertionPoint(op);
  Narrow narrow[2];
  Value operands[2];
  for (unsigned i : {0, 1}) {
    narrow[i] = quantizer.get(op->getOperand(i), cut.blocks[i], cut.formats[i],
                              cut.dims[i]);
    bytes[i] = narrow[i].bytes;
    operands[i] = narrow[i].data;
    // For each contraction anew: what is gathered for one is not kept wide.
    if (narrow[i].scale)
      operands[i] = DequantizeOp::create(
          builder, op.getLoc(),
          getTensor(operands[i]).clone(builder.getBF16Type()), operands[i],
          narrow[i].scale);
  }
  Type element = getTensor(op).getElementType();
  bool hasFactors = narrow[0].factor != nullptr;
  Type made = hasFactors ? Type(builder.getF32Type()) : element;
  Value result =
      MatmulOp::create(builder, op.getLoc(), getTensor(op).clone(made),
                       operands[0], operands[1], op.getIndexingMaps());
  if (hasFactors)
    result = applyFactors(builder, op.getLoc(), result,
                          {narrow[0].factor, narrow[1].factor}, element);
  op.replaceAllUsesWith(result);
  op.erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct QuantizePass : weft::impl::QuantizePassBase<QuantizePass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<SmallVector<Request>> requests =
        readRequests(getOperation(), formats);
    if (failed(requests))
      return signalPassFailure();
    uses.assign(requests->size(), Use());
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal())
        quantizeIn(func, *requests);
    if (failed(checkUses(*requests)))
      signalPassFailure();
  }

private:
  /// What became of an entry of `formats`.
  struct Use {
    bool isFirst = false;
    /// Entries that came before it where it would have counted.
    std::set<unsigned> others;
    /// Contractions that became narrow, and those that could not.
    unsigned numNarrow = 0, numRefused = 0;
    /// The first of these, or else the first that stays wide for what its
    /// weight is; and why.
    Operation *first = nullptr;
    std::string reason;
  };

  /// The number of the entry that counts for a weight of that name, if any.
  /// Those after it are noted.
  std::optional<unsigned> choose(ArrayRef<Request> requests, StringRef name) {
    std::optional<unsigned> first;
    for (auto [i, candidate] : llvm::enumerate(requests)) {
      if (candidate.pattern && !candidate.pattern->match(name))
        continue;
      if (first)
        uses[i].others.insert(*first);
      else
        uses[first.emplace(i)].isFirst = true;
    }
    return first;
  }

  /// An entry that does nothing is a mistake, of the pattern or of the order;
  /// but one for the rest may find none, in one step of several.
  LogicalResult checkUses(ArrayRef<Request> requests) {
    bool hasRest = true;
    for (auto [request, text, use] : llvm::zip_equal(requests, formats, uses)) {
      bool isRest = !request.pattern && hasRest;
      hasRest &= request.pattern.has_value();
      if (!use.isFirst && failed(reportUnused(text, use, isRest)))
        return failure();
      if (use.first && failed(reportWide(text, use)))
        return failure();
    }
    return success();
  }

  /// An entry of which nothing became narrow that could have is a mistake. What
  /// stays wide beside others is said once.
  static LogicalResult reportWide(StringRef text, const Use &use) {
    if (use.numNarrow == 0 && use.numRefused > 0) {
      InFlightDiagnostic diagnostic = use.first->emitOpError();
      diagnostic << "cannot be quantized as '" << text << "', " << use.reason;
      if (use.numRefused > 1)
        diagnostic << "; nor can any other of the " << use.numRefused
                   << " contractions that this is for";
      return diagnostic;
    }
    if (use.numRefused > 0)
      use.first->emitWarning()
          << "is not quantized as '" << text << "', " << use.reason << "; "
          << use.numRefused << " of " << use.numRefused + use.numNarrow
          << " contractions stay wide (--remarks names them)";
    else if (use.numNarrow == 0)
      use.first->emitWarning() << "is not quantized as '" << text << "', "
                               << use.reason << "; nothing is";
    return success();
  }

  /// Notes why a contraction stays wide.
  void noteWide(Use &use, const Linear &linear, StringRef name,
                StringRef reason, bool isRefused) {
    if (!use.first || (isRefused && use.numRefused == 0)) {
      use.first = linear.op;
      use.reason = ("the " + stringifyLinearKind(linear.kind) + " of '" + name +
                    "': " + reason)
                       .str();
    }
    use.numRefused += isRefused;
    ++numWide;
    remark::missed(linear.op->getLoc(),
                   remark::RemarkOpts::name("wide").category("weft-quantize"))
        << remark::add("the {0} of '{1}' stays wide: {2}",
                       stringifyLinearKind(linear.kind).str(), name.str(),
                       reason.str());
  }

  LogicalResult reportUnused(StringRef text, const Use &use, bool isRest) {
    ModuleOp module = getOperation();
    if (use.others.empty() && !isRest)
      return module.emitError("has no linear layer whose weight's name is like "
                              "that of '")
             << text << "'";
    InFlightDiagnostic diagnostic =
        isRest ? module.emitWarning() : module.emitError();
    if (use.others.empty()) {
      diagnostic << "has no linear layer to quantize as '" << text << "'";
      return success();
    }
    diagnostic << "cannot quantize as '" << text
               << "': each linear layer that it is for has an entry before "
                  "it, ";
    llvm::interleaveComma(use.others, diagnostic, [&](unsigned other) {
      diagnostic << "'" << formats[other] << "'";
    });
    return success(isRest);
  }

  SmallVector<Use> uses;

  void quantizeIn(func::FuncOp func, ArrayRef<Request> requests) {
    Linears linears = findLinears(func);
    Quantizer quantizer(func);
    SmallVector<QuantizationFormat> waiting;
    for (const Linear &linear : linears.ops) {
      std::string name = getWeightName(linear.weight);
      std::optional<unsigned> number = choose(requests, name);
      if (!number)
        continue;
      const Request &request = requests[*number];
      Use &use = uses[*number];
      if (auto kept = linears.keptWide.find(linear.weight);
          !request.pattern && kept != linears.keptWide.end()) {
        noteWide(use, linear, name, kept->second, /*isRefused=*/false);
        continue;
      }
      Cut cut;
      std::string reason;
      if (!makeCut(linear, request.format, cut, reason)) {
        noteWide(use, linear, name, reason, /*isRefused=*/true);
        continue;
      }
      ++use.numNarrow;
      report(linear, name, request.format, cut, quantizer);
      bool waits = cut.formats[0].block == 0 || cut.formats[0].hasTensorScale();
      if (waits && !llvm::is_contained(waiting, request.format))
        waiting.push_back(request.format);
    }
    for (QuantizationFormat format : waiting)
      if (!accumulate.empty())
        reportWaiting(func, format);
  }

  /// One rank goes through microbatches along the axis.
  void reportWaiting(func::FuncOp func, QuantizationFormat format) {
    remark::missed(
        func.getLoc(),
        remark::RemarkOpts::name("microbatches").category("weft-quantize"))
        << remark::add("a scale of {0} is for a whole tensor, and waits for "
                       "all microbatches along '{1}': what they keep for it "
                       "is as large as without them; fp8-block and mxfp8 "
                       "have no such scale",
                       stringifyFormat(format).str(), accumulate.getValue());
  }

  void report(const Linear &linear, StringRef name, QuantizationFormat format,
              const Cut &cut, Quantizer &quantizer) {
    MatmulOp op = linear.op;
    Location loc = op.getLoc();
    int64_t wide[2], narrow[2];
    for (unsigned i : {0, 1}) {
      RankedTensorType type = getTensor(op->getOperand(i));
      wide[i] = type.getNumElements() * type.getElementTypeBitWidth() / 8;
    }
    quantize(linear, cut, quantizer, narrow);
    ++numNarrow;
    remark::passed(loc,
                   remark::RemarkOpts::name("narrow").category("weft-quantize"))
        << remark::add("the {0} of '{1}' is {2}: {3} and {4} bytes, not {5} "
                       "and {6}",
                       stringifyLinearKind(linear.kind).str(), name.str(),
                       stringifyFormat(format).str(), narrow[0], narrow[1],
                       wide[0], wide[1])
        << remark::metric("bytes", narrow[0] + narrow[1]);
  }
};

} // namespace
