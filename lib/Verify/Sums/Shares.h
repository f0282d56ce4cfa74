// SPDX-License-Identifier: Apache-2.0

// What commutes with combining parts of a reduction: a body is interpreted over
// what ranks have of each of its scalars.

#ifndef WEFT_LIB_VERIFY_SUMS_SHARES_H
#define WEFT_LIB_VERIFY_SUMS_SHARES_H

#include "Forms.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"

namespace mlir::weft::proof {

/// What each rank has of a scalar: all of it, a part, or a zero, which is both.
/// Broken: a part of nothing that could be combined.
enum class Share { Whole, Part, Zero, Broken };

/// What a scalar of a body is, where elements of `parts` are parts that are to
/// be combined by `kind`, in any order.
Share getShare(const Form *form, ArrayRef<const Form *> parts, ReduceKind kind);

/// How an op of two operands combines them, if any order of many gives the same
/// result: the same bits, or the same real number.
std::optional<ReduceKind> getExactKind(Operation *op, bool isOfReals);

/// Whether a form is a zero, of a float or an integer.
bool isZero(const Form *form);

/// Whether parts that are combined twice count once, as in a maximum.
bool isIdempotent(ReduceKind kind);

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_SUMS_SHARES_H
