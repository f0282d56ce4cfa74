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
  let hasOperationAttrVerify = 1;
  let description = [{
    Between tensors and machine code: loop nests that were fused
    (`weft_rt.fused`), contractions and collectives on buffers, and where each
    buffer lies (`weft_rt.buffer`).

    *Roots.* One `weft_rt.buffer` stands for one block of memory, its root: its
    result is the root's identity, and its type says the root's bytes. All other
    shapes and parts are `weft_rt.view`s of it.

    *Values.* Each value of the function that was planned has an id: argument i
    has id i, the others (results, and what loops carry) follow in order; a view
    of a value has its id, and so has the future of it. The attribute
    `weft_rt.values` of an op that touches memory has one id per buffer operand:
    of the value that it has to read there, or of the value that it writes
    there. Two operands that are one buffer (updated in place) have two ids.
    `weft_rt.scatter_add` has the id that it writes of its table there, and the
    one that it reads of it in `weft_rt.reads`. `weft_rt.assemble` says where a
    value comes to be without an op that writes it. An entry of the function's
    attribute `weft_rt.results` has the id of the result as `value`. Whether each
    read meets the value that it has to is thus a question that a walk over the
    program answers, whatever the plan. Constants of the module (memref.global)
    are read without a check.

    *Function attributes.* `weft_rt.args` and `weft_rt.results` describe what the
    caller gives and wants, `weft_rt.arena_bytes` is the size of the arena,
    `weft_rt.arena_bound` the most bytes in it that are alive at one time.
  }];
  let extraClassDeclaration = [{
    /// On ops that touch memory: a value id per buffer operand.
    static constexpr llvm::StringLiteral kValuesAttr = "weft_rt.values";
    /// On scatter_add: the id of the value that it reads of its table.
    static constexpr llvm::StringLiteral kReadsAttr = "weft_rt.reads";
    /// On the planned function: what the caller gives and wants.
    static constexpr llvm::StringLiteral kArgsAttr = "weft_rt.args";
    static constexpr llvm::StringLiteral kResultsAttr = "weft_rt.results";
    /// On the planned function: bytes of the arena, and those of them that are
    /// alive at once.
    static constexpr llvm::StringLiteral kArenaBytesAttr =
        "weft_rt.arena_bytes";
    static constexpr llvm::StringLiteral kArenaBoundAttr =
        "weft_rt.arena_bound";
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

/// Where it lies is known but for its first byte. Strides are at least 1 and go
/// beyond what is inside of their dim, so that no two elements share a byte; it
/// has fewer than 2^56 bytes.
def WeftRT_Buffer : Type<CPred<"::mlir::weft::rt::isBuffer($_self)">,
    "memref of integers, floats or indices with static sizes and strides, of "
    "less than 2^56 bytes, no two elements of which share one",
    "::mlir::MemRefType">;

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
    3. (c3) either results, and inputs that are tensors, or `outs`, and inputs
       that are buffers.
    4. (c4) what is yielded is the result of a linalg.generic in the region, each
       once.
    5. (c5) the region contains linalg.generic and linalg.fill on tensors,
       tensor.empty, tensor.extract of inputs of rank 0, and ops on scalars. A
       generic's body takes elements only of inputs.

    Example: twice a tensor, before and after buffers are planned.
    ```mlir
    func.func @f(%x: tensor<8xf32>, %m: memref<8xf32>) -> tensor<8xf32> {
      %0 = weft_rt.fused ins(%x : tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>):
        %e = tensor.empty() : tensor<8xf32>
        %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
            ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
        ^bb0(%v: f32, %o: f32):
          %s = arith.addf %v, %v : f32
          linalg.yield %s : f32
        } -> tensor<8xf32>
        weft_rt.yield %r : tensor<8xf32>
      }
      weft_rt.fused ins(%m : memref<8xf32>) outs(%m : memref<8xf32>) {
      ^bb0(%a: tensor<8xf32>):
        %e = tensor.empty() : tensor<8xf32>
        %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
            ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
        ^bb0(%v: f32, %o: f32):
          %s = arith.addf %v, %v : f32
          linalg.yield %s : f32
        } -> tensor<8xf32>
        weft_rt.yield %r : tensor<8xf32>
      }
      return %0 : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyTypeOf<[AnyRankedTensor, WeftRT_Buffer]>>:$inputs, Variadic<WeftRT_Buffer>:$outs);
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
  let description = [{
    Example: a kernel that does nothing.
    ```mlir
    func.func @f() {
      weft_rt.fused ins() {
        weft_rt.yield
      }
      return
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def WeftRT_BufferOp : WeftRT_Op<"buffer", [Pure]> {
  let summary = "a buffer at a fixed place";
  let description = [{
    `argument 3` and `result 3` are the step's own; `arena 4096` begins at that
    byte of the arena. Arena offsets are multiples of 64. The name is for people.
    A program has one op per block of memory; see the dialect.

    Constraints:
    1. (c1) the position is at least 0, and in the arena a multiple of 64.

    Example:
    ```mlir
    %0 = weft_rt.buffer arena 4096 "gathered layers.0.wq" : memref<8x128xf32>
    ```
  }];
  let arguments = (ins WeftRT_SpaceAttr:$space, I64Attr:$position,
                       OptionalAttr<StrAttr>:$name);
  let results = (outs WeftRT_Buffer:$result);
  let assemblyFormat = "$space $position ($name^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def WeftRT_ViewOp : WeftRT_Op<"view", [Pure]> {
  let summary = "a part of a buffer, or the same memory in another shape";
  let description = [{
    The result begins `offset` elements, plus `dynamic_offset` if present, after
    the source. Its type says sizes and strides.

    Constraints:
    1. (c1) source and result have one element type.
    2. (c2) the offset is at least 0, and the last element is one of the
       source's, whatever the dynamic offset adds.

    Example: rows 2 and 3.
    ```mlir
    %0 = weft_rt.buffer argument 0 : memref<8x128xf32>
    %1 = weft_rt.view %0 at 256 : memref<8x128xf32> to memref<2x128xf32>
    ```
  }];
  let arguments = (ins WeftRT_Buffer:$source, Optional<Index>:$dynamic_offset,
                       I64Attr:$offset);
  let results = (outs WeftRT_Buffer:$result);
  let assemblyFormat = [{
    $source `at` $offset (`plus` $dynamic_offset^)? attr-dict
    `:` type($source) `to` type($result)
  }];
  let hasVerifier = 1;
}

def WeftRT_AssembleOp : WeftRT_Op<"assemble",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "say that a buffer holds a value from here on";
  let description = [{
    A marker without code, for values that come to be without an op that writes
    them: parts that were computed in the place of the whole, and what a loop or
    a branch leaves. Every byte of the buffer holds one of the values `from`; from
    here on all hold `value`. Without any `from` the contents are undefined.

    Example: two halves are a whole.
    ```mlir
    %0 = weft_rt.buffer arena 0 : memref<8x128xf32>
    weft_rt.assemble %0 value 7 from [5, 6] : memref<8x128xf32>
    ```
  }];
  let arguments = (ins WeftRT_Buffer:$buffer, I64Attr:$value,
                       DenseI64ArrayAttr:$from);
  let assemblyFormat = [{
    $buffer `value` $value `from` $from attr-dict `:` type($buffer)
  }];
}

def WeftRT_GemmOp : WeftRT_Op<"gemm", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "contract two buffers into a third";
  let description = [{
    weft.matmul on buffers: `out = lhs * rhs`, the maps as there. `out` overlaps
    neither operand.

    Constraints:
    1. (c1) three maps over the same dims, each a projected permutation without
       constants with one result per dim of its buffer.

    Example:
    ```mlir
    %a = weft_rt.buffer argument 0 : memref<8x16xf32>
    %b = weft_rt.buffer argument 1 : memref<16x4xf32>
    %c = weft_rt.buffer result 0 : memref<8x4xf32>
    weft_rt.gemm %a, %b into %c {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
        affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
        : memref<8x16xf32>, memref<16x4xf32> into memref<8x4xf32>
    ```
  }];
  let arguments = (ins WeftRT_Buffer:$lhs, WeftRT_Buffer:$rhs, WeftRT_Buffer:$out,
                       AffineMapArrayAttr:$indexing_maps);
  let assemblyFormat = [{
    $lhs `,` $rhs `into` $out attr-dict
    `:` type($lhs) `,` type($rhs) `into` type($out)
  }];
  let hasVerifier = 1;
}

def WeftRT_ScatterAddOp : WeftRT_Op<"scatter_add",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "add slices into rows of a buffer";
  let description = [{
    weft.scatter_add on buffers; `table` is updated in place. `base` is a buffer
    of one index.

    Example: gradient of an embedding lookup.
    ```mlir
    %t = weft_rt.buffer arena 0 : memref<1024x64xf32>
    %i = weft_rt.buffer argument 0 : memref<128xi32>
    %u = weft_rt.buffer arena 262144 : memref<128x64xf32>
    weft_rt.scatter_add %t, %i, %u {axis = 0 : i64,
        table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
        : memref<1024x64xf32>, memref<128xi32>, memref<128x64xf32>
    ```
  }];
  let arguments = (ins WeftRT_Buffer:$table, WeftRT_Buffer:$indices,
                       WeftRT_Buffer:$updates, Optional<WeftRT_Buffer>:$base,
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
    `collective` names the weft op; `params` holds its attributes. `channel`
    names the weft.channel that it runs on. Until the wait the inputs may not be
    written, and the outputs neither read nor written.

    Constraints:
    1. (c1) as many outputs as inputs.
    2. (c2) `collective` is all_gather, reduce_scatter, all_reduce, all_to_all
       or permute.

    Example: a sum over the ranks of a mesh's axis, in place.
    ```mlir
    weft.mesh @mesh = <["dp"=2]>
    weft.channel @data.dp on @mesh <{"dp"}> purpose data
    func.func @f() {
      %x = weft_rt.buffer arena 0 : memref<16xf32>
      %t = weft_rt.start "all_reduce" {axes = #weft.axes<{"dp"}>, kind = #weft<reduce_kind sum>, mesh = @mesh}
          ins(%x : memref<16xf32>) outs(%x : memref<16xf32>) {channel = @data.dp}
      weft_rt.wait %t
      return
    }
    ```
  }];
  let arguments = (ins StrAttr:$collective, Variadic<WeftRT_Buffer>:$ins,
                       Variadic<WeftRT_Buffer>:$outs, DictionaryAttr:$params,
                       FlatSymbolRefAttr:$channel);
  let results = (outs I64:$ticket);
  let assemblyFormat = [{
    $collective $params `ins` `(` $ins `:` type($ins) `)`
    `outs` `(` $outs `:` type($outs) `)` attr-dict
  }];
  let hasVerifier = 1;
}

