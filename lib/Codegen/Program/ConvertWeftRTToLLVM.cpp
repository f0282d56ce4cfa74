// SPDX-License-Identifier: Apache-2.0

// The planned function's body moves into the entry function, and its ops are
// replaced one by one: a buffer becomes its address.

#include "ProgramTable.h"
#include "SplitEntry.h"
#include "weft/Codegen/Program/EmitMemory.h"

#include "weft/Codegen/Program/Passes.h"

#include "weft-rt/abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SHA256.h"

namespace mlir::weft {
#define GEN_PASS_DEF_CONVERTWEFTRTTOLLVMPASS
#include "weft/Codegen/Program/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Functions of weft_rt_api by where their pointers lie in it.
#define WEFT_RT_FUNCTION(result, name, ...)                                    \
  constexpr size_t name##Function = offsetof(weft_rt_api, name);
#include "weft-rt/abi.def"

/// Ops of a part of the entry function; see splitEntry.
constexpr int64_t kOpsPerFunction = 2000;

class EntryBuilder {
public:
  EntryBuilder(ModuleOp module, func::FuncOp planned)
      : module(module), planned(planned), table(module, planned),
        builder(module.getContext()), loc(planned.getLoc()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())),
        i64(builder.getI64Type()) {}

  LogicalResult run(ArrayRef<uint8_t> planHash);

private:
  void createEntry();
  LogicalResult convert(Operation *op);
  LogicalResult convertOne(Operation *op);
  void chooseStream(int channel);
  void convertEvent(size_t function, int64_t event);
  Value emitBuffer(rt::BufferOp op);
  Value emitView(rt::ViewOp op);
  LogicalResult convertRead(rt::ReadScalarOp op);
  void convertCopy(rt::CopyOp op);
  LogicalResult convertLaunch(rt::LaunchOp op);
  LogicalResult convertGemm(rt::GemmOp op);
  LogicalResult convertAttention(rt::AttentionOp op);
  LogicalResult convertStart(rt::StartOp op);
  void convertWait(rt::WaitOp op);
  void convertAxisIndex(AxisIndexOp op);
  void convertGlobals();

  Value getAddress(Value buffer);
  Value loadPointer(Value base, int64_t index);
  Value emitPointerArray(ValueRange values, int64_t begin = 0);
  Value emitScalar(Value value);
  Value emitScalarArray(ValueRange values);
  Value call(size_t function, Type result, int op, ValueRange operands);
  /// In the LLVM dialect, so that a part that has nothing else is finished.
  Value emitLong(int64_t value) {
    return LLVM::ConstantOp::create(builder, loc, i64,
                                    builder.getI64IntegerAttr(value));
  }
  Value emitInt32(int64_t value) {
    return LLVM::ConstantOp::create(builder, loc,
                                    builder.getI32IntegerAttr(value));
  }

  ModuleOp module;
  func::FuncOp planned;
  ProgramTable table;
  OpBuilder builder;
  Location loc;
  Type pointer, i64;
  LLVM::LLVMFuncOp entry;
  Value api, rank, args, results, arena, host;
  /// Which ops the tickets are of.
  DenseMap<Value, int> startOfTicket;
  DenseMap<Value, Value> bitsOfIndex;
  /// Room for the pointers and for the scalars of one call.
  Value pointers, numbers;
};

