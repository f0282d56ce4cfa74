// RUN: weft-opt %s --weft-verify-partitioning -split-input-file | FileCheck %s

// Sizes that the program of a rank does not say: those of what is made of
// indices, or has one value for all elements. What it meets says them.

// Indices of which the last rank has one fewer, in another shape.

// CHECK-LABEL: func.func @expanded
module {
  weft.mesh @mesh = <["t"=2]>
  func.func @expanded(%x: tensor<5x1xf32> {weft.global_type = tensor<9x1xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}) -> (tensor<5x1xf32> {weft.global_type = tensor<9x1xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}) {
    %n = arith.constant 5 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.muli %r, %n : index
    %e = tensor.empty() : tensor<5xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e : tensor<5xf32>) {
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      %j = arith.addi %i, %b : index
      %k = arith.index_cast %j : index to i32
      %f = arith.sitofp %k : i32 to f32
      linalg.yield %f : f32
    } -> tensor<5xf32>
    %1 = tensor.expand_shape %0 [[0, 1]] output_shape [5, 1] : tensor<5xf32> into tensor<5x1xf32>
    %e1 = tensor.empty() : tensor<5x1xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%1, %x : tensor<5x1xf32>, tensor<5x1xf32>) outs(%e1 : tensor<5x1xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    } -> tensor<5x1xf32>
    return %2 : tensor<5x1xf32>
  }
  module @global {
    func.func @expanded(%x: tensor<9x1xf32>) -> tensor<9x1xf32> {
      %e = tensor.empty() : tensor<9xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e : tensor<9xf32>) {
      ^bb0(%o: f32):
        %i = linalg.index 0 : index
        %k = arith.index_cast %i : index to i32
        %f = arith.sitofp %k : i32 to f32
        linalg.yield %f : f32
      } -> tensor<9xf32>
      %1 = tensor.expand_shape %0 [[0, 1]] output_shape [9, 1] : tensor<9xf32> into tensor<9x1xf32>
      %e1 = tensor.empty() : tensor<9x1xf32>
      %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%1, %x : tensor<9x1xf32>, tensor<9x1xf32>) outs(%e1 : tensor<9x1xf32>) {
      ^bb0(%p: f32, %q: f32, %o: f32):
        %s = arith.addf %p, %q : f32
        linalg.yield %s : f32
      } -> tensor<9x1xf32>
      return %2 : tensor<9x1xf32>
    }
  }
}

// -----

// One value for all elements, of which there are more than the tensor has: it
// was cut for other ranks before.

// CHECK-LABEL: func.func @padded
module {
  weft.mesh @mesh = <["t"=4]>
  func.func @padded(%v: tensor<f32>, %x: tensor<2xf32> {weft.global_type = tensor<5xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) -> (tensor<2xf32> {weft.global_type = tensor<5xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) {
    %zero = arith.constant 0.0 : f32
    %n = arith.constant 2 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.muli %r, %n : index
    %e = tensor.empty() : tensor<6xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : tensor<f32>) outs(%e : tensor<6xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<6xf32>
    %1 = tensor.pad %0 low[0] high[2] {
    ^bb0(%i: index):
      tensor.yield %zero : f32
    } : tensor<6xf32> to tensor<8xf32>
    %2 = tensor.extract_slice %1[%b] [2] [1] : tensor<8xf32> to tensor<2xf32>
    %e1 = tensor.empty() : tensor<2xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%2, %x : tensor<2xf32>, tensor<2xf32>) outs(%e1 : tensor<2xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    } -> tensor<2xf32>
    return %3 : tensor<2xf32>
  }
  module @global {
    func.func @padded(%v: tensor<f32>, %x: tensor<5xf32>) -> tensor<5xf32> {
      %e = tensor.empty() : tensor<5xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : tensor<f32>) outs(%e : tensor<5xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<5xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%0, %x : tensor<5xf32>, tensor<5xf32>) outs(%e : tensor<5xf32>) {
      ^bb0(%p: f32, %q: f32, %o: f32):
        %s = arith.addf %p, %q : f32
        linalg.yield %s : f32
      } -> tensor<5xf32>
      return %1 : tensor<5xf32>
    }
  }
}

// -----

// The same, as a result.

