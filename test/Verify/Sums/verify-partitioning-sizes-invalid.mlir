// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// What of verify-partitioning-sizes.mlir must not be otherwise.

// The value is not as long as the tensor that it is added to: its last element
// is padding.

module {
  weft.mesh @mesh = <["t"=4]>
  func.func @too_long(%v: tensor<f32>, %x: tensor<2xf32> {weft.global_type = tensor<7xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) -> (tensor<2xf32> {weft.global_type = tensor<7xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) {
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
    // expected-error@+1 {{combines dimensions of global sizes 6 and 7}}
    %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%2, %x : tensor<2xf32>, tensor<2xf32>) outs(%e1 : tensor<2xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    } -> tensor<2xf32>
    return %3 : tensor<2xf32>
  }
  module @global {
    func.func @too_long(%v: tensor<f32>, %x: tensor<7xf32>) -> tensor<7xf32> {
      %e = tensor.empty() : tensor<7xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : tensor<f32>) outs(%e : tensor<7xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<7xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%0, %x : tensor<7xf32>, tensor<7xf32>) outs(%e : tensor<7xf32>) {
      ^bb0(%p: f32, %q: f32, %o: f32):
        %s = arith.addf %p, %q : f32
        linalg.yield %s : f32
      } -> tensor<7xf32>
      return %1 : tensor<7xf32>
    }
  }
}

// -----

// Indices that begin at another one.

