// SPDX-License-Identifier: Apache-2.0

// The dialect of planned programs, and what its ops say of collectives, of
// arguments and of results.

#ifndef WEFT_DIALECT_WEFTRT_IR_ATTRS_TD
#define WEFT_DIALECT_WEFTRT_IR_ATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "weft/Dialect/WeftRT/IR/LaunchConfig.td"

def WeftRT_Dialect : Dialect {
  let name = "weft_rt";
  let cppNamespace = "::mlir::weft::rt";
  let summary = "a rank's program on planned buffers";
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let description = [{
    Between tensors and machine code: loop nests that were fused
    (`weft_rt.fused`), contractions and collectives on buffers, and where each
    buffer lies (`weft_rt.buffer`). A program says what is enqueued, and with
    which scalars; it does not look at the rank's memory itself.

    *Order.* A rank has a stream on which it computes, and one per channel. Its
    ops are enqueued in block order, and each is ordered after everything that
    was enqueued on its stream before. `weft_rt.stream` names the channel on
    whose stream an op is; without it the op is on the one that computes. Kernels,
    copies, starts and waits may have it, and records and awaits.
    `weft_rt.start` enqueues a collective on the stream of its channel, ordered
    after everything that was enqueued there, and on the start's own stream, so
    far. `weft_rt.wait` orders what is enqueued on its stream from there on after
    the collective; a start or a wait on its channel's stream adds no order.
    `weft_rt.record` puts an event after what is on its stream so far,
    `weft_rt.await` orders what is enqueued on its stream from there on after the
    event. Nothing else orders ops of different streams. None of them
    holds up the program: loops and branches go on, and scalars are computed,
    ahead of the streams. `weft_rt.read_scalar` alone waits for what was enqueued
    on the stream that computes, because the program goes on with what it finds. Scalars
    of a launch are those of the time at which it is enqueued.

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

    *Parts.* What an op reads of a value is all of it, in order, but for what
    `weft_rt.parts` says: a list with a `#weft_rt.part` for each id of
    `weft_rt.values`, and then of `weft_rt.reads`, or `unit` for all of it: also
    the first elements are a part. A copy
    writes the part that it reads; whatever else is written is all of a value. On
    `weft_rt.assemble` the list has an entry for each value of `from`, and so has
    `weft_rt.into`: which elements of the whole that part becomes. A result that
    is a part of its value has it as `part`.

    *Function attributes.* `weft_rt.args` and `weft_rt.results` are lists of
    `#weft_rt.tensor`: what the caller gives and wants. `weft_rt.arena_bytes` is
    the size of the arena, `weft_rt.arena_bound` the most bytes in it that are
    alive at one time. `weft_rt.host_bytes`, if it is there, is the size of the
    host's arena: memory of the host for a rank, which only collectives on
    channels of purpose `offload` write, and only those of purpose `fetch` read.

    *Kernels.* A kernel is a function that a `weft_rt.launch` names. Its
    attribute `weft_rt.takes` lists the types of the buffers and then of the
    scalars that it is launched with. One that is only declared may have
    `weft_rt.image`, which names the global whose bytes are its code; or a list
    of such names, the same code in several forms, of which a device takes the
    first that it can load.
  }];
  let extraClassDeclaration = [{
    /// On ops that touch memory: a value id per buffer operand.
    static constexpr llvm::StringLiteral kValuesAttr = "weft_rt.values";
    /// On scatter_add: the id of the value that it reads of its table.
    static constexpr llvm::StringLiteral kReadsAttr = "weft_rt.reads";
    /// On ops with ids, and on assemble: which elements of the values, and of
    /// the whole.
    static constexpr llvm::StringLiteral kPartsAttr = "weft_rt.parts";
    static constexpr llvm::StringLiteral kIntoAttr = "weft_rt.into";
    /// The channel on whose stream an op is.
    static constexpr llvm::StringLiteral kStreamAttr = "weft_rt.stream";
    /// On the planned function: what the caller gives and wants.
    static constexpr llvm::StringLiteral kArgsAttr = "weft_rt.args";
    static constexpr llvm::StringLiteral kResultsAttr = "weft_rt.results";
    /// On the planned function: bytes of the arena, and those of them that are
    /// alive at once.
    static constexpr llvm::StringLiteral kArenaBytesAttr =
        "weft_rt.arena_bytes";
    static constexpr llvm::StringLiteral kArenaBoundAttr =
        "weft_rt.arena_bound";
    /// On the planned function: bytes of the host's arena; not there: none.
    static constexpr llvm::StringLiteral kHostBytesAttr = "weft_rt.host_bytes";
    /// On a kernel: types of its buffers and scalars, and where its code is.
    static constexpr llvm::StringLiteral kTakesAttr = "weft_rt.takes";
    static constexpr llvm::StringLiteral kImageAttr = "weft_rt.image";
  }];
}

