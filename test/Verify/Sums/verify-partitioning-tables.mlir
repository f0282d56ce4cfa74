// RUN: weft-opt %s --weft-verify-partitioning -split-input-file | FileCheck %s

// Tables whose last rows are padding, on some ranks all rows.

// Updates of a table of which nothing is known but where its rows begin: what
// is left of it says where it ends, also where its rows are summed at once and
// ranks 6 and 7 have only padding.

// CHECK-LABEL: func.func @summed
module {
  weft.mesh @mesh = <["x"=8]>
  func.func @summed(%i: tensor<5xi32>, %u: tensor<5xf32>) -> tensor<f32> {
    %c2 = arith.constant 2 : index
    %c11 = arith.constant 11 : index
    %zero = arith.constant 0.0 : f32
    %none = arith.constant dense<0.0> : tensor<f32>
    %table = arith.constant dense<0.0> : tensor<2xf32>
    %r = weft.axis_index @mesh <{"x"}>
    %b = arith.muli %r, %c2 : index
    %rest = arith.subi %c11, %b : index
    %0 = weft.scatter_add %table, %i, %u base %b {axis = 0 : i64, index_map = affine_map<(u) -> (u)>, table_map = affine_map<(u) -> ()>} : tensor<2xf32>, tensor<5xi32>, tensor<5xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(v) -> (v)>, affine_map<(v) -> ()>], iterator_types = ["reduction"]} ins(%0 : tensor<2xf32>) outs(%none : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %v = linalg.index 0 : index
      %is = arith.cmpi slt, %v, %rest : index
      %m = arith.select %is, %a, %zero : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %2 = weft.all_reduce sum %1 on @mesh <{"x"}> : (tensor<f32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
  module @global {
    func.func @summed(%i: tensor<5xi32>, %u: tensor<5xf32>) -> tensor<f32> {
      %none = arith.constant dense<0.0> : tensor<f32>
      %table = arith.constant dense<0.0> : tensor<11xf32>
      %0 = weft.scatter_add %table, %i, %u {axis = 0 : i64, index_map = affine_map<(u) -> (u)>, table_map = affine_map<(u) -> ()>} : tensor<11xf32>, tensor<5xi32>, tensor<5xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(v) -> (v)>, affine_map<(v) -> ()>], iterator_types = ["reduction"]} ins(%0 : tensor<11xf32>) outs(%none : tensor<f32>) {
      ^bb0(%a: f32, %o: f32):
        %s = arith.addf %o, %a : f32
        linalg.yield %s : f32
      } -> tensor<f32>
      return %1 : tensor<f32>
    }
  }
}

// -----

// An index that is the same for all elements, dropped if it is past the end.

// CHECK-LABEL: func.func @one_index
module {
  weft.mesh @mesh = <["x"=4]>
  func.func @one_index(%x: tensor<3xf32> {weft.global_type = tensor<10xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}]>}, %i: tensor<i32>) -> tensor<2xf32> {
    %c3 = arith.constant 3 : index
    %end = arith.constant 10 : i32
    %none = arith.constant -1 : i32
    %e = tensor.empty() : tensor<2xi32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%i : tensor<i32>) outs(%e : tensor<2xi32>) {
    ^bb0(%a: i32, %o: i32):
      %is = arith.cmpi slt, %a, %end : i32
      %s = arith.select %is, %a, %none : i32
      linalg.yield %s : i32
    } -> tensor<2xi32>
    %r = weft.axis_index @mesh <{"x"}>
    %b = arith.muli %r, %c3 : index
    %1 = weft.take %x, %0 base %b {axis = 0 : i64, index_map = affine_map<(d0) -> (d0)>, table_map = affine_map<(d0) -> ()>} : tensor<3xf32>, tensor<2xi32> -> tensor<2xf32>
    %2 = weft.all_reduce sum %1 on @mesh <{"x"}> : (tensor<2xf32>) -> tensor<2xf32>
    return %2 : tensor<2xf32>
  }
  module @global {
    func.func @one_index(%x: tensor<10xf32>, %i: tensor<i32>) -> tensor<2xf32> {
      %e = tensor.empty() : tensor<2xi32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%i : tensor<i32>) outs(%e : tensor<2xi32>) {
      ^bb0(%a: i32, %o: i32):
        linalg.yield %a : i32
      } -> tensor<2xi32>
      %1 = weft.take %x, %0 {axis = 0 : i64, index_map = affine_map<(d0) -> (d0)>, table_map = affine_map<(d0) -> ()>} : tensor<10xf32>, tensor<2xi32> -> tensor<2xf32>
      return %1 : tensor<2xf32>
    }
  }
}

// -----

// An index for each element.

// CHECK-LABEL: func.func @indices
module {
  weft.mesh @mesh = <["x"=4]>
  func.func @indices(%x: tensor<3xf32> {weft.global_type = tensor<10xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}]>}, %i: tensor<2x2xi32>) -> tensor<2x2xf32> {
    %c3 = arith.constant 3 : index
    %end = arith.constant 10 : i32
    %none = arith.constant -1 : i32
    %e = tensor.empty() : tensor<2x2xi32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%i : tensor<2x2xi32>) outs(%e : tensor<2x2xi32>) {
    ^bb0(%a: i32, %o: i32):
      %is = arith.cmpi slt, %a, %end : i32
      %s = arith.select %is, %a, %none : i32
      linalg.yield %s : i32
    } -> tensor<2x2xi32>
    %r = weft.axis_index @mesh <{"x"}>
    %b = arith.muli %r, %c3 : index
    %1 = weft.take %x, %0 base %b {axis = 0 : i64, index_map = affine_map<(d0, d1) -> (d0, d1)>, table_map = affine_map<(d0, d1) -> ()>} : tensor<3xf32>, tensor<2x2xi32> -> tensor<2x2xf32>
    %2 = weft.all_reduce sum %1 on @mesh <{"x"}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
    return %2 : tensor<2x2xf32>
  }
  module @global {
    func.func @indices(%x: tensor<10xf32>, %i: tensor<2x2xi32>) -> tensor<2x2xf32> {
      %e = tensor.empty() : tensor<2x2xi32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%i : tensor<2x2xi32>) outs(%e : tensor<2x2xi32>) {
      ^bb0(%a: i32, %o: i32):
        linalg.yield %a : i32
      } -> tensor<2x2xi32>
      %1 = weft.take %x, %0 {axis = 0 : i64, index_map = affine_map<(d0, d1) -> (d0, d1)>, table_map = affine_map<(d0, d1) -> ()>} : tensor<10xf32>, tensor<2x2xi32> -> tensor<2x2xf32>
      return %1 : tensor<2x2xf32>
    }
  }
}
