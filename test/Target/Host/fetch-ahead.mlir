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

// -----

#all4 = affine_map<(i, j, k, l) -> (i, j, k, l)>
#last_first = affine_map<(i, j, k, l) -> (l, i, j, k)>
#no_first = affine_map<(i, j, k, l) -> (j, k, l)>
#all3 = affine_map<(j, k, l) -> (j, k, l)>

// The lines of one input are three loops, those of the other, where the rows
// come first, one run: it does not begin at a place of the three.
// CHECK-LABEL: llvm.func internal @weft_k0_body
// CHECK: "llvm.intr.prefetch"
// CHECK: %[[SIZE:.*]] = arith.constant 280 : i64
// CHECK-NEXT: %[[BEGIN:.*]] = arith.constant 0 : i64
// CHECK-NEXT: scf.for %[[PLACE:.*]] = %[[BEGIN]] to %[[SIZE]]
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : i64
// CHECK-NEXT: %[[STRIDE:.*]] = arith.constant 280 : i64
// CHECK-NEXT: %[[ROW:.*]] = arith.muli %{{.*}}, %[[STRIDE]] : i64
// CHECK-NEXT: %[[FIRST:.*]] = arith.addi %[[ZERO]], %[[ROW]] : i64
// CHECK-NEXT: arith.addi %[[FIRST]], %[[PLACE]] : i64
// CHECK: "llvm.intr.prefetch"
// CHECK: llvm.return
func.func @k0() {
  %x = weft_rt.buffer argument 0 : memref<8x5x7x2xbf16>
  %y = weft_rt.buffer argument 1 : memref<2x8x5x7xbf16>
  %least = weft_rt.buffer argument 2 : memref<8x5x7x2xbf16>
  %sum = weft_rt.buffer argument 3 : memref<5x7x2xbf16>
  weft_rt.fused ins(%x, %y : memref<8x5x7x2xbf16>, memref<2x8x5x7xbf16>) outs(%least, %sum : memref<8x5x7x2xbf16>, memref<5x7x2xbf16>) {
  ^bb0(%a: tensor<8x5x7x2xbf16>, %b: tensor<2x8x5x7xbf16>):
    %zero = arith.constant 0.0 : f32
    %el = tensor.empty() : tensor<8x5x7x2xbf16>
    %l = linalg.generic {indexing_maps = [#all4, #last_first, #all4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%a, %b : tensor<8x5x7x2xbf16>, tensor<2x8x5x7xbf16>) outs(%el : tensor<8x5x7x2xbf16>) {
    ^bb0(%u: bf16, %v: bf16, %o: bf16):
      %m = arith.minimumf %u, %v : bf16
      linalg.yield %m : bf16
    } -> tensor<8x5x7x2xbf16>
    %es = tensor.empty() : tensor<5x7x2xf32>
    %start = linalg.fill ins(%zero : f32) outs(%es : tensor<5x7x2xf32>) -> tensor<5x7x2xf32>
    %s = linalg.generic {indexing_maps = [#all4, #no_first], iterator_types = ["reduction", "parallel", "parallel", "parallel"]}
        ins(%a : tensor<8x5x7x2xbf16>) outs(%start : tensor<5x7x2xf32>) {
    ^bb0(%u: bf16, %o: f32):
      %t = math.tanh %u : bf16
      %w = arith.extf %t : bf16 to f32
      %p = arith.addf %o, %w : f32
      linalg.yield %p : f32
    } -> tensor<5x7x2xf32>
    %er = tensor.empty() : tensor<5x7x2xbf16>
    %r = linalg.generic {indexing_maps = [#all3, #all3], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%s : tensor<5x7x2xf32>) outs(%er : tensor<5x7x2xbf16>) {
    ^bb0(%u: f32, %o: bf16):
      %t = arith.truncf %u : f32 to bf16
      linalg.yield %t : bf16
    } -> tensor<5x7x2xbf16>
    weft_rt.yield %l, %r : tensor<8x5x7x2xbf16>, tensor<5x7x2xbf16>
  }
  return
}
