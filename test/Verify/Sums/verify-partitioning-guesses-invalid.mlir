// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// What of verify-partitioning-guesses.mlir must not be otherwise.

// The mask ends what is repeated before the global program does.

module {
  weft.mesh @mesh = <["a"=6]>
  func.func @mask_too_early(%v: tensor<f32>) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %zeros = arith.constant dense<0.0> : tensor<f32>
    %c2 = arith.constant 2 : index
    %n = arith.constant 7 : index
    %a = weft.axis_index @mesh <{"a"}>
    %b = arith.muli %a, %c2 : index
    %e9 = tensor.empty() : tensor<9xf32>
    %rows = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : tensor<f32>) outs(%e9 : tensor<9xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<9xf32>
    %padded = tensor.pad %rows low[0] high[3] {
    ^bb0(%i: index):
      tensor.yield %zero : f32
    } : tensor<9xf32> to tensor<12xf32>
    %mine = tensor.extract_slice %padded[%b] [2] [1] : tensor<12xf32> to tensor<2xf32>
    %left = arith.subi %n, %b : index
    %e2 = tensor.empty() : tensor<2xf32>
    %m = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%mine : tensor<2xf32>) outs(%e2 : tensor<2xf32>) {
    ^bb0(%in: f32, %out: f32):
      %i = linalg.index 0 : index
      %c = arith.cmpi slt, %i, %left : index
      %s = arith.select %c, %in, %zero : f32
      linalg.yield %s : f32
    } -> tensor<2xf32>
    // expected-error@+1 {{makes result #0 another one: arith.addf (r7}}
    %p = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%m : tensor<2xf32>) outs(%zeros : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %out, %in : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %r = weft.all_reduce sum %p on @mesh <{"a"}> : (tensor<f32>) -> tensor<f32>
    return %r : tensor<f32>
  }
  module @global {
    func.func @mask_too_early(%v: tensor<f32>) -> tensor<f32> {
      %zeros = arith.constant dense<0.0> : tensor<f32>
      %e8 = tensor.empty() : tensor<8xf32>
      %rows = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : tensor<f32>) outs(%e8 : tensor<8xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<8xf32>
      // expected-note@+1 {{this op of the global program}}
      %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%rows : tensor<8xf32>) outs(%zeros : tensor<f32>) {
      ^bb0(%in: f32, %out: f32):
        %s = arith.addf %out, %in : f32
        linalg.yield %s : f32
      } -> tensor<f32>
      return %r : tensor<f32>
    }
  }
}

// -----

// It chooses the padding, not the elements.

module {
  weft.mesh @mesh = <["a"=6]>
  func.func @mask_chooses_padding(%v: tensor<f32>) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %zeros = arith.constant dense<0.0> : tensor<f32>
    %c2 = arith.constant 2 : index
    %n = arith.constant 8 : index
    %a = weft.axis_index @mesh <{"a"}>
    %b = arith.muli %a, %c2 : index
    %e9 = tensor.empty() : tensor<9xf32>
    %rows = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : tensor<f32>) outs(%e9 : tensor<9xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<9xf32>
    %padded = tensor.pad %rows low[0] high[3] {
    ^bb0(%i: index):
      tensor.yield %zero : f32
    } : tensor<9xf32> to tensor<12xf32>
    %mine = tensor.extract_slice %padded[%b] [2] [1] : tensor<12xf32> to tensor<2xf32>
    %left = arith.subi %n, %b : index
    %e2 = tensor.empty() : tensor<2xf32>
    %m = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%mine : tensor<2xf32>) outs(%e2 : tensor<2xf32>) {
    ^bb0(%in: f32, %out: f32):
      %i = linalg.index 0 : index
      %c = arith.cmpi slt, %i, %left : index
      %s = arith.select %c, %zero, %in : f32
      linalg.yield %s : f32
    } -> tensor<2xf32>
    %p = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%m : tensor<2xf32>) outs(%zeros : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      // expected-error@+1 {{combines elements past the end of a dimension of size 8}}
      %s = arith.addf %out, %in : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %r = weft.all_reduce sum %p on @mesh <{"a"}> : (tensor<f32>) -> tensor<f32>
    return %r : tensor<f32>
  }
  module @global {
    func.func @mask_chooses_padding(%v: tensor<f32>) -> tensor<f32> {
      %zeros = arith.constant dense<0.0> : tensor<f32>
      %e8 = tensor.empty() : tensor<8xf32>
      %rows = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : tensor<f32>) outs(%e8 : tensor<8xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<8xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%rows : tensor<8xf32>) outs(%zeros : tensor<f32>) {
      ^bb0(%in: f32, %out: f32):
        %s = arith.addf %out, %in : f32
        linalg.yield %s : f32
      } -> tensor<f32>
      return %r : tensor<f32>
    }
  }
}
