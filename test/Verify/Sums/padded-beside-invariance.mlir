// If only some axes are invariant, the one-rank program is cut along the others, too: what is padded in it to be cut is as
// long as what an argument brings that is cut unequally.

// RUN: weft-compile %s --invariant=y --to local -o - | FileCheck %s
// CHECK: func.func @step
// CHECK: tensor.pad

weft.mesh @mesh = <["x"=3, "y"=1]>
func.func @step(%i: tensor<5xi32> {weft.sharding = #weft.sharding<@mesh, [{}]>},
                %u: tensor<5xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}]>}) -> tensor<100x5xf32> {
  %t = arith.constant dense<1.0> : tensor<100x5xf32>
  %0 = weft.scatter_add %t, %i, %u {axis = 0 : i64, index_map = affine_map<(d0) -> (d0)>, table_map = affine_map<(d0) -> (d0)>} : tensor<100x5xf32>, tensor<5xi32>, tensor<5xf32>
  return %0 : tensor<100x5xf32>
}
