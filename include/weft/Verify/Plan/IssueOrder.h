// SPDX-License-Identifier: Apache-2.0

// Whether ranks that run different programs can hang: the proof about a set of
// programs.
//
// Worked example. Ranks 0 and 1 share a communicator P, ranks 0 and 2 another
// one, Q, and ranks 1 and 2 a third one, R. Rank 0 issues P then Q, rank 1 R
// then P, rank 2 Q then R. On each communicator all is in order; yet rank 0
// waits in P for rank 1, which waits in R for rank 2, which waits in Q for
// rank 0. The model: a rank may feed all its collectives into one queue, in the
// order in which it starts them, and a collective begins when it is first in
// the queues of all members.
//
// A set of programs is right if the members of each communicator issue equal
// sequences of the same parts of the same values, the orders of all ranks
// together have no cycle, and results of one name are the same.

#ifndef WEFT_VERIFY_PLAN_ISSUEORDER_H
#define WEFT_VERIFY_PLAN_ISSUEORDER_H

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <vector>

namespace mlir::weft {

/// A planned module and the ranks that run it.
struct RankProgram {
  ModuleOp module;
  std::vector<int64_t> ranks;
};

/// Proves that the programs together cannot hang, or emits a counterexample.
/// Each program has passed the proofs about one program.
LogicalResult verifyIssueOrder(llvm::ArrayRef<RankProgram> programs);

} // namespace mlir::weft

#endif // WEFT_VERIFY_PLAN_ISSUEORDER_H
