// RUN: weft-opt %s -split-input-file -verify-diagnostics

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>

func.func @attention_c1_order(%q: memref<2x8x4xf32>, %k: memref<2x6x4xf32>, %l: memref<2x8xf32>) {
  // expected-error @+1 {{has 3 inputs and 2 outputs called ["q", "v", "k", "out", "lse"], which are not the tensors of attention or of its gradient}}
  weft_rt.attention ins(%q, %k, %k) outs(%q, %l) {config = #weft.attention<scale = 0.5 : f32>,
      indexing_maps = [#q, #k, #v, #out, #lse], tensors = ["q", "v", "k", "out", "lse"]}
      : memref<2x8x4xf32>, memref<2x6x4xf32>, memref<2x6x4xf32> into memref<2x8x4xf32>, memref<2x8xf32>
  return
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>

func.func @attention_c1_twice(%q: memref<2x8x4xf32>, %k: memref<2x6x4xf32>, %l: memref<2x8xf32>) {
  // expected-error @+1 {{has 3 inputs and 2 outputs called ["q", "k", "k", "out", "lse"], which are not the tensors of attention or of its gradient}}
  weft_rt.attention ins(%q, %k, %k) outs(%q, %l) {config = #weft.attention<scale = 0.5 : f32>,
      indexing_maps = [#q, #k, #v, #out, #lse], tensors = ["q", "k", "k", "out", "lse"]}
      : memref<2x8x4xf32>, memref<2x6x4xf32>, memref<2x6x4xf32> into memref<2x8x4xf32>, memref<2x8xf32>
  return
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>

func.func @attention_c1_name(%q: memref<2x8x4xf32>, %k: memref<2x6x4xf32>, %l: memref<2x8xf32>) {
  // expected-error @+1 {{has 3 inputs and 2 outputs called ["q", "k", "value", "out", "lse"], which are not the tensors of attention or of its gradient}}
  weft_rt.attention ins(%q, %k, %k) outs(%q, %l) {config = #weft.attention<scale = 0.5 : f32>,
      indexing_maps = [#q, #k, #v, #out, #lse], tensors = ["q", "k", "value", "out", "lse"]}
      : memref<2x8x4xf32>, memref<2x6x4xf32>, memref<2x6x4xf32> into memref<2x8x4xf32>, memref<2x8xf32>
  return
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>

func.func @attention_c1_count(%q: memref<2x8x4xf32>, %k: memref<2x6x4xf32>, %l: memref<2x8xf32>) {
  // expected-error @+1 {{has 3 inputs and 2 outputs called ["q", "k", "v", "out"], which are not the tensors of attention or of its gradient}}
  weft_rt.attention ins(%q, %k, %k) outs(%q, %l) {config = #weft.attention<scale = 0.5 : f32>,
      indexing_maps = [#q, #k, #v, #out, #lse], tensors = ["q", "k", "v", "out"]}
      : memref<2x8x4xf32>, memref<2x6x4xf32>, memref<2x6x4xf32> into memref<2x8x4xf32>, memref<2x8xf32>
  return
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>

func.func @attention_c1_gradient(%q: memref<2x8x4xf32>, %k: memref<2x6x4xf32>, %l: memref<2x8xf32>) {
  // expected-error @+1 {{has 3 inputs and 2 outputs called ["q", "k", "v", "out", "dv"], which are not the tensors of attention or of its gradient}}
  weft_rt.attention ins(%q, %k, %k) outs(%q, %l) {config = #weft.attention<scale = 0.5 : f32>,
      indexing_maps = [#q, #k, #v, #out, #lse], tensors = ["q", "k", "v", "out", "dv"]}
      : memref<2x8x4xf32>, memref<2x6x4xf32>, memref<2x6x4xf32> into memref<2x8x4xf32>, memref<2x8xf32>
  return
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>

func.func @attention_c2(%q: memref<2x8x4xf32>, %k: memref<2x6x4xf32>, %l: memref<2x8x4xf32>) {
  // expected-error @+1 {{has 'lse' with d4, which it cannot have}}
  weft_rt.attention ins(%q, %k, %k) outs(%q, %l) {config = #weft.attention<scale = 0.5 : f32>,
      indexing_maps = [#q, #k, #v, #out, affine_map<(h, i, j, d, e) -> (h, i, e)>], tensors = ["q", "k", "v", "out", "lse"]}
      : memref<2x8x4xf32>, memref<2x6x4xf32>, memref<2x6x4xf32> into memref<2x8x4xf32>, memref<2x8x4xf32>
  return
}
