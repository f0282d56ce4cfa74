// RUN: weft-opt %s --weft-verify-scheduled --split-input-file --verify-diagnostics

weft.mesh @mesh = <["dp"=2]>
func.func @not_started(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'weft.all_reduce' op is not started in phase 'scheduled'}}
  %0 = weft.all_reduce sum %x on @mesh <{"dp"}> {weft.op = "a"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @not_fused(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = arith.constant 0.0 : f32
  // expected-error @+1 {{'linalg.fill' op is not allowed in phase 'scheduled'}}
  %0 = linalg.fill ins(%c : f32) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["dp"=2]>
func.func @not_local(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'weft.shard' op is not allowed in phase 'scheduled'}}
  %0 = weft.shard %x to <@mesh, [{"dp"}]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @buffers(%x: memref<4xf32>) {
  // expected-error @+1 {{'weft_rt.fused' op is on buffers, which phase 'scheduled' has not}}
  weft_rt.fused ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%a : tensor<4xf32>) {
    ^bb0(%o: f32):
      linalg.yield %o : f32
    } -> tensor<4xf32>
    weft_rt.yield %r : tensor<4xf32>
  }
  return
}

// -----

func.func @buffer() {
  // expected-error @+1 {{'weft_rt.buffer' op makes a value of type 'memref<4xf32>', but phase 'scheduled' has no buffers}}
  %0 = weft_rt.buffer arena 0 : memref<4xf32>
  return
}

// -----

func.func @no_name() {
  // expected-error @+1 {{'weft_rt.fused' op has no name: 'weft.op' is missing}}
  weft_rt.fused ins() {
    weft_rt.yield
  }
  return
}

// -----

func.func @same_name() {
  // expected-note @+1 {{the other op}}
  weft_rt.fused ins() {
    weft_rt.yield
  } {weft.op = "k"}
  // expected-error @+1 {{'weft_rt.fused' op has the name "k" of another op}}
  weft_rt.fused ins() {
    weft_rt.yield
  } {weft.op = "k"}
  return
}
