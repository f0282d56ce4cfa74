// RUN: weft-opt %s --weft-assign-streams --split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-assign-streams --split-input-file | weft-opt --weft-verify-races --split-input-file -o /dev/null

// Covers gather/wgrad-rs, gather/grad-ready.

// What computes goes on with its own; the sum over another channel comes after
// the addition, on its own stream; the copy of the gradient, which is in the way
// of nothing, comes after that at the end.

#id = affine_map<(i) -> (i)>
module attributes {weft.target = #weft.target<"cuda">} {
weft.mesh @mesh = <["dp"=2]>
weft.channel @reduce.dp on @mesh <{"dp"}> purpose reduce
weft.channel @data.dp on @mesh <{"dp"}> purpose data
// CHECK-LABEL: @add_to_main_grad
func.func @add_to_main_grad() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %g = weft_rt.buffer argument 0 : memref<16xf32>
  %m = weft_rt.buffer argument 1 : memref<8xf32>
  %r = weft_rt.buffer arena 0 : memref<8xf32>
  %x = weft_rt.buffer arena 64 : memref<8xf32>
  %y = weft_rt.buffer arena 128 : memref<8xf32>
  %t = weft_rt.start <reduce_scatter, mesh = @mesh, axes = <{"dp"}>, reduce = sum, dims = [0]>
      ins(%g : memref<16xf32>) outs(%r : memref<8xf32>) {channel = @reduce.dp}
  // CHECK: weft_rt.wait %{{.*}} {weft_rt.stream = @reduce.dp}
  weft_rt.wait %t
  // CHECK: weft_rt.fused
  weft_rt.fused ins(%m, %r : memref<8xf32>, memref<8xf32>) outs(%m : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
        ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%p: f32, %q: f32, %z: f32):
      %v = arith.addf %p, %q : f32
      linalg.yield %v : f32
    } -> tensor<8xf32>
    weft_rt.yield %s : tensor<8xf32>
  }
  // CHECK: weft_rt.stream = @reduce.dp
  // CHECK-NEXT: weft_rt.record 0 {weft_rt.stream = @reduce.dp}
  // CHECK-NEXT: weft_rt.copy
  weft_rt.copy %x to %y : memref<8xf32> to memref<8xf32>
  // CHECK-NEXT: weft_rt.await 0 {weft_rt.stream = @data.dp}
  // CHECK-NEXT: weft_rt.start
  %u = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"dp"}>, reduce = sum>
      ins(%m : memref<8xf32>) outs(%m : memref<8xf32>) {channel = @data.dp}
  // CHECK-NEXT: weft_rt.wait %{{.*}}{{$}}
  weft_rt.wait %u
  // CHECK-NEXT: weft_rt.copy
  // CHECK-NEXT: return
  weft_rt.copy %m to %y : memref<8xf32> to memref<8xf32>
  return
}
}

// -----

// Each addition comes before the channel's next collective, and its number is
// given to another event when it has been awaited.