module {
  weft.mesh @mesh = <["t"=2]>
  func.func @shifted(%x: tensor<5x1xf32> {weft.global_type = tensor<9x1xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}) -> (tensor<5x1xf32> {weft.global_type = tensor<9x1xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}) {
    %n = arith.constant 5 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.addi %r, %n : index
    %e = tensor.empty() : tensor<5xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e : tensor<5xf32>) {
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      %j = arith.addi %i, %b : index
      // expected-error@+1 {{computes with an index that depends on the rank, and is not the global index of a loop}}
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
    func.func @shifted(%x: tensor<9x1xf32>) -> tensor<9x1xf32> {
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

// There is zero from index 6 on, but the sum ends at 5: it has one element more.

module {
  weft.mesh @mesh = <["t"=4]>
  func.func @summed(%v: tensor<f32>, %x: tensor<2xf32> {weft.global_type = tensor<5xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %none = arith.constant dense<0.0> : tensor<f32>
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
    %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%2, %x : tensor<2xf32>, tensor<2xf32>) outs(%none : tensor<f32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      // expected-error@+1 {{combines elements past the end of a dimension of size 5}}
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %4 = weft.all_reduce sum %3 on @mesh <{"t"}> : (tensor<f32>) -> tensor<f32>
    return %4 : tensor<f32>
  }
  module @global {
    func.func @summed(%v: tensor<f32>, %x: tensor<5xf32>) -> tensor<f32> {
      %none = arith.constant dense<0.0> : tensor<f32>
      %e = tensor.empty() : tensor<5xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : tensor<f32>) outs(%e : tensor<5xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<5xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%0, %x : tensor<5xf32>, tensor<5xf32>) outs(%none : tensor<f32>) {
      ^bb0(%p: f32, %q: f32, %o: f32):
        %s = arith.addf %o, %p : f32
        linalg.yield %s : f32
      } -> tensor<f32>
      return %1 : tensor<f32>
    }
  }
}

// -----

// A part that goes on after the value ends.

module {
  weft.mesh @mesh = <["t"=4]>
  func.func @past_the_end(%v: tensor<f32>) -> tensor<2xf32> {
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
    // expected-error@+1 {{reads past the end of dim 0 of size 6}}
    %4 = tensor.extract_slice %3[5] [2] [1] : tensor<8xf32> to tensor<2xf32>
    return %4 : tensor<2xf32>
  }
  module @global {
    func.func @past_the_end(%v: tensor<f32>) -> tensor<2xf32> {
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

// A part of what is not the same everywhere any longer.

module {
  weft.mesh @mesh = <["t"=4]>
  func.func @others(%v: tensor<f32>) -> tensor<2xf32> {
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
    %e1 = tensor.empty() : tensor<8xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%3 : tensor<8xf32>) outs(%e1 : tensor<8xf32>) {
    ^bb0(%p: f32, %o: f32):
      %i = linalg.index 0 : index
      %k = arith.index_cast %i : index to i32
      %f = arith.sitofp %k : i32 to f32
      %s = arith.addf %p, %f : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    // expected-error@+1 {{makes result #0 another one: slice 2xf32 (0: 1 + 2 * 1, ), but in the global program slice 2xf32 (0: 3 + 2 * 1, )}}
    %6 = tensor.extract_slice %5[1] [2] [1] : tensor<8xf32> to tensor<2xf32>
    return %6 : tensor<2xf32>
  }
  module @global {
    func.func @others(%v: tensor<f32>) -> tensor<2xf32> {
      %e = tensor.empty() : tensor<5xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : tensor<f32>) outs(%e : tensor<5xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<5xf32>
      %e1 = tensor.empty() : tensor<5xf32>
      %5 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%0 : tensor<5xf32>) outs(%e1 : tensor<5xf32>) {
      ^bb0(%p: f32, %o: f32):
        %i = linalg.index 0 : index
        %k = arith.index_cast %i : index to i32
        %f = arith.sitofp %k : i32 to f32
        %s = arith.addf %p, %f : f32
        linalg.yield %s : f32
      } -> tensor<5xf32>
      // expected-note@+1 {{this op of the global program makes}}
      %6 = tensor.extract_slice %5[3] [2] [1] : tensor<5xf32> to tensor<2xf32>
      return %6 : tensor<2xf32>
    }
  }
}

// -----

// Another row.

module {
  weft.mesh @mesh = <["t"=2]>
  func.func @other_row(%x: tensor<4x3xf32>) -> (tensor<1x3xf32> {weft.global_type = tensor<2x3xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}) {
    %e = tensor.empty() : tensor<1x4x3xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x3xf32>) outs(%e : tensor<1x4x3xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<1x4x3xf32>
    %1 = tensor.extract_slice %0[0, 1, 0] [1, 1, 3] [1, 1, 1] : tensor<1x4x3xf32> to tensor<1x3xf32>
    // expected-error@+1 {{result #0 has dim 0 of size 4 in chunks [1, 1], expected size 2 in chunks [0, 1]}}
    return %1 : tensor<1x3xf32>
  }
  module @global {
    func.func @other_row(%x: tensor<4x3xf32>) -> tensor<2x3xf32> {
      %e = tensor.empty() : tensor<2x4x3xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x3xf32>) outs(%e : tensor<2x4x3xf32>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      } -> tensor<2x4x3xf32>
      %1 = tensor.extract_slice %0[0, 2, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x3xf32>
      return %1 : tensor<2x3xf32>
    }
  }
}

// -----

// A select between parts: of one condition, each rank its own of both.

module {
  weft.mesh @mesh = <["t"=2]>
  func.func @exchanged(%c: i1, %x: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}, %y: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>})
      -> (tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) {
    // expected-error@+1 {{makes result #0 another one: argument 4xf32 (2), but in the global program argument 4xf32 (1)}}
    %0 = arith.select %c, %y, %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  module @global {
    func.func @exchanged(%c: i1, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
      // expected-note@+1 {{this op of the global program makes argument 4xf32 (1)}}
      %0 = scf.if %c -> tensor<4xf32> {
        scf.yield %x : tensor<4xf32>
      } else {
        scf.yield %y : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }
  }
}

// -----

module {
  weft.mesh @mesh = <["t"=2]>
  func.func @other_part(%c: i1, %x: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}, %y: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>})
      -> (tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) {
    %z = weft.permute %y on @mesh <{"t"}> sources [1, 0] : (tensor<2xf32>) -> tensor<2xf32>
    // expected-error@+1 {{combines dimensions that are cut in different ways: a rank has parts [0, 1] of one and [1, 0] of the other}}
    %0 = arith.select %c, %x, %z : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  module @global {
    func.func @other_part(%c: i1, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
      %0 = scf.if %c -> tensor<4xf32> {
        scf.yield %x : tensor<4xf32>
      } else {
        scf.yield %y : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }
  }
}