// CHECK-LABEL: func.func @returned
module {
  weft.mesh @mesh = <["t"=4]>
  func.func @returned(%v: tensor<f32>) -> (tensor<2xf32> {weft.global_type = tensor<5xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) {
    %zero = arith.constant 0.0 : f32
    %n = arith.constant 2 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.muli %r, %n : index
    %e = tensor.empty() : tensor<6xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : tensor<f32>) outs(%e : tensor<6xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<6xf32>
    %1 = tensor.pad %0 low[0] high[2] {
    ^bb0(%i: index):
      tensor.yield %zero : f32
    } : tensor<6xf32> to tensor<8xf32>
    %2 = tensor.extract_slice %1[%b] [2] [1] : tensor<8xf32> to tensor<2xf32>
    return %2 : tensor<2xf32>
  }
  module @global {
    func.func @returned(%v: tensor<f32>) -> tensor<5xf32> {
      %e = tensor.empty() : tensor<5xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : tensor<f32>) outs(%e : tensor<5xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<5xf32>
      return %0 : tensor<5xf32>
    }
  }
}

// -----

// Gathered, without what was added: 5 of 8 elements.

// CHECK-LABEL: func.func @gathered_5
module {
  weft.mesh @mesh = <["t"=4]>
  func.func @gathered_5(%v: tensor<f32>, %x: tensor<5xf32>) -> tensor<5xf32> {
    %zero = arith.constant 0.0 : f32
    %n = arith.constant 2 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.muli %r, %n : index
    %e = tensor.empty() : tensor<6xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : tensor<f32>) outs(%e : tensor<6xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<6xf32>
    %1 = tensor.pad %0 low[0] high[2] {
    ^bb0(%i: index):
      tensor.yield %zero : f32
    } : tensor<6xf32> to tensor<8xf32>
    %2 = tensor.extract_slice %1[%b] [2] [1] : tensor<8xf32> to tensor<2xf32>
    %3 = weft.all_gather %2 on @mesh <{"t"}> dims [0] : (tensor<2xf32>) -> tensor<8xf32>
    %4 = tensor.extract_slice %3[0] [5] [1] : tensor<8xf32> to tensor<5xf32>
    %e1 = tensor.empty() : tensor<5xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%4, %x : tensor<5xf32>, tensor<5xf32>) outs(%e1 : tensor<5xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    } -> tensor<5xf32>
    return %5 : tensor<5xf32>
  }
  module @global {
    func.func @gathered_5(%v: tensor<f32>, %x: tensor<5xf32>) -> tensor<5xf32> {
      %e = tensor.empty() : tensor<5xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : tensor<f32>) outs(%e : tensor<5xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<5xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%0, %x : tensor<5xf32>, tensor<5xf32>) outs(%e : tensor<5xf32>) {
      ^bb0(%p: f32, %q: f32, %o: f32):
        %s = arith.addf %p, %q : f32
        linalg.yield %s : f32
      } -> tensor<5xf32>
      return %1 : tensor<5xf32>
    }
  }
}

// -----

// Gathered, without what was added: 4 of 8 elements.

// CHECK-LABEL: func.func @gathered_4
module {
  weft.mesh @mesh = <["t"=4]>
  func.func @gathered_4(%v: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
    %zero = arith.constant 0.0 : f32
    %n = arith.constant 2 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.muli %r, %n : index
    %e = tensor.empty() : tensor<6xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : tensor<f32>) outs(%e : tensor<6xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<6xf32>
    %1 = tensor.pad %0 low[0] high[2] {
    ^bb0(%i: index):
      tensor.yield %zero : f32
    } : tensor<6xf32> to tensor<8xf32>
    %2 = tensor.extract_slice %1[%b] [2] [1] : tensor<8xf32> to tensor<2xf32>
    %3 = weft.all_gather %2 on @mesh <{"t"}> dims [0] : (tensor<2xf32>) -> tensor<8xf32>
    %4 = tensor.extract_slice %3[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
    %e1 = tensor.empty() : tensor<4xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%4, %x : tensor<4xf32>, tensor<4xf32>) outs(%e1 : tensor<4xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    return %5 : tensor<4xf32>
  }
  module @global {
    func.func @gathered_4(%v: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
      %e = tensor.empty() : tensor<4xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : tensor<f32>) outs(%e : tensor<4xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<4xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%0, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%p: f32, %q: f32, %o: f32):
        %s = arith.addf %p, %q : f32
        linalg.yield %s : f32
      } -> tensor<4xf32>
      return %1 : tensor<4xf32>
    }
  }
}

// -----

// Two dimensions of indices as one.

