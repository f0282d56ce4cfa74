// RUN: weft-opt %s --weft-verify-races -split-input-file -verify-diagnostics

weft.mesh @mesh = <["dp"=2]>
weft.channel @reduce.dp on @mesh <{"dp"}> purpose reduce
func.func @no_event_before() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 "a" : memref<8xf32>
  %b = weft_rt.buffer arena 64 "b" : memref<8xf32>
  %c = weft_rt.buffer arena 128 "c" : memref<8xf32>
  // expected-note @+1 {{'copy #0' is here}}
  weft_rt.copy %a to %b {weft.op = "copy #0"} : memref<8xf32> to memref<8xf32>
  // expected-error @+1 {{'copy #1' reads 'b', which 'copy #0' writes on another stream, and no event orders the two}}
  weft_rt.copy %b to %c {weft.op = "copy #1", weft_rt.stream = @reduce.dp} : memref<8xf32> to memref<8xf32>
  weft_rt.record 0 {weft_rt.stream = @reduce.dp}
  weft_rt.await 0
  return
}

// -----

// The event is recorded before the op.
weft.mesh @mesh = <["dp"=2]>
weft.channel @reduce.dp on @mesh <{"dp"}> purpose reduce
func.func @recorded_too_early() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 "a" : memref<8xf32>
  %b = weft_rt.buffer arena 64 "b" : memref<8xf32>
  weft_rt.record 0 {weft_rt.stream = @reduce.dp}
  // expected-note @+1 {{'copy #0' is here}}
  weft_rt.copy %a to %b {weft.op = "copy #0", weft_rt.stream = @reduce.dp} : memref<8xf32> to memref<8xf32>
  weft_rt.await 0
  // expected-error @+1 {{'copy #1' writes 'a', which 'copy #0' reads on another stream, and no event orders the two}}
  weft_rt.copy %b to %a {weft.op = "copy #1"} : memref<8xf32> to memref<8xf32>
  return
}

// -----

// The number is another event's when it is awaited.
weft.mesh @mesh = <["dp"=2]>
weft.channel @reduce.dp on @mesh <{"dp"}> purpose reduce
weft.channel @data.dp on @mesh <{"dp"}> purpose data
func.func @reused_too_early() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 "a" : memref<8xf32>
  %b = weft_rt.buffer arena 64 "b" : memref<8xf32>
  // expected-note @+1 {{'copy #0' is here}}
  weft_rt.copy %a to %b {weft.op = "copy #0", weft_rt.stream = @reduce.dp} : memref<8xf32> to memref<8xf32>
  weft_rt.record 0 {weft_rt.stream = @reduce.dp}
  weft_rt.record 0 {weft_rt.stream = @data.dp}
  weft_rt.await 0
  // expected-error @+1 {{'copy #1' writes 'a', which 'copy #0' reads on another stream, and no event orders the two}}
  weft_rt.copy %b to %a {weft.op = "copy #1"} : memref<8xf32> to memref<8xf32>
  return
}

// -----

func.func @never_recorded() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  // expected-error @+1 {{event 2 is awaited, but not recorded before in this block or one around it}}
  weft_rt.await 2
  weft_rt.record 2
  return
}

// -----

// A branch that may not be taken records nothing for what comes after it.
func.func @recorded_in_a_branch(%c: i1) attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  weft_rt.record 0
  scf.if %c {
    weft_rt.record 0
  }
  // expected-error @+1 {{event 0 is awaited, but not recorded before in this block or one around it}}
  weft_rt.await 0
  return
}

// -----

weft.mesh @mesh = <["dp"=2]>
weft.channel @reduce.dp on @mesh <{"dp"}> purpose reduce
func.func @left_at_the_end() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 "a" : memref<8xf32>
  %b = weft_rt.buffer arena 64 "b" : memref<8xf32>
  // expected-error @+1 {{'copy #0' is on the stream of @reduce.dp, and what computes is not after it where the step ends}}
  weft_rt.copy %a to %b {weft.op = "copy #0", weft_rt.stream = @reduce.dp} : memref<8xf32> to memref<8xf32>
  return
}

// -----

