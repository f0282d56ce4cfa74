// SPDX-License-Identifier: Apache-2.0

// The passes that give each value one sharding, and each change of sharding a place.

#ifndef WEFT_PROPAGATION_PASSES_TD
#define WEFT_PROPAGATION_PASSES_TD

include "mlir/Pass/PassBase.td"

def AlignWeightsPass : Pass<"weft-align-weights", "::mlir::ModuleOp"> {
  let summary = "lay weights out as slices of products with them are cut";
  let description = [{
    A product with a weight that is cut over ranks, of which only slices along
    the cut dim are used, as of queries, keys and values: the columns of the
    weight are put in the order of ranks, each with its part of every slice, so
    that the slices need not be moved. Likewise where paddings with zeros are
    added up for products, as gradients of slices are: they are put together in
    that order, and of these products the gradient of the weight is put back.
    The moves are slices and tensor.concat of weights and their gradients, where
    they rest; it is done where that moves fewer bytes than to cut or put
    together the products.

    A sum over the cut dim is then taken in another order: not for invariant
    mode.

    *Requires* the form that `weft-raise` ensures, and storage axes, which
    `weft-infer-storage` finds.

    Example: the columns of keys and values are laid out for four ranks, so that each has its part of both.
    ```mlir
    weft.mesh @mesh = <["tp"=4]>
    func.func @f(%x: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {} ]>},
                 %w: tensor<32x512xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"} ]>})
        -> (tensor<64x256xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"} ]>},
            tensor<64x256xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"} ]>}) {
      %y = weft.matmul %x, %w {indexing_maps = [
             affine_map<(t, n, k) -> (t, k)>, affine_map<(t, n, k) -> (k, n)>, affine_map<(t, n, k) -> (t, n)>]}
           : tensor<64x32xf32>, tensor<32x512xf32> -> tensor<64x512xf32>
      %k = tensor.extract_slice %y[0, 0] [64, 256] [1, 1] : tensor<64x512xf32> to tensor<64x256xf32>
      %v = tensor.extract_slice %y[0, 256] [64, 256] [1, 1] : tensor<64x512xf32> to tensor<64x256xf32>
      return %k, %v : tensor<64x256xf32>, tensor<64x256xf32>
    }
    ```
    `weft-opt --weft-align-weights` makes of it:
    ```mlir
    #map = affine_map<(d0, d1, d2) -> (d0, d2)>
    #map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
    #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
    weft.mesh @mesh = <["tp"=4]>
    func.func @f(%x: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {} ]>}, %w: tensor<32x512xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"} ]>}) -> (tensor<64x256xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"} ]>}, tensor<64x256xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"} ]>}) {
      %extracted_slice = tensor.extract_slice %w[0, 0] [32, 256] [1, 1] : tensor<32x512xf32> to tensor<32x256xf32>
      %0 = weft.shard %extracted_slice to <@mesh, [{}, {"tp"} ]> : tensor<32x256xf32>
      %extracted_slice_0 = tensor.extract_slice %w[0, 256] [32, 256] [1, 1] : tensor<32x512xf32> to tensor<32x256xf32>
      %1 = weft.shard %extracted_slice_0 to <@mesh, [{}, {"tp"} ]> : tensor<32x256xf32>
      %expanded = tensor.expand_shape %0 [[0], [1, 2]] output_shape [32, 4, 64] : tensor<32x256xf32> into tensor<32x4x64xf32>
      %expanded_1 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [32, 4, 64] : tensor<32x256xf32> into tensor<32x4x64xf32>
      %concat = tensor.concat dim(2) %expanded, %expanded_1 : (tensor<32x4x64xf32>, tensor<32x4x64xf32>) -> tensor<32x4x128xf32>
      %collapsed = tensor.collapse_shape %concat [[0], [1, 2]] : tensor<32x4x128xf32> into tensor<32x512xf32>
      %2 = weft.shard %collapsed to <@mesh, [{}, {"tp"} ]> : tensor<32x512xf32>
      %3 = weft.matmul %x, %2 {indexing_maps = [#map, #map1, #map2]} : tensor<64x32xf32>, tensor<32x512xf32> -> tensor<64x512xf32>
      %expanded_2 = tensor.expand_shape %3 [[0], [1, 2]] output_shape [64, 4, 128] : tensor<64x512xf32> into tensor<64x4x128xf32>
      %extracted_slice_3 = tensor.extract_slice %expanded_2[0, 0, 0] [64, 4, 64] [1, 1, 1] : tensor<64x4x128xf32> to tensor<64x4x64xf32>
      %collapsed_4 = tensor.collapse_shape %extracted_slice_3 [[0], [1, 2]] : tensor<64x4x64xf32> into tensor<64x256xf32>
      %expanded_5 = tensor.expand_shape %3 [[0], [1, 2]] output_shape [64, 4, 128] : tensor<64x512xf32> into tensor<64x4x128xf32>
      %extracted_slice_6 = tensor.extract_slice %expanded_5[0, 0, 64] [64, 4, 64] [1, 1, 1] : tensor<64x4x128xf32> to tensor<64x4x64xf32>
      %collapsed_7 = tensor.collapse_shape %extracted_slice_6 [[0], [1, 2]] : tensor<64x4x64xf32> into tensor<64x256xf32>
      return %collapsed_4, %collapsed_7 : tensor<64x256xf32>, tensor<64x256xf32>
    }
    ```
  }];
  let statistics = [
    Statistic<"numAligned", "aligned", "slices and sums that need not be moved">
  ];
  let dependentDialects = ["::mlir::tensor::TensorDialect",
                           "::mlir::weft::WeftDialect"];
}

