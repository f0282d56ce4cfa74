// RUN: weft-opt %s -split-input-file --weft-name-ops | FileCheck %s
// RUN: weft-opt %s -split-input-file --weft-name-ops --weft-name-ops | FileCheck %s
// RUN: weft-opt %s -split-input-file --weft-name-ops --weft-assign-channels --weft-start-collectives --weft-name-ops | FileCheck %s

#mm = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
#gm = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]

weft.mesh @mesh = <["dp"=2, "tp"=2]>

// Names say what weight or gradient an op is about, and are unique.

// CHECK-LABEL: func @step
// CHECK: weft.all_gather {{.*}}weft.op = "all_gather w"
// CHECK: weft.matmul {{.*}}weft.op = "matmul w"
// CHECK: weft.all_reduce {{.*}}weft.op = "all_reduce output of w"
// CHECK: weft.matmul {{.*}}weft.op = "matmul #0"
// CHECK: weft.all_reduce {{.*}}weft.op = "all_reduce #0"
// CHECK: weft.all_gather {{.*}}weft.op = "all_gather w #2"
// CHECK: weft.matmul {{.*}}weft.op = "matmul w #2"
// CHECK: weft.matmul {{.*}}weft.op = "matmul gradient of w"
// CHECK: weft.reduce_scatter {{.*}}weft.op = "reduce_scatter w +1"
func.func @step(%w: tensor<4x8xf32> {weft.name = "w"}, %x: tensor<8x8xf32> {weft.name = "x"})
    -> (tensor<4x8xf32> {weft.name = "w", weft.alias = 0 : index}, tensor<4x8xf32>) {
  %0 = weft.all_gather %w on @mesh <{"dp"}> dims [0] : (tensor<4x8xf32>) -> tensor<8x8xf32>
  %1 = weft.matmul %x, %0 {indexing_maps = #mm} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %2 = weft.all_reduce sum %1 on @mesh <{"tp"}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = weft.matmul %2, %2 {indexing_maps = #mm} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %4 = weft.all_reduce sum %3 on @mesh <{"tp"}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %5 = weft.all_gather %w on @mesh <{"dp"}> dims [0] : (tensor<4x8xf32>) -> tensor<8x8xf32>
  %6 = weft.matmul %4, %5 {indexing_maps = #mm} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %7 = weft.matmul %6, %4 {indexing_maps = #gm} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %8:2 = weft.reduce_scatter sum %7, %6 on @mesh <{"dp"}> dims [0, 0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  %9 = arith.addf %w, %8#0 : tensor<4x8xf32>
  return %9, %8#1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Names that are there stay, and are not given twice. An argument without a name
// is called by its number. Views and scalars have no name.

weft.mesh @mesh = <["dp"=2]>

// CHECK-LABEL: func @kept
// CHECK: weft.all_gather {{.*}}weft.op = "all_gather arg0 #2"
// CHECK: weft.all_gather {{.*}}weft.op = "all_gather arg0"
// CHECK: tensor.expand_shape
// CHECK-NOT: weft.op
// CHECK: weft_rt.fused
// CHECK: } {weft.op = "kernel #1"}
// CHECK: weft_rt.fused
// CHECK: } {weft.op = "kernel #0"}
func.func @kept(%w: tensor<4xf32>) -> (tensor<8xf32>, tensor<2x4xf32>) {
  %0 = weft.all_gather %w on @mesh <{"dp"}> dims [0] : (tensor<4xf32>) -> tensor<8xf32>
  %1 = weft.all_gather %w on @mesh <{"dp"}> dims [0] {weft.op = "all_gather arg0"} : (tensor<4xf32>) -> tensor<8xf32>
  %2 = tensor.expand_shape %1 [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  weft_rt.fused ins() {
    weft_rt.yield
  }
  weft_rt.fused ins() {
    weft_rt.yield
  } {weft.op = "kernel #0"}
  return %0, %2 : tensor<8xf32>, tensor<2x4xf32>
}
