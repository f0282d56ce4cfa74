// SPDX-License-Identifier: Apache-2.0

// Movement: the same elements at other indices, and tensors in parts. Parts are
// boxes that do not overlap, in the order of where they begin; dims of size 1
// fall away.

#include "ProgramElements.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

static bool areDisjoint(ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes,
                        ArrayRef<int64_t> otherOffsets,
                        ArrayRef<int64_t> otherSizes) {
  for (auto [begin, size, other, otherSize] :
       llvm::zip(offsets, sizes, otherOffsets, otherSizes))
    if (begin + size <= other || other + otherSize <= begin)
      return true;
  return false;
}

static bool isInside(ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes,
                     ArrayRef<int64_t> otherOffsets,
                     ArrayRef<int64_t> otherSizes) {
  for (auto [begin, size, other, otherSize] :
       llvm::zip(offsets, sizes, otherOffsets, otherSizes))
    if (begin < other || begin + size > other + otherSize)
      return false;
  return true;
}

static int64_t countElements(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                         std::multiplies<>());
}

/// If a tensor of a shape is made of parts, adds these, at offsets.
bool ProgramElements::openParts(const Element *element, ArrayRef<int64_t> shape,
                                ArrayRef<int64_t> offsets,
                                SmallVectorImpl<Part> &parts,
                                const Element *&base) {
  if (element->kind != ElementKind::Read ||
      element->operands[0]->kind != ElementKind::Parts)
    return false;
  const Element *function = element->operands[0];
  SmallVector<unsigned> kept;
  for (auto [i, size] : llvm::enumerate(shape))
    if (size != 1)
      kept.push_back(i);
  if (kept.size() != function->shape.size())
    return false;
  for (auto [i, dim] : llvm::enumerate(kept))
    if (element->operands[i + 1] != table.getVariable(dim, shape[dim]) ||
        function->shape[i] != shape[dim])
      return false;
  auto rename = [&](const Element *part, ArrayRef<int64_t> sizes) {
    Assignment names;
    for (auto [i, dim] : llvm::enumerate(kept))
      if (sizes[i] != 1)
        names.push_back(
            {table.getVariable(i, sizes[i]), table.getVariable(dim, sizes[i])});
    return table.substitute(part, names);
  };
  base = rename(function->operands[0], function->shape);
  unsigned rank = kept.size();
  for (unsigned i = 0; i + 1 < function->operands.size(); ++i) {
    ArrayRef<int64_t> box =
        ArrayRef(function->numbers).slice(i * 2 * rank, 2 * rank);
    Part part{rename(function->operands[i + 1], box.drop_front(rank)),
              SmallVector<int64_t>(offsets),
              SmallVector<int64_t>(shape.size(), 1)};
    for (auto [j, dim] : llvm::enumerate(kept)) {
      part.offsets[dim] += box[j];
      part.sizes[dim] = box[rank + j];
    }
    parts.push_back(std::move(part));
  }
  return true;
}

/// Parts over a number that is the same everywhere: what lies on that number
/// itself lies on the base, and the number is no part.
void ProgramElements::spreadOnBase(const Element *base,
                                   SmallVectorImpl<Part> &parts) {
  if (!base->variables.empty())
    return;
  SmallVector<Part> spread;
  for (Part &part : parts) {
    SmallVector<Part> own;
    const Element *around = nullptr;
    if (openParts(part.element, part.sizes, part.offsets, own, around) &&
        around == base)
      llvm::append_range(spread, own);
    else if (part.element != base)
      spread.push_back(std::move(part));
  }
  parts = std::move(spread);
}

