// RUN: weft-opt %s --weft-verify-invariance -split-input-file | FileCheck %s

// A table of which each rank adds up some rows says nowhere how many there are:
// 8 at most, or the first 4 of these, or 3.

#rows = affine_map<(d0) -> (d0)>
#table = affine_map<(d0) -> ()>
// CHECK: weft.certificate
module attributes {weft.invariance = #weft.invariance<axes = ["y", "x"], leaves = 4>} {
  weft.mesh @mesh = <["y"=2, "x"=4]>
  func.func @f(%rows: tensor<24xi32>, %updates: tensor<24xf32>) -> (tensor<1xf32> {weft.global_type = tensor<3xf32>, weft.sharding = #weft.sharding<@mesh, [{"y", "x":(2)2}]>}) {
    %one = arith.constant dense<1.0> : tensor<1xf32>
    %base = weft.axis_index @mesh <{"y", "x"}>
    %0 = weft.scatter_add %one, %rows, %updates base %base {axis = 0 : i64, index_map = #rows, table_map = #table} : tensor<1xf32>, tensor<24xi32>, tensor<24xf32>
    %1 = weft.all_gather %0 on @mesh <{"y", "x"}> dims [0] : (tensor<1xf32>) -> tensor<8xf32>
    %2 = tensor.extract_slice %1[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
    %at = weft.axis_index @mesh <{"y", "x":(2)2}>
    %3 = tensor.extract_slice %2[%at] [1] [1] : tensor<4xf32> to tensor<1xf32>
    return %3 : tensor<1xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["y"=1, "x"=1]>
    func.func @f(%rows: tensor<24xi32>, %updates: tensor<24xf32>) -> tensor<3xf32> {
      %one = arith.constant dense<1.0> : tensor<3xf32>
      %0 = weft.scatter_add %one, %rows, %updates {axis = 0 : i64, index_map = #rows, table_map = #table} : tensor<3xf32>, tensor<24xi32>, tensor<24xf32>
      return %0 : tensor<3xf32>
    }
  }
}

// -----

// Elements that the user adds along one dimension, before another one is
// gathered and cut: they are no padding for ranks.

// CHECK: weft.certificate
module attributes {weft.invariance = #weft.invariance<axes = ["y"], leaves = 4>} {
  weft.mesh @mesh = <["x"=3, "y"=2]>
  func.func @f(%x: tensor<4x2xf32> {weft.global_type = tensor<10x2xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>}) -> tensor<40xf32> {
    %half = arith.constant 0.5 : f32
    %0 = tensor.pad %x low[0, 0] high[0, 2] {
    ^bb0(%i: index, %j: index):
      tensor.yield %half : f32
    } : tensor<4x2xf32> to tensor<4x4xf32>
    %1 = weft.all_gather %0 on @mesh <{"x"}> dims [0] : (tensor<4x4xf32>) -> tensor<12x4xf32>
    %2 = tensor.extract_slice %1[0, 0] [10, 4] [1, 1] : tensor<12x4xf32> to tensor<10x4xf32>
    %3 = tensor.collapse_shape %2 [[0, 1]] : tensor<10x4xf32> into tensor<40xf32>
    return %3 : tensor<40xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["x"=3, "y"=1]>
    func.func @f(%x: tensor<4x2xf32> {weft.global_type = tensor<10x2xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>}) -> tensor<40xf32> {
      %half = arith.constant 0.5 : f32
      %0 = tensor.pad %x low[0, 0] high[0, 2] {
      ^bb0(%i: index, %j: index):
        tensor.yield %half : f32
      } : tensor<4x2xf32> to tensor<4x4xf32>
      %1 = weft.all_gather %0 on @mesh <{"x"}> dims [0] : (tensor<4x4xf32>) -> tensor<12x4xf32>
      %2 = tensor.extract_slice %1[0, 0] [10, 4] [1, 1] : tensor<12x4xf32> to tensor<10x4xf32>
      %3 = tensor.collapse_shape %2 [[0, 1]] : tensor<10x4xf32> into tensor<40xf32>
      return %3 : tensor<40xf32>
    }
  }
}

// -----

// Four parts of numbers of rows, of which ranks have two each: the even ones do
// not say how many there are, but what the one-rank program sums does.

#v = affine_map<(i) -> (i)>
#s = affine_map<(i) -> ()>
#none = affine_map<() -> ()>
// CHECK: weft.certificate
module attributes {weft.invariance = #weft.invariance<axes = ["dp"], leaves = 4>} {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f() -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %c8 = arith.constant 8 : index
    %a = weft.axis_index @mesh <{"dp"}>
    %begin = arith.muli %a, %c8 : index
    %e = tensor.empty() : tensor<8xf32>
    %0 = linalg.generic {indexing_maps = [#v], iterator_types = ["parallel"]} outs(%e : tensor<8xf32>) {
    ^bb0(%out: f32):
      %index = linalg.index 0 : index
      %place = arith.addi %index, %begin : index
      %i = arith.index_cast %place : index to i32
      %n = arith.sitofp %i : i32 to f32
      linalg.yield %n : f32
    } -> tensor<8xf32>
    %even = tensor.extract_slice %0[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
    %odd = tensor.extract_slice %0[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
    %1 = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]} ins(%even : tensor<4xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 1>} {
    ^bb0(%in: f32, %out: f32):
      %sum = arith.addf %out, %in : f32
      linalg.yield %sum : f32
    } -> tensor<f32>
    %2 = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]} ins(%odd : tensor<4xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 1>} {
    ^bb0(%in: f32, %out: f32):
      %sum = arith.addf %out, %in : f32
      linalg.yield %sum : f32
    } -> tensor<f32>
    %r = tensor.empty() : tensor<f32>
    %3 = linalg.generic {indexing_maps = [#none, #none, #none], iterator_types = []} ins(%1, %2 : tensor<f32>, tensor<f32>) outs(%r : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 2>} {
    ^bb0(%in: f32, %other: f32, %out: f32):
      %sum = arith.addf %in, %other : f32
      linalg.yield %sum : f32
    } -> tensor<f32>
    %4 = weft.all_reduce sum %3 on @mesh <{"dp"}> {weft.order = #weft.order<leaves = 2>} : (tensor<f32>) -> tensor<f32>
    return %4 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["dp"=1]>
    func.func @f() -> tensor<f32> {
      %zero = arith.constant dense<0.0> : tensor<f32>
      %e = tensor.empty() : tensor<16xf32>
      %0 = linalg.generic {indexing_maps = [#v], iterator_types = ["parallel"]} outs(%e : tensor<16xf32>) {
      ^bb0(%out: f32):
        %index = linalg.index 0 : index
        %i = arith.index_cast %index : index to i32
        %n = arith.sitofp %i : i32 to f32
        linalg.yield %n : f32
      } -> tensor<16xf32>
      %1 = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]} ins(%0 : tensor<16xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 4>} {
      ^bb0(%in: f32, %out: f32):
        %sum = arith.addf %out, %in : f32
        linalg.yield %sum : f32
      } -> tensor<f32>
      return %1 : tensor<f32>
    }
  }
}
