// RUN: weft-opt %s -split-input-file -verify-diagnostics

func.func @fused_c1_count(%x: tensor<8xf32>) {
  // expected-error @+1 {{'weft_rt.fused' op region has 0 arguments, expected 1}}
  weft_rt.fused ins(%x : tensor<8xf32>) {
    weft_rt.yield
  }
  return
}

// -----

func.func @fused_c1_type(%x: tensor<8xf32>) {
  // expected-error @+1 {{'weft_rt.fused' op region argument #0 has type 'tensor<4xf32>', expected 'tensor<8xf32>'}}
  weft_rt.fused ins(%x : tensor<8xf32>) {
  ^bb0(%a: tensor<4xf32>):
    weft_rt.yield
  }
  return
}

// -----

func.func @fused_c2_count(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'weft_rt.fused' op yields 0 values, expected 1}}
  %0 = weft_rt.fused ins(%x : tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    weft_rt.yield
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @fused_c2_type(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'weft_rt.fused' op yields #0 of type 'tensor<8xf32>', expected 'tensor<4xf32>'}}
  %0 = weft_rt.fused ins(%x : tensor<8xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<8xf32>):
    weft_rt.yield %a : tensor<8xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @fused_c3_both(%x: tensor<8xf32>, %m: memref<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'weft_rt.fused' op has 1 results and 1 outputs, expected one kind only}}
  %0 = weft_rt.fused ins(%x : tensor<8xf32>) outs(%m : memref<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    weft_rt.yield %a : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @fused_c3_buffer(%m: memref<8xf32>) {
  // expected-error @+1 {{'weft_rt.fused' op input #0 has type 'memref<8xf32>', expected a tensor}}
  weft_rt.fused ins(%m : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    weft_rt.yield
  }
  return
}

// -----

func.func @fused_c3_tensor(%x: tensor<8xf32>, %m: memref<8xf32>) {
  // expected-error @+1 {{'weft_rt.fused' op input #0 has type 'tensor<8xf32>', expected a buffer}}
  weft_rt.fused ins(%x : tensor<8xf32>) outs(%m : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    weft_rt.yield %a : tensor<8xf32>
  }
  return
}

// -----

func.func @fused_c4_argument(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'weft_rt.fused' op yields #0 that is no result of a 'linalg.generic' op}}
  %0 = weft_rt.fused ins(%x : tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    weft_rt.yield %a : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

#row = affine_map<(i) -> (i)>
func.func @fused_c4_twice(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // expected-error @+1 {{'weft_rt.fused' op yields #1 for the second time}}
  %r:2 = weft_rt.fused ins(%x : tensor<8xf32>) -> tensor<8xf32>, tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %g = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %o: f32):
      linalg.yield %v : f32
    } -> tensor<8xf32>
    weft_rt.yield %g, %g : tensor<8xf32>, tensor<8xf32>
  }
  return %r#0, %r#1 : tensor<8xf32>, tensor<8xf32>
}

// -----

func.func @fused_c5_op(%x: tensor<8xf32>) {
  weft_rt.fused ins(%x : tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    // expected-error @+1 {{'arith.negf' op has no form in a 'weft_rt.fused' op}}
    %n = arith.negf %a : tensor<8xf32>
    weft_rt.yield
  }
  return
}

// -----

func.func @fused_c5_extract(%x: tensor<8xf32>) {
  weft_rt.fused ins(%x : tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{'tensor.extract' op has no form in a 'weft_rt.fused' op}}
    %n = tensor.extract %a[%c0] : tensor<8xf32>
    weft_rt.yield
  }
  return
}

// -----