def InferStoragePass : Pass<"weft-infer-storage", "::mlir::ModuleOp"> {
  let summary = "find the axes along which weights are sharded only at rest";
  let description = [{
    An axis that shards the batch cannot also shard the compute of a weight:
    each rank needs the whole weight for its part of the batch. On a weight it
    is a storage axis: uses see the weight gathered along it. This is what makes
    fsdp an axis beside tp.

    An argument is *data* if its elements are integers, or if it is not donated
    and no result has its type and sharding. Other arguments are parameters,
    with their optimizer state. Batch axes are those that shard integer data,
    or, where no integer data is sharded, any data: a frozen weight that is
    sharded like others is not mistaken for a batch. A parameter's batch axes
    become storage axes, unless its sharding names storage axes already; so do
    those of the result that it is donated to. A result without a sharding takes
    that of the argument that is donated to it.

    *Requires*: the `global` phase. A result's dims must be sharded like those
    of the argument that is donated to it: the update is in place.

    *Ensures*: donated arguments and their results have equal shardings.

    Example: fsdp shards the tokens, so it shards the weight only at rest; tp is not a batch axis.
    ```mlir
    weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
    func.func @f(%w: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {"tp"} ]>},
                 %tokens: tensor<8xi32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"} ]>})
        -> (tensor<64x32xf32> {weft.alias = 0 : index}) {
      return %w : tensor<64x32xf32>
    }
    ```
    `weft-opt --weft-infer-storage` makes of it:
    ```mlir
    weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
    func.func @f(%w: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {"tp"} ], storage = {"fsdp"}>}, %tokens: tensor<8xi32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"} ]>}) -> (tensor<64x32xf32> {weft.alias = 0 : index, weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {"tp"} ], storage = {"fsdp"}>}) {
      return %w : tensor<64x32xf32>
    }
    ```
  }];
  let options = [
    Option<"infer", "infer", "bool", "true",
           "mark storage axes; off: take them as they are written">
  ];
  let dependentDialects = ["::mlir::weft::WeftDialect"];
}

def PropagateShardingsPass
    : Pass<"weft-propagate-shardings", "::mlir::ModuleOp"> {
  let summary = "give each value the sharding that its neighbours suggest";
  let description = [{
    Spreads the shardings that the user wrote (on arguments, results and by
    weft.shard) along the sharding rules of ops to all other values, in both
    directions, first through ops that only move or map elements, then through
    all. What it writes is a wish: `weft-insert-reshards` weighs it against
    bytes. Where two tensors suggest different axes for one dimension, the one
    with more bytes wins. Storage axes flow apart from the others: through ops
    that keep the number of elements and whose tensors all have them.

    *Requires* a module with at most one weft.mesh, functions of one block.

    *Ensures* `weft.shardings` on each op with ranked tensors among its results
    (but not on those that are free to redo, such as fills), and
    `weft.sharding`, closed, on each tensor argument. Without a mesh nothing
    changes.

    Example: rows come from the left operand, columns from the right one.
    ```mlir
    weft.mesh @mesh = <["dp"=2, "tp"=2]>
    func.func @f(%x: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {} ]>},
                 %w: tensor<32x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"} ]>}) -> tensor<64x16xf32> {
      %0 = weft.matmul %x, %w {indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<64x32xf32>, tensor<32x16xf32> -> tensor<64x16xf32>
      return %0 : tensor<64x16xf32>
    }
    ```
    `weft-opt --weft-propagate-shardings` makes of it:
    ```mlir
    #map = affine_map<(d0, d1, d2) -> (d0, d2)>
    #map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
    #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
    weft.mesh @mesh = <["dp"=2, "tp"=2]>
    func.func @f(%x: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {} ]>}, %w: tensor<32x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"} ]>}) -> tensor<64x16xf32> {
      %0 = weft.matmul %x, %w {indexing_maps = [#map, #map1, #map2], weft.shardings = [#weft.sharding<@mesh, [{"dp"}, {"tp"} ]>]} : tensor<64x32xf32>, tensor<32x16xf32> -> tensor<64x16xf32>
      return %0 : tensor<64x16xf32>
    }
    ```
  }];
  let statistics = [
    Statistic<"numVisits", "visits", "ops visited until the fixpoint">];
  let dependentDialects = ["::mlir::weft::WeftDialect"];
}