def WeftRT_Space : I32EnumAttr<"Space", "where a buffer lies", [
    I32EnumAttrCase<"Argument", 0, "argument">,
    I32EnumAttrCase<"Result", 1, "result">,
    I32EnumAttrCase<"Arena", 2, "arena">,
    I32EnumAttrCase<"Host", 3, "host">]> {
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

def WeftRT_Scalar : Type<CPred<"::mlir::weft::rt::isScalar($_self)">,
    "an index, or an integer or float of at most 64 bits">;

class WeftRT_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<WeftRT_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

/// Printed as one word: an attribute would put a space in front of it.
def WeftRT_ReduceParameter
    : OptionalParameter<"::mlir::weft::ReduceKindAttr"> {
  let printer = "$_printer << $_self.getValue()";
}

def WeftRT_CollectiveAttr : WeftRT_Attr<"Collective", "collective"> {
  let summary = "what a collective does, and between which ranks";
  let description = [{
    The ranks that differ only along `axes` of `mesh` form a group. What each
    kind does to the buffers of a group is what the weft op of its name does to
    tensors; it has the same attributes, which are:

    | kind | has |
    | --- | --- |
    | `all_gather` | `dims` |
    | `reduce_scatter` | `reduce`, `dims`, may have `order` |
    | `all_reduce` | `reduce`, may have `order` |
    | `all_to_all` | `split_dims`, `concat_dims` |
    | `permute` | `sources` |

    With `order` the sum is that of the tree of the group's members
    (`#weft.order`).

    Constraints:
    1. (c1) it has what its kind has, and no more.

    Example:
    ```mlir
    #gather = #weft_rt.collective<all_gather, mesh = @mesh, axes = <{"fsdp"}>, dims = [0]>
    #sum = #weft_rt.collective<all_reduce, mesh = @mesh, axes = <{"dp"}>, reduce = sum>
    ```
  }];
  let parameters = (ins
    "::mlir::weft::CollectiveKind":$kind,
    "::mlir::FlatSymbolRefAttr":$mesh,
    "::mlir::weft::AxesAttr":$axes,
    WeftRT_ReduceParameter:$reduce,
    OptionalParameter<"::mlir::weft::OrderAttr">:$order,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$dims,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$split_dims,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$concat_dims,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$sources);
  let assemblyFormat = [{
    `<` $kind `,` struct($mesh, $axes, $reduce, $order, $dims, $split_dims,
                         $concat_dims, $sources) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The same between ranks of another mesh.
    CollectiveAttr withMesh(::mlir::FlatSymbolRefAttr mesh) const;
  }];
}

def WeftRT_PartAttr : WeftRT_Attr<"Part", "part"> {
  let summary = "some elements of a value, as a slice of it has them";
  let description = [{
    The elements of a value are counted in order, last dim first, as if none lay
    between others. A part begins at element `begin`, and along its dim i, of
    `sizes[i]` elements, goes on by `strides[i]`. If `moves`, a number that is only
    known at run time is added to `begin`.

    Constraints:
    1. (c1) one stride for each size, all numbers at least 0, no element twice,
       and the last one before 2^56.

    Example: rows 2 and 3 of a value of 8x16 elements, and one row of it.
    ```mlir
    #rows = #weft_rt.part<begin = 32, sizes = [2, 16], strides = [16, 1]>
    #row = #weft_rt.part<begin = 0, sizes = [1, 16], strides = [16, 1], moves = true>
    ```
  }];
  let parameters = (ins
    "int64_t":$begin,
    "::mlir::DenseI64ArrayAttr":$sizes,
    "::mlir::DenseI64ArrayAttr":$strides,
    DefaultValuedParameter<"bool", "false">:$moves);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def WeftRT_TensorAttr : WeftRT_Attr<"Tensor", "tensor"> {
  let summary = "an argument or a result of a planned step";
  let description = [{
    `local` is what a rank holds of `global`, which is cut as `sharding` says, or
    not at all. A result with an `alias` lies in the memory of that argument.
    `value` is the id of the value that a result is, or of which it is the part
    `part`; arguments have none of these. An
    argument with `host` lies in the host's memory, as does the result in its place.

    Constraints:
    1. (c1) both types are of static shape, one rank and one element type.

    Example: a weight, and what it is after the step.
    ```mlir
    weft.mesh @mesh = <["fsdp"=2]>
    func.func @step() attributes {
        weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4x8xf32>, global = tensor<8x8xf32>, sharding = <@mesh, [{"fsdp"}, {} ]>>],
        weft_rt.results = [#weft_rt.tensor<name = "w", local = tensor<4x8xf32>, global = tensor<8x8xf32>, sharding = <@mesh, [{"fsdp"}, {} ]>, alias = 0, value = 0>]} {
      return
    }
    ```
  }];
  let parameters = (ins
    OptionalParameter<"::mlir::StringAttr">:$name,
    "::mlir::RankedTensorType":$local,
    "::mlir::RankedTensorType":$global,
    OptionalParameter<"::mlir::weft::ShardingAttr">:$sharding,
    OptionalParameter<"std::optional<int64_t>">:$alias,
    OptionalParameter<"std::optional<int64_t>">:$value,
    OptionalParameter<"::mlir::weft::rt::PartAttr">:$part,
    DefaultValuedParameter<"bool", "false">:$host);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The same without saying which value it is.
    TensorAttr withoutValue() const;
  }];
}

