// SPDX-License-Identifier: Apache-2.0

// Comparisons of terms that are known from others that were alike: those of one
// layer are those of all, with other tensors.

#ifndef WEFT_LIB_ATTENTION_COMPAREDTERMS_H
#define WEFT_LIB_ATTENTION_COMPAREDTERMS_H

#include "weft/Verify/Identities/Compare.h"

namespace mlir::weft {

class ComparedTerms {
public:
  /// What `compare` says of the terms, which may read of tensors only which are
  /// the same, which are constants, and their types.
  bool areEqual(const TermTable &table, TermRef a, TermRef b,
                const ComparedAttention &attention,
                llvm::function_ref<bool()> compare);

private:
  /// By all that a comparison reads, word by word.
  llvm::StringMap<bool> known;
};

} // namespace mlir::weft

#endif // WEFT_LIB_ATTENTION_COMPAREDTERMS_H
