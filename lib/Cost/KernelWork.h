// SPDX-License-Identifier: Apache-2.0

// How much work ops do, apart from how fast a machine does it: bytes that are
// read and written, operations on elements, sizes of products.

#ifndef WEFT_COST_KERNELWORK_H
#define WEFT_COST_KERNELWORK_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace mlir::weft {

/// What an op reads, writes and computes outside of products.
struct KernelWork {
  /// Bytes of inputs, each once, and outputs.
  double bytes = 0;
  /// Operations on elements; a division counts as several additions, an
  /// exponential as more.
  double operations = 0;
};

/// Bytes of a tensor or memref in memory: bits packed, i1 in a byte.
int64_t getShapedBytes(Type type);

/// The work of an op that is one kernel, or a copy; nullopt for ops that have
/// no code or are made of others (loops, products, collectives).
std::optional<KernelWork> getKernelWork(Operation *op);

/// The sizes of a product.
struct ProductSizes {
  double batch = 1, m = 1, n = 1, k = 1;

  double getFlops() const { return 2 * batch * m * n * k; }
  double getSmallestDim() const { return std::min(m, std::min(n, k)); }
};

/// The sizes of weft.matmul or weft_rt.gemm from its operands' types and maps.
ProductSizes getProductSizes(ArrayRef<Type> lhsRhsOut,
                             ArrayRef<AffineMap> maps);

/// The trips of an scf.for whose bounds are constants; else 1.
int64_t getTripCount(Operation *loop);

} // namespace mlir::weft

#endif // WEFT_COST_KERNELWORK_H
