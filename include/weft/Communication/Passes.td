// SPDX-License-Identifier: Apache-2.0

// The passes over collectives of the local and scheduled phases.

#ifndef WEFT_COMMUNICATION_PASSES_TD
#define WEFT_COMMUNICATION_PASSES_TD

include "mlir/Pass/PassBase.td"

def MergeCollectivesPass : Pass<"weft-merge-collectives", "::mlir::ModuleOp"> {
  let summary = "make fewer and cheaper collectives";
  let description = [{
    - An all_reduce of which each rank keeps its own part becomes a
      reduce_scatter.
    - A reduce_scatter moves before an all_reduce over other axes.
    - all_reduces of slices that together are a whole tensor become one of the
      tensor, of which slices are taken: it need not be copied apart.
    - Collectives without uses are erased.
    - all_reduces, and reduce_scatters, of one kind over the same axes become
      one grouped collective if their operands are small and none of them
      waits for another. It stands before the first use of any. What is small
      and computed from their results alone moves down to its first use before;
      gathers of it are grouped as well. What maxima of one value are computed
      from, op by op, moves up to where the value is made before.
    - Two all_gathers of one tensor along neighbouring dimensions become one
      over both's axes where a rank has one index along the first dimension: of
      elements of which ranks have less than a block.
    - Two all_gathers over the same axes of which one op alone reads the results
      become one if one of them is small beside the other: elements and their
      scales.

    Other gathers of weights are not merged: one that is gathered for the forward
    pass and again for the backward pass need not stay in memory between them.

    Example: of the sum each rank keeps its own part.
    ```mlir
    weft.mesh @mesh = <["tp"=4]>
    func.func @f(%x: tensor<8xf32>) -> tensor<2xf32> {
      %c2 = arith.constant 2 : index
      %0 = weft.all_reduce sum %x on @mesh <{"tp"}> : (tensor<8xf32>) -> tensor<8xf32>
      %i = weft.axis_index @mesh <{"tp"}>
      %o = arith.muli %i, %c2 : index
      %1 = tensor.extract_slice %0[%o] [2] [1] : tensor<8xf32> to tensor<2xf32>
      return %1 : tensor<2xf32>
    }
    ```
    `weft-opt --weft-merge-collectives` makes of it:
    ```mlir
    weft.mesh @mesh = <["tp"=4]>
    func.func @f(%x: tensor<8xf32>) -> tensor<2xf32> {
      %0 = weft.reduce_scatter sum %x on @mesh <{"tp"}> dims [0] : (tensor<8xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
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
  let summary = "say what each function moves";
  let description = [{
    Emits a remark per function, kind of collective and axes: the number of
    operands, and the bytes that a rank receives.

    Example: three other ranks send their 32 bytes each.
    ```mlir
    weft.mesh @mesh = <["tp"=4]>
    func.func @f(%x: tensor<8xf32>) -> tensor<32xf32> {
      %0 = weft.all_gather %x on @mesh <{"tp"}> dims [0] : (tensor<8xf32>) -> tensor<32xf32>
      return %0 : tensor<32xf32>
    }
    ```
    `weft-opt --weft-print-traffic` prints:
    ```text
    remark: all_gather over #weft.axes<{"tp"}>: 1 operands, 96 bytes
    ```
  }];
}

def AssignChannelsPass : Pass<"weft-assign-channels", "::mlir::ModuleOp"> {
  let summary = "choose the channel of each collective";
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

    *Requires* the form that weft-prepare-kernels ensures.
    *Ensures* that each collective has a channel. Remarks say why.

    Example: a weight's gather need not wait for the sum of what is computed from data.
    ```mlir
    weft.mesh @mesh = <["tp"=2]>
    func.func @f(%w: tensor<4x8xf32>, %x: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<4x8xf32> {weft.alias = 0 : index}) {
      %0 = weft.all_gather %w on @mesh <{"tp"}> dims [0] : (tensor<4x8xf32>) -> tensor<8x8xf32>
      %1 = weft.matmul %x, %0 {indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<2x8xf32>, tensor<8x8xf32> -> tensor<2x8xf32>
      %2 = weft.all_reduce sum %1 on @mesh <{"tp"}> : (tensor<2x8xf32>) -> tensor<2x8xf32>
      return %2, %w : tensor<2x8xf32>, tensor<4x8xf32>
    }
    ```
    `weft-opt --weft-assign-channels` makes of it:
    ```mlir
    #map = affine_map<(d0, d1, d2) -> (d0, d2)>
    #map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
    #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
    weft.mesh @mesh = <["tp"=2]>
    weft.channel @gather.tp on @mesh <{"tp"}> purpose gather
    weft.channel @activation.tp on @mesh <{"tp"}> purpose activation
    func.func @f(%w: tensor<4x8xf32>, %x: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<4x8xf32> {weft.alias = 0 : index}) {
      %0 = weft.all_gather %w on @mesh <{"tp"}> dims [0] {channel = @gather.tp} : (tensor<4x8xf32>) -> tensor<8x8xf32>
      %1 = weft.matmul %x, %0 {indexing_maps = [#map, #map1, #map2]} : tensor<2x8xf32>, tensor<8x8xf32> -> tensor<2x8xf32>
      %2 = weft.all_reduce sum %1 on @mesh <{"tp"}> {channel = @activation.tp} : (tensor<2x8xf32>) -> tensor<2x8xf32>
      return %2, %w : tensor<2x8xf32>, tensor<4x8xf32>
    }
    ```
  }];
  let options = [
    Option<"merge", "merge", "bool", "false",
           "one channel for all purposes over the same axes">
  ];
  let statistics = [
    Statistic<"numChannels", "channels", "channels declared">
  ];
}

def OffloadPass : Pass<"weft-offload", "::mlir::ModuleOp"> {
  let summary = "let marked values wait in the host's memory";
  let description = [{
    A barrier with `offload` becomes two copies: one to the host's memory, where
    the barrier stands, and one back, before the first op that reads the value.
    They are permutes of the rank alone, on channels of their own, of purpose
    `offload` and `fetch`: scheduling, planning and proofs take them for what they
    are, collectives that bring a rank what it has. Other barriers that the value
    goes through do not hold it any more: it may be fetched ahead of what they
    wait for. Remarks name each value.

    An argument with `weft.host` lies in the host's memory between steps: it is
    fetched before the first op that reads it, and what takes its place is
    offloaded to there.

    *Ensures* that no barrier has `offload`.

    Example: what the second product reads waits in the host's memory.
    ```mlir
    weft.mesh @mesh = <["dp"=2]>
    func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %0 = math.exp %x : tensor<4x4xf32>
      %1 = weft.optimization_barrier %0 {offload} : tensor<4x4xf32>
      %2 = math.tanh %0 : tensor<4x4xf32>
      %3 = arith.mulf %1, %2 : tensor<4x4xf32>
      return %3 : tensor<4x4xf32>
    }
    ```
    `weft-opt --weft-offload` makes of it:
    ```mlir
    weft.mesh @mesh = <["dp"=2]>
    weft.channel @offload on @mesh <{}> purpose offload
    weft.channel @fetch on @mesh <{}> purpose fetch
    func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %0 = math.exp %x : tensor<4x4xf32>
      %1 = weft.permute %0 on @mesh <{}> sources [0] {channel = @offload} : (tensor<4x4xf32>) -> tensor<4x4xf32>
      %2 = math.tanh %0 : tensor<4x4xf32>
      %3 = weft.permute %1 on @mesh <{}> sources [0] {channel = @fetch} : (tensor<4x4xf32>) -> tensor<4x4xf32>
      %4 = arith.mulf %3, %2 : tensor<4x4xf32>
      return %4 : tensor<4x4xf32>
    }
    ```
  }];
  let statistics = [
    Statistic<"numOffloaded", "offloaded", "values that wait in the host's memory">
  ];
}

def NameOpsPass : Pass<"weft-name-ops", "::mlir::ModuleOp"> {
  let summary = "name the ops that take time";
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

    Example: the gather, and the product with what it brought, have the weight's name.
    ```mlir
    weft.mesh @mesh = <["fsdp"=2]>
    func.func @f(%w: tensor<4x8xf32> {weft.name = "params.wq"}, %x: tensor<2x8xf32>) -> tensor<2x8xf32> {
      %0 = weft.all_gather %w on @mesh <{"fsdp"}> dims [0] : (tensor<4x8xf32>) -> tensor<8x8xf32>
      %1 = weft.matmul %x, %0 {indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<2x8xf32>, tensor<8x8xf32> -> tensor<2x8xf32>
      return %1 : tensor<2x8xf32>
    }
    ```
    `weft-opt --weft-name-ops` makes of it:
    ```mlir
    #map = affine_map<(d0, d1, d2) -> (d0, d2)>
    #map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
    #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
    weft.mesh @mesh = <["fsdp"=2]>
    func.func @f(%w: tensor<4x8xf32> {weft.name = "params.wq"}, %x: tensor<2x8xf32>) -> tensor<2x8xf32> {
      %0 = weft.all_gather %w on @mesh <{"fsdp"}> dims [0] {weft.op = "all_gather params.wq"} : (tensor<4x8xf32>) -> tensor<8x8xf32>
      %1 = weft.matmul %x, %0 {indexing_maps = [#map, #map1, #map2], weft.op = "matmul arg1"} : tensor<2x8xf32>, tensor<8x8xf32> -> tensor<2x8xf32>
      return %1 : tensor<2x8xf32>
    }
    ```
  }];
}

def StartCollectivesPass : Pass<"weft-start-collectives", "::mlir::ModuleOp"> {
  let summary = "start each collective, and wait for it at once";
  let description = [{
    The simplest schedule: what the program said, in its order.

    *Requires* that each collective has a channel.

    Example: a future, and its wait.
    ```mlir
    weft.mesh @mesh = <["dp"=2]>
    weft.channel @data.dp on @mesh <{"dp"}> purpose data
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = weft.all_reduce sum %x on @mesh <{"dp"}> {channel = @data.dp} : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
    `weft-opt --weft-start-collectives` makes of it:
    ```mlir
    weft.mesh @mesh = <["dp"=2]>
    weft.channel @data.dp on @mesh <{"dp"}> purpose data
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = weft.all_reduce sum %x on @mesh <{"dp"}> {channel = @data.dp} : (tensor<4xf32>) -> !weft.future<tensor<4xf32>>
      %1 = weft.wait %0 : !weft.future<tensor<4xf32>>
      return %1 : tensor<4xf32>
    }
    ```
  }];
}

def VerifyScheduledPass : Pass<"weft-verify-scheduled", "::mlir::ModuleOp"> {
  let summary = "check that only memory is left to plan";
  let description = [{
    Fails on collectives that are not started, ops of linalg outside of
    weft_rt.fused, buffers, and ops that take time without a name of their own
    ('weft.op').

    Example: a collective that was not started.
    ```mlir
    weft.mesh @mesh = <["dp"=2]>
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = weft.all_reduce sum %x on @mesh <{"dp"}> {weft.op = "all_reduce #0"} : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
    `weft-opt --weft-verify-scheduled` refuses it:
    ```text
    error: 'weft.all_reduce' op is not started in phase 'scheduled'
    ```
  }];
}

#endif // WEFT_COMMUNICATION_PASSES_TD