/// A tensor of parts, of which none overlap, over a base.
const Element *ProgramElements::assemble(const Element *base,
                                         SmallVector<Part> parts,
                                         ArrayRef<int64_t> shape) {
  int64_t covered = 0;
  for (const Part &part : parts)
    covered += countElements(part.sizes);
  if (covered == countElements(shape))
    base = table.getUndefined(base->type);
  spreadOnBase(base, parts);
  llvm::erase_if(
      parts, [](const Part &part) { return countElements(part.sizes) == 0; });
  if (parts.empty())
    return base;
  if (parts.size() == 1 && llvm::equal(parts[0].sizes, shape))
    return parts[0].element;
  llvm::sort(parts, [](const Part &a, const Part &b) {
    return a.offsets < b.offsets;
  });
  SmallVector<unsigned> kept;
  for (auto [i, size] : llvm::enumerate(shape))
    if (size != 1)
      kept.push_back(i);
  auto rename = [&](const Element *part, ArrayRef<int64_t> sizes) {
    Assignment names;
    for (auto [i, dim] : llvm::enumerate(kept))
      if (sizes[dim] != 1)
        names.push_back({table.getVariable(dim, sizes[dim]),
                         table.getVariable(i, sizes[dim])});
    return table.substitute(part, names);
  };
  Element made{ElementKind::Parts};
  made.type = base->type;
  made.operands.push_back(rename(base, shape));
  Elements indices;
  for (unsigned dim : kept) {
    made.shape.push_back(shape[dim]);
    indices.push_back(table.getVariable(dim, shape[dim]));
  }
  for (const Part &part : parts) {
    made.operands.push_back(rename(part.element, part.sizes));
    for (unsigned dim : kept)
      made.numbers.push_back(part.offsets[dim]);
    for (unsigned dim : kept)
      made.numbers.push_back(part.sizes[dim]);
  }
  return table.readParts(std::move(made), indices);
}

/// An insertion at a place that is computed, or between other elements: a
/// choice at each index.
void ProgramElements::insertBetween(tensor::InsertSliceOp op) {
  Elements indices;
  const Element *hit = nullptr;
  auto require = [&](const Element *condition) {
    hit = hit ? compute("arith.andi", condition->type, {hit, condition})
              : condition;
  };
  ArrayRef<int64_t> shape = op.getType().getShape();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (auto [i, offset] : llvm::enumerate(op.getMixedOffsets())) {
    int64_t size = op.getStaticSizes()[i];
    // One element has no stride.
    int64_t stride = size == 1 ? 1 : op.getStaticStrides()[i];
    int64_t span = (size - 1) * stride + 1;
    const Element *index = table.getVariable(i, shape[i]);
    const Element *begin = getOffset(op, offset, span, shape[i]);
    if (size != shape[i] || begin != table.getIndex(0)) {
      index = table.add(index, begin, -1);
      // Of the source's indices, which are all of them where every second one
      // is there. Unsigned: a negative index is a large one.
      const Element *at = table.floorDiv(index, stride);
      require(compare(arith::CmpIPredicate::ult, at, table.getIndex(size)));
      require(
          compare(arith::CmpIPredicate::eq, table.scale(at, stride), index));
      index = at;
    }
    if (!dropped[i])
      indices.push_back(index);
  }
  const Element *inserted = readTensor(op.getSource(), indices);
  if (hit)
    inserted = compute("arith.select", inserted->type,
                       {hit, inserted, get(op.getDest())});
  set(op, op.getResult(), inserted);
}

bool ProgramElements::liftInsertSlice(tensor::InsertSliceOp op) {
  if (ShapedType::isDynamicShape(op.getStaticSizes()) ||
      ShapedType::isDynamicShape(op.getStaticStrides()))
    return false;
  auto isSpread = [](auto dim) {
    auto [size, stride] = dim;
    return size != 1 && stride != 1;
  };
  ArrayRef<int64_t> shape = op.getType().getShape(),
                    sizes = op.getStaticSizes();
  SmallVector<int64_t> offsets;
  for (auto [i, offset] : llvm::enumerate(op.getMixedOffsets())) {
    int64_t span = (sizes[i] - 1) * op.getStaticStrides()[i] + 1;
    auto number = dyn_cast_if_present<IntegerAttr>(
        table.getConstantValue(getOffset(op, offset, span, shape[i])));
    if (number)
      offsets.push_back(number.getInt());
  }
  if (offsets.size() != shape.size() ||
      llvm::any_of(llvm::zip(op.getStaticSizes(), op.getStaticStrides()),
                   isSpread)) {
    insertBetween(op);
    return true;
  }
  llvm::SmallBitVector dropped = op.getDroppedDims();
  Elements indices;
  for (auto [i, size] : llvm::enumerate(sizes))
    if (!dropped[i])
      indices.push_back(table.getVariable(i, size));
  Part inserted{readTensor(op.getSource(), indices),
                SmallVector<int64_t>(offsets), SmallVector<int64_t>(sizes)};
  SmallVector<Part> parts;
  const Element *base = nullptr;
  SmallVector<int64_t> zeros(shape.size(), 0);
  bool isOpen = openParts(get(op.getDest()), shape, zeros, parts, base);
  llvm::erase_if(parts, [&](const Part &part) {
    return isInside(part.offsets, part.sizes, offsets, sizes);
  });
  bool overlaps = llvm::any_of(parts, [&](const Part &part) {
    return !areDisjoint(part.offsets, part.sizes, offsets, sizes);
  });
  if (!isOpen || overlaps) {
    parts.clear();
    base = get(op.getDest());
  }
  parts.push_back(std::move(inserted));
  set(op, op.getResult(), assemble(base, std::move(parts), shape));
  return true;
}

