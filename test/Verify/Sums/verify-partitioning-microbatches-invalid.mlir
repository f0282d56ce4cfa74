// RUN: weft-opt %s --weft-verify-partitioning --split-input-file --verify-diagnostics

// What of verify-partitioning-microbatches.mlir must not be otherwise.

// The sum of both parts' products.

#v = affine_map<(i) -> (i)>
#s = affine_map<(i) -> ()>
#none = affine_map<() -> ()>
module {
  weft.mesh @mesh = <[]>
  func.func @products(%x: tensor<8xf32>) -> tensor<f32> {
    %one = arith.constant dense<1.0> : tensor<f32>
    %e = tensor.empty() : tensor<f32>
    %a = tensor.extract_slice %x[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
    %b = tensor.extract_slice %x[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
    %p = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]} ins(%a : tensor<4xf32>) outs(%one : tensor<f32>) {
    ^bb0(%i: f32, %o: f32):
      %m = arith.mulf %o, %i : f32
      linalg.yield %m : f32
    } -> tensor<f32>
    %q = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]} ins(%b : tensor<4xf32>) outs(%one : tensor<f32>) {
    ^bb0(%i: f32, %o: f32):
      %m = arith.mulf %o, %i : f32
      linalg.yield %m : f32
    } -> tensor<f32>
    // expected-error@+1 {{joins arith.mulf (r8 (d0) -> ()) and arith.mulf (r8 (d0) -> ()), which are not two neighbouring parts of one sum}}
    %r = linalg.generic {indexing_maps = [#none, #none, #none], iterator_types = []} ins(%p, %q : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 2>} {
    ^bb0(%i: f32, %j: f32, %o: f32):
      %m = arith.addf %i, %j : f32
      linalg.yield %m : f32
    } -> tensor<f32>
    return %r : tensor<f32>
  }
  module @global {
    func.func @products(%x: tensor<8xf32>) -> tensor<f32> {
      %one = arith.constant dense<1.0> : tensor<f32>
      %p = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]} ins(%x : tensor<8xf32>) outs(%one : tensor<f32>) {
      ^bb0(%i: f32, %o: f32):
        %m = arith.mulf %o, %i : f32
        linalg.yield %m : f32
      } -> tensor<f32>
      return %p : tensor<f32>
    }
  }
}

// -----

// The first part of a table's rows twice.

#v = affine_map<(i) -> (i)>
#s = affine_map<(i) -> ()>
#none = affine_map<() -> ()>
module {
  weft.mesh @mesh = <[]>
  func.func @sum_of_rows(%n: tensor<3xi32>, %u: tensor<3xf32>) -> tensor<f32> {
    %zeros = arith.constant dense<0.0> : tensor<4xf32>
    %zero = arith.constant dense<0.0> : tensor<f32>
    %f = tensor.empty() : tensor<f32>
    %a = weft.scatter_add %zeros, %n, %u {axis = 0 : i64, index_map = #v, table_map = #s} : tensor<4xf32>, tensor<3xi32>, tensor<3xf32>
    %b = weft.scatter_add %zeros, %n, %u {axis = 0 : i64, index_map = #v, table_map = #s} : tensor<4xf32>, tensor<3xi32>, tensor<3xf32>
    %p = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]} ins(%a : tensor<4xf32>) outs(%zero : tensor<f32>) {
    ^bb0(%i: f32, %o: f32):
      %m = arith.addf %o, %i : f32
      linalg.yield %m : f32
    } -> tensor<f32>
    %q = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]} ins(%b : tensor<4xf32>) outs(%zero : tensor<f32>) {
    ^bb0(%i: f32, %o: f32):
      %m = arith.addf %o, %i : f32
      linalg.yield %m : f32
    } -> tensor<f32>
    // expected-error@+1 {{combines parts 0, 0 of 2 of arith.addf (r8 (d0) -> ()), which are not all different}}
    %r = linalg.generic {indexing_maps = [#none, #none, #none], iterator_types = []} ins(%p, %q : tensor<f32>, tensor<f32>) outs(%f : tensor<f32>) {
    ^bb0(%i: f32, %j: f32, %o: f32):
      %m = arith.addf %i, %j : f32
      linalg.yield %m : f32
    } -> tensor<f32>
    return %r : tensor<f32>
  }
  module @global {
    func.func @sum_of_rows(%n: tensor<3xi32>, %u: tensor<3xf32>) -> tensor<f32> {
      %zeros = arith.constant dense<0.0> : tensor<8xf32>
      %zero = arith.constant dense<0.0> : tensor<f32>
      %a = weft.scatter_add %zeros, %n, %u {axis = 0 : i64, index_map = #v, table_map = #s} : tensor<8xf32>, tensor<3xi32>, tensor<3xf32>
      %p = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]} ins(%a : tensor<8xf32>) outs(%zero : tensor<f32>) {
      ^bb0(%i: f32, %o: f32):
        %m = arith.addf %o, %i : f32
        linalg.yield %m : f32
      } -> tensor<f32>
      return %p : tensor<f32>
    }
  }
}

// -----

// Rows in another order, of which one part says how many there are.

#v = affine_map<(i) -> (i)>
module {
  weft.mesh @mesh = <[]>
  func.func @put_together(%x: tensor<4xi32>) -> tensor<4xi32> {
    %c2 = arith.constant 2 : index
    %e = tensor.empty() : tensor<2xi32>
    %x1 = tensor.extract_slice %x[2] [2] [1] : tensor<4xi32> to tensor<2xi32>
    %a = linalg.generic {indexing_maps = [#v], iterator_types = ["parallel"]} outs(%e : tensor<2xi32>) {
    ^bb0(%o: i32):
      %i = linalg.index 0 : index
      %n = arith.index_cast %i : index to i32
      linalg.yield %n : i32
    } -> tensor<2xi32>
    %b = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]} ins(%x1 : tensor<2xi32>) outs(%e : tensor<2xi32>) {
    ^bb0(%p: i32, %o: i32):
      %i = linalg.index 0 : index
      %j = arith.addi %i, %c2 : index
      %n = arith.index_cast %j : index to i32
      linalg.yield %n : i32
    } -> tensor<2xi32>
    // expected-error@+1 {{concatenates along a dimension of size 4, of which a rank has 2 elements}}
    %r = tensor.concat dim(0) %b, %a : (tensor<2xi32>, tensor<2xi32>) -> tensor<4xi32>
    return %r : tensor<4xi32>
  }
  module @global {
    func.func @put_together(%x: tensor<4xi32>) -> tensor<4xi32> {
      %e = tensor.empty() : tensor<4xi32>
      %a = linalg.generic {indexing_maps = [#v], iterator_types = ["parallel"]} outs(%e : tensor<4xi32>) {
      ^bb0(%o: i32):
        %i = linalg.index 0 : index
        %n = arith.index_cast %i : index to i32
        linalg.yield %n : i32
      } -> tensor<4xi32>
      return %a : tensor<4xi32>
    }
  }
}