Value EntryBuilder::loadPointer(Value base, int64_t index) {
  Value place =
      LLVM::GEPOp::create(builder, loc, pointer, pointer, base,
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
  return LLVM::LoadOp::create(builder, loc, pointer, place);
}

void EntryBuilder::createEntry() {
  builder.setInsertionPoint(planned);
  Type none = LLVM::LLVMVoidType::get(module.getContext());
  SmallVector<Type> types(6, pointer);
  entry = LLVM::LLVMFuncOp::create(builder, loc, "weft_entry",
                                   LLVM::LLVMFunctionType::get(none, types));
  entry.setVisibility_(LLVM::Visibility::Hidden);
  Block *block = entry.addEntryBlock(builder);
  api = block->getArgument(0);
  rank = block->getArgument(1);
  args = block->getArgument(2);
  results = block->getArgument(3);
  arena = block->getArgument(4);
  host = block->getArgument(5);
  // Calls in a row: there is nothing in it to optimize.
  entry.setPassthroughAttr(builder.getStrArrayAttr({"noinline", "optnone"}));
  Block &body = planned.getBody().front();
  int64_t count = 1;
  planned.walk([&](Operation *op) {
    count = std::max<int64_t>(count, op->getNumOperands());
    if (isa<rt::AttentionOp>(op))
      count = std::max<int64_t>(count, WEFT_RT_ATTENTION_NUM_BUFFERS);
  });
  builder.setInsertionPointToStart(block);
  auto allocate = [&](Type type, int64_t size) {
    return LLVM::AllocaOp::create(
        builder, loc, pointer, type,
        LLVM::ConstantOp::create(builder, loc, i64,
                                 builder.getI64IntegerAttr(size)));
  };
  pointers = allocate(pointer, count + 1);
  numbers = allocate(i64, count);
  block->getOperations().splice(block->end(), body.getOperations());
}

Value EntryBuilder::emitBuffer(rt::BufferOp op) {
  switch (op.getSpace()) {
  case rt::Space::Argument:
    return loadPointer(args, op.getPosition());
  case rt::Space::Result:
    return loadPointer(results, op.getPosition());
  case rt::Space::Arena:
    return emitAddress(builder, loc, arena, builder.getI8Type(),
                       emitLong(op.getPosition()));
  case rt::Space::Host:
    return emitAddress(builder, loc, host, builder.getI8Type(),
                       emitLong(op.getPosition()));
  }
  llvm_unreachable("a space that is not listed");
}

Value EntryBuilder::emitView(rt::ViewOp op) {
  auto type = cast<MemRefType>(op.getType());
  Type element = type.getElementType();
  Value index = emitLong(op.getOffset());
  if (op.getDynamicOffset()) {
    index = arith::AddIOp::create(
        builder, loc, index,
        arith::IndexCastOp::create(builder, loc, i64, op.getDynamicOffset()));
    // Whatever the offset is, a part lies within the whole.
    int64_t last = rt::getSpan(cast<MemRefType>(op.getSource().getType())) -
                   rt::getSpan(type);
    index = arith::MaxSIOp::create(
        builder, loc, emitInt(builder, loc, 0),
        arith::MinSIOp::create(builder, loc, index,
                               emitInt(builder, loc, last)));
  }
  return emitAddress(builder, loc, getAddress(op.getSource()), element, index);
}

/// The address of a buffer, computed where it is used: kept for later, those of
/// a long step would all be alive at once.
Value EntryBuilder::getAddress(Value buffer) {
  if (auto op = buffer.getDefiningOp<rt::BufferOp>())
    return emitBuffer(op);
  if (auto op = buffer.getDefiningOp<rt::ViewOp>())
    return emitView(op);
  auto global = buffer.getDefiningOp<memref::GetGlobalOp>();
  return LLVM::AddressOfOp::create(builder, loc, pointer, global.getName());
}

/// An element that does not exist is zero.
LogicalResult EntryBuilder::convertRead(rt::ReadScalarOp op) {
  auto type = cast<MemRefType>(op.getBuffer().getType());
  Type element = type.getElementType();
  FailureOr<int64_t> code = table.getTypeCode(op, element);
  if (failed(code))
    return failure();
  SmallVector<Value> subscripts, checked;
  for (auto [subscript, size] : llvm::zip(op.getIndices(), type.getShape())) {
    subscripts.push_back(
        arith::IndexCastOp::create(builder, loc, i64, subscript));
    APInt number;
    bool isSafe =
        matchPattern(subscript, m_ConstantInt(&number)) && number.ult(size);
    checked.push_back(isSafe ? Value() : subscripts.back());
  }
  op.getResult().replaceAllUsesWith(
      emitElement(builder, loc, type, getAddress(op.getBuffer()), subscripts,
                  checked, [&](Value address) {
                    Value bits = call(read_scalarFunction, i64, -1,
                                      {emitInt32(*code), address});
                    return unpackScalar(builder, loc, element, bits);
                  }));
  return success();
}

void EntryBuilder::convertCopy(rt::CopyOp op) {
  Value descriptor =
      LLVM::AddressOfOp::create(builder, loc, pointer, table.addCopy(op));
  int number =
      op->hasAttr(WeftDialect::kOpNameAttr) ? table.addOp(op, "copy") : -1;
  call(copyFunction, {}, number,
       {descriptor, getAddress(op.getSource()), getAddress(op.getTarget())});
}

/// Stores pointers for the call that follows.
Value EntryBuilder::emitPointerArray(ValueRange values, int64_t begin) {
  Value array =
      LLVM::GEPOp::create(builder, loc, pointer, pointer, pointers,
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(begin)});
  for (auto [i, value] : llvm::enumerate(values)) {
    Value place =
        LLVM::GEPOp::create(builder, loc, pointer, pointer, array,
                            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    LLVM::StoreOp::create(builder, loc, value, place);
  }
  return array;
}

/// The 64 bits of a scalar. An index is one where it is made, not in each part
/// of the entry that passes it.
Value EntryBuilder::emitScalar(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return emitLong(number.getZExtValue());
  if (!value.getType().isIndex())
    return packScalar(builder, loc, value);
  Value &bits = bitsOfIndex[value];
  if (!bits) {
    OpBuilder at(value.getContext());
    at.setInsertionPointAfterValue(value);
    bits = packScalar(at, loc, value);
  }
  return bits;
}

/// Stores scalars for the call that follows.
Value EntryBuilder::emitScalarArray(ValueRange values) {
  for (auto [i, value] : llvm::enumerate(values)) {
    Value bits = emitScalar(value);
    Value place =
        LLVM::GEPOp::create(builder, loc, pointer, i64, numbers,
                            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    LLVM::StoreOp::create(builder, loc, bits, place);
  }
  return numbers;
}

/// Calls a function of the API. `op` is its first number: for most, of an op of
/// the program's table.
Value EntryBuilder::call(size_t function, Type result, int op,
                         ValueRange operands) {
  Value callee = loadPointer(api, function / sizeof(void *));
  SmallVector<Value> all = {callee, rank, emitInt32(op)};
  all.append(operands.begin(), operands.end());
  SmallVector<Type> types;
  for (Value value : llvm::drop_begin(all))
    types.push_back(value.getType());
  Type resultType =
      result ? result : LLVM::LLVMVoidType::get(module.getContext());
  auto callOp = LLVM::CallOp::create(
      builder, loc, LLVM::LLVMFunctionType::get(resultType, types), all);
  return result ? callOp.getResult() : Value();
}

LogicalResult EntryBuilder::convertLaunch(rt::LaunchOp op) {
  FailureOr<std::string> symbol = table.addLaunch(op);
  if (failed(symbol))
    return failure();
  Value descriptor = LLVM::AddressOfOp::create(builder, loc, pointer, *symbol);
  SmallVector<Value> buffers;
  for (Value buffer : op.getBuffers())
    buffers.push_back(getAddress(buffer));
  Value scalars = op.getScalars().empty()
                      ? LLVM::ZeroOp::create(builder, loc, pointer)
                      : emitScalarArray(op.getScalars());
  call(launchFunction, {}, table.addOp(op, "kernel"),
       {descriptor, emitPointerArray(buffers), scalars});
  return success();
}

LogicalResult EntryBuilder::convertGemm(rt::GemmOp op) {
  if (rt::getBufferBytes(cast<MemRefType>(op.getOut().getType())) == 0)
    return success();
  FailureOr<std::string> symbol = table.addGemm(op);
  if (failed(symbol))
    return failure();
  Value descriptor = LLVM::AddressOfOp::create(builder, loc, pointer, *symbol);
  call(gemmFunction, {}, table.addOp(op, "matmul"),
       {descriptor, getAddress(op.getLhs()), getAddress(op.getRhs()),
        getAddress(op.getOut())});
  return success();
}

LogicalResult EntryBuilder::convertAttention(rt::AttentionOp op) {
  if (llvm::all_of(op.getOuts(), [](Value out) {
        return rt::getBufferBytes(cast<MemRefType>(out.getType())) == 0;
      }))
    return success();
  FailureOr<std::string> symbol = table.addAttention(op);
  if (failed(symbol))
    return failure();
  Value descriptor = LLVM::AddressOfOp::create(builder, loc, pointer, *symbol);
  Value none = LLVM::ZeroOp::create(builder, loc, pointer);
  SmallVector<Value> buffers(WEFT_RT_ATTENTION_NUM_BUFFERS, none);
  for (auto [tensor, value] : op.getValues())
    buffers[static_cast<int>(tensor)] = getAddress(value);
  Value start = op.getStart() ? arith::IndexCastOp::create(builder, loc, i64,
                                                           op.getStart())
                                    .getResult()
                              : emitLong(0);
  StringRef name = op.getOuts().size() == 3 ? "attention_grad" : "attention";
  call(attentionFunction, {}, table.addOp(op, name),
       {descriptor, emitPointerArray(buffers), start});
  return success();
}

LogicalResult EntryBuilder::convertStart(rt::StartOp op) {
  int number = table.addOp(op, stringifyCollectiveKind(op.getKind()));
  FailureOr<std::string> symbol =
      table.addCollective(op, table.getOpName(number));
  if (failed(symbol))
    return failure();
  SmallVector<Value> ins, outs;
  for (Value buffer : op.getIns())
    ins.push_back(getAddress(buffer));
  for (Value buffer : op.getOuts())
    outs.push_back(getAddress(buffer));
  Value descriptor = LLVM::AddressOfOp::create(builder, loc, pointer, *symbol);
  Value ticket = call(
      startFunction, i64, number,
      {descriptor, emitPointerArray(ins), emitPointerArray(outs, ins.size())});
  op.getTicket().replaceAllUsesWith(ticket);
  startOfTicket[ticket] = number;
  return success();
}

void EntryBuilder::convertWait(rt::WaitOp op) {
  auto start = startOfTicket.find(op.getTicket());
  std::string name;
  if (start != startOfTicket.end())
    name = ("wait " + table.getOpName(start->second)).str();
  call(waitFunction, {}, table.addOp(op, "wait", name), op.getTicket());
}

/// The mixed-radix number of the rank's coordinates: rank ids are row-major.
void EntryBuilder::convertAxisIndex(AxisIndexOp op) {
  MeshAttr mesh = lookupMesh(module, op.getMeshAttr());
  Value id = LLVM::LoadOp::create(builder, loc, i64, rank);
  Value number = emitInt(builder, loc, 0);
  for (AxisRefAttr axis : op.getAxes().getAxes()) {
    unsigned position = *mesh.getAxisIndex(axis.getName());
    int64_t size = *getAxisRefSize(mesh, axis);
    // Ranks between neighbours along the axis, then along the part of it.
    int64_t stride = 1;
    for (MeshAxisAttr minor : mesh.getAxes().drop_front(position + 1))
      stride *= minor.getSize();
    int64_t pre = axis.isWholeAxis() ? 1 : axis.getPreSize();
    stride *= mesh.getAxes()[position].getSize() / (pre * size);
    Value coordinate = arith::RemUIOp::create(
        builder, loc,
        arith::DivUIOp::create(builder, loc, id, emitInt(builder, loc, stride)),
        emitInt(builder, loc, size));
    number = arith::AddIOp::create(
        builder, loc,
        arith::MulIOp::create(builder, loc, number,
                              emitInt(builder, loc, size)),
        coordinate);
  }
  op.getResult().replaceAllUsesWith(
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), number));
}

