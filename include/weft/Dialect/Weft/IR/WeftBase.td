// SPDX-License-Identifier: Apache-2.0

// The dialect, its enumerations, and what every weft op shares.

#ifndef WEFT_DIALECT_WEFT_IR_BASE_TD
#define WEFT_DIALECT_WEFT_IR_BASE_TD

include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "weft/Dialect/Weft/IR/CollectiveKind.td"

def Weft_Dialect : Dialect {
  let name = "weft";
  let cppNamespace = "::mlir::weft";
  let summary = "sharded training steps";
  let description = [{
    The weft dialect says how the tensors of one training step are split over
    a mesh of ranks, and how they move between ranks.

    In the `global` phase a value is a tensor of the whole job, and attributes
    say how it is sharded. In the `local` phase a value is the part that one
    rank holds, and collectives move data. In the `scheduled` phase the order of
    ops is the order in which they are issued: collectives are started on
    channels and waited for later.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();

    /// Name of an argument or result, unique within its list.
    static constexpr llvm::StringLiteral kNameAttr = "weft.name";
    /// Sharding of an argument or result (a ShardingAttr).
    static constexpr llvm::StringLiteral kShardingAttr = "weft.sharding";
    /// On a result: index of the argument that is donated to it.
    static constexpr llvm::StringLiteral kAliasAttr = "weft.alias";
    /// On an argument, without a value: it lies in the host's memory, and so
    /// does the result that takes its place.
    static constexpr llvm::StringLiteral kHostAttr = "weft.host";
    /// On an argument or result whose type is local: its global type.
    static constexpr llvm::StringLiteral kGlobalTypeAttr = "weft.global_type";
    /// On an op: one ShardingAttr per result.
    static constexpr llvm::StringLiteral kShardingsAttr = "weft.shardings";
    /// On an op that takes time: the name by which reports and traces call it.
    static constexpr llvm::StringLiteral kOpNameAttr = "weft.op";
    /// On an op that reduces: its order (an OrderAttr); see there.
    static constexpr llvm::StringLiteral kOrderAttr = "weft.order";
    /// On a module: what its bits must not depend on (an InvarianceAttr).
    static constexpr llvm::StringLiteral kInvarianceAttr = "weft.invariance";
    /// On a module: the proof that its bits do not depend on that (a string of
    /// JSON that goes into the compiled step).
    static constexpr llvm::StringLiteral kCertificateAttr = "weft.certificate";
    /// On a module: what it is compiled for (a TargetAttr).
    static constexpr llvm::StringLiteral kTargetAttr = "weft.target";
    /// On a module, without a value: factors of f32 in contractions whose order
    /// is open may be rounded to TF32, where that is faster.
    static constexpr llvm::StringLiteral kTF32Attr = "weft.tf32";
    /// On a scheduled function: the figures of its schedule (a dictionary).
    static constexpr llvm::StringLiteral kScheduleAttr = "weft.schedule";
  }];
}

def Weft_ReduceKind : I32EnumAttr<"ReduceKind", "how values are combined", [
    I32EnumAttrCase<"Sum", 0, "sum">,
    I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">,
    I32EnumAttrCase<"Prod", 3, "prod">,
    I32EnumAttrCase<"And", 4, "and">,
    I32EnumAttrCase<"Or", 5, "or">]> {
  let cppNamespace = "::mlir::weft";
  let genSpecializedAttr = 0;
}

def Weft_ReduceKindAttr : EnumAttr<Weft_Dialect, Weft_ReduceKind, "reduce_kind"> {
  let assemblyFormat = "$value";
}

def Weft_Purpose : I32EnumAttr<"Purpose", "what a channel carries", [
    I32EnumAttrCase<"Gather", 0, "gather">,
    I32EnumAttrCase<"Reduce", 1, "reduce">,
    I32EnumAttrCase<"Data", 2, "data">,
    I32EnumAttrCase<"Activation", 3, "activation">,
    I32EnumAttrCase<"ExpertGather", 4, "expert_gather">,
    I32EnumAttrCase<"ExpertReduce", 5, "expert_reduce">,
    I32EnumAttrCase<"Amax", 6, "amax">,
    I32EnumAttrCase<"Offload", 7, "offload">,
    I32EnumAttrCase<"Fetch", 8, "fetch">]> {
  let cppNamespace = "::mlir::weft";
  let genSpecializedAttr = 0;
}

def Weft_PurposeAttr : EnumAttr<Weft_Dialect, Weft_Purpose, "purpose"> {
  let assemblyFormat = "$value";
}

class Weft_Op<string mnemonic, list<Trait> traits = []>
    : Op<Weft_Dialect, mnemonic, traits>;

#endif // WEFT_DIALECT_WEFT_IR_BASE_TD
