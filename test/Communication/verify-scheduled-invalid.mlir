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

// -----

weft.mesh @mesh = <["dp"=2]>
weft.channel @fetch on @mesh <{}> purpose fetch
func.func @not_on_host(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'weft.permute' op operand #0 is copied from the host's memory, but is not there}}
  %0 = weft.permute %x on @mesh <{}> sources [0] {channel = @fetch, weft.op = "a"} : (tensor<4xf32>) -> !weft.future<tensor<4xf32>>
  %1 = weft.wait %0 : !weft.future<tensor<4xf32>>
  return %1 : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["dp"=2]>
weft.channel @offload on @mesh <{}> purpose offload
func.func @read_on_host(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = weft.permute %x on @mesh <{}> sources [0] {channel = @offload, weft.op = "a"} : (tensor<4xf32>) -> !weft.future<tensor<4xf32>>
  %1 = weft.wait %0 : !weft.future<tensor<4xf32>>
  // expected-error @+1 {{'weft_rt.fused' op operand #0 is in the host's memory, which only copies read}}
  %2 = weft_rt.fused ins(%1 : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %e = tensor.empty() : tensor<4xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%x0: f32, %o: f32):
      %y = math.exp %x0 : f32
      linalg.yield %y : f32
    } -> tensor<4xf32>
    weft_rt.yield %r : tensor<4xf32>
  } {weft.op = "b"}
  return %2 : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["dp"=2]>
weft.channel @offload on @mesh <{}> purpose offload
func.func @returned_on_host(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = weft.permute %x on @mesh <{}> sources [0] {channel = @offload, weft.op = "a"} : (tensor<4xf32>) -> !weft.future<tensor<4xf32>>
  %1 = weft.wait %0 : !weft.future<tensor<4xf32>>
  // expected-error @+1 {{'func.return' op returns result #0 in the memory of the host, where no argument is that it replaces}}
  return %1 : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["dp"=2]>
func.func @returned_on_device(%x: tensor<4xf32> {weft.host}, %y: tensor<4xf32>) -> (tensor<4xf32> {weft.alias = 0 : index}) {
  // expected-error @+1 {{'func.return' op returns result #0 in the memory of the device, but its argument is in the host's}}
  return %y : tensor<4xf32>
}
