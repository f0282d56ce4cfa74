// SPDX-License-Identifier: Apache-2.0

// Every pointer says that it is global memory: loads and stores need not find
// out where they are.

#include "DeviceKernel.h"

#include "weft/Codegen/Program/EmitMemory.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::weft;

/// The address space of what all threads reach.
static constexpr unsigned kGlobalMemory = 1;

/// Finds or makes the inner module. It says itself what it is for.
static ModuleOp getDeviceModule(OpBuilder &builder, Location loc) {
  auto module = cast<ModuleOp>(builder.getBlock()->getParentOp());
  if (auto device = module.lookupSymbol<ModuleOp>(kDeviceModule))
    return device;
  auto device = ModuleOp::create(builder, loc, kDeviceModule);
  for (StringRef name :
       {WeftDialect::kTargetAttr, WeftDialect::kInvarianceAttr})
    if (Attribute value = module->getAttr(name))
      device->setAttr(name, value);
  return device;
}

/// Makes the function; a part's has one more parameter.
static DeviceKernel createFunction(OpBuilder &builder, Location loc,
                                   StringRef name, ArrayRef<bool> isPrivate,
                                   TypeRange scalars, bool isPart) {
  MLIRContext *context = builder.getContext();
  Type i64 = builder.getI64Type(), none = LLVM::LLVMVoidType::get(context);
  SmallVector<Type> types(isPrivate.size(),
                          LLVM::LLVMPointerType::get(context, kGlobalMemory));
  types.append(scalars.size() + isPart, i64);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(getDeviceModule(builder, loc).getBody());
  DeviceKernel kernel;
  kernel.func = LLVM::LLVMFuncOp::create(
      builder, loc, name, LLVM::LLVMFunctionType::get(none, types));
  for (auto [i, noAlias] : llvm::enumerate(isPrivate))
    if (noAlias)
      kernel.func.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                             builder.getUnitAttr());
  Block *block = kernel.func.addEntryBlock(builder);
  builder.setInsertionPointToStart(block);
  ArrayRef<BlockArgument> arguments = block->getArguments();
  llvm::append_range(kernel.buffers, arguments.take_front(isPrivate.size()));
  for (auto [bits, type] :
       llvm::zip(arguments.drop_front(isPrivate.size()), scalars))
    kernel.scalars.push_back(unpackScalar(builder, loc, type, bits));
  if (isPart)
    kernel.block = arguments.back();
  return kernel;
}

DeviceKernel mlir::weft::createDeviceKernel(OpBuilder &builder, Location loc,
                                            StringRef name,
                                            ArrayRef<bool> isPrivate,
                                            TypeRange scalars) {
  MLIRContext *context = builder.getContext();
  Type i64 = builder.getI64Type(), none = LLVM::LLVMVoidType::get(context);
  auto pointer = LLVM::LLVMPointerType::get(context);
  LLVM::LLVMFuncOp::create(
      builder, loc, name,
      LLVM::LLVMFunctionType::get(none, {pointer, pointer, i64, i64}));
  DeviceKernel kernel = createFunction(builder, loc, name, isPrivate, scalars,
                                       /*isPart=*/false);
  kernel.func.setCConv(LLVM::CConv::PTX_Kernel);
  kernel.sharedName = (name + "_shared").str();
  return kernel;
}

DeviceKernel mlir::weft::createDevicePart(OpBuilder &builder, Location loc,
                                          StringRef name,
                                          ArrayRef<bool> isPrivate,
                                          TypeRange scalars) {
  DeviceKernel part = createFunction(builder, loc, name, isPrivate, scalars,
                                     /*isPart=*/true);
  part.func.setLinkage(LLVM::Linkage::Internal);
  part.sharedName = "weft_parts_shared";
  return part;
}

static Value emitRegister(OpBuilder &builder, Location loc, StringRef name) {
  Value number = LLVM::CallIntrinsicOp::create(
                     builder, loc, builder.getI32Type(),
                     builder.getStringAttr("llvm.nvvm.read.ptx.sreg." + name),
                     ValueRange())
                     .getResults();
  return arith::ExtUIOp::create(builder, loc, builder.getI64Type(), number);
}

Value mlir::weft::emitThread(OpBuilder &builder, Location loc) {
  return emitRegister(builder, loc, "tid.x");
}

Value mlir::weft::emitBlock(OpBuilder &builder, Location loc,
                            const DeviceKernel &kernel) {
  return kernel.block ? kernel.block : emitRegister(builder, loc, "ctaid.x");
}

Value mlir::weft::emitGridThread(OpBuilder &builder, Location loc,
                                 const DeviceKernel &kernel) {
  Value first =
      arith::MulIOp::create(builder, loc, emitBlock(builder, loc, kernel),
                            emitInt(builder, loc, kBlockThreads));
  return arith::AddIOp::create(builder, loc, emitThread(builder, loc), first);
}

Value mlir::weft::emitSharedMemory(OpBuilder &builder, Location loc,
                                   const DeviceKernel &kernel, int64_t bytes) {
  LLVM::LLVMFuncOp func = kernel.func;
  auto module = func->getParentOfType<ModuleOp>();
  auto global = module.lookupSymbol<LLVM::GlobalOp>(kernel.sharedName);
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes);
  if (!global) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    global = LLVM::GlobalOp::create(
        builder, loc, type, /*isConstant=*/false, LLVM::Linkage::Internal,
        kernel.sharedName, Attribute(), /*alignment=*/16, kSharedMemory);
  } else if (cast<LLVM::LLVMArrayType>(global.getGlobalType())
                 .getNumElements() < uint64_t(bytes)) {
    global.setGlobalType(type);
  }
  auto pointer =
      LLVM::LLVMPointerType::get(builder.getContext(), kSharedMemory);
  return LLVM::AddressOfOp::create(builder, loc, pointer, kernel.sharedName);
}