#row = affine_map<(i) -> (i)>
func.func @fused_c5_body(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = weft_rt.fused ins(%x : tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %g = linalg.generic {indexing_maps = [#row], iterator_types = ["parallel"]} outs(%e : tensor<8xf32>) {
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      // expected-error @+1 {{'tensor.extract' op is in a body of a 'weft_rt.fused' op, where it may only take elements of an input}}
      %v = tensor.extract %e[%i] : tensor<8xf32>
      linalg.yield %v : f32
    } -> tensor<8xf32>
    weft_rt.yield %g : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @fused_c6_reduction(%x: tensor<8x2xf32>) -> tensor<8xf32> {
  %0 = weft_rt.fused ins(%x : tensor<8x2xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8x2xf32>):
    %e = tensor.empty() : tensor<8xf32>
    // expected-error @+1 {{'linalg.generic' op has loop d1 as 'parallel', expected 'reduction': an output does not have it}}
    %g = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<8x2xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %o: f32):
      %s = arith.addf %v, %o : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    weft_rt.yield %g : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

#row = affine_map<(i) -> (i)>
func.func @fused_c6_parallel(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = weft_rt.fused ins(%x : tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    // expected-error @+1 {{'linalg.generic' op has loop d0 as 'reduction', expected 'parallel': all outputs have it}}
    %g = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["reduction"]}
        ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %o: f32):
      linalg.yield %v : f32
    } -> tensor<8xf32>
    weft_rt.yield %g : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

// Other memory than that of inputs and outputs.
func.func @fused_c5_memory(%x: memref<4xf32>, %y: memref<4xf32>) {
  weft_rt.fused ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %e = tensor.empty() : tensor<4xf32>
    %g = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%v: f32, %o: f32):
      // expected-error @+1 {{'memref.alloc' op has effects, which no op in a body of a 'weft_rt.fused' op may have}}
      %m = memref.alloc() : memref<4xf32>
      linalg.yield %v : f32
    } -> tensor<4xf32>
    weft_rt.yield %g : tensor<4xf32>
  }
  return
}

// -----

func.func @fused_c5_assertion(%x: memref<4xf32>, %c: i1) {
  weft_rt.fused ins() scalars(%c : i1) outs(%x : memref<4xf32>) {
  ^bb0(%b: i1):
    // expected-error @+1 {{'cf.assert' op has effects}}
    cf.assert %b, "no"
    %e = tensor.empty() : tensor<4xf32>
    %g = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        outs(%e : tensor<4xf32>) {
    ^bb0(%o: f32):
      %z = arith.constant 0.0 : f32
      linalg.yield %z : f32
    } -> tensor<4xf32>
    weft_rt.yield %g : tensor<4xf32>
  }
  return
}

// -----

// A copy of the diagonal writes nothing else.
#diagonal = affine_map<(i) -> (i, i)>
func.func @fused_c7_diagonal(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = weft_rt.fused ins(%x : tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: tensor<4x4xf32>):
    %e = tensor.empty() : tensor<4x4xf32>
    // expected-error @+1 {{'linalg.generic' op goes through affine_map<(d0) -> (d0, d0)> of an output of 'tensor<4x4xf32>', which leaves elements out}}
    %g = linalg.generic {indexing_maps = [#diagonal, #diagonal], iterator_types = ["parallel"]}
        ins(%a : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
    ^bb0(%v: f32, %o: f32):
      linalg.yield %v : f32
    } -> tensor<4x4xf32>
    weft_rt.yield %g : tensor<4x4xf32>
  }
  return %0 : tensor<4x4xf32>
}

// -----

#column = affine_map<(i) -> (i, 0)>
func.func @fused_c7_column(%x: tensor<4xf32>) -> tensor<4x2xf32> {
  %0 = weft_rt.fused ins(%x : tensor<4xf32>) -> tensor<4x2xf32> {
  ^bb0(%a: tensor<4xf32>):
    %e = tensor.empty() : tensor<4x2xf32>
    // expected-error @+1 {{'linalg.generic' op goes through affine_map<(d0) -> (d0, 0)> of an output of 'tensor<4x2xf32>', which leaves elements out}}
    %g = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, #column], iterator_types = ["parallel"]}
        ins(%a : tensor<4xf32>) outs(%e : tensor<4x2xf32>) {
    ^bb0(%v: f32, %o: f32):
      linalg.yield %v : f32
    } -> tensor<4x2xf32>
    weft_rt.yield %g : tensor<4x2xf32>
  }
  return %0 : tensor<4x2xf32>
}

// -----

func.func @fused_c2_no_yield() {
  // expected-error @+1 {{'weft_rt.fused' op does not end in a 'weft_rt.yield' op}}
  weft_rt.fused ins() {
    %c = arith.constant 0 : i32
  }
  return
}

// -----

func.func @fused_c1_scalar(%m: memref<8xf32>, %i: index) {
  // expected-error @+1 {{'weft_rt.fused' op region argument #1 has type 'i32', expected 'index'}}
  weft_rt.fused ins(%m : memref<8xf32>) scalars(%i : index) outs(%m : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>, %s: i32):
    weft_rt.yield %a : tensor<8xf32>
  }
  return
}

// -----

func.func @fused_c1_scalars(%m: memref<8xf32>, %i: index) {
  // expected-error @+1 {{'weft_rt.fused' op region has 1 arguments, expected 2}}
  weft_rt.fused ins(%m : memref<8xf32>) scalars(%i : index) outs(%m : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    weft_rt.yield %a : tensor<8xf32>
  }
  return
}
