// RUN: weft-compile %s --invariant=mesh --to local -o - | FileCheck %s


// What one rank has found of integers may be looked into before it is joined,
// and counts of what is cut unequally have no order.

// CHECK-LABEL: func.func @looked_up
// CHECK: weft.take
// CHECK: weft.take
// CHECK: weft.scatter_add
module {
  weft.mesh @mesh = <["x"=8]>
  func.func @looked_up(%table: tensor<16x5xi32> {weft.name = "table", weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>},
      %i: tensor<4xi32> {weft.name = "i"}, %j: tensor<3xi32> {weft.name = "j"},
      %k: tensor<20xi32> {weft.name = "k", weft.sharding = #weft.sharding<@mesh, [{"x"}]>})
      -> (tensor<3x5xi32> {weft.name = "found"}, tensor<6xi32> {weft.name = "counts"}) {
    %rows = weft.take %table, %i {axis = 0 : i64, index_map = affine_map<(i, v) -> (i)>, table_map = affine_map<(i, v) -> (v)>} : tensor<16x5xi32>, tensor<4xi32> -> tensor<4x5xi32>
    %found = weft.take %rows, %j {axis = 0 : i64, index_map = affine_map<(i, v) -> (i)>, table_map = affine_map<(i, v) -> (v)>} : tensor<4x5xi32>, tensor<3xi32> -> tensor<3x5xi32>
    %none = arith.constant dense<0> : tensor<6xi32>
    %ones = arith.constant dense<1> : tensor<20xi32>
    %counts = weft.scatter_add %none, %k, %ones {axis = 0 : i64, index_map = affine_map<(i) -> (i)>, table_map = affine_map<(i) -> ()>} : tensor<6xi32>, tensor<20xi32>, tensor<20xi32>
    return %found, %counts : tensor<3x5xi32>, tensor<6xi32>
  }
}
