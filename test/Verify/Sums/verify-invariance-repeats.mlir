// RUN: weft-opt %s --weft-verify-invariance -split-input-file -verify-diagnostics | FileCheck %s

// Two heads on four ranks, each repeated for two others: a rank has one of four
// heads, of which neighbours are alike.

#in = affine_map<(h, g, d) -> (h, d)>
#out = affine_map<(h, g, d) -> (h, g, d)>
#hd = affine_map<(h, d) -> (h, d)>
// CHECK: module attributes
// CHECK-SAME: weft.certificate
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 4>} {
  weft.mesh @mesh = <["tp"=4]>
  func.func @f(%k: tensor<1x8xf32> {weft.global_type = tensor<2x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp":(1)2}, {}]>},
               %q: tensor<1x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>})
      -> (tensor<1x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) {
    %e = tensor.empty() : tensor<1x1x8xf32>
    %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel", "parallel"]} ins(%k : tensor<1x8xf32>) outs(%e : tensor<1x1x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<1x1x8xf32>
    %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<1x1x8xf32> into tensor<1x8xf32>
    %f = tensor.empty() : tensor<1x8xf32>
    %2 = linalg.generic {indexing_maps = [#hd, #hd, #hd], iterator_types = ["parallel", "parallel"]} ins(%1, %q : tensor<1x8xf32>, tensor<1x8xf32>) outs(%f : tensor<1x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %m = arith.mulf %a, %b : f32
      linalg.yield %m : f32
    } -> tensor<1x8xf32>
    return %2 : tensor<1x8xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%k: tensor<2x8xf32>, %q: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %e = tensor.empty() : tensor<2x2x8xf32>
      %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel", "parallel"]} ins(%k : tensor<2x8xf32>) outs(%e : tensor<2x2x8xf32>) {
      ^bb0(%a: f32, %o: f32):
        linalg.yield %a : f32
      } -> tensor<2x2x8xf32>
      %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<2x2x8xf32> into tensor<4x8xf32>
      %f = tensor.empty() : tensor<4x8xf32>
      %2 = linalg.generic {indexing_maps = [#hd, #hd, #hd], iterator_types = ["parallel", "parallel"]} ins(%1, %q : tensor<4x8xf32>, tensor<4x8xf32>) outs(%f : tensor<4x8xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32):
        %m = arith.mulf %a, %b : f32
        linalg.yield %m : f32
      } -> tensor<4x8xf32>
      return %2 : tensor<4x8xf32>
    }
  }
}

// -----

// The first and the third rank need the first head, but have the other one.

#in = affine_map<(h, g, d) -> (h, d)>
#out = affine_map<(h, g, d) -> (h, g, d)>
#hd = affine_map<(h, d) -> (h, d)>
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 4>} {
  weft.mesh @mesh = <["tp"=4]>
  func.func @f(%k: tensor<1x8xf32> {weft.global_type = tensor<2x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp":(2)2}, {}]>},
               %q: tensor<1x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>})
      -> (tensor<1x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) {
    %e = tensor.empty() : tensor<1x1x8xf32>
    %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel", "parallel"]} ins(%k : tensor<1x8xf32>) outs(%e : tensor<1x1x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<1x1x8xf32>
    %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<1x1x8xf32> into tensor<1x8xf32>
    %f = tensor.empty() : tensor<1x8xf32>
    // expected-error @+1 {{combines dimensions that are cut in different ways: a rank has parts [0, 2, 0, 2] of one and [0, 1, 2, 3] of the other}}
    %2 = linalg.generic {indexing_maps = [#hd, #hd, #hd], iterator_types = ["parallel", "parallel"]} ins(%1, %q : tensor<1x8xf32>, tensor<1x8xf32>) outs(%f : tensor<1x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %m = arith.mulf %a, %b : f32
      linalg.yield %m : f32
    } -> tensor<1x8xf32>
    return %2 : tensor<1x8xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%k: tensor<2x8xf32>, %q: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %e = tensor.empty() : tensor<2x2x8xf32>
      %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel", "parallel"]} ins(%k : tensor<2x8xf32>) outs(%e : tensor<2x2x8xf32>) {
      ^bb0(%a: f32, %o: f32):
        linalg.yield %a : f32
      } -> tensor<2x2x8xf32>
      %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<2x2x8xf32> into tensor<4x8xf32>
      %f = tensor.empty() : tensor<4x8xf32>
      %2 = linalg.generic {indexing_maps = [#hd, #hd, #hd], iterator_types = ["parallel", "parallel"]} ins(%1, %q : tensor<4x8xf32>, tensor<4x8xf32>) outs(%f : tensor<4x8xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32):
        %m = arith.mulf %a, %b : f32
        linalg.yield %m : f32
      } -> tensor<4x8xf32>
      return %2 : tensor<4x8xf32>
    }
  }
}

