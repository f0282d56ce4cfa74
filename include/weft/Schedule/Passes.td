// SPDX-License-Identifier: Apache-2.0

// The pass that decides the order of a step.

#ifndef WEFT_SCHEDULE_PASSES_TD
#define WEFT_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def SchedulePass : Pass<"weft-schedule", "::mlir::ModuleOp"> {
  let summary = "choose when each collective starts and what is computed when";
  let description = [{
    Orders the ops of each block, starts its collectives on their channels and
    waits for them, so that the step takes as little time as possible on the
    machine and no more memory than the limit. docs/schedule.md describes the
    policies. Remarks say of each collective whose wait costs time why it does;
    the function's attribute `weft.schedule` has the figures.

    *Requires* fused kernels, and a channel on each collective.
    *Ensures* that block order is issue order, and that all collectives are
    started and waited for.

    Example: the gather is started before the product that does not need it, and waited for after it.
    ```mlir
    weft.mesh @mesh = <["fsdp"=2]>
    weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
    func.func @f(%x: tensor<64x64xf32>, %v: tensor<64x64xf32>, %w: tensor<32x64xf32>) -> tensor<64x64xf32> {
      %0 = weft.matmul %x, %v {weft.op = "matmul v", indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
      %1 = weft.all_gather %w on @mesh <{"fsdp"}> dims [0] {channel = @gather.fsdp, weft.op = "all_gather w"}
           : (tensor<32x64xf32>) -> tensor<64x64xf32>
      %2 = weft.matmul %0, %1 {weft.op = "matmul w", indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
      return %2 : tensor<64x64xf32>
    }
    ```
    `weft-opt --weft-schedule` prints:
    ```text
    %0 = weft.all_gather ... weft.op = "all_gather w"
    %1 = weft.matmul ... weft.op = "matmul v"
    %2 = weft.wait %0
    %3 = weft.matmul %1, %2 ... weft.op = "matmul w"
    ```
  }];
  let options = [
    Option<"policy", "policy", "std::string", /*default=*/"\"best\"",
           "sync, next-layer, greedy or best">,
    Option<"memoryLimit", "memory-limit", "int64_t", /*default=*/"0",
           "bytes that a rank may use; 0: what the machine has, -1: any number">,
    Option<"within", "within", "int64_t", /*default=*/"0",
           "bytes that the order keeps to instead of the limit; 0: the limit, "
           "-1: any number">,
    Option<"reserve", "reserve", "int64_t", /*default=*/"0",
           "bytes of the limit that are left for the plan's gaps">,
    Option<"lean", "lean", "bool", /*default=*/"false",
           "starts from the order that needs least memory, not from the "
           "program's">,
    Option<"leastBytes", "least-bytes", "int64_t", /*default=*/"0",
           "bytes that the step is known to need in any order; with more than "
           "the limit nothing fits">,
    Option<"brief", "brief", "bool", /*default=*/"false",
           "does not say why collectives are waited for where that takes another "
           "schedule">,
    Option<"quick", "quick", "bool", /*default=*/"false",
           "takes the best of a few orders, where it matters that there is one "
           "within the limit, not how long it takes">,
    Option<"machine", "machine", "std::string", /*default=*/"\"host\"",
           "a machine's name or the file that describes it">];
  let dependentDialects = ["::mlir::weft::WeftDialect"];
}

