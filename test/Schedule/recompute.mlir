// RUN: weft-opt %s --weft-recompute=bytes=81920 | FileCheck %s
// RUN: weft-opt %s --weft-recompute=bytes=98304 | FileCheck %s --check-prefix=FITS
// RUN: weft-opt %s --weft-recompute --weft-schedule=policy=sync | FileCheck %s --check-prefix=ORDER
// RUN: weft-opt %s --weft-recompute=bytes=81920 --remarks-filter="weft-.*" 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// REMARK: [Passed] recompute | Category:weft-recompute | Remark="what weft.matmul makes is computed again for weft.matmul", bytes=16384, ns=24158
// RUN: not weft-opt %s --weft-recompute=machine=none.json 2>&1 | FileCheck %s --check-prefix=MACHINE
// MACHINE: error: no machine 'none.json'

// What the first product makes is alive beside the operand and the result of the
// third; it is computed again once that is there, from arguments.
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func @chain
// CHECK-SAME: (%[[X:.*]]: tensor<64x64xf32>, %[[W:.*]]: tensor<64x64xf32>)
// CHECK: %[[FIRST:.*]] = weft.matmul %[[X]], %[[W]]
// CHECK: %[[SECOND:.*]] = weft.matmul %[[FIRST]], %[[W]]
// CHECK: %[[THIRD:.*]] = weft.matmul %[[SECOND]], %[[W]]
// CHECK: %[[B:.*]]:3 = weft.optimization_barrier %[[X]], %[[W]], %[[THIRD]]
// CHECK: %[[AGAIN:.*]] = weft.matmul %[[B]]#0, %[[B]]#1
// CHECK-NOT: weft.same_as
// CHECK: weft.matmul %[[THIRD]], %[[AGAIN]]
// FITS-LABEL: func @chain
// FITS-COUNT-4: weft.matmul
// FITS: return
// ORDER-LABEL: func @chain
// ORDER-COUNT-5: weft.matmul
// ORDER-NOT: weft.optimization_barrier
func.func @chain(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %1 = weft.matmul %0, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %2 = weft.matmul %1, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %3 = weft.matmul %2, %0 {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}

// Half of it is read through a view, and that view in a loop.
// CHECK-LABEL: func @views
// CHECK: %[[THIRD:.*]] = weft.matmul
// CHECK: weft.optimization_barrier
// CHECK: %[[AGAIN:.*]] = weft.matmul
// CHECK: %[[VIEW:.*]] = tensor.expand_shape %[[AGAIN]]
// CHECK: scf.for
// CHECK: tensor.extract_slice %[[VIEW]]
func.func @views(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<8x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %view = tensor.expand_shape %0 [[0, 1], [2]] output_shape [8, 8, 64] : tensor<64x64xf32> into tensor<8x8x64xf32>
  %1 = weft.matmul %0, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %2 = weft.matmul %1, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %first = tensor.extract_slice %2[0, 0] [8, 64] [1, 1] : tensor<64x64xf32> to tensor<8x64xf32>
  %3 = scf.for %i = %c0 to %c8 step %c1 iter_args(%sum = %first) -> tensor<8x64xf32> {
    %part = tensor.extract_slice %view[0, %i, 0] [8, 1, 64] [1, 1, 1] : tensor<8x8x64xf32> to tensor<8x64xf32>
    %4 = arith.addf %sum, %part : tensor<8x64xf32>
    scf.yield %4 : tensor<8x64xf32>
  }
  return %3 : tensor<8x64xf32>
}
