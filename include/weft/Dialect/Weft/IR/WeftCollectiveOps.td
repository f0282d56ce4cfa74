// SPDX-License-Identifier: Apache-2.0

// Collectives between the ranks of a group, on local tensors. Several operands
// make one grouped collective. They touch a resource of their own, so that no
// general rewrite merges, moves or drops them: a weight that is gathered for the
// forward pass and again for the backward pass is gathered twice on purpose.
// weft-merge-collectives drops those whose results are unused: every rank runs
// the same program, so they are unused on all ranks.
//
// A collective has one of two forms. Its results are tensors: it is done when
// the op is. Or they are futures: it is started there, on its channel, and done
// when weft.wait is.

#ifndef WEFT_DIALECT_WEFT_IR_COLLECTIVEOPS_TD
#define WEFT_DIALECT_WEFT_IR_COLLECTIVEOPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "weft/Dialect/Weft/IR/CollectiveOpInterface.td"
include "weft/Dialect/Weft/IR/WeftAttrs.td"
include "weft/Dialect/Weft/IR/WeftTypes.td"

// The ranks that differ only along `axes` form a group; members are ordered by
// their mixed-radix number along `axes`, first axis major. g is its size.
//
// Constraints of all collectives:
// 1. (collective_c1) `channel` names a weft.channel on the same mesh and axes.
// 2. (collective_c2) all results are tensors, or all are futures.
// 3. (collective_c3) a collective with futures has a channel.
// 4. (collective_c4) each future is used once, by a weft.wait.
def Weft_Communication : Resource<"::mlir::weft::CommunicationResource">;

class Weft_CollectiveOp<string mnemonic, string kind, list<Trait> traits = []>
    : Weft_Op<mnemonic, !listconcat([
        MemoryEffects<[MemRead<Weft_Communication>,
                       MemWrite<Weft_Communication>]>,
        DeclareOpInterfaceMethods<SymbolUserOpInterface>,
        Weft_CollectiveOpInterface], traits)> {
  // How the op answers Weft_CollectiveOpInterface, beside what its attributes say.
  code collectiveMethods = "";
  let extraClassDeclaration = [{
    static ::mlir::weft::CollectiveKind getCollectiveKind() {
      return ::mlir::weft::CollectiveKind::}] # kind # [{;
    }
  }] # collectiveMethods;
  let results = (outs Variadic<AnyTypeOf<[AnyRankedTensor, Weft_Future]>>:$outputs);
}

