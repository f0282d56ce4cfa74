// RUN: weft-opt %s --weft-fuse-kernels -split-input-file | FileCheck %s

// Parts of the gradient of a norm's weights, and the inverse root of each row of the
// batch, which is handed on. On a GPU the sums are a kernel's rows; on the host
// the inverse root is computed with them.

#all = affine_map<(l, r, c) -> (l, r, c)>
#row = affine_map<(l, r, c) -> (l, r)>
#column = affine_map<(l, r, c) -> (l, c)>
#id = affine_map<(l, r) -> (l, r)>

module attributes {weft.target = #weft.target<"cuda">} {
  // CHECK-LABEL: func.func @norm
  // CHECK: weft_rt.fused ins(%{{.*}} : tensor<64x256xf32>) -> tensor<64x256xf32>
  // CHECK: math.rsqrt
  // CHECK: weft_rt.fused ins(%{{.*}} : tensor<64x256x1024xbf16>, tensor<64x256xf32>) -> tensor<64x1024xf32>
  func.func @norm(%x: tensor<64x256x1024xbf16>, %s: tensor<64x256xf32>) -> (tensor<64x256xf32>, tensor<64x1024xf32>) {
    %zero = arith.constant 0.0 : f32
    %er = tensor.empty() : tensor<64x256xf32>
    %ec = tensor.empty() : tensor<64x1024xf32>
    %z = linalg.fill ins(%zero : f32) outs(%ec : tensor<64x1024xf32>) -> tensor<64x1024xf32>
    %inverse = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%s : tensor<64x256xf32>) outs(%er : tensor<64x256xf32>) {
    ^bb0(%v: f32, %o: f32):
      %r = math.rsqrt %v : f32
      linalg.yield %r : f32
    } -> tensor<64x256xf32>
    %sums = linalg.generic {indexing_maps = [#all, #row, #column], iterator_types = ["parallel", "reduction", "parallel"]}
        ins(%x, %inverse : tensor<64x256x1024xbf16>, tensor<64x256xf32>) outs(%z : tensor<64x1024xf32>) {
    ^bb0(%v: bf16, %i: f32, %o: f32):
      %w = arith.extf %v : bf16 to f32
      %p = arith.mulf %w, %i : f32
      %r = arith.addf %o, %p : f32
      linalg.yield %r : f32
    } -> tensor<64x1024xf32>
    return %inverse, %sums : tensor<64x256xf32>, tensor<64x1024xf32>
  }
}

// -----

#all = affine_map<(l, r, c) -> (l, r, c)>
#row = affine_map<(l, r, c) -> (l, r)>
#column = affine_map<(l, r, c) -> (l, c)>
#id = affine_map<(l, r) -> (l, r)>

module attributes {weft.target = #weft.target<"host">} {
  // CHECK-LABEL: func.func @norm
  // CHECK: weft_rt.fused ins(%{{.*}} : tensor<64x256xf32>, tensor<64x256x1024xbf16>) -> tensor<64x256xf32>, tensor<64x1024xf32>
  // CHECK-NOT: weft_rt.fused
  func.func @norm(%x: tensor<64x256x1024xbf16>, %s: tensor<64x256xf32>) -> (tensor<64x256xf32>, tensor<64x1024xf32>) {
    %zero = arith.constant 0.0 : f32
    %er = tensor.empty() : tensor<64x256xf32>
    %ec = tensor.empty() : tensor<64x1024xf32>
    %z = linalg.fill ins(%zero : f32) outs(%ec : tensor<64x1024xf32>) -> tensor<64x1024xf32>
    %inverse = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%s : tensor<64x256xf32>) outs(%er : tensor<64x256xf32>) {
    ^bb0(%v: f32, %o: f32):
      %r = math.rsqrt %v : f32
      linalg.yield %r : f32
    } -> tensor<64x256xf32>
    %sums = linalg.generic {indexing_maps = [#all, #row, #column], iterator_types = ["parallel", "reduction", "parallel"]}
        ins(%x, %inverse : tensor<64x256x1024xbf16>, tensor<64x256xf32>) outs(%z : tensor<64x1024xf32>) {
    ^bb0(%v: bf16, %i: f32, %o: f32):
      %w = arith.extf %v : bf16 to f32
      %p = arith.mulf %w, %i : f32
      %r = arith.addf %o, %p : f32
      linalg.yield %r : f32
    } -> tensor<64x1024xf32>
    return %inverse, %sums : tensor<64x256xf32>, tensor<64x1024xf32>
  }
}
