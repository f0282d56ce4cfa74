// SPDX-License-Identifier: Apache-2.0

// Arguments have the first roots, in order; results that are no donated
// argument have roots of their own.

#include "Places.h"
#include "weft/Codegen/Fusion/KernelShape.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"

using namespace mlir;
using namespace mlir::weft;

bool mlir::weft::isPlannable(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && !tensor.getEncoding() &&
         tensor.getElementType().isIntOrIndexOrFloat();
}

std::string mlir::weft::getName(Operation *op) {
  StringRef name = op->getName().stripDialect();
  if (auto given = op->getAttrOfType<StringAttr>(WeftDialect::kOpNameAttr))
    name = given.getValue();
  else if (isa<tensor::ConcatOp, tensor::InsertSliceOp>(op))
    // These take no time and so have no names of their own.
    if (Operation *part = op->getOperand(0).getDefiningOp();
        part && part->hasAttr(WeftDialect::kOpNameAttr))
      return (name + " of " + getName(part)).str();
  StringRef gathered = name;
  if (gathered.consume_front("all_gather ") && !gathered.starts_with("#"))
    return ("gathered " + gathered).str();
  return name.str();
}

std::string mlir::weft::getName(OpResult result) {
  // What a wait gives is called by what was started.
  Operation *op = result.getOwner();
  if (auto wait = dyn_cast<WaitOp>(op))
    op = wait.getFutures()[0].getDefiningOp();
  std::string name = getName(op);
  if (result.getOwner()->getNumResults() > 1)
    name += ":" + std::to_string(result.getResultNumber());
  return name;
}

namespace {

/// The name of an argument or result of the step.
std::string getName(StringAttr given, StringRef list, unsigned number) {
  return given ? given.str() : (list + Twine(number)).str();
}

} // namespace

Places::Places(func::FuncOp source)
    : source(source), lifetimes(source), ids(source),
      resultTypes(source.getResultTypes()) {
  for (BlockArgument argument : source.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto name =
        source.getArgAttrOfType<StringAttr>(number, WeftDialect::kNameAttr);
    int root = addRoot(argument.getType(), rt::Space::Argument, number,
                       ::getName(name, "arg", number));
    set(argument, getDensePlace(root, argument.getType()));
  }
  for (OpOperand &returned :
       source.getBody().front().getTerminator()->getOpOperands())
    wishResult(returned);
  source.walk([&](tensor::ConcatOp concat) { wishParts(concat); });
}

//===----------------------------------------------------------------------===//
// Roots and places
//===----------------------------------------------------------------------===//

int Places::addRoot(Type type, rt::Space space, int64_t position,
                    const Twine &name) {
  Root root;
  root.space = space;
  root.name = name.str();
  root.type = cast<RankedTensorType>(type);
  root.position = position;
  root.bytes = rt::getBufferBytes(cast<ShapedType>(type));
  roots.push_back(std::move(root));
  return roots.size() - 1;
}

Place Places::getDensePlace(int root, Type type) const {
  Place place;
  place.root = root;
  place.strides = rt::getDenseStrides(cast<RankedTensorType>(type).getShape());
  return place;
}

Place Places::allocate(Type type, const Twine &name) {
  return getDensePlace(addRoot(type, rt::Space::Arena, 0, name), type);
}

Place Places::allocate(OpResult result) {
  return allocate(result.getType(), mlir::weft::getName(result));
}

Place Places::allocateOnHost(OpResult result) {
  return getDensePlace(addRoot(result.getType(), rt::Space::Host, 0,
                               mlir::weft::getName(result)),
                       result.getType());
}

Place Places::getResultPlace(unsigned number) const {
  return getDensePlace(resultRoots[number], resultTypes[number]);
}

void Places::set(Value value, Place place) {
  roots[place.root].values.push_back(value);
  places[value] = std::move(place);
}

bool Places::isUndefined(Value value) const {
  return value.getDefiningOp<tensor::EmptyOp>() && !contains(value);
}

