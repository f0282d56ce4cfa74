// SPDX-License-Identifier: Apache-2.0

// The passes from what a user wrote to the one form that is partitioned.

#ifndef WEFT_CANONICALIZE_PASSES_TD
#define WEFT_CANONICALIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ApplyMeshPass : Pass<"weft-apply-mesh", "::mlir::ModuleOp"> {
  let summary = "replace the sizes of the module's mesh axes";
  let description = [{
    The same program runs on another number of ranks: shardings name axes, not
    sizes. Axes that the option does not name keep their size.

    *Requires*: a module in the `global` phase with a weft.mesh; in later
    phases types depend on the sizes. Unknown axes, sizes below 1 and axes that
    are named twice are reported at the mesh.

    *Ensures*: the named axes have the given sizes.

    Example: four times the ranks along dp.
    ```mlir
    weft.mesh @mesh = <["dp"=2, "tp"=4]>
    ```
    `weft-opt --weft-apply-mesh=mesh=dp=8` makes of it:
    ```mlir
    weft.mesh @mesh = <["dp"=8, "tp"=4]>
    ```
  }];
  let options = [
    ListOption<"mesh", "mesh", "std::string", "new sizes, as in dp=2,fsdp=4">
  ];
  let dependentDialects = ["::mlir::weft::WeftDialect"];
}

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
      (after extf), maps that are projected permutations. If the init is not
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

    Example: a named op becomes the contraction that it is.
    ```mlir
    func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) -> tensor<4x2xf32> {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<4x2xf32>
      %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x2xf32>) -> tensor<4x2xf32>
      %y = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x2xf32>) outs(%i : tensor<4x2xf32>) -> tensor<4x2xf32>
      return %y : tensor<4x2xf32>
    }
    ```
    `weft-opt --weft-raise` makes of it:
    ```mlir
    #map = affine_map<(d0, d1, d2) -> (d0, d2)>
    #map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
    #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
    func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) -> tensor<4x2xf32> {
      %0 = weft.matmul %x, %w {indexing_maps = [#map, #map1, #map2]} : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
      return %0 : tensor<4x2xf32>
    }
    ```
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

def CheckValuesPass : Pass<"weft-check-values", "::mlir::ModuleOp"> {
  let summary = "make every value defined, and none too large";
  let description = [{
    `nsw`, `nuw`, `exact`, `nnan` and `ninf` promise that some operands never
    occur. Without them integers wrap around, and NaN and infinities are what
    IEEE says, so that a result does not depend on what a fold or a CPU makes of
    a promise that does not hold. Passes of a loop are counted, from 0 on, as an
    index where its bounds are unsigned, its extent may not be a signed number of
    its type, or an overflow, or a step that is not positive, would make it go on.
    Casts of indices to fewer than 64 bits truncate i64. A read of an element that
    is not there is 0, and reads of what may become a constant are put between
    comparisons that say so to folds. Runs first, on a module of any phase.

    *Requires* nothing; reports an op that makes poison by itself, a rounding
    other than to the nearest, values of more than 2^48 bytes, loops that never
    end, or have no order, by what they say, and a `linalg.generic` whose loops
    are not what its results' maps say: parallel where a map takes the loop, a
    reduction where it does not.
    *Ensures* that operands alone say what an op gives (see docs/math.md), that
    sums of sizes fit 64 bits, and that each element of a result is written once.

    Example: the promises go, and integers wrap around.
    ```mlir
    func.func @f(%a: tensor<4xi32>, %x: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>) {
      %0 = arith.addi %a, %a overflow<nsw> : tensor<4xi32>
      %1 = arith.addf %x, %x fastmath<nnan> : tensor<4xf32>
      return %0, %1 : tensor<4xi32>, tensor<4xf32>
    }
    ```
    `weft-opt --weft-check-values` makes of it:
    ```mlir
    func.func @f(%a: tensor<4xi32>, %x: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>) {
      %0 = arith.addi %a, %a : tensor<4xi32>
      %1 = arith.addf %x, %x : tensor<4xf32>
      return %0, %1 : tensor<4xi32>, tensor<4xf32>
    }
    ```
  }];
  let statistics = [Statistic<"numDropped", "dropped", "ops that had flags">];
}

def MergeEqualOpsPass : Pass<"weft-merge-equal-ops"> {
  let summary = "compute once what is computed several times";
  let description = [{
    Does what upstream's `cse` does, in time that is linear in the number of ops
    also where many ops read the same and differ in their bodies alone: a hash of
    an op has its bodies as well.

    *Requires* nothing.
    *Ensures*: of ops without effects that are equal, with equal operands, one is
    left in each region, and none that nothing reads.

    Example: two ops with equal bodies become one.
    ```mlir
    #id = affine_map<(d0) -> (d0)>
    func.func @f(%x: tensor<4xf32>, %e: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%in: f32, %out: f32):
        %y = math.tanh %in : f32
        linalg.yield %y : f32
      } -> tensor<4xf32>
      %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%in: f32, %out: f32):
        %y = math.tanh %in : f32
        linalg.yield %y : f32
      } -> tensor<4xf32>
      return %0, %1 : tensor<4xf32>, tensor<4xf32>
    }
    ```
    `weft-opt --weft-merge-equal-ops` makes of it:
    ```mlir
    #map = affine_map<(d0) -> (d0)>
    func.func @f(%x: tensor<4xf32>, %e: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%in: f32, %out: f32):
        %1 = math.tanh %in : f32
        linalg.yield %1 : f32
      } -> tensor<4xf32>
      return %0, %0 : tensor<4xf32>, tensor<4xf32>
    }
    ```
  }];
}

#endif // WEFT_CANONICALIZE_PASSES_TD
