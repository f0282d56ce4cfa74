// RUN: weft-opt %s --weft-verify-invariance -split-input-file -verify-diagnostics

// Rows are looked up in a sharded table and added up by segment before ranks
// combine them: each has its rows, and zeros for others'. Of integers the sum
// of what ranks add up is what they add up of the sum.

#i = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
module attributes {weft.invariance = #weft.invariance<axes = ["dp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<4xi32> {weft.global_type = tensor<8xi32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}]>},
               %at: tensor<6xi32>, %to: tensor<6xi32>) -> tensor<5xi32> {
    %zeros = arith.constant dense<0> : tensor<5xi32>
    %four = arith.constant 4 : index
    %rank = weft.axis_index @mesh <{"dp"}>
    %base = arith.muli %rank, %four : index
    %0 = weft.take %x, %at base %base {axis = 0 : i64, table_map = #none, index_map = #i} : tensor<4xi32>, tensor<6xi32> -> tensor<6xi32>
    %1 = weft.scatter_add %zeros, %to, %0 {axis = 0 : i64, table_map = #none, index_map = #i} : tensor<5xi32>, tensor<6xi32>, tensor<6xi32>
    %2 = weft.all_reduce sum %1 on @mesh <{"dp"}> : (tensor<5xi32>) -> tensor<5xi32>
    return %2 : tensor<5xi32>
  }
  module @one_rank {
    weft.mesh @mesh = <["dp"=1]>
    func.func @f(%x: tensor<8xi32>, %at: tensor<6xi32>, %to: tensor<6xi32>) -> tensor<5xi32> {
      %zeros = arith.constant dense<0> : tensor<5xi32>
      %0 = weft.take %x, %at {axis = 0 : i64, table_map = #none, index_map = #i} : tensor<8xi32>, tensor<6xi32> -> tensor<6xi32>
      %1 = weft.scatter_add %zeros, %to, %0 {axis = 0 : i64, table_map = #none, index_map = #i} : tensor<5xi32>, tensor<6xi32>, tensor<6xi32>
      return %1 : tensor<5xi32>
    }
  }
}

// -----

// What it begins with would be added by each rank.

#i = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
module attributes {weft.invariance = #weft.invariance<axes = ["dp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<4xi32> {weft.global_type = tensor<8xi32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}]>},
               %at: tensor<6xi32>, %to: tensor<6xi32>, %start: tensor<5xi32>) -> tensor<5xi32> {
    %four = arith.constant 4 : index
    %rank = weft.axis_index @mesh <{"dp"}>
    %base = arith.muli %rank, %four : index
    %0 = weft.take %x, %at base %base {axis = 0 : i64, table_map = #none, index_map = #i} : tensor<4xi32>, tensor<6xi32> -> tensor<6xi32>
    // expected-error @+1 {{puts together contributions and argument 5xi32}}
    %1 = weft.scatter_add %start, %to, %0 {axis = 0 : i64, table_map = #none, index_map = #i} : tensor<5xi32>, tensor<6xi32>, tensor<6xi32>
    %2 = weft.all_reduce sum %1 on @mesh <{"dp"}> : (tensor<5xi32>) -> tensor<5xi32>
    return %2 : tensor<5xi32>
  }
  module @one_rank {
    weft.mesh @mesh = <["dp"=1]>
    func.func @f(%x: tensor<8xi32>, %at: tensor<6xi32>, %to: tensor<6xi32>, %start: tensor<5xi32>) -> tensor<5xi32> {
      %0 = weft.take %x, %at {axis = 0 : i64, table_map = #none, index_map = #i} : tensor<8xi32>, tensor<6xi32> -> tensor<6xi32>
      %1 = weft.scatter_add %start, %to, %0 {axis = 0 : i64, table_map = #none, index_map = #i} : tensor<5xi32>, tensor<6xi32>, tensor<6xi32>
      return %1 : tensor<5xi32>
    }
  }
}

// -----

// Floats are rounded after each addition.

#i = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
module attributes {weft.invariance = #weft.invariance<axes = ["dp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<4xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}]>},
               %at: tensor<6xi32>, %to: tensor<6xi32>) -> tensor<5xf32> {
    %zeros = arith.constant dense<0.0> : tensor<5xf32>
    %four = arith.constant 4 : index
    %rank = weft.axis_index @mesh <{"dp"}>
    %base = arith.muli %rank, %four : index
    %0 = weft.take %x, %at base %base {axis = 0 : i64, table_map = #none, index_map = #i} : tensor<4xf32>, tensor<6xi32> -> tensor<6xf32>
    // expected-error @+1 {{computes with a contribution: one of 2 parts of take}}
    %1 = weft.scatter_add %zeros, %to, %0 {axis = 0 : i64, table_map = #none, index_map = #i} : tensor<5xf32>, tensor<6xi32>, tensor<6xf32>
    %2 = weft.all_reduce sum %1 on @mesh <{"dp"}> : (tensor<5xf32>) -> tensor<5xf32>
    return %2 : tensor<5xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["dp"=1]>
    func.func @f(%x: tensor<8xf32>, %at: tensor<6xi32>, %to: tensor<6xi32>) -> tensor<5xf32> {
      %zeros = arith.constant dense<0.0> : tensor<5xf32>
      %0 = weft.take %x, %at {axis = 0 : i64, table_map = #none, index_map = #i} : tensor<8xf32>, tensor<6xi32> -> tensor<6xf32>
      %1 = weft.scatter_add %zeros, %to, %0 {axis = 0 : i64, table_map = #none, index_map = #i} : tensor<5xf32>, tensor<6xi32>, tensor<6xf32>
      return %1 : tensor<5xf32>
    }
  }
}
