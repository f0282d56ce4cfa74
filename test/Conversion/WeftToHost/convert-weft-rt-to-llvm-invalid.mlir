// RUN: weft-opt %s --convert-weft-rt-to-llvm -split-input-file -verify-diagnostics

// expected-error @below {{has 2 functions, expected one step}}
module {
  func.func @f() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = []} { return }
  func.func @g() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = []} { return }
}

// -----

// expected-error @+1 {{'func.func' op has two arguments of the name "a"}}
func.func @two_names() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [{global = tensor<4xf32>, local = tensor<4xf32>, name = "a"}, {global = tensor<4xf32>, local = tensor<4xf32>, name = "a"}], weft_rt.results = []} { return }

// -----

func.func @not_outlined() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = []} {
  // expected-error @+1 {{'weft_rt.fused' op has no form in the target phase}}
  weft_rt.fused ins() {
    weft_rt.yield
  }
  return
}

// -----

func.func @no_mesh() attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [], weft_rt.results = []} {
  %x = weft_rt.buffer arena 0 : memref<4xf32>
  // expected-error @+1 {{'weft_rt.start' op needs a mesh, and the module has none}}
  %t = weft_rt.start "all_reduce" {axes = #weft.axes<{"dp"}>} ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) {channel = @c}
  return
}

// -----

weft.mesh @mesh = <["dp"=2]>
weft.channel @c on @mesh <{"dp"}> purpose data
func.func @no_axes() attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [], weft_rt.results = []} {
  %x = weft_rt.buffer arena 0 : memref<4xf32>
  // expected-error @+1 {{'weft_rt.start' op expects 'axes' of the mesh}}
  %t = weft_rt.start "all_reduce" {axes = #weft.axes<{"tp"}>} ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) {channel = @c}
  return
}

// -----

weft.mesh @mesh = <["dp"=2]>
weft.channel @c on @mesh <{"dp"}> purpose data
func.func @no_dims() attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [], weft_rt.results = []} {
  %x = weft_rt.buffer arena 0 : memref<4xf32>
  %y = weft_rt.buffer arena 64 : memref<8xf32>
  // expected-error @+1 {{'weft_rt.start' op expects 'dims', a dim per buffer}}
  %t = weft_rt.start "all_gather" {axes = #weft.axes<{"dp"}>, dims = array<i64: 1>} ins(%x : memref<4xf32>) outs(%y : memref<8xf32>) {channel = @c}
  return
}

// -----

weft.mesh @mesh = <["dp"=2]>
func.func @no_channel() attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [], weft_rt.results = []} {
  %x = weft_rt.buffer arena 0 : memref<4xf32>
  // expected-error @+1 {{'weft_rt.start' op runs on @c, which is no channel}}
  %t = weft_rt.start "all_reduce" {axes = #weft.axes<{"dp"}>} ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) {channel = @c}
  return
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=2]>
weft.channel @c on @mesh <{"tp"}> purpose data
func.func @other_axes() attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [], weft_rt.results = []} {
  %x = weft_rt.buffer arena 0 : memref<4xf32>
  // expected-error @+1 {{'weft_rt.start' op is over #weft.axes<{"dp"}>, but its channel @c is over #weft.axes<{"tp"}>}}
  %t = weft_rt.start "all_reduce" {axes = #weft.axes<{"dp"}>} ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) {channel = @c}
  return
}

// -----

func.func @gemm_dims() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 : memref<2x2x2x2x2xf32>
  %y = weft_rt.buffer argument 1 : memref<2x2x2x2xf32>
  %z = weft_rt.buffer result 0 : memref<2x2x2x2x2x2x2x2x2xf32>
  // expected-error @+1 {{'weft_rt.gemm' op has 9 dims, at most 8 are possible}}
  weft_rt.gemm %x, %y into %z {indexing_maps = [affine_map<(a, b, c, d, e, f, g, h, i) -> (a, b, c, d, e)>,
      affine_map<(a, b, c, d, e, f, g, h, i) -> (f, g, h, i)>, affine_map<(a, b, c, d, e, f, g, h, i) -> (a, b, c, d, e, f, g, h, i)>]}
      : memref<2x2x2x2x2xf32>, memref<2x2x2x2xf32> into memref<2x2x2x2x2x2x2x2x2xf32>
  return
}

// -----

// expected-error @+1 {{the runtime has no element type 'i4'}}
func.func @element_type() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [{global = tensor<4xi4>, local = tensor<4xi4>, name = "x"}], weft_rt.results = []} {
  return
}

// -----

// expected-error @+1 {{'func.func' op is no planned step, which has 'weft_rt.args', 'weft_rt.results' and 'weft_rt.arena_bytes'}}
func.func @not_planned() {
  return
}

// -----

// expected-error @+1 {{'func.func' op expects 'weft_rt.plan_hash' to be a string of 64 hexadecimal digits, found "c0ffee"}}
func.func @short_hash() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = [], weft_rt.plan_hash = "c0ffee"} { return }

// -----

// expected-error @+1 {{'func.func' op expects 'weft_rt.plan_hash' to be a string of 64 hexadecimal digits, found 7 : i64}}
func.func @number_as_hash() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = [], weft_rt.plan_hash = 7 : i64} { return }

// -----

// expected-error @+1 {{'func.func' op expects 'weft_rt.plan_hash' to be a string of 64 hexadecimal digits, found "z}}
func.func @letters_as_hash() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = [], weft_rt.plan_hash = "zz0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"} { return }

// -----

weft.mesh @mesh = <["dp"=2]>
// expected-error @+1 {{has the sharding #weft.sharding<@mesh, [{"tp"}]> for 'tensor<8xf32>', expected one of its rank with axes of the mesh #weft.mesh<["dp"=2]>}}
func.func @sharding() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.results = [],
    weft_rt.args = [{global = tensor<8xf32>, local = tensor<4xf32>, sharding = #weft.sharding<@mesh, [{"tp"}]>}]} {
  return
}

// -----

// expected-error @below {{has {name = "w"} at 0 of 'weft_rt.args', expected 'global' and 'local' tensors of one rank and element type}}
func.func @no_types() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.results = [], weft_rt.args = [{name = "w"}]} {
  return
}

// -----

// expected-error @below {{expected 'global' and 'local' tensors of one rank and element type}}
func.func @ranks() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.results = [], weft_rt.args = [{global = tensor<8x2xf32>, local = tensor<8xf32>}]} {
  return
}

// -----

// expected-error @below {{expected 'global' and 'local' tensors of one rank and element type}}
func.func @elements() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = [{global = tensor<8xf32>, local = tensor<8xbf16>}]} {
  return
}

// -----

// expected-error @below {{expected 'global' and 'local' tensors of one rank and element type}}
func.func @dynamic() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = [{global = tensor<8xf32>, local = tensor<?xf32>}]} {
  return
}

// -----

// expected-error @below {{has the name 7 : i64 at 0 of 'weft_rt.args', expected a string}}
func.func @name() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.results = [], weft_rt.args = [{global = tensor<8xf32>, local = tensor<8xf32>, name = 7}]} {
  return
}

// -----

// expected-error @below {{has the alias 1 : index at 0 of 'weft_rt.results', expected the number of an argument}}
func.func @alias() attributes {weft_rt.arena_bytes = 0 : i64,
    weft_rt.args = [{global = tensor<8xf32>, local = tensor<8xf32>}],
    weft_rt.results = [{alias = 1 : index, global = tensor<8xf32>, local = tensor<8xf32>}]} {
  return
}
