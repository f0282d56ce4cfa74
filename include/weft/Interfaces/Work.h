// SPDX-License-Identifier: Apache-2.0

// How much work an op does, apart from how fast a machine does it. Ops give it
// by way of CostOpInterface.

#ifndef WEFT_INTERFACES_WORK_H
#define WEFT_INTERFACES_WORK_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace mlir::weft {

/// The sizes of a product, and the element types of its operands.
struct ProductWork {
  double batch = 1, m = 1, n = 1, k = 1;
  Type lhs, rhs;

  /// Multiplications and additions.
  double getFlops() const { return 2 * batch * m * n * k; }
  double getSmallestDim() const { return std::min(m, std::min(n, k)); }
};

/// What an op reads, writes and computes.
struct OpWork {
  /// Bytes of memory that are read: each input once, or what is found in it.
  double bytesRead = 0;
  double bytesWritten = 0;
  /// Operations on elements outside of products, counted in additions: a
  /// division counts as several, an exponential as more.
  double operations = 0;
  /// Set if the op is a product.
  std::optional<ProductWork> product;

  double getBytes() const { return bytesRead + bytesWritten; }
};

/// Returns the bytes that `type` takes in memory: bits packed, i1 in a byte.
int64_t getBufferBytes(ShapedType type);

/// As above for a tensor or memref; 0 if its shape is not static.
int64_t getShapedBytes(Type type);

/// Returns the work of `out = lhs * rhs` over the three maps, on tensors or
/// buffers. Operands that were widened for the target (weft_rt.product_type)
/// count as narrow as the program has them.
OpWork getProductWork(Operation *op, ArrayRef<Type> lhsRhsOut,
                      ArrayRef<AffineMap> maps);

} // namespace mlir::weft

#endif // WEFT_INTERFACES_WORK_H
