// SPDX-License-Identifier: Apache-2.0

// What the simulator needs of a planned function: its steps, with names, and
// when its blocks of memory are in use.

#ifndef WEFT_SIMULATE_PROGRAM_H
#define WEFT_SIMULATE_PROGRAM_H

#include "weft/Cost/CostModel.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Simulate/Replay.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::weft {

/// Steps during which a block of memory is in use: from before `first` to
/// before `end`.
struct BufferLife {
  rt::BufferOp buffer;
  size_t first = 0, end = 0;
};

struct SimulatedProgram {
  ReplayProgram replay;
  /// A name for each step; for starts and waits that of the collective.
  std::vector<std::string> stepNames;
  /// What a rank receives by each collective, and what of its time kernels take
  /// that follow it on its channel's stream.
  std::vector<int64_t> bytes, kernelNs;
  std::vector<std::string> channelNames;
  /// Of the arena; in the order of the buffers' first uses.
  std::vector<BufferLife> lives;
};

SimulatedProgram makeProgram(func::FuncOp function, const CostModel &cost);

/// The longest chain of ops of which each reads what the one before wrote, in
/// ns. 0 if the ops do not say which values they read and write.
int64_t getLongestChain(func::FuncOp function, const CostModel &cost);

} // namespace mlir::weft

#endif // WEFT_SIMULATE_PROGRAM_H
