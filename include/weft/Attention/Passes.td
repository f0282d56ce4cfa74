// SPDX-License-Identifier: Apache-2.0

// The passes that find attention in what users wrote, and cut it in pieces.

#ifndef WEFT_ATTENTION_PASSES_TD
#define WEFT_ATTENTION_PASSES_TD

include "mlir/Pass/PassBase.td"

def RaiseAttentionPass : Pass<"weft-raise-attention", "::mlir::ModuleOp"> {
  let summary = "make weft.attention of the products and softmax of attention";
  let description = [{
    Attention that is written out keeps a square of scores for each head, from
    the forward to the backward pass. weft.attention and its gradient keep none.

    A contraction is looked at if one operand is computed from exponentials of
    another contraction, of queries and keys. What an element of it is, as a
    term over loops, says which scale, softcap, bias, masks and segments there
    are, and which heads share keys; so it does not matter in which layout, by
    which ops, and in which order these were written. The contractions that use
    the weights are the result and the gradients of queries, keys and values. A
    replacement is made only if it is proved, by another reading of the ops, that
    it computes the same (docs/attention.md), and if nothing else uses the scores.
    Where attention was seen and is not raised, a remark says why. A function
    with sums in declared orders (`weft.order`) is left as it is.

    *Requires*: a module as weft-raise leaves it.

    *Ensures*: the module computes the same, up to rounding; its signature stays.

    Example: one head, without a mask.
    ```mlir
    #map = affine_map<(i, j, d) -> (i, d)>
    #map1 = affine_map<(i, j, d) -> (j, d)>
    #map2 = affine_map<(i, j, d) -> (i, j)>
    #map3 = affine_map<(i, e, j) -> (i, j)>
    #map4 = affine_map<(i, e, j) -> (j, e)>
    #map5 = affine_map<(i, e, j) -> (i, e)>
    #all = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%q: tensor<8x4xf32>, %k: tensor<16x4xf32>, %v: tensor<16x2xf32>) -> tensor<8x2xf32> {
      %zero = arith.constant dense<0.0> : tensor<8xf32>
      %s = weft.matmul %q, %k {indexing_maps = [#map, #map1, #map2]} : tensor<8x4xf32>, tensor<16x4xf32> -> tensor<8x16xf32>
      %empty = tensor.empty() : tensor<8x16xf32>
      %e = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
          ins(%s : tensor<8x16xf32>) outs(%empty : tensor<8x16xf32>) {
      ^bb0(%in: f32, %out: f32):
        %0 = math.exp %in : f32
        linalg.yield %0 : f32
      } -> tensor<8x16xf32>
      %l = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
          ins(%e : tensor<8x16xf32>) outs(%zero : tensor<8xf32>) {
      ^bb0(%in: f32, %out: f32):
        %0 = arith.addf %out, %in : f32
        linalg.yield %0 : f32
      } -> tensor<8xf32>
      %p = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
          ins(%e, %l : tensor<8x16xf32>, tensor<8xf32>) outs(%empty : tensor<8x16xf32>) {
      ^bb0(%in: f32, %in_0: f32, %out: f32):
        %0 = arith.divf %in, %in_0 : f32
        linalg.yield %0 : f32
      } -> tensor<8x16xf32>
      %o = weft.matmul %p, %v {indexing_maps = [#map3, #map4, #map5]} : tensor<8x16xf32>, tensor<16x2xf32> -> tensor<8x2xf32>
      return %o : tensor<8x2xf32>
    }
    ```
    `weft-opt --weft-raise-attention` makes of it:
    ```mlir
    #map = affine_map<(d0, d1, d2, d3) -> (d0, d2)>
    #map1 = affine_map<(d0, d1, d2, d3) -> (d1, d2)>
    #map2 = affine_map<(d0, d1, d2, d3) -> (d1, d3)>
    #map3 = affine_map<(d0, d1, d2, d3) -> (d0, d3)>
    #map4 = affine_map<(d0, d1, d2, d3) -> (d0)>
    func.func @f(%q: tensor<8x4xf32>, %k: tensor<16x4xf32>, %v: tensor<16x2xf32>) -> tensor<8x2xf32> {
      %out, %lse = weft.attention %q, %k, %v {config = #weft.attention<scale = 1.000000e+00 : f32>, indexing_maps = [#map, #map1, #map2, #map3, #map4]} : (tensor<8x4xf32>, tensor<16x4xf32>, tensor<16x2xf32>) -> (tensor<8x2xf32>, tensor<8xf32>)
      return %out : tensor<8x2xf32>
    }
    ```
  }];
  let statistics = [
    Statistic<"numForward", "forward", "weft.attention ops made">,
    Statistic<"numGradients", "gradients", "weft.attention_grad ops made">
  ];
  let dependentDialects = [
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::mlir::arith::ArithDialect", "::mlir::weft::WeftDialect"
  ];
}

