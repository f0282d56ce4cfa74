// SPDX-License-Identifier: Apache-2.0

// A quotient by the inverse: r = 1 / b, rounded to the nearest; q0 = a r; then
// twice q += (a - q b) r, in fused products. After the first correction q is
// within a unit of a / b, and after the second it is a / b rounded to the
// nearest (Markstein, "Computation of elementary functions on the IBM RISC
// System/6000 processor", 1990), if nothing overflows, the quotient is normal,
// and remainders are exact: so |a| is 0 or from 2^-100 to 2^60, and |b| from
// 2^-60 to 2^26. The instruction that rounds to bf16 does not keep denormals,
// and has a NaN of its own: |x| is 0 or from 2^-126 to infinity.
//
// One branch for several values looks at that, where the device's own division
// has one for each. What is not so is computed as it was.

#include "DeviceInstructions.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

#include <cstdint>
#include <vector>

using namespace llvm;
using namespace llvm::PatternMatch;

/// What stands for a rounding to bf16 while LLVM optimizes.
static constexpr StringLiteral kRounding = "weft_round_to_bf16";
/// Fewer quotients, or roundings, are not worth a branch.
static constexpr size_t kFewQuotients = 4, kFewRoundings = 2;

namespace {

/// The bits of 2^power, without the sign and doubled.
constexpr uint32_t getBits(int power) { return uint32_t(127 + power) << 24; }

/// Values of one block that are computed together, in a way that is for most
/// operands or in one that is for all.
struct Together {
  std::vector<Instruction *> all;
  /// Where: all operands are known there, and none of the values used before.
  Instruction *at;
};

using Emit = function_ref<Value *(IRBuilder<> &, Instruction *)>;

/// The bits of a magnitude, doubled: in the order of magnitudes.
Value *emitMagnitude(IRBuilder<> &builder, Value *value) {
  return builder.CreateShl(builder.CreateBitCast(value, builder.getInt32Ty()),
                           builder.getInt32(1));
}

/// Says that the first operands of all are 0 or within these magnitudes.
Value *emitAreWithin(IRBuilder<> &builder, const Together &values,
                     uint32_t leastBits, uint32_t mostBits) {
  // Less 1, zero is above all.
  Value *below = builder.getInt32(leastBits - 1), *least = below;
  Value *above = builder.getInt32(mostBits), *most = above;
  for (Instruction *value : values.all) {
    Value *magnitude = emitMagnitude(builder, value->getOperand(0));
    least = builder.CreateBinaryIntrinsic(
        Intrinsic::umin, least,
        builder.CreateSub(magnitude, builder.getInt32(1)));
    most = builder.CreateBinaryIntrinsic(Intrinsic::umax, most, magnitude);
  }
  return builder.CreateAnd(builder.CreateICmpEQ(least, below),
                           builder.CreateICmpEQ(most, above));
}

/// Computes the values by `emitMost` if `isMost`, else by `emitAny`. Gives the
/// block after that.
BasicBlock *computeByCase(const Together &values, Value *isMost, Emit emitMost,
                          Emit emitAny) {
  Instruction *most = nullptr, *any = nullptr;
  SplitBlockAndInsertIfThenElse(isMost, values.at->getIterator(), &most, &any);
  BasicBlock *after = values.at->getParent();
  std::vector<Value *> byMost, byAny;
  IRBuilder<> builder(most);
  for (Instruction *value : values.all)
    byMost.push_back(emitMost(builder, value));
  builder.SetInsertPoint(any);
  for (Instruction *value : values.all)
    byAny.push_back(emitAny(builder, value));
  builder.SetInsertPoint(after, after->begin());
  for (auto [i, value] : llvm::enumerate(values.all)) {
    PHINode *both = builder.CreatePHI(value->getType(), 2);
    both->addIncoming(byMost[i], most->getParent());
    both->addIncoming(byAny[i], any->getParent());
    value->replaceAllUsesWith(both);
  }
  for (Instruction *value : values.all)
    value->eraseFromParent();
  return after;
}

//===----------------------------------------------------------------------===//
// Quotients
//===----------------------------------------------------------------------===//

/// Quotients by one divisor whose dividends are all known where the first of
/// them is.
std::vector<Together> findQuotients(BasicBlock &block) {
  MapVector<Value *, Together> byDivisor;
  for (Instruction &instruction : block) {
    if (instruction.getOpcode() != Instruction::FDiv ||
        !instruction.getType()->isFloatTy() ||
        isa<Constant>(instruction.getOperand(0)) ||
        isa<Constant>(instruction.getOperand(1)))
      continue;
    Together &quotients = byDivisor[instruction.getOperand(1)];
    auto *dividend = dyn_cast<Instruction>(instruction.getOperand(0));
    if (quotients.all.empty())
      quotients.at = &instruction;
    else if (dividend && dividend->getParent() == &block &&
             !dividend->comesBefore(quotients.at))
      continue;
    quotients.all.push_back(&instruction);
  }
  std::vector<Together> found;
  for (auto &[divisor, quotients] : byDivisor)
    if (quotients.all.size() >= kFewQuotients)
      found.push_back(std::move(quotients));
  return found;
}

Value *emitByInverse(IRBuilder<> &builder, Value *a, Value *b, Value *inverse) {
  auto fma = [&](Value *x, Value *y, Value *z) {
    return builder.CreateIntrinsic(Intrinsic::fma, {x->getType()}, {x, y, z});
  };
  Value *negative = builder.CreateFNeg(b);
  Value *quotient = builder.CreateFMul(a, inverse);
  for (int i = 0; i < 2; ++i)
    quotient = fma(fma(quotient, negative, a), inverse, quotient);
  return quotient;
}

BasicBlock *replaceQuotients(const Together &quotients) {
  IRBuilder<> builder(quotients.at);
  Value *divisor = quotients.at->getOperand(1);
  Value *size = emitMagnitude(builder, divisor);
  Value *isMost = builder.CreateAnd(
      {emitAreWithin(builder, quotients, getBits(-100), getBits(60)),
       builder.CreateICmpUGE(size, builder.getInt32(getBits(-60))),
       builder.CreateICmpULE(size, builder.getInt32(getBits(26)))});
  Value *inverse = nullptr;
  return computeByCase(
      quotients, isMost,
      [&](IRBuilder<> &inside, Instruction *quotient) {
        if (!inverse)
          inverse = inside.CreateFDiv(ConstantFP::get(inside.getFloatTy(), 1.0),
                                      divisor);
        return emitByInverse(inside, quotient->getOperand(0), divisor, inverse);
      },
      [&](IRBuilder<> &inside, Instruction *quotient) {
        return inside.CreateFDiv(quotient->getOperand(0), divisor);
      });
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

/// The same by integer arithmetic, as it was.
Value *emitRounding(IRBuilder<> &builder, Value *in) {
  Value *bits = builder.CreateBitCast(in, builder.getInt32Ty());
  Value *odd = builder.CreateAnd(builder.CreateLShr(bits, 16), 1);
  Value *sum =
      builder.CreateAdd(bits, builder.CreateAdd(odd, builder.getInt32(0x7fff)));
  Value *high =
      builder.CreateTrunc(builder.CreateLShr(sum, 16), builder.getInt16Ty());
  return builder.CreateSelect(builder.CreateFCmpUNO(in, in),
                              builder.getInt16(0x7fc0), high);
}

/// Runs of roundings none of which is used before the last one.
std::vector<Together> findRoundings(BasicBlock &block) {
  std::vector<Together> found;
  for (Instruction &instruction : block) {
    auto *call = dyn_cast<CallInst>(&instruction);
    if (!call || !call->getCalledFunction() ||
        call->getCalledFunction()->getName() != kRounding)
      continue;
    auto isUsedBefore = [&](Instruction *member) {
      return llvm::any_of(member->users(), [&](User *user) {
        auto *at = cast<Instruction>(user);
        return at->getParent() == &block && !isa<PHINode>(at) &&
               (at == call || at->comesBefore(call));
      });
    };
    if (found.empty() || llvm::any_of(found.back().all, isUsedBefore))
      found.emplace_back();
    found.back().all.push_back(call);
    found.back().at = call;
  }
  return found;
}

BasicBlock *replaceRoundings(const Together &roundings) {
  IRBuilder<> builder(roundings.at);
  if (roundings.all.size() < kFewRoundings) {
    Instruction *call = roundings.at;
    BasicBlock *block = call->getParent();
    call->replaceAllUsesWith(emitRounding(builder, call->getOperand(0)));
    call->eraseFromParent();
    return block;
  }
  return computeByCase(
      roundings, emitAreWithin(builder, roundings, getBits(-126), getBits(128)),
      [](IRBuilder<> &inside, Instruction *call) {
        return inside.CreateBitCast(
            inside.CreateFPTrunc(call->getOperand(0), inside.getBFloatTy()),
            inside.getInt16Ty());
      },
      [](IRBuilder<> &inside, Instruction *call) {
        return emitRounding(inside, call->getOperand(0));
      });
}

/// Replaces what there is in each block, which is cut each time.
void replaceAll(Function &function,
                function_ref<std::vector<Together>(BasicBlock &)> find,
                function_ref<BasicBlock *(const Together &)> replace) {
  std::vector<BasicBlock *> blocks;
  for (BasicBlock &block : function)
    blocks.push_back(&block);
  for (BasicBlock *block : blocks)
    for (std::vector<Together> found = find(*block); !found.empty();
         found = find(*block))
      block = replace(found.front());
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

void mlir::weft::useDeviceInstructions(llvm::Module &module) {
  for (Function &function : module) {
    replaceAll(function, findQuotients, replaceQuotients);
    replaceAll(function, findRoundings, replaceRoundings);
  }
  if (Function *callee = module.getFunction(kRounding))
    callee->eraseFromParent();
}
