// RUN: weft-opt %s --weft-raise --split-input-file --verify-diagnostics

// expected-error @below {{expected a public function with a body, found none}}
module {
  func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
    return %x : tensor<8xf32>
  }
}

// -----

// expected-note @below {{the first public function}}
func.func @f() {
  return
}
// expected-error @below {{is the second public function, expected one}}
func.func @g() {
  return
}

// -----

// expected-error @below {{is not supported at module level}}
memref.global @g : memref<2xf32>
func.func @f() {
  return
}

// -----

// expected-error @below {{argument #0 has type 'tensor<?xf32>', expected a static shape}}
func.func @f(%x: tensor<?xf32>) {
  return
}

// -----

// expected-error @below {{argument #1 has type 'f32', expected a ranked tensor}}
func.func @f(%x: tensor<f32>, %y: f32) {
  return
}

// -----

// expected-error @below {{argument #0 has unsupported type 'tensor<4xcomplex<f32>>'}}
func.func @f(%x: tensor<4xcomplex<f32>>) {
  return
}

// -----

// expected-error @below {{argument #0 has unsupported type 'tensor<4xui32>'}}
func.func @f(%x: tensor<4xui32>) {
  return
}

// -----

// expected-error @below {{argument #0 has unsupported type 'tensor<4xindex>'}}
func.func @f(%x: tensor<4xindex>) {
  return
}

// -----

// expected-error @below {{argument #0 has type 'tensor<4xf32, "sparse">', expected no encoding}}
func.func @f(%x: tensor<4xf32, "sparse">) {
  return
}

// -----

// expected-error @below {{result #0 has type 'f32', expected a ranked tensor}}
func.func @f(%x: tensor<f32>) -> f32 {
  %0 = tensor.extract %x[] : tensor<f32>
  return %0 : f32
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'tensor.cast' op result #0 has type 'tensor<*xf32>', expected a ranked tensor}}
  %0 = tensor.cast %x : tensor<4xf32> to tensor<*xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'arith.extf' op result #0 has unsupported type 'tensor<4xf80>'}}
  %0 = arith.extf %x : tensor<4xf32> to tensor<4xf80>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'gpu.barrier' op is not supported}}
  gpu.barrier
  return
}

// -----

