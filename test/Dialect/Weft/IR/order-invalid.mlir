// RUN: weft-opt --split-input-file --verify-diagnostics %s

// expected-error @+1 {{an order needs at least one leaf, got 0}}
func.func @f() attributes {weft.order = #weft.order<leaves = 0>} {
  return
}

// -----

// expected-error @+1 {{the lanes of an order are a power of two, got 3}}
func.func @f() attributes {weft.order = #weft.order<leaves = 1, lanes = 3>} {
  return
}

// -----

// expected-error @+1 {{'weft.order' must be a #weft.order, got 8}}
func.func @f() attributes {weft.order = 8 : i64} {
  return
}

// -----

// expected-error @+1 {{'weft.invariance' must be a #weft.invariance on a module, got true}}
module attributes {weft.invariance = true} {
}

// -----

// expected-error @+1 {{'weft.certificate' must be a string, got 1}}
module attributes {weft.certificate = 1 : i64} {
}

// -----

// expected-error @+1 {{invariance needs at least one leaf, got 0}}
module attributes {weft.invariance = #weft.invariance<axes = [], leaves = 0>} {
}

// -----

// expected-error @+1 {{expected the name of an axis, got 1}}
module attributes {weft.invariance = #weft.invariance<axes = [1], leaves = 8>} {
}

// -----

// expected-error @+1 {{axis "tp" is listed twice}}
module attributes {weft.invariance = #weft.invariance<axes = ["tp", "tp"], leaves = 8>} {
}

// -----

// expected-error @+1 {{'weft.global_type' must be a type, got 1}}
module attributes {weft.global_type = 1 : i64} {
}
