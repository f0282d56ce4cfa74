// SPDX-License-Identifier: Apache-2.0

// What the collectives have in common, so that no pass lists them.

#ifndef WEFT_DIALECT_WEFT_IR_COLLECTIVEOPINTERFACE_TD
#define WEFT_DIALECT_WEFT_IR_COLLECTIVEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def Weft_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::mlir::weft";
  let description = [{
    A collective between the ranks that differ only along `axes` of a mesh, on
    local tensors: operand i gives result i. A collective whose results are
    futures is started where it stands, and done where they are waited for.

    Dims are those of each operand, in order; groups are counted in ranks. The
    bytes that a rank receives are what getReceivedBytes (weft/Analysis/Traffic.h)
    counts of kind, group and types.

    The verifier checks (c1) that reductions, and only they, say how they combine,
    and (c2) that only kinds that gather (all_gather, all_to_all) or scatter
    (reduce_scatter, all_to_all) have dims for that.

    Example: the axes that all collectives of a function run over.
    ```c++
    func.walk([&](CollectiveOpInterface op) { axes.insert(op.getAxesAttr()); });
    ```
  }];
  let methods = [
    InterfaceMethod<"Returns what it does.",
      "::mlir::weft::CollectiveKind", "getCollectiveKind">,
    InterfaceMethod<"Returns the name of the mesh.",
      "::mlir::FlatSymbolRefAttr", "getMeshAttr">,
    InterfaceMethod<"Returns the axes along which the group's members differ.",
      "::mlir::weft::AxesAttr", "getAxesAttr">,
    InterfaceMethod<"Returns the name of the channel that it runs on, or null.",
      "::mlir::FlatSymbolRefAttr", "getChannelAttr">,
    InterfaceMethod<"Lets it run on a channel.",
      "void", "setChannelAttr", (ins "::mlir::FlatSymbolRefAttr":$channel)>,
    InterfaceMethod<[{
      Returns how the members' tensors are combined; nullopt if they are only
      moved.
    }], "std::optional<::mlir::weft::ReduceKind>", "getReduction", (ins), "",
      [{ return std::nullopt; }]>,
    InterfaceMethod<[{
      Returns, per operand, the dim along which the members' tensors are put one
      after the other; nothing if they are not.
    }], "::llvm::ArrayRef<int64_t>", "getGatheredDims", (ins), "",
      [{ return {}; }]>,
    InterfaceMethod<[{
      Returns, per operand, the dim of which each member keeps a part; nothing if
      all keep all.
    }], "::llvm::ArrayRef<int64_t>", "getScatteredDims", (ins), "",
      [{ return {}; }]>,
    InterfaceMethod<"Sets these dims, if it has any.", "void",
      "setGatheredDims", (ins "::llvm::ArrayRef<int64_t>":$dims), "", [{ return; }]>,
    InterfaceMethod<"Sets these dims, if it has any.", "void",
      "setScatteredDims", (ins "::llvm::ArrayRef<int64_t>":$dims), "", [{ return; }]>,
  ];
  let extraSharedClassDeclaration = [{
    /// The size of the group, in ranks.
    int64_t getGroupSize() {
      return ::mlir::weft::getNumShards(
          ::mlir::weft::lookupMesh($_op, $_op.getMeshAttr()),
          $_op.getAxesAttr().getAxes());
    }
    /// Says whether its results are futures.
    bool isStarted() {
      return $_op->getNumResults() != 0 &&
             ::llvm::isa<::mlir::weft::FutureType>(
                 $_op->getResult(0).getType());
    }
  }];
  let verify = [{
    return ::mlir::weft::detail::verifyCollectiveOpInterface(
        ::llvm::cast<::mlir::weft::CollectiveOpInterface>($_op));
  }];
}

#endif // WEFT_DIALECT_WEFT_IR_COLLECTIVEOPINTERFACE_TD
