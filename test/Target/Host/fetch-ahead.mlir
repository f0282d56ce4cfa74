// RUN: weft-opt %s --weft-outline-kernels -split-input-file | FileCheck %s

// While a row is computed, the next one is fetched.

#all2 = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// A row of 4 KiB: four lines at a time, before what is computed of as many.
// CHECK-LABEL: llvm.func internal @weft_k0_body
// CHECK: %[[NEXT:.*]] = arith.addi %[[ROW:.*]], %{{.*}} : i64
// CHECK: arith.maximumf
// CHECK: %[[PART:.*]] = arith.constant 64 : i64
// CHECK: scf.for %[[POINT:.*]] = %{{.*}} to %{{.*}} step %[[PART]]
// CHECK: %[[LINE:.*]] = arith.constant 16 : i64
// CHECK: %[[SIZE:.*]] = arith.constant 64 : i64
// CHECK: scf.for %[[PLACE:.*]] = %{{.*}} to %[[SIZE]] step %[[LINE]]
// CHECK: %[[FIRST:.*]] = arith.muli %[[NEXT]],
// CHECK: %[[SUM:.*]] = arith.addi %{{.*}}, %[[FIRST]]
// CHECK: %[[HERE:.*]] = arith.addi %[[SUM]], %[[POINT]]
// CHECK: arith.addi %[[HERE]], %[[PLACE]]
// CHECK: "llvm.intr.prefetch"
// CHECK: scf.for %{{.*}} = %[[POINT]] to
// CHECK: arith.mulf
// CHECK: llvm.return
func.func @k0() {
  %x = weft_rt.buffer argument 0 : memref<64x1024xf32>
  %y = weft_rt.buffer argument 1 : memref<64x1024xf32>
  weft_rt.fused ins(%x : memref<64x1024xf32>) outs(%y : memref<64x1024xf32>) {
  ^bb0(%a: tensor<64x1024xf32>):
    %zero = arith.constant 0.0 : f32
    %em = tensor.empty() : tensor<64xf32>
    %start = linalg.fill ins(%zero : f32) outs(%em : tensor<64xf32>) -> tensor<64xf32>
    %most = linalg.generic {indexing_maps = [#all2, #row], iterator_types = ["parallel", "reduction"]}
        ins(%a : tensor<64x1024xf32>) outs(%start : tensor<64xf32>) {
    ^bb0(%v: f32, %o: f32):
      %b = arith.maximumf %o, %v : f32
      linalg.yield %b : f32
    } -> tensor<64xf32>
    %ey = tensor.empty() : tensor<64x1024xf32>
    %product = linalg.generic {indexing_maps = [#all2, #row, #all2], iterator_types = ["parallel", "parallel"]}
        ins(%a, %most : tensor<64x1024xf32>, tensor<64xf32>) outs(%ey : tensor<64x1024xf32>) {
    ^bb0(%v: f32, %m: f32, %o: f32):
      %b = arith.mulf %v, %m : f32
      linalg.yield %b : f32
    } -> tensor<64x1024xf32>
    weft_rt.yield %product : tensor<64x1024xf32>
  }
  return
}

// -----

#all2 = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// So many at once would wait for memory themselves, and no few points are as many
// as others.
// CHECK-LABEL: llvm.func internal @weft_k0_body
// CHECK-NOT: prefetch
// CHECK: llvm.return
func.func @k0() {
  %x = weft_rt.buffer argument 0 : memref<64x1031xf32>
  %y = weft_rt.buffer argument 1 : memref<64x1031xf32>
  weft_rt.fused ins(%x : memref<64x1031xf32>) outs(%y : memref<64x1031xf32>) {
  ^bb0(%a: tensor<64x1031xf32>):
    %zero = arith.constant 0.0 : f32
    %em = tensor.empty() : tensor<64xf32>
    %start = linalg.fill ins(%zero : f32) outs(%em : tensor<64xf32>) -> tensor<64xf32>
    %most = linalg.generic {indexing_maps = [#all2, #row], iterator_types = ["parallel", "reduction"]}
        ins(%a : tensor<64x1031xf32>) outs(%start : tensor<64xf32>) {
    ^bb0(%v: f32, %o: f32):
      %b = arith.maximumf %o, %v : f32
      linalg.yield %b : f32
    } -> tensor<64xf32>
    %ey = tensor.empty() : tensor<64x1031xf32>
    %product = linalg.generic {indexing_maps = [#all2, #row, #all2], iterator_types = ["parallel", "parallel"]}
        ins(%a, %most : tensor<64x1031xf32>, tensor<64xf32>) outs(%ey : tensor<64x1031xf32>) {
    ^bb0(%v: f32, %m: f32, %o: f32):
      %b = arith.mulf %v, %m : f32
      linalg.yield %b : f32
    } -> tensor<64x1031xf32>
    weft_rt.yield %product : tensor<64x1031xf32>
  }
  return
}

// -----

#all3 = affine_map<(i, j, k) -> (i, j, k)>
#columns = affine_map<(i, j, k) -> (i, k)>

// A row is cut into parts of 256 columns, which lie apart: those of the next part
// in the line that is computed, which are more than the first-level cache holds
// beside this one.
// CHECK-LABEL: llvm.func internal @weft_k0_body
// CHECK: arith.maximumf
// CHECK: scf.for %[[LINE:.*]] =
// CHECK: %[[LENGTH:.*]] = arith.constant 256 : i64
// CHECK: scf.for %[[POINT:.*]] = %{{.*}} to %[[LENGTH]]
// CHECK: scf.for %[[PLACE:.*]] =
// CHECK: arith.muli %[[LINE]],
// CHECK: arith.addi %{{.*}}, %[[POINT]]
// CHECK: "llvm.intr.prefetch"{{.*}}hint = 2
// CHECK: scf.for %{{.*}} = %[[POINT]] to
// CHECK: arith.mulf
// CHECK: llvm.return
func.func @k0() {
  %x = weft_rt.buffer argument 0 : memref<4x64x1024xf32>
  %y = weft_rt.buffer argument 1 : memref<4x64x1024xf32>
  weft_rt.fused ins(%x : memref<4x64x1024xf32>) outs(%y : memref<4x64x1024xf32>) {
  ^bb0(%a: tensor<4x64x1024xf32>):
    %zero = arith.constant 0.0 : f32
    %em = tensor.empty() : tensor<4x1024xf32>
    %start = linalg.fill ins(%zero : f32) outs(%em : tensor<4x1024xf32>) -> tensor<4x1024xf32>
    %most = linalg.generic {indexing_maps = [#all3, #columns], iterator_types = ["parallel", "reduction", "parallel"]}
        ins(%a : tensor<4x64x1024xf32>) outs(%start : tensor<4x1024xf32>) {
    ^bb0(%v: f32, %o: f32):
      %b = arith.maximumf %o, %v : f32
      linalg.yield %b : f32
    } -> tensor<4x1024xf32>
    %ey = tensor.empty() : tensor<4x64x1024xf32>
    %product = linalg.generic {indexing_maps = [#all3, #columns, #all3], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%a, %most : tensor<4x64x1024xf32>, tensor<4x1024xf32>) outs(%ey : tensor<4x64x1024xf32>) {
    ^bb0(%v: f32, %m: f32, %o: f32):
      %b = arith.mulf %v, %m : f32
      linalg.yield %b : f32
    } -> tensor<4x64x1024xf32>
    weft_rt.yield %product : tensor<4x64x1024xf32>
  }
  return
}

// -----

#all3 = affine_map<(i, j, k) -> (i, j, k)>
#columns = affine_map<(i, j, k) -> (i, k)>

// A row of 64 KiB is cut too: the next part is fetched into the first-level cache.
// CHECK-LABEL: llvm.func internal @weft_k0_body
// CHECK: arith.maximumf
// CHECK: %[[LENGTH:.*]] = arith.constant 256 : i64
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[LENGTH]] step
// CHECK: "llvm.intr.prefetch"{{.*}}hint = 3
// CHECK: arith.mulf
// CHECK: llvm.return
func.func @k0() {
  %x = weft_rt.buffer argument 0 : memref<32x16x1024xf32>
  %y = weft_rt.buffer argument 1 : memref<32x16x1024xf32>
  weft_rt.fused ins(%x : memref<32x16x1024xf32>) outs(%y : memref<32x16x1024xf32>) {
  ^bb0(%a: tensor<32x16x1024xf32>):
    %zero = arith.constant 0.0 : f32
    %em = tensor.empty() : tensor<32x1024xf32>
    %start = linalg.fill ins(%zero : f32) outs(%em : tensor<32x1024xf32>) -> tensor<32x1024xf32>
    %most = linalg.generic {indexing_maps = [#all3, #columns], iterator_types = ["parallel", "reduction", "parallel"]}
        ins(%a : tensor<32x16x1024xf32>) outs(%start : tensor<32x1024xf32>) {
    ^bb0(%v: f32, %o: f32):
      %b = arith.maximumf %o, %v : f32
      linalg.yield %b : f32
    } -> tensor<32x1024xf32>
    %ey = tensor.empty() : tensor<32x16x1024xf32>
    %product = linalg.generic {indexing_maps = [#all3, #columns, #all3], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%a, %most : tensor<32x16x1024xf32>, tensor<32x1024xf32>) outs(%ey : tensor<32x16x1024xf32>) {
    ^bb0(%v: f32, %m: f32, %o: f32):
      %b = arith.mulf %v, %m : f32
      linalg.yield %b : f32
    } -> tensor<32x16x1024xf32>
    weft_rt.yield %product : tensor<32x16x1024xf32>
  }
  return
}
