// SPDX-License-Identifier: Apache-2.0

// What the values of a local function are to a training step, by dataflow
// alone: made of weights only, feeding more compute, or ending in state.
//
// An argument is *at rest* if it is donated to a result or has storage axes; in
// a function where none is, every floating-point argument counts. A *state* is
// a result that takes a donated argument's place; in a function without such,
// one with the type of an argument at rest.

#ifndef WEFT_LIB_COMMUNICATION_COLLECTIVEFLOW_H
#define WEFT_LIB_COMMUNICATION_COLLECTIVEFLOW_H

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"

namespace mlir::weft {

class CollectiveFlow {
public:
  explicit CollectiveFlow(func::FuncOp func);

  /// The first argument at rest that `value` is made of, if it is made of
  /// arguments at rest and constants alone, without a contraction.
  std::optional<unsigned> getWeight(Value value) const;
  /// Whether a contraction takes the weight with a batch dim: an expert's.
  bool feedsExperts(Value value) const { return facts.lookup(value).experts; }
  /// Whether `value` is, elementwise, what a contraction with batch dims gave.
  bool isPerExpert(Value value) const { return facts.lookup(value).perExpert; }
  /// Whether a contraction or a scatter depends on `value`.
  bool feedsCompute(Value value) const { return facts.lookup(value).compute; }
  /// The first state that `value` goes into element by element.
  std::optional<unsigned> getState(Value value) const;

  /// The name of an argument or result; `arg3` or `result3` without one.
  std::string getArgumentName(unsigned index) const;
  std::string getResultName(unsigned index) const;

private:
  /// Values of Facts::weight beside arguments: of unknown origin, constant.
  enum Origin { kMixed = -2, kNeutral = -1 };
  enum { kNoState = -1 };

  struct Facts {
    int weight = kMixed;
    int state = kNoState;
    bool experts = false, perExpert = false, compute = false;
  };

  void findWeightsAndStates();
  void visitForward(Operation *op);
  void visitBackward(Operation *op);
  void visitTerminator(Operation *op);
  void visitLoop(Operation *loop);
  int getOrigin(Operation *op) const;
  int getStateThrough(OpOperand &use) const;
  void noteCompute(Value value, bool compute);
  void noteState(Value value, int state);

  func::FuncOp func;
  llvm::BitVector weights, states;
  llvm::DenseMap<Value, Facts> facts;
  /// Whether a backward pass learned something.
  bool changed = false;
};

} // namespace mlir::weft

#endif // WEFT_LIB_COMMUNICATION_COLLECTIVEFLOW_H
