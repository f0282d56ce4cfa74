// SPDX-License-Identifier: Apache-2.0

// The passes that give each value its place in memory, for all targets.

#ifndef WEFT_CODEGEN_PLANNING_PASSES_TD
#define WEFT_CODEGEN_PLANNING_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlanBuffersPass : Pass<"weft-plan-buffers", "::mlir::ModuleOp"> {
  let summary = "give every tensor its place in memory";
  let description = [{
    Turns tensors into buffers: results are computed where the caller wants
    them, donated arguments and dead temporaries are updated in place, reshapes
    and slices are views, and all else gets an offset in one arena, by
    lifetimes: two buffers that are alive at the same time never overlap. See
    the description of the weft_rt dialect for the form.

    *Requires* the form that weft-fuse-kernels ensures.
    *Ensures* the `planned` phase: no tensors outside of weft_rt.fused, no
    allocation. The function has no arguments and results; its attributes
    `weft_rt.args`, `weft_rt.results` and `weft_rt.arena_bytes` keep what the
    program table says. `weft_rt.arena_bound` is the most bytes of the arena that
    are alive at one time: no plan of these lifetimes needs fewer.

    Example: the donated weight is updated in place.
    ```mlir
    #id = affine_map<(i) -> (i)>
    func.func @f(%w: tensor<8xf32> {weft.name = "w"}, %g: tensor<8xf32> {weft.name = "g"})
        -> (tensor<8xf32> {weft.name = "w", weft.alias = 0 : index}) {
      %0 = weft_rt.fused ins(%w, %g : tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
        %e = tensor.empty() : tensor<8xf32>
        %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
            ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
        ^bb0(%x: f32, %y: f32, %o: f32):
          %d = arith.subf %x, %y : f32
          linalg.yield %d : f32
        } -> tensor<8xf32>
        weft_rt.yield %r : tensor<8xf32>
      } {weft.op = "update w"}
      return %0 : tensor<8xf32>
    }
    ```
    `weft-opt --weft-plan-buffers` prints:
    ```text
    %0 = weft_rt.buffer argument 0 "w" : memref<8xf32>
    %1 = weft_rt.buffer argument 1 "g" : memref<8xf32>
    weft_rt.fused ins(%0, %1 : memref<8xf32>, memref<8xf32>) outs(%0 : memref<8xf32>) {
    weft.op = "update w"
    ```
  }];
  let statistics = [
    Statistic<"arenaBytes", "arena-bytes", "bytes of the arena">,
    Statistic<"arenaBound", "arena-bound", "bytes of it that are alive at once">,
    Statistic<"numCopies", "copies", "buffers copied">];
  let dependentDialects = [
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
    "::mlir::tensor::TensorDialect", "::mlir::weft::rt::WeftRTDialect"];
}

def AssignStreamsPass : Pass<"weft-assign-streams", "::mlir::ModuleOp"> {
  let summary = "put sums of reduce-scattered gradients on their channel's stream";
  let description = [{
    A kernel that adds to buffers what a reduce-scatter gives, and does nothing
    else, goes to the stream of its channel, right after it, with the wait: what
    computes does not wait for either. Events are put where an op touches bytes
    that an op of another stream works on, and is not after it yet: so each of
    them is needed. A number is another event's when nobody awaits it any more.
    Kernels in loops and branches stay where they are. One that is scheduled after
    the start of another collective of the channel comes before it, if the target
    has streams that run by themselves; else it stays on the stream that computes.
    All other ops stay in their order.

    *Requires* the `planned` phase.
    *Ensures* the order that the program had, where two ops touch the same bytes.

    Example: the gradient of a microbatch is added beside what computes.
    ```mlir
    #id = affine_map<(i) -> (i)>
    weft.mesh @mesh = <["dp"=2]>
    weft.channel @reduce.dp on @mesh <{"dp"}> purpose reduce
    func.func @f() {
      %g = weft_rt.buffer argument 0 : memref<16xf32>
      %m = weft_rt.buffer argument 1 : memref<8xf32>
      %r = weft_rt.buffer arena 0 : memref<8xf32>
      %o = weft_rt.buffer result 0 : memref<8xf32>
      %t = weft_rt.start <reduce_scatter, mesh = @mesh, axes = <{"dp"}>, reduce = sum, dims = [0]>
          ins(%g : memref<16xf32>) outs(%r : memref<8xf32>) {channel = @reduce.dp}
      weft_rt.wait %t
      weft_rt.fused ins(%m, %r : memref<8xf32>, memref<8xf32>) outs(%m : memref<8xf32>) {
      ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
        %e = tensor.empty() : tensor<8xf32>
        %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
            ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
        ^bb0(%x: f32, %y: f32, %z: f32):
          %v = arith.addf %x, %y : f32
          linalg.yield %v : f32
        } -> tensor<8xf32>
        weft_rt.yield %s : tensor<8xf32>
      }
      weft_rt.copy %m to %o : memref<8xf32> to memref<8xf32>
      return
    }
    ```
    `weft-opt --weft-assign-streams` prints:
    ```text
    weft_rt.wait %4 {weft_rt.stream = @reduce.dp}
    } {weft_rt.stream = @reduce.dp}
    weft_rt.record 0 {weft_rt.stream = @reduce.dp}
    weft_rt.await 0
    ```
  }];
  let statistics = [
    Statistic<"numMoved", "moved", "kernels on streams of channels">,
    Statistic<"numEvents", "events", "events that are recorded">];
}