def InsertReshardsPass : Pass<"weft-insert-reshards", "::mlir::ModuleOp"> {
  let summary = "choose how each op is sharded, and reshard its operands";
  let description = [{
    Walks each function in program order. For each op it chooses axes for the
    factors of its rule with the least cost: bytes received to bring operands
    where they are needed and results where they are wished, and the rank's
    share of the work as bytes. Contributions are kept as long as ops are
    linear in them and that costs no more; a storage-sharded weight is gathered
    before each use. weft.shard ops disappear.

    *Requires* a module with at most one weft.mesh, functions of one block.
    Wishes come from `weft-propagate-shardings`.

    *Ensures* explicit shardings, as `weft-verify-sharding` checks them.

    Example: both operands have K in parts, so each rank has a contribution; what is returned is the sum.
    ```mlir
    weft.mesh @mesh = <["tp"=2]>
    func.func @f(%x: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"} ]>},
                 %w: tensor<32x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {} ]>})
        -> (tensor<64x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {} ]>}) {
      %0 = weft.matmul %x, %w {indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<64x32xf32>, tensor<32x16xf32> -> tensor<64x16xf32>
      return %0 : tensor<64x16xf32>
    }
    ```
    `weft-opt --weft-propagate-shardings --weft-insert-reshards` makes of it:
    ```mlir
    #map = affine_map<(d0, d1, d2) -> (d0, d2)>
    #map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
    #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
    weft.mesh @mesh = <["tp"=2]>
    func.func @f(%x: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"} ]>}, %w: tensor<32x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {} ]>}) -> (tensor<64x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {} ]>}) {
      %0 = weft.matmul %x, %w {indexing_maps = [#map, #map1, #map2], weft.shardings = [#weft.sharding<@mesh, [{}, {} ], partial = sum {"tp"}>]} : tensor<64x32xf32>, tensor<32x16xf32> -> tensor<64x16xf32>
      %1 = weft.reshard %0 from <@mesh, [{}, {} ], partial = sum {"tp"}> to <@mesh, [{}, {} ]> {weft.shardings = [#weft.sharding<@mesh, [{}, {} ]>]} : tensor<64x16xf32>
      return %1 : tensor<64x16xf32>
    }
    ```
  }];
  let options = [
    Option<"serial", "serial", "std::string", "\"\"",
           "the axis whose parts a rank computes one after the other: what is "
           "sharded over it is moved once for each of them">
  ];
  let statistics = [
    Statistic<"numReshards", "reshards", "weft.reshard ops inserted">];
  let dependentDialects = ["::mlir::weft::WeftDialect"];
}

def VerifyShardingPass : Pass<"weft-verify-sharding", "::mlir::ModuleOp"> {
  let summary = "check that shardings are explicit and consistent";
  let description = [{
    The gate before `weft-partition`: each tensor has a sharding, each
    op's shardings agree with its rule, no contribution reaches an op that is
    not linear in it, and what is returned is what the function declares.

    *Requires* nothing. *Ensures* the same, or an error. Changes nothing.

    Example: a part is returned as if it were the whole.
    ```mlir
    weft.mesh @mesh = <["dp"=2]>
    func.func @f(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"} ]>})
        -> (tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{} ]>}) {
      return %x : tensor<8xf32>
    }
    ```
    `weft-opt --weft-verify-sharding` refuses it:
    ```text
    error: 'func.return' op operand #0 is [{"dp"}..., but the function declares [{}...
    ```
  }];
}

#endif // WEFT_PROPAGATION_PASSES_TD
