// SPDX-License-Identifier: Apache-2.0

// Meshes, axes and shardings as attributes. Their textual form follows
// Shardy's, which users know.

#ifndef WEFT_DIALECT_WEFT_IR_ATTRS_TD
#define WEFT_DIALECT_WEFT_IR_ATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "weft/Dialect/Weft/IR/WeftBase.td"

class Weft_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Weft_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Weft_MeshAxisAttr : Weft_Attr<"MeshAxis", "mesh_axis"> {
  let summary = "a named mesh axis and its size";
  let parameters = (ins StringRefParameter<"axis name">:$name, "int64_t":$size);
  let assemblyFormat = "`<` $name `=` $size `>`";
}

def Weft_MeshAttr : Weft_Attr<"Mesh", "mesh"> {
  let summary = "the ranks of a job, arranged along named axes";
  let description = [{
    Rank ids are row-major over the axes: on `["dp"=2, "tp"=4]` rank 5 has
    dp = 1, tp = 1. Axis names are unique, sizes are positive.
  }];
  let parameters = (ins ArrayRefParameter<"MeshAxisAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Product of the axis sizes.
    int64_t getNumRanks() const;
    /// The size of the named axis, or nullopt if there is none.
    std::optional<int64_t> getAxisSize(llvm::StringRef name) const;
    /// The position of the named axis, or nullopt if there is none.
    std::optional<unsigned> getAxisIndex(llvm::StringRef name) const;
  }];
}

def Weft_AxisRefAttr : Weft_Attr<"AxisRef", "axis_ref"> {
  let summary = "a mesh axis or a part of one";
  let description = [{
    `"tp"` is a whole axis. `"tp":(2)4` is the sub-axis of size 4 that is left
    after the `2` major-most parts: a coordinate c along `tp` is
    `(hi * 4 + mid) * rest + lo` with hi in [0, 2), and the sub-axis is `mid`.
  }];
  // size 0 stands for the whole axis.
  let parameters = (ins StringRefParameter<"axis name">:$name,
                        "int64_t":$preSize, "int64_t":$size);
  let builders = [AttrBuilder<(ins "llvm::StringRef":$name), [{
    return $_get($_ctxt, name, 1, 0);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    bool isWholeAxis() const { return getSize() == 0; }
  }];
}

def Weft_AxesAttr : Weft_Attr<"Axes", "axes"> {
  let summary = "a list of axes, major first";
  let parameters = (ins ArrayRefParameter<"AxisRefAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
}

def Weft_DimShardingAttr : Weft_Attr<"DimSharding", "dim_sharding"> {
  let summary = "the axes that shard one dimension, major first";
  let description = [{
    `{"dp", "fsdp"}` cuts the dimension over dp, and each part over fsdp.
    `{"dp", ?}` is open: propagation may add axes.
  }];
  let parameters = (ins ArrayRefParameter<"AxisRefAttr">:$axes, "bool":$isOpen);
  let hasCustomAssemblyFormat = 1;
}

def Weft_ShardingAttr : Weft_Attr<"Sharding", "sharding"> {
  let summary = "how a tensor is split over a mesh";
  let description = [{
    One list of axes per dimension. An axis (or part of one) shards at most
    one dimension. A dimension of size n over t shards is cut in chunks of
    ceil(n / t).

    `storage` names axes that shard the value only where it rests: compute
    uses see it gathered along them. `partial` names axes along which each
    rank holds only a contribution; the value is the contributions' sum (or
    max, min, prod, and, or). Arguments and results of a function are never
    partial.

    Example: the weight of shape 256x512 rests as 128x256 on each rank and is
    used as 256x256.
    ```mlir
    weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
    func.func @f(%w: tensor<256x512xf32> {
        weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {"tp"} ], storage = {"fsdp"}>}) {
      return
    }
    ```
  }];
  let parameters = (ins
    "::mlir::FlatSymbolRefAttr":$mesh,
    ArrayRefParameter<"DimShardingAttr">:$dims,
    OptionalArrayRefParameter<"AxisRefAttr">:$storage,
    DefaultValuedParameter<"ReduceKind", "ReduceKind::Sum">:$partialKind,
    OptionalArrayRefParameter<"AxisRefAttr">:$partial);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The sharding that keeps a tensor of the given rank whole, and closed.
    static ShardingAttr getReplicated(::mlir::FlatSymbolRefAttr mesh,
                                      int64_t rank);
    int64_t getRank() const { return getDims().size(); }
  }];
}

#endif // WEFT_DIALECT_WEFT_IR_ATTRS_TD