def WeftRT_WaitOp : WeftRT_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait for a collective";
  let description = [{
    Exactly once per weft_rt.start; then its buffers are the program's again.

    Example: see weft_rt.start.
    ```mlir
    func.func @f(%ticket: i64) {
      weft_rt.wait %ticket
      return
    }
    ```
  }];
  let arguments = (ins I64:$ticket);
  let assemblyFormat = "$ticket attr-dict";
}

def WeftRT_LaunchOp : WeftRT_Op<"launch",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "run a kernel over a range";
  let description = [{
    Calls the kernel for pieces of `[0, extent)` of at least `grain` iterations.

    Example: eight rows, two at least at a time.
    ```mlir
    %x = weft_rt.buffer argument 0 : memref<8x128xf32>
    weft_rt.launch @weft_k0(%x : memref<8x128xf32>) extent 8 grain 2
    llvm.func @weft_k0(!llvm.ptr, i64, i64)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<WeftRT_Buffer>:$buffers,
                       I64Attr:$extent, I64Attr:$grain);
  let assemblyFormat = [{
    $kernel `(` ($buffers^ `:` type($buffers))? `)` `extent` $extent
    `grain` $grain attr-dict
  }];
}

#endif // WEFT_DIALECT_WEFTRT_IR_OPS_TD
