// SPDX-License-Identifier: Apache-2.0

// The proofs, in the order in which they run: each relies on those before it.

#ifndef WEFT_VERIFY_PASSES_TD
#define WEFT_VERIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyCanonicalizationPass : Pass<"weft-verify-canonicalization",
                                      "::mlir::ModuleOp"> {
  let summary = "prove that the canonical form computes what the user wrote";
  let description = [{
    Derives each result of the program as an expression of single elements of its
    arguments, through calls, branches and short loops, and compares it with that
    of the module that it was made from: module `@source`, inside, or the file
    `source`. Contractions, lookups, slices and concatenations are what they say,
    however they are written.

    *Requires* the `global` phase.
    *Ensures* nothing new: a failure is an error at the first op that differs.
  }];
  let options = [
    Option<"source", "source", "std::string", /*default=*/"",
           "a file with the module that this one was made from">,
  ];
}

def VerifyInvariancePass : Pass<"weft-verify-invariance", "::mlir::ModuleOp"> {
  let summary = "prove that results do not depend on the mesh";
  let description = [{
    Derives, from the program of a rank, each result as an expression over the
    index space of the whole job, with the order of each reduction, and compares
    it with that of the program for a mesh on which all axes of `weft.invariance`
    have size 1: module `@one_rank`, inside. Leaves a module without
    `weft.invariance` as it is.

    *Requires* the `local` phase.
    *Ensures* `weft.certificate` on the module. A failure is an error at the
    first op that differs.
  }];
}

def VerifyPartitioningPass : Pass<"weft-verify-partitioning",
                                  "::mlir::ModuleOp"> {
  let summary = "prove that the ranks together compute the global program";
  let description = [{
    Derives, from the program of a rank, each result as an expression over the
    index space of the whole job, and compares it with that of the global
    program: module `@global`, inside, or the file `global`. Arithmetic is that of
    real numbers: a sum may be taken in parts and in any order, as long as each
    part is in it once.

    *Requires* the `local` phase.
    *Ensures* nothing new: a failure is an error at the first op that differs.
  }];
  let options = [
    Option<"global", "global", "std::string", /*default=*/"",
           "a file with the global module">,
  ];
}

def VerifySchedulingPass : Pass<"weft-verify-scheduling", "::mlir::ModuleOp"> {
  let summary = "prove that fusion and scheduling keep what is computed";
  let description = [{
    Derives each result of each function as an expression of single elements of
    its arguments, in which kernels, futures and the order of ops do not occur,
    and compares it with that of the program before: module `@local`, inside.
    Collectives, contractions and reductions are functions of what enters them.

    *Requires* the `scheduled` phase, and module `@local` in the `local` one.
    *Ensures* nothing new: a failure is an error at the first op that differs.
  }];
}

def VerifyPlanPass : Pass<"weft-verify-plan", "::mlir::ModuleOp"> {
  let summary = "prove that buffers lie where they may";
  let description = [{
    Every buffer lies inside the arena, or is an argument or result and has its
    size; only donated arguments are written; no two buffers of the arena that
    are in use at the same time share a byte.

    *Requires* the `planned` phase.
    *Ensures* nothing new: a failure is an error with a counterexample.
  }];
}

def VerifyRacesPass : Pass<"weft-verify-races", "::mlir::ModuleOp"> {
  let summary = "prove that nothing touches what a collective works on";
  let description = [{
    Between a start and its wait nobody writes what the collective sends, and
    nobody reads or writes what it receives: neither the compute stream nor
    another collective. Each started collective is waited for exactly once. A
    kernel that writes where it reads has read each element by then.

    *Requires* the `planned` phase.
    *Ensures* nothing new: a failure is an error with a counterexample.
  }];
}

def VerifyFreshnessPass : Pass<"weft-verify-freshness", "::mlir::ModuleOp"> {
  let summary = "prove that each op reads the values that it has to";
  let description = [{
    Follows which value lies where, over updates in place, memory that is used
    again, collectives, loops and branches, to the end of the step: a gather
    sends the newest shard, whoever uses what was gathered comes after it has
    arrived, and what the step leaves for the next one is what it computed.

    *Requires* the `planned` phase, with value ids on its ops.
    *Ensures* nothing new: a failure is an error with a counterexample.
  }];
}

def VerifyDeadlockPass : Pass<"weft-verify-deadlock", "::mlir::ModuleOp"> {
  let summary = "prove that ranks never wait for each other in a circle";
  let description = [{
    All ranks run this one program, so they issue the same collectives in the
    same order, unless a branch or a loop count that differs between ranks has a
    collective inside: that is an error. Several programs at once are the matter
    of the tool weft-verify.

    *Requires* the `planned` phase.
    *Ensures* nothing new: a failure is an error with a counterexample.
  }];
}

def VerifyPlanningPass : Pass<"weft-verify-planning", "::mlir::ModuleOp"> {
  let summary = "prove that the plan is one of the scheduled program";
  let description = [{
    Compares a planned program with the scheduled one, module `@scheduled`
    inside: op by op in its order, with regions, attributes and constants. Each
    buffer that an op reads holds the elements of the tensor that it takes there,
    and the step's results are where the caller finds them.

    *Requires* the `planned` phase, and `@scheduled` of the `scheduled` phase.
    *Ensures* nothing new: a failure is an error with a counterexample.
  }];
}

#endif // WEFT_VERIFY_PASSES_TD
