// RUN: weft-opt %s -split-input-file -verify-diagnostics

func.func @gemm_c1_count(%x: memref<8x8xf32>) {
  // expected-error @+1 {{'weft_rt.gemm' op has 1 maps, expected 3}}
  weft_rt.gemm %x, %x into %x {indexing_maps = [affine_map<(m, n, k) -> (m, k)>]} : memref<8x8xf32>, memref<8x8xf32> into memref<8x8xf32>
  return
}

// -----

func.func @gemm_c1_rank(%x: memref<8x8xf32>) {
  // expected-error @+1 {{'weft_rt.gemm' op map #1 is affine_map<(d0, d1, d2) -> (d2)>, expected a projected permutation of 3 dims to 2}}
  weft_rt.gemm %x, %x into %x {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k)>, affine_map<(m, n, k) -> (m, n)>]} : memref<8x8xf32>, memref<8x8xf32> into memref<8x8xf32>
  return
}

// -----

func.func @values_type(%x: memref<i32>) {
  // expected-error @+1 {{'weft_rt.read_scalar' op has 'weft_rt.values' = 3 : i64, expected array<i64: ...>}}
  %0 = weft_rt.read_scalar %x[] {weft_rt.values = 3 : i64} : memref<i32>
  return
}

// -----

func.func @values_count(%x: memref<4xi32>) {
  %i = arith.constant 0 : index
  // expected-error @+1 {{'weft_rt.read_scalar' op has 2 ids in 'weft_rt.values', expected 1}}
  %0 = weft_rt.read_scalar %x[%i] {weft_rt.values = array<i64: 3, 4>} : memref<4xi32>
  return
}

// -----

func.func @reads_place(%x: memref<i32>) {
  // expected-error @+1 {{'weft_rt.read_scalar' op has 'weft_rt.reads', which only 'weft_rt.scatter_add' may have}}
  %0 = weft_rt.read_scalar %x[] {weft_rt.reads = array<i64: 3>} : memref<i32>
  return
}

// -----

#maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
func.func @gemm_c2(%x: memref<8x12xf32>, %w: memref<6x16xf32>, %y: memref<8x16xf32>) {
  // expected-error @+1 {{'weft_rt.gemm' op operand #1 has size 6 in dim 0, expected 12}}
  weft_rt.gemm %x, %w into %y {indexing_maps = #maps} : memref<8x12xf32>, memref<6x16xf32> into memref<8x16xf32>
  return
}

// -----

func.func @gemm_c2_free(%x: memref<8xf32>, %y: memref<8x4xf32>) {
  // expected-error @+1 {{'weft_rt.gemm' op has d1 in neither operand's map}}
  weft_rt.gemm %x, %x into %y {indexing_maps = [affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m, n)>]} : memref<8xf32>, memref<8xf32> into memref<8x4xf32>
  return
}

// -----

#maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
func.func @gemm_c3_integers(%x: memref<8x8xi32>, %y: memref<8x8xf32>) {
  // expected-error @+1 {{'weft_rt.gemm' op operand #0 has elements of type 'i32', expected a floating-point type}}
  weft_rt.gemm %x, %y into %y {indexing_maps = #maps} : memref<8x8xi32>, memref<8x8xf32> into memref<8x8xf32>
  return
}

// -----

#maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
func.func @gemm_c3_mixed(%x: memref<8x8xf64>, %y: memref<8x8xf32>) {
  // expected-error @+1 {{'weft_rt.gemm' op mixes f64 with other types}}
  weft_rt.gemm %x, %x into %y {indexing_maps = #maps} : memref<8x8xf64>, memref<8x8xf64> into memref<8x8xf32>
  return
}

// -----

func.func @join_of_three(%x: memref<8xf32>) {
  // expected-error @+1 {{'weft_rt.assemble' op has 'weft_rt.join', which only a 'weft_rt.assemble' of two values may have}}
  weft_rt.assemble %x value 7 from [5, 6, 4] {weft_rt.join} : memref<8xf32>
  return
}

// -----

func.func private @f() {
  %x = weft_rt.buffer arena 0 : memref<8xf32>
  // expected-error @+1 {{'weft_rt.view' op has 'weft_rt.product_type' = f8E4M3FN, which only products may have, and must be a type of floats}}
  %y = weft_rt.view %x at 0 {weft_rt.product_type = f8E4M3FN} : memref<8xf32> to memref<4xf32>
  return
}

// -----

func.func private @f() {
  %x = weft_rt.buffer arena 0 : memref<8xf32>
  // expected-error @+1 {{'weft_rt.view' op has 'weft_rt.together' = 0 : i64, which only a 'weft_rt.fused' on buffers may have, and must be an i64}}
  %y = weft_rt.view %x at 0 {weft_rt.together = 0 : i64} : memref<8xf32> to memref<4xf32>
  return
}

// -----

func.func @values_c1(%x: memref<8xf32>, %i: index) {
  // expected-error @+1 {{'weft_rt.read_scalar' op has value number 9223372036854775807, expected one from 0 on below 2^62}}
  %y = weft_rt.read_scalar %x[%i] {weft_rt.values = array<i64: 9223372036854775807>} : memref<8xf32>
  return
}

// -----

func.func @values_c1(%x: memref<8xf32>, %i: index) {
  // expected-error @+1 {{'weft_rt.read_scalar' op has value number 9223372036854775806, expected one from 0 on below 2^62}}
  %y = weft_rt.read_scalar %x[%i] {weft_rt.values = array<i64: 9223372036854775806>} : memref<8xf32>
  return
}

// -----

func.func @values_c1(%x: memref<8xf32>, %i: index) {
  // expected-error @+1 {{'weft_rt.read_scalar' op has value number -9223372036854775808, expected one from 0 on below 2^62}}
  %y = weft_rt.read_scalar %x[%i] {weft_rt.values = array<i64: -9223372036854775808>} : memref<8xf32>
  return
}

// -----

func.func @values_c1(%x: memref<8xf32>, %i: index) {
  // expected-error @+1 {{'weft_rt.read_scalar' op has value number -1, expected one from 0 on below 2^62}}
  %y = weft_rt.read_scalar %x[%i] {weft_rt.values = array<i64: -1>} : memref<8xf32>
  return
}

// -----

func.func @scatter_into_other_rows() {
  %t = weft_rt.buffer arena 0 : memref<6x4xf32>
  %i = weft_rt.buffer arena 128 : memref<4xi32>
  %u = weft_rt.buffer arena 192 : memref<4x8xf32>
  // expected-error @+1 {{'weft_rt.scatter_add' op adds 'memref<4x8xf32>' into 'memref<6x4xf32>' by indices of 'memref<4xi32>', which its axis and maps do not allow}}
  weft_rt.scatter_add %t, %i, %u {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : memref<6x4xf32>, memref<4xi32>, memref<4x8xf32>
  return
}

// -----

func.func @scatter_at_no_axis() {
  %t = weft_rt.buffer arena 0 : memref<6x8xf32>
  %i = weft_rt.buffer arena 192 : memref<4xi32>
  %u = weft_rt.buffer arena 256 : memref<4x8xf32>
  // expected-error @+1 {{'weft_rt.scatter_add' op adds 'memref<4x8xf32>' into 'memref<6x8xf32>' by indices of 'memref<4xi32>', which its axis and maps do not allow}}
  weft_rt.scatter_add %t, %i, %u {axis = 2 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : memref<6x8xf32>, memref<4xi32>, memref<4x8xf32>
  return
}

// -----

func.func @scatter_by_floats() {
  %t = weft_rt.buffer arena 0 : memref<6x8xf32>
  %i = weft_rt.buffer arena 192 : memref<4xf32>
  %u = weft_rt.buffer arena 256 : memref<4x8xf32>
  // expected-error @+1 {{'weft_rt.scatter_add' op adds 'memref<4x8xf32>' into 'memref<6x8xf32>' by indices of 'memref<4xf32>', which its axis and maps do not allow}}
  weft_rt.scatter_add %t, %i, %u {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : memref<6x8xf32>, memref<4xf32>, memref<4x8xf32>
  return
}

// -----

func.func @copy_c1_dense(%a: memref<4x2xf32, strided<[4, 1]>>, %b: memref<4x2xf32>) {
  // expected-error @+1 {{'weft_rt.copy' op copies 'memref<4x2xf32, strided<[4, 1]>>' to 'memref<4x2xf32>', expected dense buffers of one shape and element type}}
  weft_rt.copy %a to %b : memref<4x2xf32, strided<[4, 1]>> to memref<4x2xf32>
  return
}

// -----

func.func @copy_c1_shape(%a: memref<2x4xf32>, %b: memref<4x2xf32>) {
  // expected-error @+1 {{expected dense buffers of one shape and element type}}
  weft_rt.copy %a to %b : memref<2x4xf32> to memref<4x2xf32>
  return
}

// -----

func.func @copy_c1_element(%a: memref<4xi32>, %b: memref<4xf32>) {
  // expected-error @+1 {{expected dense buffers of one shape and element type}}
  weft_rt.copy %a to %b : memref<4xi32> to memref<4xf32>
  return
}

// -----

func.func @read_scalar_c1(%a: memref<4x4xf32>, %i: index) {
  // expected-error @+1 {{'weft_rt.read_scalar' op has 1 indices for 'memref<4x4xf32>'}}
  %x = weft_rt.read_scalar %a[%i] : memref<4x4xf32>
  return
}

// -----

func.func @read_scalar_c2(%a: memref<i128>) {
  // expected-error @+1 {{'weft_rt.read_scalar' op result #0 must be an index, or an integer or float of at most 64 bits, but got 'i128'}}
  %x = weft_rt.read_scalar %a[] : memref<i128>
  return
}

// -----

func.func @launch_scalar(%a: memref<4xf32>, %i: i128) {
  // expected-error @+1 {{'weft_rt.launch' op operand #1 must be variadic of an index, or an integer or float of at most 64 bits, but got 'i128'}}
  weft_rt.launch @weft_k0(%a : memref<4xf32>) scalars(%i : i128) over #weft_rt.host_range<extent = 4, grain = 1>
  return
}

// -----

func.func @launch_config(%a: memref<4xf32>) {
  // expected-error @+1 {{'weft_rt.launch' op attribute 'config' failed to satisfy constraint: LaunchConfig instance}}
  "weft_rt.launch"(%a) {kernel = @weft_k0, config = 7 : i64, operandSegmentSizes = array<i32: 1, 0>} : (memref<4xf32>) -> ()
  return
}

// -----

func.func @host_range_c1(%a: memref<4xf32>) {
  // expected-error @+1 {{a range of 4 iterations in pieces of 0 is none}}
  weft_rt.launch @weft_k0(%a : memref<4xf32>) over #weft_rt.host_range<extent = 4, grain = 0>
  return
}

// -----

llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.takes = [memref<4xf32>, memref<8xf32>, index]}
func.func @launch_c1_no_kernel(%a: memref<4xf32>, %b: memref<8xf32>, %i: index, %f: f32) {
  // expected-error @+1 {{'weft_rt.launch' op launches @weft_k1, which is no function}}
  weft_rt.launch @weft_k1(%a : memref<4xf32>) over #weft_rt.host_range<extent = 4, grain = 1>
  return
}

// -----

llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64)
func.func @launch_c1_takes(%a: memref<4xf32>, %b: memref<8xf32>, %i: index, %f: f32) {
  // expected-error @+1 {{'weft_rt.launch' op launches @weft_k0, which has no 'weft_rt.takes'}}
  weft_rt.launch @weft_k0(%a : memref<4xf32>) over #weft_rt.host_range<extent = 4, grain = 1>
  return
}

// -----

llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.takes = [memref<4xf32>, memref<8xf32>, index]}
func.func @launch_c1_dropped(%a: memref<4xf32>, %b: memref<8xf32>, %i: index, %f: f32) {
  // expected-error @+1 {{'weft_rt.launch' op passes ('memref<4xf32>', 'index') to @weft_k0, which takes ('memref<4xf32>', 'memref<8xf32>', 'index')}}
  weft_rt.launch @weft_k0(%a : memref<4xf32>) scalars(%i : index) over #weft_rt.host_range<extent = 4, grain = 1>
  return
}

// -----

llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.takes = [memref<4xf32>, memref<8xf32>, index]}
func.func @launch_c1_swapped(%a: memref<4xf32>, %b: memref<8xf32>, %i: index, %f: f32) {
  // expected-error @+1 {{'weft_rt.launch' op passes ('memref<8xf32>', 'memref<4xf32>', 'index') to @weft_k0, which takes ('memref<4xf32>', 'memref<8xf32>', 'index')}}
  weft_rt.launch @weft_k0(%b, %a : memref<8xf32>, memref<4xf32>) scalars(%i : index) over #weft_rt.host_range<extent = 4, grain = 1>
  return
}

// -----

llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.takes = [memref<4xf32>, memref<8xf32>, index]}
func.func @launch_c1_no_scalar(%a: memref<4xf32>, %b: memref<8xf32>, %i: index, %f: f32) {
  // expected-error @+1 {{'weft_rt.launch' op passes ('memref<4xf32>', 'memref<8xf32>') to @weft_k0, which takes ('memref<4xf32>', 'memref<8xf32>', 'index')}}
  weft_rt.launch @weft_k0(%a, %b : memref<4xf32>, memref<8xf32>) over #weft_rt.host_range<extent = 4, grain = 1>
  return
}

