// SPDX-License-Identifier: Apache-2.0

// Every pass from weft to weft, in pipeline order.

#ifndef WEFT_DIALECT_WEFT_TRANSFORMS_PASSES_TD
#define WEFT_DIALECT_WEFT_TRANSFORMS_PASSES_TD

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

    @example test/Dialect/Weft/Transforms/join-contractions.mlir
  }];
  let options = [
    Option<"leaves", "leaves", "int64_t", "8", "parts of K at most">
  ];
  let dependentDialects = ["::mlir::tensor::TensorDialect",
                           "::mlir::weft::WeftDialect"];
}

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

    @example test/Dialect/Weft/Transforms/align-weights.mlir
  }];
  let statistics = [
    Statistic<"numAligned", "aligned", "slices and sums that need not be moved">
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
    axes of the mesh which are not in `axes` cut in equal parts, where operands
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

    @example test/Dialect/Weft/Transforms/assign-orders.mlir
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

    @example test/Dialect/Weft/Transforms/propagate-shardings.mlir
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
    in front of each use. weft.shard ops disappear.

    *Requires* a module with at most one weft.mesh, functions of one block.
    Wishes come from `weft-propagate-shardings`.

    *Ensures* explicit shardings, as `weft-verify-sharding` checks them.

    @example test/Dialect/Weft/Transforms/insert-reshards.mlir
  }];
  let options = [
    Option<"serial", "serial", "std::string", "\"\"",
           "the axis whose coordinates a rank goes through by itself: what is "
           "sharded over it is moved once for each of them">
  ];
  let statistics = [
    Statistic<"numReshards", "reshards", "weft.reshard ops inserted">];
  let dependentDialects = ["::mlir::weft::WeftDialect"];
}

def VerifyShardingPass : Pass<"weft-verify-sharding", "::mlir::ModuleOp"> {
  let summary = "check that shardings are explicit and consistent";
  let description = [{
    The gate in front of `weft-partition`: each tensor has a sharding, each
    op's shardings agree with its rule, no contribution reaches an op that is
    not linear in it, and what is returned is what the function declares.

    *Requires* nothing. *Ensures* the same, or an error. Changes nothing.

    @example test/Dialect/Weft/Transforms/verify-sharding.mlir
  }];
}

//===----------------------------------------------------------------------===//
// global to local
//===----------------------------------------------------------------------===//

