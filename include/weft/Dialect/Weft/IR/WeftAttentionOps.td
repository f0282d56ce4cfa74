// SPDX-License-Identifier: Apache-2.0

// Attention and its gradient, without the square of scores.

#ifndef WEFT_DIALECT_WEFT_IR_ATTENTIONOPS_TD
#define WEFT_DIALECT_WEFT_IR_ATTENTIONOPS_TD

include "mlir/Interfaces/SideEffectInterfaces.td"
include "weft/Dialect/Weft/IR/WeftAttrs.td"
include "weft/Interfaces/CostOpInterface.td"
include "weft/Interfaces/PartitionOpInterface.td"
include "weft/Interfaces/ShardingRuleOpInterface.td"

class Weft_AttentionLikeOp<string mnemonic, list<Trait> traits>
    : Weft_Op<mnemonic, traits # [Pure, AttrSizedOperandSegments,
          DeclareOpInterfaceMethods<Weft_CostOpInterface, ["isComputedInPlace"]>,
          DeclareOpInterfaceMethods<Weft_PartitionOpInterface>]> {
  let hasVerifier = 1;
}

def Weft_AttentionOp : Weft_AttentionLikeOp<"attention", [
    DeclareOpInterfaceMethods<Weft_ShardingRuleOpInterface,
        ["getComputeClass", "getLoopSizes", "needsOrder"]>]> {
  let summary = "average values by the softmax of scores of queries and keys";
  let description = [{
    `out[i] = sum over keys j of exp(s[i, j] - lse[i]) * v[j]`, with the scores s
    of `config` (see there), and `lse[i] = log(sum over keys j of exp(s[i, j]))`,
    over the keys that the query sees; 0 and -inf if it sees none. `start` is the
    position of the first query among the keys (0 if absent).

    `indexing_maps` has a map for each tensor, operands first, over one iteration
    space. Its last four loops are queries, keys, depth and values; the loops
    before are *groups* if the keys do not have them (heads that share keys and
    values) and *batches* otherwise (sequences, heads). Queries have groups,
    batches, the query loop and the depth; keys have batches, the key loop and the
    depth; values have batches, the key loop and the value loop; `out` has groups,
    batches, the query loop and the value loop; `lse` has groups, batches and
    the query loop. The bias and the mask have any of groups, batches, the query
    loop and the key loop; segments have batches and groups, and the query or the
    key loop; seeds have the query loop and any of groups and batches.

    With `dropout`, the weights `exp(s[i, j] - lse[i])` are dropped, and those that
    are kept divided by `1 - dropout`, by 32 random bits for each query and key: see
    `config`. They are a function of the query's two seeds and of the key's number,
    so a query's seeds have to be made of all that tells it from other queries:
    its place in the sequence, its head and its batch. `lse` is that of all weights.

    Scores, exponentials and sums are f32; `out` is rounded once. In an invariant
    program the keys are added up in one order on every mesh.

    Constraints:
    1. (c1) a map for each tensor, each a projected permutation without constants
       over the same loops, of which there are four at least.
    2. (c2) each loop has one size in all tensors that it indexes.
    3. (c3) the tensors have the loops that are said above, and each is in one.
    4. (c4) queries, keys, values and `out` have one element type: f32, bf16 or
       f16; `lse` f32; the bias f32 or the queries' type; the mask i1; segments and
       seeds i32.
    5. (c5) a start only with `left` or `right`; a fill only with a mask; segments
       of queries and keys both or neither; low and high seeds both with a dropout,
       and neither without one.

    Example: causal attention; four heads share two heads of keys.
    ```mlir
    #q = affine_map<(b, h, g, i, j, d, e) -> (b, i, h, g, d)>
    #k = affine_map<(b, h, g, i, j, d, e) -> (b, j, h, d)>
    #v = affine_map<(b, h, g, i, j, d, e) -> (b, j, h, e)>
    #out = affine_map<(b, h, g, i, j, d, e) -> (b, i, h, g, e)>
    #lse = affine_map<(b, h, g, i, j, d, e) -> (b, h, g, i)>
    func.func @f(%q: tensor<2x128x2x2x64xf32>, %k: tensor<2x128x2x64xf32>, %v: tensor<2x128x2x64xf32>)
        -> (tensor<2x128x2x2x64xf32>, tensor<2x2x2x128xf32>) {
      %out, %lse = weft.attention %q, %k, %v {
          config = #weft.attention<scale = 0.125 : f32, right = 0>,
          indexing_maps = [#q, #k, #v, #out, #lse]}
          : (tensor<2x128x2x2x64xf32>, tensor<2x128x2x64xf32>, tensor<2x128x2x64xf32>)
          -> (tensor<2x128x2x2x64xf32>, tensor<2x2x2x128xf32>)
      return %out, %lse : tensor<2x128x2x2x64xf32>, tensor<2x2x2x128xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$q, AnyRankedTensor:$k,
                       AnyRankedTensor:$v, Optional<AnyRankedTensor>:$bias,
                       Optional<AnyRankedTensor>:$mask,
                       Optional<AnyRankedTensor>:$q_segments,
                       Optional<AnyRankedTensor>:$k_segments,
                       Optional<AnyRankedTensor>:$low_seeds,
                       Optional<AnyRankedTensor>:$high_seeds,
                       Optional<Index>:$start, Weft_AttentionAttr:$config,
                       AffineMapArrayAttr:$indexing_maps);
  let results = (outs AnyRankedTensor:$out, AnyRankedTensor:$lse);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`bias` $bias^)? (`mask` $mask^)?
    (`segments` $q_segments^ `,` $k_segments)?
    (`dropout` $low_seeds^ `,` $high_seeds)? (`start` $start^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def Weft_AttentionGradOp : Weft_AttentionLikeOp<"attention_grad", [
    DeclareOpInterfaceMethods<Weft_ShardingRuleOpInterface,
        ["getComputeClass", "getLoopSizes", "getReductionLoops",
         "needsOrder"]>]> {
  let summary = "the gradient of weft.attention";
  let description = [{
    The gradients of queries, keys and values, from that of `out`, `dout`. What the
    forward pass made, `out` and `lse`, is used; scores are computed again. With
    `P[i, j] = exp(s[i, j] - lse[i])`, 0 where the query does not see the key:

    - `delta[i] = sum over values of dout[i] * out[i]`
    - `dv[j] = sum over groups and queries of P[i, j] * r[i, j] * dout[i]`
    - `ds[i, j] = P[i, j] * (r[i, j] * (dout[i] . v[j]) - delta[i])`, 0 where the
      mask is 0, times the derivative of the softcap
    - `dq[i] = scale * sum over keys of ds[i, j] * k[j]`
    - `dk[j] = scale * sum over groups and queries of ds[i, j] * q[i]`

    Without a dropout r is 1; with one, `1 / (1 - dropout)` for what the forward pass
    kept and 0 for what it dropped, from the same seeds.

    The bias has no gradient. Loops, maps and `start` are as in weft.attention;
    `dout`, `dq`, `dk` and `dv` have the loops of `out`, `q`, `k` and `v`.

    Queries and groups are parallel in `dq` and summed in `dk` and `dv`: where they
    are cut, those two are contributions to sums over ranks, in an invariant
    program by whole leaves of `weft.order`, whose loops are groups and queries.

    Constraints: (c1) to (c3) and (c5) as in weft.attention; (c4) also that `out`
    and `dout` have the queries' type, and `dq`, `dk` and `dv` that or f32.

    Example: the gradient of the example of weft.attention, one head for each.
    ```mlir
    #q = affine_map<(b, h, i, j, d, e) -> (b, i, h, d)>
    #k = affine_map<(b, h, i, j, d, e) -> (b, j, h, d)>
    #v = affine_map<(b, h, i, j, d, e) -> (b, j, h, e)>
    #out = affine_map<(b, h, i, j, d, e) -> (b, i, h, e)>
    #lse = affine_map<(b, h, i, j, d, e) -> (b, h, i)>
    !t = tensor<2x128x2x64xf32>
    func.func @f(%q: !t, %k: !t, %v: !t, %out: !t, %lse: tensor<2x2x128xf32>, %dout: !t) -> (!t, !t, !t) {
      %dq, %dk, %dv = weft.attention_grad %q, %k, %v, %out, %lse, %dout {
          config = #weft.attention<scale = 0.125 : f32, right = 0>,
          indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]}
          : (!t, !t, !t, !t, tensor<2x2x128xf32>, !t) -> (!t, !t, !t)
      return %dq, %dk, %dv : !t, !t, !t
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$q, AnyRankedTensor:$k,
                       AnyRankedTensor:$v, Optional<AnyRankedTensor>:$bias,
                       Optional<AnyRankedTensor>:$mask,
                       Optional<AnyRankedTensor>:$q_segments,
                       Optional<AnyRankedTensor>:$k_segments,
                       Optional<AnyRankedTensor>:$low_seeds,
                       Optional<AnyRankedTensor>:$high_seeds,
                       AnyRankedTensor:$out, AnyRankedTensor:$lse,
                       AnyRankedTensor:$dout, Optional<Index>:$start,
                       Weft_AttentionAttr:$config,
                       AffineMapArrayAttr:$indexing_maps);
  let results = (outs AnyRankedTensor:$dq, AnyRankedTensor:$dk,
                      AnyRankedTensor:$dv);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $out `,` $lse `,` $dout (`bias` $bias^)? (`mask` $mask^)?
    (`segments` $q_segments^ `,` $k_segments)?
    (`dropout` $low_seeds^ `,` $high_seeds)? (`start` $start^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

#endif // WEFT_DIALECT_WEFT_IR_ATTENTIONOPS_TD
