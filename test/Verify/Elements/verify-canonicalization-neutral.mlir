// What a folder leaves of a reduction, and constants that are summed in stages.

// RUN: weft-compile %s --to global -o - | FileCheck %s
// RUN: weft-compile %s --invariant=mesh --to local -o - | FileCheck %s
// RUN: weft-compile %s --to scheduled -o - | FileCheck %s
// CHECK: func.func @main

#vec = affine_map<(d0) -> (d0)>
#one = affine_map<(d0) -> ()>
#id = affine_map<(d0, d1) -> (d0, d1)>
#last = affine_map<(d0, d1) -> (d1)>
#none = affine_map<(d0, d1) -> ()>
weft.mesh @mesh = <["x"=2]>
func.func @main(%p: tensor<16x7xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>}, %v: tensor<10xf32>, %s: tensor<f32>)
    -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %least = arith.constant dense<0x7F800000> : tensor<4x10xf32>
  %start = arith.constant dense<0x7F800000> : tensor<10xf32>
  // The least of what is neutral is what it begins with.
  %min = linalg.generic {indexing_maps = [#id, #last], iterator_types = ["reduction", "parallel"]} ins(%least : tensor<4x10xf32>) outs(%start : tensor<10xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.minimumf %o, %i : f32
    linalg.yield %r : f32
  } -> tensor<10xf32>
  %all = linalg.generic {indexing_maps = [#vec, #one], iterator_types = ["reduction"]} ins(%min : tensor<10xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.addf %i, %o : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  // What is yielded is what the other result has so far.
  %two:2 = linalg.generic {indexing_maps = [#vec, #one, #one], iterator_types = ["reduction"]} ins(%v : tensor<10xf32>) outs(%s, %s : tensor<f32>, tensor<f32>) {
  ^bb0(%i: f32, %o: f32, %q: f32):
    %r = arith.addf %q, %i : f32
    linalg.yield %r, %o : f32, f32
  } -> (tensor<f32>, tensor<f32>)
  // Padding of one row is one addend of the first stage.
  %half = arith.constant 0.5 : f32
  %padded = tensor.pad %p low[1, 1] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %half : f32
  } : tensor<16x7xf32> to tensor<17x8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]} ins(%padded : tensor<17x8xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.addf %o, %i : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %all, %two#0, %two#1, %sum : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
