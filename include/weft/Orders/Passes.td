// SPDX-License-Identifier: Apache-2.0

// The passes that declare the order of each sum.

#ifndef WEFT_ORDERS_PASSES_TD
#define WEFT_ORDERS_PASSES_TD

include "mlir/Pass/PassBase.td"

def JoinContractionsPass
    : Pass<"weft-join-contractions", "::mlir::ModuleOp"> {
  let summary = "make one contraction of a sum of contractions with weights";
  let description = [{
    `x A + y B`, where A and B are weights and x and y have the same other dims,
    becomes one weft.matmul: with n the most of leaves, leaves / 2, ... that
    cuts both sums, K is n parts of x's and y's parts beside each other, made by
    tensor.expand_shape and tensor.concat. In invariant mode this makes one
    reduction over ranks of two, at the price of the concatenation. Products
    whose other use is not the sum stay, and so do those without a weight: sums
    over microbatches are not collected.

    *Requires* the form that `weft-raise` ensures; contractions that have a
    weft.order stay as they are.

    Example: two products with weights become one of twice the K, in two leaves.
    ```mlir
    #id = affine_map<(m, n) -> (m, n)>
    #x = affine_map<(m, n, k) -> (m, k)>
    #w = affine_map<(m, n, k) -> (k, n)>
    #y = affine_map<(m, n, k) -> (m, n)>
    func.func @f(%wq: tensor<8x16xf32>, %wk: tensor<4x16xf32>, %q: tensor<2x8xf32>, %k: tensor<2x4xf32>) -> tensor<2x16xf32> {
      %0 = weft.matmul %q, %wq {indexing_maps = [#x, #w, #y]} : tensor<2x8xf32>, tensor<8x16xf32> -> tensor<2x16xf32>
      %1 = weft.matmul %k, %wk {indexing_maps = [#x, #w, #y]} : tensor<2x4xf32>, tensor<4x16xf32> -> tensor<2x16xf32>
      %e = tensor.empty() : tensor<2x16xf32>
      %2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
          ins(%0, %1 : tensor<2x16xf32>, tensor<2x16xf32>) outs(%e : tensor<2x16xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32):
        %s = arith.addf %a, %b : f32
        linalg.yield %s : f32
      } -> tensor<2x16xf32>
      return %2 : tensor<2x16xf32>
    }
    ```
    `weft-opt --weft-join-contractions=leaves=2` makes of it:
    ```mlir
    #map = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
    #map1 = affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>
    #map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1)>
    func.func @f(%wq: tensor<8x16xf32>, %wk: tensor<4x16xf32>, %q: tensor<2x8xf32>, %k: tensor<2x4xf32>) -> tensor<2x16xf32> {
      %0 = tensor.empty() : tensor<2x16xf32>
      %expanded = tensor.expand_shape %q [[0], [1, 2]] output_shape [2, 2, 4] : tensor<2x8xf32> into tensor<2x2x4xf32>
      %expanded_0 = tensor.expand_shape %k [[0], [1, 2]] output_shape [2, 2, 2] : tensor<2x4xf32> into tensor<2x2x2xf32>
      %concat = tensor.concat dim(2) %expanded, %expanded_0 : (tensor<2x2x4xf32>, tensor<2x2x2xf32>) -> tensor<2x2x6xf32>
      %expanded_1 = tensor.expand_shape %wq [[0, 1], [2]] output_shape [2, 4, 16] : tensor<8x16xf32> into tensor<2x4x16xf32>
      %expanded_2 = tensor.expand_shape %wk [[0, 1], [2]] output_shape [2, 2, 16] : tensor<4x16xf32> into tensor<2x2x16xf32>
      %concat_3 = tensor.concat dim(1) %expanded_1, %expanded_2 : (tensor<2x4x16xf32>, tensor<2x2x16xf32>) -> tensor<2x6x16xf32>
      %1 = weft.matmul %concat, %concat_3 {indexing_maps = [#map, #map1, #map2]} : tensor<2x2x6xf32>, tensor<2x6x16xf32> -> tensor<2x16xf32>
      return %1 : tensor<2x16xf32>
    }
    ```
  }];
  let options = [
    Option<"leaves", "leaves", "int64_t", "8", "parts of K at most">
  ];
  let dependentDialects = ["::mlir::tensor::TensorDialect",
                           "::mlir::weft::WeftDialect"];
}

