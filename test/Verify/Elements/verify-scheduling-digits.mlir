// RUN: weft-opt %s --weft-verify-scheduling -split-input-file -verify-diagnostics -o /dev/null

// Maxima by rows and by columns in one kernel: into how many loops it cuts a
// dimension does not matter.
module {
  func.func @f(%x: tensor<16x64xf32>) -> (tensor<16x64xf32>, tensor<4x64xf32>) {
    %cut = tensor.expand_shape %x [[0, 1], [2, 3]] output_shape [4, 4, 8, 8] : tensor<16x64xf32> into tensor<4x4x8x8xf32>
    %0:2 = weft_rt.fused ins(%cut : tensor<4x4x8x8xf32>) -> tensor<4x4x8x8xf32>, tensor<4x8x8xf32> {
    ^bb0(%x4: tensor<4x4x8x8xf32>):
      %zero = arith.constant 0.0 : f32
      %e0 = tensor.empty() : tensor<4x4x8xf32>
      %i0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
      %e1 = tensor.empty() : tensor<4x8x8xf32>
      %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
      %e = tensor.empty() : tensor<4x4x8x8xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x4 : tensor<4x4x8x8xf32>) outs(%i0 : tensor<4x4x8xf32>) {
      ^bb0(%v: f32, %o: f32):
        %m = math.absf %v : f32
        %t = arith.maximumf %o, %m : f32
        linalg.yield %t : f32
      } -> tensor<4x4x8xf32>
      %c = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, c, d)>], iterator_types = ["parallel", "reduction", "parallel", "parallel"]} ins(%x4 : tensor<4x4x8x8xf32>) outs(%i1 : tensor<4x8x8xf32>) {
      ^bb0(%v: f32, %o: f32):
        %m = math.absf %v : f32
        %t = arith.maximumf %o, %m : f32
        linalg.yield %t : f32
      } -> tensor<4x8x8xf32>
      %y = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x4, %r : tensor<4x4x8x8xf32>, tensor<4x4x8xf32>) outs(%e : tensor<4x4x8x8xf32>) {
      ^bb0(%v: f32, %s: f32, %o: f32):
        %t = arith.mulf %v, %s : f32
        linalg.yield %t : f32
      } -> tensor<4x4x8x8xf32>
      weft_rt.yield %y, %c : tensor<4x4x8x8xf32>, tensor<4x8x8xf32>
    } {weft.op = "kernel #0"}
    %w = tensor.collapse_shape %0#0 [[0, 1], [2, 3]] : tensor<4x4x8x8xf32> into tensor<16x64xf32>
    %s = tensor.collapse_shape %0#1 [[0], [1, 2]] : tensor<4x8x8xf32> into tensor<4x64xf32>
    return %w, %s : tensor<16x64xf32>, tensor<4x64xf32>
  }
  module @local {
    func.func @f(%x: tensor<16x64xf32>) -> (tensor<16x64xf32>, tensor<4x64xf32>) {
      %z0 = arith.constant dense<0.0> : tensor<16x8xf32>
      %z1 = arith.constant dense<0.0> : tensor<4x64xf32>
      %rows = tensor.expand_shape %x [[0], [1, 2]] output_shape [16, 8, 8] : tensor<16x64xf32> into tensor<16x8x8xf32>
      %columns = tensor.expand_shape %x [[0, 1], [2]] output_shape [4, 4, 64] : tensor<16x64xf32> into tensor<4x4x64xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%rows : tensor<16x8x8xf32>) outs(%z0 : tensor<16x8xf32>) {
      ^bb0(%v: f32, %o: f32):
        %m = math.absf %v : f32
        %t = arith.maximumf %o, %m : f32
        linalg.yield %t : f32
      } -> tensor<16x8xf32>
      %c = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, k)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%columns : tensor<4x4x64xf32>) outs(%z1 : tensor<4x64xf32>) {
      ^bb0(%v: f32, %o: f32):
        %m = math.absf %v : f32
        %t = arith.maximumf %o, %m : f32
        linalg.yield %t : f32
      } -> tensor<4x64xf32>
      %e = tensor.empty() : tensor<16x8x8xf32>
      %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%rows, %r : tensor<16x8x8xf32>, tensor<16x8xf32>) outs(%e : tensor<16x8x8xf32>) {
      ^bb0(%v: f32, %s: f32, %o: f32):
        %t = arith.mulf %v, %s : f32
        linalg.yield %t : f32
      } -> tensor<16x8x8xf32>
      %w = tensor.collapse_shape %y [[0], [1, 2]] : tensor<16x8x8xf32> into tensor<16x64xf32>
      return %w, %c : tensor<16x64xf32>, tensor<4x64xf32>
    }
  }
}

