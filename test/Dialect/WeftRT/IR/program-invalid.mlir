// RUN: weft-opt %s -split-input-file -verify-diagnostics

func.func @buffer_type_dynamic() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, of less than 2^56 bytes, no two elements of which share one, but got 'memref<?xf32>'}}
  %0 = weft_rt.buffer arena 0 : memref<?xf32>
  return
}

// -----

func.func @buffer_type_strides() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, of less than 2^56 bytes, no two elements of which share one, but got 'memref<8xf32, strided<[?]>>'}}
  %0 = weft_rt.buffer arena 0 : memref<8xf32, strided<[?]>>
  return
}

// -----

func.func @buffer_type_element() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, of less than 2^56 bytes, no two elements of which share one, but got 'memref<8xcomplex<f32>>'}}
  %0 = weft_rt.buffer arena 0 : memref<8xcomplex<f32>>
  return
}

// -----

func.func @buffer_c1_arena() {
  // expected-error @+1 {{'weft_rt.buffer' op has position 32, expected a multiple of 64 below 2^56}}
  %0 = weft_rt.buffer arena 32 : memref<8xf32>
  return
}

// -----

func.func @buffer_c1_argument() {
  // expected-error @+1 {{'weft_rt.buffer' op has position -1, expected a multiple of 1 below 2^56}}
  %0 = weft_rt.buffer argument -1 : memref<8xf32>
  return
}

// -----

func.func @view_c1(%x: memref<8xf32>) {
  // expected-error @+1 {{'weft_rt.view' op has a source of 'f32' and a result of 'i32'}}
  %0 = weft_rt.view %x at 0 : memref<8xf32> to memref<8xi32>
  return
}

// -----

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

func.func @start_c1(%x: memref<8xf32>) {
  // expected-error @+1 {{'weft_rt.start' op has 2 outputs, expected 1}}
  %t = weft_rt.start "all_reduce" {} ins(%x : memref<8xf32>) outs(%x, %x : memref<8xf32>, memref<8xf32>) {channel = @c}
  return
}

// -----

func.func @start_c2(%x: memref<8xf32>) {
  // expected-error @+1 {{'weft_rt.start' op has unknown collective 'broadcast'}}
  %t = weft_rt.start "broadcast" {} ins(%x : memref<8xf32>) outs(%x : memref<8xf32>) {channel = @c}
  return
}

// -----

func.func @start_without_channel(%x: memref<8xf32>) {
  // expected-error @+1 {{'weft_rt.start' op requires attribute 'channel'}}
  %t = weft_rt.start "all_reduce" {} ins(%x : memref<8xf32>) outs(%x : memref<8xf32>)
  return
}

// -----

func.func @view_c2(%x: memref<4x8xf32>) {
  // expected-error @+1 {{'weft_rt.view' op covers 28 elements from 8 on of a source of 32}}
  %0 = weft_rt.view %x at 8 : memref<4x8xf32> to memref<4x4xf32, strided<[8, 1]>>
  return
}

// -----

func.func @view_c2_negative(%x: memref<4x8xf32>) {
  // expected-error @+1 {{'weft_rt.view' op covers 8 elements from -1 on of a source of 32}}
  %0 = weft_rt.view %x at -1 : memref<4x8xf32> to memref<8xf32>
  return
}

// -----

func.func @values_type(%x: memref<i32>) {
  // expected-error @+1 {{'memref.load' op has 'weft_rt.values' = 3 : i64, expected array<i64: ...>}}
  %0 = memref.load %x[] {weft_rt.values = 3 : i64} : memref<i32>
  return
}

// -----

func.func @values_count(%x: memref<4xi32>) {
  %i = arith.constant 0 : index
  // expected-error @+1 {{'memref.load' op has 2 ids in 'weft_rt.values', expected 1}}
  %0 = memref.load %x[%i] {weft_rt.values = array<i64: 3, 4>} : memref<4xi32>
  return
}

// -----

func.func @reads_place(%x: memref<i32>) {
  // expected-error @+1 {{'memref.load' op has 'weft_rt.reads', which only 'weft_rt.scatter_add' may have}}
  %0 = memref.load %x[] {weft_rt.reads = array<i64: 3>} : memref<i32>
  return
}

// -----

func.func @buffer_type_negative() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, of less than 2^56 bytes, no two elements of which share one, but got 'memref<4x4xf32, strided<[-4, 1]>>'}}
  %0 = weft_rt.buffer arena 0 : memref<4x4xf32, strided<[-4, 1]>>
  return
}

