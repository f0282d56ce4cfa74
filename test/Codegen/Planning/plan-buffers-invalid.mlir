// RUN: weft-opt %s --weft-plan-buffers -split-input-file -verify-diagnostics

// expected-error @+1 {{'func.func' op has an argument or result of type 'tensor<?xf32>', expected a tensor of static shape}}
func.func @dynamic_argument(%x: tensor<?xf32>) {
  return
}

// -----

// expected-error @+1 {{'func.func' op has an argument or result of type 'f32', expected a tensor of static shape}}
func.func @scalar_result() -> f32 {
  %c = arith.constant 1.0 : f32
  return %c : f32
}

// -----

// expected-error @+1 {{'func.func' op has 2 blocks, expected 1}}
func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^next
^next:
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' op has 0 blocks, expected 1}}
func.func private @declared(%x: tensor<4xf32>) -> tensor<4xf32>

// -----

func.func @dynamic_value(%x: tensor<4xf32>, %n: tensor<index>) -> tensor<4xf32> {
  %i = tensor.extract %n[] : tensor<index>
  // expected-error @+1 {{'tensor.extract_slice' op has a result of type 'tensor<?xf32>', expected a static shape of integers or floats}}
  %part = tensor.extract_slice %x[0] [%i] [1] : tensor<4xf32> to tensor<?xf32>
  return %x : tensor<4xf32>
}

// -----

func.func @complex_value(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'tensor.empty' op has a result of type 'tensor<4xcomplex<f32>>', expected a static shape of integers or floats}}
  %c = tensor.empty() : tensor<4xcomplex<f32>>
  return %x : tensor<4xf32>
}

// -----

func.func @dynamic_stride(%x: tensor<4xf32>, %n: tensor<index>) -> tensor<2xf32> {
  %i = tensor.extract %n[] : tensor<index>
  // expected-error @+1 {{'tensor.extract_slice' op has a stride that is not constant in dim 0}}
  %part = tensor.extract_slice %x[0] [2] [%i] : tensor<4xf32> to tensor<2xf32>
  return %part : tensor<2xf32>
}

// -----

func.func @unfused(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'arith.negf' op has no form on buffers}}
  %y = arith.negf %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @regions(%x: tensor<i32>) -> tensor<i32> {
  %i = tensor.extract %x[] : tensor<i32>
  // expected-error @+1 {{'scf.while' op has no form on buffers}}
  %j = scf.while (%a = %i) : (i32) -> i32 {
    %no = arith.constant false
    scf.condition(%no) %a : i32
  } do {
  ^bb0(%a: i32):
    scf.yield %a : i32
  }
  return %x : tensor<i32>
}

// -----

func.func @resource() -> tensor<2xf32> {
  // expected-error @+1 {{'arith.constant' op has a value that is not dense}}
  %c = arith.constant dense_resource<values> : tensor<2xf32>
  return %c : tensor<2xf32>
}

// -----

func.func @no_loops(%x: tensor<6x4xf32>, %y: tensor<4x6xf32>) -> (tensor<6x4xf32>, tensor<4xf32>) {
  // The sum is needed before the first row ends.
  // expected-error @+1 {{'weft_rt.fused' op has no loop structure: its ops share no rows, or an indexing map is not linear}}
  %r:2 = weft_rt.fused ins(%x : tensor<6x4xf32>) -> tensor<6x4xf32>, tensor<4xf32> {
  ^bb0(%a: tensor<6x4xf32>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<f32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>],
                           iterator_types = ["reduction", "reduction"]}
        ins(%a : tensor<6x4xf32>) outs(%z : tensor<f32>) {
    ^bb0(%v: f32, %acc: f32):
      %s = arith.addf %acc, %v : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %e2 = tensor.empty() : tensor<6x4xf32>
    %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>],
                         iterator_types = ["parallel", "parallel"]}
        ins(%a, %sum : tensor<6x4xf32>, tensor<f32>) outs(%e2 : tensor<6x4xf32>) {
    ^bb0(%v: f32, %s: f32, %o: f32):
      %q = arith.divf %v, %s : f32
      linalg.yield %q : f32
    } -> tensor<6x4xf32>
    %e3 = tensor.empty() : tensor<4xf32>
    %f = linalg.generic {indexing_maps = [affine_map<(i) -> (0, i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a : tensor<6x4xf32>) outs(%e3 : tensor<4xf32>) {
    ^bb0(%v: f32, %o: f32):
      linalg.yield %v : f32
    } -> tensor<4xf32>
    weft_rt.yield %d, %f : tensor<6x4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<6x4xf32>, tensor<4xf32>
}

{-#
  dialect_resources: {
    builtin: {
      values: "0x040000000000803F00000040"
    }
  }
#-}

// -----

weft.mesh @mesh = <["dp"=2]>
func.func @not_started(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'weft.all_reduce' op has no form on buffers: it is not started on a channel}}
  %0 = weft.all_reduce sum %x on @mesh <{"dp"}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @scales(%x: tensor<8x64xf8E4M3FN>, %w: tensor<64x16xf8E4M3FN>, %s: tensor<f32>) -> tensor<8x16xf32> {
  // expected-error @+1 {{has scales, which no kernel multiplies with}}
  %0 = weft.matmul %x, %w scales %s, %s : tensor<f32>, tensor<f32> {indexing_maps = [
      affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>,
      affine_map<(i, j, k) -> ()>, affine_map<(i, j, k) -> ()>]}
      : tensor<8x64xf8E4M3FN>, tensor<64x16xf8E4M3FN> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
