// RUN: weft-opt %s -split-input-file -verify-diagnostics

func.func @record_c1() {
  // expected-error @+1 {{'weft_rt.record' op has event 65536, expected 0 to 65535}}
  weft_rt.record 65536
  return
}

// -----

func.func @await_c1() {
  // expected-error @+1 {{'weft_rt.await' op has event -1, expected 0 to 65535}}
  weft_rt.await -1
  return
}

// -----

func.func @no_channel() {
  // expected-error @+1 {{'weft_rt.record' op has 'weft_rt.stream' = @none, expected the name of a channel}}
  weft_rt.record 0 {weft_rt.stream = @none}
  return
}

// -----

func.func @no_name() {
  // expected-error @+1 {{'weft_rt.record' op has 'weft_rt.stream' = 1 : i64, expected the name of a channel}}
  weft_rt.record 0 {weft_rt.stream = 1}
  return
}

// -----

weft.mesh @mesh = <["dp"=2]>
weft.channel @reduce.dp on @mesh <{"dp"}> purpose reduce
func.func @read(%x: memref<f32>) {
  // expected-error @+1 {{'weft_rt.read_scalar' op has 'weft_rt.stream', which only kernels, copies, starts, waits, records and awaits may have}}
  %0 = weft_rt.read_scalar %x[] {weft_rt.stream = @reduce.dp} : memref<f32>
  return
}

// -----

weft.mesh @mesh = <["dp"=2]>
weft.channel @reduce.dp on @mesh <{"dp"}> purpose reduce
weft.channel @data.dp on @mesh <{"dp"}> purpose data
func.func @start(%x: memref<8xf32>) {
  // expected-error @+1 {{'weft_rt.start' op is on the stream of @data.dp, but its collective is on @reduce.dp}}
  %t = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"dp"}>, reduce = sum>
      ins(%x : memref<8xf32>) outs(%x : memref<8xf32>) {channel = @reduce.dp, weft_rt.stream = @data.dp}
  weft_rt.wait %t
  return
}

// -----

weft.mesh @mesh = <["dp"=2]>
weft.channel @reduce.dp on @mesh <{"dp"}> purpose reduce
weft.channel @data.dp on @mesh <{"dp"}> purpose data
func.func @wait(%x: memref<8xf32>) {
  %t = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"dp"}>, reduce = sum>
      ins(%x : memref<8xf32>) outs(%x : memref<8xf32>) {channel = @reduce.dp}
  // expected-error @+1 {{'weft_rt.wait' op is on the stream of @data.dp, but its collective is on @reduce.dp}}
  weft_rt.wait %t {weft_rt.stream = @data.dp}
  return
}
