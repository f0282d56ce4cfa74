// SPDX-License-Identifier: Apache-2.0

// The passes of gradient accumulation: a mesh axis whose parts each rank computes one after the other.

#ifndef WEFT_ACCUMULATION_PASSES_TD
#define WEFT_ACCUMULATION_PASSES_TD

include "mlir/Pass/PassBase.td"

def OrderSerialAxisPass : Pass<"weft-order-serial-axis", "::mlir::ModuleOp"> {
  let summary = "put the axis of gradient accumulation last in each dimension";
  let description = [{
    weft-accumulate lets one rank do the work of all coordinates along `axis`.
    What the rank then holds of a dimension is one part of it if the axis is the
    dimension's last. Which elements which coordinate sees changes; the program
    does not.

    *Requires*: the `global` phase, and a mesh with the axis.

    *Ensures*: the axis is the last one of each dimension in the shardings of
    arguments, results and weft.shard.

    Example: the microbatches of one rank lie beside each other.
    ```mlir
    weft.mesh @mesh = <["dp"=2, "mb"=2]>
    func.func @f(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"mb", "dp"} ]>}) {
      return
    }
    ```
    `weft-opt --weft-order-serial-axis=axis=mb` makes of it:
    ```mlir
    weft.mesh @mesh = <["dp"=2, "mb"=2]>
    func.func @f(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "mb"} ]>}) {
      return
    }
    ```
  }];
  let options = [
    Option<"axis", "axis", "std::string", "", "the axis">
  ];
  let dependentDialects = ["::mlir::weft::WeftDialect"];
}

def AccumulatePass : Pass<"weft-accumulate", "::mlir::ModuleOp"> {
  let summary = "let each rank compute the parts of one mesh axis one after the other";
  let description = [{
    Gradient accumulation: an axis that shards the batch leaves the mesh, and
    each rank does the work of all its coordinates, the microbatches, one after
    the other. Bits are those of the program with the axis in its mesh, where
    orders are given; the rank needs memory for one microbatch at a time, and
    for the sums.

    - What depends on the coordinate is cloned for each. Arguments that the axis
      shards become larger, and are cut; results are concatenated.
    - An all_reduce or reduce_scatter over the axis becomes joins: linalg.generic
      ops of two inputs with `weft.order = #weft.order<leaves = 2>`, as early as
      the inputs are there. With an order they are the collective's tree, so
      that at most log2(n) + 1 sums wait; without one a chain.
    - An all_gather becomes a concatenation, an all_to_all slices and
      concatenations, a weft.axis_index a constant.
    - A collective over other axes, too, is cut in a local part and the rest.
      With an order the minor axes come first, then the join, then the major
      axes. Without one all of it is joined first, and also what ranks had
      reduced before: fewest bytes.

    What does not depend on the coordinate is done once, and gathers of the same
    value are one: it stays for all coordinates. With `regather` it is gathered
    again for each of them, as often as the program with the axis does, and
    parts of a sum that ranks reduce-scatter are so before they are joined, if
    the order is open: more bytes on the wire, less memory.

    *Requires* the form that weft-partition makes, with the axis last in each
    dimension of arguments and results (weft-order-serial-axis), and sizes that
    the axis divides where other axes cut the dimension, too.

    *Ensures* that nothing names the axis but `weft.invariance` and the program
    for one rank.

    Example: the sum over two microbatches is an addition on one rank.
    ```mlir
    weft.mesh @mesh = <["mb"=2]>
    func.func @f(%x: tensor<4xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"} ]>})
        -> tensor<4xf32> {
      %0 = arith.negf %x : tensor<4xf32>
      %1 = weft.all_reduce sum %0 on @mesh <{"mb"}> : (tensor<4xf32>) -> tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    ```
    `weft-opt --weft-accumulate=axis=mb` makes of it:
    ```mlir
    #map = affine_map<(d0) -> (d0)>
    weft.mesh @mesh = <[]>
    func.func @f(%x: tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{} ]>}) -> tensor<4xf32> {
      %extracted_slice = tensor.extract_slice %x[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
      %0 = arith.negf %extracted_slice : tensor<4xf32>
      %extracted_slice_0 = tensor.extract_slice %x[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
      %1 = arith.negf %extracted_slice_0 : tensor<4xf32>
      %2 = tensor.empty() : tensor<4xf32>
      %3 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%0, %1 : tensor<4xf32>, tensor<4xf32>) outs(%2 : tensor<4xf32>) attrs =  {weft.order = #weft.order<leaves = 2>} {
      ^bb0(%in: f32, %in_1: f32, %out: f32):
        %4 = arith.addf %in, %in_1 : f32
        linalg.yield %4 : f32
      } -> tensor<4xf32>
      return %3 : tensor<4xf32>
    }
    ```
  }];
  let options = [
    Option<"axis", "axis", "std::string", "", "the axis">,
    Option<"regather", "regather", "bool", "false",
           "gather weights again for each coordinate">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // WEFT_ACCUMULATION_PASSES_TD