bool Places::isDense(Value value) const {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  for (auto [size, stride, expected] :
       llvm::zip(shape, get(value).strides, rt::getDenseStrides(shape)))
    if (size != 1 && stride != expected)
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Free memory
//===----------------------------------------------------------------------===//

/// Says whether `op` may write to `root`: nothing in it is used after `op`, and
/// `op` itself reads of it only what `mayShare` allows.
bool Places::isFree(int root, Operation *op, MayShare mayShare) const {
  int64_t now = lifetimes.getPosition(op);
  bool isDead = llvm::all_of(roots[root].values, [&](Value value) {
    return lifetimes.getLastUse(value, op) <= now;
  });
  return isDead && llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
           auto it = places.find(operand.get());
           return it == places.end() || it->second.root != root ||
                  mayShare(operand);
         });
}

bool Places::canOverwrite(OpOperand &input, Value result,
                          MayShare mayShare) const {
  Value value = input.get();
  // A slice at an offset that is not known would be memory of which no proof
  // can tell what lies in it.
  if (!contains(value) || value.getType() != result.getType() ||
      !isDense(value) || get(value).dynamicOffset)
    return false;
  int root = get(value).root;
  // The caller's memory is only written where the caller wants the result.
  auto wish = wishes.find(result);
  bool isDonated = wish != wishes.end() && wish->second.root == root &&
                   get(value) == getDensePlace(root, result.getType());
  return (roots[root].space == rt::Space::Arena || isDonated) &&
         isFree(root, input.getOwner(), mayShare);
}

//===----------------------------------------------------------------------===//
// Wishes
//===----------------------------------------------------------------------===//

/// A returned value, or what it is a reshape of, wants to be computed in its
/// result's memory.
void Places::wishResult(OpOperand &returned) {
  unsigned number = returned.getOperandNumber();
  auto alias =
      source.getResultAttrOfType<IntegerAttr>(number, WeftDialect::kAliasAttr);
  auto name =
      source.getResultAttrOfType<StringAttr>(number, WeftDialect::kNameAttr);
  int root = alias ? static_cast<int>(alias.getInt())
                   : addRoot(returned.get().getType(), rt::Space::Result,
                             number, ::getName(name, "result", number));
  resultRoots.push_back(root);
  Value value = returned.get();
  while (Operation *def = value.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
            def))
      break;
    value = def->getOperand(0);
  }
  Operation *def = value.getDefiningOp();
  if (def && def->getParentOp() == source && !wishes.count(value))
    wishes[value].root = root;
}

/// The operands of a concatenation want to be computed as its parts.
void Places::wishParts(tensor::ConcatOp concat) {
  int64_t stride =
      rt::getDenseStrides(concat.getResultType().getShape())[concat.getDim()];
  int64_t offset = 0;
  for (Value part : concat.getInputs()) {
    Operation *def = part.getDefiningOp();
    if (isa_and_nonnull<rt::FusedOp, MatmulOp>(def) && !wishes.count(part) &&
        def->getBlock() == concat->getBlock())
      wishes[part] = Wish{concat.getResult(), offset, -1};
    offset +=
        cast<RankedTensorType>(part.getType()).getDimSize(concat.getDim()) *
        stride;
  }
}

/// The place of a part. The first part that is met places the concatenation.
Place Places::findPart(const Wish &wish, Operation *op) {
  if (!contains(wish.whole)) {
    std::optional<Place> place = findWished(wish.whole, op);
    set(wish.whole, place ? *place : allocate(cast<OpResult>(wish.whole)));
  }
  Place place = get(wish.whole);
  place.offset += wish.offset;
  return place;
}

std::optional<Place> Places::findWished(Value result, Operation *op,
                                        MayShare mayShare) {
  auto it = wishes.find(result);
  if (it == wishes.end())
    return std::nullopt;
  const Wish wish = it->second;
  if (wish.whole)
    return findPart(wish, op);
  if (!isFree(wish.root, op, mayShare))
    return std::nullopt;
  return getDensePlace(wish.root, result.getType());
}

std::optional<Place> Places::findWished(Value result, Operation *op) {
  return findWished(result, op, [](OpOperand &) { return false; });
}