/// Chooses the stream of a channel, or of -1 the one that computes.
void EntryBuilder::chooseStream(int channel) {
  call(set_streamFunction, {}, channel, {});
}

void EntryBuilder::convertEvent(size_t function, int64_t event) {
  table.noteEvent(event);
  call(function, {}, static_cast<int>(event), {});
}

/// Between ops the stream that computes is the chosen one.
LogicalResult EntryBuilder::convert(Operation *op) {
  builder.setInsertionPoint(op);
  FlatSymbolRefAttr stream = rt::getStream(op);
  if (stream)
    chooseStream(table.getChannel(stream));
  if (failed(convertOne(op)))
    return failure();
  builder.setInsertionPoint(op);
  if (stream)
    chooseStream(-1);
  return success();
}

LogicalResult EntryBuilder::convertOne(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<rt::BufferOp, rt::ViewOp, memref::GetGlobalOp>(
          [&](Operation *) { return success(); })      // emitted at their uses
      .Case([&](rt::AssembleOp) { return success(); }) // a marker
      .Case([&](rt::ReadScalarOp o) { return convertRead(o); })
      .Case([&](rt::CopyOp o) { return convertCopy(o), success(); })
      .Case([&](rt::LaunchOp o) { return convertLaunch(o); })
      .Case([&](rt::GemmOp o) { return convertGemm(o); })
      .Case([&](rt::AttentionOp o) { return convertAttention(o); })
      .Case([&](rt::StartOp o) { return convertStart(o); })
      .Case([&](rt::WaitOp o) { return convertWait(o), success(); })
      .Case([&](rt::RecordOp o) {
        return convertEvent(recordFunction, o.getEvent()), success();
      })
      .Case([&](rt::AwaitOp o) {
        return convertEvent(awaitFunction, o.getEvent()), success();
      })
      .Case([&](AxisIndexOp o) { return convertAxisIndex(o), success(); })
      .Case([&](func::ReturnOp o) {
        LLVM::ReturnOp::create(builder, loc, ValueRange());
        return success();
      })
      .Default([](Operation *o) {
        return o->emitOpError("has no form in the llvm phase");
      });
}

