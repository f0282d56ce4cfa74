// SPDX-License-Identifier: Apache-2.0

// Positions are numbered in program order, and so are values.

#include "BufferPlan.h"
#include "weft/Codegen/Fusion/KernelShape.h"

#include "weft/Analysis/Traffic.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::weft;

Lifetimes::Lifetimes(Operation *function) {
  int64_t next = 0;
  std::function<void(Operation *)> number = [&](Operation *op) {
    first[op] = last[op] = next++;
    // A fused op happens at one time.
    if (op->getNumRegions() == 0 || isa<rt::FusedOp>(op))
      return;
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Operation &inner : block)
          number(&inner);
    last[op] = next++;
  };
  number(function);
}

int64_t Lifetimes::findLastUse(Value value, Operation *except) const {
  Region *home = value.getParentRegion();
  int64_t lastUse = value.getDefiningOp() ? getPosition(value.getDefiningOp())
                                          : getPosition(home->getParentOp());
  for (Operation *user : value.getUsers()) {
    Operation *outer = home->findAncestorOpInRegion(*user);
    WaitOp wait = outer == except ? WaitOp() : getWait(outer);
    lastUse = std::max(lastUse, getEnd(wait ? wait : outer));
  }
  return lastUse;
}

int64_t Lifetimes::getLastUse(Value value, Operation *except) const {
  if (except && getWait(except))
    return findLastUse(value, except);
  auto [it, isNew] = lastUses.try_emplace(value, 0);
  if (isNew)
    it->second = findLastUse(value, nullptr);
  return it->second;
}

ValueIds::ValueIds(func::FuncOp function) {
  number(function.getBody().front());
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

Part mlir::weft::getWhole(RankedTensorType type) {
  return {0, rt::getDenseStrides(type.getShape()), false};
}

rt::PartAttr mlir::weft::getPartAttr(const Part &part, RankedTensorType type) {
  SmallVector<int64_t> strides = part.strides;
  // Those of unit dims say nothing.
  for (auto [size, stride, dense] :
       llvm::zip(type.getShape(), strides, getWhole(type).strides))
    if (size == 1)
      stride = dense;
  MLIRContext *context = type.getContext();
  return rt::PartAttr::get(
      context, part.begin, DenseI64ArrayAttr::get(context, type.getShape()),
      DenseI64ArrayAttr::get(context, strides), part.moves);
}

Part mlir::weft::getSlice(const Part &whole, OffsetSizeAndStrideOpInterface op,
                          const llvm::SmallBitVector &dropped) {
  Part slice = {whole.begin, {}, whole.moves};
  for (auto [dim, offset] : llvm::enumerate(op.getMixedOffsets())) {
    if (!dropped.test(dim))
      slice.strides.push_back(whole.strides[dim] * op.getStaticStride(dim));
    if (std::optional<int64_t> constant = getConstantIntValue(offset))
      slice.begin += *constant * whole.strides[dim];
    else
      slice.moves = true;
  }
  return slice;
}

namespace {

Part getExpanded(const Part &source, tensor::ExpandShapeOp op) {
  ArrayRef<int64_t> shape = op.getResultType().getShape();
  Part expanded = {source.begin, SmallVector<int64_t>(shape.size(), 1),
                   source.moves};
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    int64_t stride = source.strides[dim];
    for (int64_t i : llvm::reverse(group)) {
      expanded.strides[i] = stride;
      stride *= shape[i];
    }
  }
  return expanded;
}

/// Nullopt if dims that become one do not continue each other in the value.
std::optional<Part> getCollapsed(const Part &source,
                                 tensor::CollapseShapeOp op) {
  ArrayRef<int64_t> shape = op.getSrcType().getShape();
  Part collapsed = {source.begin, {}, source.moves};
  for (const ReassociationIndices &group : op.getReassociationIndices()) {
    std::optional<int64_t> stride;
    int64_t next = 0;
    for (int64_t i : llvm::reverse(group)) {
      if (shape[i] == 1)
        continue;
      if (stride && source.strides[i] != next)
        return std::nullopt;
      stride = stride.value_or(source.strides[i]);
      next = source.strides[i] * shape[i];
    }
    collapsed.strides.push_back(stride.value_or(1));
  }
  return collapsed;
}

} // namespace

rt::PartAttr ValueIds::getPart(Value value) const {
  auto it = parts.find(value);
  if (it == parts.end())
    return rt::PartAttr();
  auto type = cast<RankedTensorType>(value.getType());
  rt::PartAttr part = getPartAttr(it->second, type);
  bool isWhole = type.getNumElements() == numElements.lookup(get(value)) &&
                 part == getPartAttr(getWhole(type), type);
  return isWhole ? rt::PartAttr() : part;
}

/// A slice or reshape is a part of what it is made of, if it can be.
void ValueIds::numberPart(Operation *op) {
  Value source = op->getOperand(0), result = op->getResult(0);
  auto it = parts.find(source);
  Part whole = it == parts.end()
                   ? getWhole(cast<RankedTensorType>(source.getType()))
                   : it->second;
  std::optional<Part> part = whole;
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    part = getSlice(whole, slice, slice.getDroppedDims());
  else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    part = getExpanded(whole, expand);
  else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    part = getCollapsed(whole, collapse);
  if (!part)
    return number(result);
  ids[result] = get(source);
  parts[result] = *part;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

void ValueIds::number(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return;
  // Others are refused where the plan comes to them.
  if (type.hasStaticShape())
    numElements[next] = type.getNumElements();
  ids[value] = next++;
}

void ValueIds::number(Block &block) {
  for (BlockArgument argument : block.getArguments())
    number(argument);
  for (Operation &op : block) {
    if (isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
            tensor::CollapseShapeOp, tensor::CastOp>(op)) {
      numberPart(&op);
      continue;
    }
    for (Value result : op.getResults())
      number(result);
    if (!isa<rt::FusedOp>(op))
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          number(inner);
  }
}
