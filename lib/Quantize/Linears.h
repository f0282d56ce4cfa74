// SPDX-License-Identifier: Apache-2.0

// Which contractions are linear layers, seen from a whole step: forward, and
// the two of the backward pass.

#ifndef WEFT_LIB_QUANTIZE_LINEARS_H
#define WEFT_LIB_QUANTIZE_LINEARS_H

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::weft {

/// What an operand of a linear layer's contraction is.
enum class OperandRole { Activation, Weight, Gradient };

enum class LinearKind { Forward, InputGradient, WeightGradient };

/// One contraction of a linear layer.
struct Linear {
  MatmulOp op;
  LinearKind kind;
  /// Of lhs and rhs.
  OperandRole roles[2];
  /// The argument that is the layer's weight.
  BlockArgument weight;
};

/// "forward", "input gradient" or "weight gradient".
llvm::StringRef stringifyLinearKind(LinearKind kind);

/// The argument's name, or "#N".
std::string getWeightName(BlockArgument weight);

/// What keeps a weight wide unless its name is asked for, as a sentence; empty
/// if nothing does.
using WeightReasons = llvm::DenseMap<Value, std::string>;

struct Linears {
  /// In program order.
  llvm::SmallVector<Linear> ops;
  WeightReasons keptWide;
};

/// Finds the linear layers of a function. A contraction of something with a
/// weight (an argument, or a cast, transposition, reshape or slice of one) is
/// forward if it sums the same dimensions of the weight as the first use of
/// that does, else the gradient of its input. One of a forward contraction's
/// input, or of what the gradient of its input is made of, that has the
/// weight's sizes is the gradient of the weight.
Linears findLinears(func::FuncOp func);

} // namespace mlir::weft

#endif // WEFT_LIB_QUANTIZE_LINEARS_H