// -----

// Repeated one after the other: every second is alike.

#in = affine_map<(h, g, d) -> (h, d)>
#out = affine_map<(h, g, d) -> (g, h, d)>
#hd = affine_map<(h, d) -> (h, d)>
// CHECK: module attributes
// CHECK-SAME: weft.certificate
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 4>} {
  weft.mesh @mesh = <["tp"=4]>
  func.func @f(%k: tensor<1x8xf32> {weft.global_type = tensor<2x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp":(2)2}, {}]>},
               %q: tensor<1x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>})
      -> (tensor<1x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) {
    %e = tensor.empty() : tensor<1x1x8xf32>
    %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel", "parallel"]} ins(%k : tensor<1x8xf32>) outs(%e : tensor<1x1x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<1x1x8xf32>
    %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<1x1x8xf32> into tensor<1x8xf32>
    %f = tensor.empty() : tensor<1x8xf32>
    %2 = linalg.generic {indexing_maps = [#hd, #hd, #hd], iterator_types = ["parallel", "parallel"]} ins(%1, %q : tensor<1x8xf32>, tensor<1x8xf32>) outs(%f : tensor<1x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %m = arith.mulf %a, %b : f32
      linalg.yield %m : f32
    } -> tensor<1x8xf32>
    return %2 : tensor<1x8xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%k: tensor<2x8xf32>, %q: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %e = tensor.empty() : tensor<2x2x8xf32>
      %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel", "parallel"]} ins(%k : tensor<2x8xf32>) outs(%e : tensor<2x2x8xf32>) {
      ^bb0(%a: f32, %o: f32):
        linalg.yield %a : f32
      } -> tensor<2x2x8xf32>
      %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<2x2x8xf32> into tensor<4x8xf32>
      %f = tensor.empty() : tensor<4x8xf32>
      %2 = linalg.generic {indexing_maps = [#hd, #hd, #hd], iterator_types = ["parallel", "parallel"]} ins(%1, %q : tensor<4x8xf32>, tensor<4x8xf32>) outs(%f : tensor<4x8xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32):
        %m = arith.mulf %a, %b : f32
        linalg.yield %m : f32
      } -> tensor<4x8xf32>
      return %2 : tensor<4x8xf32>
    }
  }
}

// -----

// The heads of the neighbours.

#in = affine_map<(h, g, d) -> (h, d)>
#out = affine_map<(h, g, d) -> (g, h, d)>
#hd = affine_map<(h, d) -> (h, d)>
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 4>} {
  weft.mesh @mesh = <["tp"=4]>
  func.func @f(%k: tensor<1x8xf32> {weft.global_type = tensor<2x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp":(1)2}, {}]>},
               %q: tensor<1x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>})
      -> (tensor<1x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) {
    %e = tensor.empty() : tensor<1x1x8xf32>
    %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel", "parallel"]} ins(%k : tensor<1x8xf32>) outs(%e : tensor<1x1x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<1x1x8xf32>
    %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<1x1x8xf32> into tensor<1x8xf32>
    %f = tensor.empty() : tensor<1x8xf32>
    // expected-error @+1 {{combines dimensions that are cut in different ways: a rank has parts [0, 0, 1, 1] of one and [0, 1, 2, 3] of the other}}
    %2 = linalg.generic {indexing_maps = [#hd, #hd, #hd], iterator_types = ["parallel", "parallel"]} ins(%1, %q : tensor<1x8xf32>, tensor<1x8xf32>) outs(%f : tensor<1x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %m = arith.mulf %a, %b : f32
      linalg.yield %m : f32
    } -> tensor<1x8xf32>
    return %2 : tensor<1x8xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%k: tensor<2x8xf32>, %q: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %e = tensor.empty() : tensor<2x2x8xf32>
      %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel", "parallel"]} ins(%k : tensor<2x8xf32>) outs(%e : tensor<2x2x8xf32>) {
      ^bb0(%a: f32, %o: f32):
        linalg.yield %a : f32
      } -> tensor<2x2x8xf32>
      %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<2x2x8xf32> into tensor<4x8xf32>
      %f = tensor.empty() : tensor<4x8xf32>
      %2 = linalg.generic {indexing_maps = [#hd, #hd, #hd], iterator_types = ["parallel", "parallel"]} ins(%1, %q : tensor<4x8xf32>, tensor<4x8xf32>) outs(%f : tensor<4x8xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32):
        %m = arith.mulf %a, %b : f32
        linalg.yield %m : f32
      } -> tensor<4x8xf32>
      return %2 : tensor<4x8xf32>
    }
  }
}

