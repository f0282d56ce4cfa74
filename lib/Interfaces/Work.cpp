// SPDX-License-Identifier: Apache-2.0

// Bytes and sizes from types and maps.

#include "weft/Interfaces/Work.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::weft;

int64_t mlir::weft::getBufferBytes(ShapedType type) {
  Type element = type.getElementType();
  int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  if (bits == 1)
    bits = 8;
  return llvm::divideCeil(type.getNumElements() * bits, 8);
}

int64_t mlir::weft::getShapedBytes(Type type) {
  auto shaped = cast<ShapedType>(type);
  return shaped.hasStaticShape() ? getBufferBytes(shaped) : 0;
}

/// Adds up the roles of the maps' dims.
static ProductWork getProductSizes(ArrayRef<Type> lhsRhsOut,
                                   ArrayRef<AffineMap> maps) {
  ProductWork sizes;
  for (unsigned dim = 0; dim < maps[0].getNumDims(); ++dim) {
    int64_t size = 1;
    bool isIn[3];
    for (int i = 0; i < 3; ++i) {
      auto at = maps[i].getResultPosition(
          getAffineDimExpr(dim, maps[i].getContext()));
      isIn[i] = at.has_value();
      if (at)
        size = cast<ShapedType>(lhsRhsOut[i]).getDimSize(*at);
    }
    double &role = !isIn[2]             ? sizes.k
                   : isIn[0] && isIn[1] ? sizes.batch
                   : isIn[0]            ? sizes.m
                                        : sizes.n;
    role *= double(size);
  }
  return sizes;
}

OpWork mlir::weft::getProductWork(Operation *op, ArrayRef<Type> lhsRhsOut,
                                  ArrayRef<AffineMap> maps) {
  OpWork work;
  ProductWork product = getProductSizes(lhsRhsOut, maps);
  product.lhs = getElementTypeOrSelf(lhsRhsOut[0]);
  product.rhs = getElementTypeOrSelf(lhsRhsOut[1]);
  if (auto narrow = op->getAttrOfType<TypeAttr>("weft_rt.product_type"))
    product.lhs = product.rhs = narrow.getValue();
  for (auto [type, element] :
       {std::pair(lhsRhsOut[0], product.lhs), {lhsRhsOut[1], product.rhs}})
    work.bytesRead +=
        double(getShapedBytes(cast<ShapedType>(type).clone(element)));
  work.bytesWritten = double(getShapedBytes(lhsRhsOut[2]));
  work.product = product;
  return work;
}