def WeftRT_LaunchNumbersAttr : WeftRT_Attr<"LaunchNumbers", "launch_numbers",
    [DeclareAttrInterfaceMethods<WeftRT_LaunchConfig>]> {
  let summary = "numbers that a backend knows the meaning of";
  let description = [{
    For targets that have no attribute of their own for their launches.

    Example: a kernel for the `null` backend, whose one number is how many
    elements it writes.
    ```mlir
    llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64)
        attributes {weft_rt.takes = [memref<8x128xf32>]}
    func.func @f() {
      %x = weft_rt.buffer argument 0 : memref<8x128xf32>
      weft_rt.launch @weft_k0(%x : memref<8x128xf32>) over #weft_rt.launch_numbers<[1024]>
      return
    }
    ```
  }];
  let parameters = (ins "::mlir::DenseI64ArrayAttr":$values);
  let builders = [AttrBuilder<(ins "::llvm::ArrayRef<int64_t>":$values), [{
    return $_get($_ctxt, ::mlir::DenseI64ArrayAttr::get($_ctxt, values));
  }]>];
  let assemblyFormat = "`<` $values `>`";
}

def WeftRT_HostRangeAttr : WeftRT_Attr<"HostRange", "host_range",
    [DeclareAttrInterfaceMethods<WeftRT_LaunchConfig>]> {
  let summary = "a range of iterations that the host's threads share";
  let description = [{
    The kernel is called for pieces of `[0, extent)` of at least `grain`
    iterations each. Its numbers are the extent and the grain.

    Constraints:
    1. (c1) the extent is at least 0, the grain at least 1.

    Example: eight rows, two at least at a time.
    ```mlir
    llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64)
        attributes {weft_rt.takes = [memref<8x128xf32>]}
    func.func @f() {
      %x = weft_rt.buffer argument 0 : memref<8x128xf32>
      weft_rt.launch @weft_k0(%x : memref<8x128xf32>) over #weft_rt.host_range<extent = 8, grain = 2>
      return
    }
    ```
  }];
  let parameters = (ins "int64_t":$extent, "int64_t":$grain);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // WEFT_DIALECT_WEFTRT_IR_ATTRS_TD
