// RUN: weft-opt %s --weft-verify-partitioning -split-input-file | FileCheck %s

// What is repeated twice is cut in three, and made one dimension with one that
// has one element: the third rank has none of it.

// CHECK-LABEL: func.func @beside_one
module {
  weft.mesh @mesh = <["t"=3]>
  func.func @beside_one(%x: tensor<3x1xf32>) -> (tensor<3x1xf32> {weft.global_type = tensor<3x2xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"t"}]>}) {
    %zero = arith.constant 0.0 : f32
    %r = weft.axis_index @mesh <{"t"}>
    %e = tensor.empty() : tensor<3x2x1xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<3x1xf32>) outs(%e : tensor<3x2x1xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<3x2x1xf32>
    %1 = tensor.pad %0 low[0, 0, 0] high[0, 1, 0] {
    ^bb0(%i: index, %j: index, %k: index):
      tensor.yield %zero : f32
    } : tensor<3x2x1xf32> to tensor<3x3x1xf32>
    %2 = tensor.extract_slice %1[0, %r, 0] [3, 1, 1] [1, 1, 1] : tensor<3x3x1xf32> to tensor<3x1x1xf32>
    %3 = tensor.collapse_shape %2 [[0], [1, 2]] : tensor<3x1x1xf32> into tensor<3x1xf32>
    return %3 : tensor<3x1xf32>
  }
  module @global {
    func.func @beside_one(%x: tensor<3x1xf32>) -> tensor<3x2xf32> {
      %e = tensor.empty() : tensor<3x2x1xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<3x1xf32>) outs(%e : tensor<3x2x1xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<3x2x1xf32>
      %3 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<3x2x1xf32> into tensor<3x2xf32>
      return %3 : tensor<3x2xf32>
    }
  }
}

// -----

// A product of what is repeated: each rank has half of how often it is summed.

// CHECK-LABEL: func.func @product
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
    %2 = weft.all_reduce sum %1 on @mesh <{"t"}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %2 : tensor<2x3xf32>
  }
  module @global {
    func.func @product(%v: tensor<2xf32>) -> tensor<2x3xf32> {
      %one = arith.constant dense<1.0> : tensor<4x3xf32>
      %e = tensor.empty() : tensor<2x4xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<2xf32>) outs(%e : tensor<2x4xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<2x4xf32>
      %1 = weft.matmul %0, %one {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]} : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
      return %1 : tensor<2x3xf32>
    }
  }
}

// -----

// Three chunks, repeated: the last two, which are like the second and the third,
// make one with each other that those do not.

// CHECK-LABEL: func.func @neighbours
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
    %2 = weft.permute %1 on @mesh <{"x", "z"}> sources [0, 2, 4, 1, 3, 5] : (tensor<4xf32>) -> tensor<4xf32>
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

// What is repeated along both dimensions that become one is so as well where
// ranks have exchanged it, up to a size that was guessed.

