// RUN: weft-opt %s --split-input-file --verify-diagnostics

func.func @matmul_c1_count(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) -> tensor<4x16xf32> {
  // expected-error @+1 {{has 2 indexing maps, expected 3}}
  %0 = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>]} : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

func.func @matmul_c1_constant(%a: tensor<4x1xf32>, %b: tensor<8x16xf32>) -> tensor<4x16xf32> {
  // expected-error @+1 {{lhs map affine_map<(d0, d1, d2) -> (d0, 0)> is not a projected permutation}}
  %0 = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, 0)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]} : tensor<4x1xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

func.func @matmul_c1_twice(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{result map affine_map<(d0, d1, d2) -> (d0, d0)> is not a projected permutation}}
  %0 = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, m)>]} : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @matmul_c1_symbol(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) -> tensor<4x16xf32> {
  // expected-error @+1 {{rhs map affine_map<(d0, d1, d2)[s0] -> (d2, d1)> is not a projected permutation}}
  %0 = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k)[s] -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]} : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

func.func @matmul_c1_dims(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) -> tensor<4x16xf32> {
  // expected-error @+1 {{rhs map has 2 dims, expected 3}}
  %0 = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(k, n) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]} : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

func.func @matmul_c1_results(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) -> tensor<4x16xf32> {
  // expected-error @+1 {{lhs map has 1 results for 2 dimensions}}
  %0 = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]} : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

func.func @matmul_c2(%a: tensor<4x8xf32>, %b: tensor<7x16xf32>) -> tensor<4x16xf32> {
  // expected-error @+1 {{rhs dim 0 is 7, expected 8 (d2)}}
  %0 = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]} : tensor<4x8xf32>, tensor<7x16xf32> -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

func.func @matmul_c2_result(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) -> tensor<4x15xf32> {
  // expected-error @+1 {{result dim 1 is 15, expected 16 (d1)}}
  %0 = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]} : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x15xf32>
  return %0 : tensor<4x15xf32>
}

// -----

func.func @matmul_c3(%a: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x16xf32> {
  // expected-error @+1 {{d1 is in no operand's map}}
  %0 = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k)>, affine_map<(m, n, k) -> (m, n)>]} : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

func.func @matmul_c4_integer(%a: tensor<4x8xi32>, %b: tensor<8x16xi32>) -> tensor<4x16xi32> {
  // expected-error @+1 {{expected floating-point element types, got}}
  %0 = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]} : tensor<4x8xi32>, tensor<8x16xi32> -> tensor<4x16xi32>
  return %0 : tensor<4x16xi32>
}

// -----

func.func @matmul_c4_f64(%a: tensor<4x8xf64>, %b: tensor<8x16xf64>) -> tensor<4x16xf32> {
  // expected-error @+1 {{f64 does not mix with other types: 'f64', 'f64' and 'f32'}}
  %0 = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]} : tensor<4x8xf64>, tensor<8x16xf64> -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}
