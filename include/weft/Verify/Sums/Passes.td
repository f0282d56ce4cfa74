// SPDX-License-Identifier: Apache-2.0

// The proofs that follow sums through the ranks: partitioning, and the order of each sum.

#ifndef WEFT_VERIFY_SUMS_PASSES_TD
#define WEFT_VERIFY_SUMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyInvariancePass : Pass<"weft-verify-invariance", "::mlir::ModuleOp"> {
  let summary = "prove that results do not depend on the mesh";
  let description = [{
    Derives, from the program of a rank, each result as an expression over the
    index space of the whole job, with the order of each reduction, and compares
    it with that of the program for a mesh on which all axes of `weft.invariance`
    have size 1: module `@one_rank`, inside. Leaves a module without
    `weft.invariance` as it is.

    *Requires* the `local` phase.
    *Ensures* `weft.certificate` on the module. A failure is an error at the
    first op that differs.

    Example: each of two ranks adds up its 64 elements in 8 leaves; one rank would do so with all 128.
    ```mlir
    module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
      weft.mesh @mesh = <["tp"=2]>
      func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"} ]>}) -> tensor<f32> {
        %zero = arith.constant dense<0.0> : tensor<f32>
        %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]}
            ins(%x : tensor<64xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 8>} {
        ^bb0(%a: f32, %o: f32):
          %s = arith.addf %o, %a : f32
          linalg.yield %s : f32
        } -> tensor<f32>
        %1 = weft.all_reduce sum %0 on @mesh <{"tp"}> {weft.order = #weft.order<leaves = 2>} : (tensor<f32>) -> tensor<f32>
        return %1 : tensor<f32>
      }
      module @one_rank {
        weft.mesh @mesh = <["tp"=1]>
        func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
          %zero = arith.constant dense<0.0> : tensor<f32>
          %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]}
              ins(%x : tensor<128xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 8>} {
          ^bb0(%a: f32, %o: f32):
            %s = arith.addf %o, %a : f32
            linalg.yield %s : f32
          } -> tensor<f32>
          return %0 : tensor<f32>
        }
      }
    }
    ```
    `weft-opt --weft-verify-invariance` refuses it:
    ```text
    error: 'weft.all_reduce' op makes result #0 depend on the mesh: arith.addf: tree 16 in f32 of chain 8, but on one rank arith.addf: tree 8 in f32 of chain 16
    note: this op of the one-rank program makes arith.addf: tree 8 in f32 of chain 16
    ```
  }];
}

def VerifyPartitioningPass : Pass<"weft-verify-partitioning",
                                  "::mlir::ModuleOp"> {
  let summary = "prove that the ranks together compute the global program";
  let description = [{
    Derives, from the program of a rank, each result as an expression over the
    index space of the whole job, and compares it with that of the global
    program: module `@global`, inside, or the file `global`. Arithmetic is that of
    real numbers: a sum may be taken in parts and in any order, as long as each
    part is in it once.

    *Requires* the `local` phase.
    *Ensures* nothing new: a failure is an error at the first op that differs.

    Example: each rank returns the sum of its own part.
    ```mlir
    module {
      weft.mesh @mesh = <["tp"=2]>
      func.func @f(%x: tensor<4xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"} ]>}) -> tensor<f32> {
        %zero = arith.constant dense<0.0> : tensor<f32>
        %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]}
            ins(%x : tensor<4xf32>) outs(%zero : tensor<f32>) {
        ^bb0(%a: f32, %o: f32):
          %s = arith.addf %o, %a : f32
          linalg.yield %s : f32
        } -> tensor<f32>
        return %0 : tensor<f32>
      }
      module @global {
        func.func @f(%x: tensor<8xf32>) -> tensor<f32> {
          %zero = arith.constant dense<0.0> : tensor<f32>
          %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]}
              ins(%x : tensor<8xf32>) outs(%zero : tensor<f32>) {
          ^bb0(%a: f32, %o: f32):
            %s = arith.addf %o, %a : f32
            linalg.yield %s : f32
          } -> tensor<f32>
          return %0 : tensor<f32>
        }
      }
    }
    ```
    `weft-opt --weft-verify-partitioning` refuses it:
    ```text
    error: 'func.return' op result #0 is a contribution: one of 2 parts of arith.addf (r8 (d0) -> ())
    ```
  }];
  let options = [
    Option<"global", "global", "std::string", /*default=*/"",
           "a file with the global module">,
  ];
}

#endif // WEFT_VERIFY_SUMS_PASSES_TD