// CHECK-LABEL: func.func @all_repeated
module {
  weft.mesh @mesh = <["x"=3, "z"=2]>
  func.func @all_repeated(%arg0: tensor<1x2xf32> {weft.global_type = tensor<1x6xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<3x1x6xf32> {weft.global_type = tensor<3x3x6xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"x", "z"}, {}]>}, tensor<3x6xf32> {weft.global_type = tensor<9x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>}) {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<1x3x2xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0 : tensor<1x2xf32>) outs(%0 : tensor<1x3x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x3x2xf32>
    %collapsed = tensor.collapse_shape %1 [[0, 1], [2]] : tensor<1x3x2xf32> into tensor<3x2xf32>
    %2 = tensor.empty() : tensor<3x1x6xf32>
    %3 = weft.axis_index @mesh <{"z"}>
    %extracted_slice = tensor.extract_slice %collapsed[0, %3] [3, 1] [1, 1] : tensor<3x2xf32> to tensor<3x1xf32>
    %padded = tensor.pad %extracted_slice low[0, 0] high[3, 0] {
    ^bb0(%arg1: index, %arg2: index):
      tensor.yield %cst : f32
    } : tensor<3x1xf32> to tensor<6x1xf32>
    %4 = weft.all_to_all %padded on @mesh <{"x", "z"}> split [0] concat [1] : (tensor<6x1xf32>) -> tensor<1x6xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4 : tensor<1x6xf32>) outs(%2 : tensor<3x1x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3x1x6xf32>
    %6 = weft.all_to_all %5 on @mesh <{"z"}> split [2] concat [1] : (tensor<3x1x6xf32>) -> tensor<3x2x3xf32>
    %7 = weft.all_to_all %6 on @mesh <{"x"}> split [0] concat [1] : (tensor<3x2x3xf32>) -> tensor<1x6x3xf32>
    %extracted_slice_0 = tensor.extract_slice %7[0, 0, 0] [1, 3, 3] [1, 1, 1] : tensor<1x6x3xf32> to tensor<1x3x3xf32>
    %8 = weft.all_gather %extracted_slice_0 on @mesh <{"z"}> dims [2] : (tensor<1x3x3xf32>) -> tensor<1x3x6xf32>
    %collapsed_1 = tensor.collapse_shape %8 [[0, 1], [2]] : tensor<1x3x6xf32> into tensor<3x6xf32>
    return %5, %collapsed_1 : tensor<3x1x6xf32>, tensor<3x6xf32>
  }
  module @global {
    func.func @all_repeated(%arg0: tensor<1x6xf32>) -> (tensor<3x3x6xf32>, tensor<9x6xf32>) {
      %0 = tensor.empty() : tensor<1x3x6xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0 : tensor<1x6xf32>) outs(%0 : tensor<1x3x6xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<1x3x6xf32>
      %collapsed = tensor.collapse_shape %1 [[0, 1], [2]] : tensor<1x3x6xf32> into tensor<3x6xf32>
      %2 = tensor.empty() : tensor<3x3x6xf32>
      %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed : tensor<3x6xf32>) outs(%2 : tensor<3x3x6xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<3x3x6xf32>
      %collapsed_0 = tensor.collapse_shape %3 [[0, 1], [2]] : tensor<3x3x6xf32> into tensor<9x6xf32>
      return %3, %collapsed_0 : tensor<3x3x6xf32>, tensor<9x6xf32>
    }
  }
}

// -----

// What is repeated, and cut where others are dropped.

// CHECK-LABEL: func.func @dropped
module {
  weft.mesh @mesh = <["x"=1, "y"=2, "z"=3]>
  func.func @dropped(%arg0: tensor<1x3x1xi32> {weft.global_type = tensor<1x8x1xi32>, weft.sharding = #weft.sharding<@mesh, [{}, {"z"}, {}]>}, %arg1: tensor<i32> {weft.global_type = tensor<i32>, weft.sharding = #weft.sharding<@mesh, []>}) -> (tensor<1x1xi32> {weft.global_type = tensor<2x1xi32>, weft.sharding = #weft.sharding<@mesh, [{"y", "z"}, {}]>}) {
    %c3 = arith.constant 3 : index
    %c0_i32 = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c7 = arith.constant 7 : index
    %0 = tensor.empty() : tensor<1x2x3x1xi32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<1x3x1xi32>) outs(%0 : tensor<1x2x3x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<1x2x3x1xi32>
    %collapsed = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<1x2x3x1xi32> into tensor<2x3x1xi32>
    %extracted = tensor.extract %arg1[] : tensor<i32>
    %2 = arith.index_cast %extracted : i32 to index
    %3 = arith.minsi %2, %c7 : index
    %4 = arith.maxsi %3, %c0 : index
    %padded = tensor.pad %collapsed low[0, 0, 0] high[4, 0, 0] {
    ^bb0(%arg2: index, %arg3: index, %arg4: index):
      tensor.yield %c0_i32 : i32
    } : tensor<2x3x1xi32> to tensor<6x3x1xi32>
    %5 = weft.axis_index @mesh <{"y"}>
    %6 = arith.muli %5, %c3 : index
    %extracted_slice = tensor.extract_slice %padded[%6, 0, 0] [3, 3, 1] [1, 1, 1] : tensor<6x3x1xi32> to tensor<3x3x1xi32>
    %7 = weft.all_to_all %extracted_slice on @mesh <{"z"}> split [0] concat [1] : (tensor<3x3x1xi32>) -> tensor<1x9x1xi32>
    %extracted_slice_0 = tensor.extract_slice %7[0, 0, 0] [1, 8, 1] [1, 1, 1] : tensor<1x9x1xi32> to tensor<1x8x1xi32>
    %extracted_slice_1 = tensor.extract_slice %extracted_slice_0[0, %4, 0] [1, 1, 1] [1, 1, 1] : tensor<1x8x1xi32> to tensor<1x1xi32>
    return %extracted_slice_1 : tensor<1x1xi32>
  }
  module @global {
    func.func @dropped(%arg0: tensor<1x8x1xi32>, %arg1: tensor<i32>) -> tensor<2x1xi32> {
      %c0 = arith.constant 0 : index
      %c7 = arith.constant 7 : index
      %0 = tensor.empty() : tensor<1x2x8x1xi32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<1x8x1xi32>) outs(%0 : tensor<1x2x8x1xi32>) {
      ^bb0(%in: i32, %out: i32):
        linalg.yield %in : i32
      } -> tensor<1x2x8x1xi32>
      %collapsed = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<1x2x8x1xi32> into tensor<2x8x1xi32>
      %extracted = tensor.extract %arg1[] : tensor<i32>
      %3 = arith.index_cast %extracted : i32 to index
      %4 = arith.minsi %3, %c7 : index
      %5 = arith.maxsi %4, %c0 : index
      %extracted_slice = tensor.extract_slice %collapsed[0, %5, 0] [2, 1, 1] [1, 1, 1] : tensor<2x8x1xi32> to tensor<2x1xi32>
      return %extracted_slice : tensor<2x1xi32>
    }
  }
}