def Weft_ChannelOp : Weft_Op<"channel", [Symbol,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a communicator with a stream of its own";
  let description = [{
    Collectives name the channel that they run on. Those of one channel run one
    after another, in the order in which they are started; those of different
    channels do not wait for each other. `purpose` says what the channel was
    made for.

    A channel of purpose `offload` or `fetch` carries copies between the rank's
    memory and the host's, as permutes of the rank alone: what an offload brings
    lies in the host's memory, where only fetches read it.

    Constraints:
    1. (c1) `axes` are axes of the mesh, none twice.
    2. (c2) of purpose `offload` or `fetch`, there are no axes.

    Example: gathers and reductions over one axis, apart from each other.
    ```mlir
    weft.mesh @mesh = <["fsdp"=2, "tp"=4]>
    weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
    weft.channel @reduce.fsdp on @mesh <{"fsdp"}> purpose reduce
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$mesh,
                       Weft_AxesAttr:$axes, Weft_PurposeAttr:$purpose);
  let assemblyFormat = [{
    $sym_name `on` $mesh $axes `purpose` `` $purpose attr-dict
  }];
}

def Weft_WaitOp : Weft_Op<"wait", [
    MemoryEffects<[MemRead<Weft_Communication>, MemWrite<Weft_Communication>]>,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "wait for a collective that was started";
  let description = [{
    Gives the tensors of the futures. Until then the operands of the collective
    must not change.

    Constraints:
    1. (c1) the futures are all results of one collective, in order.
    2. (c2) the collective is started in the same block.

    Example: a weight is on its way while a matmul runs.
    ```mlir
    weft.mesh @mesh = <["fsdp"=2]>
    weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
    func.func @f(%w: tensor<128x64xf32>, %a: tensor<8x8xf32>) -> (tensor<256x64xf32>, tensor<8x8xf32>) {
      %0 = weft.all_gather %w on @mesh <{"fsdp"}> dims [0] {channel = @gather.fsdp} : (tensor<128x64xf32>) -> !weft.future<tensor<256x64xf32>>
      %1 = weft.matmul %a, %a {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
          affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
      %2 = weft.wait %0 : !weft.future<tensor<256x64xf32>>
      return %2, %1 : tensor<256x64xf32>, tensor<8x8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Weft_Future>:$futures);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = "$futures attr-dict `:` type($futures)";
  let hasVerifier = 1;
}

def Weft_AllGatherOp : Weft_CollectiveOp<"all_gather", "AllGather"> {
  let collectiveMethods = [{
    ::llvm::ArrayRef<int64_t> getGatheredDims() { return getDims(); }
    void setGatheredDims(::llvm::ArrayRef<int64_t> dims) { setDims(dims); }
  }];
  let summary = "gather shards along a dimension";
  let description = [{
    Each member gets the members' tensors, concatenated in member order along
    dimension `dims[i]` of operand i.

    Constraints:
    1. (c1) `axes` are axes of the mesh, none twice.
    2. (c2) one or more operands, of static shape, and a result for each.
    3. (c3) one dim per operand, in range.
    4. (c4) result i is operand i with dim `dims[i]` times g.

    Example: a weight that rests in two shards.
    ```mlir
    weft.mesh @mesh = <["fsdp"=2, "tp"=4]>
    func.func @f(%w: tensor<128x64xf32>) -> tensor<256x64xf32> {
      %0 = weft.all_gather %w on @mesh <{"fsdp"}> dims [0] : (tensor<128x64xf32>) -> tensor<256x64xf32>
      return %0 : tensor<256x64xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
                       FlatSymbolRefAttr:$mesh, Weft_AxesAttr:$axes,
                       DenseI64ArrayAttr:$dims,
                       OptionalAttr<FlatSymbolRefAttr>:$channel);
  let assemblyFormat = [{
    $inputs `on` $mesh $axes `dims` $dims attr-dict
    `:` functional-type($inputs, $outputs)
  }];
}

def Weft_ReduceScatterOp : Weft_CollectiveOp<"reduce_scatter", "ReduceScatter"> {
  let collectiveMethods = [{
    std::optional<::mlir::weft::ReduceKind> getReduction() { return getKind(); }
    ::llvm::ArrayRef<int64_t> getScatteredDims() { return getDims(); }
    void setScatteredDims(::llvm::ArrayRef<int64_t> dims) { setDims(dims); }
  }];
  let summary = "combine and keep one shard";
  let description = [{
    The members' tensors are combined elementwise, in member order; member j
    keeps the j-th of g equal parts along dimension `dims[i]`.

    Constraints:
    1. (c1) `axes` are axes of the mesh, none twice.
    2. (c2) one or more operands, of static shape, and a result for each.
    3. (c3) one dim per operand, in range.
    4. (c4) result i is operand i with dim `dims[i]` divided by g, exactly.

    Example: a weight gradient.
    ```mlir
    weft.mesh @mesh = <["fsdp"=2, "tp"=4]>
    func.func @f(%g: tensor<256x64xf32>) -> tensor<128x64xf32> {
      %0 = weft.reduce_scatter sum %g on @mesh <{"fsdp"}> dims [0] : (tensor<256x64xf32>) -> tensor<128x64xf32>
      return %0 : tensor<128x64xf32>
    }
    ```
  }];
  let arguments = (ins Weft_ReduceKindAttr:$kind,
                       Variadic<AnyRankedTensor>:$inputs,
                       FlatSymbolRefAttr:$mesh, Weft_AxesAttr:$axes,
                       DenseI64ArrayAttr:$dims,
                       OptionalAttr<FlatSymbolRefAttr>:$channel);
  let assemblyFormat = [{
    `` $kind $inputs `on` $mesh $axes `dims` $dims attr-dict
    `:` functional-type($inputs, $outputs)
  }];
}

def Weft_AllReduceOp : Weft_CollectiveOp<"all_reduce", "AllReduce"> {
  let collectiveMethods = [{
    std::optional<::mlir::weft::ReduceKind> getReduction() { return getKind(); }
  }];
  let summary = "combine on all ranks";
  let description = [{
    The members' tensors are combined elementwise, in member order, and each
    member gets the result.

    Constraints:
    1. (c1) `axes` are axes of the mesh, none twice.
    2. (c2) one or more operands, of static shape, and a result for each.
    3. (c3) result i has the type of operand i.

    Example:
    ```mlir
    weft.mesh @mesh = <["dp"=2, "tp"=4]>
    func.func @f(%g: tensor<256x64xf32>) -> tensor<256x64xf32> {
      %0 = weft.all_reduce sum %g on @mesh <{"dp"}> : (tensor<256x64xf32>) -> tensor<256x64xf32>
      return %0 : tensor<256x64xf32>
    }
    ```
  }];
  let arguments = (ins Weft_ReduceKindAttr:$kind,
                       Variadic<AnyRankedTensor>:$inputs,
                       FlatSymbolRefAttr:$mesh, Weft_AxesAttr:$axes,
                       OptionalAttr<FlatSymbolRefAttr>:$channel);
  let assemblyFormat = [{
    `` $kind $inputs `on` $mesh $axes attr-dict
    `:` functional-type($inputs, $outputs)
  }];
}

def Weft_AllToAllOp : Weft_CollectiveOp<"all_to_all", "AllToAll"> {
  let collectiveMethods = [{
    ::llvm::ArrayRef<int64_t> getScatteredDims() { return getSplitDims(); }
    void setScatteredDims(::llvm::ArrayRef<int64_t> dims) { setSplitDims(dims); }
    ::llvm::ArrayRef<int64_t> getGatheredDims() { return getConcatDims(); }
    void setGatheredDims(::llvm::ArrayRef<int64_t> dims) { setConcatDims(dims); }
  }];
  let summary = "move a sharding from one dimension to another";
  let description = [{
    Each operand is cut in g equal parts along `split_dims[i]`; part j goes to
    member j, and the parts that a member gets are concatenated in member order
    along `concat_dims[i]`.

    Constraints:
    1. (c1) `axes` are axes of the mesh, none twice.
    2. (c2) one or more operands, of static shape, and a result for each.
    3. (c3) one split and one concat dim per operand, in range.
    4. (c4) result i is operand i with the split dim divided by g, exactly, and
       then the concat dim times g.

    Example: from sequence-sharded to head-sharded.
    ```mlir
    weft.mesh @mesh = <["dp"=2, "tp"=4]>
    func.func @f(%x: tensor<8x32x64xf32>) -> tensor<8x128x16xf32> {
      %0 = weft.all_to_all %x on @mesh <{"tp"}> split [2] concat [1] : (tensor<8x32x64xf32>) -> tensor<8x128x16xf32>
      return %0 : tensor<8x128x16xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
                       FlatSymbolRefAttr:$mesh, Weft_AxesAttr:$axes,
                       DenseI64ArrayAttr:$split_dims,
                       DenseI64ArrayAttr:$concat_dims,
                       OptionalAttr<FlatSymbolRefAttr>:$channel);
  let assemblyFormat = [{
    $inputs `on` $mesh $axes `split` $split_dims `concat` $concat_dims attr-dict
    `:` functional-type($inputs, $outputs)
  }];
}

def Weft_PermuteOp : Weft_CollectiveOp<"permute", "Permute"> {
  let summary = "send tensors between pairs of ranks";
  let description = [{
    Member i gets the tensors of member `sources[i]`, or zeros where that is -1.

    Constraints:
    1. (c1) `axes` are axes of the mesh, none twice.
    2. (c2) one or more operands, of static shape, and a result for each.
    3. (c3) `sources` has g entries in [-1, g); none but -1 stands twice.
    4. (c4) result i has the type of operand i.

    Example: a ring shift.
    ```mlir
    weft.mesh @mesh = <["tp"=4]>
    func.func @f(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = weft.permute %x on @mesh <{"tp"}> sources [3, 0, 1, 2] : (tensor<8x64xf32>) -> tensor<8x64xf32>
      return %0 : tensor<8x64xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
                       FlatSymbolRefAttr:$mesh, Weft_AxesAttr:$axes,
                       DenseI64ArrayAttr:$sources,
                       OptionalAttr<FlatSymbolRefAttr>:$channel);
  let assemblyFormat = [{
    $inputs `on` $mesh $axes `sources` $sources attr-dict
    `:` functional-type($inputs, $outputs)
  }];
}

#endif // WEFT_DIALECT_WEFT_IR_COLLECTIVEOPS_TD
