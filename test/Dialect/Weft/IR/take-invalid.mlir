// RUN: weft-opt %s --split-input-file --verify-diagnostics

func.func @take_c1_axis(%table: tensor<16x4xf32>, %indices: tensor<8xi32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{axis 2 is out of range for 'tensor<16x4xf32>'}}
  %0 = weft.take %table, %indices {axis = 2 : i64, table_map = affine_map<(i, d) -> (d)>, index_map = affine_map<(i, d) -> (i)>} : tensor<16x4xf32>, tensor<8xi32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @take_c1_negative_axis(%table: tensor<16x4xf32>, %indices: tensor<8xi32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{axis -1 is out of range for 'tensor<16x4xf32>'}}
  %0 = weft.take %table, %indices {axis = -1 : i64, table_map = affine_map<(i, d) -> (d)>, index_map = affine_map<(i, d) -> (i)>} : tensor<16x4xf32>, tensor<8xi32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @take_c1_table_map(%table: tensor<16x4xf32>, %indices: tensor<8xi32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{table map affine_map<(d0, d1) -> (d1 + 1)> is not a projected permutation}}
  %0 = weft.take %table, %indices {axis = 0 : i64, table_map = affine_map<(i, d) -> (d + 1)>, index_map = affine_map<(i, d) -> (i)>} : tensor<16x4xf32>, tensor<8xi32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @take_c1_index_map(%table: tensor<16x4xf32>, %indices: tensor<8xi32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{index map has 1 dims, expected 2}}
  %0 = weft.take %table, %indices {axis = 0 : i64, table_map = affine_map<(i, d) -> (d)>, index_map = affine_map<(i) -> (i)>} : tensor<16x4xf32>, tensor<8xi32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @take_c1_results(%table: tensor<16x4xf32>, %indices: tensor<8xi32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{table map has 2 results for 1 dimensions}}
  %0 = weft.take %table, %indices {axis = 0 : i64, table_map = affine_map<(i, d) -> (i, d)>, index_map = affine_map<(i, d) -> (i)>} : tensor<16x4xf32>, tensor<8xi32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @take_c2_size(%table: tensor<16x5xf32>, %indices: tensor<8xi32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{table dim 0 is 5, expected 4 (d1)}}
  %0 = weft.take %table, %indices {axis = 0 : i64, table_map = affine_map<(i, d) -> (d)>, index_map = affine_map<(i, d) -> (i)>} : tensor<16x5xf32>, tensor<8xi32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @take_c2_covered(%table: tensor<16x4xf32>, %indices: tensor<4xi32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{dim 0 is in neither map}}
  %0 = weft.take %table, %indices {axis = 0 : i64, table_map = affine_map<(i, d) -> (d)>, index_map = affine_map<(i, d) -> (d)>} : tensor<16x4xf32>, tensor<4xi32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @take_c3_element(%table: tensor<16x4xf64>, %indices: tensor<8xi32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{element types differ: 'f64' and 'f32'}}
  %0 = weft.take %table, %indices {axis = 0 : i64, table_map = affine_map<(i, d) -> (d)>, index_map = affine_map<(i, d) -> (i)>} : tensor<16x4xf64>, tensor<8xi32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @take_c3_unsigned(%table: tensor<16x4xf32>, %indices: tensor<8xui32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{indices must be signless integers, got 'ui32'}}
  %0 = weft.take %table, %indices {axis = 0 : i64, table_map = affine_map<(i, d) -> (d)>, index_map = affine_map<(i, d) -> (i)>} : tensor<16x4xf32>, tensor<8xui32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @take_c3_float(%table: tensor<16x4xf32>, %indices: tensor<8xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{indices must be signless integers, got 'f32'}}
  %0 = weft.take %table, %indices {axis = 0 : i64, table_map = affine_map<(i, d) -> (d)>, index_map = affine_map<(i, d) -> (i)>} : tensor<16x4xf32>, tensor<8xf32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