// CHECK-LABEL: func.func @collapsed
module {
  weft.mesh @mesh = <["t"=3]>
  func.func @collapsed(%x: tensor<4xf32> {weft.global_type = tensor<10xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) -> (tensor<4xf32> {weft.global_type = tensor<10xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) {
    %n = arith.constant 2 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.muli %r, %n : index
    %e = tensor.empty() : tensor<2x2xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<2x2xf32>) {
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      %l = linalg.index 1 : index
      %j = arith.addi %i, %b : index
      %k = arith.index_cast %j : index to i32
      %f = arith.sitofp %k : i32 to f32
      %m = arith.index_cast %l : index to i32
      %g = arith.sitofp %m : i32 to f32
      %h = arith.subf %f, %g : f32
      linalg.yield %h : f32
    } -> tensor<2x2xf32>
    %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
    %e1 = tensor.empty() : tensor<4xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%1, %x : tensor<4xf32>, tensor<4xf32>) outs(%e1 : tensor<4xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
  module @global {
    func.func @collapsed(%x: tensor<10xf32>) -> tensor<10xf32> {
      %e = tensor.empty() : tensor<5x2xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<5x2xf32>) {
      ^bb0(%o: f32):
        %i = linalg.index 0 : index
        %l = linalg.index 1 : index
        %k = arith.index_cast %i : index to i32
        %f = arith.sitofp %k : i32 to f32
        %m = arith.index_cast %l : index to i32
        %g = arith.sitofp %m : i32 to f32
        %h = arith.subf %f, %g : f32
        linalg.yield %h : f32
      } -> tensor<5x2xf32>
      %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<5x2xf32> into tensor<10xf32>
      %e1 = tensor.empty() : tensor<10xf32>
      %2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%1, %x : tensor<10xf32>, tensor<10xf32>) outs(%e1 : tensor<10xf32>) {
      ^bb0(%p: f32, %q: f32, %o: f32):
        %s = arith.addf %p, %q : f32
        linalg.yield %s : f32
      } -> tensor<10xf32>
      return %2 : tensor<10xf32>
    }
  }
}

// -----

// A part of what is the same everywhere, whichever it is.

// CHECK-LABEL: func.func @cut
module {
  weft.mesh @mesh = <["t"=4]>
  func.func @cut(%v: tensor<f32>) -> tensor<2xf32> {
    %zero = arith.constant 0.0 : f32
    %n = arith.constant 2 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.muli %r, %n : index
    %e = tensor.empty() : tensor<6xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : tensor<f32>) outs(%e : tensor<6xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<6xf32>
    %1 = tensor.pad %0 low[0] high[2] {
    ^bb0(%i: index):
      tensor.yield %zero : f32
    } : tensor<6xf32> to tensor<8xf32>
    %2 = tensor.extract_slice %1[%b] [2] [1] : tensor<8xf32> to tensor<2xf32>
    %3 = weft.all_gather %2 on @mesh <{"t"}> dims [0] : (tensor<2xf32>) -> tensor<8xf32>
    %4 = tensor.extract_slice %3[3] [2] [1] : tensor<8xf32> to tensor<2xf32>
    return %4 : tensor<2xf32>
  }
  module @global {
    func.func @cut(%v: tensor<f32>) -> tensor<2xf32> {
      %e = tensor.empty() : tensor<5xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : tensor<f32>) outs(%e : tensor<5xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<5xf32>
      %4 = tensor.extract_slice %0[1] [2] [1] : tensor<5xf32> to tensor<2xf32>
      return %4 : tensor<2xf32>
    }
  }
}

// -----

// One row of each copy, of which a rank has one: types do not tell which of two
// dimensions of one element is left.

// CHECK-LABEL: func.func @row
module {
  weft.mesh @mesh = <["t"=2]>
  func.func @row(%x: tensor<4x3xf32>) -> (tensor<1x3xf32> {weft.global_type = tensor<2x3xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}) {
    %e = tensor.empty() : tensor<1x4x3xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x3xf32>) outs(%e : tensor<1x4x3xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<1x4x3xf32>
    %1 = tensor.extract_slice %0[0, 1, 0] [1, 1, 3] [1, 1, 1] : tensor<1x4x3xf32> to tensor<1x3xf32>
    return %1 : tensor<1x3xf32>
  }
  module @global {
    func.func @row(%x: tensor<4x3xf32>) -> tensor<2x3xf32> {
      %e = tensor.empty() : tensor<2x4x3xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x3xf32>) outs(%e : tensor<2x4x3xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<2x4x3xf32>
      %1 = tensor.extract_slice %0[0, 1, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x3xf32>
      return %1 : tensor<2x3xf32>
    }
  }
}
