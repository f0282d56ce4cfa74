// SPDX-License-Identifier: Apache-2.0

// The planned function's body moves into the entry function, and its ops are
// replaced one by one: a buffer becomes its address.

#include "BufferPlan.h"
#include "KernelEmitter.h"
#include "ProgramTable.h"
#include "SplitEntry.h"

#include "weft/Conversion/WeftToHost/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SHA256.h"

namespace mlir::weft {
#define GEN_PASS_DEF_CONVERTWEFTRTTOLLVMPASS
#include "weft/Conversion/WeftToHost/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Indices of the functions of weft_rt_api, as pointers from its start; the
/// first 8 bytes are version and size.
enum ApiFunction { kGemm = 1, kLaunch = 2, kStart = 3, kWait = 4 };

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
  Value emitBuffer(rt::BufferOp op);
  Value emitView(rt::ViewOp op);
  void convertLoad(memref::LoadOp op);
  void convertStore(memref::StoreOp op);
  void convertCopy(memref::CopyOp op);
  void convertLaunch(rt::LaunchOp op);
  LogicalResult convertGemm(rt::GemmOp op);
  LogicalResult convertStart(rt::StartOp op);
  void convertWait(rt::WaitOp op);
  void convertAxisIndex(AxisIndexOp op);
  void convertGlobals();

  Value getAddress(Value buffer);
  Value getElementAddress(Value buffer, ValueRange subscripts);
  Value loadPointer(Value base, int64_t index);
  Value emitPointerArray(ValueRange values, int64_t begin = 0);
  Value call(ApiFunction function, Type result, int op, ValueRange operands);

  ModuleOp module;
  func::FuncOp planned;
  ProgramTable table;
  OpBuilder builder;
  Location loc;
  Type pointer, i64;
  LLVM::LLVMFuncOp entry;
  Value api, rank, args, results, arena;
  /// Which ops the tickets are of.
  DenseMap<Value, int> startOfTicket;
  /// Room for the pointers of one call.
  LLVM::AllocaOp pointers;
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
  SmallVector<Type> types(5, pointer);
  entry = LLVM::LLVMFuncOp::create(builder, loc, "weft_entry",
                                   LLVM::LLVMFunctionType::get(none, types));
  entry.setVisibility_(LLVM::Visibility::Hidden);
  Block *block = entry.addEntryBlock(builder);
  api = block->getArgument(0);
  rank = block->getArgument(1);
  args = block->getArgument(2);
  results = block->getArgument(3);
  arena = block->getArgument(4);
  // Calls in a row: there is nothing in it to optimize.
  entry.setPassthroughAttr(builder.getStrArrayAttr({"noinline", "optnone"}));
  Block &body = planned.getBody().front();
  int64_t count = 1;
  planned.walk([&](Operation *op) {
    count = std::max<int64_t>(count, op->getNumOperands());
  });
  builder.setInsertionPointToStart(block);
  pointers = LLVM::AllocaOp::create(
      builder, loc, pointer, pointer,
      LLVM::ConstantOp::create(builder, loc, i64,
                               builder.getI64IntegerAttr(count)));
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
                       emitInt(builder, loc, op.getPosition()));
  }
  llvm_unreachable("a space that is not listed");
}