// -----

// Columns of rows that lie apart: the outer digit is reduced.
module {
  func.func @f(%x: tensor<16x64xf32>) -> (tensor<16x64xf32>, tensor<4x64xf32>) {
    %cut = tensor.expand_shape %x [[0, 1], [2, 3]] output_shape [4, 4, 8, 8] : tensor<16x64xf32> into tensor<4x4x8x8xf32>
    %0:2 = weft_rt.fused ins(%cut : tensor<4x4x8x8xf32>) -> tensor<4x4x8x8xf32>, tensor<4x8x8xf32> {
    ^bb0(%x4: tensor<4x4x8x8xf32>):
      %zero = arith.constant 0.0 : f32
      %e0 = tensor.empty() : tensor<4x4x8xf32>
      %i0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
      %e1 = tensor.empty() : tensor<4x8x8xf32>
      %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
      %e = tensor.empty() : tensor<4x4x8x8xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x4 : tensor<4x4x8x8xf32>) outs(%i0 : tensor<4x4x8xf32>) {
      ^bb0(%v: f32, %o: f32):
        %m = math.absf %v : f32
        %t = arith.maximumf %o, %m : f32
        linalg.yield %t : f32
      } -> tensor<4x4x8xf32>
      // expected-error @+1 {{makes result #1 another one than before scheduling}}
      %c = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (b, c, d)>], iterator_types = ["reduction", "parallel", "parallel", "parallel"]} ins(%x4 : tensor<4x4x8x8xf32>) outs(%i1 : tensor<4x8x8xf32>) {
      ^bb0(%v: f32, %o: f32):
        %m = math.absf %v : f32
        %t = arith.maximumf %o, %m : f32
        linalg.yield %t : f32
      } -> tensor<4x8x8xf32>
      %y = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x4, %r : tensor<4x4x8x8xf32>, tensor<4x4x8xf32>) outs(%e : tensor<4x4x8x8xf32>) {
      ^bb0(%v: f32, %s: f32, %o: f32):
        %t = arith.mulf %v, %s : f32
        linalg.yield %t : f32
      } -> tensor<4x4x8x8xf32>
      weft_rt.yield %y, %c : tensor<4x4x8x8xf32>, tensor<4x8x8xf32>
    } {weft.op = "kernel #0"}
    %w = tensor.collapse_shape %0#0 [[0, 1], [2, 3]] : tensor<4x4x8x8xf32> into tensor<16x64xf32>
    %s = tensor.collapse_shape %0#1 [[0], [1, 2]] : tensor<4x8x8xf32> into tensor<4x64xf32>
    return %w, %s : tensor<16x64xf32>, tensor<4x64xf32>
  }
  module @local {
    func.func @f(%x: tensor<16x64xf32>) -> (tensor<16x64xf32>, tensor<4x64xf32>) {
      %z0 = arith.constant dense<0.0> : tensor<16x8xf32>
      %z1 = arith.constant dense<0.0> : tensor<4x64xf32>
      %rows = tensor.expand_shape %x [[0], [1, 2]] output_shape [16, 8, 8] : tensor<16x64xf32> into tensor<16x8x8xf32>
      %columns = tensor.expand_shape %x [[0, 1], [2]] output_shape [4, 4, 64] : tensor<16x64xf32> into tensor<4x4x64xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%rows : tensor<16x8x8xf32>) outs(%z0 : tensor<16x8xf32>) {
      ^bb0(%v: f32, %o: f32):
        %m = math.absf %v : f32
        %t = arith.maximumf %o, %m : f32
        linalg.yield %t : f32
      } -> tensor<16x8xf32>
      // expected-note @+1 {{this op of the program before makes an index}}
      %c = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, k)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%columns : tensor<4x4x64xf32>) outs(%z1 : tensor<4x64xf32>) {
      ^bb0(%v: f32, %o: f32):
        %m = math.absf %v : f32
        %t = arith.maximumf %o, %m : f32
        linalg.yield %t : f32
      } -> tensor<4x64xf32>
      %e = tensor.empty() : tensor<16x8x8xf32>
      %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%rows, %r : tensor<16x8x8xf32>, tensor<16x8xf32>) outs(%e : tensor<16x8x8xf32>) {
      ^bb0(%v: f32, %s: f32, %o: f32):
        %t = arith.mulf %v, %s : f32
        linalg.yield %t : f32
      } -> tensor<16x8x8xf32>
      %w = tensor.collapse_shape %y [[0], [1, 2]] : tensor<16x8x8xf32> into tensor<16x64xf32>
      return %w, %c : tensor<16x64xf32>, tensor<4x64xf32>
    }
  }
}

// -----

