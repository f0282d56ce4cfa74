// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>

// CHECK-LABEL: func @attention
func.func @attention(%q: memref<2x8x4xf32>, %k: memref<2x6x4xf32>, %l: memref<2x8xf32>, %s: index) {
  // CHECK: weft_rt.attention ins(%{{.*}}, %{{.*}}, %{{.*}}) outs(%{{.*}}, %{{.*}}) start %{{.*}} {config = #weft.attention<scale = 5.000000e-01 : f32, right = 0>
  weft_rt.attention ins(%q, %k, %k) outs(%q, %l) start %s {config = #weft.attention<scale = 0.5 : f32, right = 0>,
      indexing_maps = [#q, #k, #v, #out, #lse], tensors = ["q", "k", "v", "out", "lse"]}
      : memref<2x8x4xf32>, memref<2x6x4xf32>, memref<2x6x4xf32> into memref<2x8x4xf32>, memref<2x8xf32>
  // CHECK: weft_rt.attention ins(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) outs(%{{.*}}, %{{.*}}, %{{.*}}) {config
  weft_rt.attention ins(%q, %k, %k, %q, %l, %q) outs(%q, %k, %k) {config = #weft.attention<scale = 0.5 : f32>,
      indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v],
      tensors = ["q", "k", "v", "out", "lse", "dout", "dq", "dk", "dv"]}
      : memref<2x8x4xf32>, memref<2x6x4xf32>, memref<2x6x4xf32>, memref<2x8x4xf32>, memref<2x8xf32>, memref<2x8x4xf32>
      into memref<2x8x4xf32>, memref<2x6x4xf32>, memref<2x6x4xf32>
  return
}

// CHECK-LABEL: func @dropout
func.func @dropout(%q: memref<2x8x4xf32>, %k: memref<2x6x4xf32>, %l: memref<2x8xf32>, %s: memref<2x8xi32>) {
  // CHECK: weft_rt.attention ins(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) outs(%{{.*}}, %{{.*}}) {config = #weft.attention<scale = 5.000000e-01 : f32, dropout = 2.500000e-01 : f32>
  weft_rt.attention ins(%q, %k, %k, %s, %s) outs(%q, %l) {config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>,
      indexing_maps = [#q, #k, #v, #lse, #lse, #out, #lse],
      tensors = ["q", "k", "v", "low_seeds", "high_seeds", "out", "lse"]}
      : memref<2x8x4xf32>, memref<2x6x4xf32>, memref<2x6x4xf32>, memref<2x8xi32>, memref<2x8xi32> into memref<2x8x4xf32>, memref<2x8xf32>
  return
}
