// SPDX-License-Identifier: Apache-2.0

// The weft_rt dialect object and the verifiers of its ops.

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Dialect/Weft/IR/Leaves.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::weft::rt;

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.cpp.inc"
#include "weft/Dialect/WeftRT/IR/WeftRTEnums.cpp.inc"

#include "weft/Dialect/WeftRT/IR/LaunchConfig.cpp.inc"

// GCC does not see that MLIR's parser of optional integers sets those it gives.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#define GET_ATTRDEF_CLASSES
#include "weft/Dialect/WeftRT/IR/WeftRTAttrs.cpp.inc"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#define GET_OP_CLASSES
#include "weft/Dialect/WeftRT/IR/WeftRTOps.cpp.inc"

void WeftRTDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "weft/Dialect/WeftRT/IR/WeftRTAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "weft/Dialect/WeftRT/IR/WeftRTOps.cpp.inc"
      >();
}

namespace {

/// Buffers end before this byte, so that sums of places do not overflow.
constexpr int64_t kMaxBytes = int64_t{1} << 56;

/// Says whether each stride goes beyond all that is inside of its dim, and the
/// last element ends before kMaxBytes.
bool isCountable(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides,
                 int64_t elementBytes) {
  SmallVector<std::pair<int64_t, int64_t>> dims;
  for (auto [size, stride] : llvm::zip(shape, strides))
    if (size != 1)
      dims.push_back({stride, size});
  llvm::sort(dims);
  __int128 span = 1;
  for (auto [stride, size] : dims) {
    if (stride < span)
      return false;
    span += static_cast<__int128>(size - 1) * stride;
    if (span * elementBytes >= kMaxBytes)
      return false;
  }
  return true;
}

} // namespace

bool mlir::weft::rt::isScalar(Type type) {
  return type.isIndex() ||
         (type.isIntOrFloat() && type.getIntOrFloatBitWidth() <= 64);
}

bool mlir::weft::rt::isBuffer(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || !memref.hasStaticShape() ||
      !memref.getElementType().isIntOrIndexOrFloat())
    return false;
  auto layout = dyn_cast<StridedLayoutAttr>(memref.getLayout());
  bool isStatic =
      memref.getLayout().isIdentity() ||
      (layout && layout.hasStaticLayout() && layout.getOffset() == 0);
  ArrayRef<int64_t> shape = memref.getShape();
  // Nothing lies in a buffer without elements.
  if (!isStatic || llvm::is_contained(shape, 0))
    return isStatic;
  SmallVector<int64_t> dense(shape.size(), 1);
  for (unsigned i = shape.size(); i > 1; --i)
    if (llvm::MulOverflow(dense[i - 1], shape[i - 1], dense[i - 2]))
      return false;
  return isCountable(shape, layout ? layout.getStrides() : ArrayRef(dense),
                     getElementBytes(memref.getElementType()));
}

bool mlir::weft::rt::isDense(MemRefType type) {
  SmallVector<int64_t> strides = getBufferStrides(type);
  for (auto [size, stride, expected] :
       llvm::zip(type.getShape(), strides, getDenseStrides(type.getShape())))
    if (size != 1 && stride != expected)
      return false;
  return true;
}

int64_t mlir::weft::rt::getElementBytes(Type element) {
  return element.isIntOrFloat()
             ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)
             : sizeof(int64_t);
}

int64_t mlir::weft::rt::getBufferBytes(ShapedType type) {
  return type.getNumElements() * getElementBytes(type.getElementType());
}

int64_t mlir::weft::rt::getSpan(MemRefType type) {
  if (type.getNumElements() == 0)
    return 0;
  // Not MLIR's own strides of dense memrefs, which do not exist for sizes of 0.
  if (type.getLayout().isIdentity())
    return type.getNumElements();
  auto [strides, offset] = type.getStridesAndOffset();
  int64_t last = 0;
  for (auto [size, stride] : llvm::zip(type.getShape(), strides))
    last += (size - 1) * stride;
  return last + 1;
}

