// SPDX-License-Identifier: Apache-2.0

// What the page's scripts read: one block of JSON, columns instead of objects
// and each name once, so that 40,000 slices stay small.

#ifndef WEFT_LIB_REPORT_DATA_H
#define WEFT_LIB_REPORT_DATA_H

#include "weft/Report/Report.h"

#include "llvm/ADT/ArrayRef.h"

namespace mlir::weft {

/// Writes the schedules as JSON that can stand in a script element.
void writeReportData(llvm::ArrayRef<const Report *> reports,
                     llvm::raw_ostream &os);

} // namespace mlir::weft

#endif // WEFT_LIB_REPORT_DATA_H
