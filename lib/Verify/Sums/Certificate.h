// SPDX-License-Identifier: Apache-2.0

// What a proof of invariance leaves in an artifact: the form of each result,
// and the order of each reduction, on any mesh. Artifacts with equal
// certificates give equal bits; two that differ are compared line by line.

#ifndef WEFT_LIB_VERIFY_SUMS_CERTIFICATE_H
#define WEFT_LIB_VERIFY_SUMS_CERTIFICATE_H

#include "LocalLifter.h"

namespace mlir::weft::proof {

/// Writes the certificate of a program, as JSON on one line.
std::string writeCertificate(const LocalLifter &program, func::FuncOp func,
                             InvarianceAttr invariance);

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_SUMS_CERTIFICATE_H
