// RUN: weft-opt %s --weft-assign-orders="axes=tp min-leaf=4" | FileCheck %s
// RUN: weft-opt %s --weft-apply-mesh="mesh=tp=1" --weft-assign-orders="axes=tp min-leaf=4" | FileCheck %s
// RUN: weft-opt %s --weft-apply-mesh="mesh=tp=3" --weft-assign-orders="axes=tp min-leaf=4 leaves=12" \
// RUN:   | FileCheck %s --check-prefix=TWELVE
// RUN: weft-opt %s --weft-apply-mesh="mesh=tp=3" --weft-assign-orders="axes=mesh min-leaf=4 leaves=12" \
// RUN:   | FileCheck %s --check-prefix=ALL

// Each of the three parts that "dp" makes of a sum has leaves of its own, a
// power of two, as many as its length allows: so "tp" may cut sums as well, or
// "dp" leave it, without another order. The size of "tp" changes nothing.

// CHECK: weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>
weft.mesh @mesh = <["dp"=3, "tp"=4]>

// Along K; 8 leaves of 16, and of twelve, 4 of 32.
// CHECK-LABEL: func @cut
// CHECK: weft.matmul {{.*}} weft.order = #weft.order<leaves = 24>
// TWELVE-LABEL: func @cut
// TWELVE: weft.matmul {{.*}} weft.order = #weft.order<leaves = 12>
// ALL-LABEL: func @cut
// ALL: weft.matmul {{.*}} weft.order = #weft.order<leaves = 12>
func.func @cut(%x: tensor<8x384xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {"dp"}]>},
               %w: tensor<384x8xf32>) -> tensor<8x8xf32> {
  %0 = weft.matmul %x, %w {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
         affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
       : tensor<8x384xf32>, tensor<384x8xf32> -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// Not along K; 128 is not divided by three, and 6 inside of 64 is not one piece.
// CHECK-LABEL: func @not_cut
// CHECK: weft.matmul {{.*}} weft.order = #weft.order<leaves = 8>
// CHECK: weft.matmul {{.*}} weft.order = #weft.order<leaves = 8>
// CHECK: weft.matmul {{.*}} weft.order = #weft.order<leaves = 8>
func.func @not_cut(%x: tensor<12x384xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>},
                   %y: tensor<8x128xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"dp"}]>},
                   %z: tensor<8x64x6xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}, {"dp"}]>},
                   %u: tensor<384x8xf32>, %v: tensor<128x8xf32>, %w: tensor<64x6x8xf32>)
    -> (tensor<12x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = weft.matmul %x, %u {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
         affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
       : tensor<12x384xf32>, tensor<384x8xf32> -> tensor<12x8xf32>
  %1 = weft.matmul %y, %v {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
         affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
       : tensor<8x128xf32>, tensor<128x8xf32> -> tensor<8x8xf32>
  %2 = weft.matmul %z, %w {indexing_maps = [affine_map<(m, n, j, k) -> (m, j, k)>,
         affine_map<(m, n, j, k) -> (j, k, n)>, affine_map<(m, n, j, k) -> (m, n)>]}
       : tensor<8x64x6xf32>, tensor<64x6x8xf32> -> tensor<8x8xf32>
  return %0, %1, %2 : tensor<12x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// A sum that combines in another way stays one chain.
// CHECK-LABEL: func @chain
// CHECK: attrs = {weft.order = #weft.order<leaves = 1>}
func.func @chain(%x: tensor<384xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}, %init: tensor<f32>) -> tensor<f32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
         iterator_types = ["reduction"]} ins(%x : tensor<384xf32>) outs(%init : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %half = arith.constant 0.5 : f32
    %less = arith.mulf %out, %half : f32
    %sum = arith.addf %less, %in : f32
    linalg.yield %sum : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}
