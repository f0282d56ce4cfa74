// SPDX-License-Identifier: Apache-2.0

// The program of one rank on buffers: what the `planned` phase contains. A
// buffer is a memref with static sizes and strides whose place in memory is
// known; ops say which work is done on which buffers, in order.

#ifndef WEFT_DIALECT_WEFTRT_IR_OPS_TD
#define WEFT_DIALECT_WEFTRT_IR_OPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "weft/Dialect/WeftRT/IR/WeftRTAttrs.td"

class WeftRT_Op<string mnemonic, list<Trait> traits = []>
    : Op<WeftRT_Dialect, mnemonic, traits>;

def WeftRT_FusedOp : WeftRT_Op<"fused",
    [IsolatedFromAbove, SingleBlock, AttrSizedOperandSegments,
     DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "run a group of linalg ops as one kernel";
  let description = [{
    The region says what is computed, on tensors: block argument i is input i,
    and the scalars follow. Before buffers are planned the inputs are tensors and
    the op gives what the region yields. Afterwards inputs and `outs` are
    memrefs, there are no results, and yielded value i is written to `outs[i]`. A
    buffer that is both an input and an output is updated in place.

    Constraints:
    1. (c1) block argument i has the type of input i, or the tensor type of its
       shape and element type; the others have the types of the scalars.
    2. (c2) yielded value i has the type of result i, or the tensor type of
       `outs[i]`.
    3. (c3) either results, and inputs that are tensors, or `outs`, and inputs
       that are buffers.
    4. (c4) what is yielded is the result of a linalg.generic in the region, each
       once.
    5. (c5) the region contains linalg.generic and linalg.fill on tensors,
       tensor.empty, tensor.extract of inputs of rank 0, and ops on scalars. A
       generic's body takes elements only of inputs.
    6. (c6) a loop of a linalg.generic is parallel if the maps of all outputs have
       it, and else a reduction.
    7. (c7) the map of an output has a loop of its own for each dim, or 0 for one
       of size 1, so that all elements are written.

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
  let arguments = (ins Variadic<AnyTypeOf<[AnyRankedTensor, WeftRT_Buffer]>>:$inputs,
                       Variadic<WeftRT_Scalar>:$scalars,
                       Variadic<WeftRT_Buffer>:$outs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `ins` `(` ($inputs^ `:` type($inputs))? `)`
    (`scalars` `(` $scalars^ `:` type($scalars) `)`)?
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
    byte of the arena, `host 4096` at that of the host's arena. Offsets in arenas
    are multiples of 64. The name is for people.
    A program has one op per block of memory; see the dialect.

    Constraints:
    1. (c1) the position is at least 0, and in an arena a multiple of 64.

    Example:
    ```mlir
    %0 = weft_rt.buffer arena 4096 "gathered layers.0.wq" : memref<8x128xf32>
    ```
  }];
  let arguments = (ins WeftRT_SpaceAttr:$space, I64Attr:$position,
                       OptionalAttr<StrAttr>:$name);
  let results = (outs WeftRT_Buffer:$result);
  let assemblyFormat = [{
    `` $space $position ($name^)? attr-dict `:` type($result)
  }];
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
    `weft_rt.into` says which elements of the whole each of them is, if not all
    (a later one lies on those before it), `weft_rt.parts` which of its own. Together
    they are all elements of the whole. A value comes to be at one place of the
    program only; undefined contents may at several, and no op reads them: parts
    are put into them.

    Example: two halves are a whole.
    ```mlir
    %0 = weft_rt.buffer arena 0 : memref<8x128xf32>
    weft_rt.assemble %0 value 7 from [5, 6] {weft_rt.into = [
        #weft_rt.part<begin = 0, sizes = [4, 128], strides = [128, 1]>,
        #weft_rt.part<begin = 512, sizes = [4, 128], strides = [128, 1]>]} : memref<8x128xf32>
    ```
  }];
  let arguments = (ins WeftRT_Buffer:$buffer, I64Attr:$value,
                       DenseI64ArrayAttr:$from);
  let assemblyFormat = [{
    $buffer `value` $value `from` $from attr-dict `:` type($buffer)
  }];
}

