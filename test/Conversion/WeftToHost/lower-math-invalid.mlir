// RUN: weft-opt %s --weft-lower-math -split-input-file -verify-diagnostics

// What the C library computes may differ between machines.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  func.func @of_f64(%x: f64) -> f64 {
    // expected-error @+1 {{'math.erf' op of 'f64' has no declared result, which invariance needs}}
    %0 = math.erf %x : f64
    return %0 : f64
  }
}

// -----

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  func.func @without_formula(%x: f32) -> f32 {
    // expected-error @+1 {{'math.erfc' op of 'f32' has no declared result, which invariance needs}}
    %0 = math.erfc %x : f32
    return %0 : f32
  }
}

// -----

// The order in which contraction happens is the compiler's.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  func.func @with_flags(%x: f32) -> f32 {
    // expected-error @+1 {{'math.sqrt' op of 'f32' has no declared result, which invariance needs}}
    %0 = math.sqrt %x fastmath<afn> : f32
    return %0 : f32
  }
}