def PartitionPass : Pass<"weft-partition", "::mlir::ModuleOp"> {
  let summary = "Turn the explicit global module into the program of one rank";
  let description = [{
    Every value gets the type of the part that one rank holds; every
    weft.reshard becomes the collectives of the cheapest plan. Where the rank's
    position matters (linalg.index, sharded tables, uneven dimensions that are
    summed) it is computed by weft.axis_index. Arguments and results keep
    their sharding and get their global type as 'weft.global_type'.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def VerifyLocalPass : Pass<"weft-verify-local", "::mlir::ModuleOp"> {
  let summary = "Check that nothing is left to partition";
  let description = [{
    Fails on weft.shard, weft.reshard and 'weft.shardings', on types that are
    not static, on a sharding at a function's border without its global type,
    and on an order that does not fit its op: leaves that do not divide what is
    summed, or that are not one for each member of a collective's group.
  }];
}

//===----------------------------------------------------------------------===//
// local
//===----------------------------------------------------------------------===//

def MergeCollectivesPass : Pass<"weft-merge-collectives", "::mlir::ModuleOp"> {
  let summary = "Make fewer and cheaper collectives";
  let description = [{
    - An all_reduce of which each rank keeps its own part becomes a
      reduce_scatter.
    - A reduce_scatter moves before an all_reduce over other axes.
    - Collectives without uses are erased.
    - all_reduces, and reduce_scatters, of one kind over the same axes become
      one grouped collective if their operands are small and none of them
      waits for another. It stands before the first use of any. What is small
      and computed from their results alone moves down to its first use before;
      gathers of it are grouped as well.

    Gathers of weights are not merged: one that is gathered for the forward
    pass and again for the backward pass need not stay in memory between them.
  }];
  let options = [
    Option<"groupLimit", "group-limit", "int64_t", "65536",
           "group reductions of operands of at most this many bytes">
  ];
  let statistics = [
    Statistic<"numScattered", "scattered", "all_reduces made reduce_scatters">,
    Statistic<"numReordered", "reordered", "reduce_scatters moved forward">,
    Statistic<"numErased", "erased", "collectives without uses">,
    Statistic<"numGrouped", "grouped", "collectives that joined another">
  ];
}

def PrintTrafficPass : Pass<"weft-print-traffic", "::mlir::ModuleOp"> {
  let summary = "Say what each function moves";
  let description = [{
    Emits a remark per function, kind of collective and axes: the number of
    operands, and the bytes that a rank receives.
  }];
}

//===----------------------------------------------------------------------===//
// local to scheduled
//===----------------------------------------------------------------------===//

def AssignChannelsPass : Pass<"weft-assign-channels", "::mlir::ModuleOp"> {
  let summary = "Choose the channel of each collective";
  let description = [{
    Each collective without a channel gets one, which is declared: one channel
    for each purpose, mesh and list of axes, so that collectives wait only for
    those of their own chain. The purpose is seen from dataflow:

    - `amax`: an all_reduce max of scalars, or of maxima of absolute values.
    - `gather`: what is moved is made of arguments at rest alone. They are
      donated, or have storage axes. `expert_gather`: a contraction takes it
      with a batch dim.
    - Of what no contraction depends on, and what goes into a state that is
      returned: `reduce`, if the state is sharded at rest over the axes, else
      `data`. `expert_reduce`: it comes from a contraction with a batch dim. A
      gather of such a state is a `gather`. Sums of scalars are `data`.
    - `activation`: all others.

    Channels that are there are kept and used. With `merge` the key is the mesh
    and the axes alone; the channel's purpose is that of its first collective.

    *Requires* the form that weft-prepare-host ensures.
    *Ensures* that each collective has a channel. Remarks say why.

    @example test/Dialect/Weft/Transforms/assign-channels.mlir
  }];
  let options = [
    Option<"merge", "merge", "bool", "false",
           "one channel for all purposes over the same axes">
  ];
  let statistics = [
    Statistic<"numChannels", "channels", "channels declared">
  ];
}

def NameOpsPass : Pass<"weft-name-ops", "::mlir::ModuleOp"> {
  let summary = "Name the ops that take time";
  let description = [{
    Puts 'weft.op' on collectives, weft.matmul, weft.scatter_add and
    weft_rt.fused: the name by which schedules, traces and reports call the op.
    Names are unique in a function. Names that are there stay.

    - What takes a weight is named after it: "all_gather params.wq", and
      "all_gather params.wq #2" for the second.
    - What makes or moves the gradient of a state is named after that:
      "matmul gradient of params.wq", "reduce_scatter params.wq"; a group after
      its first, with the number of others: "reduce_scatter params.wq +3".
    - A collective on what a contraction with a weight gave:
      "all_reduce output of params.wo".
    - All others are numbered: "matmul #3", "kernel #40".
  }];
}

def StartCollectivesPass : Pass<"weft-start-collectives", "::mlir::ModuleOp"> {
  let summary = "Start each collective, and wait for it at once";
  let description = [{
    The simplest schedule: what the program said, in its order.

    *Requires* that each collective has a channel.
  }];
}

def VerifyScheduledPass : Pass<"weft-verify-scheduled", "::mlir::ModuleOp"> {
  let summary = "Check that only memory is left to plan";
  let description = [{
    Fails on collectives that are not started, ops of linalg outside of
    weft_rt.fused, buffers, and ops that take time without a name of their own
    ('weft.op').
  }];
}

#endif // WEFT_DIALECT_WEFT_TRANSFORMS_PASSES_TD