SmallVector<int64_t> mlir::weft::rt::getDenseStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int i = static_cast<int>(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

SmallVector<int64_t> mlir::weft::rt::getBufferStrides(MemRefType type) {
  // Not MLIR's own strides of dense memrefs, which do not exist for sizes of 0.
  if (type.getLayout().isIdentity())
    return getDenseStrides(type.getShape());
  auto [strides, offset] = type.getStridesAndOffset();
  return strides;
}

namespace {

/// What the region sees of an operand: a tensor in place of a buffer.
Type getValueType(Type type) {
  if (auto memref = dyn_cast<MemRefType>(type))
    return RankedTensorType::get(memref.getShape(), memref.getElementType());
  return type;
}

bool hasTensor(TypeRange types) {
  return llvm::any_of(types, llvm::IsaPred<TensorType>);
}

LogicalResult verifyInputs(FusedOp op) {
  Block &block = op.getBody().front();
  unsigned numInputs = op.getInputs().size();
  unsigned numArguments = numInputs + op.getScalars().size();
  if (block.getNumArguments() != numArguments) // fused_c1
    return op.emitOpError("region has ")
           << block.getNumArguments() << " arguments, expected "
           << numArguments;
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    if (isa<MemRefType>(input.getType()) != op.isOnBuffers()) // fused_c3
      return op.emitOpError("input #")
             << i << " has type " << input.getType() << ", expected a "
             << (op.isOnBuffers() ? "buffer" : "tensor");
    Type expected = getValueType(input.getType());
    if (block.getArgument(i).getType() != expected) // fused_c1
      return op.emitOpError("region argument #")
             << i << " has type " << block.getArgument(i).getType()
             << ", expected " << expected;
  }
  for (auto [i, scalar] : llvm::enumerate(op.getScalars()))
    if (Type type = block.getArgument(numInputs + i).getType();
        type != scalar.getType()) // fused_c1
      return op.emitOpError("region argument #")
             << numInputs + i << " has type " << type << ", expected "
             << scalar.getType();
  return success();
}

LogicalResult verifyYield(FusedOp op) {
  Block &block = op.getBody().front();
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(&block.back());
  TypeRange given = op.isOnBuffers() ? TypeRange(op.getOuts().getTypes())
                                     : TypeRange(op.getResultTypes());
  if (!yield) // fused_c2
    return op.emitOpError("does not end in a 'weft_rt.yield' op");
  if (yield.getValues().size() != given.size()) // fused_c2
    return op.emitOpError("yields ")
           << yield.getValues().size() << " values, expected " << given.size();
  llvm::SmallPtrSet<Value, 8> seen;
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    if (value.getType() != getValueType(given[i])) // fused_c2
      return op.emitOpError("yields #")
             << i << " of type " << value.getType() << ", expected "
             << getValueType(given[i]);
    if (!value.getDefiningOp<linalg::GenericOp>()) // fused_c4
      return op.emitOpError("yields #")
             << i << " that is no result of a 'linalg.generic' op";
    if (!seen.insert(value).second) // fused_c4
      return op.emitOpError("yields #") << i << " for the second time";
  }
  return success();
}

/// Checks that an op in a body takes elements only of inputs of `fused`.
LogicalResult verifyLookup(FusedOp fused, Operation *op) {
  for (Value operand : op->getOperands())
    if (isa<TensorType>(operand.getType()) &&
        (!isa<tensor::ExtractOp>(op) ||
         operand.getParentBlock() != &fused.getBody().front() ||
         !isa<BlockArgument>(operand)))
      return op->emitOpError("is in a body of a 'weft_rt.fused' op, where it "
                             "may only take elements of an input");
  return success();
}

