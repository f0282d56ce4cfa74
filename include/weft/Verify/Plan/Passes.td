// SPDX-License-Identifier: Apache-2.0

// The proofs about a planned step.

#ifndef WEFT_VERIFY_PLAN_PASSES_TD
#define WEFT_VERIFY_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyPlanPass : Pass<"weft-verify-plan", "::mlir::ModuleOp"> {
  let summary = "prove that buffers lie where they may";
  let description = [{
    Every buffer lies inside the arena, or is an argument or result and has its
    size; only donated arguments are written; no two buffers of the arena that
    are in use at the same time share a byte.

    *Requires* the `planned` phase.
    *Ensures* nothing new: a failure is an error with a counterexample.

    Example: a plan that was spoiled: the second product lies where the first one is still needed.
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
    `weft-opt --weft-plan-buffers | sed 's/arena 64/arena 0/' | weft-opt --weft-verify-plan` refuses it:
    ```text
    error: 'matmul #1' begins to use 'matmul #1' at bytes 0 to 64 of the arena, where 'matmul #0' at bytes 0 to 64 is still in use
    note: 'matmul #0' is in use from here, 'matmul #0'
    note: to here, 'matmul #2'
    ```
  }];
}

def VerifyRacesPass : Pass<"weft-verify-races", "::mlir::ModuleOp"> {
  let summary = "prove that nothing touches what a collective works on";
  let description = [{
    Between a start and its wait nobody writes what the collective sends, and
    nobody reads or writes what it receives: neither the compute stream nor
    another collective. Each started collective is waited for exactly once. A
    kernel that writes where it reads has read each element by then.

    *Requires* the `planned` phase.
    *Ensures* nothing new: a failure is an error with a counterexample.

    Example: the wait of a collective was taken out of a plan.
    ```mlir
    weft.mesh @mesh = <["tp"=2]>
    weft.channel @activation.tp on @mesh <{"tp"}> purpose activation
    func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> tensor<4x4xf32> {
      %0 = weft.matmul %x, %w {weft.op = "matmul w", indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
      %1 = weft.all_reduce sum %0 on @mesh <{"tp"}> {channel = @activation.tp, weft.op = "all_reduce y"}
           : (tensor<4x4xf32>) -> !weft.future<tensor<4x4xf32>>
      %2 = weft.wait %1 : !weft.future<tensor<4x4xf32>>
      return %2 : tensor<4x4xf32>
    }
    ```
    `weft-opt --weft-plan-buffers | sed '/weft_rt.wait/d' | weft-opt --weft-verify-races` refuses it:
    ```text
    error: 'all_reduce y' is never waited for
    ```
  }];
}

def VerifyFreshnessPass : Pass<"weft-verify-freshness", "::mlir::ModuleOp"> {
  let summary = "prove that each op reads the values that it has to";
  let description = [{
    Follows which value lies where, over updates in place, memory that is used
    again, collectives, loops and branches, to the end of the step: a gather
    sends the newest shard, whoever uses what was gathered comes after it has
    arrived, and what the step leaves for the next one is what it computed.

    *Requires* the `planned` phase, with value ids on its ops.
    *Ensures* nothing new: a failure is an error with a counterexample.

    Example: the product that the collective sums up was taken out of a plan.
    ```mlir
    weft.mesh @mesh = <["tp"=2]>
    weft.channel @activation.tp on @mesh <{"tp"}> purpose activation
    func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> tensor<4x4xf32> {
      %0 = weft.matmul %x, %w {weft.op = "matmul w", indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
      %1 = weft.all_reduce sum %0 on @mesh <{"tp"}> {channel = @activation.tp, weft.op = "all_reduce y"}
           : (tensor<4x4xf32>) -> !weft.future<tensor<4x4xf32>>
      %2 = weft.wait %1 : !weft.future<tensor<4x4xf32>>
      return %2 : tensor<4x4xf32>
    }
    ```
    `weft-opt --weft-plan-buffers | sed '/weft_rt.gemm/d' | weft-opt --weft-verify-freshness` refuses it:
    ```text
    error: 'all_reduce y' reads 'matmul w' for value 2, which nothing computes
    ```
  }];
}

def VerifyDeadlockPass : Pass<"weft-verify-deadlock", "::mlir::ModuleOp"> {
  let summary = "prove that ranks never wait for each other in a cycle";
  let description = [{
    All ranks run this one program, so they issue the same collectives in the
    same order, unless a branch or a loop count that differs between ranks has a
    collective inside: that is an error. Several programs at once are the matter
    of the tool weft-verify.

    *Requires* the `planned` phase.
    *Ensures* nothing new: a failure is an error with a counterexample.

    Example: rank 0 takes part in a collective that rank 1 never comes to.
    ```mlir
    weft.mesh @mesh = <["tp"=2]>
    weft.channel @data.tp on @mesh <{"tp"}> purpose data
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %c0 = arith.constant 0 : index
      %i = weft.axis_index @mesh <{"tp"}>
      %first = arith.cmpi eq, %i, %c0 : index
      %0 = scf.if %first -> tensor<4xf32> {
        %1 = weft.all_reduce sum %x on @mesh <{"tp"}> {channel = @data.tp, weft.op = "all_reduce x"}
             : (tensor<4xf32>) -> !weft.future<tensor<4xf32>>
        %2 = weft.wait %1 : !weft.future<tensor<4xf32>>
        scf.yield %2 : tensor<4xf32>
      } else {
        scf.yield %x : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }
    ```
    `weft-opt --weft-plan-buffers --weft-verify-deadlock` refuses it:
    ```text
    error: 'all_reduce x' may hang: ranks 0 and 1 of a group along "tp" need not take the same branch
    note: the branch is here
    note: what decides differs between ranks
    ```
  }];
}

def VerifyPlanningPass : Pass<"weft-verify-planning", "::mlir::ModuleOp"> {
  let summary = "prove that the plan is one of the scheduled program";
  let description = [{
    Compares a planned program with the scheduled one, module `@scheduled`
    inside: op by op in its order, with regions, attributes and constants. Each
    buffer that an op reads holds the elements of the tensor that it takes there,
    and the step's results are where the caller finds them.

    *Requires* the `planned` phase, and `@scheduled` of the `scheduled` phase.
    *Ensures* nothing new: a failure is an error with a counterexample.

    Example: the operands of a product changed places.
    ```mlir
    module {
      func.func @f(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
        %0 = weft.matmul %w, %x {weft.op = "matmul #0", indexing_maps = [
               affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
             : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
        return %0 : tensor<4x4xf32>
      }
      module @scheduled {
        func.func @f(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
          %0 = weft.matmul %x, %w {weft.op = "matmul #0", indexing_maps = [
                 affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
               : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
          return %0 : tensor<4x4xf32>
        }
      }
    }
    ```
    `weft-opt --weft-plan-buffers --weft-verify-planning` refuses it:
    ```text
    error: 'matmul #0' reads 'arg1' for the caller's argument 0, but there is the caller's argument 1
    ```
  }];
}

#endif // WEFT_VERIFY_PLAN_PASSES_TD
