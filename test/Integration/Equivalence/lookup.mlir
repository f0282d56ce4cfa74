// RUN: %equivalence %s --mesh dp=1 --mesh tp=2 --mesh tp=3 --mesh tp=4 --mesh dp=3 --mesh dp=2,tp=2 --mesh dp=2,fsdp=3,tp=4

// Embedding and its gradient on a table whose rows are sharded, with indices
// below and above the table, take_along_axis and its gradient.
weft.mesh @mesh = <["dp"=1, "fsdp"=1, "tp"=1]>
func.func @lookup(
    %table: tensor<10x6xf32> {weft.name = "table", weft.sharding = #weft.sharding<@mesh, [{"tp"}, {"fsdp"}], storage = {"fsdp"}>},
    %tokens: tensor<8x3xi32> {weft.name = "tokens", weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}, {}]>},
    %g: tensor<8x3x6xf32> {weft.name = "g", weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}, {}, {}]>},
    %logits: tensor<8x3x10xf32> {weft.name = "logits", weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}, {}, {"tp"}]>})
    -> (tensor<8x3x6xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}, {}, {}]>},
        tensor<10x6xf32> {weft.name = "dtable", weft.sharding = #weft.sharding<@mesh, [{"tp"}, {"fsdp"}], storage = {"fsdp"}>},
        tensor<8x3xf32> {weft.name = "picked", weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}, {}]>},
        tensor<8x3x10xf32> {weft.name = "dlogits", weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}, {}, {"tp"}]>}) {
  %x = weft.take %table, %tokens {axis = 0 : i64, table_map = affine_map<(b, s, d) -> (d)>, index_map = affine_map<(b, s, d) -> (b, s)>}
      : tensor<10x6xf32>, tensor<8x3xi32> -> tensor<8x3x6xf32>
  %z = arith.constant dense<0.0> : tensor<10x6xf32>
  %dt = weft.scatter_add %z, %tokens, %g {axis = 0 : i64, table_map = affine_map<(b, s, d) -> (d)>, index_map = affine_map<(b, s, d) -> (b, s)>}
      : tensor<10x6xf32>, tensor<8x3xi32>, tensor<8x3x6xf32>
  %p = weft.take %logits, %tokens {axis = 2 : i64, table_map = affine_map<(b, s) -> (b, s)>, index_map = affine_map<(b, s) -> (b, s)>}
      : tensor<8x3x10xf32>, tensor<8x3xi32> -> tensor<8x3xf32>
  %zl = arith.constant dense<0.0> : tensor<8x3x10xf32>
  %dl = weft.scatter_add %zl, %tokens, %p {axis = 2 : i64, table_map = affine_map<(b, s) -> (b, s)>, index_map = affine_map<(b, s) -> (b, s)>}
      : tensor<8x3x10xf32>, tensor<8x3xi32>, tensor<8x3xf32>
  return %x, %dt, %p, %dl : tensor<8x3x6xf32>, tensor<10x6xf32>, tensor<8x3xf32>, tensor<8x3x10xf32>
}
