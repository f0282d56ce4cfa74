// SPDX-License-Identifier: Apache-2.0

// A value that is used after a cut gets a slot of 8 bytes in an array of the
// entry's: it is stored where it is computed and loaded by each part that uses
// it. Constants and addresses of globals are repeated instead.

#include "SplitEntry.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

class Splitter {
public:
  Splitter(LLVM::LLVMFuncOp entry, int64_t partSize)
      : entry(entry), block(entry.getBody().front()), partSize(partSize),
        builder(entry.getContext()), loc(entry.getLoc()),
        pointer(LLVM::LLVMPointerType::get(entry.getContext())) {}

  void run();

private:
  void collectParts();
  LLVM::LLVMFuncOp createPart(ArrayRef<Operation *> ops, unsigned number);
  Value load(Value value, Value slots);
  Value getSlot(OpBuilder &at, Value slots, int64_t index);
  void storeCrossing(Value slots);

  LLVM::LLVMFuncOp entry;
  Block &block;
  int64_t partSize;
  OpBuilder builder;
  Location loc;
  Type pointer;
  std::vector<SmallVector<Operation *>> parts;
  llvm::MapVector<Value, int64_t> slotOf;
};

bool isRepeated(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() || isa<LLVM::AddressOfOp>(op);
}

/// Cuts in front of ops of the block; allocations stay in the entry.
void Splitter::collectParts() {
  int64_t size = partSize;
  for (Operation &op : block.without_terminator()) {
    if (isa<LLVM::AllocaOp>(op) || isRepeated(&op))
      continue;
    if (size >= partSize) {
      parts.emplace_back();
      size = 0;
    }
    parts.back().push_back(&op);
    op.walk([&](Operation *) { ++size; });
  }
}

Value Splitter::getSlot(OpBuilder &at, Value slots, int64_t index) {
  return LLVM::GEPOp::create(
      at, loc, pointer, pointer, slots,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
}

/// A value from outside of a part, at the builder's place.
Value Splitter::load(Value value, Value slots) {
  if (Operation *def = value.getDefiningOp(); def && isRepeated(def))
    return builder.clone(*def)->getResult(0);
  int64_t index = slotOf.insert({value, slotOf.size()}).first->second;
  Type type = value.getType();
  Type stored = type.isIndex() ? builder.getI64Type() : type;
  Value loaded = LLVM::LoadOp::create(builder, loc, stored,
                                      getSlot(builder, slots, index));
  if (type.isIndex())
    loaded = arith::IndexCastOp::create(builder, loc, type, loaded);
  return loaded;
}

LLVM::LLVMFuncOp Splitter::createPart(ArrayRef<Operation *> ops,
                                      unsigned number) {
  SmallVector<Type> types(block.getArgumentTypes());
  types.push_back(pointer);
  builder.setInsertionPoint(entry);
  auto part = LLVM::LLVMFuncOp::create(
      builder, loc, (entry.getSymName() + "_" + Twine(number)).str(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(entry.getContext()),
                                  types),
      LLVM::Linkage::Internal);
  part.setPassthroughAttr(entry.getPassthroughAttr());
  Block *body = part.addEntryBlock(builder);
  for (Operation *op : ops)
    op->moveBefore(body, body->end());
  builder.setInsertionPointToEnd(body);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  // Values from outside, loaded once at the top.
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  for (BlockArgument argument : block.getArguments())
    mapping.map(argument, body->getArgument(argument.getArgNumber()));
  Value slots = body->getArguments().back();
  for (Operation *op : ops)
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands()) {
        Value value = operand.get();
        if (part->isAncestor(value.getParentRegion()->getParentOp()))
          continue;
        if (!mapping.contains(value))
          mapping.map(value, load(value, slots));
        operand.set(mapping.lookup(value));
      }
    });
  return part;
}

/// Stores each value that another part loads, right after its op.
void Splitter::storeCrossing(Value slots) {
  for (auto [value, index] : slotOf) {
    Operation *def = value.getDefiningOp();
    OpBuilder at(def->getContext());
    at.setInsertionPointAfter(def);
    Value into = def->getBlock() == &block
                     ? slots
                     : Value(def->getBlock()->getArguments().back());
    Value stored = value;
    if (value.getType().isIndex())
      stored = arith::IndexCastOp::create(at, loc, at.getI64Type(), value);
    LLVM::StoreOp::create(at, loc, stored, getSlot(at, into, index));
  }
}

void Splitter::run() {
  collectParts();
  if (parts.size() < 2)
    return;
  builder.setInsertionPointToStart(&block);
  auto count = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(),
                                        builder.getI64IntegerAttr(0));
  Value slots = LLVM::AllocaOp::create(builder, loc, pointer, pointer, count);
  for (auto [number, ops] : llvm::enumerate(parts)) {
    LLVM::LLVMFuncOp part = createPart(ops, number);
    builder.setInsertionPoint(block.getTerminator());
    SmallVector<Value> arguments(block.getArguments());
    arguments.push_back(slots);
    LLVM::CallOp::create(builder, loc, part, arguments);
  }
  storeCrossing(slots);
  count.setValueAttr(
      builder.getI64IntegerAttr(std::max<int64_t>(1, slotOf.size())));
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isRepeated(&op) && op.use_empty())
      op.erase();
}

} // namespace

void mlir::weft::splitEntry(LLVM::LLVMFuncOp entry, int64_t partSize) {
  Splitter(entry, partSize).run();
}