// -----

func.func @buffer_type_shared() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, of less than 2^56 bytes, no two elements of which share one, but got 'memref<4x4xf32, strided<[1, 1]>>'}}
  %0 = weft_rt.buffer arena 0 : memref<4x4xf32, strided<[1, 1]>>
  return
}

// -----

func.func @buffer_type_overlapping() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, of less than 2^56 bytes, no two elements of which share one, but got 'memref<4x4xf32, strided<[3, 1]>>'}}
  %0 = weft_rt.buffer arena 0 : memref<4x4xf32, strided<[3, 1]>>
  return
}

// -----

func.func @buffer_type_zero() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, of less than 2^56 bytes, no two elements of which share one, but got 'memref<4x4xf32, strided<[0, 1]>>'}}
  %0 = weft_rt.buffer arena 0 : memref<4x4xf32, strided<[0, 1]>>
  return
}

// -----

func.func @buffer_type_large() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, of less than 2^56 bytes, no two elements of which share one, but got 'memref<4611686018427387904xf32>'}}
  %0 = weft_rt.buffer arena 0 : memref<4611686018427387904xf32>
  return
}

// -----

func.func @buffer_type_product() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, of less than 2^56 bytes, no two elements of which share one, but got 'memref<4294967296x4294967296xi8>'}}
  %0 = weft_rt.buffer arena 0 : memref<4294967296x4294967296xi8>
  return
}

// -----

func.func @buffer_type_span() {
  // expected-error @+1 {{'weft_rt.buffer' op result #0 must be memref of integers, floats or indices with static sizes and strides, of less than 2^56 bytes, no two elements of which share one, but got 'memref<2x2xf32, strided<[9223372036854775807, 1]>>'}}
  %0 = weft_rt.buffer arena 0 : memref<2x2xf32, strided<[9223372036854775807, 1]>>
  return
}

// -----

// Nothing lies in a buffer without elements, and dims of size 1 have no steps.
func.func @buffer_type_right() {
  %0 = weft_rt.buffer arena 0 : memref<0x4xf32, strided<[1, 1]>>
  %1 = weft_rt.buffer arena 0 : memref<1x4xf32, strided<[0, 1]>>
  %2 = weft_rt.buffer arena 0 : memref<4x4xf32, strided<[1, 4]>>
  return
}

// -----

func.func @buffer_c1_large() {
  // expected-error @+1 {{'weft_rt.buffer' op has position 9223372036854775744, expected a multiple of 64 below 2^56}}
  %0 = weft_rt.buffer arena 9223372036854775744 : memref<8xf32>
  return
}

// -----