/// Constants of the source become arrays of the LLVM dialect.
void EntryBuilder::convertGlobals() {
  for (auto global :
       llvm::make_early_inc_range(module.getOps<memref::GlobalOp>())) {
    auto elements = cast<DenseElementsAttr>(*global.getInitialValue());
    Type element = elements.getElementType();
    if (element.isInteger(1) || element.isIndex()) {
      // As they lie in memory; see emitLoad.
      unsigned bits = 8 * rt::getElementBytes(element);
      element = builder.getIntegerType(bits);
      elements = elements.mapValues(
          element, [&](const APInt &value) { return value.zext(bits); });
    }
    if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8) {
      element = builder.getI8Type();
      elements = elements.bitcast(element);
    }
    int64_t count = elements.getNumElements();
    elements = elements.reshape(RankedTensorType::get({count}, element));
    builder.setInsertionPoint(global);
    LLVM::GlobalOp::create(builder, global.getLoc(),
                           LLVM::LLVMArrayType::get(element, count),
                           /*isConstant=*/true, LLVM::Linkage::Private,
                           global.getSymName(), elements, /*alignment=*/64);
    global.erase();
  }
}

LogicalResult EntryBuilder::run(ArrayRef<uint8_t> planHash) {
  createEntry();
  SmallVector<Operation *> ops;
  entry.walk<WalkOrder::PreOrder>([&](Operation *op) {
    Dialect *dialect = op->getDialect();
    if (op != entry &&
        (isa<rt::WeftRTDialect, memref::MemRefDialect, WeftDialect>(dialect) ||
         isa<func::ReturnOp>(op)))
      ops.push_back(op);
  });
  for (Operation *op : ops)
    if (failed(convert(op)))
      return failure();
  for (Operation *op : llvm::reverse(ops))
    op->erase();
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(entry.getBody().front())))
    if (isa<arith::ConstantOp, arith::IndexCastOp>(op) && op.use_empty())
      op.erase();
  splitEntry(entry, kOpsPerFunction);
  convertGlobals();
  LogicalResult result = table.finish(planHash, "weft_entry");
  // The C header names arguments and results.
  auto setNames = [&](StringRef attribute, ArrayRef<rt::TensorAttr> tensors) {
    SmallVector<Attribute> names;
    for (rt::TensorAttr tensor : tensors)
      names.push_back(tensor.getName() ? tensor.getName()
                                       : builder.getStringAttr(""));
    module->setAttr(attribute, builder.getArrayAttr(names));
  };
  setNames("weft_rt.arg_names", rt::getArgs(planned));
  setNames("weft_rt.result_names", rt::getResults(planned));
  planned.erase();
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (isa<MeshOp, ChannelOp>(op))
      op.erase();
  return result;
}

