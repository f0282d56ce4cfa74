// SPDX-License-Identifier: Apache-2.0

// The kinds of collectives, on tensors and on buffers.

#ifndef WEFT_DIALECT_WEFT_IR_COLLECTIVEKIND_TD
#define WEFT_DIALECT_WEFT_IR_COLLECTIVEKIND_TD

include "mlir/IR/EnumAttr.td"

/// Values are those of weft_rt_collective_kind.
def Weft_CollectiveKind : I32EnumAttr<"CollectiveKind", "what a collective does", [
    I32EnumAttrCase<"AllGather", 0, "all_gather">,
    I32EnumAttrCase<"ReduceScatter", 1, "reduce_scatter">,
    I32EnumAttrCase<"AllReduce", 2, "all_reduce">,
    I32EnumAttrCase<"AllToAll", 3, "all_to_all">,
    I32EnumAttrCase<"Permute", 4, "permute">]> {
  let cppNamespace = "::mlir::weft";
  let genSpecializedAttr = 0;
}

#endif // WEFT_DIALECT_WEFT_IR_COLLECTIVEKIND_TD
