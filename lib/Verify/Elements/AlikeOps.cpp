// SPDX-License-Identifier: Apache-2.0

#include "AlikeOps.h"

#include "weft/Analysis/LoopSizes.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

static uintptr_t getWord(const void *unique) {
  return reinterpret_cast<uintptr_t>(unique);
}

static uintptr_t getWord(Type type) {
  return getWord(type.getAsOpaquePointer());
}

/// Ends what has any length.
static constexpr uintptr_t kEnd = ~uintptr_t(0);

/// Whether it does nothing but compute its results from its operands, of which
/// each name is the same function in all programs: no symbol is looked up, and
/// nothing is known of it but what stands in it.
static bool isFunctionOfOperands(Operation *op) {
  return isa_and_present<arith::ArithDialect, math::MathDialect,
                         linalg::LinalgDialect, tensor::TensorDialect>(
             op->getDialect()) ||
         isa<MatmulOp, TakeOp, ScatterAddOp>(op);
}

static bool isStaticTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape();
}

/// A constant is what it is, in whichever form it stands.
static bool canBeAlike(Operation *op) {
  return op->getNumResults() > 0 && isFunctionOfOperands(op) &&
         !op->hasTrait<OpTrait::ConstantLike>() && !isa<tensor::EmptyOp>(op) &&
         llvm::all_of(op->getResultTypes(), isStaticTensor);
}

/// The body of an op of one block without blocks inside: ops by what they take,
/// told by where it was made. Values from outside are told by their order.
bool AlikeOps::tellRegion(Region &region, Words &words,
                          SmallVectorImpl<Value> &outer) {
  if (!llvm::hasSingleElement(region))
    return false;
  enum Kind : uintptr_t { Argument, Inner, Outer };
  Block &block = region.front();
  DenseMap<Value, uintptr_t> made;
  auto tellValue = [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getOwner() == &block)
      return words.append({Argument, argument.getArgNumber()});
    if (auto it = made.find(value); it != made.end())
      return words.append({Inner, it->second});
    auto *it = llvm::find(outer, value);
    words.append(
        {Outer, uintptr_t(it - outer.begin()), getWord(value.getType())});
    if (it == outer.end())
      outer.push_back(value);
  };
  for (Operation &op : block) {
    if (op.getNumRegions() || !isFunctionOfOperands(&op))
      return false;
    words.append({getWord(op.getName().getAsOpaquePointer()),
                  getWord(attributes.get(&op).getAsOpaquePointer()),
                  op.getNumOperands(), op.getNumResults()});
    for (Value operand : op.getOperands())
      tellValue(operand);
    for (Value result : op.getResults()) {
      words.push_back(getWord(result.getType()));
      made.try_emplace(result, made.size());
    }
  }
  words.push_back(kEnd);
  return true;
}

/// Attributes, but for the name that reports give an op.
static void tellAttributes(ArrayRef<NamedAttribute> attrs,
                           SmallVectorImpl<uintptr_t> &words) {
  for (NamedAttribute attr : attrs)
    if (attr.getName() != WeftDialect::kOpNameAttr)
      words.append({getWord(attr.getName().getAsOpaquePointer()),
                    getWord(attr.getValue().getAsOpaquePointer())});
  words.push_back(kEnd);
}

/// An op as it is spelled, but for its name in reports.
bool AlikeOps::tell(Operation *op, Words &words) {
  words = {getWord(op->getName().getAsOpaquePointer()), op->getNumOperands(),
           op->getNumResults(), op->getNumRegions()};
  tellAttributes(attributes.get(op).getValue(), words);
  for (Type type : op->getOperandTypes())
    words.push_back(getWord(type));
  for (Type type : op->getResultTypes())
    words.push_back(getWord(type));
  SmallVector<Value> outer;
  for (Region &region : op->getRegions())
    if (!tellRegion(region, words, outer))
      return false;
  if (!outer.empty())
    captured[op] = std::move(outer);
  return true;
}

/// A structured op, whichever its name is: its loops, and what it reads, makes
/// and does there. `words` are those of its spelling.
bool AlikeOps::tellStructured(linalg::LinalgOp op, Words &words) {
  words = {op->getNumOperands(), op->getNumResults(), countInputs(op)};
  tellAttributes(op->getDiscardableAttrDictionary().getValue(), words);
  for (Type type : op->getOperandTypes())
    words.push_back(getWord(type));
  for (Type type : op->getResultTypes())
    words.push_back(getWord(type));
  for (AffineMap map : op.getIndexingMapsArray())
    words.push_back(getWord(map.getAsOpaquePointer()));
  for (utils::IteratorType iterator : op.getIteratorTypesArray())
    words.push_back(uintptr_t(iterator));
  SmallVector<Value> outer;
  return op.hasPureTensorSemantics() &&
         tellRegion(op->getRegion(0), words, outer);
}

unsigned AlikeOps::getNumber(ArrayRef<uintptr_t> words) {
  auto it = numbers.find(words);
  if (it != numbers.end())
    return it->second;
  unsigned number = numbers.size();
  numbers[words.copy(allocator)] = number;
  return number;
}

/// The number of what an op does; no spelling has the number of a function.
unsigned AlikeOps::getFunction(Operation *op) {
  Words words;
  if ((kind == Kind::Products && !isa<MatmulOp>(op)) || !canBeAlike(op) ||
      !tell(op, words))
    return kNone;
  unsigned spelling = getNumber(words);
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  if (!structured)
    return spelling;
  auto [it, isNew] = ofSpelling.try_emplace(spelling, kNone);
  if (isNew && tellStructured(structured, words))
    it->second = getNumber(words);
  return it->second;
}

void AlikeOps::number(func::FuncOp func, std::vector<unsigned> &into) {
  for (Operation &op : func.getBody().front().without_terminator())
    into.push_back(getFunction(&op));
}

AlikeOps::AlikeOps(func::FuncOp one, func::FuncOp other, Kind kind)
    : first(one), kind(kind) {
  number(one, functions[0]);
  number(other, functions[1]);
  // What one program has more often became another op in the other one.
  std::vector<int64_t> surplus(numbers.size());
  for (unsigned function : functions[0])
    if (function != kNone)
      ++surplus[function];
  for (unsigned function : functions[1])
    if (function != kNone)
      --surplus[function];
  for (std::vector<unsigned> &ofOne : functions)
    for (unsigned &function : ofOne)
      if (function != kNone && surplus[function])
        function = kNone;
}
