// RUN: weft-opt %s --convert-weft-rt-to-llvm -split-input-file -verify-diagnostics

// expected-error @below {{has 2 functions, expected one step}}
module {
  func.func @f() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = []} { return }
  func.func @g() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = []} { return }
}

// -----

// expected-error @+1 {{'func.func' op has two arguments of the name "a"}}
func.func @two_names() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [#weft_rt.tensor<name = "a", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "a", local = tensor<4xf32>, global = tensor<4xf32>>], weft_rt.results = []} { return }

// -----

func.func @not_outlined() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = []} {
  // expected-error @+1 {{'weft_rt.fused' op has no form in the llvm phase}}
  weft_rt.fused ins() {
    weft_rt.yield
  }
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
func.func @element_type() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<4xi4>, global = tensor<4xi4>>], weft_rt.results = []} {
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

// A step cannot launch itself.
func.func @no_kernel() attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [], weft_rt.results = [], weft_rt.takes = []} {
  // expected-error @+1 {{'weft_rt.launch' op launches @no_kernel, which is no llvm.func}}
  weft_rt.launch @no_kernel() over #weft_rt.host_range<extent = 4, grain = 4>
  return
}

// -----

llvm.mlir.global private constant @code(5 : i32) : i32
// expected-error @+1 {{'llvm.func' op has its code in @code, expected a constant string of bytes}}
llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.image = @code, weft_rt.takes = [memref<4xf32>]}
func.func @no_image() attributes {weft_rt.arena_bytes = 64 : i64, weft_rt.args = [], weft_rt.results = []} {
  %x = weft_rt.buffer arena 0 : memref<4xf32>
  weft_rt.launch @weft_k0(%x : memref<4xf32>) over #weft_rt.host_range<extent = 4, grain = 4>
  return
}

// -----

func.func @attention_dims() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 : memref<2x2x2x2x2x2x2xf32>
  %y = weft_rt.buffer result 0 : memref<2x2x2x2x2x2x2xf32>
  %z = weft_rt.buffer result 1 : memref<2x2x2x2x2x2xf32>
  // expected-error @+1 {{has 9 loops, at most 8 are possible}}
  weft_rt.attention ins(%x, %x, %x) outs(%y, %z) {config = #weft.attention<scale = 0.5 : f32>, tensors = ["q", "k", "v", "out", "lse"],
      indexing_maps = [affine_map<(a, b, c, f, g, i, j, d, e) -> (a, b, c, f, g, i, d)>, affine_map<(a, b, c, f, g, i, j, d, e) -> (a, b, c, f, g, j, d)>,
        affine_map<(a, b, c, f, g, i, j, d, e) -> (a, b, c, f, g, j, e)>, affine_map<(a, b, c, f, g, i, j, d, e) -> (a, b, c, f, g, i, e)>, affine_map<(a, b, c, f, g, i, j, d, e) -> (a, b, c, f, g, i)>]}
      : memref<2x2x2x2x2x2x2xf32>, memref<2x2x2x2x2x2x2xf32>, memref<2x2x2x2x2x2x2xf32> into memref<2x2x2x2x2x2x2xf32>, memref<2x2x2x2x2x2xf32>
  return
}

// -----

func.func @attention_head() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 : memref<4x2049xf32>
  %y = weft_rt.buffer result 0 : memref<4x2049xf32>
  %z = weft_rt.buffer result 1 : memref<4xf32>
  // expected-error @+1 {{has heads of 2049 elements, at most 2048 are possible}}
  weft_rt.attention ins(%x, %x, %x) outs(%y, %z) {config = #weft.attention<scale = 0.5 : f32>, tensors = ["q", "k", "v", "out", "lse"],
      indexing_maps = [affine_map<(i, j, d, e) -> (i, d)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
        affine_map<(i, j, d, e) -> (i, e)>, affine_map<(i, j, d, e) -> (i)>]}
      : memref<4x2049xf32>, memref<4x2049xf32>, memref<4x2049xf32> into memref<4x2049xf32>, memref<4xf32>
  return
}

// -----

func.func @gemm_leaves() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 : memref<4x8xf32>
  %y = weft_rt.buffer argument 1 : memref<8x4xf32>
  %z = weft_rt.buffer result 0 : memref<4x4xf32>
  // expected-error @+1 {{'weft_rt.gemm' op has an order of 3 leaves, which do not divide the 8 elements that it sums}}
  weft_rt.gemm %x, %y into %z {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      weft.order = #weft.order<leaves = 3>} : memref<4x8xf32>, memref<8x4xf32> into memref<4x4xf32>
  return
}

// -----

func.func @attention_leaves() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = []} {
  %x = weft_rt.buffer argument 0 : memref<8x4xf32>
  %l = weft_rt.buffer argument 1 : memref<8xf32>
  %y = weft_rt.buffer result 0 : memref<8x4xf32>
  %z = weft_rt.buffer result 1 : memref<8x4xf32>
  %v = weft_rt.buffer result 2 : memref<8x4xf32>
  // expected-error @+1 {{'weft_rt.attention' op has an order of 3 leaves, which do not divide the 8 elements that it sums}}
  weft_rt.attention ins(%x, %x, %x, %x, %l, %x) outs(%y, %z, %v) {config = #weft.attention<scale = 0.5 : f32>, tensors = ["q", "k", "v", "out", "lse", "dout", "dq", "dk", "dv"],
      indexing_maps = [affine_map<(i, j, d, e) -> (i, d)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>, affine_map<(i, j, d, e) -> (i, e)>, affine_map<(i, j, d, e) -> (i)>,
        affine_map<(i, j, d, e) -> (i, e)>, affine_map<(i, j, d, e) -> (i, d)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>], weft.order = #weft.order<leaves = 3>}
      : memref<8x4xf32>, memref<8x4xf32>, memref<8x4xf32>, memref<8x4xf32>, memref<8xf32>, memref<8x4xf32> into memref<8x4xf32>, memref<8x4xf32>, memref<8x4xf32>
  return
}
