// SPDX-License-Identifier: Apache-2.0

// The passes from ops to kernels, for all targets.

#ifndef WEFT_CODEGEN_FUSION_PASSES_TD
#define WEFT_CODEGEN_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def PrepareKernelsPass : Pass<"weft-prepare-kernels", "::mlir::ModuleOp"> {
  let summary = "bring a local module into the few forms that fusion knows";
  let description = [{
    Turns everything that computes elementwise or reduces into linalg.generic
    (lookups and the scatters that hit each element once among them), drops
    dims of size 1, moves transposes into the maps of contractions, also
    across collectives, and what alone is used of a contraction's result, its
    rounding to bf16, into the contraction.

    *Requires* a module of the `local` phase with one public function.
    *Ensures* that tensors are computed by linalg.generic, linalg.fill,
    weft.matmul, weft.scatter_add, collectives, and ops that only move or
    reshape.

    Example: a transposed operand is another map of the contraction.
    ```mlir
    func.func @f(%x: tensor<4x8xf32>, %w: tensor<2x8xf32>) -> tensor<4x2xf32> {
      %e = tensor.empty() : tensor<8x2xf32>
      %t = linalg.transpose ins(%w : tensor<2x8xf32>) outs(%e : tensor<8x2xf32>) permutation = [1, 0]
      %0 = weft.matmul %x, %t {indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
      return %0 : tensor<4x2xf32>
    }
    ```
    `weft-opt --weft-prepare-kernels` makes of it:
    ```mlir
    #map = affine_map<(d0, d1, d2) -> (d0, d2)>
    #map1 = affine_map<(d0, d1, d2) -> (d1, d2)>
    #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
    func.func @f(%x: tensor<4x8xf32>, %w: tensor<2x8xf32>) -> tensor<4x2xf32> {
      %0 = weft.matmul %x, %w {indexing_maps = [#map, #map1, #map2]} : tensor<4x8xf32>, tensor<2x8xf32> -> tensor<4x2xf32>
      return %0 : tensor<4x2xf32>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"];
}

def FuseKernelsPass : Pass<"weft-fuse-kernels", "::mlir::ModuleOp"> {
  let summary = "group linalg ops into the kernels that run them";
  let description = [{
    First, elementwise ops move to where they can be fused: below slices and
    reshapes, into the parts of a concatenation that they make narrow, and into
    the halves of a sum of two tensors that are padded so that each has elements
    where the other one has none.
    Then it fuses elementwise producers into their consumers, also into several of them
    if what a cheap one reads takes no more memory than what it makes and nobody
    else needs that, and groups what walks the
    same rows: a reduction over a row, what feeds it, and what uses its result
    again on that row (softmax, norms, cross-entropy) are one kernel, and so are
    ops that read the same operands over the same space (the parts of an
    optimizer update). Values that live only inside a group never reach memory.
    What goes into a concatenation is computed in the shape that it has there,
    and apart from what others use of it, so that it can be computed in place.
    A value that leaves a group waits for no later collective than it would by
    itself: updates of weights whose gradients come one after the other are
    kernels of their own.

    *Requires* the form that weft-prepare-kernels ensures.
    *Ensures* that each linalg op is inside a weft_rt.fused.

    Example: two ops, one kernel; the value between them never reaches memory.
    ```mlir
    #id = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
      %e = tensor.empty() : tensor<8xf32>
      %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
      ^bb0(%a: f32, %o: f32):
        %n = arith.negf %a : f32
        linalg.yield %n : f32
      } -> tensor<8xf32>
      %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
          ins(%0, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32):
        %s = arith.addf %a, %b : f32
        linalg.yield %s : f32
      } -> tensor<8xf32>
      return %1 : tensor<8xf32>
    }
    ```
    `weft-opt --weft-fuse-kernels` makes of it:
    ```mlir
    #map = affine_map<(d0) -> (d0)>
    func.func @f(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
      %0 = weft_rt.fused ins(%x, %y : tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%arg2: tensor<8xf32>, %arg3: tensor<8xf32>):
        %1 = tensor.empty() : tensor<8xf32>
        %2 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%arg2, %arg3 : tensor<8xf32>, tensor<8xf32>) outs(%1 : tensor<8xf32>) {
        ^bb0(%in: f32, %in_0: f32, %out: f32):
          %3 = arith.negf %in : f32
          %4 = arith.addf %3, %in_0 : f32
          linalg.yield %4 : f32
        } -> tensor<8xf32>
        weft_rt.yield %2 : tensor<8xf32>
      }
      return %0 : tensor<8xf32>
    }
    ```
  }];
  let statistics = [
    Statistic<"numKernels", "kernels", "fused groups made">,
    Statistic<"numFused", "fused", "linalg ops that share a group">];
  let dependentDialects = ["::mlir::weft::rt::WeftRTDialect"];
}

#endif // WEFT_CODEGEN_FUSION_PASSES_TD
