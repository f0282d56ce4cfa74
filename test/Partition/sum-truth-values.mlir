// No collective adds truth values: what is added is gathered.

// RUN: weft-compile %s --to local -o - | FileCheck %s
// CHECK: weft.all_gather
// CHECK-NOT: weft.all_reduce
// CHECK: weft.scatter_add

weft.mesh @mesh = <["x"=2]>
func.func @main(%i: tensor<4xi32> {weft.sharding = #weft.sharding<@mesh, [{"x"}]>},
                %u: tensor<4xi1> {weft.sharding = #weft.sharding<@mesh, [{"x"}]>}) -> tensor<10xi1> {
  %t = arith.constant dense<false> : tensor<10xi1>
  %0 = weft.scatter_add %t, %i, %u {axis = 0 : i64, index_map = affine_map<(d0) -> (d0)>, table_map = affine_map<(d0) -> ()>}
       : tensor<10xi1>, tensor<4xi32>, tensor<4xi1>
  return %0 : tensor<10xi1>
}
