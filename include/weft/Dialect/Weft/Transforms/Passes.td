// SPDX-License-Identifier: Apache-2.0

// Every pass from weft to weft, in pipeline order.

#ifndef WEFT_DIALECT_WEFT_TRANSFORMS_PASSES_TD
#define WEFT_DIALECT_WEFT_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def RaisePass : Pass<"weft-raise", "::mlir::ModuleOp"> {
  let summary = "bring a module into the form that is partitioned";
  let description = [{
    Frontends write the same computation in many forms. This pass leaves one:
    a single function of linalg.generic, tensor reshapes, and weft's own ops.

    - Calls are inlined, loops with a small constant trip count unrolled, dead
      code and unused private functions removed.
    - Named linalg ops, elementwise arith and math ops on tensors, tensor.splat
      and tensor.generate become linalg.generic. Scalar operands move into the
      body (constants) or become 0-d tensors. An init that the body does not
      read becomes tensor.empty.
    - A contraction becomes weft.matmul: two inputs, a body of multiply and add
      (behind extf), maps that are projected permutations. If the init is not
      zero, it is added afterwards. A following truncf becomes part of the op,
      if it is the only use. Dot products without an M or N dimension stay as
      they are: they fuse with their producers.
    - A tensor.extract in a body, where one index is computed and the others
      are loop indices, becomes weft.take. An assertion that the index is in
      range goes away: weft.take gives zero outside.
    - A choice between two tensors by loop index becomes tensor.concat.

    *Requires*: static shapes, ranked tensors, supported element types, one
    public function with a body, no recursion. Each is checked, and reported at
    the op.

    *Ensures*: the module has one function, of one block, and no calls; the
    linalg ops that are left are linalg.generic on tensors.
  }];
  let options = [
    Option<"maxUnroll", "max-unroll", "int64_t", "256",
           "unroll loop nests of at most this many iterations">
  ];
  let dependentDialects = [
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::weft::WeftDialect"
  ];
}

#endif // WEFT_DIALECT_WEFT_TRANSFORMS_PASSES_TD