// -----

// Of two loops that say how often something is summed, the second one is shared.

// CHECK-LABEL: func.func @two_loops
module {
  weft.mesh @mesh = <["t"=2]>
  func.func @two_loops(%x: tensor<2xf32>) -> tensor<2xf32> {
    %one = arith.constant dense<1.0> : tensor<2x3x2xf32>
    %zero = arith.constant dense<0.0> : tensor<2xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%one, %x : tensor<2x3x2xf32>, tensor<2xf32>) outs(%zero : tensor<2xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %m = arith.mulf %p, %q : f32
      %a = arith.addf %o, %m : f32
      linalg.yield %a : f32
    } -> tensor<2xf32>
    %1 = weft.all_reduce sum %0 on @mesh <{"t"}> : (tensor<2xf32>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
  module @global {
    func.func @two_loops(%x: tensor<2xf32>) -> tensor<2xf32> {
      %one = arith.constant dense<1.0> : tensor<2x3x4xf32>
      %zero = arith.constant dense<0.0> : tensor<2xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%one, %x : tensor<2x3x4xf32>, tensor<2xf32>) outs(%zero : tensor<2xf32>) {
      ^bb0(%p: f32, %q: f32, %o: f32):
        %m = arith.mulf %p, %q : f32
        %a = arith.addf %o, %m : f32
        linalg.yield %a : f32
      } -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }
  }
}

// -----

// The same of two collectives: one after the other they combine all parts.

// CHECK-LABEL: func.func @two_collectives
module {
  weft.mesh @mesh = <["t"=4]>
  func.func @two_collectives(%v: tensor<2xf32>) -> (tensor<2x1xf32> {weft.global_type = tensor<2x2xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"t":(2)2}]>}) {
    %one = arith.constant dense<1.0> : tensor<1x2xf32>
    %e = tensor.empty() : tensor<2x1xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<2xf32>) outs(%e : tensor<2x1xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<2x1xf32>
    %1 = weft.matmul %0, %one {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]} : tensor<2x1xf32>, tensor<1x2xf32> -> tensor<2x2xf32>
    %2 = weft.reduce_scatter sum %1 on @mesh <{"t":(2)2}> dims [1] : (tensor<2x2xf32>) -> tensor<2x1xf32>
    %3 = weft.all_reduce sum %2 on @mesh <{"t":(1)2}> : (tensor<2x1xf32>) -> tensor<2x1xf32>
    return %3 : tensor<2x1xf32>
  }
  module @global {
    func.func @two_collectives(%v: tensor<2xf32>) -> tensor<2x2xf32> {
      %one = arith.constant dense<1.0> : tensor<4x2xf32>
      %e = tensor.empty() : tensor<2x4xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<2xf32>) outs(%e : tensor<2x4xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<2x4xf32>
      %1 = weft.matmul %0, %one {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]} : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
      return %1 : tensor<2x2xf32>
    }
  }
}