def AssignOrdersPass : Pass<"weft-assign-orders", "::mlir::ModuleOp"> {
  let summary = "give each reduction an order that does not depend on the mesh";
  let description = [{
    Turns invariant mode on: sets `weft.invariance` on the module and
    `weft.order` (see OrderAttr) on each weft.matmul, and on each linalg op that
    reduces floating-point numbers otherwise than by max or min. The order is a
    function of the op's global shape, `leaves` and `min-leaf` alone: the largest
    of leaves, leaves / 2, leaves / 4, ... that cuts the reduction in equal
    leaves of at least `min-leaf` elements; eight times that for a contraction of
    bf16, four times that for another with batch dims, and half of it for what is
    no contraction. An op whose accumulator is not just added to (or multiplied) has one leaf. Of a sum that
    axes of the mesh which are not in `axes` cut into equal parts, where operands
    are sharded over them, each part has leaves of its own.

    - A weft.matmul of several leaves with a result narrower than f32 becomes one
      with an f32 result, and a truncf, so that ranks' parts are joined before
      they are rounded; or, with `partials=bf16`, it rounds each leaf and join.
      Then so does one with an f32 result of which only a rounded copy is used:
      it takes in the truncf.
    - A reduction over several loops is taken in stages, as many outer loops
      first as have 16 elements, so that axes that cut the others leave whole
      subtrees. One to a single f32 is taken in f64.
    - A weft.take of floating-point numbers is followed by `+ 0.0`: on a sharded
      table -0 would become +0.

    Without `axes` nothing changes; if the module has `weft.invariance` already,
    the sizes of its mesh are checked against it.

    *Requires* the form that `weft-raise` ensures, and storage axes, which
    `weft-infer-storage` finds. The size of each of `axes`, and the
    number of parts in which such axes cut a dimension of an integer argument, is
    1 or leaves / 2^j. Other sizes are reported at the mesh.

    Example: 256 products are added up in a tree of 8 leaves, on one rank as on eight.
    ```mlir
    weft.mesh @mesh = <["tp"=2]>
    func.func @f(%x: tensor<4x256xf32>, %w: tensor<256x8xf32>) -> tensor<4x8xf32> {
      %0 = weft.matmul %x, %w {indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<4x256xf32>, tensor<256x8xf32> -> tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
    ```
    `weft-opt --weft-assign-orders=axes=mesh` makes of it:
    ```mlir
    #map = affine_map<(d0, d1, d2) -> (d0, d2)>
    #map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
    #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
    module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
      weft.mesh @mesh = <["tp"=2]>
      func.func @f(%x: tensor<4x256xf32>, %w: tensor<256x8xf32>) -> tensor<4x8xf32> {
        %0 = weft.matmul %x, %w {indexing_maps = [#map, #map1, #map2], weft.order = #weft.order<leaves = 8>} : tensor<4x256xf32>, tensor<256x8xf32> -> tensor<4x8xf32>
        return %0 : tensor<4x8xf32>
      }
    }
    ```
  }];
  let options = [
    ListOption<"axes", "axes", "std::string",
               "axes whose sizes must not change bits; mesh: all">,
    Option<"leaves", "leaves", "int64_t", "8", "leaves of a reduction's tree">,
    Option<"minLeaf", "min-leaf", "int64_t", "32",
           "elements that a leaf of a contraction has at least">,
    Option<"partials", "partials", "std::string", "\"f32\"",
           "type of the partial sums of narrow contractions: f32 or bf16">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::mlir::weft::WeftDialect"
  ];
}

#endif // WEFT_ORDERS_PASSES_TD
