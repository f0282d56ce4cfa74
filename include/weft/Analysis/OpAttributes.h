// SPDX-License-Identifier: Apache-2.0

#ifndef WEFT_ANALYSIS_OPATTRIBUTES_H
#define WEFT_ANALYSIS_OPATTRIBUTES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace mlir::weft {

/// The attributes of many ops, properties among them: a dictionary of these is
/// not made anew where they are those of one of the last ops of this name.
class OpAttributes {
public:
  /// The op has to stay as long as others are asked for.
  DictionaryAttr get(Operation *op);

private:
  struct Known {
    Operation *op;
    DictionaryAttr all;
  };
  /// By name, the last ops that differ, the very last first.
  llvm::DenseMap<OperationName, std::vector<Known>> known;
};

} // namespace mlir::weft

#endif // WEFT_ANALYSIS_OPATTRIBUTES_H