def WeftRT_GemmOp : WeftRT_Op<"gemm"> {
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
  let arguments = (ins Arg<WeftRT_Buffer, "", [MemRead]>:$lhs,
                       Arg<WeftRT_Buffer, "", [MemRead]>:$rhs,
                       Arg<WeftRT_Buffer, "", [MemWrite]>:$out,
                       AffineMapArrayAttr:$indexing_maps);
  let assemblyFormat = [{
    $lhs `,` $rhs `into` $out attr-dict
    `:` type($lhs) `,` type($rhs) `into` type($out)
  }];
  let hasVerifier = 1;
}

def WeftRT_AttentionConfig
    : Attr<CPred<"::llvm::isa<::mlir::weft::AttentionAttr>($_self)">,
           "how attention weighs keys"> {
  let storageType = "::mlir::weft::AttentionAttr";
  let returnType = "::mlir::weft::AttentionAttr";
  let convertFromStorage = "$_self";
}

def WeftRT_AttentionOp : WeftRT_Op<"attention", [AttrSizedOperandSegments]> {
  let summary = "attention, or its gradient, on buffers";
  let description = [{
    weft.attention or weft.attention_grad on buffers. `tensors` says which tensor
    each buffer is, in the order of the op's ODS: q, k, v, bias, mask, q_segments,
    k_segments, low_seeds, high_seeds, out, lse, and of the gradient dout, dq, dk, dv.
    Forward `out` and `lse` are written, in the gradient `dq`, `dk` and `dv`; what is
    written overlaps nothing else.

    Constraints:
    1. (c1) names of tensors, one for each buffer, in that order, each at most
       once; those of one of the two ops, with all that it needs.
    2. (c2) constraints c1 to c5 of weft.attention.

    Example: two heads.
    ```mlir
    #q = affine_map<(h, i, j, d, e) -> (h, i, d)>
    #k = affine_map<(h, i, j, d, e) -> (h, j, d)>
    #v = affine_map<(h, i, j, d, e) -> (h, j, e)>
    #out = affine_map<(h, i, j, d, e) -> (h, i, e)>
    #lse = affine_map<(h, i, j, d, e) -> (h, i)>
    %q = weft_rt.buffer argument 0 : memref<2x128x64xf32>
    %k = weft_rt.buffer argument 1 : memref<2x128x64xf32>
    %v = weft_rt.buffer argument 2 : memref<2x128x64xf32>
    %o = weft_rt.buffer result 0 : memref<2x128x64xf32>
    %l = weft_rt.buffer arena 0 : memref<2x128xf32>
    weft_rt.attention ins(%q, %k, %v) outs(%o, %l) {
        config = #weft.attention<scale = 0.125 : f32, right = 0>,
        indexing_maps = [#q, #k, #v, #out, #lse], tensors = ["q", "k", "v", "out", "lse"]}
        : memref<2x128x64xf32>, memref<2x128x64xf32>, memref<2x128x64xf32>
        into memref<2x128x64xf32>, memref<2x128xf32>
    ```
  }];
  let arguments = (ins Arg<Variadic<WeftRT_Buffer>, "", [MemRead]>:$ins,
                       Arg<Variadic<WeftRT_Buffer>, "", [MemWrite]>:$outs,
                       Optional<Index>:$start,
                       WeftRT_AttentionConfig:$config,
                       AffineMapArrayAttr:$indexing_maps,
                       StrArrayAttr:$tensors);
  let assemblyFormat = [{
    `ins` `(` $ins `)` `outs` `(` $outs `)` (`start` $start^)? attr-dict
    `:` type($ins) `into` type($outs)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The buffers with what they are, in order.
    ::llvm::SmallVector<std::pair<::mlir::weft::AttentionTensor, ::mlir::Value>>
    getValues();
  }];
}