/// Checks that an op in a body computes its results and does nothing else: of
/// other memory than that of inputs and outputs the proofs know nothing.
LogicalResult verifyEffects(Operation *op) {
  if (isMemoryEffectFree(op))
    return success();
  return op->emitOpError("has effects, which no op in a body of a " // fused_c5
                         "'weft_rt.fused' op may have");
}

/// Checks that a loop is a reduction just where some output does not tell its
/// passes apart. Passes of another one could be done in any order, or at once,
/// and would overwrite each other.
LogicalResult verifyIterators(linalg::GenericOp op) {
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    bool isInAll = llvm::all_of(
        op.getDpsInitsMutable(), [&, loop = loop](OpOperand &init) {
          return op.getMatchingIndexingMap(&init).isFunctionOfDim(loop);
        });
    if (isInAll == (kind == utils::IteratorType::parallel))
      continue;
    auto expected = isInAll ? utils::IteratorType::parallel
                            : utils::IteratorType::reduction;
    return op.emitOpError("has loop d") // fused_c6
           << loop << " as '" << utils::stringifyIteratorType(kind)
           << "', expected '" << utils::stringifyIteratorType(expected)
           << (isInAll ? "': all outputs have it"
                       : "': an output does not have it");
  }
  return success();
}

/// Checks that the loops go through all elements of the outputs: others would
/// be whatever the memory has.
LogicalResult verifyOutputs(linalg::GenericOp op) {
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    auto shape = cast<ShapedType>(init.get().getType()).getShape();
    bool isAll = map.isProjectedPermutation(/*allowZeroInResults=*/true);
    for (auto [size, index] : llvm::zip(shape, map.getResults()))
      isAll &= size == 1 || isa<AffineDimExpr>(index);
    if (!isAll)
      return op.emitOpError("goes through ") // fused_c7
             << AffineMapAttr::get(map) << " of an output of "
             << init.get().getType() << ", which leaves elements out";
  }
  return success();
}

LogicalResult verifyOps(FusedOp fused) {
  for (Operation &op : fused.getBody().front().without_terminator()) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      if (failed(verifyIterators(generic)) || failed(verifyOutputs(generic)))
        return failure();
      WalkResult result = generic.getBody()->walk([&](Operation *inner) {
        return WalkResult(success(succeeded(verifyLookup(fused, inner)) &&
                                  succeeded(verifyEffects(inner))));
      });
      if (result.wasInterrupted())
        return failure();
    }
    auto extract = dyn_cast<tensor::ExtractOp>(op);
    bool isKnown =
        extract ? isa<BlockArgument>(extract.getTensor()) &&
                      extract.getTensor().getType().getRank() == 0
        : isa<linalg::GenericOp, linalg::FillOp>(op)
            ? op.getNumResults() != 0
            : isa<tensor::EmptyOp>(op) || (op.getNumRegions() == 0 &&
                                           !hasTensor(op.getOperandTypes()) &&
                                           !hasTensor(op.getResultTypes()));
    if (!isKnown) // fused_c5
      return op.emitOpError("has no form in a 'weft_rt.fused' op");
    if (failed(verifyEffects(&op)))
      return failure();
  }
  return success();
}

} // namespace

/// On tensors it is a function. On buffers it reads and writes these.
void FusedOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  auto add = [&](MemoryEffects::Effect *effect, OpOperand &operand) {
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(effect, &operand);
  };
  for (OpOperand &input : getInputsMutable())
    add(MemoryEffects::Read::get(), input);
  for (OpOperand &out : getOutsMutable())
    add(MemoryEffects::Write::get(), out);
}

LogicalResult FusedOp::verify() {
  if (!getOuts().empty() && getNumResults() != 0) // fused_c3
    return emitOpError("has ")
           << getNumResults() << " results and " << getOuts().size()
           << " outputs, expected one kind only";
  return success(succeeded(verifyInputs(*this)) &&
                 succeeded(verifyYield(*this)) && succeeded(verifyOps(*this)));
}