Value EntryBuilder::emitView(rt::ViewOp op) {
  auto type = cast<MemRefType>(op.getType());
  Type element = type.getElementType();
  Value index = emitInt(builder, loc, op.getOffset());
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

Value EntryBuilder::getElementAddress(Value buffer, ValueRange subscripts) {
  auto type = cast<MemRefType>(buffer.getType());
  Value index = emitInt(builder, loc, 0);
  for (auto [subscript, stride] :
       llvm::zip(subscripts, getBufferStrides(type))) {
    Value wide = arith::IndexCastOp::create(builder, loc, i64, subscript);
    index = arith::AddIOp::create(
        builder, loc, index,
        arith::MulIOp::create(builder, loc, wide,
                              emitInt(builder, loc, stride)));
  }
  return emitAddress(builder, loc, getAddress(buffer), type.getElementType(),
                     index);
}

/// An element that does not exist is zero.
void EntryBuilder::convertLoad(memref::LoadOp op) {
  auto type = op.getMemRefType();
  SmallVector<Value> subscripts, checked;
  for (auto [subscript, size] : llvm::zip(op.getIndices(), type.getShape())) {
    subscripts.push_back(
        arith::IndexCastOp::create(builder, loc, i64, subscript));
    APInt number;
    bool isSafe =
        matchPattern(subscript, m_ConstantInt(&number)) && number.ult(size);
    checked.push_back(isSafe ? Value() : subscripts.back());
  }
  op.getResult().replaceAllUsesWith(emitElement(
      builder, loc, type, getAddress(op.getMemRef()), subscripts, checked));
}

void EntryBuilder::convertStore(memref::StoreOp op) {
  emitStore(builder, loc, op.getValueToStore(),
            getElementAddress(op.getMemRef(), op.getIndices()));
}

void EntryBuilder::convertCopy(memref::CopyOp op) {
  auto type = cast<MemRefType>(op.getSource().getType());
  LLVM::MemcpyOp::create(
      builder, loc, getAddress(op.getTarget()), getAddress(op.getSource()),
      emitInt(builder, loc, rt::getBufferBytes(type)), /*isVolatile=*/false);
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

/// Calls a function of the API for op `op` of the program's table.
Value EntryBuilder::call(ApiFunction function, Type result, int op,
                         ValueRange operands) {
  Value callee = loadPointer(api, function);
  Value number =
      LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(op));
  SmallVector<Value> all = {callee, rank, number};
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

void EntryBuilder::convertLaunch(rt::LaunchOp op) {
  SmallVector<Value> buffers;
  for (Value buffer : op.getBuffers())
    buffers.push_back(getAddress(buffer));
  Value kernel =
      LLVM::AddressOfOp::create(builder, loc, pointer, op.getKernel());
  call(kLaunch, {}, table.addOp(op, "kernel"),
       {kernel, emitPointerArray(buffers),
        emitInt(builder, loc, op.getExtent()),
        emitInt(builder, loc, op.getGrain())});
}

LogicalResult EntryBuilder::convertGemm(rt::GemmOp op) {
  if (rt::getBufferBytes(cast<MemRefType>(op.getOut().getType())) == 0)
    return success();
  FailureOr<std::string> symbol = table.addGemm(op);
  if (failed(symbol))
    return failure();
  Value descriptor = LLVM::AddressOfOp::create(builder, loc, pointer, *symbol);
  call(kGemm, {}, table.addOp(op, "matmul"),
       {descriptor, getAddress(op.getLhs()), getAddress(op.getRhs()),
        getAddress(op.getOut())});
  return success();
}

/// Checks that a collective has the parameters that its descriptor is made of.
LogicalResult verifyParams(rt::StartOp op, MeshAttr mesh) {
  auto axes = op.getParams().getAs<AxesAttr>("axes");
  if (!axes || !llvm::all_of(axes.getAxes(), [&](AxisRefAttr axis) {
        return mesh.getAxisIndex(axis.getName()).has_value();
      }))
    return op.emitOpError("expects 'axes' of the mesh ") << mesh;
  SmallVector<StringRef> lists;
  if (op.getCollective() == "all_to_all")
    lists = {"split_dims", "concat_dims"};
  else if (op.getCollective() == "all_gather" ||
           op.getCollective() == "reduce_scatter")
    lists = {"dims"};
  for (StringRef list : lists) {
    auto dims = op.getParams().getAs<DenseI64ArrayAttr>(list);
    bool isValid =
        dims && dims.size() == static_cast<int64_t>(op.getIns().size());
    for (unsigned i = 0; isValid && i < op.getIns().size(); ++i)
      isValid =
          dims[i] >= 0 &&
          dims[i] < cast<MemRefType>(op.getIns()[i].getType()).getRank() &&
          dims[i] < cast<MemRefType>(op.getOuts()[i].getType()).getRank();
    if (!isValid)
      return op.emitOpError("expects '") << list << "', a dim per buffer";
  }
  return success();
}

LogicalResult EntryBuilder::convertStart(rt::StartOp op) {
  if (!table.getMesh())
    return op.emitOpError("needs a mesh, and the module has none");
  if (failed(verifyParams(op, table.getMesh())))
    return failure();
  int number = table.addOp(op, op.getCollective());
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
      kStart, i64, number,
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
  call(kWait, {}, table.addOp(op, "wait", name), op.getTicket());
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

LogicalResult EntryBuilder::convert(Operation *op) {
  builder.setInsertionPoint(op);
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<rt::BufferOp, rt::ViewOp, memref::GetGlobalOp>(
          [&](Operation *) { return success(); })      // emitted at their uses
      .Case([&](rt::AssembleOp) { return success(); }) // a marker
      .Case([&](memref::LoadOp o) { return convertLoad(o), success(); })
      .Case([&](memref::StoreOp o) { return convertStore(o), success(); })
      .Case([&](memref::CopyOp o) { return convertCopy(o), success(); })
      .Case([&](rt::LaunchOp o) { return convertLaunch(o), success(); })
      .Case([&](rt::GemmOp o) { return convertGemm(o); })
      .Case([&](rt::StartOp o) { return convertStart(o); })
      .Case([&](rt::WaitOp o) { return convertWait(o), success(); })
      .Case([&](AxisIndexOp o) { return convertAxisIndex(o), success(); })
      .Case([&](func::ReturnOp o) {
        LLVM::ReturnOp::create(builder, loc, ValueRange());
        return success();
      })
      .Default([](Operation *o) {
        return o->emitOpError("has no form in the target phase");
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
      unsigned bits = 8 * getElementBytes(element);
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
  splitEntry(entry, kOpsPerFunction);
  convertGlobals();
  LogicalResult result = table.finish(planHash, "weft_entry");
  // The C header names arguments and results.
  for (StringRef list : {"weft_rt.args", "weft_rt.results"}) {
    SmallVector<Attribute> names;
    for (Attribute attr : planned->getAttrOfType<ArrayAttr>(list)) {
      auto name = cast<DictionaryAttr>(attr).getAs<StringAttr>("name");
      names.push_back(name ? name : builder.getStringAttr(""));
    }
    module->setAttr((list.drop_back() + "_names").str(),
                    builder.getArrayAttr(names));
  }
  planned.erase();
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (isa<MeshOp, ChannelOp>(op))
      op.erase();
  return result;
}

RankedTensorType getStaticTensor(DictionaryAttr entry, StringRef key) {
  auto attr = entry ? entry.getAs<TypeAttr>(key) : nullptr;
  auto type = attr ? dyn_cast<RankedTensorType>(attr.getValue()) : nullptr;
  return type && type.hasStaticShape() ? type : nullptr;
}

/// What a planned function says of its arguments or results.
LogicalResult verifyTensors(func::FuncOp op, StringRef name) {
  for (auto [i, element] :
       llvm::enumerate(op->getAttrOfType<ArrayAttr>(name))) {
    auto entry = dyn_cast<DictionaryAttr>(element);
    RankedTensorType global = getStaticTensor(entry, "global"),
                     local = getStaticTensor(entry, "local");
    if (!global || !local || global.getRank() != local.getRank() ||
        global.getElementType() != local.getElementType())
      return op->emitOpError("has ")
             << element << " at " << i << " of '" << name
             << "', expected 'global' and 'local' tensors of one rank and "
                "element type";
    if (entry.contains("name") && !entry.getAs<StringAttr>("name"))
      return op->emitOpError("has the name ")
             << entry.get("name") << " at " << i << " of '" << name
             << "', expected a string";
    auto args = op->getAttrOfType<ArrayAttr>("weft_rt.args");
    auto alias = entry.getAs<IntegerAttr>("alias");
    if (entry.contains("alias") &&
        (!alias || !args || alias.getValue().uge(args.size())))
      return op->emitOpError("has the alias ")
             << entry.get("alias") << " at " << i << " of '" << name
             << "', expected the number of an argument";
  }
  return success();
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
    if (failed(hash) || failed(verifyTensors(planned, "weft_rt.args")) ||
        failed(verifyTensors(planned, "weft_rt.results")) ||
        failed(EntryBuilder(module, planned).run(*hash)))
      signalPassFailure();
  }
};

} // namespace
