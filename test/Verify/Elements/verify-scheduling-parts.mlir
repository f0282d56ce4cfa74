// RUN: weft-opt %s --weft-verify-scheduling -split-input-file -verify-diagnostics -o /dev/null

// A sum whose order is open may be one of sums of parts, from any neutral
// number.

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

module {
  module @local {
    func.func @f(%x: tensor<128xf32>, %s: tensor<f32>) -> tensor<f32> {
      %0 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
          ins(%x : tensor<128xf32>) outs(%s : tensor<f32>) {
      ^bb0(%v: f32, %o: f32):
        %m = arith.mulf %v, %v : f32
        %r = arith.addf %o, %m : f32
        linalg.yield %r : f32
      } -> tensor<f32>
      return %0 : tensor<f32>
    }
  }
  func.func @f(%x: tensor<128xf32>, %s: tensor<f32>) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %view = tensor.expand_shape %x [[0, 1]] output_shape [8, 16] : tensor<128xf32> into tensor<8x16xf32>
    %e = tensor.empty() : tensor<8xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %parts = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
        ins(%view : tensor<8x16xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%v: f32, %o: f32):
      %m = arith.mulf %v, %v : f32
      %r = arith.addf %o, %m : f32
      linalg.yield %r : f32
    } -> tensor<8xf32>
    %0 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
        ins(%parts : tensor<8xf32>) outs(%s : tensor<f32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.addf %v, %o : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

// Not from another number.

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

module {
  module @local {
    func.func @f(%x: tensor<128xf32>, %s: tensor<f32>) -> tensor<f32> {
      // expected-note @+1 {{this op of the program before}}
      %0 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
          ins(%x : tensor<128xf32>) outs(%s : tensor<f32>) {
      ^bb0(%v: f32, %o: f32):
        %r = arith.addf %o, %v : f32
        linalg.yield %r : f32
      } -> tensor<f32>
      return %0 : tensor<f32>
    }
  }
  func.func @f(%x: tensor<128xf32>, %s: tensor<f32>) -> tensor<f32> {
    %one = arith.constant 1.0 : f32
    %view = tensor.expand_shape %x [[0, 1]] output_shape [8, 16] : tensor<128xf32> into tensor<8x16xf32>
    %e = tensor.empty() : tensor<8xf32>
    %z = linalg.fill ins(%one : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %parts = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
        ins(%view : tensor<8x16xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.addf %o, %v : f32
      linalg.yield %r : f32
    } -> tensor<8xf32>
    // expected-error @+1 {{makes result #0 another one than before scheduling}}
    %0 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
        ins(%parts : tensor<8xf32>) outs(%s : tensor<f32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.addf %o, %v : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

// Not of maxima.

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

module {
  module @local {
    func.func @f(%y: tensor<128xf32>, %s: tensor<f32>) -> tensor<f32> {
      // expected-note @+1 {{this op of the program before}}
      %1 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
          ins(%y : tensor<128xf32>) outs(%s : tensor<f32>) {
      ^bb0(%v: f32, %o: f32):
        %r = arith.maximumf %o, %v : f32
        linalg.yield %r : f32
      } -> tensor<f32>
      return %1 : tensor<f32>
    }
  }
  func.func @f(%y: tensor<128xf32>, %s: tensor<f32>) -> tensor<f32> {
    %low = arith.constant 0xFF800000 : f32
    %view = tensor.expand_shape %y [[0, 1]] output_shape [8, 16] : tensor<128xf32> into tensor<8x16xf32>
    %e = tensor.empty() : tensor<8xf32>
    %z = linalg.fill ins(%low : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %parts = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
        ins(%view : tensor<8x16xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.maximumf %o, %v : f32
      linalg.yield %r : f32
    } -> tensor<8xf32>
    // expected-error @+1 {{makes result #0 another one than before scheduling}}
    %0 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
        ins(%parts : tensor<8xf32>) outs(%s : tensor<f32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.addf %o, %v : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

// A declared order is not open.

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

module {
  module @local {
    func.func @f(%x: tensor<128xf32>, %s: tensor<f32>) -> tensor<f32> {
      // expected-note @+1 {{this op of the program before}}
      %0 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
          ins(%x : tensor<128xf32>) outs(%s : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 8>} {
      ^bb0(%v: f32, %o: f32):
        %r = arith.addf %o, %v : f32
        linalg.yield %r : f32
      } -> tensor<f32>
      return %0 : tensor<f32>
    }
  }
  func.func @f(%x: tensor<128xf32>, %s: tensor<f32>) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %view = tensor.expand_shape %x [[0, 1]] output_shape [8, 16] : tensor<128xf32> into tensor<8x16xf32>
    %e = tensor.empty() : tensor<8xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %parts = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
        ins(%view : tensor<8x16xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.addf %o, %v : f32
      linalg.yield %r : f32
    } -> tensor<8xf32>
    // expected-error @+1 {{makes result #0 another one than before scheduling}}
    %0 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
        ins(%parts : tensor<8xf32>) outs(%s : tensor<f32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.addf %o, %v : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
  }
}