namespace {

/// Value numbers are keys of the proofs' tables, which reserve some.
constexpr int64_t kMaxValue = int64_t{1} << 62;

LogicalResult verifyValue(Operation *op, int64_t id) {
  if (id >= 0 && id < kMaxValue)
    return success();
  return op->emitOpError("has value number ")
         << id << ", expected one from 0 on below 2^62";
}

/// What a step says of one of its results, which may lie in one of so many
/// arguments.
LogicalResult verifyResult(Operation *op, TensorAttr result, unsigned number,
                           uint64_t numArgs) {
  if (!result.getValue())
    return op->emitOpError("does not say which value its result ")
           << number << " is";
  if (std::optional<int64_t> alias = result.getAlias();
      alias && (*alias < 0 || static_cast<uint64_t>(*alias) >= numArgs))
    return op->emitOpError("has result ")
           << number << " in argument " << *alias << " of " << numArgs;
  return verifyValue(op, *result.getValue());
}

/// What a step says of its arguments or results.
LogicalResult verifyTensors(Operation *op, StringRef name, Attribute list) {
  bool areResults = name == WeftRTDialect::kResultsAttr;
  auto args = op->getAttrOfType<ArrayAttr>(WeftRTDialect::kArgsAttr);
  auto tensors = dyn_cast<ArrayAttr>(list);
  if (!tensors || !llvm::all_of(tensors, llvm::IsaPred<TensorAttr>))
    return op->emitOpError("has '")
           << name << "' = " << list << ", expected an array of "
           << "#weft_rt.tensor";
  for (auto [i, attr] : llvm::enumerate(tensors)) {
    auto tensor = cast<TensorAttr>(attr);
    std::string what =
        (areResults ? "result #" : "argument #") + std::to_string(i);
    if (tensor.getSharding() &&
        failed(
            verifySharding(op, tensor.getSharding(), tensor.getGlobal(), what)))
      return failure();
    if (areResults &&
        failed(verifyResult(op, tensor, i, args ? args.size() : 0)))
      return failure();
    if (areResults && tensor.getHost())
      return op->emitOpError("has ")
             << tensor << " as " << what
             << ", but only arguments say that they lie on the host";
    if (!areResults && (tensor.getAlias() || tensor.getValue()))
      return op->emitOpError("has ")
             << tensor << " as " << what
             << ", but only results have an alias and a value";
  }
  return success();
}

/// What a function says that launches name.
LogicalResult verifyKernel(Operation *op, StringRef name, Attribute value) {
  if (!isa<FunctionOpInterface>(op))
    return op->emitOpError("has '")
           << name << "', which only functions may have";
  if (name == WeftRTDialect::kImageAttr) {
    auto forms = dyn_cast<ArrayAttr>(value);
    if (isa<FlatSymbolRefAttr>(value) ||
        (forms && !forms.empty() &&
         llvm::all_of(forms, llvm::IsaPred<FlatSymbolRefAttr>)))
      return success();
    return op->emitOpError("has '")
           << name << "' = " << value
           << ", expected the name of a global, or a list of such names";
  }
  auto list = dyn_cast<ArrayAttr>(value);
  bool isRight =
      list && llvm::all_of(list, [](Attribute entry) {
        auto type = dyn_cast<TypeAttr>(entry);
        return type && (isBuffer(type.getValue()) || isScalar(type.getValue()));
      });
  if (isRight)
    return success();
  return op->emitOpError("has '")
         << name << "' = " << value
         << ", expected the types of buffers and scalars";
}

/// The channel of a collective that is started or waited for; null if `op` does
/// neither.
FlatSymbolRefAttr getChannelOf(Operation *op) {
  if (auto start = dyn_cast<StartOp>(op))
    return start.getChannelAttr();
  auto wait = dyn_cast<WaitOp>(op);
  auto start = wait ? wait.getTicket().getDefiningOp<StartOp>() : StartOp();
  return start ? start.getChannelAttr() : FlatSymbolRefAttr();
}

LogicalResult verifyStream(Operation *op, Attribute value) {
  StringRef name = WeftRTDialect::kStreamAttr;
  auto fused = dyn_cast<FusedOp>(op);
  if (!isa<CopyOp, LaunchOp, StartOp, WaitOp, RecordOp, AwaitOp>(op) &&
      !(fused && fused.isOnBuffers()))
    return op->emitOpError("has '")
           << name
           << "', which only kernels, copies, starts, waits, records and "
              "awaits may have";
  auto stream = dyn_cast<FlatSymbolRefAttr>(value);
  if (!stream ||
      !SymbolTable::lookupNearestSymbolFrom<weft::ChannelOp>(op, stream))
    return op->emitOpError("has '")
           << name << "' = " << value << ", expected the name of a channel";
  FlatSymbolRefAttr channel = getChannelOf(op);
  if (channel && channel != stream)
    return op->emitOpError("is on the stream of ")
           << stream << ", but its collective is on " << channel;
  return success();
}

LogicalResult verifyEvent(Operation *op, int64_t event) {
  constexpr int64_t kMostEvents = 65536;
  if (event >= 0 && event < kMostEvents)
    return success();
  return op->emitOpError("has event ")
         << event << ", expected 0 to " << kMostEvents - 1;
}

} // namespace