def WeftRT_ScatterAddOp : WeftRT_Op<"scatter_add"> {
  let summary = "add slices into rows of a buffer";
  let description = [{
    weft.scatter_add on buffers; `table` is updated in place.

    Constraints:
    1. (c1) the axis is one of the table's; table and updates have one element
       type, and indices are integers.
    2. (c2) the maps are projected permutations of the updates' dims, to the
       table's but for the axis and to those of the indices, of the same sizes.

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
  let arguments = (ins Arg<WeftRT_Buffer, "", [MemRead, MemWrite]>:$table,
                       Arg<WeftRT_Buffer, "", [MemRead]>:$indices,
                       Arg<WeftRT_Buffer, "", [MemRead]>:$updates,
                       Optional<Index>:$base,
                       I64Attr:$axis, AffineMapAttr:$table_map,
                       AffineMapAttr:$index_map);
  let assemblyFormat = [{
    $table `,` $indices `,` $updates (`base` $base^)? attr-dict
    `:` type($table) `,` type($indices) `,` type($updates)
  }];
  let hasVerifier = 1;
}

def WeftRT_StartOp : WeftRT_Op<"start", [AttrSizedOperandSegments,
    MemoryEffects<[MemRead, MemWrite]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "begin a collective";
  let description = [{
    `collective` says what is done, and `channel` names the weft.channel that it
    is enqueued on, after what is on its stream and on the op's so far. Until the
    wait the inputs may not be written, and the outputs neither read nor written.

    Constraints:
    1. (c1) one or more inputs, and as many outputs.
    2. (c2) the collective's axes are of its mesh, and its channel is on the same
       axes.
    3. (c3) all buffers are dense, one dim for each is in range, and an output
       has the shape that the collective makes of its input's: of dim `dims[i]`
       times or divided by the size of the group; of `split_dims[i]` divided and
       `concat_dims[i]` times it; or the same.
    4. (c4) a permute has a source in the group, or -1, for each of its members.

    Example: a sum over the ranks of a mesh's axis, in place.
    ```mlir
    weft.mesh @mesh = <["dp"=2]>
    weft.channel @data.dp on @mesh <{"dp"}> purpose data
    func.func @f() {
      %x = weft_rt.buffer arena 0 : memref<16xf32>
      %t = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"dp"}>, reduce = sum>
          ins(%x : memref<16xf32>) outs(%x : memref<16xf32>) {channel = @data.dp}
      weft_rt.wait %t
      return
    }
    ```
  }];
  let arguments = (ins WeftRT_CollectiveAttr:$collective,
                       Variadic<WeftRT_Buffer>:$ins,
                       Variadic<WeftRT_Buffer>:$outs,
                       FlatSymbolRefAttr:$channel);
  let results = (outs I64:$ticket);
  let assemblyFormat = [{
    $collective `ins` `(` $ins `:` type($ins) `)`
    `outs` `(` $outs `:` type($outs) `)` attr-dict
  }];
  let extraClassDeclaration = [{
    ::mlir::weft::CollectiveKind getKind() { return getCollective().getKind(); }
    /// The mesh that the collective names.
    ::mlir::weft::MeshAttr getMesh();
  }];
}

def WeftRT_WaitOp : WeftRT_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "order what follows after a collective";
  let description = [{
    What is enqueued on the op's stream from here on is ordered after the
    collective, whose buffers are the program's again there. Exactly once per
    weft_rt.start.

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

def WeftRT_RecordOp : WeftRT_Op<"record", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "put an event after what is on a stream";
  let description = [{
    The event comes after all that has been enqueued on the op's stream so far.
    A number that is recorded again is another event: what has awaited the one
    before still has.

    Constraints:
    1. (c1) events have numbers from 0 to 65535.

    Example: what follows on the stream of @rs.dp comes after a kernel.
    ```mlir
    weft.mesh @mesh = <["dp"=2]>
    weft.channel @rs.dp on @mesh <{"dp"}> purpose data
    func.func @f() {
      %x = weft_rt.buffer arena 0 : memref<16xf32>
      %y = weft_rt.buffer arena 64 : memref<16xf32>
      %z = weft_rt.buffer arena 128 : memref<16xf32>
      weft_rt.copy %x to %y : memref<16xf32> to memref<16xf32>
      weft_rt.record 0
      weft_rt.await 0 {weft_rt.stream = @rs.dp}
      weft_rt.copy %y to %z {weft_rt.stream = @rs.dp}
          : memref<16xf32> to memref<16xf32>
      weft_rt.record 1 {weft_rt.stream = @rs.dp}
      weft_rt.await 1
      return
    }
    ```
  }];
  let arguments = (ins I64Attr:$event);
  let assemblyFormat = "$event attr-dict";
  let hasVerifier = 1;
}

def WeftRT_AwaitOp : WeftRT_Op<"await", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "order what follows on a stream after an event";
  let description = [{
    What is enqueued on the op's stream from here on comes after the event that
    was recorded last under this number.

    Constraints:
    1. (c1) events have numbers from 0 to 65535.

    Example: see weft_rt.record.
    ```mlir
    func.func @f() {
      weft_rt.record 0
      weft_rt.await 0
      return
    }
    ```
  }];
  let arguments = (ins I64Attr:$event);
  let assemblyFormat = "$event attr-dict";
  let hasVerifier = 1;
}

def WeftRT_CopyOp : WeftRT_Op<"copy"> {
  let summary = "copy a buffer, or a constant of the module, into a buffer";
  let description = [{
    The two do not overlap.

    Constraints:
    1. (c1) source and target are dense, of one shape and element type.

    Example: a constant.
    ```mlir
    memref.global "private" constant @two : memref<2xf32> = dense<[1.0, 2.0]>
    func.func @f() {
      %0 = memref.get_global @two : memref<2xf32>
      %1 = weft_rt.buffer arena 0 : memref<2xf32>
      weft_rt.copy %0 to %1 : memref<2xf32> to memref<2xf32>
      return
    }
    ```
  }];
  let arguments = (ins Arg<WeftRT_Buffer, "", [MemRead]>:$source,
                       Arg<WeftRT_Buffer, "", [MemWrite]>:$target);
  let assemblyFormat = [{
    $source `to` $target attr-dict `:` type($source) `to` type($target)
  }];
  let hasVerifier = 1;
}

def WeftRT_ReadScalarOp : WeftRT_Op<"read_scalar", [
    MemoryEffects<[MemRead]>,
    TypesMatchWith<"the result is an element of the buffer", "buffer", "result",
                   "::llvm::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "wait for an element of a buffer";
  let description = [{
    The program goes on when all that was enqueued on the rank's queue before is
    done, with the element at `indices`, or with zero if there is none. It is for
    loops, branches and places that depend on data; what only kernels need they
    read themselves.

    Constraints:
    1. (c1) one index per dim.
    2. (c2) the result is an element of the buffer, of at most 64 bits.

    Example: how often a loop is gone through.
    ```mlir
    %n = weft_rt.buffer argument 0 : memref<i32>
    %0 = weft_rt.read_scalar %n[] : memref<i32>
    ```
  }];
  let arguments = (ins WeftRT_Buffer:$buffer, Variadic<Index>:$indices);
  let results = (outs WeftRT_Scalar:$result);
  let assemblyFormat = "$buffer `[` $indices `]` attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def WeftRT_LaunchOp : WeftRT_Op<"launch", [AttrSizedOperandSegments,
    MemoryEffects<[MemRead, MemWrite]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "run a kernel";
  let description = [{
    `config` says how: each target has an attribute for that, which implements
    `LaunchConfig`. The kernel gets the addresses of the buffers, and the
    scalars as 64 bits each.

    Constraints:
    1. (c1) the kernel is a function of the module, and its `weft_rt.takes` lists
       the types of the buffers and then those of the scalars.

    Example: eight rows, two at least at a time, on the host.
    ```mlir
    %x = weft_rt.buffer argument 0 : memref<8x128xf32>
    %i = arith.constant 3 : index
    weft_rt.launch @weft_k0(%x : memref<8x128xf32>) scalars(%i : index)
        over #weft_rt.host_range<extent = 8, grain = 2>
    llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64)
        attributes {weft_rt.takes = [memref<8x128xf32>, index]}
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<WeftRT_Buffer>:$buffers,
                       Variadic<WeftRT_Scalar>:$scalars,
                       WeftRT_LaunchConfig:$config);
  let assemblyFormat = [{
    $kernel `(` ($buffers^ `:` type($buffers))? `)`
    (`scalars` `(` $scalars^ `:` type($scalars) `)`)? `over` $config attr-dict
  }];
}

#endif // WEFT_DIALECT_WEFTRT_IR_OPS_TD
