// SPDX-License-Identifier: Apache-2.0

// Where two programs begin to say different things of a result.

#ifndef WEFT_LIB_VERIFY_ELEMENTS_ELEMENTPARTING_H
#define WEFT_LIB_VERIFY_ELEMENTS_ELEMENTPARTING_H

#include "ProgramElements.h"

namespace mlir::weft::proof {

/// Where two expressions part, and the ops that they are of.
struct ElementParting {
  const Element *own, *other;
  Operation *ownOp = nullptr, *otherOp = nullptr;
};

/// Goes down to where the operands are equal, or cannot be compared.
ElementParting findParting(const ProgramElements &program, const Element *own,
                           const ProgramElements &reference,
                           const Element *other);

/// Compares the attributes of two functions' arguments and results.
/// `isSame` gets those of both.
LogicalResult
checkBorder(func::FuncOp func, func::FuncOp reference,
            function_ref<bool(DictionaryAttr, DictionaryAttr)> isSame);

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_ELEMENTS_ELEMENTPARTING_H