#id = affine_map<(i) -> (i)>
module attributes {weft.target = #weft.target<"cuda">} {
weft.mesh @mesh = <["dp"=2]>
weft.channel @reduce.dp on @mesh <{"dp"}> purpose reduce
// CHECK-LABEL: @two_layers
func.func @two_layers() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %g = weft_rt.buffer argument 0 : memref<16xf32>
  %m = weft_rt.buffer argument 1 : memref<8xf32>
  %n = weft_rt.buffer argument 2 : memref<8xf32>
  %r = weft_rt.buffer arena 0 : memref<8xf32>
  %q = weft_rt.buffer arena 64 : memref<8xf32>
  %o = weft_rt.buffer result 0 : memref<8xf32>
  // CHECK: %[[T:.*]] = weft_rt.start
  %t = weft_rt.start <reduce_scatter, mesh = @mesh, axes = <{"dp"}>, reduce = sum, dims = [0]>
      ins(%g : memref<16xf32>) outs(%r : memref<8xf32>) {channel = @reduce.dp}
  // CHECK: weft_rt.wait %[[T]] {weft_rt.stream = @reduce.dp}
  // CHECK: weft_rt.fused ins(%[[M:.*]], %
  // CHECK: weft_rt.record 0 {weft_rt.stream = @reduce.dp}
  // CHECK: %[[U:.*]] = weft_rt.start
  %u = weft_rt.start <reduce_scatter, mesh = @mesh, axes = <{"dp"}>, reduce = sum, dims = [0]>
      ins(%g : memref<16xf32>) outs(%q : memref<8xf32>) {channel = @reduce.dp}
  weft_rt.wait %t
  weft_rt.fused ins(%m, %r : memref<8xf32>, memref<8xf32>) outs(%m : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
        ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %v = arith.addf %x, %y : f32
      linalg.yield %v : f32
    } -> tensor<8xf32>
    weft_rt.yield %s : tensor<8xf32>
  }
  // CHECK: weft_rt.await 0{{$}}
  // CHECK-NEXT: weft_rt.copy %[[M]]
  weft_rt.copy %m to %o : memref<8xf32> to memref<8xf32>
  // CHECK: weft_rt.wait %[[U]] {weft_rt.stream = @reduce.dp}
  weft_rt.wait %u
  // CHECK: weft_rt.fused
  weft_rt.fused ins(%n, %q : memref<8xf32>, memref<8xf32>) outs(%n : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
        ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %v = arith.addf %x, %y : f32
      linalg.yield %v : f32
    } -> tensor<8xf32>
    weft_rt.yield %s : tensor<8xf32>
  }
  // CHECK: weft_rt.record 0 {weft_rt.stream = @reduce.dp}
  // CHECK-NEXT: weft_rt.await 0{{$}}
  // CHECK-NEXT: return
  return
}
}

// -----

// The host's thread would have to wait before the next collective: the first
// addition stays where it is. So does a kernel that does anything else.

#id = affine_map<(i) -> (i)>
module attributes {weft.target = #weft.target<"host">} {
weft.mesh @mesh = <["dp"=2]>
weft.channel @reduce.dp on @mesh <{"dp"}> purpose reduce
// CHECK-LABEL: @on_the_host
// CHECK-NOT: weft_rt.stream
// CHECK: return
func.func @on_the_host() attributes {weft_rt.arena_bytes = 1024 : i64, weft_rt.args = [], weft_rt.results = []} {
  %g = weft_rt.buffer argument 0 : memref<16xf32>
  %m = weft_rt.buffer argument 1 : memref<8xf32>
  %r = weft_rt.buffer arena 0 : memref<8xf32>
  %q = weft_rt.buffer arena 64 : memref<8xf32>
  %o = weft_rt.buffer result 0 : memref<8xf32>
  %t = weft_rt.start <reduce_scatter, mesh = @mesh, axes = <{"dp"}>, reduce = sum, dims = [0]>
      ins(%g : memref<16xf32>) outs(%r : memref<8xf32>) {channel = @reduce.dp}
  %u = weft_rt.start <reduce_scatter, mesh = @mesh, axes = <{"dp"}>, reduce = sum, dims = [0]>
      ins(%g : memref<16xf32>) outs(%q : memref<8xf32>) {channel = @reduce.dp}
  weft_rt.wait %t
  weft_rt.fused ins(%m, %r : memref<8xf32>, memref<8xf32>) outs(%m : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
        ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %v = arith.addf %x, %y : f32
      linalg.yield %v : f32
    } -> tensor<8xf32>
    weft_rt.yield %s : tensor<8xf32>
  }
  weft_rt.wait %u
  weft_rt.fused ins(%q : memref<8xf32>) outs(%o : memref<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%x: f32, %z: f32):
      %v = arith.negf %x : f32
      linalg.yield %v : f32
    } -> tensor<8xf32>
    weft_rt.yield %s : tensor<8xf32>
  }
  return
}
}
