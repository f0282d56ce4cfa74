// SPDX-License-Identifier: Apache-2.0

// What weft-sim prints.

#ifndef WEFT_TOOLS_WEFT_SIM_SUMMARY_H
#define WEFT_TOOLS_WEFT_SIM_SUMMARY_H

#include "weft/Simulate/Simulate.h"

namespace mlir::weft {

/// Prints the figures of a step, a line for each channel, and the collectives
/// that the program waits for longest.
void printSummary(const Simulation &simulation, llvm::raw_ostream &os);

} // namespace mlir::weft

#endif // WEFT_TOOLS_WEFT_SIM_SUMMARY_H
