// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

#q = affine_map<(b, h, g, i, j, d, e) -> (b, i, h, g, d)>
#k = affine_map<(b, h, g, i, j, d, e) -> (b, j, h, d)>
#v = affine_map<(b, h, g, i, j, d, e) -> (b, j, h, e)>
#out = affine_map<(b, h, g, i, j, d, e) -> (b, i, h, g, e)>
#lse = affine_map<(b, h, g, i, j, d, e) -> (b, h, g, i)>
#bias = affine_map<(b, h, g, i, j, d, e) -> (h, g, i, j)>
#mask = affine_map<(b, h, g, i, j, d, e) -> (b, j)>
#rows = affine_map<(b, h, g, i, j, d, e) -> (b, i)>

// CHECK-LABEL: func @attention
func.func @attention(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x6x2x4xf32>, %v: tensor<2x6x2x5xf32>)
    -> (tensor<2x8x2x3x5xf32>, tensor<2x2x3x8xf32>) {
  // CHECK: weft.attention %{{.*}}, %{{.*}}, %{{.*}} {config = #weft.attention<scale = 5.000000e-01 : f32>, indexing_maps = [
  %out, %lse = weft.attention %q, %k, %v {config = #weft.attention<scale = 0.5 : f32>,
      indexing_maps = [#q, #k, #v, #out, #lse]}
      : (tensor<2x8x2x3x4xf32>, tensor<2x6x2x4xf32>, tensor<2x6x2x5xf32>) -> (tensor<2x8x2x3x5xf32>, tensor<2x2x3x8xf32>)
  return %out, %lse : tensor<2x8x2x3x5xf32>, tensor<2x2x3x8xf32>
}

// CHECK-LABEL: func @everything
func.func @everything(%q: tensor<2x8x2x3x4xbf16>, %k: tensor<2x6x2x4xbf16>, %v: tensor<2x6x2x5xbf16>,
    %bias: tensor<2x3x8x6xf32>, %mask: tensor<2x6xi1>, %rows: tensor<2x8xi32>, %columns: tensor<2x6xi32>,
    %start: index, %dout: tensor<2x8x2x3x5xbf16>)
    -> (tensor<2x8x2x3x4xbf16>, tensor<2x6x2x4xf32>, tensor<2x6x2x5xbf16>) {
  // CHECK: weft.attention %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} mask %{{.*}} segments %{{.*}}, %{{.*}} start %{{.*}} {config = #weft.attention<scale = 5.000000e-01 : f32, softcap = 3.000000e+01 : f32, fill = 0xFF800000 : f32, left = 3, right = 0>
  %out, %lse = weft.attention %q, %k, %v bias %bias mask %mask segments %rows, %columns start %start {
      config = #weft.attention<scale = 0.5 : f32, softcap = 30.0 : f32, fill = 0xFF800000 : f32, left = 3, right = 0>,
      indexing_maps = [#q, #k, #v, #bias, #mask, #rows, #mask, #out, #lse]}
      : (tensor<2x8x2x3x4xbf16>, tensor<2x6x2x4xbf16>, tensor<2x6x2x5xbf16>, tensor<2x3x8x6xf32>, tensor<2x6xi1>, tensor<2x8xi32>, tensor<2x6xi32>, index)
      -> (tensor<2x8x2x3x5xbf16>, tensor<2x2x3x8xf32>)
  // CHECK: weft.attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} mask %{{.*}} segments %{{.*}}, %{{.*}} start %{{.*}} {config
  %dq, %dk, %dv = weft.attention_grad %q, %k, %v, %out, %lse, %dout bias %bias mask %mask segments %rows, %columns start %start {
      config = #weft.attention<scale = 0.5 : f32, softcap = 30.0 : f32, fill = 0xFF800000 : f32, left = 3, right = 0>,
      indexing_maps = [#q, #k, #v, #bias, #mask, #rows, #mask, #out, #lse, #out, #q, #k, #v]}
      : (tensor<2x8x2x3x4xbf16>, tensor<2x6x2x4xbf16>, tensor<2x6x2x5xbf16>, tensor<2x3x8x6xf32>, tensor<2x6xi1>, tensor<2x8xi32>, tensor<2x6xi32>, tensor<2x8x2x3x5xbf16>, tensor<2x2x3x8xf32>, tensor<2x8x2x3x5xbf16>, index)
      -> (tensor<2x8x2x3x4xbf16>, tensor<2x6x2x4xf32>, tensor<2x6x2x5xbf16>)
  return %dq, %dk, %dv : tensor<2x8x2x3x4xbf16>, tensor<2x6x2x4xf32>, tensor<2x6x2x5xbf16>
}

// CHECK-LABEL: func @dropout
func.func @dropout(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x6x2x4xf32>, %low: tensor<2x2x3x8xi32>, %high: tensor<8xi32>)
    -> (tensor<2x8x2x3x4xf32>, tensor<2x6x2x4xf32>, tensor<2x6x2x4xf32>) {
  // CHECK: weft.attention %{{.*}}, %{{.*}}, %{{.*}} dropout %{{.*}}, %{{.*}} {config = #weft.attention<scale = 5.000000e-01 : f32, right = 0, dropout = 2.500000e-01 : f32>
  %out, %lse = weft.attention %q, %k, %k dropout %low, %high {
      config = #weft.attention<scale = 0.5 : f32, right = 0, dropout = 0.25 : f32>,
      indexing_maps = [#q, #k, #v, #lse, affine_map<(b, h, g, i, j, d, e) -> (i)>, #out, #lse]}
      : (tensor<2x8x2x3x4xf32>, tensor<2x6x2x4xf32>, tensor<2x6x2x4xf32>, tensor<2x2x3x8xi32>, tensor<8xi32>)
      -> (tensor<2x8x2x3x4xf32>, tensor<2x2x3x8xf32>)
  // CHECK: weft.attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} dropout %{{.*}}, %{{.*}} {config
  %dq, %dk, %dv = weft.attention_grad %q, %k, %k, %out, %lse, %q dropout %low, %high {
      config = #weft.attention<scale = 0.5 : f32, right = 0, dropout = 0.25 : f32>,
      indexing_maps = [#q, #k, #v, #lse, affine_map<(b, h, g, i, j, d, e) -> (i)>, #out, #lse, #out, #q, #k, #v]}
      : (tensor<2x8x2x3x4xf32>, tensor<2x6x2x4xf32>, tensor<2x6x2x4xf32>, tensor<2x2x3x8xi32>, tensor<8xi32>, tensor<2x8x2x3x4xf32>, tensor<2x2x3x8xf32>, tensor<2x8x2x3x4xf32>)
      -> (tensor<2x8x2x3x4xf32>, tensor<2x6x2x4xf32>, tensor<2x6x2x4xf32>)
  return %dq, %dk, %dv : tensor<2x8x2x3x4xf32>, tensor<2x6x2x4xf32>, tensor<2x6x2x4xf32>
}
