// RUN: weft-opt %s --weft-verify-races -split-input-file

// Covers gather/wgrad-rs, gather/grad-ready, gather/order-after-writer.

weft.mesh @mesh = <["dp"=2]>
weft.channel @reduce.dp on @mesh <{"dp"}> purpose reduce
weft.channel @data.dp on @mesh <{"dp"}> purpose data

// Two events: the stream of the channel is after a kernel, and what computes
// after a copy.
func.func @two_events() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 "a" : memref<8xf32>
  %b = weft_rt.buffer arena 64 "b" : memref<8xf32>
  %c = weft_rt.buffer arena 128 "c" : memref<8xf32>
  weft_rt.copy %a to %b : memref<8xf32> to memref<8xf32>
  weft_rt.record 0
  weft_rt.await 0 {weft_rt.stream = @reduce.dp}
  weft_rt.copy %b to %c {weft_rt.stream = @reduce.dp} : memref<8xf32> to memref<8xf32>
  weft_rt.record 0 {weft_rt.stream = @reduce.dp}
  weft_rt.await 0
  weft_rt.copy %c to %b : memref<8xf32> to memref<8xf32>
  return
}

// A collective's start and its wait are an order, on the stream of its channel
// too.
func.func @behind_a_collective() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %g = weft_rt.buffer arena 0 "g" : memref<16xf32>
  %r = weft_rt.buffer arena 64 "r" : memref<8xf32>
  %m = weft_rt.buffer arena 128 "m" : memref<8xf32>
  %o = weft_rt.buffer arena 192 "o" : memref<8xf32>
  weft_rt.copy %m to %o : memref<8xf32> to memref<8xf32>
  %t = weft_rt.start <reduce_scatter, mesh = @mesh, axes = <{"dp"}>, reduce = sum, dims = [0]>
      ins(%g : memref<16xf32>) outs(%r : memref<8xf32>) {channel = @reduce.dp}
  weft_rt.wait %t {weft_rt.stream = @reduce.dp}
  weft_rt.copy %r to %m {weft_rt.stream = @reduce.dp} : memref<8xf32> to memref<8xf32>
  weft_rt.record 3 {weft_rt.stream = @reduce.dp}
  // Another channel goes on with it; what computes need not wait for that.
  weft_rt.await 3 {weft_rt.stream = @data.dp}
  %u = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"dp"}>, reduce = sum>
      ins(%m : memref<8xf32>) outs(%m : memref<8xf32>) {channel = @data.dp}
  weft_rt.wait %u
  weft_rt.copy %m to %o : memref<8xf32> to memref<8xf32>
  return
}

// Each pass of a loop comes after what the one before has left on the channel's
// stream.
func.func @loop() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 "a" : memref<8xf32>
  %b = weft_rt.buffer arena 64 "b" : memref<8xf32>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  scf.for %i = %zero to %four step %one {
    weft_rt.copy %b to %a : memref<8xf32> to memref<8xf32>
    weft_rt.record 0
    weft_rt.await 0 {weft_rt.stream = @reduce.dp}
    weft_rt.copy %a to %b {weft_rt.stream = @reduce.dp} : memref<8xf32> to memref<8xf32>
    weft_rt.record 0 {weft_rt.stream = @reduce.dp}
    weft_rt.await 0
  }
  weft_rt.copy %b to %a : memref<8xf32> to memref<8xf32>
  return
}

// Of two branches one runs: what both write on different streams is written
// once.
func.func @exclusive(%cond: i1) attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 "a" : memref<8xf32>
  %b = weft_rt.buffer arena 64 "b" : memref<8xf32>
  weft_rt.record 0
  scf.if %cond {
    weft_rt.copy %a to %b : memref<8xf32> to memref<8xf32>
  } else {
    weft_rt.await 0 {weft_rt.stream = @reduce.dp}
    weft_rt.copy %a to %b {weft_rt.stream = @reduce.dp} : memref<8xf32> to memref<8xf32>
    weft_rt.record 1 {weft_rt.stream = @reduce.dp}
    weft_rt.await 1
  }
  weft_rt.copy %b to %a : memref<8xf32> to memref<8xf32>
  return
}
