// SPDX-License-Identifier: Apache-2.0

// Made-up schedules of a step of layers, for the tests of reports: each layer
// gathers a weight, computes, and reduces a gradient.

#ifndef WEFT_TEST_UNIT_REPORTFIXTURE_H
#define WEFT_TEST_UNIT_REPORTFIXTURE_H

#include "weft/Report/Report.h"

namespace mlir::weft {

/// A schedule of `layers` layers. With `ahead` each weight is gathered beside
/// the layer before, else compute waits for it.
Report makeReportFixture(int layers, bool ahead);

} // namespace mlir::weft

#endif // WEFT_TEST_UNIT_REPORTFIXTURE_H
