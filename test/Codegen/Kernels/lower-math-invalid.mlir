// RUN: weft-opt %s --weft-lower-math -split-input-file -verify-diagnostics

// What the C library computes may differ between machines.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  func.func @without_formula(%x: f128) -> f128 {
    // expected-error @+1 {{'math.erf' op of 'f128' has no declared result, which invariance needs}}
    %0 = math.erf %x : f128
    return %0 : f128
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