LogicalResult RecordOp::verify() { return verifyEvent(*this, getEvent()); }
LogicalResult AwaitOp::verify() { return verifyEvent(*this, getEvent()); }

FlatSymbolRefAttr mlir::weft::rt::getStream(Operation *op) {
  return op->getAttrOfType<FlatSymbolRefAttr>(WeftRTDialect::kStreamAttr);
}

namespace {

/// The shapes of what `weft_rt.parts` has an entry for; nullopt on ops that
/// have no such list. Those of an assemble are not known.
std::optional<SmallVector<std::optional<ArrayRef<int64_t>>>>
getPartShapes(Operation *op) {
  SmallVector<std::optional<ArrayRef<int64_t>>> shapes;
  if (auto assemble = dyn_cast<AssembleOp>(op)) {
    shapes.resize(assemble.getFrom().size());
    return shapes;
  }
  if (!op->hasAttr(WeftRTDialect::kValuesAttr))
    return std::nullopt;
  for (Type type : op->getOperandTypes())
    if (auto buffer = dyn_cast<MemRefType>(type))
      shapes.push_back(buffer.getShape());
  if (auto scatter = dyn_cast<ScatterAddOp>(op))
    shapes.push_back(cast<MemRefType>(scatter.getTable().getType()).getShape());
  return shapes;
}

/// A part, or unit, for each value that an op names.
LogicalResult verifyParts(Operation *op, StringRef name, Attribute value) {
  auto list = dyn_cast<ArrayAttr>(value);
  auto shapes = getPartShapes(op);
  if (!shapes || (name == WeftRTDialect::kIntoAttr && !isa<AssembleOp>(op)))
    return op->emitOpError("has '")
           << name << "', which only an op that names values may have";
  if (!list || list.size() != shapes->size() ||
      !llvm::all_of(list, llvm::IsaPred<PartAttr, UnitAttr>))
    return op->emitOpError("has '")
           << name << "' = " << value << ", expected a list of "
           << shapes->size() << " parts or units";
  for (auto [entry, shape] : llvm::zip(list, *shapes)) {
    auto part = dyn_cast<PartAttr>(entry);
    if (part && shape && part.getSizes().asArrayRef() != *shape)
      return op->emitOpError("has ")
             << part << " in '" << name << "' for a buffer of sizes [" << *shape
             << "]";
  }
  return success();
}

} // namespace

