// SPDX-License-Identifier: Apache-2.0

// The pass that decides the order of a step.

#ifndef WEFT_SCHEDULE_PASSES_TD
#define WEFT_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def SchedulePass : Pass<"weft-schedule", "::mlir::ModuleOp"> {
  let summary = "choose when each collective starts and what is computed when";
  let description = [{
    Orders the ops of each block, starts its collectives on their channels and
    waits for them, so that the step takes as little time as possible on the
    machine and no more memory than the limit. docs/schedule.md describes the
    policies. Remarks say of each collective whose wait costs time why it does;
    the function's attribute `weft.schedule` has the figures.

    *Requires* fused kernels, and a channel on each collective.
    *Ensures* that block order is issue order, and that all collectives are
    started and waited for.
  }];
  let options = [
    Option<"policy", "policy", "std::string", /*default=*/"\"best\"",
           "sync, next-layer, greedy or best">,
    Option<"memoryLimit", "memory-limit", "int64_t", /*default=*/"0",
           "bytes that a rank may use; 0: what the machine has, -1: any number">,
    Option<"within", "within", "int64_t", /*default=*/"0",
           "bytes that the order keeps to instead of the limit; 0: the limit, "
           "-1: any number">,
    Option<"reserve", "reserve", "int64_t", /*default=*/"0",
           "bytes of the limit that are left for the plan's gaps">,
    Option<"lean", "lean", "bool", /*default=*/"false",
           "starts from the order that needs least memory, not from the "
           "program's">,
    Option<"leastBytes", "least-bytes", "int64_t", /*default=*/"0",
           "bytes that the step is known to need in any order; with more than "
           "the limit nothing fits">,
    Option<"machine", "machine", "std::string", /*default=*/"\"host\"",
           "a machine's name or the file that describes it">];
  let dependentDialects = ["::mlir::weft::WeftDialect"];
}

#endif // WEFT_SCHEDULE_PASSES_TD
