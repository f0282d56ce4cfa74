// RUN: weft-opt %s --weft-outline-kernels -split-input-file | FileCheck %s

// Two blocks of 8 elements are walked as one vector: the number of the second
// one counts past its start.

#ijk = affine_map<(i, j, k) -> (i, j, k)>
#ij = affine_map<(i, j, k) -> (i, j)>
#i = affine_map<(i, j, k) -> (i)>

// CHECK-LABEL: llvm.func internal @weft_k0_body
// CHECK: arith.maximumf
// CHECK: %[[BLOCKS:.*]] = arith.constant 2 : i64
// CHECK: scf.for %[[BLOCK:.*]] = %{{.*}} to %{{.*}} step %[[BLOCKS]]
// CHECK: %[[END:.*]] = arith.constant 16 : i64
// CHECK: scf.for %[[PLACE:.*]] = %{{.*}} to %[[END]]
// CHECK: %[[ONE:.*]] = arith.constant 1 : i64
// CHECK: arith.addi %[[BLOCK]], %[[ONE]]
// CHECK: %[[SIZE:.*]] = arith.constant 8 : i64
// CHECK: %[[PAST:.*]] = arith.cmpi uge, %[[PLACE]], %[[SIZE]]
// CHECK: arith.select %[[PAST]], %{{.*}}, %{{.*}} : f32
// CHECK: arith.divf
// CHECK: llvm.return
func.func @k0() {
  %x = weft_rt.buffer argument 0 : memref<64x16x8xf32>
  %s = weft_rt.buffer argument 1 : memref<64x16xf32>
  %y = weft_rt.buffer argument 2 : memref<64x16x8xf32>
  weft_rt.fused ins(%x, %s : memref<64x16x8xf32>, memref<64x16xf32>) outs(%y : memref<64x16x8xf32>) {
  ^bb0(%a: tensor<64x16x8xf32>, %b: tensor<64x16xf32>):
    %zero = arith.constant 0.0 : f32
    %em = tensor.empty() : tensor<64xf32>
    %start = linalg.fill ins(%zero : f32) outs(%em : tensor<64xf32>) -> tensor<64xf32>
    %most = linalg.generic {indexing_maps = [#ijk, #i], iterator_types = ["parallel", "reduction", "reduction"]}
        ins(%a : tensor<64x16x8xf32>) outs(%start : tensor<64xf32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.maximumf %o, %v : f32
      linalg.yield %r : f32
    } -> tensor<64xf32>
    %ey = tensor.empty() : tensor<64x16x8xf32>
    %part = linalg.generic {indexing_maps = [#ijk, #ij, #i, #ijk], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%a, %b, %most : tensor<64x16x8xf32>, tensor<64x16xf32>, tensor<64xf32>) outs(%ey : tensor<64x16x8xf32>) {
    ^bb0(%v: f32, %w: f32, %m: f32, %o: f32):
      %p = arith.mulf %v, %w : f32
      %r = arith.divf %p, %m : f32
      linalg.yield %r : f32
    } -> tensor<64x16x8xf32>
    weft_rt.yield %part : tensor<64x16x8xf32>
  }
  return
}

// -----

#ijk = affine_map<(i, j, k) -> (i, j, k)>
#ij = affine_map<(i, j, k) -> (i, j)>
#i = affine_map<(i, j, k) -> (i)>

// What asks for the place in a block stays block by block.
// CHECK-LABEL: llvm.func internal @weft_k0_body
// CHECK-NOT: arith.cmpi uge
// CHECK: llvm.return
func.func @k0() {
  %x = weft_rt.buffer argument 0 : memref<64x16x8xf32>
  %s = weft_rt.buffer argument 1 : memref<64x16xf32>
  %y = weft_rt.buffer argument 2 : memref<64x16x8xf32>
  weft_rt.fused ins(%x, %s : memref<64x16x8xf32>, memref<64x16xf32>) outs(%y : memref<64x16x8xf32>) {
  ^bb0(%a: tensor<64x16x8xf32>, %b: tensor<64x16xf32>):
    %zero = arith.constant 0.0 : f32
    %em = tensor.empty() : tensor<64xf32>
    %start = linalg.fill ins(%zero : f32) outs(%em : tensor<64xf32>) -> tensor<64xf32>
    %most = linalg.generic {indexing_maps = [#ijk, #i], iterator_types = ["parallel", "reduction", "reduction"]}
        ins(%a : tensor<64x16x8xf32>) outs(%start : tensor<64xf32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.maximumf %o, %v : f32
      linalg.yield %r : f32
    } -> tensor<64xf32>
    %ey = tensor.empty() : tensor<64x16x8xf32>
    %part = linalg.generic {indexing_maps = [#ijk, #ij, #i, #ijk], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%a, %b, %most : tensor<64x16x8xf32>, tensor<64x16xf32>, tensor<64xf32>) outs(%ey : tensor<64x16x8xf32>) {
    ^bb0(%v: f32, %w: f32, %m: f32, %o: f32):
      %k = linalg.index 2 : index
      %n = arith.index_cast %k : index to i32
      %f = arith.sitofp %n : i32 to f32
      %p = arith.mulf %v, %w : f32
      %q = arith.addf %p, %f : f32
      %r = arith.divf %q, %m : f32
      linalg.yield %r : f32
    } -> tensor<64x16x8xf32>
    weft_rt.yield %part : tensor<64x16x8xf32>
  }
  return
}

// -----

#ijk = affine_map<(i, j, k) -> (i, j, k)>
#ij = affine_map<(i, j, k) -> (i, j)>
#i = affine_map<(i, j, k) -> (i)>

// What an earlier phase wrote between other elements does not lie block by block.
// CHECK-LABEL: llvm.func internal @weft_k0_body
// CHECK-NOT: arith.cmpi uge
// CHECK: llvm.return
func.func @k0() {
  %x = weft_rt.buffer argument 0 : memref<64x16x8xf32>
  %w = weft_rt.buffer argument 1 : memref<64x16xf32>
  %y = weft_rt.buffer argument 2 : memref<64x16x8xf32, strided<[144, 9, 1]>>
  %z = weft_rt.buffer argument 3 : memref<64x16x8xf32>
  weft_rt.fused ins(%x, %w : memref<64x16x8xf32>, memref<64x16xf32>) outs(%y, %z : memref<64x16x8xf32, strided<[144, 9, 1]>>, memref<64x16x8xf32>) {
  ^bb0(%a: tensor<64x16x8xf32>, %b: tensor<64x16xf32>):
    %zero = arith.constant 0.0 : f32
    %em = tensor.empty() : tensor<64xf32>
    %start = linalg.fill ins(%zero : f32) outs(%em : tensor<64xf32>) -> tensor<64xf32>
    %ey = tensor.empty() : tensor<64x16x8xf32>
    %twice = linalg.generic {indexing_maps = [#ijk, #ijk], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%a : tensor<64x16x8xf32>) outs(%ey : tensor<64x16x8xf32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.addf %v, %v : f32
      linalg.yield %r : f32
    } -> tensor<64x16x8xf32>
    %most = linalg.generic {indexing_maps = [#ijk, #i], iterator_types = ["parallel", "reduction", "reduction"]}
        ins(%twice : tensor<64x16x8xf32>) outs(%start : tensor<64xf32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.maximumf %o, %v : f32
      linalg.yield %r : f32
    } -> tensor<64xf32>
    %ez = tensor.empty() : tensor<64x16x8xf32>
    %part = linalg.generic {indexing_maps = [#ijk, #ij, #i, #ijk], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%twice, %b, %most : tensor<64x16x8xf32>, tensor<64x16xf32>, tensor<64xf32>) outs(%ez : tensor<64x16x8xf32>) {
    ^bb0(%v: f32, %u: f32, %m: f32, %o: f32):
      %p = arith.mulf %v, %u : f32
      %r = arith.divf %p, %m : f32
      linalg.yield %r : f32
    } -> tensor<64x16x8xf32>
    weft_rt.yield %twice, %part : tensor<64x16x8xf32>, tensor<64x16x8xf32>
  }
  return
}