/// A value id for each buffer operand.
LogicalResult WeftRTDialect::verifyOperationAttribute(Operation *op,
                                                      NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name == "weft_rt.join") {
    auto assemble = dyn_cast<AssembleOp>(op);
    if (assemble && assemble.getFrom().size() == 2)
      return success();
    return op->emitOpError("has '") << name
                                    << "', which only a 'weft_rt.assemble' of "
                                       "two values may have";
  }
  if (name == "weft_rt.product_type") {
    auto type = dyn_cast<TypeAttr>(attr.getValue());
    bool isProduct =
        isa<GemmOp>(op) || op->getName().getStringRef() == "weft.matmul";
    if (isProduct && type && isa<FloatType>(type.getValue()))
      return success();
    return op->emitOpError("has '")
           << name << "' = " << attr.getValue()
           << ", which only products may have, and must be a type of floats";
  }
  if (name == "weft_rt.together") {
    auto fused = dyn_cast<FusedOp>(op);
    auto number = dyn_cast<IntegerAttr>(attr.getValue());
    if (fused && fused.isOnBuffers() && number &&
        number.getType().isInteger(64))
      return success();
    return op->emitOpError("has '")
           << name << "' = " << attr.getValue()
           << ", which only a 'weft_rt.fused' on buffers may have, and must be "
              "an i64";
  }
  if (name == kStreamAttr)
    return verifyStream(op, attr.getValue());
  if (name == kTakesAttr || name == kImageAttr)
    return verifyKernel(op, name, attr.getValue());
  if (name == kArgsAttr || name == kResultsAttr)
    return verifyTensors(op, name, attr.getValue());
  if (name == kPartsAttr || name == kIntoAttr)
    return verifyParts(op, name, attr.getValue());
  if (name != kValuesAttr && name != kReadsAttr)
    return success();
  auto ids = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
  if (!ids)
    return op->emitOpError("has '")
           << name << "' = " << attr.getValue() << ", expected array<i64: ...>";
  int64_t expected = 1;
  if (name == kValuesAttr)
    expected = llvm::count_if(op->getOperandTypes(), llvm::IsaPred<MemRefType>);
  else if (!isa<ScatterAddOp>(op))
    return op->emitOpError("has '")
           << name << "', which only 'weft_rt.scatter_add' may have";
  if (ids.size() != expected)
    return op->emitOpError("has ")
           << ids.size() << " ids in '" << name << "', expected " << expected;
  for (int64_t id : ids.asArrayRef())
    if (failed(verifyValue(op, id)))
      return failure();
  return success();
}

LogicalResult PartAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t begin, DenseI64ArrayAttr sizes,
                               DenseI64ArrayAttr strides, bool) {
  auto isNegative = [](int64_t number) { return number < 0; };
  bool isCounted = sizes.size() == strides.size() && !isNegative(begin) &&
                   begin < kMaxBytes &&
                   llvm::none_of(sizes.asArrayRef(), isNegative) &&
                   llvm::none_of(strides.asArrayRef(), isNegative);
  if (isCounted && (llvm::is_contained(sizes.asArrayRef(), 0) ||
                    isCountable(sizes, strides, 1))) // part_c1
    return success();
  return emitError() << "no part begins at element " << begin << " with sizes ["
                     << sizes.asArrayRef() << "] and strides ["
                     << strides.asArrayRef()
                     << "]: expected a stride for each size, no element twice, "
                        "and all before 2^56";
}

LogicalResult TensorAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringAttr, RankedTensorType local,
                                 RankedTensorType global, ShardingAttr,
                                 std::optional<int64_t>, std::optional<int64_t>,
                                 PartAttr, bool) {
  if (local.hasStaticShape() && global.hasStaticShape() &&
      local.getRank() == global.getRank() &&
      local.getElementType() == global.getElementType()) // tensor_c1
    return success();
  return emitError() << "a rank cannot hold " << local << " of " << global
                     << ": expected static shapes of one rank and element type";
}

