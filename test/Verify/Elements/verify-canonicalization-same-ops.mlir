// RUN: weft-opt %s --weft-verify-canonicalization -split-input-file -verify-diagnostics

// Ops that both programs have equally often are first not looked into. Programs
// that have the same ops, but not of the same operands, are told apart.

#a = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>

// The same value in another order of ops: that is seen by looking into them.
func.func @moved(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %0 = linalg.generic {indexing_maps = [#t, #a], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<4x4xf32>
  %1 = linalg.generic {indexing_maps = [#a, #a], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%v: f32, %o: f32):
    %n = math.exp %v : f32
    linalg.yield %n : f32
  } -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
module @source {
  func.func @moved(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %e = tensor.empty() : tensor<4x4xf32>
    %0 = linalg.map { math.exp } ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>)
    %1 = linalg.transpose ins(%0 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) permutation = [1, 0]
    return %1 : tensor<4x4xf32>
  }
}

// -----

#a = affine_map<(i, j) -> (i, j)>

func.func @exchanged(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %0 = linalg.generic {indexing_maps = [#a, #a], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%v: f32, %o: f32):
    %n = math.exp %v : f32
    linalg.yield %n : f32
  } -> tensor<4x4xf32>
  %1 = linalg.generic {indexing_maps = [#a, #a], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%v: f32, %o: f32):
    // expected-error @+1 {{makes result #0 another one than the user's module: math.tanh {fastmath = #arith.fastmath<none>}, expected math.exp {fastmath = #arith.fastmath<none>}}}
    %n = math.tanh %v : f32
    linalg.yield %n : f32
  } -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
module @source {
  func.func @exchanged(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %e = tensor.empty() : tensor<4x4xf32>
    %0 = linalg.map { math.tanh } ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>)
    // expected-note @+1 {{makes math.exp}}
    %1 = linalg.map { math.exp } ins(%0 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>)
    return %1 : tensor<4x4xf32>
  }
}

// -----

// What a body reads from outside is an operand as well.
#a = affine_map<(i) -> (i)>

// expected-error @+1 {{makes result #0 another one than the user's module: argument 1, expected argument 0}}
func.func @captured(%x: tensor<4xf32>, %y: tensor<4xf32>, %i: tensor<4xi32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#a, #a], iterator_types = ["parallel"]} ins(%i : tensor<4xi32>) outs(%e : tensor<4xf32>) {
  ^bb0(%v: i32, %o: f32):
    %at = arith.index_cast %v : i32 to index
    %n = tensor.extract %y[%at] : tensor<4xf32>
    linalg.yield %n : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
module @source {
  // expected-note @+1 {{makes argument 0}}
  func.func @captured(%x: tensor<4xf32>, %y: tensor<4xf32>, %i: tensor<4xi32>) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %0 = linalg.generic {indexing_maps = [#a, #a], iterator_types = ["parallel"]} ins(%i : tensor<4xi32>) outs(%e : tensor<4xf32>) {
    ^bb0(%v: i32, %o: f32):
      %at = arith.index_cast %v : i32 to index
      %n = tensor.extract %x[%at] : tensor<4xf32>
      linalg.yield %n : f32
    } -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// Of an op with two results another one.
#a = affine_map<(i) -> (i)>

func.func @results(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %0:2 = linalg.generic {indexing_maps = [#a, #a, #a], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e, %e : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%v: f32, %o: f32, %p: f32):
    %m = math.exp %v : f32
    // expected-error @+1 {{makes result #0 another one than the user's module: math.tanh {fastmath = #arith.fastmath<none>}, expected math.exp {fastmath = #arith.fastmath<none>}}}
    %n = math.tanh %v : f32
    linalg.yield %m, %n : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  return %0#1 : tensor<4xf32>
}
module @source {
  func.func @results(%x: tensor<4xf32>) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %0:2 = linalg.generic {indexing_maps = [#a, #a, #a], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e, %e : tensor<4xf32>, tensor<4xf32>) {
    ^bb0(%v: f32, %o: f32, %p: f32):
      // expected-note @+1 {{makes math.exp}}
      %m = math.exp %v : f32
      %n = math.tanh %v : f32
      linalg.yield %m, %n : f32, f32
    } -> (tensor<4xf32>, tensor<4xf32>)
    return %0#0 : tensor<4xf32>
  }
}