// -----

llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.takes = [memref<4xf32>, memref<8xf32>, index]}
func.func @launch_c1_added(%a: memref<4xf32>, %b: memref<8xf32>, %i: index, %f: f32) {
  // expected-error @+1 {{'weft_rt.launch' op passes ('memref<4xf32>', 'memref<8xf32>', 'index', 'index') to @weft_k0, which takes ('memref<4xf32>', 'memref<8xf32>', 'index')}}
  weft_rt.launch @weft_k0(%a, %b : memref<4xf32>, memref<8xf32>) scalars(%i, %i : index, index) over #weft_rt.host_range<extent = 4, grain = 1>
  return
}

// -----

llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.takes = [memref<4xf32>, memref<8xf32>, index]}
func.func @launch_c1_scalar(%a: memref<4xf32>, %b: memref<8xf32>, %i: index, %f: f32) {
  // expected-error @+1 {{'weft_rt.launch' op passes ('memref<4xf32>', 'memref<8xf32>', 'f32') to @weft_k0, which takes ('memref<4xf32>', 'memref<8xf32>', 'index')}}
  weft_rt.launch @weft_k0(%a, %b : memref<4xf32>, memref<8xf32>) scalars(%f : f32) over #weft_rt.host_range<extent = 4, grain = 1>
  return
}

// -----

// expected-error @+1 {{'builtin.module' op has 'weft_rt.takes', which only functions may have}}
module attributes {weft_rt.takes = []} {
}

// -----

// expected-error @+1 {{'llvm.func' op has 'weft_rt.takes' = [memref<?xf32>], expected the types of buffers and scalars}}
llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.takes = [memref<?xf32>]}

// -----

// expected-error @+1 {{'llvm.func' op has 'weft_rt.takes' = 2 : i64, expected the types of buffers and scalars}}
llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.takes = 2 : i64}

// -----

// expected-error @+1 {{'llvm.func' op has 'weft_rt.image' = 3 : i64, expected the name of a global, or a list of such names}}
llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.image = 3 : i64}

// -----

// expected-error @+1 {{'llvm.func' op has 'weft_rt.image' = [], expected the name of a global, or a list of such names}}
llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.image = []}

// -----

// expected-error @+1 {{'llvm.func' op has 'weft_rt.image' = [@code, 3], expected the name of a global, or a list of such names}}
llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.image = [@code, 3]}
