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
  // expected-error @below {{of less than 2^56 bytes}}
  %0 = weft_rt.buffer arena 0 : memref<4611686018427387904xf64>
  return
}