// expected-error @below {{has 2 blocks, expected one}}
func.func @f(%x: tensor<4xf32>) {
  cf.br ^next
^next:
  return
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{calls 'extern', which has no body}}
  %0 = call @extern(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @extern(%x: tensor<4xf32>) -> tensor<4xf32>

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @h(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @h(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{calls 'g' recursively, which is not supported}}
  %0 = call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'func.constant' op result #0 has unsupported type '(tensor<4xf32>) -> tensor<4xf32>'}}
  %g = func.constant @g : (tensor<4xf32>) -> tensor<4xf32>
  %0 = call_indirect %g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @g(%x: tensor<4xf32>) -> tensor<4xf32>

// -----

// Six calls in each of seven functions.

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @g0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @g0(%x0: tensor<4xf32>) -> tensor<4xf32> {
  %x1 = call @g1(%x0) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{'func.call' op calls 'g1', which makes 'g0' more than 262144 ops with its calls inlined}}
  %x2 = call @g1(%x1) : (tensor<4xf32>) -> tensor<4xf32>
  %x3 = call @g1(%x2) : (tensor<4xf32>) -> tensor<4xf32>
  %x4 = call @g1(%x3) : (tensor<4xf32>) -> tensor<4xf32>
  %x5 = call @g1(%x4) : (tensor<4xf32>) -> tensor<4xf32>
  %x6 = call @g1(%x5) : (tensor<4xf32>) -> tensor<4xf32>
  return %x6 : tensor<4xf32>
}
func.func private @g1(%x0: tensor<4xf32>) -> tensor<4xf32> {
  %x1 = call @g2(%x0) : (tensor<4xf32>) -> tensor<4xf32>
  %x2 = call @g2(%x1) : (tensor<4xf32>) -> tensor<4xf32>
  %x3 = call @g2(%x2) : (tensor<4xf32>) -> tensor<4xf32>
  %x4 = call @g2(%x3) : (tensor<4xf32>) -> tensor<4xf32>
  %x5 = call @g2(%x4) : (tensor<4xf32>) -> tensor<4xf32>
  %x6 = call @g2(%x5) : (tensor<4xf32>) -> tensor<4xf32>
  return %x6 : tensor<4xf32>
}
func.func private @g2(%x0: tensor<4xf32>) -> tensor<4xf32> {
  %x1 = call @g3(%x0) : (tensor<4xf32>) -> tensor<4xf32>
  %x2 = call @g3(%x1) : (tensor<4xf32>) -> tensor<4xf32>
  %x3 = call @g3(%x2) : (tensor<4xf32>) -> tensor<4xf32>
  %x4 = call @g3(%x3) : (tensor<4xf32>) -> tensor<4xf32>
  %x5 = call @g3(%x4) : (tensor<4xf32>) -> tensor<4xf32>
  %x6 = call @g3(%x5) : (tensor<4xf32>) -> tensor<4xf32>
  return %x6 : tensor<4xf32>
}
func.func private @g3(%x0: tensor<4xf32>) -> tensor<4xf32> {
  %x1 = call @g4(%x0) : (tensor<4xf32>) -> tensor<4xf32>
  %x2 = call @g4(%x1) : (tensor<4xf32>) -> tensor<4xf32>
  %x3 = call @g4(%x2) : (tensor<4xf32>) -> tensor<4xf32>
  %x4 = call @g4(%x3) : (tensor<4xf32>) -> tensor<4xf32>
  %x5 = call @g4(%x4) : (tensor<4xf32>) -> tensor<4xf32>
  %x6 = call @g4(%x5) : (tensor<4xf32>) -> tensor<4xf32>
  return %x6 : tensor<4xf32>
}
func.func private @g4(%x0: tensor<4xf32>) -> tensor<4xf32> {
  %x1 = call @g5(%x0) : (tensor<4xf32>) -> tensor<4xf32>
  %x2 = call @g5(%x1) : (tensor<4xf32>) -> tensor<4xf32>
  %x3 = call @g5(%x2) : (tensor<4xf32>) -> tensor<4xf32>
  %x4 = call @g5(%x3) : (tensor<4xf32>) -> tensor<4xf32>
  %x5 = call @g5(%x4) : (tensor<4xf32>) -> tensor<4xf32>
  %x6 = call @g5(%x5) : (tensor<4xf32>) -> tensor<4xf32>
  return %x6 : tensor<4xf32>
}
func.func private @g5(%x0: tensor<4xf32>) -> tensor<4xf32> {
  %x1 = call @g6(%x0) : (tensor<4xf32>) -> tensor<4xf32>
  %x2 = call @g6(%x1) : (tensor<4xf32>) -> tensor<4xf32>
  %x3 = call @g6(%x2) : (tensor<4xf32>) -> tensor<4xf32>
  %x4 = call @g6(%x3) : (tensor<4xf32>) -> tensor<4xf32>
  %x5 = call @g6(%x4) : (tensor<4xf32>) -> tensor<4xf32>
  %x6 = call @g6(%x5) : (tensor<4xf32>) -> tensor<4xf32>
  return %x6 : tensor<4xf32>
}
func.func private @g6(%x0: tensor<4xf32>) -> tensor<4xf32> {
  %x1 = call @g7(%x0) : (tensor<4xf32>) -> tensor<4xf32>
  %x2 = call @g7(%x1) : (tensor<4xf32>) -> tensor<4xf32>
  %x3 = call @g7(%x2) : (tensor<4xf32>) -> tensor<4xf32>
  %x4 = call @g7(%x3) : (tensor<4xf32>) -> tensor<4xf32>
  %x5 = call @g7(%x4) : (tensor<4xf32>) -> tensor<4xf32>
  %x6 = call @g7(%x5) : (tensor<4xf32>) -> tensor<4xf32>
  return %x6 : tensor<4xf32>
}
func.func private @g7(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.negf %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// An assertion of something else than the index of a lookup.
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %c = arith.cmpf oeq, %in, %in : f32
    // expected-error @below {{'cf.assert' op is not supported but for the index of a lookup}}
    cf.assert %c, "a number"
    linalg.yield %in : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<8x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'tensor.extract_slice' op has stride 0 in dim 0, expected at least 1}}
  %0 = tensor.extract_slice %x[0, 0] [4, 4] [0, 1] : tensor<8x4xf32> to tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @f(%x: tensor<4x4xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %back = arith.constant -1 : index
  // expected-error @below {{'tensor.insert_slice' op has stride -1 in dim 1, expected at least 1}}
  %0 = tensor.insert_slice %x into %y[0, 7] [4, 4] [1, %back] : tensor<4x4xf32> into tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
