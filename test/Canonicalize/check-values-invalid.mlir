// RUN: weft-opt %s --weft-check-values -split-input-file -verify-diagnostics

func.func @poison() -> tensor<4xf32> {
  // expected-error @below {{'ub.poison' op has no defined value}}
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @rounding(%x: tensor<4xf32>) -> tensor<4xbf16> {
  // expected-error @below {{'arith.truncf' op rounds upward, expected to_nearest_even}}
  %0 = arith.truncf %x upward : tensor<4xf32> to tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// -----

// 2^64 bytes.
// expected-error @below {{has a value of type 'tensor<2147483648x2147483648xf32>', which is larger than 2^48 bytes}}
func.func @square(%w: tensor<2147483648x2147483648xf32>) {
  return
}

// -----

// Sizes whose product wraps around to a small number.
func.func @wraps(%x: tensor<4xf32>) -> tensor<4611686018427387904x4611686018427387904xf32> {
  // expected-error @below {{has a value of type 'tensor<4611686018427387904x4611686018427387904xf32>', which is larger than 2^48 bytes}}
  %0 = tensor.empty() : tensor<4611686018427387904x4611686018427387904xf32>
  return %0 : tensor<4611686018427387904x4611686018427387904xf32>
}

// -----

func.func @buffer() {
  // expected-error @below {{has a value of type 'memref<1125899906842624xf64>', which is larger than 2^48 bytes}}
  %0 = weft_rt.buffer arena 0 : memref<1125899906842624xf64>
  return
}

// -----

func.func @stands_still(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  // expected-error @below {{'scf.for' op has step 0, expected a positive one}}
  %y = scf.for %i = %c0 to %c8 step %c0 iter_args(%a = %x) -> (tensor<4xf32>) {
    scf.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @goes_down(%x: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %down = arith.constant -2 : i32
  // expected-error @below {{'scf.for' op has step -2, expected a positive one}}
  %y = scf.for %i = %x to %c0 step %down iter_args(%a = %x) -> (i32) : i32 {
    scf.yield %i : i32
  }
  return %y : i32
}

// -----

func.func @never_ends(%x: f32) -> f32 {
  %true = arith.constant true
  // expected-error @below {{'scf.while' op never ends: its condition is always true}}
  %y = scf.while (%a = %x) : (f32) -> f32 {
    scf.condition(%true) %a : f32
  } do {
  ^bb0(%a: f32):
    scf.yield %a : f32
  }
  return %y : f32
}

// -----

func.func @no_order(%n: index) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{'scf.parallel' op is not supported; scf.for is}}
  scf.parallel (%i) = (%c0) to (%n) step (%n) {
  }
  return
}

// -----

func.func @reduced_dim_of_a_result(%a: tensor<4x1x3xf32>) -> tensor<4x1x3xf32> {
  %e = tensor.empty() : tensor<4x1x3xf32>
  // expected-error @below {{'linalg.generic' op calls loop 1 a reduction, but the map of result #0 takes it}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
      iterator_types = ["parallel", "reduction", "parallel"]} ins(%a : tensor<4x1x3xf32>) outs(%e : tensor<4x1x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x1x3xf32>
  return %0 : tensor<4x1x3xf32>
}

// -----

func.func @parallel_sum(%a: tensor<4x3xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'linalg.generic' op calls loop 1 parallel, but the map of result #0 does not take it}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
      iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x3xf32>) outs(%b : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @written_twice(%a: tensor<4x3xf32>) -> tensor<6xf32> {
  %e = tensor.empty() : tensor<6xf32>
  // expected-error @below {{'linalg.generic' op writes result #0 by the map affine_map<(d0, d1) -> (d0 + d1)>, expected one that takes each loop at most once}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0 + d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x3xf32>) outs(%e : tensor<6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
