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
  let description = [{
    Example: the axes of a mesh.
    ```mlir
    weft.mesh @mesh = <["dp"=2, "tp"=4]>
    ```
  }];
  let parameters = (ins StringRefParameter<"axis name">:$name, "int64_t":$size);
  let assemblyFormat = "`<` $name `=` $size `>`";
}

def Weft_MeshAttr : Weft_Attr<"Mesh", "mesh"> {
  let summary = "the ranks of a job, arranged along named axes";
  let description = [{
    Rank ids are row-major over the axes: on `["dp"=2, "tp"=4]` rank 5 has
    dp = 1, tp = 1. Axis names are unique, sizes are positive.

    Example: 8 ranks.
    ```mlir
    weft.mesh @mesh = <["dp"=2, "tp"=4]>
    ```
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

    Example: two parts of one axis shard a dimension each.
    ```mlir
    weft.mesh @mesh = <["tp"=8]>
    func.func @f(%x: tensor<2x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp":(1)2}, {"tp":(2)4} ]>}) {
      return
    }
    ```
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
  let description = [{
    Example: the sum over eight ranks, of which the four along tp are neighbours.
    ```mlir
    weft.mesh @mesh = <["dp"=2, "tp"=4]>
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = weft.all_reduce sum %x on @mesh <{"dp", "tp"}> : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
  }];
  let parameters = (ins ArrayRefParameter<"AxisRefAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
}

def Weft_DimShardingAttr : Weft_Attr<"DimSharding", "dim_sharding"> {
  let summary = "the axes that shard one dimension, major first";
  let description = [{
    `{"dp", "fsdp"}` cuts the dimension over dp, and each part over fsdp.
    `{"dp", ?}` is open: propagation may add axes.

    Example: four parts of the first dimension; the second one is open.
    ```mlir
    weft.mesh @mesh = <["dp"=2, "fsdp"=2]>
    func.func @f(%x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}, {?} ]>}) {
      return
    }
    ```
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

def Weft_OrderAttr : Weft_Attr<"Order", "order"> {
  let summary = "the order in which a floating-point reduction adds up";
  let description = [{
    On an op that reduces, as `weft.order`: the expression tree of each result
    element. Without it the order is open: whatever is fast.

    Let K be the flattened index of the op's reduction loops in the order of its
    loops, the first one major. K is cut in `leaves` equal parts. A leaf is one
    sum in a fixed order, which starts at the combiner's identity (+0, or 1):

    - weft.matmul: the chain of runtime/backends/host/gemm/gemm.h over the leaf's elements.
    - linalg.generic with `lanes` = 1: a chain in the order of K.
    - linalg.generic with `lanes` = n > 1, where the last loop is a reduction:
      lane j is the chain of the elements whose index along the last loop,
      counted from the leaf's first, is j modulo n; lanes are joined by halving:
      lane j and lane j + n/2, then n/4, ... , 1. A leaf is a whole number of
      runs along the last loop, or a part of one run.
    - weft.all_reduce and weft.reduce_scatter: leaf j is member j's tensor.

    Leaves join in a binary tree: n leaves are the tree of the first m and the
    tree of the rest, added, where m is the largest power of two below n. If
    P / t is a power of two, the tree of P leaves is the tree of t trees of P / t
    leaves: a rank that holds 1/t of K computes one of them.

    The accumulator is the op's; each join is rounded to its type. With `rounded`
    each leaf and each join of a weft.matmul is rounded to the result's type.
    What the op adds to (the init of a generic) is added last, in front:
    `init + tree`.

    Reductions that are exact in any order (integers, max, min, and, or) need
    none. A weft.scatter_add always adds in row-major order of its updates.

    Example: eight leaves of 128 elements.
    ```mlir
    func.func @f(%x: tensor<8x1024xf32>, %w: tensor<1024x32xf32>) -> tensor<8x32xf32> {
      %0 = weft.matmul %x, %w {weft.order = #weft.order<leaves = 8>, indexing_maps = [
             affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
             affine_map<(m, n, k) -> (m, n)>]}
           : tensor<8x1024xf32>, tensor<1024x32xf32> -> tensor<8x32xf32>
      return %0 : tensor<8x32xf32>
    }
    ```
  }];
  let parameters = (ins "int64_t":$leaves,
                        DefaultValuedParameter<"int64_t", "1">:$lanes,
                        DefaultValuedParameter<"bool", "false">:$rounded);
  let assemblyFormat = [{
    `<` struct(params) `>`
  }];
  let genVerifyDecl = 1;
}

def Weft_AttentionAttr : Weft_Attr<"Attention", "attention"> {
  let summary = "how attention weighs keys";
  let description = [{
    On weft.attention and its gradient. With p the position of a query among the
    keys, q[i] and k[j] rows of queries and keys, and x = scale * (q[i] . k[j]):

    - the score is `softcap * tanh(x / softcap)`, or x without a softcap;
    - the bias is added to it; where the mask is 0, it is `fill` (-inf if absent)
      instead;
    - a query sees key j if `p - left <= j <= p + right`, where a bound that is
      absent bounds nothing, and if their segments are equal. `right = 0` is
      causal attention;
    - key j is dropped for query i if its bits, as an unsigned number, are below
      `dropout * 2^32`, rounded down. With the query's seeds (low, high) as the two
      words of the key, the bits of keys j and j + 16, for j mod 32 < 16, are the two
      words that threefry2x32 of 20 rounds, which is that of JAX, makes of the counter
      `(j / 32 * 16 + j mod 32, 0)`.

    Constraints:
    1. (c1) `scale` is a finite f32, `softcap` a positive one, `fill` one of at
       most 0, `dropout` one of at least 0 and below 1.
    2. (c2) `left` and `right` are not negative.

    Example: causal, over a window of 1024 keys.
    ```mlir
    #attention = #weft.attention<scale = 0.125 : f32, left = 1023, right = 0>
    ```
  }];
  let parameters = (ins "::mlir::FloatAttr":$scale,
                        OptionalParameter<"::mlir::FloatAttr">:$softcap,
                        OptionalParameter<"::mlir::FloatAttr">:$fill,
                        OptionalParameter<"std::optional<int64_t>">:$left,
                        OptionalParameter<"std::optional<int64_t>">:$right,
                        OptionalParameter<"::mlir::FloatAttr">:$dropout);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Says whether some keys may not be seen because of where they are.
    bool hasWindow() const { return getLeft() || getRight(); }
    /// As numbers of the runtime: 0 without a softcap or a dropout, -inf without
    /// a fill.
    float getScaleValue() const;
    float getSoftcapValue() const;
    float getFillValue() const;
    float getDropoutValue() const;
  }];
}

def Weft_InvarianceAttr : Weft_Attr<"Invariance", "invariance"> {
  let summary = "what a program's bits must not depend on";
  let description = [{
    On a module, as `weft.invariance`: its results have the same bits whatever
    the sizes of `axes`. Reductions carry orders of at most `leaves` leaves. Axes
    that are not listed may change bits when their size changes.

    Example:
    ```mlir
    module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
    }
    ```
  }];
  let parameters = (ins "::mlir::ArrayAttr":$axes, "int64_t":$leaves);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool hasAxis(llvm::StringRef name) const;
  }];
}

def Weft_TargetAttr : Weft_Attr<"Target", "target"> {
  let summary = "what a program is compiled for";
  let description = [{
    On a module, as `weft.target`: the name of a target, and its options. A module
    without one is for the host. The host's one option is `cpu`, the CPU as LLVM
    names it; without it, code is for the CPU that the compiler runs on.

    Example:
    ```mlir
    module attributes {weft.target = #weft.target<"host", {cpu = "x86-64-v3"}>} {
    }
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$name,
                        OptionalParameter<"::mlir::DictionaryAttr">:$options);
  let assemblyFormat = "`<` $name (`,` $options^)? `>`";
}

#endif // WEFT_DIALECT_WEFT_IR_ATTRS_TD
