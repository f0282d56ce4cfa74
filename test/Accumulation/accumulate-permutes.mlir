// RUN: weft-opt --weft-accumulate=axis=mb --canonicalize %s | FileCheck %s

// Permutes between microbatches and ranks.

// Parts of two lists of axes in another order, of which none divides the other: in
// three rounds, of which ranks send something in one.

weft.mesh @mesh = <["mb"=3, "b"=2]>

// CHECK-LABEL: func @turned
// CHECK: %[[C:.*]] = tensor.concat dim(0) {{.*}} -> tensor<3x2xf32>
// CHECK: %[[RANK:.*]] = weft.axis_index @mesh <{"b"}>
// CHECK: %[[FIRST:.*]] = tensor.extract_slice %[[C]][%[[RANK]], 0] [1, 2] [1, 1] : tensor<3x2xf32> to tensor<2xf32>
// CHECK: %[[LAST:.*]] = tensor.extract_slice %[[C]][%{{.*}}, 0] [1, 2] [1, 1] : tensor<3x2xf32> to tensor<2xf32>
// CHECK: %[[SENT:.*]] = tensor.extract_slice %[[C]][%{{.*}}, 0] [1, 2] [1, 1] : tensor<3x2xf32> to tensor<2xf32>
// CHECK: %[[GOT:.*]] = weft.permute %[[SENT]] on @mesh <{"b"}> sources [1, 0]
// CHECK-NOT: weft.permute
// CHECK: tensor.concat dim(0) %[[FIRST]], %[[GOT]], %[[LAST]]
func.func @turned(%x: tensor<2xf32> {weft.global_type = tensor<6xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>})
  -> (tensor<2xf32> {weft.global_type = tensor<6xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>}) {
  %0 = weft.permute %x on @mesh <{"mb", "b"}> sources [0, 3, 1, 4, 2, 5] : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