TensorAttr TensorAttr::withoutValue() const {
  return get(getContext(), getName(), getLocal(), getGlobal(), getSharding(),
             getAlias(), std::nullopt, PartAttr(), getHost());
}

static SmallVector<TensorAttr> getTensors(Operation *planned, StringRef name) {
  auto list = planned->getAttrOfType<ArrayAttr>(name);
  return list ? llvm::to_vector(list.getAsRange<TensorAttr>())
              : SmallVector<TensorAttr>();
}

SmallVector<TensorAttr> mlir::weft::rt::getArgs(Operation *planned) {
  return getTensors(planned, WeftRTDialect::kArgsAttr);
}

SmallVector<TensorAttr> mlir::weft::rt::getResults(Operation *planned) {
  return getTensors(planned, WeftRTDialect::kResultsAttr);
}

LogicalResult BufferOp::verify() {
  bool isArena = getSpace() == Space::Arena || getSpace() == Space::Host;
  int64_t unit = isArena ? 64 : 1;
  int64_t position = getPosition();
  if (position < 0 || position >= kMaxBytes || position % unit != 0) // c1
    return emitOpError("has position ")
           << position << ", expected a multiple of " << unit << " below 2^56";
  return success();
}

LogicalResult ViewOp::verify() {
  Type source = getSource().getType().getElementType();
  Type result = getType().getElementType();
  if (source != result) // view_c1
    return emitOpError("has a source of ")
           << source << " and a result of " << result;
  int64_t begin = getOffset(), span = getSpan(getType());
  int64_t size = getSpan(getSource().getType());
  if (begin < 0 || begin > size || span > size - begin) // view_c2
    return emitOpError("covers ") << span << " elements from " << begin
                                  << " on of a source of " << size;
  return success();
}

namespace {

/// Checks that sizes of a buffer, indexed by `map`, agree with `sizes` (-1: not
/// seen yet), which it fills.
LogicalResult verifySizes(Operation *op, AffineMap map, ArrayRef<int64_t> shape,
                          unsigned number, SmallVectorImpl<int64_t> &sizes) {
  for (auto [i, size] : llvm::enumerate(shape)) {
    int64_t &known = sizes[map.getDimPosition(i)];
    if (known >= 0 && known != size)
      return op->emitOpError("operand #")
             << number << " has size " << size << " in dim " << i
             << ", expected " << known;
    known = size;
  }
  return success();
}

bool isIndexing(AffineMap map, unsigned numDims, int64_t rank) {
  return map.isProjectedPermutation() && map.getNumSymbols() == 0 &&
         map.getNumDims() == numDims && map.getNumResults() == rank;
}

} // namespace

LogicalResult GemmOp::verify() {
  if (getIndexingMaps().size() != 3) // gemm_c1
    return emitOpError("has ")
           << getIndexingMaps().size() << " maps, expected 3";
  SmallVector<AffineMap> maps(
      getIndexingMaps().getAsValueRange<AffineMapAttr>());
  SmallVector<int64_t> sizes(maps[0].getNumDims(), -1);
  unsigned numDoubles = 0;
  for (auto [i, operand] : llvm::enumerate(getOperandTypes())) {
    auto type = cast<MemRefType>(operand);
    if (!isIndexing(maps[i], sizes.size(), type.getRank())) // gemm_c1
      return emitOpError("map #")
             << i << " is " << AffineMapAttr::get(maps[i])
             << ", expected a projected permutation"
             << " of " << sizes.size() << " dims to " << type.getRank();
    if (i == 2)
      for (auto [dim, size] : llvm::enumerate(sizes)) // gemm_c2
        if (size < 0)
          return emitOpError("has d") << dim << " in neither operand's map";
    if (failed(verifySizes(*this, maps[i], type.getShape(), i, sizes)))
      return failure();
    if (!isa<FloatType>(type.getElementType())) // gemm_c3
      return emitOpError("operand #")
             << i << " has elements of type " << type.getElementType()
             << ", expected a floating-point type";
    numDoubles += type.getElementType().isF64();
  }
  if (numDoubles % 3 != 0) // gemm_c3
    return emitOpError("mixes f64 with other types");
  int64_t summed = 1;
  for (auto [dim, size] : llvm::enumerate(sizes))
    summed *= maps[2].isFunctionOfDim(dim) ? 1 : size;
  return verifyLeaves(*this, summed);
}