def RecomputePass : Pass<"weft-recompute", "::mlir::ModuleOp"> {
  let summary = "compute values again, so that less memory is needed";
  let description = [{
    While the step in program order needs more than `bytes`, what is alive where
    most is needed, and read only later, is computed again before it is read.
    What frees most bytes for its time comes first; up to 16 kernels and
    products are repeated together. Stops when no more is gained. Results are
    the same bits: the same ops are done on the same values.

    *Requires* fused kernels, and a channel on each collective.
    *Ensures* that what is repeated from computed values is kept apart by
    weft.optimization_barrier.

    Example: what the first product makes is computed again for the last one,
    since it would be alive beside the operand and the result of the third.
    ```mlir
    func.func @f(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
      %0 = weft.matmul %x, %w {weft.op = "first", indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
      %1 = weft.matmul %0, %w {weft.op = "second", indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
      %2 = weft.matmul %1, %w {weft.op = "third", indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
      %3 = weft.matmul %2, %0 {weft.op = "last", indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
      return %3 : tensor<64x64xf32>
    }
    ```
    `weft-opt --weft-recompute` prints:
    ```text
    %0 = weft.matmul ... "first"
    %2 = weft.matmul ... "third"
    weft.optimization_barrier
    weft.matmul
    weft.matmul ... "last"
    ```
  }];
  let options = [
    Option<"bytes", "bytes", "int64_t", /*default=*/"0",
           "bytes that the step may need in program order; 0: as few as it can">,
    Option<"machine", "machine", "std::string", /*default=*/"\"host\"",
           "a machine's name or the file that describes it">];
  let statistics = [
    Statistic<"numRecomputed", "num-recomputed",
              "kernels and products that are repeated">];
  let dependentDialects = ["::mlir::weft::WeftDialect"];
}

def ChooseSavedPass : Pass<"weft-choose-saved", "::mlir::ModuleOp"> {
  let summary = "choose what is kept for the backward pass";
  let description = [{
    What is read again long after it was made is kept, or computed again shortly
    before it is read, from what is kept or there anyway: whichever costs less
    where keeping a mebibyte costs `price` nanoseconds. That is a least cut, so
    no other choice costs less at that price. Weights are gathered again with
    the gathers that the backward pass has. A product that is read again after
    three others at most is kept: it would be there where most is needed.
    Results are the same bits: the same ops are done on the same values.

    *Requires* a channel on each collective, and ops that are not fused.
    *Ensures* that what is repeated from computed values is kept apart by
    weft.optimization_barrier.

    Example: what the first product makes waits for the last one, and is
    computed again.
    ```mlir
    func.func @f(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
      %0 = weft.matmul %x, %w {weft.op = "first", indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
      %1 = weft.matmul %0, %w {weft.op = "second", indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
      %2 = weft.matmul %1, %w {weft.op = "third", indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
      %3 = weft.matmul %2, %w {weft.op = "fourth", indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
      %4 = weft.matmul %3, %w {weft.op = "fifth", indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
      %5 = weft.matmul %4, %w {weft.op = "sixth", indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
      %6 = weft.matmul %5, %0 {weft.op = "last", indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
           : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
      return %6 : tensor<64x64xf32>
    }
    ```
    `weft-opt --weft-choose-saved=price=1000000000` prints:
    ```text
    %0 = weft.matmul ... "first"
    %5 = weft.matmul ... "sixth"
    weft.optimization_barrier
    weft.matmul
    weft.matmul ... "last"
    ```
  }];
  let options = [
    Option<"price", "price", "int64_t", /*default=*/"0",
           "nanoseconds that keeping a mebibyte costs">,
    Option<"waists", "waists", "bool", /*default=*/"false",
           "keep what is handed on where the forward pass hands on fewest "
           "bytes, as between layers">,
    Option<"time", "time", "bool", /*default=*/"false",
           "save time alone: memory costs nothing">,
    Option<"share", "share", "int64_t", /*default=*/"100",
           "percent of the forward pass's ops for which that holds">,
    Option<"latePrice", "late-price", "int64_t", /*default=*/"0",
           "the price for the rest of them">,
    ListOption<"kept", "kept", "int64_t",
               "tasks of the forward pass, by their number there, that are not "
               "repeated at any price">,
    Option<"machine", "machine", "std::string", /*default=*/"\"host\"",
           "a machine's name or the file that describes it">];
  let statistics = [
    Statistic<"numRepeated", "num-repeated", "ops that are repeated">];
  let dependentDialects = ["::mlir::weft::WeftDialect"];
}

#endif // WEFT_SCHEDULE_PASSES_TD