def ShareLaunchesPass : Pass<"weft-share-launches", "::mlir::ModuleOp"> {
  let summary = "say which kernels are one launch";
  let description = [{
    Kernels that stand one after the other, and of which none writes what another
    one reads or writes, get one number in `weft_rt.together`, if the module's
    target has launches for several such kernels: updates of many weights are one
    launch. The order of ops stays as it is.

    *Requires* the `planned` phase.
    *Ensures* that kernels of one number stand one after the other and may run at
    one time.

    Example: two tensors, one launch.
    ```mlir
    #id = affine_map<(i) -> (i)>
    module attributes {weft.target = #weft.target<"cuda">} {
      func.func @f() {
        %x = weft_rt.buffer argument 0 : memref<8xf32>
        %y = weft_rt.buffer argument 1 : memref<4xf32>
        weft_rt.fused ins(%x : memref<8xf32>) outs(%x : memref<8xf32>) {
        ^bb0(%a: tensor<8xf32>):
          %e = tensor.empty() : tensor<8xf32>
          %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
              ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
          ^bb0(%v: f32, %o: f32):
            %n = arith.negf %v : f32
            linalg.yield %n : f32
          } -> tensor<8xf32>
          weft_rt.yield %r : tensor<8xf32>
        }
        weft_rt.fused ins(%y : memref<4xf32>) outs(%y : memref<4xf32>) {
        ^bb0(%a: tensor<4xf32>):
          %e = tensor.empty() : tensor<4xf32>
          %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
              ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) {
          ^bb0(%v: f32, %o: f32):
            %n = arith.negf %v : f32
            linalg.yield %n : f32
          } -> tensor<4xf32>
          weft_rt.yield %r : tensor<4xf32>
        }
        return
      }
    }
    ```
    `weft-opt --weft-share-launches` prints:
    ```text
    {weft_rt.together = 0 : i64}
    {weft_rt.together = 0 : i64}
    ```
  }];
  let statistics = [
    Statistic<"numShared", "shared", "launches of several kernels">,
    Statistic<"numSpared", "spared", "launches that these are fewer">];
}

def CheckMemoryPass : Pass<"weft-check-memory", "::mlir::ModuleOp"> {
  let summary = "hold a plan to a limit of memory";
  let description = [{
    Fails if a rank needs more than `limit` bytes for arguments, results and
    arena together; notes name the largest buffers at the peak.

    *Requires* the `planned` phase.
    *Ensures* that the step fits; changes nothing.

    Example: two products of 64 bytes are alive at the same time.
    ```mlir
    func.func @f(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %0 = weft.matmul %x, %w {weft.op = "matmul #0", indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
      %1 = weft.matmul %0, %w {weft.op = "matmul #1", indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
      %2 = weft.matmul %1, %0 {weft.op = "matmul #2", indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
      return %2 : tensor<4x4xf32>
    }
    ```
    `weft-opt --weft-plan-buffers --weft-check-memory=limit=100` refuses it:
    ```text
    error: 'func.func' op needs 320 bytes a rank (128 for arguments, 64 for results, 128 for the arena), more than the limit of 100
    note: 'matmul #0' has 64 bytes of the arena at the peak, at 'matmul #1'
    note: 'matmul #1' has 64 bytes of the arena at the peak, at 'matmul #1'
    ```
  }];
  let options = [
    Option<"limit", "limit", "int64_t", /*default=*/"0",
           "bytes that a rank may use; 0 is no limit">];
}

#endif // WEFT_CODEGEN_PLANNING_PASSES_TD