namespace {

/// Says whether a buffer, indexed by `map`, has the sizes of the updates.
bool hasSizes(AffineMap map, ArrayRef<int64_t> shape, ArrayRef<int64_t> sizes) {
  for (auto [i, size] : llvm::enumerate(shape))
    if (sizes[map.getDimPosition(i)] != size)
      return false;
  return true;
}

} // namespace

LogicalResult ScatterAddOp::verify() {
  auto table = cast<MemRefType>(getTable().getType());
  auto indices = cast<MemRefType>(getIndices().getType());
  auto updates = cast<MemRefType>(getUpdates().getType());
  int64_t axis = getAxis();
  bool isRight = axis >= 0 && axis < table.getRank() &&
                 table.getElementType() == updates.getElementType() &&
                 indices.getElementType().isSignlessInteger(); // c1
  SmallVector<int64_t> rest(table.getShape());
  if (isRight)
    rest.erase(rest.begin() + axis);
  unsigned numDims = updates.getRank();
  isRight = isRight && isIndexing(getTableMap(), numDims, rest.size()) &&
            isIndexing(getIndexMap(), numDims, indices.getRank()) &&
            hasSizes(getTableMap(), rest, updates.getShape()) &&
            hasSizes(getIndexMap(), indices.getShape(),
                     updates.getShape()); // c2
  if (isRight)
    return success();
  return emitOpError("adds ")
         << updates << " into " << table << " by indices of " << indices
         << ", which its axis and maps do not allow";
}

LogicalResult CopyOp::verify() {
  auto from = cast<MemRefType>(getSource().getType());
  auto to = cast<MemRefType>(getTarget().getType());
  if (from.getShape() == to.getShape() && isDense(from) && isDense(to) &&
      from.getElementType() == to.getElementType()) // copy_c1
    return success();
  return emitOpError("copies ")
         << from << " to " << to
         << ", expected dense buffers of one shape and element type";
}

LogicalResult ReadScalarOp::verify() {
  auto type = cast<MemRefType>(getBuffer().getType());
  if (static_cast<int64_t>(getIndices().size()) == type.getRank()) // c1
    return success();
  return emitOpError("has ") << getIndices().size() << " indices for " << type;
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getKernelAttr());
  if (!kernel) // launch_c1
    return emitOpError("launches @") << getKernel() << ", which is no function";
  auto takes = kernel->getAttrOfType<ArrayAttr>(WeftRTDialect::kTakesAttr);
  if (!takes)
    return emitOpError("launches @") << getKernel() << ", which has no '"
                                     << WeftRTDialect::kTakesAttr << "'";
  if (llvm::equal(takes.getAsValueRange<TypeAttr>(), getOperandTypes()))
    return success();
  return emitOpError("passes (")
         << getOperandTypes() << ") to @" << getKernel() << ", which takes ("
         << llvm::to_vector(takes.getAsValueRange<TypeAttr>()) << ")";
}

SmallVector<int64_t> LaunchNumbersAttr::getNumbers() const {
  return llvm::to_vector(getValues().asArrayRef());
}

SmallVector<int64_t> HostRangeAttr::getNumbers() const {
  return {getExtent(), getGrain()};
}

LogicalResult
HostRangeAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      int64_t extent, int64_t grain) {
  if (extent >= 0 && grain >= 1) // host_range_c1
    return success();
  return emitError() << "a range of " << extent << " iterations in pieces of "
                     << grain << " is none";
}
