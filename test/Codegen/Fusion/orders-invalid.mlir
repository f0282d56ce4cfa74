// RUN: weft-opt %s --weft-prepare-kernels -split-input-file -verify-diagnostics

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  func.func @open_sum(%x: tensor<8x4xf32>, %z: tensor<8xf32>) -> tensor<8xf32> {
    // expected-error @+1 {{'linalg.generic' op adds up floating-point numbers in an open order, but the module is to be invariant}}
    %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
        ins(%x : tensor<8x4xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.addf %o, %a : f32
      linalg.yield %0 : f32
    } -> tensor<8xf32>
    return %s : tensor<8xf32>
  }
}

// -----

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  func.func @open_matmul(%x: tensor<8x4xf32>, %y: tensor<4x2xf32>) -> tensor<8x2xf32> {
    // expected-error @+1 {{'weft.matmul' op adds up floating-point numbers in an open order, but the module is to be invariant}}
    %0 = weft.matmul %x, %y {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
        : tensor<8x4xf32>, tensor<4x2xf32> -> tensor<8x2xf32>
    return %0 : tensor<8x2xf32>
  }
}

// -----

// Maxima and sums of integers are exact.
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  func.func @exact(%x: tensor<8x4xf32>, %z: tensor<8xf32>, %i: tensor<8x4xi32>, %j: tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>) {
    %s:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
                         iterator_types = ["parallel", "reduction"]}
        ins(%x, %i : tensor<8x4xf32>, tensor<8x4xi32>) outs(%z, %j : tensor<8xf32>, tensor<8xi32>) {
    ^bb0(%a: f32, %b: i32, %m: f32, %n: i32):
      %0 = arith.maximumf %m, %a : f32
      %1 = arith.addi %n, %b : i32
      linalg.yield %0, %1 : f32, i32
    } -> (tensor<8xf32>, tensor<8xi32>)
    return %s#0, %s#1 : tensor<8xf32>, tensor<8xi32>
  }
}

// -----

func.func @leaves(%x: tensor<8x6xf32>, %z: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'linalg.generic' op has an order of 4 leaves, which do not divide the 6 elements that it reduces}}
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x6xf32>) outs(%z : tensor<8xf32>) attrs = {weft.order = #weft.order<leaves = 4>} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %s : tensor<8xf32>
}

// -----

func.func @parallel_lanes(%x: tensor<8x6xf32>, %z: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error @+1 {{'linalg.generic' op has an order of 16 lanes, but its last loop is parallel}}
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8x6xf32>) outs(%z : tensor<6xf32>) attrs = {weft.order = #weft.order<leaves = 4, lanes = 16>} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  } -> tensor<6xf32>
  return %s : tensor<6xf32>
}

// -----

func.func @broken_runs(%x: tensor<3x4xf32>, %z: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{'linalg.generic' op has an order of 2 lanes, but a leaf of 6 elements is neither whole runs of 4 elements nor a part of one}}
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<3x4xf32>) outs(%z : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 2, lanes = 2>} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  return %s : tensor<f32>
}

// -----

func.func @no_plain_sum(%x: tensor<8x6xf32>, %z: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'linalg.generic' op has an order of 2 leaves and 1 lanes, but is not a plain sum or product: expected 1 and 1}}
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x6xf32>) outs(%z : tensor<8xf32>) attrs = {weft.order = #weft.order<leaves = 2>} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.subf %o, %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %s : tensor<8xf32>
}

// -----

func.func @rounded_twice(%x: tensor<8x4xbf16>, %y: tensor<4x2xbf16>) -> tensor<8x2xf16> {
  // expected-error @+1 {{'weft.matmul' op has 2 rounded leaves, but a product of 'bf16' and 'bf16' that is 'f16' is computed in f32 and rounded once}}
  %0 = weft.matmul %x, %y {weft.order = #weft.order<leaves = 2, rounded = true>, indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<8x4xbf16>, tensor<4x2xbf16> -> tensor<8x2xf16>
  return %0 : tensor<8x2xf16>
}