def RingAttentionPass : Pass<"weft-ring-attention", "::mlir::ModuleOp"> {
  let summary = "let keys and values travel instead of gathering them";
  let description = [{
    An attention whose keys and values are gathered over axes becomes one for
    each piece of them that a rank has: in step t rank r of n computes with piece
    (r - t) mod n, and passes it on to the next rank by a weft.permute that needs
    nothing of the step. Outputs join by their log-sum-exps, in f32. Of a
    gradient, `dq` is added up step by step, in f32, and `dk` and `dv` travel
    with their piece, in their type, until they are where it came from. Steps in
    which no rank's queries see a key are left out. No rank has all keys at any
    time.

    With a causal mask the last rank would have most to do. Where that takes
    longer on `machine`, and with `when=balanced` anyway, rank r gives the second
    half of its queries and keys to rank n - 1 - r, and gets the second half of
    that rank's. Each step has then up to
    four blocks, of which on each rank two see a key. Outputs and gradients are
    exchanged back.

    Kept as they are: attention with declared orders (`weft.invariance`), a
    dropout, a bias or a finite fill, gradients that are not summed over the ranks that keys are gathered
    from or whose forward pass is no ring, keys that are cut unequally, and with
    `when=auto` those for which a rank would need less than `min-spared` bytes
    less. A remark says which and why.

    *Requires*: a module of phase `local`.

    *Ensures*: the module computes the same, up to rounding.

    Example: causal attention. Rank 0 sees nothing of the second piece.
    ```mlir
    #q = affine_map<(i, j, d, e) -> (i, d)>
    #k = affine_map<(i, j, d, e) -> (j, d)>
    #v = affine_map<(i, j, d, e) -> (j, e)>
    #out = affine_map<(i, j, d, e) -> (i, e)>
    #lse = affine_map<(i, j, d, e) -> (i)>
    weft.mesh @mesh = <["cp"=2]>
    func.func @f(%q: tensor<8x4xf32>, %k: tensor<8x4xf32>) -> tensor<8x4xf32> {
      %c8 = arith.constant 8 : index
      %0 = weft.all_gather %k on @mesh <{"cp"}> dims [0] : (tensor<8x4xf32>) -> tensor<16x4xf32>
      %i = weft.axis_index @mesh <{"cp"}>
      %start = arith.muli %i, %c8 : index
      %out, %lse = weft.attention %q, %0, %0 start %start {config = #weft.attention<scale = 1.0 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]} : (tensor<8x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>, index) -> (tensor<8x4xf32>, tensor<8xf32>)
      return %out : tensor<8x4xf32>
    }
    ```
    `weft-opt --weft-ring-attention=when=always` prints:
    ```text
    %2:2 = weft.permute %arg1, %arg1 on @mesh <{"cp"}> sources [1, 0] ...
    %out, %lse = weft.attention %arg0, %arg1, %arg1 {...
    %out_1, %lse_2 = weft.attention %arg0, %2#0, %2#1 start %7 {...
    ```
  }];
  let options = [
    Option<"when", "when", "std::string", "\"auto\"",
           "never, auto, always or balanced">,
    Option<"machine", "machine", "std::string", "\"host\"",
           "a machine's name or the file that describes it">,
    Option<"memoryLimit", "memory-limit", "int64_t", "0",
           "bytes that a rank may use; 0: what the machine has, negative: any "
           "number">,
    Option<"minSpared", "min-spared", "int64_t", "268435456",
           "bytes for which a form may take a tenth longer">
  ];
  let statistics = [
    Statistic<"numForward", "forward", "weft.attention ops cut">,
    Statistic<"numGradients", "gradients", "weft.attention_grad ops cut">,
    Statistic<"numBalanced", "balanced", "those with exchanged parts">
  ];
  let dependentDialects = [
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"
  ];
}

#endif // WEFT_ATTENTION_PASSES_TD
