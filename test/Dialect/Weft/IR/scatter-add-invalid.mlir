// RUN: weft-opt %s --split-input-file --verify-diagnostics

func.func @scatter_add_c1_axis(%init: tensor<16x4xf32>, %indices: tensor<8xi32>, %updates: tensor<8x4xf32>) -> tensor<16x4xf32> {
  // expected-error @+1 {{axis 2 is out of range for 'tensor<16x4xf32>'}}
  %0 = weft.scatter_add %init, %indices, %updates {axis = 2 : i64, table_map = affine_map<(i, d) -> (d)>, index_map = affine_map<(i, d) -> (i)>} : tensor<16x4xf32>, tensor<8xi32>, tensor<8x4xf32>
  return %0 : tensor<16x4xf32>
}

// -----

func.func @scatter_add_c1_map(%init: tensor<16x4xf32>, %indices: tensor<1xi32>, %updates: tensor<8x4xf32>) -> tensor<16x4xf32> {
  // expected-error @+1 {{index map affine_map<(d0, d1) -> (0)> is not a projected permutation}}
  %0 = weft.scatter_add %init, %indices, %updates {axis = 0 : i64, table_map = affine_map<(i, d) -> (d)>, index_map = affine_map<(i, d) -> (0)>} : tensor<16x4xf32>, tensor<1xi32>, tensor<8x4xf32>
  return %0 : tensor<16x4xf32>
}

// -----

func.func @scatter_add_c2_size(%init: tensor<16x4xf32>, %indices: tensor<9xi32>, %updates: tensor<8x4xf32>) -> tensor<16x4xf32> {
  // expected-error @+1 {{index dim 0 is 9, expected 8 (d0)}}
  %0 = weft.scatter_add %init, %indices, %updates {axis = 0 : i64, table_map = affine_map<(i, d) -> (d)>, index_map = affine_map<(i, d) -> (i)>} : tensor<16x4xf32>, tensor<9xi32>, tensor<8x4xf32>
  return %0 : tensor<16x4xf32>
}

// -----

func.func @scatter_add_c2_covered(%init: tensor<16xf32>, %indices: tensor<8xi32>, %updates: tensor<8x4xf32>) -> tensor<16xf32> {
  // expected-error @+1 {{dim 1 is in neither map}}
  %0 = weft.scatter_add %init, %indices, %updates {axis = 0 : i64, table_map = affine_map<(i, d) -> ()>, index_map = affine_map<(i, d) -> (i)>} : tensor<16xf32>, tensor<8xi32>, tensor<8x4xf32>
  return %0 : tensor<16xf32>
}

// -----

func.func @scatter_add_c3(%init: tensor<16x4xbf16>, %indices: tensor<8xi32>, %updates: tensor<8x4xf32>) -> tensor<16x4xbf16> {
  // expected-error @+1 {{element types differ: 'bf16' and 'f32'}}
  %0 = weft.scatter_add %init, %indices, %updates {axis = 0 : i64, table_map = affine_map<(i, d) -> (d)>, index_map = affine_map<(i, d) -> (i)>} : tensor<16x4xbf16>, tensor<8xi32>, tensor<8x4xf32>
  return %0 : tensor<16x4xbf16>
}

// -----

func.func @scatter_add_c4(%init: tensor<16x4xf32>, %indices: tensor<8xi32>, %updates: tensor<8x4xf32>) -> tensor<16x4xf64> {
  // expected-error @+1 {{failed to verify that all of {init, result} have same type}}
  %0 = "weft.scatter_add"(%init, %indices, %updates) {axis = 0 : i64, table_map = affine_map<(i, d) -> (d)>, index_map = affine_map<(i, d) -> (i)>} : (tensor<16x4xf32>, tensor<8xi32>, tensor<8x4xf32>) -> tensor<16x4xf64>
  return %0 : tensor<16x4xf64>
}
