// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// What of verify-partitioning-repeats.mlir must not be otherwise.

// Summed three times, by two ranks two times each.

module {
  weft.mesh @mesh = <["t"=2]>
  func.func @product(%v: tensor<2xf32>) -> tensor<2x3xf32> {
    %one = arith.constant dense<1.0> : tensor<2x3xf32>
    %e = tensor.empty() : tensor<2x2xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<2xf32>) outs(%e : tensor<2x2xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<2x2xf32>
    %1 = weft.matmul %0, %one {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]} : tensor<2x2xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
    // expected-error@+1 {{combines whole values, not contributions: matmul 2x?xf32}}
    %2 = weft.all_reduce sum %1 on @mesh <{"t"}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %2 : tensor<2x3xf32>
  }
  module @global {
    func.func @product(%v: tensor<2xf32>) -> tensor<2x3xf32> {
      %one = arith.constant dense<1.0> : tensor<3x3xf32>
      %e = tensor.empty() : tensor<2x3xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<2xf32>) outs(%e : tensor<2x3xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<2x3xf32>
      %1 = weft.matmul %0, %one {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]} : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x3xf32>
      return %1 : tensor<2x3xf32>
    }
  }
}

// -----

// Summed two times, and by each rank as often.

module {
  weft.mesh @mesh = <["t"=2]>
  func.func @product(%v: tensor<2xf32>) -> tensor<2x3xf32> {
    %one = arith.constant dense<1.0> : tensor<2x3xf32>
    %e = tensor.empty() : tensor<2x2xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<2xf32>) outs(%e : tensor<2x2xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<2x2xf32>
    %1 = weft.matmul %0, %one {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]} : tensor<2x2xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
    // expected-error@+1 {{combines whole values, not contributions: matmul 2x?xf32}}
    %2 = weft.all_reduce sum %1 on @mesh <{"t"}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %2 : tensor<2x3xf32>
  }
  module @global {
    func.func @product(%v: tensor<2xf32>) -> tensor<2x3xf32> {
      %one = arith.constant dense<1.0> : tensor<2x3xf32>
      %e = tensor.empty() : tensor<2x2xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<2xf32>) outs(%e : tensor<2x2xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<2x2xf32>
      %1 = weft.matmul %0, %one {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]} : tensor<2x2xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
      return %1 : tensor<2x3xf32>
    }
  }
}

// -----

// The third before the second is none.

module {
  weft.mesh @mesh = <["x"=3, "z"=2]>
  func.func @neighbours(%k: tensor<4xf32> {weft.global_type = tensor<12xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}]>})
      -> (tensor<8xf32> {weft.global_type = tensor<24xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}]>}) {
    %e = tensor.empty() : tensor<1x4xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%k : tensor<4xf32>) outs(%e : tensor<1x4xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<1x4xf32>
    %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<1x4xf32> into tensor<4xf32>
    %2 = weft.permute %1 on @mesh <{"x", "z"}> sources [0, 2, 4, 1, 5, 3] : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error@+1 {{puts chunks 2, 1 of 4 elements one after the other, which are no neighbours}}
    %3 = weft.all_gather %2 on @mesh <{"z"}> dims [0] : (tensor<4xf32>) -> tensor<8xf32>
    return %3 : tensor<8xf32>
  }
  module @global {
    func.func @neighbours(%k: tensor<12xf32>) -> tensor<24xf32> {
      %e = tensor.empty() : tensor<2x12xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%k : tensor<12xf32>) outs(%e : tensor<2x12xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<2x12xf32>
      %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<2x12xf32> into tensor<24xf32>
      return %1 : tensor<24xf32>
    }
  }
}

// -----

// Zeros are the same everywhere; not so once something is inserted.

module {
  weft.mesh @mesh = <["t"=1]>
  func.func @insertion(%x: tensor<4x2xf32>) -> tensor<4x3xf32> {
    %zero = arith.constant dense<0.0> : tensor<4x8xf32>
    %0 = tensor.insert_slice %x into %zero[0, 0] [4, 2] [1, 1] : tensor<4x2xf32> into tensor<4x8xf32>
    // expected-error@+1 {{makes result #0 another one: slice 4x3xf32 (1: 1 + 3 * 1, )}}
    %1 = tensor.extract_slice %0[0, 1] [4, 3] [1, 1] : tensor<4x8xf32> to tensor<4x3xf32>
    return %1 : tensor<4x3xf32>
  }
  module @global {
    func.func @insertion(%x: tensor<4x2xf32>) -> tensor<4x3xf32> {
      %zero = arith.constant dense<0.0> : tensor<4x8xf32>
      %0 = tensor.insert_slice %x into %zero[0, 0] [4, 2] [1, 1] : tensor<4x2xf32> into tensor<4x8xf32>
      // expected-note@+1 {{this op of the global program makes slice 4x3xf32 (1: 0 + 3 * 1, )}}
      %1 = tensor.extract_slice %0[0, 0] [4, 3] [1, 1] : tensor<4x8xf32> to tensor<4x3xf32>
      return %1 : tensor<4x3xf32>
    }
  }
}

// -----

