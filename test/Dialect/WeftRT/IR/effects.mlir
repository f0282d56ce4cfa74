// RUN: weft-opt %s --canonicalize --cse --loop-invariant-code-motion --canonicalize | FileCheck %s

// Ops on buffers read and write them: what nothing uses as a value stays, and
// what is there twice is done twice. On tensors a kernel is a function.

#id = affine_map<(i) -> (i)>

// CHECK-LABEL: func @fused
func.func @fused(%in: memref<8xf32>, %out: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: scf.for
  // CHECK-COUNT-2: weft_rt.fused
  scf.for %i = %c0 to %n step %c1 {
    weft_rt.fused ins(%in : memref<8xf32>) outs(%out : memref<8xf32>) {
    ^bb0(%a: tensor<8xf32>):
      %e = tensor.empty() : tensor<8xf32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
      ^bb0(%v: f32, %o: f32):
        %s = arith.addf %v, %v : f32
        linalg.yield %s : f32
      } -> tensor<8xf32>
      weft_rt.yield %r : tensor<8xf32>
    }
    weft_rt.fused ins(%in : memref<8xf32>) outs(%out : memref<8xf32>) {
    ^bb0(%a: tensor<8xf32>):
      %e = tensor.empty() : tensor<8xf32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
      ^bb0(%v: f32, %o: f32):
        %s = arith.addf %v, %v : f32
        linalg.yield %s : f32
      } -> tensor<8xf32>
      weft_rt.yield %r : tensor<8xf32>
    }
    // CHECK: }
  }
  return
}

// CHECK-LABEL: func @written
func.func @written(%a: memref<4x4xf32>, %b: memref<4x4xf32>, %i: memref<4xi32>, %n: memref<i32>) -> (i32, i32, i32) {
  // CHECK: weft_rt.gemm
  // CHECK: weft_rt.scatter_add
  // CHECK: weft_rt.scatter_add
  // CHECK: weft_rt.copy
  // CHECK: weft_rt.copy
  weft_rt.gemm %a, %a into %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : memref<4x4xf32>, memref<4x4xf32> into memref<4x4xf32>
  weft_rt.scatter_add %a, %i, %b {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : memref<4x4xf32>, memref<4xi32>, memref<4x4xf32>
  weft_rt.scatter_add %a, %i, %b {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : memref<4x4xf32>, memref<4xi32>, memref<4x4xf32>
  weft_rt.copy %a to %b : memref<4x4xf32> to memref<4x4xf32>
  weft_rt.copy %a to %b : memref<4x4xf32> to memref<4x4xf32>
  // A number that is read is the same until something is written.
  // CHECK: %[[A:.*]] = weft_rt.read_scalar
  // CHECK-NEXT: weft_rt.copy
  // CHECK-NEXT: %[[B:.*]] = weft_rt.read_scalar
  // CHECK-NEXT: return %[[A]], %[[A]], %[[B]]
  %0 = weft_rt.read_scalar %n[] : memref<i32>
  %1 = weft_rt.read_scalar %n[] : memref<i32>
  weft_rt.copy %a to %b : memref<4x4xf32> to memref<4x4xf32>
  %2 = weft_rt.read_scalar %n[] : memref<i32>
  return %0, %1, %2 : i32, i32, i32
}

// CHECK-LABEL: func @function
func.func @function(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NOT: weft_rt.fused
  %0 = weft_rt.fused ins(%x : tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %o: f32):
      %s = arith.addf %v, %v : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    weft_rt.yield %r : tensor<8xf32>
  }
  return %x : tensor<8xf32>
}
