// SPDX-License-Identifier: Apache-2.0

// The program of one rank on buffers: what the `planned` phase contains. A
// buffer is a memref with static sizes and strides whose place in memory is
// known; ops say which work is done on which buffers, in order.

#ifndef WEFT_DIALECT_WEFTRT_IR_OPS_TD
#define WEFT_DIALECT_WEFTRT_IR_OPS_TD

include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def WeftRT_Dialect : Dialect {
  let name = "weft_rt";
  let cppNamespace = "::mlir::weft::rt";
  let summary = "a rank's program on planned buffers";
  let useDefaultAttributePrinterParser = 1;
  let description = [{
    Between tensors and machine code: loop nests that were fused
    (`weft_rt.fused`), contractions and collectives on buffers, and where each
    buffer lies (`weft_rt.buffer`).
  }];
}

def WeftRT_Space : I32EnumAttr<"Space", "where a buffer lies", [
    I32EnumAttrCase<"Argument", 0, "argument">,
    I32EnumAttrCase<"Result", 1, "result">,
    I32EnumAttrCase<"Arena", 2, "arena">]> {
  let cppNamespace = "::mlir::weft::rt";
  let genSpecializedAttr = 0;
}

def WeftRT_SpaceAttr : EnumAttr<WeftRT_Dialect, WeftRT_Space, "space"> {
  let assemblyFormat = "$value";
}

class WeftRT_Op<string mnemonic, list<Trait> traits = []>
    : Op<WeftRT_Dialect, mnemonic, traits>;

def WeftRT_FusedOp : WeftRT_Op<"fused",
    [IsolatedFromAbove, SingleBlock, AttrSizedOperandSegments,
     RecursiveMemoryEffects]> {
  let summary = "run a group of linalg ops as one kernel";
  let description = [{
    The region says what is computed, on tensors: block argument i is input i.
    Before buffers are planned the inputs are tensors and the op gives what the
    region yields. Afterwards inputs and `outs` are memrefs, there are no
    results, and yielded value i is written to `outs[i]`. A buffer that is both
    an input and an output is updated in place.

    Constraints:
    1. (c1) block argument i has the type of input i, or the tensor type of its
       shape and element type.
    2. (c2) yielded value i has the type of result i, or the tensor type of
       `outs[i]`.
    3. (c3) either results or `outs`.
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, Variadic<AnyMemRef>:$outs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `ins` `(` ($inputs^ `:` type($inputs))? `)`
    (`outs` `(` $outs^ `:` type($outs) `)`)? (`->` type($results)^)?
    $body attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool isOnBuffers() { return !getOuts().empty(); }
  }];
}

def WeftRT_YieldOp : WeftRT_Op<"yield",
    [Pure, Terminator, ReturnLike, HasParent<"FusedOp">]> {
  let summary = "end a fused region with what it gives";
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def WeftRT_BufferOp : WeftRT_Op<"buffer", [Pure]> {
  let summary = "a buffer at a fixed place";
  let description = [{
    `argument 3` and `result 3` are the step's own; `arena 4096` begins at that
    byte of the arena. Arena offsets are multiples of 64.

    Example:
    ```
    %0 = weft_rt.buffer arena 4096 : memref<8x128xf32>
    ```
  }];
  let arguments = (ins WeftRT_SpaceAttr:$space, I64Attr:$position);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$space $position attr-dict `:` type($result)";
}

def WeftRT_ViewOp : WeftRT_Op<"view", [Pure]> {
  let summary = "a part of a buffer, or the same memory in another shape";
  let description = [{
    The result begins `offset` elements, plus `dynamic_offset` if present, after
    the source. Its type says sizes and strides.

    Example: rows 2 and 3.
    ```
    %1 = weft_rt.view %0 at 256 : memref<8x128xf32> to memref<2x128xf32>
    ```
  }];
  let arguments = (ins AnyMemRef:$source, Optional<Index>:$dynamic_offset,
                       I64Attr:$offset);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = [{
    $source `at` $offset (`plus` $dynamic_offset^)? attr-dict
    `:` type($source) `to` type($result)
  }];
}

def WeftRT_GemmOp : WeftRT_Op<"gemm", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "contract two buffers into a third";
  let description = [{
    weft.matmul on buffers: `out = lhs * rhs`, the maps as there.
  }];
  let arguments = (ins AnyMemRef:$lhs, AnyMemRef:$rhs, AnyMemRef:$out,
                       AffineMapArrayAttr:$indexing_maps);
  let assemblyFormat = [{
    $lhs `,` $rhs `into` $out attr-dict
    `:` type($lhs) `,` type($rhs) `into` type($out)
  }];
}

def WeftRT_ScatterAddOp : WeftRT_Op<"scatter_add",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "add slices into rows of a buffer";
  let description = [{
    weft.scatter_add on buffers; `table` is updated in place.
  }];
  let arguments = (ins AnyMemRef:$table, AnyMemRef:$indices,
                       AnyMemRef:$updates, Optional<AnyMemRef>:$base,
                       I64Attr:$axis, AffineMapAttr:$table_map,
                       AffineMapAttr:$index_map);
  let assemblyFormat = [{
    $table `,` $indices `,` $updates (`base` $base^ `:` type($base))? attr-dict
    `:` type($table) `,` type($indices) `,` type($updates)
  }];
}

def WeftRT_StartOp : WeftRT_Op<"start", [AttrSizedOperandSegments,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "begin a collective";
  let description = [{
    `collective` names the weft op; `params` holds its attributes. The buffers
    belong to the runtime until the wait.
  }];
  let arguments = (ins StrAttr:$collective, Variadic<AnyMemRef>:$ins,
                       Variadic<AnyMemRef>:$outs, DictionaryAttr:$params);
  let results = (outs I64:$ticket);
  let assemblyFormat = [{
    $collective $params `ins` `(` $ins `:` type($ins) `)`
    `outs` `(` $outs `:` type($outs) `)` attr-dict
  }];
}

def WeftRT_WaitOp : WeftRT_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait for a collective";
  let arguments = (ins I64:$ticket);
  let assemblyFormat = "$ticket attr-dict";
}

def WeftRT_LaunchOp : WeftRT_Op<"launch",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "run a kernel over a range";
  let description = [{
    Calls the kernel for pieces of `[0, extent)` of at least `grain` iterations.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyMemRef>:$buffers,
                       I64Attr:$extent, I64Attr:$grain);
  let assemblyFormat = [{
    $kernel `(` ($buffers^ `:` type($buffers))? `)` `extent` $extent
    `grain` $grain attr-dict
  }];
}

#endif // WEFT_DIALECT_WEFTRT_IR_OPS_TD
