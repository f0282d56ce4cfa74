// SPDX-License-Identifier: Apache-2.0

// A quotient by the inverse: r = 1 / b, rounded to the nearest; q0 = a r; then
// twice q -= (q b - a) r, in fused products. After the first correction q is
// within a unit of a / b, and after the second it is a / b rounded to the
// nearest (Markstein, "Computation of elementary functions on the IBM RISC
// System/6000 processor", 1990), if nothing overflows, the quotient is normal,
// and remainders are exact: so |a| is 0 or from 2^-100 to 2^60, and b from
// 2^-60 to 2^26. b is positive, so that -0 stays what it is: its remainders are
// +0, and -0 - 0 is -0. One branch for several quotients looks at that, where
// the device's own division has one for each. What is not so is divided. Where
// bits need not be the host's and quotients are rounded to bf16, a r is near
// enough, for all a: its error is below 2^-23, and bf16 has 2^-9.
//
// The instruction that rounds to bf16 gives the same bits as integer arithmetic
// but for NaN, of which it has its own: an H200 did so for all 2^32 numbers.

#include "DeviceInstructions.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

#include <cstdint>
#include <vector>

using namespace llvm;
using namespace llvm::PatternMatch;

/// What stands for a rounding to bf16 while LLVM optimizes.
static constexpr StringLiteral kRounding = "weft_round_to_bf16";
/// Fewer quotients are not worth a branch.
static constexpr size_t kFewQuotients = 4;

