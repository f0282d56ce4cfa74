// RUN: weft-opt %s --weft-choose-saved="price=1000000000 waists=true" | FileCheck %s
// RUN: weft-opt %s --weft-choose-saved="price=1000000000" | FileCheck %s --check-prefix=ALL

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>

// Layers that are wide within. What the first hands on to the second is
// kept: what is within each is computed again from where the layer begins.
// CHECK-LABEL: func @layers
// CHECK-SAME: (%[[X:.*]]: tensor<64x64xf32>, %[[U:.*]]: tensor<64x512xf32>, %[[D:.*]]: tensor<512x64xf32>)
// CHECK: %[[H0:.*]] = weft.matmul %[[X]], %[[U]]
// CHECK: %[[Y1:.*]] = weft.matmul %[[H0]], %[[D]]
// CHECK: weft.optimization_barrier %[[Y1]],
// CHECK: weft.optimization_barrier %[[X]],

// Else the second layer is computed again from the step's beginning, and what
// is within the first is in memory meanwhile.
// ALL-LABEL: func @layers
// ALL-SAME: (%[[X:.*]]: tensor<64x64xf32>, %[[U:.*]]: tensor<64x512xf32>, %[[D:.*]]: tensor<512x64xf32>)
// ALL: %[[H0:.*]] = weft.matmul %[[X]], %[[U]]
// ALL: %[[Y1:.*]] = weft.matmul %[[H0]], %[[D]]
// ALL-NOT: weft.optimization_barrier %[[Y1]],
// ALL: weft.optimization_barrier %[[X]],
// ALL-NOT: weft.optimization_barrier %[[Y1]],
func.func @layers(%x: tensor<64x64xf32>, %u: tensor<64x512xf32>, %d: tensor<512x64xf32>) -> tensor<64x64xf32> {
  %h0 = weft.matmul %x, %u {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x512xf32> -> tensor<64x512xf32>
  %y1 = weft.matmul %h0, %d {indexing_maps = [#mk, #kn, #mn]} : tensor<64x512xf32>, tensor<512x64xf32> -> tensor<64x64xf32>
  %h1 = weft.matmul %y1, %u {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x512xf32> -> tensor<64x512xf32>
  %y2 = weft.matmul %h1, %d {indexing_maps = [#mk, #kn, #mn]} : tensor<64x512xf32>, tensor<512x64xf32> -> tensor<64x64xf32>
  %h2 = weft.matmul %y2, %u {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x512xf32> -> tensor<64x512xf32>
  %y3 = weft.matmul %h2, %d {indexing_maps = [#mk, #kn, #mn]} : tensor<64x512xf32>, tensor<512x64xf32> -> tensor<64x64xf32>
  %h3 = weft.matmul %y3, %u {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x512xf32> -> tensor<64x512xf32>
  %y4 = weft.matmul %h3, %d {indexing_maps = [#mk, #kn, #mn]} : tensor<64x512xf32>, tensor<512x64xf32> -> tensor<64x64xf32>
  %t1 = weft.matmul %y4, %h1 {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x512xf32> -> tensor<64x512xf32>
  %b1 = weft.matmul %t1, %d {indexing_maps = [#mk, #kn, #mn]} : tensor<64x512xf32>, tensor<512x64xf32> -> tensor<64x64xf32>
  %t0 = weft.matmul %b1, %h0 {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x512xf32> -> tensor<64x512xf32>
  %b0 = weft.matmul %t0, %d {indexing_maps = [#mk, #kn, #mn]} : tensor<64x512xf32>, tensor<512x64xf32> -> tensor<64x64xf32>
  return %b0 : tensor<64x64xf32>
}
