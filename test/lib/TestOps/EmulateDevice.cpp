// SPDX-License-Identifier: Apache-2.0

// Kernels of the cuda target as kernels of the host, so that what the compiler
// writes for a device can be run and looked at where there is none: the bodies
// of the inner module `weft_device` become functions of the program, what they
// ask of the device becomes calls of Emulator.cpp, and launches one call of the
// host's each. All else of the program is the host's.

#include "TestOps.h"

#include "weft/Codegen/Program/EmitMemory.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

constexpr llvm::StringLiteral kPrefix = "llvm.nvvm.";

/// What stands for an intrinsic of the device.
constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> kCalls[] = {
    {"read.ptx.sreg.tid.x", "weft_emulated_thread"},
    {"read.ptx.sreg.ctaid.x", "weft_emulated_block"},
    {"barrier.cta.sync.aligned.all", "weft_emulated_barrier"},
    {"bar.warp.sync", "weft_emulated_warp_barrier"},
    {"shfl.sync.bfly.i32", "weft_emulated_shuffle"},
    {"ex2.approx.ftz", "weft_emulated_exp2"},
    {"fma.rn.sat.f", "weft_emulated_saturated_fma"},
    {"ff.to.e4m3x2.rn", "weft_emulated_e4m3x2"},
    {"ff.to.e5m2x2.rn", "weft_emulated_e5m2x2"},
    {"e4m3x2.to.f16x2.rn", "weft_emulated_of_e4m3x2"},
    {"e5m2x2.to.f16x2.rn", "weft_emulated_of_e5m2x2"}};

struct EmulateDevicePass
    : public PassWrapper<EmulateDevicePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EmulateDevicePass)

  StringRef getArgument() const override { return "test-emulate-device"; }
  StringRef getDescription() const override {
    return "make host kernels of device kernels";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect, arith::ArithDialect>();
  }

  void runOnOperation() override;

private:
  LLVM::LLVMFuncOp declare(StringRef name, LLVM::LLVMFunctionType type);
  LogicalResult replaceIntrinsics(LLVM::LLVMFuncOp func);
  void replaceShared(ModuleOp device, LLVM::LLVMFuncOp func);
  void loadArguments(LLVM::LLVMFuncOp func);
  void moveKernel(LLVM::LLVMFuncOp body, ArrayRef<int64_t> launch,
                  bool hasBarriers);
  void movePart(LLVM::LLVMFuncOp part);
};

LLVM::LLVMFuncOp EmulateDevicePass::declare(StringRef name,
                                            LLVM::LLVMFunctionType type) {
  if (auto func = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(name))
    return func;
  OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
  return LLVM::LLVMFuncOp::create(builder, getOperation().getLoc(), name, type);
}

LogicalResult EmulateDevicePass::replaceIntrinsics(LLVM::LLVMFuncOp func) {
  SmallVector<LLVM::CallIntrinsicOp> calls;
  func.walk([&](LLVM::CallIntrinsicOp call) {
    if (call.getIntrin().starts_with(kPrefix))
      calls.push_back(call);
  });
  for (LLVM::CallIntrinsicOp call : calls) {
    StringRef name = call.getIntrin().drop_front(kPrefix.size());
    auto it =
        llvm::find_if(kCalls, [&](auto &entry) { return entry.first == name; });
    if (it == std::end(kCalls))
      return call.emitOpError("is not emulated");
    OpBuilder builder(call);
    Type result = call->getNumResults()
                      ? call->getResult(0).getType()
                      : LLVM::LLVMVoidType::get(&getContext());
    // Others have operands that say which threads are meant.
    SmallVector<Value> operands;
    if (call->getNumResults())
      llvm::append_range(operands, call.getArgs());
    // Two numbers of f16 are given as their bits.
    bool isVector = isa<VectorType>(result);
    LLVM::LLVMFuncOp callee = declare(
        it->second,
        LLVM::LLVMFunctionType::get(isVector ? builder.getI32Type() : result,
                                    llvm::to_vector(TypeRange(operands))));
    Operation *emulated =
        LLVM::CallOp::create(builder, call.getLoc(), callee, operands);
    if (isVector)
      emulated = LLVM::BitcastOp::create(builder, call.getLoc(), result,
                                         emulated->getResult(0));
    call->replaceAllUsesWith(emulated);
    call.erase();
  }
  return success();
}

/// Shared memory is the emulator's.
void EmulateDevicePass::replaceShared(ModuleOp device, LLVM::LLVMFuncOp func) {
  SmallVector<LLVM::AddressOfOp> places;
  func.walk([&](LLVM::AddressOfOp place) { places.push_back(place); });
  for (LLVM::AddressOfOp place : places) {
    OpBuilder builder(place);
    auto global = device.lookupSymbol<LLVM::GlobalOp>(place.getGlobalName());
    auto bytes = cast<LLVM::LLVMArrayType>(global.getType()).getNumElements();
    LLVM::LLVMFuncOp get = declare(
        "weft_emulated_shared",
        LLVM::LLVMFunctionType::get(LLVM::LLVMPointerType::get(&getContext()),
                                    builder.getI64Type()));
    Value size = emitInt(builder, place.getLoc(), bytes);
    Value memory =
        LLVM::CallOp::create(builder, place.getLoc(), get, size).getResult();
    place.replaceAllUsesWith(
        LLVM::AddrSpaceCastOp::create(builder, place.getLoc(), place.getType(),
                                      memory)
            .getResult());
    place.erase();
  }
}