// Queries that are alike are not, if each sees the keys before it.

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#out = affine_map<(i, j, d, e) -> (i, e)>
#lse = affine_map<(i, j, d, e) -> (i)>
module {
  weft.mesh @mesh = <["t"=1]>
  func.func @causal(%k: tensor<8x4xf32>) -> tensor<2x4xf32> {
    %q = arith.constant dense<1.0> : tensor<8x4xf32>
    %out, %lse = weft.attention %q, %k, %k {config = #weft.attention<scale = 0.5 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]}
        : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8xf32>)
    // expected-error@+1 {{makes result #0 another one: slice 2x4xf32 (0: 3 + 2 * 1, )}}
    %1 = tensor.extract_slice %out[3, 0] [2, 4] [1, 1] : tensor<8x4xf32> to tensor<2x4xf32>
    return %1 : tensor<2x4xf32>
  }
  module @global {
    func.func @causal(%k: tensor<8x4xf32>) -> tensor<2x4xf32> {
      %q = arith.constant dense<1.0> : tensor<8x4xf32>
      %out, %lse = weft.attention %q, %k, %k {config = #weft.attention<scale = 0.5 : f32, right = 0>, indexing_maps = [#q, #k, #v, #out, #lse]}
          : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8xf32>)
      // expected-note@+1 {{this op of the global program makes slice 2x4xf32 (0: 0 + 2 * 1, )}}
      %1 = tensor.extract_slice %out[0, 0] [2, 4] [1, 1] : tensor<8x4xf32> to tensor<2x4xf32>
      return %1 : tensor<2x4xf32>
    }
  }
}

// -----

// Parts of rows are alike, rows are not.

module {
  weft.mesh @mesh = <["a"=2, "b"=2]>
  func.func @f(%x: tensor<1x2xf32> {weft.global_type = tensor<2x2xf32>, weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>}) -> (tensor<2xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"b", "a"}]>}) {
    %0 = tensor.empty() : tensor<1x1x2xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<1x2xf32>) outs(%0 : tensor<1x1x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x2xf32>
    %2 = tensor.collapse_shape %1 [[0], [1, 2]] : tensor<1x1x2xf32> into tensor<1x2xf32>
    %3 = tensor.collapse_shape %2 [[0, 1]] : tensor<1x2xf32> into tensor<2xf32>
    // expected-error@+1 {{result #0 has dim 0 of size 8 in chunks [0, 0, 2, 2], expected size 8 in chunks [0, 2, 1, 3]}}
    return %3 : tensor<2xf32>
  }
  module @global {
    func.func @f(%x: tensor<2x2xf32>) -> tensor<8xf32> {
      %0 = tensor.empty() : tensor<2x2x2xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x2xf32>) outs(%0 : tensor<2x2x2xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<2x2x2xf32>
      %2 = tensor.collapse_shape %1 [[0], [1, 2]] : tensor<2x2x2xf32> into tensor<2x4xf32>
      %3 = tensor.collapse_shape %2 [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
      return %3 : tensor<8xf32>
    }
  }
}

// -----

// Of rows that are repeated those from the second on are no part.

module {
  weft.mesh @mesh = <["a"=2]>
  func.func @f(%x: tensor<2x3xi32>, %n: tensor<5xi32>) -> tensor<5x3xi32> {
    %rows = arith.constant 1 : index
    %a = weft.axis_index @mesh <{"a"}>
    %base = arith.muli %a, %rows : index
    %0 = tensor.empty() : tensor<1x2x3xi32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x3xi32>) outs(%0 : tensor<1x2x3xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<1x2x3xi32>
    %2 = tensor.collapse_shape %1 [[0, 1], [2]] : tensor<1x2x3xi32> into tensor<2x3xi32>
    // expected-error@+1 {{looks up from row [0, 1], but the rank's rows begin at [0, 0]}}
    %3 = weft.take %2, %n base %base {axis = 0 : i64, index_map = affine_map<(d0, d1) -> (d0)>, table_map = affine_map<(d0, d1) -> (d1)>} : tensor<2x3xi32>, tensor<5xi32> -> tensor<5x3xi32>
    %4 = weft.all_reduce sum %3 on @mesh <{"a"}> : (tensor<5x3xi32>) -> tensor<5x3xi32>
    return %4 : tensor<5x3xi32>
  }
  module @global {
    func.func @f(%x: tensor<2x3xi32>, %n: tensor<5xi32>) -> tensor<5x3xi32> {
      %0 = tensor.empty() : tensor<2x2x3xi32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x3xi32>) outs(%0 : tensor<2x2x3xi32>) {
      ^bb0(%in: i32, %out: i32):
        linalg.yield %in : i32
      } -> tensor<2x2x3xi32>
      %2 = tensor.collapse_shape %1 [[0, 1], [2]] : tensor<2x2x3xi32> into tensor<4x3xi32>
      %3 = weft.take %2, %n {axis = 0 : i64, index_map = affine_map<(d0, d1) -> (d0)>, table_map = affine_map<(d0, d1) -> (d1)>} : tensor<4x3xi32>, tensor<5xi32> -> tensor<5x3xi32>
      return %3 : tensor<5x3xi32>
    }
  }
}
