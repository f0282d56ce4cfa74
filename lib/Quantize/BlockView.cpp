// SPDX-License-Identifier: Apache-2.0

#include "BlockView.h"

using namespace mlir;
using namespace mlir::weft;

BlockView::BlockView(ArrayRef<int64_t> whole, ArrayRef<int64_t> counts)
    : counts(counts) {
  for (auto [size, count] : llvm::zip_equal(whole, counts)) {
    ReassociationIndices group;
    auto add = [&](int64_t extent) {
      group.push_back(shape.size());
      shape.push_back(extent);
    };
    if (count != 1)
      scaleDims.push_back(shape.size());
    if (count == 1 || count == size) {
      add(size);
    } else {
      add(count);
      add(size / count);
    }
    groups.push_back(group);
  }
}

Value BlockView::expand(OpBuilder &builder, Location loc, Value whole) const {
  auto type = cast<RankedTensorType>(whole.getType());
  if (type.getShape() == ArrayRef(shape))
    return whole;
  // What was collapsed from these blocks is there already.
  auto collapsed = whole.getDefiningOp<tensor::CollapseShapeOp>();
  if (collapsed && collapsed.getSrcType().getShape() == ArrayRef(shape) &&
      collapsed.getReassociationIndices() == groups)
    return collapsed.getSrc();
  return tensor::ExpandShapeOp::create(builder, loc, type.clone(shape), whole,
                                       groups);
}

Value BlockView::collapse(OpBuilder &builder, Location loc,
                          Value blocked) const {
  if (groups.size() == shape.size())
    return blocked;
  return tensor::CollapseShapeOp::create(builder, loc, blocked, groups);
}

SmallVector<ReassociationIndices> BlockView::getScaleGroups() const {
  SmallVector<ReassociationIndices> result;
  ReassociationIndices group;
  for (auto [dim, count] : llvm::enumerate(counts)) {
    // A group has one dimension that is not 1; it ends before the next.
    if (count != 1 &&
        llvm::any_of(group, [&](int64_t d) { return counts[d] != 1; }))
      result.push_back(std::exchange(group, {}));
    group.push_back(dim);
  }
  if (!scaleDims.empty())
    result.push_back(group);
  return result;
}

Value BlockView::squeeze(OpBuilder &builder, Location loc, Value scales) const {
  auto type = cast<RankedTensorType>(scales.getType());
  if (static_cast<size_t>(type.getRank()) == scaleDims.size())
    return scales;
  SmallVector<int64_t> small;
  llvm::copy_if(counts, std::back_inserter(small),
                [](int64_t count) { return count != 1; });
  auto expanded = scales.getDefiningOp<tensor::ExpandShapeOp>();
  if (expanded && expanded.getSrcType().getShape() == ArrayRef(small))
    return expanded.getSrc();
  return tensor::CollapseShapeOp::create(builder, loc, type.clone(small),
                                         scales, getScaleGroups());
}

Value BlockView::unsqueeze(OpBuilder &builder, Location loc,
                           Value scales) const {
  auto type = cast<RankedTensorType>(scales.getType());
  if (type.getShape() == ArrayRef(counts))
    return scales;
  return tensor::ExpandShapeOp::create(builder, loc, type.clone(counts), scales,
                                       getScaleGroups());
}

AffineMap BlockView::getScaleMap(MLIRContext *context) const {
  SmallVector<AffineExpr> dims = llvm::map_to_vector(
      scaleDims, [&](unsigned dim) { return getAffineDimExpr(dim, context); });
  return AffineMap::get(shape.size(), 0, dims, context);
}