namespace {

/// The bits of 2^power, without the sign and doubled.
constexpr uint32_t getBits(int power) { return uint32_t(127 + power) << 24; }

/// Quotients of one block by one divisor, of which there is one branch.
struct Quotients {
  std::vector<Instruction *> all;
  /// Where: all operands are known there, and none of the values used before.
  Instruction *at;
  /// Whether products with the inverse are near enough.
  bool areRough = false;
};

CallInst *getRounding(Value *value) {
  auto *call = dyn_cast<CallInst>(value);
  bool isRounding = call && call->getCalledFunction() &&
                    call->getCalledFunction()->getName() == kRounding;
  return isRounding ? call : nullptr;
}

/// The bits of a magnitude, doubled: in the order of magnitudes.
Value *emitMagnitude(IRBuilder<> &builder, Value *value) {
  return builder.CreateShl(builder.CreateBitCast(value, builder.getInt32Ty()),
                           builder.getInt32(1));
}

/// Says that all dividends are 0 or of magnitudes that allow it.
Value *emitAreWithin(IRBuilder<> &builder, const Quotients &quotients) {
  // Less 1, zero is above all.
  Value *below = builder.getInt32(getBits(-100) - 1), *least = below;
  Value *above = builder.getInt32(getBits(60)), *most = above;
  for (Instruction *value : quotients.all) {
    Value *magnitude = emitMagnitude(builder, value->getOperand(0));
    least = builder.CreateBinaryIntrinsic(
        Intrinsic::umin, least,
        builder.CreateSub(magnitude, builder.getInt32(1)));
    most = builder.CreateBinaryIntrinsic(Intrinsic::umax, most, magnitude);
  }
  return builder.CreateAnd(builder.CreateICmpEQ(least, below),
                           builder.CreateICmpEQ(most, above));
}

/// Quotients by one divisor whose dividends are all known where the first of
/// them is.
std::vector<Quotients> findQuotients(BasicBlock &block) {
  MapVector<Value *, Quotients> byDivisor;
  for (Instruction &instruction : block) {
    if (instruction.getOpcode() != Instruction::FDiv ||
        !instruction.getType()->isFloatTy() ||
        isa<Constant>(instruction.getOperand(0)) ||
        isa<Constant>(instruction.getOperand(1)))
      continue;
    Quotients &quotients = byDivisor[instruction.getOperand(1)];
    auto *dividend = dyn_cast<Instruction>(instruction.getOperand(0));
    if (quotients.all.empty())
      quotients.at = &instruction;
    else if (dividend && dividend->getParent() == &block &&
             !dividend->comesBefore(quotients.at))
      continue;
    quotients.all.push_back(&instruction);
  }
  std::vector<Quotients> found;
  for (auto &[divisor, quotients] : byDivisor)
    if (quotients.all.size() >= kFewQuotients)
      found.push_back(std::move(quotients));
  return found;
}

Value *emitByInverse(IRBuilder<> &builder, Value *a, Value *b, Value *inverse) {
  auto fma = [&](Value *x, Value *y, Value *z) {
    return builder.CreateIntrinsic(Intrinsic::fma, {x->getType()}, {x, y, z});
  };
  Value *fromA = builder.CreateFNeg(a), *down = builder.CreateFNeg(inverse);
  Value *quotient = builder.CreateFMul(a, inverse);
  for (int i = 0; i < 2; ++i)
    quotient = fma(fma(quotient, b, fromA), down, quotient);
  return quotient;
}

/// Gives the block after them.
BasicBlock *replace(const Quotients &quotients) {
  IRBuilder<> builder(quotients.at);
  Value *divisor = quotients.at->getOperand(1);
  // Of negative numbers the bits are above those of all others.
  Value *bits = builder.CreateBitCast(divisor, builder.getInt32Ty());
  Value *isMost = builder.CreateAnd(
      builder.CreateICmpUGE(bits, builder.getInt32(getBits(-60) >> 1)),
      builder.CreateICmpULE(bits, builder.getInt32(getBits(26) >> 1)));
  if (!quotients.areRough)
    isMost = builder.CreateAnd(isMost, emitAreWithin(builder, quotients));
  Instruction *most = nullptr, *any = nullptr;
  SplitBlockAndInsertIfThenElse(isMost, quotients.at->getIterator(), &most,
                                &any);
  BasicBlock *after = quotients.at->getParent();
  IRBuilder<> multiply(most), divide(any), join(after, after->begin());
  Value *inverse =
      multiply.CreateFDiv(ConstantFP::get(builder.getFloatTy(), 1.0), divisor);
  for (Instruction *quotient : quotients.all) {
    Value *dividend = quotient->getOperand(0);
    PHINode *both = join.CreatePHI(quotient->getType(), 2);
    both->addIncoming(quotients.areRough
                          ? multiply.CreateFMul(dividend, inverse)
                          : emitByInverse(multiply, dividend, divisor, inverse),
                      most->getParent());
    both->addIncoming(divide.CreateFDiv(dividend, divisor), any->getParent());
    quotient->replaceAllUsesWith(both);
  }
  for (Instruction *quotient : quotients.all)
    quotient->eraseFromParent();
  return after;
}

bool isRounded(Instruction *value) {
  return llvm::all_of(value->users(),
                      [](User *user) { return getRounding(user); });
}

/// Replaces what there is in each block, which is cut each time.
void replaceQuotients(Function &function, bool areBitsKept) {
  std::vector<BasicBlock *> blocks;
  for (BasicBlock &block : function)
    blocks.push_back(&block);
  for (BasicBlock *block : blocks)
    for (std::vector<Quotients> found = findQuotients(*block); !found.empty();
         found = findQuotients(*block)) {
      Quotients &first = found.front();
      first.areRough = !areBitsKept && llvm::all_of(first.all, isRounded);
      block = replace(first);
    }
}

//===----------------------------------------------------------------------===//
// Roundings
//===----------------------------------------------------------------------===//

/// What integer arithmetic rounds to the bits of a bf16 here, or null.
Value *findRounded(Instruction &instruction) {
  Value *in = nullptr, *same = nullptr, *sum = nullptr, *half = nullptr;
  if (!match(&instruction,
             m_Select(
                 m_SpecificFCmp(FCmpInst::FCMP_UNO, m_Value(in), m_Value(same)),
                 m_SpecificInt(0x7fc0),
                 m_Trunc(m_LShr(m_Value(sum), m_SpecificInt(16))))) ||
      in != same || !in->getType()->isFloatTy())
    return nullptr;
  auto bits = m_BitCast(m_Specific(in));
  bool isRounded =
      match(sum, m_Add(bits, m_Value(half))) &&
      match(half,
            m_Add(m_And(m_LShr(bits, m_SpecificInt(16)), m_SpecificInt(1)),
                  m_SpecificInt(0x7fff)));
  return isRounded ? in : nullptr;
}

/// Says whether all that is done with a rounded number is arithmetic, of which
/// a NaN's bits do not matter: the device gives its own NaN.
bool isForArithmetic(Instruction *rounding) {
  auto isArithmetic = [](User *user) {
    auto *call = dyn_cast<IntrinsicInst>(user);
    return isa<BinaryOperator, FCmpInst>(user) ||
           (call && call->getIntrinsicID() == Intrinsic::fma);
  };
  auto isWidened = [&](User *user) {
    return isa<ZExtInst>(user) && llvm::all_of(user->users(), [&](User *wide) {
             return match(wide, m_Shl(m_Value(), m_SpecificInt(16))) &&
                    llvm::all_of(wide->users(), [&](User *cast) {
                      return isa<BitCastInst>(cast) &&
                             cast->getType()->isFloatTy() &&
                             llvm::all_of(cast->users(), isArithmetic);
                    });
           });
  };
  return llvm::all_of(rounding->users(), isWidened);
}

Value *emitRoundings(IRBuilder<> &builder, Value *high, Value *low) {
  Value *both =
      builder.CreateIntrinsic(Intrinsic::nvvm_ff2bf16x2_rn, {}, {high, low});
  return builder.CreateBitCast(both, builder.getInt32Ty());
}

/// Takes `narrow`, but for NaN, where its bits matter.
void replaceBy(CallInst *rounding, Value *narrow, bool areBitsKept) {
  IRBuilder<> builder(rounding);
  if (auto *made = dyn_cast<Instruction>(narrow))
    builder.SetInsertPoint(made->getNextNode());
  Value *in = rounding->getArgOperand(0);
  if (areBitsKept)
    narrow = builder.CreateSelect(builder.CreateFCmpUNO(in, in),
                                  builder.getInt16(0x7fc0), narrow);
  rounding->replaceAllUsesWith(narrow);
  rounding->eraseFromParent();
}

Value *emitUpper(IRBuilder<> &builder, Value *both) {
  return builder.CreateTrunc(builder.CreateLShr(both, 16),
                             builder.getInt16Ty());
}

/// Rounds by the instruction that rounds two numbers, of which the other is 0:
/// widened, the result is all of its bits. The one for a single number takes
/// four times as long.
void useInstruction(CallInst *rounding, bool areBitsKept) {
  IRBuilder<> builder(rounding);
  Value *zero = ConstantFP::get(builder.getFloatTy(), 0.0);
  Value *wide = emitRoundings(builder, rounding->getArgOperand(0), zero);
  if (isForArithmetic(rounding))
    for (User *user : rounding->users())
      for (User *shifted : user->users())
        if (shifted->getType()->isIntegerTy(32))
          shifted->replaceAllUsesWith(wide);
  replaceBy(rounding, emitUpper(builder, wide), areBitsKept);
}

/// The rounding of which the store is the only use, or null.
CallInst *getStored(Instruction &instruction) {
  auto *store = dyn_cast<StoreInst>(&instruction);
  CallInst *rounding = store ? getRounding(store->getValueOperand()) : nullptr;
  return rounding && rounding->hasOneUse() ? rounding : nullptr;
}

/// Two numbers that are stored one after the other, as neighbours are, are
/// rounded by one instruction, where the first one is stored.
void roundNeighbours(BasicBlock &block, bool areBitsKept) {
  Instruction *waiting = nullptr;
  for (Instruction &instruction : block) {
    CallInst *second = getStored(instruction);
    if (!second)
      continue;
    auto *in = dyn_cast<Instruction>(second->getArgOperand(0));
    if (!waiting ||
        (in && in->getParent() == &block && !in->comesBefore(waiting))) {
      waiting = &instruction;
      continue;
    }
    CallInst *first = getStored(*waiting);
    IRBuilder<> builder(waiting);
    Value *both = emitRoundings(builder, second->getArgOperand(0),
                                first->getArgOperand(0));
    Value *low = builder.CreateTrunc(both, builder.getInt16Ty());
    Value *high = emitUpper(builder, both);
    replaceBy(first, low, areBitsKept);
    replaceBy(second, high, areBitsKept);
    waiting = nullptr;
  }
}

void replaceRoundings(Function &function, bool areBitsKept) {
  for (BasicBlock &block : function)
    roundNeighbours(block, areBitsKept);
  for (Instruction &instruction :
       llvm::make_early_inc_range(instructions(function)))
    if (CallInst *rounding = getRounding(&instruction))
      useInstruction(rounding, areBitsKept);
}

} // namespace

void mlir::weft::markRoundings(llvm::Module &module) {
  std::vector<std::pair<Instruction *, llvm::Value *>> roundings;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (llvm::Value *in = findRounded(instruction))
        roundings.push_back({&instruction, in});
  if (roundings.empty())
    return;
  LLVMContext &context = module.getContext();
  auto *type =
      llvm::FunctionType::get(llvm::Type::getInt16Ty(context),
                              {llvm::Type::getFloatTy(context)}, false);
  auto *callee =
      cast<Function>(module.getOrInsertFunction(kRounding, type).getCallee());
  callee->setDoesNotAccessMemory();
  callee->setDoesNotThrow();
  callee->setWillReturn();
  callee->setNoSync();
  callee->setSpeculatable();
  for (auto [old, in] : roundings) {
    IRBuilder<> builder(old);
    old->replaceAllUsesWith(builder.CreateCall(callee, {in}));
    old->eraseFromParent();
  }
}

void mlir::weft::useDeviceInstructions(llvm::Module &module, bool areBitsKept) {
  for (Function &function : module) {
    replaceQuotients(function, areBitsKept);
    replaceRoundings(function, areBitsKept);
  }
  if (Function *callee = module.getFunction(kRounding))
    callee->eraseFromParent();
}
