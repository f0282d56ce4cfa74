// SPDX-License-Identifier: Apache-2.0

// The proofs that compare two programs element by element: canonicalization and scheduling.

#ifndef WEFT_VERIFY_ELEMENTS_PASSES_TD
#define WEFT_VERIFY_ELEMENTS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyCanonicalizationPass : Pass<"weft-verify-canonicalization",
                                      "::mlir::ModuleOp"> {
  let summary = "prove that the canonical form computes what the user wrote";
  let description = [{
    Derives each result of the program as an expression of single elements of its
    arguments, through calls, branches and short loops, and compares it with that
    of the module that it was made from: module `@source`, inside, or the file
    `source`. Contractions, lookups, slices and concatenations are what they say,
    however they are written.

    *Requires* the `global` phase.
    *Ensures* nothing new: a failure is an error at the first op that differs.

    Example: x + x is not what the user wrote.
    ```mlir
    module {
      func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
        %0 = arith.addf %x, %x : tensor<4xf32>
        return %0 : tensor<4xf32>
      }
      module @source {
        func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
          %0 = arith.addf %x, %y : tensor<4xf32>
          return %0 : tensor<4xf32>
        }
      }
    }
    ```
    `weft-opt --weft-verify-canonicalization` refuses it:
    ```text
    error: 'func.func' op makes result #0 another one than the user's module: argument 0, expected argument 1
    note: this op of the user's module makes argument 1
    ```
  }];
  let options = [
    Option<"source", "source", "std::string", /*default=*/"",
           "a file with the module that this one was made from">,
  ];
}

def VerifySchedulingPass : Pass<"weft-verify-scheduling", "::mlir::ModuleOp"> {
  let summary = "prove that fusion and scheduling keep what is computed";
  let description = [{
    Derives each result of each function as an expression of single elements of
    its arguments, in which kernels, futures and the order of ops do not occur,
    and compares it with that of the program before: module `@local`, inside.
    Collectives, contractions and reductions are functions of what enters them.

    *Requires* the `scheduled` phase, and module `@local` in the `local` one.
    *Ensures* nothing new: a failure is an error at the first op that differs.

    Example: the operands of a subtraction changed places.
    ```mlir
    module {
      func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
        %0 = arith.subf %y, %x : tensor<4xf32>
        return %0 : tensor<4xf32>
      }
      module @local {
        func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
          %0 = arith.subf %x, %y : tensor<4xf32>
          return %0 : tensor<4xf32>
        }
      }
    }
    ```
    `weft-opt --weft-verify-scheduling` refuses it:
    ```text
    error: 'func.func' op makes result #0 another one than before scheduling: argument 1, expected argument 0
    note: this op of the program before makes argument 0
    ```
  }];
}

#endif // WEFT_VERIFY_ELEMENTS_PASSES_TD