/// The function of one thread becomes `void(ptr buffers, ptr scalars)`.
void EmulateDevicePass::loadArguments(LLVM::LLVMFuncOp func) {
  Location loc = func.getLoc();
  Block &block = func.getBody().front();
  auto builder = OpBuilder::atBlockBegin(&block);
  auto pointer = LLVM::LLVMPointerType::get(&getContext());
  SmallVector<BlockArgument> old(block.getArguments());
  Value lists[] = {block.addArgument(pointer, loc),
                   block.addArgument(pointer, loc)};
  int32_t next[] = {0, 0};
  for (BlockArgument argument : old) {
    bool isScalar = !isa<LLVM::LLVMPointerType>(argument.getType());
    Type stored = isScalar ? argument.getType() : Type(pointer);
    Value place =
        LLVM::GEPOp::create(builder, loc, pointer, stored, lists[isScalar],
                            ArrayRef<LLVM::GEPArg>{next[isScalar]++});
    Value value = LLVM::LoadOp::create(builder, loc, stored, place);
    if (!isScalar)
      value = LLVM::AddrSpaceCastOp::create(builder, loc, argument.getType(),
                                            value);
    argument.replaceAllUsesWith(value);
  }
  block.eraseArguments(0, old.size());
  func.removeArgAttrsAttr();
  func.setFunctionType(LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(&getContext()), {pointer, pointer}));
}

/// Says whether the threads of a function wait for each other, there or in one
/// that it calls.
static bool waits(ModuleOp device, LLVM::LLVMFuncOp func) {
  WalkResult walked = func.walk([&](Operation *op) {
    if (auto call = dyn_cast<LLVM::CallIntrinsicOp>(op))
      if (llvm::any_of(
              ArrayRef<StringRef>{"barrier", "bar.warp", "shfl"},
              [&](StringRef part) { return call.getIntrin().contains(part); }))
        return WalkResult::interrupt();
    auto call = dyn_cast<LLVM::CallOp>(op);
    auto callee = call && call.getCallee()
                      ? device.lookupSymbol<LLVM::LLVMFuncOp>(*call.getCallee())
                      : nullptr;
    return callee && waits(device, callee) ? WalkResult::interrupt()
                                           : WalkResult::advance();
  });
  return walked.wasInterrupted();
}

/// The kernel that is declared gets a body, which runs a grid.
void EmulateDevicePass::moveKernel(LLVM::LLVMFuncOp body,
                                   ArrayRef<int64_t> launch, bool hasBarriers) {
  std::string name = body.getSymName().str();
  Location loc = body.getLoc();
  body->remove();
  // Kernels and their bodies stay together when the program is cut in parts.
  body.setSymName(name + "_body");
  body.setCConv(LLVM::CConv::C);
  body.setLinkage(LLVM::Linkage::Internal);
  body.removePassthroughAttr();
  getOperation().push_back(body);
  loadArguments(body);
  auto kernel = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(name);
  kernel.setVisibility_(LLVM::Visibility::Hidden);
  OpBuilder builder(&getContext());
  Block *block = kernel.addEntryBlock(builder);
  builder.setInsertionPointToStart(block);
  auto pointer = LLVM::LLVMPointerType::get(&getContext());
  Type i64 = builder.getI64Type();
  LLVM::LLVMFuncOp run = declare(
      "weft_emulated_launch",
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()),
                                  {pointer, pointer, pointer, i64, i64, i64}));
  SmallVector<Value> values = {LLVM::AddressOfOp::create(builder, loc, body),
                               block->getArgument(0), block->getArgument(1)};
  for (int64_t value : {launch[0], launch[1], int64_t(hasBarriers)})
    values.push_back(emitInt(builder, loc, value));
  LLVM::CallOp::create(builder, loc, run, values);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

/// What kernels call stays as it is.
void EmulateDevicePass::movePart(LLVM::LLVMFuncOp part) {
  part->remove();
  part.removePassthroughAttr();
  getOperation().push_back(part);
}

void EmulateDevicePass::runOnOperation() {
  ModuleOp module = getOperation();
  setTarget(module, "host");
  auto device = module.lookupSymbol<ModuleOp>("weft_device");
  if (!device)
    return;
  llvm::StringMap<SmallVector<int64_t>> launches;
  module.walk([&](rt::LaunchOp launch) {
    launches[launch.getKernel()] = launch.getConfig().getNumbers();
    launch->setAttr("config", rt::HostRangeAttr::get(&getContext(), 1, 1));
  });
  DenseSet<Operation *> waiting;
  for (auto func : device.getOps<LLVM::LLVMFuncOp>())
    if (waits(device, func))
      waiting.insert(func);
  for (auto func :
       llvm::make_early_inc_range(device.getOps<LLVM::LLVMFuncOp>())) {
    replaceShared(device, func);
    if (failed(replaceIntrinsics(func)))
      return signalPassFailure();
    if (func.getCConv() == LLVM::CConv::PTX_Kernel)
      moveKernel(func, launches[func.getSymName()], waiting.contains(func));
    else
      movePart(func);
  }
  device.erase();
}

} // namespace

void weft::test::registerEmulateDevice() {
  PassRegistration<EmulateDevicePass>();
}
