// SPDX-License-Identifier: Apache-2.0

#ifndef WEFT_ANALYSIS_OPATTRIBUTES_H
#define WEFT_ANALYSIS_OPATTRIBUTES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <utility>

namespace mlir::weft {

/// The attributes of many ops, properties among them: a dictionary of these is
/// not made anew where they are those of the op of this name before.
class OpAttributes {
public:
  /// The op has to stay as long as others are asked for.
  DictionaryAttr get(Operation *op);

private:
  /// By name, the last op that was asked for.
  llvm::DenseMap<OperationName, std::pair<Operation *, DictionaryAttr>> known;
};

} // namespace mlir::weft

#endif // WEFT_ANALYSIS_OPATTRIBUTES_H
