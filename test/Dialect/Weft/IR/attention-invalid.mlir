// RUN: weft-opt %s --split-input-file --verify-diagnostics

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
func.func @attention_c1_maps(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x4xf32>) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{has 4 maps for 5 tensors}}
  %out, %lse = weft.attention %q, %k, %v {config = #weft.attention<scale = 0.5 : f32>, indexing_maps = [#q, #k, #v, #out]}
      : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return %out : tensor<2x8x4xf32>
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
func.func @attention_c1_loops(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x4xf32>) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{has 3 loops, expected at least 4}}
  %out, %lse = weft.attention %q, %k, %v {config = #weft.attention<scale = 0.5 : f32>, indexing_maps = [affine_map<(i, j, d) -> (i, j, d)>, affine_map<(i, j, d) -> (i, j, d)>, affine_map<(i, j, d) -> (i, j, d)>, affine_map<(i, j, d) -> (i, j, d)>, affine_map<(i, j, d) -> (i, j)>]}
      : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return %out : tensor<2x8x4xf32>
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
func.func @attention_c1_map(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x4xf32>) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{has the map affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 + d3)> for 'q', expected a projected permutation of 5 loops to 3 dims}}
  %out, %lse = weft.attention %q, %k, %v {config = #weft.attention<scale = 0.5 : f32>, indexing_maps = [affine_map<(h, i, j, d, e) -> (h, i + d)>, #k, #v, #out, #lse]}
      : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return %out : tensor<2x8x4xf32>
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
func.func @attention_c2(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x7x4xf32>) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{has dim 1 of 'v' of size 7, expected 6 (d2)}}
  %out, %lse = weft.attention %q, %k, %v {config = #weft.attention<scale = 0.5 : f32>, indexing_maps = [#q, #k, #v, #out, #lse]}
      : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x7x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return %out : tensor<2x8x4xf32>
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
func.func @attention_c3_lacks(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<6x4xf32>) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{has 'v' without d0, which it needs}}
  %out, %lse = weft.attention %q, %k, %v {config = #weft.attention<scale = 0.5 : f32>, indexing_maps = [#q, #k, affine_map<(h, i, j, d, e) -> (j, e)>, #out, #lse]}
      : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<6x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return %out : tensor<2x8x4xf32>
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
func.func @attention_c3_cannot(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x4xf32>) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{has 'lse' with d4, which it cannot have}}
  %out, %lse = weft.attention %q, %k, %v {config = #weft.attention<scale = 0.5 : f32>, indexing_maps = [#q, #k, #v, #out, affine_map<(h, i, j, d, e) -> (h, i, e)>]}
      : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>)
  return %out : tensor<2x8x4xf32>
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
func.func @attention_c4_type(%q: tensor<2x8x4xf64>, %k: tensor<2x6x4xf64>, %v: tensor<2x6x4xf64>) -> tensor<2x8x4xf64> {
  // expected-error @+1 {{has 'q' with elements of 'f64' for queries of 'f64'}}
  %out, %lse = weft.attention %q, %k, %v {config = #weft.attention<scale = 0.5 : f32>, indexing_maps = [#q, #k, #v, #out, #lse]}
      : (tensor<2x8x4xf64>, tensor<2x6x4xf64>, tensor<2x6x4xf64>) -> (tensor<2x8x4xf64>, tensor<2x8xf32>)
  return %out : tensor<2x8x4xf64>
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
func.func @attention_c4_key(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xbf16>, %v: tensor<2x6x4xf32>) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{has 'k' with elements of 'bf16' for queries of 'f32'}}
  %out, %lse = weft.attention %q, %k, %v {config = #weft.attention<scale = 0.5 : f32>, indexing_maps = [#q, #k, #v, #out, #lse]}
      : (tensor<2x8x4xf32>, tensor<2x6x4xbf16>, tensor<2x6x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return %out : tensor<2x8x4xf32>
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
func.func @attention_c5_start(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x4xf32>, %s: index) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{has a start, but sees all keys from anywhere}}
  %out, %lse = weft.attention %q, %k, %v start %s {config = #weft.attention<scale = 0.5 : f32>, indexing_maps = [#q, #k, #v, #out, #lse]}
      : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x4xf32>, index) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return %out : tensor<2x8x4xf32>
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
func.func @attention_c5_fill(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x4xf32>) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{has the fill -1.000000e+00 : f32, but no mask}}
  %out, %lse = weft.attention %q, %k, %v {config = #weft.attention<scale = 0.5 : f32, fill = -1.0 : f32>, indexing_maps = [#q, #k, #v, #out, #lse]}
      : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return %out : tensor<2x8x4xf32>
}

// -----

// attention_attr_c1_scale
// expected-error @+1 {{the scale of attention is a finite f32, got 0x7F800000 : f32}}
func.func private @attention_attr_c1_scale() attributes {config = #weft.attention<scale = 0x7F800000 : f32>}

// -----

// attention_attr_c1_softcap
// expected-error @+1 {{the softcap of attention is a positive f32, got 0.000000e+00 : f32}}
func.func private @attention_attr_c1_softcap() attributes {config = #weft.attention<scale = 0.5 : f32, softcap = 0.0 : f32>}

// -----

// attention_attr_c1_fill
// expected-error @+1 {{the fill of attention is an f32 of at most 0, got 1.000000e+00 : f32}}
func.func private @attention_attr_c1_fill() attributes {config = #weft.attention<scale = 0.5 : f32, fill = 1.0 : f32>}

// -----

// attention_attr_c2
// expected-error @+1 {{a bound of attention is not negative, got -1}}
func.func private @attention_attr_c2() attributes {config = #weft.attention<scale = 0.5 : f32, right = -1>}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
func.func @attention_c5_segments(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %s: tensor<8xi32>) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{has segments of queries or keys, expected both}}
  %out, %lse = "weft.attention"(%q, %k, %k, %s) <{config = #weft.attention<scale = 0.5 : f32>,
      indexing_maps = [#q, #k, #v, affine_map<(h, i, j, d, e) -> (i)>, #out, #lse],
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 0, 0, 0, 0>}>
      : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x4xf32>, tensor<8xi32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return %out : tensor<2x8x4xf32>
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
func.func @attention_grad_c4(%q: tensor<2x8x4xbf16>, %k: tensor<2x6x4xbf16>, %o: tensor<2x8x4xbf16>, %l: tensor<2x8xf32>)
    -> tensor<2x6x4xf16> {
  // expected-error @+1 {{has 'dv' with elements of 'f16' for queries of 'bf16'}}
  %dq, %dk, %dv = weft.attention_grad %q, %k, %k, %o, %l, %o {config = #weft.attention<scale = 0.5 : f32>,
      indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]}
      : (tensor<2x8x4xbf16>, tensor<2x6x4xbf16>, tensor<2x6x4xbf16>, tensor<2x8x4xbf16>, tensor<2x8xf32>, tensor<2x8x4xbf16>)
      -> (tensor<2x8x4xf32>, tensor<2x6x4xbf16>, tensor<2x6x4xf16>)
  return %dv : tensor<2x6x4xf16>
}

// -----

// attention_attr_c1_dropout
// expected-error @+1 {{the dropout of attention is an f32 of at least 0 and below 1, got 1.000000e+00 : f32}}
func.func private @attention_attr_c1_dropout() attributes {config = #weft.attention<scale = 0.5 : f32, dropout = 1.0 : f32>}

// -----

// attention_attr_c1_dropout
// expected-error @+1 {{the dropout of attention is an f32 of at least 0 and below 1, got -5.000000e-01 : f32}}
func.func private @attention_attr_c1_dropout() attributes {config = #weft.attention<scale = 0.5 : f32, dropout = -0.5 : f32>}

// -----

// attention_attr_c1_dropout
// expected-error @+1 {{the dropout of attention is an f32 of at least 0 and below 1, got 0x7FC00000 : f32}}
func.func private @attention_attr_c1_dropout() attributes {config = #weft.attention<scale = 0.5 : f32, dropout = 0x7FC00000 : f32>}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
func.func @attention_c3_seeds(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %s: tensor<2xi32>) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{has 'low_seeds' without d1, which it needs}}
  %out, %lse = "weft.attention"(%q, %k, %k, %s, %s) <{config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>,
      indexing_maps = [#q, #k, #v, affine_map<(h, i, j, d, e) -> (h)>, affine_map<(h, i, j, d, e) -> (h)>, #out, #lse],
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1, 0>}>
      : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x4xf32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return %out : tensor<2x8x4xf32>
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
func.func @attention_c3_seeds_of_keys(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %s: tensor<8x6xi32>) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{has 'low_seeds' with d2, which it cannot have}}
  %out, %lse = "weft.attention"(%q, %k, %k, %s, %s) <{config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>,
      indexing_maps = [#q, #k, #v, affine_map<(h, i, j, d, e) -> (i, j)>, affine_map<(h, i, j, d, e) -> (i, j)>, #out, #lse],
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1, 0>}>
      : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x4xf32>, tensor<8x6xi32>, tensor<8x6xi32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return %out : tensor<2x8x4xf32>
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
func.func @attention_c4_seeds(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %s: tensor<8xi64>) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{has 'low_seeds' with elements of 'i64' for queries of 'f32'}}
  %out, %lse = "weft.attention"(%q, %k, %k, %s, %s) <{config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>,
      indexing_maps = [#q, #k, #v, affine_map<(h, i, j, d, e) -> (i)>, affine_map<(h, i, j, d, e) -> (i)>, #out, #lse],
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1, 0>}>
      : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x4xf32>, tensor<8xi64>, tensor<8xi64>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return %out : tensor<2x8x4xf32>
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
func.func @attention_c5_one_seed(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %s: tensor<8xi32>) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{has a dropout, but not both low and high seeds}}
  %out, %lse = "weft.attention"(%q, %k, %k, %s) <{config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>,
      indexing_maps = [#q, #k, #v, affine_map<(h, i, j, d, e) -> (i)>, #out, #lse],
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 0, 0>}>
      : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x4xf32>, tensor<8xi32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return %out : tensor<2x8x4xf32>
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
func.func @attention_c5_no_seeds(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %s: tensor<8xi32>) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{has a dropout, but not both low and high seeds}}
  %out, %lse = "weft.attention"(%q, %k, %k) <{config = #weft.attention<scale = 0.5 : f32, dropout = 0.25 : f32>,
      indexing_maps = [#q, #k, #v, #out, #lse],
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0>}>
      : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return %out : tensor<2x8x4xf32>
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, i, j, d, e) -> (h, i, e)>
#lse = affine_map<(h, i, j, d, e) -> (h, i)>
func.func @attention_c5_no_dropout(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %s: tensor<8xi32>) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{has seeds, but no dropout}}
  %out, %lse = "weft.attention"(%q, %k, %k, %s, %s) <{config = #weft.attention<scale = 0.5 : f32>,
      indexing_maps = [#q, #k, #v, affine_map<(h, i, j, d, e) -> (i)>, affine_map<(h, i, j, d, e) -> (i)>, #out, #lse],
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1, 0>}>
      : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x4xf32>, tensor<8xi32>, tensor<8xi32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return %out : tensor<2x8x4xf32>
}
