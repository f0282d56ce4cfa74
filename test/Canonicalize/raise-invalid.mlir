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
