// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// What lies past the end of a dimension is what the last choice puts there.

// Zeros, over which ones are put.

module {
  weft.mesh @mesh = <["a"=3]>
  func.func @f(%x: tensor<3xf32> {weft.global_type = tensor<7xf32>, weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %n0 = arith.constant 7 : index
    %e = arith.constant 3 : index
    %init = arith.constant dense<0.0> : tensor<f32>
    %a = weft.axis_index @mesh <{"a"}>
    %b = arith.muli %a, %e : index
    %left = arith.subi %n0, %b : index
    %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<3xf32>) outs(%init : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %j = linalg.index 0 : index
      %m = arith.cmpi slt, %j, %left : index
      %s = arith.select %m, %in, %zero : f32
      %t = arith.select %m, %s, %one : f32
      // expected-error@+1 {{combines elements past the end of a dimension of size 7}}
      %r = arith.addf %out, %t : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    %1 = weft.all_reduce sum %0 on @mesh <{"a"}> : (tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
  module @global {
    func.func @f(%x: tensor<7xf32>) -> tensor<f32> {
      %init = arith.constant dense<0.0> : tensor<f32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<7xf32>) outs(%init : tensor<f32>) {
      ^bb0(%in: f32, %out: f32):
        %r = arith.addf %out, %in : f32
        linalg.yield %r : f32
      } -> tensor<f32>
      return %0 : tensor<f32>
    }
  }
}

// -----

// Zeros, over which ones are put from one past the end on.

module {
  weft.mesh @mesh = <["a"=3]>
  func.func @f(%x: tensor<3xf32> {weft.global_type = tensor<7xf32>, weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %n0 = arith.constant 7 : index
    %n1 = arith.constant 8 : index
    %e = arith.constant 3 : index
    %init = arith.constant dense<0.0> : tensor<f32>
    %a = weft.axis_index @mesh <{"a"}>
    %b = arith.muli %a, %e : index
    %left = arith.subi %n0, %b : index
    %more = arith.subi %n1, %b : index
    %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<3xf32>) outs(%init : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %j = linalg.index 0 : index
      %m = arith.cmpi slt, %j, %left : index
      %n = arith.cmpi slt, %j, %more : index
      %s = arith.select %m, %in, %zero : f32
      %t = arith.select %n, %s, %one : f32
      // expected-error@+1 {{combines elements past the end of a dimension of size 7}}
      %r = arith.addf %out, %t : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    %1 = weft.all_reduce sum %0 on @mesh <{"a"}> : (tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
  module @global {
    func.func @f(%x: tensor<7xf32>) -> tensor<f32> {
      %init = arith.constant dense<0.0> : tensor<f32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<7xf32>) outs(%init : tensor<f32>) {
      ^bb0(%in: f32, %out: f32):
        %r = arith.addf %out, %in : f32
        linalg.yield %r : f32
      } -> tensor<f32>
      return %0 : tensor<f32>
    }
  }
}

// -----

// A mask that is true in the padding, too, is none.

module {
  weft.mesh @mesh = <["a"=3]>
  func.func @f(%x: tensor<3xf32> {weft.global_type = tensor<7xf32>, weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %true = arith.constant true
    %n0 = arith.constant 7 : index
    %e = arith.constant 3 : index
    %init = arith.constant dense<0.0> : tensor<f32>
    %a = weft.axis_index @mesh <{"a"}>
    %b = arith.muli %a, %e : index
    %left = arith.subi %n0, %b : index
    %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<3xf32>) outs(%init : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %j = linalg.index 0 : index
      %m = arith.cmpi slt, %j, %left : index
      %n = arith.select %m, %m, %true : i1
      %s = arith.select %n, %in, %zero : f32
      // expected-error@+1 {{combines elements past the end of a dimension of size 7}}
      %r = arith.addf %out, %s : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    %1 = weft.all_reduce sum %0 on @mesh <{"a"}> : (tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
  module @global {
    func.func @f(%x: tensor<7xf32>) -> tensor<f32> {
      %init = arith.constant dense<0.0> : tensor<f32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<7xf32>) outs(%init : tensor<f32>) {
      ^bb0(%in: f32, %out: f32):
        %r = arith.addf %out, %in : f32
        linalg.yield %r : f32
      } -> tensor<f32>
      return %0 : tensor<f32>
    }
  }
}

// -----

// Of two chunks that are put together only one has zeros there.

module {
  weft.mesh @mesh = <["a"=2]>
  func.func @f(%x: tensor<2x2xf32> {weft.global_type = tensor<2x3xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"a"}]>}) -> tensor<2xf32> {
    %zero = arith.constant 0.0 : f32
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %init = arith.constant dense<0.0> : tensor<2xf32>
    %a = weft.axis_index @mesh <{"a"}>
    %b = arith.muli %a, %c2 : index
    %left = arith.subi %c3, %b : index
    %r0 = tensor.extract_slice %x[0, 0] [1, 2] [1, 1] : tensor<2x2xf32> to tensor<1x2xf32>
    %r1 = tensor.extract_slice %x[1, 0] [1, 2] [1, 1] : tensor<2x2xf32> to tensor<1x2xf32>
    %e = tensor.empty() : tensor<1x2xf32>
    %m0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%r0 : tensor<1x2xf32>) outs(%e : tensor<1x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      %j = linalg.index 1 : index
      %m = arith.cmpi slt, %j, %left : index
      %s = arith.select %m, %in, %zero : f32
      linalg.yield %s : f32
    } -> tensor<1x2xf32>
    %y = tensor.concat dim(0) %m0, %r1 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%y : tensor<2x2xf32>) outs(%init : tensor<2xf32>) {
    ^bb0(%in: f32, %out: f32):
      // expected-error@+1 {{combines elements past the end of a dimension of size 3}}
      %r = arith.addf %out, %in : f32
      linalg.yield %r : f32
    } -> tensor<2xf32>
    %1 = weft.all_reduce sum %0 on @mesh <{"a"}> : (tensor<2xf32>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
  module @global {
    func.func @f(%x: tensor<2x3xf32>) -> tensor<2xf32> {
      %init = arith.constant dense<0.0> : tensor<2xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x3xf32>) outs(%init : tensor<2xf32>) {
      ^bb0(%in: f32, %out: f32):
        %r = arith.addf %out, %in : f32
        linalg.yield %r : f32
      } -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }
  }
}

// -----

// A mask as a tensor is false past the end, and so not the same everywhere.

module {
  weft.mesh @mesh = <["a"=2]>
  func.func @f() -> (tensor<1xi1> {weft.global_type = tensor<2xi1>, weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %a = weft.axis_index @mesh <{"a"}>
    %b = arith.muli %a, %c2 : index
    %left = arith.subi %c3, %b : index
    %e = tensor.empty() : tensor<2xi1>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e : tensor<2xi1>) {
    ^bb0(%out: i1):
      %j = linalg.index 0 : index
      %m = arith.cmpi slt, %j, %left : index
      linalg.yield %m : i1
    } -> tensor<2xi1>
    %1 = tensor.extract_slice %0[1] [1] [1] : tensor<2xi1> to tensor<1xi1>
    // expected-error@+1 {{result #0 has dim 0 of size 3 in chunks [1, 3], expected size 2 in chunks [0, 1]}}
    return %1 : tensor<1xi1>
  }
  module @global {
    func.func @f() -> tensor<2xi1> {
      %0 = arith.constant dense<true> : tensor<2xi1>
      return %0 : tensor<2xi1>
    }
  }
}