// -----

// All repeated, then each: a rank has all of the first, and any part of the
// second that has as many elements.

module {
  weft.mesh @mesh = <["a"=4]>
  func.func @f(%x: tensor<2xf32> {weft.global_type = tensor<2xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<6xf32> {weft.global_type = tensor<24xf32>, weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
    %0 = tensor.empty() : tensor<1x2xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2xf32>) outs(%0 : tensor<1x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2xf32>
    %2 = tensor.collapse_shape %1 [[0, 1]] : tensor<1x2xf32> into tensor<2xf32>
    %3 = tensor.empty() : tensor<2x3xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<2xf32>) outs(%3 : tensor<2x3xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x3xf32>
    %5 = tensor.collapse_shape %4 [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
    return %5 : tensor<6xf32>
  }
  module @global {
    func.func @f(%x: tensor<2xf32>) -> tensor<24xf32> {
      %0 = tensor.empty() : tensor<4x2xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2xf32>) outs(%0 : tensor<4x2xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<4x2xf32>
      %2 = tensor.collapse_shape %1 [[0, 1]] : tensor<4x2xf32> into tensor<8xf32>
      %3 = tensor.empty() : tensor<8x3xf32>
      %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<8xf32>) outs(%3 : tensor<8x3xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<8x3xf32>
      %5 = tensor.collapse_shape %4 [[0, 1]] : tensor<8x3xf32> into tensor<24xf32>
      return %5 : tensor<24xf32>
    }
  }
}

// -----

// Rows of which each is repeated: parts of one row are alike.

module {
  weft.mesh @mesh = <["a"=2, "b"=2]>
  func.func @f(%x: tensor<1x2xf32> {weft.global_type = tensor<2x2xf32>, weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>}) -> (tensor<2xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"a", "b"}]>}) {
    %0 = tensor.empty() : tensor<1x1x2xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<1x2xf32>) outs(%0 : tensor<1x1x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x2xf32>
    %2 = tensor.collapse_shape %1 [[0], [1, 2]] : tensor<1x1x2xf32> into tensor<1x2xf32>
    %3 = tensor.collapse_shape %2 [[0, 1]] : tensor<1x2xf32> into tensor<2xf32>
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

// Repeated twice and, beside that, three times: a rank's part may be of either.

module {
  weft.mesh @mesh = <["a"=3]>
  func.func @f(%x: tensor<2xf32> {weft.global_type = tensor<2xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<2xf32> {weft.global_type = tensor<6xf32>, weft.sharding = #weft.sharding<@mesh, [{"a"}]>}, tensor<4xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) {
    %0 = tensor.empty() : tensor<1x2xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2xf32>) outs(%0 : tensor<1x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2xf32>
    %2 = tensor.collapse_shape %1 [[0, 1]] : tensor<1x2xf32> into tensor<2xf32>
    %3 = tensor.empty() : tensor<2x2xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2xf32>) outs(%3 : tensor<2x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2xf32>
    %5 = tensor.collapse_shape %4 [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
    return %2, %5 : tensor<2xf32>, tensor<4xf32>
  }
  module @global {
    func.func @f(%x: tensor<2xf32>) -> (tensor<6xf32>, tensor<4xf32>) {
      %0 = tensor.empty() : tensor<3x2xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2xf32>) outs(%0 : tensor<3x2xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<3x2xf32>
      %2 = tensor.collapse_shape %1 [[0, 1]] : tensor<3x2xf32> into tensor<6xf32>
      %3 = tensor.empty() : tensor<2x2xf32>
      %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2xf32>) outs(%3 : tensor<2x2xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<2x2xf32>
      %5 = tensor.collapse_shape %4 [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
      return %2, %5 : tensor<6xf32>, tensor<4xf32>
    }
  }
}