func.func @view_c2_large(%x: memref<8xf32>) {
  // expected-error @+1 {{'weft_rt.view' op covers 8 elements from 9223372036854775807 on of a source of 8}}
  %0 = weft_rt.view %x at 9223372036854775807 : memref<8xf32> to memref<8xf32>
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

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
func.func @start_c3_group(%x: memref<6x16xf32>, %y: memref<12x16xf32>) {
  // expected-error @+1 {{'weft_rt.start' op makes no dense 'memref<12x16xf32>' of input #0 of type 'memref<6x16xf32>' in groups of 4}}
  %t = weft_rt.start "all_gather" {axes = #weft.axes<{"fsdp", "tp"}>, dims = array<i64: 0>, mesh = @mesh} ins(%x : memref<6x16xf32>) outs(%y : memref<12x16xf32>) {channel = @c}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2]>
func.func @start_c3_element(%x: memref<6x16xf32>, %y: memref<12x16xbf16>) {
  // expected-error @+1 {{'weft_rt.start' op makes no dense 'memref<12x16xbf16>' of input #0 of type 'memref<6x16xf32>' in groups of 2}}
  %t = weft_rt.start "all_gather" {axes = #weft.axes<{"fsdp"}>, dims = array<i64: 0>, mesh = @mesh} ins(%x : memref<6x16xf32>) outs(%y : memref<12x16xbf16>) {channel = @c}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2]>
func.func @start_c3_dense(%x: memref<6x16xf32, strided<[32, 1]>>, %y: memref<12x16xf32>) {
  // expected-error @+1 {{'weft_rt.start' op makes no dense 'memref<12x16xf32>' of input #0}}
  %t = weft_rt.start "all_gather" {axes = #weft.axes<{"fsdp"}>, dims = array<i64: 0>, mesh = @mesh} ins(%x : memref<6x16xf32, strided<[32, 1]>>) outs(%y : memref<12x16xf32>) {channel = @c}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2]>
func.func @start_c3_dim(%x: memref<6x16xf32>, %y: memref<12x16xf32>) {
  // expected-error @+1 {{'weft_rt.start' op makes no dense 'memref<12x16xf32>' of input #0}}
  %t = weft_rt.start "all_gather" {axes = #weft.axes<{"fsdp"}>, dims = array<i64: 2>, mesh = @mesh} ins(%x : memref<6x16xf32>) outs(%y : memref<12x16xf32>) {channel = @c}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2]>
func.func @start_c3_uneven(%x: memref<7x16xf32>, %y: memref<3x16xf32>) {
  // expected-error @+1 {{'weft_rt.start' op makes no dense 'memref<3x16xf32>' of input #0}}
  %t = weft_rt.start "reduce_scatter" {axes = #weft.axes<{"fsdp"}>, dims = array<i64: 0>, kind = #weft<reduce_kind sum>, mesh = @mesh} ins(%x : memref<7x16xf32>) outs(%y : memref<3x16xf32>) {channel = @c}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2]>
func.func @start_c3_axis(%x: memref<7x16xf32>) {
  // expected-error @+1 {{'weft_rt.start' op has an axis tp that its mesh has not}}
  %t = weft_rt.start "all_reduce" {axes = #weft.axes<{"tp"}>, kind = #weft<reduce_kind sum>, mesh = @mesh} ins(%x : memref<7x16xf32>) outs(%x : memref<7x16xf32>) {channel = @c}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2]>
func.func @start_c3_sources(%x: memref<7x16xf32>, %y: memref<7x16xf32>) {
  // expected-error @+1 {{'weft_rt.start' op has no source in its group of 2 for each of its members}}
  %t = weft_rt.start "permute" {axes = #weft.axes<{"fsdp"}>, mesh = @mesh, sources = array<i64: 1, 2>} ins(%x : memref<7x16xf32>) outs(%y : memref<7x16xf32>) {channel = @c}
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

func.func @values_c1(%x: memref<8xf32>, %i: index) {
  // expected-error @+1 {{'memref.load' op has value number 9223372036854775807, expected one from 0 on below 2^62}}
  %y = memref.load %x[%i] {weft_rt.values = array<i64: 9223372036854775807>} : memref<8xf32>
  return
}

// -----

// expected-error @+1 {{'func.func' op has value number 9223372036854775807, expected one from 0 on below 2^62}}
func.func @entries_c1() attributes {weft_rt.results = [{value = 9223372036854775807 : i64}]} {
  return
}

// -----

func.func @values_c1(%x: memref<8xf32>, %i: index) {
  // expected-error @+1 {{'memref.load' op has value number 9223372036854775806, expected one from 0 on below 2^62}}
  %y = memref.load %x[%i] {weft_rt.values = array<i64: 9223372036854775806>} : memref<8xf32>
  return
}

// -----

// expected-error @+1 {{'func.func' op has value number 9223372036854775806, expected one from 0 on below 2^62}}
func.func @entries_c1() attributes {weft_rt.results = [{value = 9223372036854775806 : i64}]} {
  return
}

// -----

func.func @values_c1(%x: memref<8xf32>, %i: index) {
  // expected-error @+1 {{'memref.load' op has value number -9223372036854775808, expected one from 0 on below 2^62}}
  %y = memref.load %x[%i] {weft_rt.values = array<i64: -9223372036854775808>} : memref<8xf32>
  return
}

// -----

// expected-error @+1 {{'func.func' op has value number -9223372036854775808, expected one from 0 on below 2^62}}
func.func @entries_c1() attributes {weft_rt.results = [{value = -9223372036854775808 : i64}]} {
  return
}

// -----

func.func @values_c1(%x: memref<8xf32>, %i: index) {
  // expected-error @+1 {{'memref.load' op has value number -1, expected one from 0 on below 2^62}}
  %y = memref.load %x[%i] {weft_rt.values = array<i64: -1>} : memref<8xf32>
  return
}

// -----

// expected-error @+1 {{'func.func' op has value number -1, expected one from 0 on below 2^62}}
func.func @entries_c1() attributes {weft_rt.results = [{value = -1 : i64}]} {
  return
}

// -----

// expected-error @+1 {{'func.func' op has 'alias' = 0 : i128 in 'weft_rt.results', expected an integer}}
func.func @entries_c2() attributes {weft_rt.results = [{alias = 0 : i128}]} {
  return
}
