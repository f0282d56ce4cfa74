// SPDX-License-Identifier: Apache-2.0

// Something is tried, and nobody is told that it failed.

#ifndef WEFT_ANALYSIS_QUIETDIAGNOSTICS_H
#define WEFT_ANALYSIS_QUIETDIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

namespace mlir::weft {

/// While it lives, diagnostics go nowhere. Nor are ops printed into them, as
/// weft-opt has it by default: each would be numbered in its whole module.
class QuietDiagnostics {
public:
  explicit QuietDiagnostics(MLIRContext *context)
      : context(context), prints(context->shouldPrintOpOnDiagnostic()),
        handler(context, [](Diagnostic &) {}) {
    context->printOpOnDiagnostic(false);
  }
  ~QuietDiagnostics() { context->printOpOnDiagnostic(prints); }
  QuietDiagnostics(const QuietDiagnostics &) = delete;
  QuietDiagnostics &operator=(const QuietDiagnostics &) = delete;

private:
  MLIRContext *context;
  bool prints;
  ScopedDiagnosticHandler handler;
};

} // namespace mlir::weft

#endif // WEFT_ANALYSIS_QUIETDIAGNOSTICS_H