// -----

// What is made of a repeated head and its number is not repeated.

#in = affine_map<(h, g, d) -> (h, d)>
#out = affine_map<(h, g, d) -> (h, g, d)>
#hd = affine_map<(h, d) -> (h, d)>
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 4>} {
  weft.mesh @mesh = <["tp"=4]>
  func.func @f(%k: tensor<1x8xf32> {weft.global_type = tensor<2x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp":(1)2}, {}]>},
               %q: tensor<1x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>})
      -> (tensor<1x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) {
    %e = tensor.empty() : tensor<1x1x8xf32>
    %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel", "parallel"]} ins(%k : tensor<1x8xf32>) outs(%e : tensor<1x1x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<1x1x8xf32>
    %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<1x1x8xf32> into tensor<1x8xf32>
    %f = tensor.empty() : tensor<1x8xf32>
    %x = linalg.generic {indexing_maps = [#hd, #hd], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<1x8xf32>) outs(%f : tensor<1x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %i = linalg.index 0 : index
      // expected-error @+1 {{computes with an index that depends on the rank, and is not the global index of a loop}}
      %j = arith.index_cast %i : index to i32
      %k1 = arith.sitofp %j : i32 to f32
      %m = arith.addf %a, %k1 : f32
      linalg.yield %m : f32
    } -> tensor<1x8xf32>
    %2 = linalg.generic {indexing_maps = [#hd, #hd, #hd], iterator_types = ["parallel", "parallel"]} ins(%x, %q : tensor<1x8xf32>, tensor<1x8xf32>) outs(%f : tensor<1x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %m = arith.mulf %a, %b : f32
      linalg.yield %m : f32
    } -> tensor<1x8xf32>
    return %2 : tensor<1x8xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%k: tensor<2x8xf32>, %q: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %e = tensor.empty() : tensor<2x2x8xf32>
      %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel", "parallel"]} ins(%k : tensor<2x8xf32>) outs(%e : tensor<2x2x8xf32>) {
      ^bb0(%a: f32, %o: f32):
        linalg.yield %a : f32
      } -> tensor<2x2x8xf32>
      %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<2x2x8xf32> into tensor<4x8xf32>
      %f = tensor.empty() : tensor<4x8xf32>
      %x = linalg.generic {indexing_maps = [#hd, #hd], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<4x8xf32>) outs(%f : tensor<4x8xf32>) {
      ^bb0(%a: f32, %o: f32):
        %i = linalg.index 0 : index
        %j = arith.index_cast %i : index to i32
        %k1 = arith.sitofp %j : i32 to f32
        %m = arith.addf %a, %k1 : f32
        linalg.yield %m : f32
      } -> tensor<4x8xf32>
      %2 = linalg.generic {indexing_maps = [#hd, #hd, #hd], iterator_types = ["parallel", "parallel"]} ins(%x, %q : tensor<4x8xf32>, tensor<4x8xf32>) outs(%f : tensor<4x8xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32):
        %m = arith.mulf %a, %b : f32
        linalg.yield %m : f32
      } -> tensor<4x8xf32>
      return %2 : tensor<4x8xf32>
    }
  }
}

// -----

// Halves of what is repeated are alike as well.

#in = affine_map<(g, h) -> (h)>
#out = affine_map<(g, h) -> (g, h)>
#h = affine_map<(h) -> (h)>
// CHECK: module attributes
// CHECK-SAME: weft.certificate
module attributes {weft.invariance = #weft.invariance<axes = ["tp", "x"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=4, "x"=2]>
  func.func @f(%k: tensor<4xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp":(2)2}]>},
               %q: tensor<2xf32> {weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp", "x"}]>})
      -> (tensor<2xf32> {weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp", "x"}]>}) {
    %e = tensor.empty() : tensor<1x4xf32>
    %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel"]} ins(%k : tensor<4xf32>) outs(%e : tensor<1x4xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<1x4xf32>
    %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<1x4xf32> into tensor<4xf32>
    %two = arith.constant 2 : index
    %zero = arith.constant 0 : index
    %x = weft.axis_index @mesh <{"x"}>
    %y = arith.muli %x, %two : index
    %b = arith.addi %y, %zero : index
    %2 = tensor.extract_slice %1[%b] [2] [1] : tensor<4xf32> to tensor<2xf32>
    %f = tensor.empty() : tensor<2xf32>
    %3 = linalg.generic {indexing_maps = [#h, #h, #h], iterator_types = ["parallel"]} ins(%2, %q : tensor<2xf32>, tensor<2xf32>) outs(%f : tensor<2xf32>) {
    ^bb0(%a: f32, %c: f32, %o: f32):
      %m = arith.mulf %a, %c : f32
      linalg.yield %m : f32
    } -> tensor<2xf32>
    return %3 : tensor<2xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1, "x"=1]>
    func.func @f(%k: tensor<8xf32>, %q: tensor<16xf32>) -> tensor<16xf32> {
      %e = tensor.empty() : tensor<2x8xf32>
      %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel"]} ins(%k : tensor<8xf32>) outs(%e : tensor<2x8xf32>) {
      ^bb0(%a: f32, %o: f32):
        linalg.yield %a : f32
      } -> tensor<2x8xf32>
      %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<2x8xf32> into tensor<16xf32>
      %f = tensor.empty() : tensor<16xf32>
      %3 = linalg.generic {indexing_maps = [#h, #h, #h], iterator_types = ["parallel"]} ins(%1, %q : tensor<16xf32>, tensor<16xf32>) outs(%f : tensor<16xf32>) {
      ^bb0(%a: f32, %c: f32, %o: f32):
        %m = arith.mulf %a, %c : f32
        linalg.yield %m : f32
      } -> tensor<16xf32>
      return %3 : tensor<16xf32>
    }
  }
}

// -----

// But not the one half as the other.

#in = affine_map<(g, h) -> (h)>
#out = affine_map<(g, h) -> (g, h)>
#h = affine_map<(h) -> (h)>
module attributes {weft.invariance = #weft.invariance<axes = ["tp", "x"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=4, "x"=2]>
  func.func @f(%k: tensor<4xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp":(2)2}]>},
               %q: tensor<2xf32> {weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp", "x"}]>})
      -> (tensor<2xf32> {weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp", "x"}]>}) {
    %e = tensor.empty() : tensor<1x4xf32>
    %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel"]} ins(%k : tensor<4xf32>) outs(%e : tensor<1x4xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<1x4xf32>
    %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<1x4xf32> into tensor<4xf32>
    %two = arith.constant -2 : index
    %zero = arith.constant 2 : index
    %x = weft.axis_index @mesh <{"x"}>
    %y = arith.muli %x, %two : index
    %b = arith.addi %y, %zero : index
    %2 = tensor.extract_slice %1[%b] [2] [1] : tensor<4xf32> to tensor<2xf32>
    %f = tensor.empty() : tensor<2xf32>
    // expected-error @+1 {{combines dimensions that are cut in different ways: a rank has parts [1, 0, 3, 2, 1, 0, 3, 2] of one and [0, 1, 2, 3, 4, 5, 6, 7] of the other}}
    %3 = linalg.generic {indexing_maps = [#h, #h, #h], iterator_types = ["parallel"]} ins(%2, %q : tensor<2xf32>, tensor<2xf32>) outs(%f : tensor<2xf32>) {
    ^bb0(%a: f32, %c: f32, %o: f32):
      %m = arith.mulf %a, %c : f32
      linalg.yield %m : f32
    } -> tensor<2xf32>
    return %3 : tensor<2xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1, "x"=1]>
    func.func @f(%k: tensor<8xf32>, %q: tensor<16xf32>) -> tensor<16xf32> {
      %e = tensor.empty() : tensor<2x8xf32>
      %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel"]} ins(%k : tensor<8xf32>) outs(%e : tensor<2x8xf32>) {
      ^bb0(%a: f32, %o: f32):
        linalg.yield %a : f32
      } -> tensor<2x8xf32>
      %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<2x8xf32> into tensor<16xf32>
      %f = tensor.empty() : tensor<16xf32>
      %3 = linalg.generic {indexing_maps = [#h, #h, #h], iterator_types = ["parallel"]} ins(%1, %q : tensor<16xf32>, tensor<16xf32>) outs(%f : tensor<16xf32>) {
      ^bb0(%a: f32, %c: f32, %o: f32):
        %m = arith.mulf %a, %c : f32
        linalg.yield %m : f32
      } -> tensor<16xf32>
      return %3 : tensor<16xf32>
    }
  }
}
