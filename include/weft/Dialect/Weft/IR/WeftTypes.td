// SPDX-License-Identifier: Apache-2.0

// The type of a collective's result while the collective is on its way.

#ifndef WEFT_DIALECT_WEFT_IR_TYPES_TD
#define WEFT_DIALECT_WEFT_IR_TYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "weft/Dialect/Weft/IR/WeftBase.td"

def Weft_Future : TypeDef<Weft_Dialect, "Future"> {
  let mnemonic = "future";
  let summary = "a tensor that a started collective will give";
  let description = [{
    The result of a collective that is started and not done. weft.wait gives the
    tensor. A future is used once: by a weft.wait in the block that starts it.

    Example:
    ```mlir
    weft.mesh @mesh = <["fsdp"=2]>
    weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
    func.func @f(%w: tensor<128x64xf32>) -> tensor<256x64xf32> {
      %0 = weft.all_gather %w on @mesh <{"fsdp"}> dims [0] {channel = @gather.fsdp} : (tensor<128x64xf32>) -> !weft.future<tensor<256x64xf32>>
      %1 = weft.wait %0 : !weft.future<tensor<256x64xf32>>
      return %1 : tensor<256x64xf32>
    }
    ```
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tensor);
  let assemblyFormat = "`<` $tensor `>`";
}

#endif // WEFT_DIALECT_WEFT_IR_TYPES_TD
