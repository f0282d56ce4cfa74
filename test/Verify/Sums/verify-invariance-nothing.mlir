// A lookup in three rows, in parts of one: the last microbatch of the second
// rank has none, and what the rank finds in it adds nothing.
// RUN: weft-compile %s --mesh d=2,t=2 --accumulate t --invariant --to local -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// CHECK-COUNT-2: weft.take

// The other microbatch twice, or one of them alone, is something else.
// RUN: sed '0,/%%arg0\[1, 0\]/s//%%arg0[0, 0]/' %t.mlir > %t.twice.mlir
// RUN: not weft-opt %t.twice.mlir --weft-verify-invariance 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: {{.*}}looks up from row [1, 3], but the rank's rows begin at [0, 2]
// RUN: sed '0,/arith.addf %%in, %%in_1/s//arith.addf %%in, %%in/' %t.mlir > %t.alone.mlir
// RUN: not weft-opt %t.alone.mlir --weft-verify-invariance 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: error: {{.*}}computes with a contribution
weft.mesh @mesh = <["d"=1, "t"=1]>
func.func @main(%t: tensor<3x2xf32> {weft.name = "t", weft.sharding = #weft.sharding<@mesh, [{"d", "t"}, {}]>},
                %i: tensor<4xi32> {weft.name = "i", weft.sharding = #weft.sharding<@mesh, [{}]>})
    -> (tensor<4x2xf32> {weft.name = "r", weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %r = weft.take %t, %i {axis = 0 : i64, index_map = affine_map<(d0, d1) -> (d0)>, table_map = affine_map<(d0, d1) -> (d1)>}
      : tensor<3x2xf32>, tensor<4xi32> -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}
