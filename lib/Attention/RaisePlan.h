// SPDX-License-Identifier: Apache-2.0

// Makes the ops that a plan says, if they compute what is there.

#ifndef WEFT_LIB_ATTENTION_RAISEPLAN_H
#define WEFT_LIB_ATTENTION_RAISEPLAN_H

#include "AttentionPlan.h"
#include "ComparedTerms.h"

namespace mlir::weft {

/// How many gradient ops were made; nullopt, with `reason`, if nothing was.
std::optional<unsigned> raisePlan(AttentionPlan &plan, ComparedTerms &compared,
                                  std::string &reason);

} // namespace mlir::weft

#endif // WEFT_LIB_ATTENTION_RAISEPLAN_H
