// RUN: weft-opt %s --weft-outline-kernels --weft-lower-math -split-input-file | FileCheck %s

// By rows: leaves of 80 elements; each is a block of 64, a rest of 16, and a
// vector of lanes that halves. Then the tree of four leaves, and the init in
// front.
#row = affine_map<(i, j) -> (i, j)>
#left = affine_map<(i, j) -> (i)>
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
// CHECK-LABEL: llvm.func internal @weft_k0_body
// CHECK: scf.for
// CHECK: scf.for %[[LEAF:.*]] = %{{.*}} to %{{.*}} step
// CHECK: %[[B:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<16xf32>)
// CHECK: scf.for
// CHECK: llvm.store {{.*}} : f32
// CHECK: %[[T:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: arith.addf %[[ACC]], %[[T]] : vector<16xf32>
// CHECK-COUNT-3: arith.addf {{.*}} : vector<16xf32>
// CHECK: scf.for
// CHECK: arith.addf %[[B]], %{{.*}} : vector<16xf32>
// CHECK: arith.addf {{.*}} : vector<8xf32>
// CHECK: arith.addf {{.*}} : vector<4xf32>
// CHECK: arith.addf {{.*}} : vector<2xf32>
// CHECK: arith.addf {{.*}} : vector<1xf32>
// CHECK: llvm.extractelement
// CHECK: %[[L0:.*]] = llvm.load
// CHECK: %[[L1:.*]] = llvm.load
// CHECK: %[[S01:.*]] = arith.addf %[[L0]], %[[L1]] : f32
// CHECK: %[[L2:.*]] = llvm.load
// CHECK: %[[L3:.*]] = llvm.load
// CHECK: %[[S23:.*]] = arith.addf %[[L2]], %[[L3]] : f32
// CHECK: %[[TREE:.*]] = arith.addf %[[S01]], %[[S23]] : f32
// CHECK: %[[INIT:.*]] = llvm.load
// CHECK: %[[SUM:.*]] = arith.addf %[[INIT]], %[[TREE]] : f32
// CHECK: llvm.store %[[SUM]]
// CHECK-NOT: fastmath
func.func @rows() {
  %x = weft_rt.buffer argument 0 : memref<64x320xf32>
  %i = weft_rt.buffer argument 1 : memref<64xf32>
  %y = weft_rt.buffer result 0 : memref<64xf32>
  weft_rt.fused ins(%x, %i : memref<64x320xf32>, memref<64xf32>) outs(%y : memref<64xf32>) {
  ^bb0(%a: tensor<64x320xf32>, %b: tensor<64xf32>):
    %g = linalg.generic {indexing_maps = [#row, #left], iterator_types = ["parallel", "reduction"]}
        ins(%a : tensor<64x320xf32>) outs(%b : tensor<64xf32>) attrs = {weft.order = #weft.order<leaves = 4, lanes = 16>} {
    ^bb0(%v: f32, %s: f32):
      %0 = arith.addf %v, %s : f32
      linalg.yield %0 : f32
    } -> tensor<64xf32>
    weft_rt.yield %g : tensor<64xf32>
  }
  return
}
}

// -----

// By columns: for a tile of columns, an array of accumulators for each leaf; the
// step over rows is outside of that along the tile. The kernel is cut along the
// columns, and an init of zeros is not added.
#at = affine_map<(i, j) -> (i, j)>
#right = affine_map<(i, j) -> (j)>
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
// CHECK-LABEL: func @columns
// CHECK: weft_rt.launch @weft_k0({{.*}}) over #weft_rt.host_range<extent = 3000
// CHECK-LABEL: llvm.func internal @weft_k0_body
// CHECK-SAME: %[[BEGIN:[^ ]*]]: i64, %[[END:[^ ]*]]: i64)
// CHECK: scf.for %[[TILE:.*]] = %[[BEGIN]] to %[[END]] step
// CHECK: arith.minsi %{{.*}}, %[[END]]
// CHECK: scf.for
// CHECK: llvm.store %{{.*}} : f32
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.for %{{.*}} = %[[TILE]] to
// CHECK: %[[TERM:.*]] = llvm.load
// CHECK: %[[OLD:.*]] = llvm.load
// CHECK: arith.addf %[[OLD]], %[[TERM]] : f32
// CHECK: scf.for %{{.*}} = %[[TILE]] to
// CHECK: %[[TREE:.*]] = arith.addf
// CHECK: %{{.*}} = llvm.getelementptr
// CHECK-NEXT: llvm.store %[[TREE]]
func.func @columns() {
  %x = weft_rt.buffer argument 0 : memref<64x3000xf32>
  %y = weft_rt.buffer result 0 : memref<3000xf32>
  weft_rt.fused ins(%x : memref<64x3000xf32>) outs(%y : memref<3000xf32>) {
  ^bb0(%a: tensor<64x3000xf32>):
    %c = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<3000xf32>
    %z = linalg.fill ins(%c : f32) outs(%e : tensor<3000xf32>) -> tensor<3000xf32>
    %g = linalg.generic {indexing_maps = [#at, #right], iterator_types = ["reduction", "parallel"]}
        ins(%a : tensor<64x3000xf32>) outs(%z : tensor<3000xf32>) attrs = {weft.order = #weft.order<leaves = 2>} {
    ^bb0(%v: f32, %s: f32):
      %0 = arith.addf %s, %v : f32
      linalg.yield %0 : f32
    } -> tensor<3000xf32>
    weft_rt.yield %g : tensor<3000xf32>
  }
  return
}
}