void mlir::weft::emitBlockBarrier(OpBuilder &builder, Location loc) {
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
  LLVM::CallIntrinsicOp::create(
      builder, loc,
      builder.getStringAttr("llvm.nvvm.barrier.cta.sync.aligned.all"), zero);
}

void mlir::weft::emitWarpBarrier(OpBuilder &builder, Location loc) {
  Value all = arith::ConstantIntOp::create(builder, loc, -1, 32);
  LLVM::CallIntrinsicOp::create(
      builder, loc, builder.getStringAttr("llvm.nvvm.bar.warp.sync"), all);
}

/// Of 32 bits.
static Value emitShuffleOfBits(OpBuilder &builder, Location loc, Value bits,
                               int64_t distance) {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  };
  return LLVM::CallIntrinsicOp::create(
             builder, loc, builder.getI32Type(),
             builder.getStringAttr("llvm.nvvm.shfl.sync.bfly.i32"),
             ValueRange{number(-1), bits, number(distance), number(kWarp - 1)})
      .getResults();
}

Value mlir::weft::emitShuffle(OpBuilder &builder, Location loc, Value value,
                              int64_t distance) {
  Type type = value.getType(), i32 = builder.getI32Type();
  unsigned width = type.getIntOrFloatBitWidth();
  Type integer = builder.getIntegerType(width);
  bool isFloat = isa<FloatType>(type);
  Value bits =
      isFloat ? arith::BitcastOp::create(builder, loc, integer, value) : value;
  if (width == 64) {
    Value half = emitInt(builder, loc, 32);
    Value low = arith::TruncIOp::create(builder, loc, i32, bits);
    Value high = arith::TruncIOp::create(
        builder, loc, i32, arith::ShRUIOp::create(builder, loc, bits, half));
    low = arith::ExtUIOp::create(
        builder, loc, integer, emitShuffleOfBits(builder, loc, low, distance));
    high = arith::ExtUIOp::create(
        builder, loc, integer, emitShuffleOfBits(builder, loc, high, distance));
    bits = arith::OrIOp::create(
        builder, loc, low, arith::ShLIOp::create(builder, loc, high, half));
  } else {
    if (width < 32)
      bits = arith::ExtUIOp::create(builder, loc, i32, bits);
    bits = emitShuffleOfBits(builder, loc, bits, distance);
    if (width < 32)
      bits = arith::TruncIOp::create(builder, loc, integer, bits);
  }
  return isFloat ? arith::BitcastOp::create(builder, loc, type, bits) : bits;
}

void mlir::weft::emitDelinearize(OpBuilder &builder, Location loc, Value flat,
                                 int64_t count, ArrayRef<int> dims,
                                 ArrayRef<int64_t> sizes, int64_t width,
                                 MutableArrayRef<Value> index) {
  // Quotients of 64 bits take several times as long.
  bool isNarrow = dims.size() > 1 && count <= INT32_MAX;
  Type i64 = builder.getI64Type(), type = isNarrow ? builder.getI32Type() : i64;
  if (isNarrow)
    flat = arith::TruncIOp::create(builder, loc, type, flat);
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, value));
  };
  for (int dim : llvm::reverse(dims)) {
    bool isFirst = dim == dims.front(), isLast = dim == dims.back();
    Value size = number(sizes[dim] / (isLast ? width : 1));
    Value place =
        isFirst ? flat : arith::RemUIOp::create(builder, loc, flat, size);
    if (!isFirst)
      flat = arith::DivUIOp::create(builder, loc, flat, size);
    if (isNarrow)
      place = arith::ExtUIOp::create(builder, loc, i64, place);
    if (isLast && width > 1)
      place = arith::MulIOp::create(builder, loc, place,
                                    emitInt(builder, loc, width));
    index[dim] = place;
  }
}

int64_t mlir::weft::getNumBlocks(int64_t count) {
  int64_t blocks = llvm::divideCeil(count, kBlockThreads);
  return std::clamp<int64_t>(blocks, 1, kMaxBlocks);
}

rt::LaunchConfig mlir::weft::setLaunch(const DeviceKernel &kernel,
                                       int64_t numBlocks, int64_t numThreads) {
  LLVM::LLVMFuncOp func = kernel.func;
  Builder builder(func.getContext());
  SmallVector<Attribute> attributes;
  auto say = [&](StringRef name, int64_t value) {
    attributes.push_back(
        builder.getStrArrayAttr({name, std::to_string(value)}));
  };
  // A part is called from several places, and is to be there once.
  if (kernel.block)
    attributes.push_back(builder.getStringAttr("noinline"));
  else
    say("nvvm.reqntid", numThreads);
  // So that some threads load while others compute.
  if (numThreads >= 2 * kBlockThreads)
    say("nvvm.minctasm", 2);
  func.setPassthroughAttr(builder.getArrayAttr(attributes));
  return rt::LaunchNumbersAttr::get(
      func.getContext(), {numBlocks, numThreads, /*dynamic shared bytes=*/0});
}
