// SPDX-License-Identifier: Apache-2.0

// What the processor of this machine can do, in LLVM's names: a program that
// was compiled for another one is refused before it hits an instruction that
// this one does not have.

#ifndef WEFT_RT_CORE_PROCESSOR_H
#define WEFT_RT_CORE_PROCESSOR_H

#include "core/status.h"
#include "weft-rt/abi.h"

#include <vector>

namespace weft::rt {

/// Those of the features, which have commas between them, that this machine
/// lacks or that are not known here. The environment's
/// WEFT_WITHOUT_CPU_FEATURES lists more, to try what happens.
std::vector<std::string> missingFeatures(const std::string &features);

/// Fails if the program's code may use what this machine does not have.
Status checkProcessor(const weft_rt_program &program);

} // namespace weft::rt

#endif // WEFT_RT_CORE_PROCESSOR_H
