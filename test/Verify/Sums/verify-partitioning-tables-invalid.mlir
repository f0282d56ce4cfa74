// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// What of verify-partitioning-tables.mlir must not be otherwise.

// Updates of a table of which nothing is known but where its rows begin: what
// is left of it says where it ends, also where its rows are summed at once and
// ranks 6 and 7 have only padding.

module {
  weft.mesh @mesh = <["x"=8]>
  func.func @too_many(%i: tensor<5xi32>, %u: tensor<5xf32>) -> tensor<f32> {
    %c2 = arith.constant 2 : index
    %c12 = arith.constant 12 : index
    %zero = arith.constant 0.0 : f32
    %none = arith.constant dense<0.0> : tensor<f32>
    %table = arith.constant dense<0.0> : tensor<2xf32>
    %r = weft.axis_index @mesh <{"x"}>
    %b = arith.muli %r, %c2 : index
    %rest = arith.subi %c12, %b : index
    %0 = weft.scatter_add %table, %i, %u base %b {axis = 0 : i64, index_map = affine_map<(u) -> (u)>, table_map = affine_map<(u) -> ()>} : tensor<2xf32>, tensor<5xi32>, tensor<5xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(v) -> (v)>, affine_map<(v) -> ()>], iterator_types = ["reduction"]} ins(%0 : tensor<2xf32>) outs(%none : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %v = linalg.index 0 : index
      %is = arith.cmpi slt, %v, %rest : index
      %m = arith.select %is, %a, %zero : f32
      // expected-error@+1 {{combines elements past the end of a dimension of size 11}}
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %2 = weft.all_reduce sum %1 on @mesh <{"x"}> : (tensor<f32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
  module @global {
    func.func @too_many(%i: tensor<5xi32>, %u: tensor<5xf32>) -> tensor<f32> {
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

// Updates of a table of which nothing is known but where its rows begin: what
// is left of it says where it ends, also where its rows are summed at once and
// ranks 6 and 7 have only padding.

module {
  weft.mesh @mesh = <["x"=8]>
  func.func @too_few(%i: tensor<5xi32>, %u: tensor<5xf32>) -> tensor<f32> {
    %c2 = arith.constant 2 : index
    %c10 = arith.constant 10 : index
    %zero = arith.constant 0.0 : f32
    %none = arith.constant dense<0.0> : tensor<f32>
    %table = arith.constant dense<0.0> : tensor<2xf32>
    %r = weft.axis_index @mesh <{"x"}>
    %b = arith.muli %r, %c2 : index
    %rest = arith.subi %c10, %b : index
    %0 = weft.scatter_add %table, %i, %u base %b {axis = 0 : i64, index_map = affine_map<(u) -> (u)>, table_map = affine_map<(u) -> ()>} : tensor<2xf32>, tensor<5xi32>, tensor<5xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(v) -> (v)>, affine_map<(v) -> ()>], iterator_types = ["reduction"]} ins(%0 : tensor<2xf32>) outs(%none : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %v = linalg.index 0 : index
      // expected-error@+1 {{computes with an index that depends on the rank, and is not the global index of a loop}}
      %is = arith.cmpi slt, %v, %rest : index
      %m = arith.select %is, %a, %zero : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %2 = weft.all_reduce sum %1 on @mesh <{"x"}> : (tensor<f32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
  module @global {
    func.func @too_few(%i: tensor<5xi32>, %u: tensor<5xf32>) -> tensor<f32> {
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

// Rows 10 and 11 are padding.

module {
  weft.mesh @mesh = <["x"=4]>
  func.func @too_late(%x: tensor<3xf32> {weft.global_type = tensor<10xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}]>}, %i: tensor<i32>) -> tensor<2xf32> {
    %c3 = arith.constant 3 : index
    %end = arith.constant 12 : i32
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
    // expected-error@+1 {{may find elements past the end of a dimension of size 10}}
    %1 = weft.take %x, %0 base %b {axis = 0 : i64, index_map = affine_map<(d0) -> (d0)>, table_map = affine_map<(d0) -> ()>} : tensor<3xf32>, tensor<2xi32> -> tensor<2xf32>
    %2 = weft.all_reduce sum %1 on @mesh <{"x"}> : (tensor<2xf32>) -> tensor<2xf32>
    return %2 : tensor<2xf32>
  }
  module @global {
    func.func @too_late(%x: tensor<10xf32>, %i: tensor<i32>) -> tensor<2xf32> {
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

// The same, of an index for each element.

module {
  weft.mesh @mesh = <["x"=4]>
  func.func @too_late(%x: tensor<3xf32> {weft.global_type = tensor<10xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}]>}, %i: tensor<2x2xi32>) -> tensor<2x2xf32> {
    %c3 = arith.constant 3 : index
    %end = arith.constant 12 : i32
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
    // expected-error@+1 {{may find elements past the end of a dimension of size 10}}
    %1 = weft.take %x, %0 base %b {axis = 0 : i64, index_map = affine_map<(d0, d1) -> (d0, d1)>, table_map = affine_map<(d0, d1) -> ()>} : tensor<3xf32>, tensor<2x2xi32> -> tensor<2x2xf32>
    %2 = weft.all_reduce sum %1 on @mesh <{"x"}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
    return %2 : tensor<2x2xf32>
  }
  module @global {
    func.func @too_late(%x: tensor<10xf32>, %i: tensor<2x2xi32>) -> tensor<2x2xf32> {
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

// -----

// Row 9 is none.

module {
  weft.mesh @mesh = <["x"=4]>
  func.func @too_early(%x: tensor<3xf32> {weft.global_type = tensor<10xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}]>}, %i: tensor<i32>) -> tensor<2xf32> {
    %c3 = arith.constant 3 : index
    %end = arith.constant 9 : i32
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
    // expected-error@+1 {{may find elements past the end of a dimension of size 10}}
    %1 = weft.take %x, %0 base %b {axis = 0 : i64, index_map = affine_map<(d0) -> (d0)>, table_map = affine_map<(d0) -> ()>} : tensor<3xf32>, tensor<2xi32> -> tensor<2xf32>
    %2 = weft.all_reduce sum %1 on @mesh <{"x"}> : (tensor<2xf32>) -> tensor<2xf32>
    return %2 : tensor<2xf32>
  }
  module @global {
    func.func @too_early(%x: tensor<10xf32>, %i: tensor<i32>) -> tensor<2xf32> {
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

// What is past the end finds row 0.

module {
  weft.mesh @mesh = <["x"=4]>
  func.func @found(%x: tensor<3xf32> {weft.global_type = tensor<10xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}]>}, %i: tensor<i32>) -> tensor<2xf32> {
    %c3 = arith.constant 3 : index
    %end = arith.constant 10 : i32
    %none = arith.constant 0 : i32
    %e = tensor.empty() : tensor<2xi32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%i : tensor<i32>) outs(%e : tensor<2xi32>) {
    ^bb0(%a: i32, %o: i32):
      %is = arith.cmpi slt, %a, %end : i32
      %s = arith.select %is, %a, %none : i32
      linalg.yield %s : i32
    } -> tensor<2xi32>
    %r = weft.axis_index @mesh <{"x"}>
    %b = arith.muli %r, %c3 : index
    // expected-error@+1 {{may find elements past the end of a dimension of size 10}}
    %1 = weft.take %x, %0 base %b {axis = 0 : i64, index_map = affine_map<(d0) -> (d0)>, table_map = affine_map<(d0) -> ()>} : tensor<3xf32>, tensor<2xi32> -> tensor<2xf32>
    %2 = weft.all_reduce sum %1 on @mesh <{"x"}> : (tensor<2xf32>) -> tensor<2xf32>
    return %2 : tensor<2xf32>
  }
  module @global {
    func.func @found(%x: tensor<10xf32>, %i: tensor<i32>) -> tensor<2xf32> {
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

// The indices are those of other elements.

module {
  weft.mesh @mesh = <["x"=4]>
  func.func @transposed(%x: tensor<3xf32> {weft.global_type = tensor<10xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}]>}, %i: tensor<2x2xi32>) -> tensor<2x2xf32> {
    %c3 = arith.constant 3 : index
    %end = arith.constant 10 : i32
    %none = arith.constant -1 : i32
    %e = tensor.empty() : tensor<2x2xi32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>], iterator_types = ["parallel", "parallel"]} ins(%i : tensor<2x2xi32>) outs(%e : tensor<2x2xi32>) {
    ^bb0(%a: i32, %o: i32):
      %is = arith.cmpi slt, %a, %end : i32
      %s = arith.select %is, %a, %none : i32
      linalg.yield %s : i32
    } -> tensor<2x2xi32>
    %r = weft.axis_index @mesh <{"x"}>
    %b = arith.muli %r, %c3 : index
    // expected-error@+1 {{may find elements past the end of a dimension of size 10}}
    %1 = weft.take %x, %0 base %b {axis = 0 : i64, index_map = affine_map<(d0, d1) -> (d0, d1)>, table_map = affine_map<(d0, d1) -> ()>} : tensor<3xf32>, tensor<2x2xi32> -> tensor<2x2xf32>
    %2 = weft.all_reduce sum %1 on @mesh <{"x"}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
    return %2 : tensor<2x2xf32>
  }
  module @global {
    func.func @transposed(%x: tensor<10xf32>, %i: tensor<2x2xi32>) -> tensor<2x2xf32> {
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

// -----

// The greatest of products is not the product of the greatest.

module {
  weft.mesh @mesh = <["x"=2]>
  func.func @product(%x: tensor<4x4xf32> {weft.global_type = tensor<8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>}, %w: tensor<4x3xf32>) -> tensor<3xf32> {
    %low = arith.constant dense<0xFF800000> : tensor<4xf32>
    %m = linalg.generic {indexing_maps = [affine_map<(b, v) -> (b, v)>, affine_map<(b, v) -> (v)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%low : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.maximumf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    // expected-error@+1 {{sums contributions to a max: one of 2 parts of}}
    %0 = weft.matmul %m, %w {indexing_maps = [affine_map<(n, k) -> (k)>, affine_map<(n, k) -> (k, n)>, affine_map<(n, k) -> (n)>]} : tensor<4xf32>, tensor<4x3xf32> -> tensor<3xf32>
    %1 = weft.all_reduce max %0 on @mesh <{"x"}> : (tensor<3xf32>) -> tensor<3xf32>
    return %1 : tensor<3xf32>
  }
  module @global {
    func.func @product(%x: tensor<8x4xf32>, %w: tensor<4x3xf32>) -> tensor<3xf32> {
      %low = arith.constant dense<0xFF800000> : tensor<4xf32>
    %m = linalg.generic {indexing_maps = [affine_map<(b, v) -> (b, v)>, affine_map<(b, v) -> (v)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%low : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.maximumf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
      %0 = weft.matmul %m, %w {indexing_maps = [affine_map<(n, k) -> (k)>, affine_map<(n, k) -> (k, n)>, affine_map<(n, k) -> (n)>]} : tensor<4xf32>, tensor<4x3xf32> -> tensor<3xf32>
      return %0 : tensor<3xf32>
    }
  }
}

// -----

// Nor is the greatest of sums the sum of the greatest.

module {
  weft.mesh @mesh = <["x"=2]>
  func.func @updates(%x: tensor<4x4xf32> {weft.global_type = tensor<8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<4xi32>) -> tensor<4xf32> {
    %low = arith.constant dense<0xFF800000> : tensor<4xf32>
    %m = linalg.generic {indexing_maps = [affine_map<(b, v) -> (b, v)>, affine_map<(b, v) -> (v)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%low : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.maximumf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    // expected-error@+1 {{sums contributions to a max: one of 2 parts of}}
    %0 = weft.scatter_add %m, %i, %m {axis = 0 : i64, index_map = affine_map<(u) -> (u)>, table_map = affine_map<(u) -> ()>} : tensor<4xf32>, tensor<4xi32>, tensor<4xf32>
    %1 = weft.all_reduce max %0 on @mesh <{"x"}> : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  module @global {
    func.func @updates(%x: tensor<8x4xf32>, %i: tensor<4xi32>) -> tensor<4xf32> {
      %low = arith.constant dense<0xFF800000> : tensor<4xf32>
    %m = linalg.generic {indexing_maps = [affine_map<(b, v) -> (b, v)>, affine_map<(b, v) -> (v)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%low : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.maximumf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
      %0 = weft.scatter_add %m, %i, %m {axis = 0 : i64, index_map = affine_map<(u) -> (u)>, table_map = affine_map<(u) -> ()>} : tensor<4xf32>, tensor<4xi32>, tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// The rank that does not have a row finds zero, which may be the greatest.

module {
  weft.mesh @mesh = <["x"=2, "y"=2]>
  func.func @rows(%x: tensor<4x2xf32> {weft.global_type = tensor<8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}, {"y"}]>}, %i: tensor<3xi32>) -> tensor<3xf32> {
    %low = arith.constant dense<0xFF800000> : tensor<2xf32>
    %c2 = arith.constant 2 : index
    %r = weft.axis_index @mesh <{"y"}>
    %b = arith.muli %r, %c2 : index
    %m = linalg.generic {indexing_maps = [affine_map<(b, v) -> (b, v)>, affine_map<(b, v) -> (v)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x2xf32>) outs(%low : tensor<2xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.maximumf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<2xf32>
    // expected-error@+1 {{adds zeros to contributions to a max: one of 2 parts of}}
    %0 = weft.take %m, %i base %b {axis = 0 : i64, index_map = affine_map<(i) -> (i)>, table_map = affine_map<(i) -> ()>} : tensor<2xf32>, tensor<3xi32> -> tensor<3xf32>
    %1 = weft.all_reduce max %0 on @mesh <{"x", "y"}> : (tensor<3xf32>) -> tensor<3xf32>
    return %1 : tensor<3xf32>
  }
  module @global {
    func.func @rows(%x: tensor<8x4xf32>, %i: tensor<3xi32>) -> tensor<3xf32> {
      %low = arith.constant dense<0xFF800000> : tensor<4xf32>
    %m = linalg.generic {indexing_maps = [affine_map<(b, v) -> (b, v)>, affine_map<(b, v) -> (v)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%low : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.maximumf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
      %0 = weft.take %m, %i {axis = 0 : i64, index_map = affine_map<(i) -> (i)>, table_map = affine_map<(i) -> ()>} : tensor<4xf32>, tensor<3xi32> -> tensor<3xf32>
      return %0 : tensor<3xf32>
    }
  }
}