// The digits of a row, exchanged where its maximum is read.
module {
  // expected-error @+1 {{makes result #0 another one than before scheduling: argument 0, expected a reduction 16x8}}
  func.func @f(%x: tensor<16x64xf32>) -> (tensor<16x64xf32>, tensor<4x64xf32>) {
    %cut = tensor.expand_shape %x [[0, 1], [2, 3]] output_shape [4, 4, 8, 8] : tensor<16x64xf32> into tensor<4x4x8x8xf32>
    %0:2 = weft_rt.fused ins(%cut : tensor<4x4x8x8xf32>) -> tensor<4x4x8x8xf32>, tensor<4x8x8xf32> {
    ^bb0(%x4: tensor<4x4x8x8xf32>):
      %zero = arith.constant 0.0 : f32
      %e0 = tensor.empty() : tensor<4x4x8xf32>
      %i0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
      %e1 = tensor.empty() : tensor<4x8x8xf32>
      %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
      %e = tensor.empty() : tensor<4x4x8x8xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x4 : tensor<4x4x8x8xf32>) outs(%i0 : tensor<4x4x8xf32>) {
      ^bb0(%v: f32, %o: f32):
        %m = math.absf %v : f32
        %t = arith.maximumf %o, %m : f32
        linalg.yield %t : f32
      } -> tensor<4x4x8xf32>
      %c = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, c, d)>], iterator_types = ["parallel", "reduction", "parallel", "parallel"]} ins(%x4 : tensor<4x4x8x8xf32>) outs(%i1 : tensor<4x8x8xf32>) {
      ^bb0(%v: f32, %o: f32):
        %m = math.absf %v : f32
        %t = arith.maximumf %o, %m : f32
        linalg.yield %t : f32
      } -> tensor<4x8x8xf32>
      %y = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (b, a, c)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x4, %r : tensor<4x4x8x8xf32>, tensor<4x4x8xf32>) outs(%e : tensor<4x4x8x8xf32>) {
      ^bb0(%v: f32, %s: f32, %o: f32):
        %t = arith.mulf %v, %s : f32
        linalg.yield %t : f32
      } -> tensor<4x4x8x8xf32>
      weft_rt.yield %y, %c : tensor<4x4x8x8xf32>, tensor<4x8x8xf32>
    } {weft.op = "kernel #0"}
    %w = tensor.collapse_shape %0#0 [[0, 1], [2, 3]] : tensor<4x4x8x8xf32> into tensor<16x64xf32>
    %s = tensor.collapse_shape %0#1 [[0], [1, 2]] : tensor<4x8x8xf32> into tensor<4x64xf32>
    return %w, %s : tensor<16x64xf32>, tensor<4x64xf32>
  }
  module @local {
    func.func @f(%x: tensor<16x64xf32>) -> (tensor<16x64xf32>, tensor<4x64xf32>) {
      %z0 = arith.constant dense<0.0> : tensor<16x8xf32>
      %z1 = arith.constant dense<0.0> : tensor<4x64xf32>
      %rows = tensor.expand_shape %x [[0], [1, 2]] output_shape [16, 8, 8] : tensor<16x64xf32> into tensor<16x8x8xf32>
      %columns = tensor.expand_shape %x [[0, 1], [2]] output_shape [4, 4, 64] : tensor<16x64xf32> into tensor<4x4x64xf32>
      // expected-note @+1 {{this op of the program before makes a reduction 16x8}}
      %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%rows : tensor<16x8x8xf32>) outs(%z0 : tensor<16x8xf32>) {
      ^bb0(%v: f32, %o: f32):
        %m = math.absf %v : f32
        %t = arith.maximumf %o, %m : f32
        linalg.yield %t : f32
      } -> tensor<16x8xf32>
      %c = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, k)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%columns : tensor<4x4x64xf32>) outs(%z1 : tensor<4x64xf32>) {
      ^bb0(%v: f32, %o: f32):
        %m = math.absf %v : f32
        %t = arith.maximumf %o, %m : f32
        linalg.yield %t : f32
      } -> tensor<4x64xf32>
      %e = tensor.empty() : tensor<16x8x8xf32>
      %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%rows, %r : tensor<16x8x8xf32>, tensor<16x8xf32>) outs(%e : tensor<16x8x8xf32>) {
      ^bb0(%v: f32, %s: f32, %o: f32):
        %t = arith.mulf %v, %s : f32
        linalg.yield %t : f32
      } -> tensor<16x8x8xf32>
      %w = tensor.collapse_shape %y [[0], [1, 2]] : tensor<16x8x8xf32> into tensor<16x64xf32>
      return %w, %c : tensor<16x64xf32>, tensor<4x64xf32>
    }
  }
}

// -----

