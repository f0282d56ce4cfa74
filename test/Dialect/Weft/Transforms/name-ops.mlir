// RUN: weft-opt %s --weft-name-ops | FileCheck %s
// RUN: weft-opt %s --weft-name-ops --weft-name-ops | FileCheck %s

weft.mesh @mesh = <["dp"=2]>

// CHECK-LABEL: func @step
// CHECK: weft.all_gather {{.*}} {weft.op = "all_gather{{.*}}"}
// CHECK: weft.matmul {{.*}}weft.op = "matmul #0"
func.func @step(%w: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %0 = weft.all_gather %w on @mesh <{"dp"}> dims [0] : (tensor<4x8xf32>) -> tensor<8x8xf32>
  %1 = weft.matmul %0, %0 {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