// A wait on the stream of the channel leaves what computes where it was.
weft.mesh @mesh = <["dp"=2]>
weft.channel @reduce.dp on @mesh <{"dp"}> purpose reduce
func.func @waited_for_elsewhere() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %g = weft_rt.buffer arena 0 "g" : memref<16xf32>
  %r = weft_rt.buffer arena 64 "r" : memref<8xf32>
  %m = weft_rt.buffer arena 128 "m" : memref<8xf32>
  // expected-note @+1 {{'reduce_scatter g' is here}}
  %t = weft_rt.start <reduce_scatter, mesh = @mesh, axes = <{"dp"}>, reduce = sum, dims = [0]>
      ins(%g : memref<16xf32>) outs(%r : memref<8xf32>) {channel = @reduce.dp, weft.op = "reduce_scatter g"}
  weft_rt.wait %t {weft_rt.stream = @reduce.dp}
  // expected-error @+1 {{'copy #0' reads 'r', which 'reduce_scatter g' writes on another stream, and no event orders the two}}
  weft_rt.copy %r to %m {weft.op = "copy #0"} : memref<8xf32> to memref<8xf32>
  return
}

// -----

// A collective that is started from its channel's stream is not after what
// computes.
weft.mesh @mesh = <["dp"=2]>
weft.channel @reduce.dp on @mesh <{"dp"}> purpose reduce
func.func @started_elsewhere() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 192 "a" : memref<16xf32>
  %g = weft_rt.buffer arena 0 "g" : memref<16xf32>
  %r = weft_rt.buffer arena 64 "r" : memref<8xf32>
  // expected-note @+1 {{'copy #0' is here}}
  weft_rt.copy %a to %g {weft.op = "copy #0"} : memref<16xf32> to memref<16xf32>
  // expected-error @+1 {{'reduce_scatter g' reads 'g', which 'copy #0' writes on another stream, and no event orders the two}}
  %t = weft_rt.start <reduce_scatter, mesh = @mesh, axes = <{"dp"}>, reduce = sum, dims = [0]>
      ins(%g : memref<16xf32>) outs(%r : memref<8xf32>) {channel = @reduce.dp, weft.op = "reduce_scatter g", weft_rt.stream = @reduce.dp}
  weft_rt.wait %t
  return
}

// -----

// The first pass is right; the next one comes too early.
weft.mesh @mesh = <["dp"=2]>
weft.channel @reduce.dp on @mesh <{"dp"}> purpose reduce
func.func @next_pass() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 "a" : memref<8xf32>
  %b = weft_rt.buffer arena 64 "b" : memref<8xf32>
  %c = weft_rt.buffer arena 128 "c" : memref<8xf32>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  scf.for %i = %zero to %four step %one {
    // expected-error @+1 {{'copy #0' writes 'b', which 'copy #1' reads on another stream, and no event orders the two}}
    weft_rt.copy %a to %b {weft.op = "copy #0", weft_rt.stream = @reduce.dp} : memref<8xf32> to memref<8xf32>
    weft_rt.record 0 {weft_rt.stream = @reduce.dp}
    weft_rt.await 0
    // expected-note @+1 {{'copy #1' is here}}
    weft_rt.copy %b to %c {weft.op = "copy #1"} : memref<8xf32> to memref<8xf32>
  }
  return
}

// -----

weft.mesh @mesh = <["dp"=2]>
weft.channel @reduce.dp on @mesh <{"dp"}> purpose reduce
func.func @left_in_a_loop() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 "a" : memref<8xf32>
  %b = weft_rt.buffer arena 64 "b" : memref<8xf32>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  scf.for %i = %zero to %four step %one {
    // expected-error @+1 {{'copy #0' is on the stream of @reduce.dp, and what computes is not after it where the loop or branch around it ends}}
    weft_rt.copy %a to %b {weft.op = "copy #0", weft_rt.stream = @reduce.dp} : memref<8xf32> to memref<8xf32>
  }
  return
}

// -----

// Of two branches one runs: what the other one has recorded is none of it.
weft.mesh @mesh = <["dp"=2]>
weft.channel @reduce.dp on @mesh <{"dp"}> purpose reduce
func.func @recorded_in_the_other_branch() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %a = weft_rt.buffer arena 0 "a" : memref<8xf32>
  %b = weft_rt.buffer arena 64 "b" : memref<8xf32>
  %c = weft_rt.buffer arena 128 "c" : memref<8xf32>
  %p = weft_rt.buffer arena 192 "p" : memref<i1>
  %cond = weft_rt.read_scalar %p[] : memref<i1>
  weft_rt.copy %a to %b {weft.op = "copy #0"} : memref<8xf32> to memref<8xf32>
  scf.if %cond {
    weft_rt.record 0
  } else {
    // expected-error @+1 {{event 0 is awaited, but not recorded before in this block or one around it}}
    weft_rt.await 0 {weft_rt.stream = @reduce.dp}
    weft_rt.copy %b to %c {weft.op = "copy #1", weft_rt.stream = @reduce.dp} : memref<8xf32> to memref<8xf32>
    weft_rt.record 1 {weft_rt.stream = @reduce.dp}
    weft_rt.await 1
  }
  return
}
