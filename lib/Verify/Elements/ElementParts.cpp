// SPDX-License-Identifier: Apache-2.0

// Tensors in parts, and what is made of them element by element. Ops may be
// done on each part or on the whole:
//   concat(f(a), f(b)) is f(concat(a, b)),
// which is the one form here, for an f of one operand and constants. And a sum
// of tensors that are one number c but for parts that do not meet is
//   pad(a, 0, n) + pad(b, m, 0) = concat(a, b) + c,
// as of each element one of both is c, which side it is on makes no difference.
// Where some part and c are a constant or the part itself, it is
//   concat(a + c, b + c).

#include "Elements.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::weft::proof;

/// Where all of the scalar ops have the same constants, but for one operand:
/// the number of that. They are the same op.
static std::optional<unsigned>
findOnlyOperand(ArrayRef<const Element *> scalars) {
  const Element *first = scalars.front();
  if (first->kind != ElementKind::Scalar || first->type.isIndex())
    return std::nullopt;
  for (const Element *other : scalars)
    if (other->kind != first->kind || other->name != first->name ||
        other->details != first->details || other->type != first->type ||
        other->numbers != first->numbers ||
        other->operands.size() != first->operands.size())
      return std::nullopt;
  std::optional<unsigned> only;
  for (unsigned i = 0; i < first->operands.size(); ++i) {
    bool isConstant = llvm::all_of(scalars, [&](const Element *scalar) {
      return scalar->operands[i] == first->operands[i] &&
             scalar->operands[i]->kind == ElementKind::Constant;
    });
    if (!isConstant && only)
      return std::nullopt;
    if (!isConstant)
      only = i;
  }
  bool haveOneType =
      only && llvm::all_of(scalars, [&](const Element *scalar) {
        return scalar->operands[*only]->type == first->operands[*only]->type;
      });
  return haveOneType ? only : std::nullopt;
}

const Element *ElementTable::readParts(Element parts,
                                       ArrayRef<const Element *> indices) {
  const Element *base = parts.operands.front();
  ArrayRef<const Element *> made = ArrayRef(parts.operands).drop_front();
  std::optional<unsigned> only;
  if (!ofReals && base->kind == ElementKind::Undefined && made.size() > 1)
    only = findOnlyOperand(made);
  if (!only)
    return getRead(get(std::move(parts)), indices);
  const Element *like = made.front();
  Element inner = parts;
  inner.type = like->operands[*only]->type;
  inner.operands.front() = getUndefined(inner.type);
  for (auto [operand, scalar] :
       llvm::zip(MutableArrayRef(inner.operands).drop_front(), made))
    operand = scalar->operands[*only];
  SmallVector<const Element *> operands(like->operands.begin(),
                                        like->operands.end());
  operands[*only] = readParts(std::move(inner), indices);
  return rebuild(like, operands);
}

/// The boxes of parts: where each begins, and its sizes.
static SmallVector<ArrayRef<int64_t>> getBoxes(const Element *parts) {
  unsigned length = 2 * parts->shape.size();
  SmallVector<ArrayRef<int64_t>> boxes;
  for (unsigned i = 0; i + 1 < parts->operands.size(); ++i)
    boxes.push_back(ArrayRef(parts->numbers).slice(i * length, length));
  return boxes;
}

static bool areDisjoint(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  unsigned rank = a.size() / 2;
  return llvm::any_of(llvm::seq(rank), [&](unsigned dim) {
    return a[dim] + a[rank + dim] <= b[dim] || b[dim] + b[rank + dim] <= a[dim];
  });
}

static int64_t count(ArrayRef<int64_t> sizes) {
  int64_t elements = 1;
  for (int64_t size : sizes)
    elements *= size;
  return elements;
}

/// Says whether both are the same number but for parts that do not meet.
static bool arePadsApart(const Element *a, const Element *b) {
  auto isPad = [](const Element *element) {
    return element->kind == ElementKind::Read &&
           element->operands[0]->kind == ElementKind::Parts &&
           element->operands[0]->operands[0]->kind == ElementKind::Constant;
  };
  if (!isPad(a) || !isPad(b))
    return false;
  const Element *first = a->operands[0], *second = b->operands[0];
  if (first->operands[0] != second->operands[0] ||
      first->shape != second->shape ||
      ArrayRef(a->operands).drop_front() != ArrayRef(b->operands).drop_front())
    return false;
  return llvm::all_of(getBoxes(first), [&](ArrayRef<int64_t> box) {
    return llvm::all_of(getBoxes(second), [&](ArrayRef<int64_t> other) {
      return areDisjoint(box, other);
    });
  });
}

const Element *ElementTable::joinPads(Attribute name, DictionaryAttr details,
                                      Type type,
                                      ArrayRef<const Element *> operands) {
  if (ofReals || operands.size() != 2 || type.isIndex() ||
      !arePadsApart(operands[0], operands[1]) ||
      !getScalarOp(name, details).isCommutative)
    return nullptr;
  struct Part {
    ArrayRef<int64_t> box;
    const Element *element;
  };
  SmallVector<Part> parts;
  int64_t covered = 0;
  const Element *function = operands[0]->operands[0],
                *around = function->operands[0];
  for (const Element *operand : operands) {
    const Element *pad = operand->operands[0];
    for (auto [box, element] :
         llvm::zip(getBoxes(pad), ArrayRef(pad->operands).drop_front())) {
      parts.push_back({box, element});
      covered += count(box.drop_front(box.size() / 2));
    }
  }
  llvm::sort(parts, [](const Part &a, const Part &b) {
    return a.box.vec() < b.box.vec();
  });
  auto addAround = [&](const Element *element) {
    return makeScalar(name, details, type, {element, around});
  };
  bool isCovered = covered == count(function->shape);
  bool isEach = isCovered && llvm::any_of(parts, [&](const Part &part) {
                  const Element *sum = addAround(part.element);
                  return sum->kind != ElementKind::Scalar || sum->name != name;
                });
  Element joined{ElementKind::Parts};
  joined.type = type;
  joined.shape = function->shape;
  joined.operands.push_back(isCovered ? getUndefined(type) : around);
  for (const Part &part : parts) {
    joined.operands.push_back(isEach ? addAround(part.element) : part.element);
    joined.numbers.append(part.box.begin(), part.box.end());
  }
  const Element *whole = readParts(
      std::move(joined), ArrayRef(operands[0]->operands).drop_front());
  return isEach ? whole : addAround(whole);
}