using PlanHash = std::array<uint8_t, 32>;

/// All ranks must run the same plan: its text stands for it. Programs of a set
/// that was made together say so by an equal 'weft_rt.plan_hash'.
FailureOr<PlanHash> getPlanHash(func::FuncOp planned) {
  if (auto attr = planned->getAttr("weft_rt.plan_hash")) {
    auto text = dyn_cast<StringAttr>(attr);
    std::string bytes;
    if (!text || text.getValue().size() != 2 * sizeof(PlanHash) ||
        !llvm::tryGetFromHex(text.getValue(), bytes))
      return planned.emitOpError(
                 "expects 'weft_rt.plan_hash' to be a string of "
                 "64 hexadecimal digits, found ")
             << attr;
    PlanHash hash;
    llvm::copy(bytes, hash.begin());
    return hash;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  planned->getParentOp()->print(os);
  return llvm::SHA256::hash(ArrayRef<uint8_t>(
      reinterpret_cast<const uint8_t *>(text.data()), text.size()));
}

struct ConvertWeftRTToLLVMPass
    : public weft::impl::ConvertWeftRTToLLVMPassBase<ConvertWeftRTToLLVMPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    if (functions.size() != 1) {
      module.emitError("has ")
          << functions.size() << " functions, expected one step";
      return signalPassFailure();
    }
    func::FuncOp planned = functions.front();
    if (planned.getNumArguments() != 0 ||
        !planned->hasAttrOfType<ArrayAttr>("weft_rt.args") ||
        !planned->hasAttrOfType<ArrayAttr>("weft_rt.results") ||
        !planned->hasAttrOfType<IntegerAttr>("weft_rt.arena_bytes")) {
      planned.emitOpError("is no planned step, which has 'weft_rt.args', "
                          "'weft_rt.results' and 'weft_rt.arena_bytes'");
      return signalPassFailure();
    }
    FailureOr<PlanHash> hash = getPlanHash(planned);
    if (failed(hash) || failed(EntryBuilder(module, planned).run(*hash)))
      signalPassFailure();
  }
};

} // namespace