// Maxima of which the digits are exchanged.
module {
  // expected-error @+1 {{makes result #0 another one than before scheduling: argument 0, expected a reduction 16x8}}
  func.func @f(%x: tensor<16x64xf32>) -> (tensor<16x64xf32>, tensor<4x64xf32>) {
    %cut = tensor.expand_shape %x [[0, 1], [2, 3]] output_shape [4, 4, 8, 8] : tensor<16x64xf32> into tensor<4x4x8x8xf32>
    %0:2 = weft_rt.fused ins(%cut : tensor<4x4x8x8xf32>) -> tensor<4x4x8x8xf32>, tensor<4x8x8xf32> {
    ^bb0(%x4: tensor<4x4x8x8xf32>):
      %zero = arith.constant 0.0 : f32
      %e0 = tensor.empty() : tensor<4x4x8xf32>
      %i0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
      %e1 = tensor.empty() : tensor<4x8x8xf32>
      %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
      %e = tensor.empty() : tensor<4x4x8x8xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (b, a, c)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x4 : tensor<4x4x8x8xf32>) outs(%i0 : tensor<4x4x8xf32>) {
      ^bb0(%v: f32, %o: f32):
        %m = math.absf %v : f32
        %t = arith.maximumf %o, %m : f32
        linalg.yield %t : f32
      } -> tensor<4x4x8xf32>
      %c = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, c, d)>], iterator_types = ["parallel", "reduction", "parallel", "parallel"]} ins(%x4 : tensor<4x4x8x8xf32>) outs(%i1 : tensor<4x8x8xf32>) {
      ^bb0(%v: f32, %o: f32):
        %m = math.absf %v : f32
        %t = arith.maximumf %o, %m : f32
        linalg.yield %t : f32
      } -> tensor<4x8x8xf32>
      %y = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x4, %r : tensor<4x4x8x8xf32>, tensor<4x4x8xf32>) outs(%e : tensor<4x4x8x8xf32>) {
      ^bb0(%v: f32, %s: f32, %o: f32):
        %t = arith.mulf %v, %s : f32
        linalg.yield %t : f32
      } -> tensor<4x4x8x8xf32>
      weft_rt.yield %y, %c : tensor<4x4x8x8xf32>, tensor<4x8x8xf32>
    } {weft.op = "kernel #0"}
    %w = tensor.collapse_shape %0#0 [[0, 1], [2, 3]] : tensor<4x4x8x8xf32> into tensor<16x64xf32>
    %s = tensor.collapse_shape %0#1 [[0], [1, 2]] : tensor<4x8x8xf32> into tensor<4x64xf32>
    return %w, %s : tensor<16x64xf32>, tensor<4x64xf32>
  }
  module @local {
    func.func @f(%x: tensor<16x64xf32>) -> (tensor<16x64xf32>, tensor<4x64xf32>) {
      %z0 = arith.constant dense<0.0> : tensor<16x8xf32>
      %z1 = arith.constant dense<0.0> : tensor<4x64xf32>
      %rows = tensor.expand_shape %x [[0], [1, 2]] output_shape [16, 8, 8] : tensor<16x64xf32> into tensor<16x8x8xf32>
      %columns = tensor.expand_shape %x [[0, 1], [2]] output_shape [4, 4, 64] : tensor<16x64xf32> into tensor<4x4x64xf32>
      // expected-note @+1 {{this op of the program before makes a reduction 16x8}}
      %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%rows : tensor<16x8x8xf32>) outs(%z0 : tensor<16x8xf32>) {
      ^bb0(%v: f32, %o: f32):
        %m = math.absf %v : f32
        %t = arith.maximumf %o, %m : f32
        linalg.yield %t : f32
      } -> tensor<16x8xf32>
      %c = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, k)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%columns : tensor<4x4x64xf32>) outs(%z1 : tensor<4x64xf32>) {
      ^bb0(%v: f32, %o: f32):
        %m = math.absf %v : f32
        %t = arith.maximumf %o, %m : f32
        linalg.yield %t : f32
      } -> tensor<4x64xf32>
      %e = tensor.empty() : tensor<16x8x8xf32>
      %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%rows, %r : tensor<16x8x8xf32>, tensor<16x8xf32>) outs(%e : tensor<16x8x8xf32>) {
      ^bb0(%v: f32, %s: f32, %o: f32):
        %t = arith.mulf %v, %s : f32
        linalg.yield %t : f32
      } -> tensor<16x8x8xf32>
      %w = tensor.collapse_shape %y [[0], [1, 2]] : tensor<16x8x8xf32> into tensor<16x64xf32>
      return %w, %c : tensor<16x64xf32>, tensor<4x64xf32>
    }
  }
}