/// Adds a tensor of a shape, or the parts that it is all made of.
void ProgramElements::appendParts(const Element *element,
                                  ArrayRef<int64_t> shape,
                                  ArrayRef<int64_t> offsets,
                                  SmallVectorImpl<Part> &parts) {
  SmallVector<Part> own;
  const Element *base = nullptr;
  if (openParts(element, shape, offsets, own, base) &&
      base->kind == ElementKind::Undefined)
    llvm::append_range(parts, own);
  else
    parts.push_back(
        {element, SmallVector<int64_t>(offsets), SmallVector<int64_t>(shape)});
}

bool ProgramElements::liftConcat(tensor::ConcatOp op) {
  auto type = op.getType();
  SmallVector<Part> parts;
  SmallVector<int64_t> offsets(type.getRank(), 0);
  for (Value input : op.getInputs()) {
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(input.getType()).getShape();
    appendParts(get(input), shape, offsets, parts);
    offsets[op.getDim()] += shape[op.getDim()];
  }
  set(op, op.getResult(),
      assemble(table.getUndefined(type.getElementType()), std::move(parts),
               type.getShape()));
  return true;
}

/// Scalars are the parts of a row; the tensor has it in another shape.
void ProgramElements::liftFromElements(tensor::FromElementsOp op) {
  auto type = op.getType();
  int64_t count = type.getNumElements();
  SmallVector<Part> parts;
  for (auto [i, element] : llvm::enumerate(op.getElements()))
    parts.push_back({get(element), {static_cast<int64_t>(i)}, {1}});
  const Element *row = assemble(table.getUndefined(type.getElementType()),
                                std::move(parts), count);
  const Element *index = table.getIndex(0);
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    index = table.add(table.scale(index, size), table.getVariable(dim, size));
  set(op, op.getResult(), readAt(row, count, index));
}

/// What the body of a pad or generate yields at indices.
const Element *ProgramElements::getBodyElement(Block &body,
                                               const Elements &indices) {
  for (auto [arg, index] : llvm::zip(body.getArguments(), indices))
    values[arg] = index;
  if (failed(liftBlock(body)))
    return nullptr;
  return get(body.getTerminator()->getOperand(0));
}

bool ProgramElements::liftPad(tensor::PadOp op) {
  if (ShapedType::isDynamicShape(op.getStaticLow()) ||
      ShapedType::isDynamicShape(op.getStaticHigh()) ||
      llvm::any_of(op.getStaticLow(), [](int64_t low) { return low < 0; }) ||
      llvm::any_of(op.getStaticHigh(), [](int64_t high) { return high < 0; }))
    return false;
  ArrayRef<int64_t> shape = op.getType().getShape();
  const Element *base =
      getBodyElement(op.getRegion().front(), getIndices(shape));
  if (!base)
    return false;
  Part inner{get(op.getSource()), SmallVector<int64_t>(op.getStaticLow()),
             SmallVector<int64_t>(op.getSourceType().getShape())};
  set(op, op.getResult(), assemble(base, {std::move(inner)}, shape));
  return true;
}

bool ProgramElements::liftGenerate(tensor::GenerateOp op) {
  const Element *element = getBodyElement(
      op.getBody().front(),
      getIndices(cast<RankedTensorType>(op.getType()).getShape()));
  if (element)
    set(op, op.getResult(), element);
  return element;
}

//===----------------------------------------------------------------------===//
// Slices and reshapes
//===----------------------------------------------------------------------===//

