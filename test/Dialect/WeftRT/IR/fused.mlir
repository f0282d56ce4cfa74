// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

#row = affine_map<(i) -> (i)>

// CHECK-LABEL: func @tensors
func.func @tensors(%x: tensor<8xf32>, %s: tensor<f32>) -> (tensor<8xf32>, tensor<8xi1>) {
  // CHECK: %[[R:.*]]:2 = weft_rt.fused ins(%{{.*}}, %{{.*}} : tensor<8xf32>, tensor<f32>) -> tensor<8xf32>, tensor<8xi1> {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<f32>):
  %r:2 = weft_rt.fused ins(%x, %s : tensor<8xf32>, tensor<f32>) -> tensor<8xf32>, tensor<8xi1> {
  ^bb0(%a: tensor<8xf32>, %b: tensor<f32>):
    // CHECK: tensor.extract %[[B]][]
    %c = tensor.extract %b[] : tensor<f32>
    %e = tensor.empty() : tensor<8xf32>
    %f = tensor.empty() : tensor<8xi1>
    %g:2 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%e, %f : tensor<8xf32>, tensor<8xi1>) {
    ^bb0(%v: f32, %o: f32, %p: i1):
      %sum = arith.addf %v, %c : f32
      %less = arith.cmpf olt, %v, %c : f32
      linalg.yield %sum, %less : f32, i1
    } -> (tensor<8xf32>, tensor<8xi1>)
    // CHECK: weft_rt.yield %{{.*}}#0, %{{.*}}#1 : tensor<8xf32>, tensor<8xi1>
    weft_rt.yield %g#0, %g#1 : tensor<8xf32>, tensor<8xi1>
  }
  return %r#0, %r#1 : tensor<8xf32>, tensor<8xi1>
}

// CHECK-LABEL: func @in_place
func.func @in_place(%x: memref<8xf32, strided<[2]>>) {
  // CHECK: weft_rt.fused ins(%[[X:.*]] : memref<8xf32, strided<[2]>>) outs(%[[X]] : memref<8xf32, strided<[2]>>) {
  weft_rt.fused ins(%x : memref<8xf32, strided<[2]>>) outs(%x : memref<8xf32, strided<[2]>>) {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %g = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %o: f32):
      %n = arith.negf %v : f32
      linalg.yield %n : f32
    } -> tensor<8xf32>
    weft_rt.yield %g : tensor<8xf32>
  }
  return
}

// CHECK-LABEL: func @nothing
func.func @nothing() {
  // CHECK: weft_rt.fused ins() {
  // CHECK-NEXT: weft_rt.yield
  weft_rt.fused ins() {
    weft_rt.yield
  }
  return
}