bool ProgramElements::liftExtractSlice(tensor::ExtractSliceOp op) {
  if (ShapedType::isDynamicShape(op.getStaticSizes()) ||
      ShapedType::isDynamicShape(op.getStaticStrides()))
    return false;
  llvm::SmallBitVector dropped = op.getDroppedDims();
  Elements indices;
  unsigned dim = 0;
  for (auto [i, offset] : llvm::enumerate(op.getMixedOffsets())) {
    int64_t size = op.getStaticSizes()[i], stride = op.getStaticStrides()[i];
    const Element *index = getOffset(op, offset, (size - 1) * stride + 1,
                                     op.getSourceType().getDimSize(i));
    if (!dropped[i]) {
      const Element *own = table.getVariable(dim++, size);
      index = table.add(index, own, stride);
    }
    indices.push_back(index);
  }
  set(op, op.getResult(), readTensor(op.getSource(), indices));
  return true;
}

void ProgramElements::liftCollapse(tensor::CollapseShapeOp op) {
  ArrayRef<int64_t> shape = op.getSrcType().getShape();
  Elements indices(shape.size(), table.getIndex(0));
  for (auto [i, group] : llvm::enumerate(op.getReassociationIndices())) {
    const Element *rest =
        table.getVariable(i, op.getResultType().getDimSize(i));
    for (int64_t dim : llvm::reverse(group)) {
      if (dim == group.front() || shape[dim] == 0) {
        indices[dim] = rest;
        continue;
      }
      const Element *outer = table.floorDiv(rest, shape[dim]);
      indices[dim] = table.add(rest, outer, -shape[dim]);
      rest = outer;
    }
  }
  set(op, op.getResult(), readTensor(op.getSrc(), indices));
}

void ProgramElements::liftExpand(tensor::ExpandShapeOp op) {
  ArrayRef<int64_t> shape = op.getResultType().getShape();
  Elements indices;
  for (const ReassociationIndices &group : op.getReassociationIndices()) {
    const Element *index = table.getIndex(0);
    for (int64_t dim : group)
      index = table.add(table.scale(index, shape[dim]),
                        table.getVariable(dim, shape[dim]));
    indices.push_back(index);
  }
  set(op, op.getResult(), readTensor(op.getSrc(), indices));
}

/// False for ops that do something else, or at places that cannot be said.
bool ProgramElements::liftMovement(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](tensor::ExtractSliceOp op) { return liftExtractSlice(op); })
      .Case([&](tensor::InsertSliceOp op) { return liftInsertSlice(op); })
      .Case([&](tensor::ConcatOp op) { return liftConcat(op); })
      .Case([&](tensor::PadOp op) { return liftPad(op); })
      .Case([&](tensor::GenerateOp op) { return liftGenerate(op); })
      .Case([&](tensor::CollapseShapeOp op) { return liftCollapse(op), true; })
      .Case([&](tensor::ExpandShapeOp op) { return liftExpand(op), true; })
      .Case([&](tensor::CastOp op) {
        set(op, op.getResult(), get(op.getSource()));
        return true;
      })
      .Case([&](tensor::EmptyOp op) {
        set(op, op.getResult(),
            table.getUndefined(op.getType().getElementType()));
        return true;
      })
      .Case([&](tensor::SplatOp op) {
        set(op, op.getResult(), get(op.getInput()));
        return true;
      })
      .Case(
          [&](tensor::FromElementsOp op) { return liftFromElements(op), true; })
      .Case([&](tensor::ExtractOp op) {
        SmallVector<const Element *> indices;
        for (Value index : op.getIndices())
          indices.push_back(get(index));
        set(op, op.getResult(),
            isGlobal() ? readInside(op.getTensor(), indices)
                       : readTensor(op.getTensor(), indices));
        return true;
      })
      .Case([&](PartOffsetOp op) {
        set(op, op.getResult(), get(op.getOffset()));
        return true;
      })
      .Case([&](linalg::IndexOp op) {
        set(op, op.getResult(), around.back()[op.getDim()]);
        return true;
      })
      .Case([&](affine::AffineApplyOp op) {
        AffineMap map = op.getAffineMap();
        if (map.getNumSymbols() != 0)
          return false;
        SmallVector<const Element *> operands;
        for (Value operand : op.getMapOperands())
          operands.push_back(get(operand));
        const Element *index = table.evaluate(map.getResult(0), operands);
        if (index)
          set(op, op.getResult(), index);
        return index != nullptr;
      })
      .Default(false);
}
