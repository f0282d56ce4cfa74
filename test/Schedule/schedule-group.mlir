// RUN: weft-opt %s --weft-schedule="machine=h100x8" | FileCheck %s
// RUN: weft-opt %s --weft-schedule="machine=h100x8 policy=sync" | FileCheck %s --check-prefix=SYNC

// Requirement: gather/grouped. Small reductions of one channel are one.

#id = affine_map<(m) -> (m)>

weft.mesh @mesh = <["dp"=2]>
weft.channel @data.dp on @mesh <{"dp"}> purpose data

// CHECK-LABEL: func @small
// CHECK: %[[F:.*]]:3 = weft.all_reduce sum %arg0, %arg1, %arg2 on @mesh <{"dp"}> {channel = @data.dp, weft.op = "all_reduce a +2"}
// CHECK-NEXT: %[[W:.*]]:3 = weft.wait %[[F]]#0, %[[F]]#1, %[[F]]#2
// CHECK: weft_rt.fused ins(%[[W]]#0
// CHECK: return
// SYNC-LABEL: func @small
// SYNC-COUNT-3: weft.all_reduce
func.func @small(%a: tensor<8xf32>, %b: tensor<4xf32>, %c: tensor<8xf32>) -> (tensor<8xf32>, tensor<4xf32>, tensor<8xf32>) {
  %0 = weft.all_reduce sum %a on @mesh <{"dp"}> {channel = @data.dp, weft.op = "all_reduce a"} : (tensor<8xf32>) -> tensor<8xf32>
  // The update of a parameter can come later.
  %1 = weft_rt.fused ins(%0 : tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%x: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %o: f32):
      %t = arith.addf %v, %v : f32
      linalg.yield %t : f32
    } -> tensor<8xf32>
    weft_rt.yield %s : tensor<8xf32>
  } {weft.op = "kernel #0"}
  %2 = weft.all_reduce sum %b on @mesh <{"dp"}> {channel = @data.dp, weft.op = "all_reduce b"} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = weft.all_reduce sum %c on @mesh <{"dp"}> {channel = @data.dp, weft.op = "all_reduce c"} : (tensor<8xf32>) -> tensor<8xf32>
  return %1, %2, %3 : tensor<8xf32>, tensor<4xf32>, tensor<8xf32>
}

// What somebody needs in between, and what is large, stays alone.
// CHECK-LABEL: func @alone
// CHECK-COUNT-3: weft.all_reduce
func.func @alone(%a: tensor<8xf32>, %b: tensor<1048576xf32>) -> (tensor<8xf32>, tensor<1048576xf32>) {
  %0 = weft.all_reduce sum %a on @mesh <{"dp"}> {channel = @data.dp, weft.op = "all_reduce a"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = weft.all_reduce sum %0 on @mesh <{"dp"}> {channel = @data.dp, weft.op = "all_reduce b"} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = weft.all_reduce sum %b on @mesh <{"dp"}> {channel = @data.dp, weft.op = "all_reduce c"} : (tensor<1048576xf32>) -> tensor<1048576xf32>
  return %1, %2 : tensor<8xf32>, tensor<1048576xf32>
}

// Those whose contributions join in a declared order keep it; an integer sum of
// the same channel, which has none, stays apart.
// CHECK-LABEL: func @ordered
// CHECK: weft.all_reduce sum %arg0, %arg1 on @mesh <{"dp"}> {channel = @data.dp, weft.op = "all_reduce p +1", weft.order = #weft.order<leaves = 2>}
// CHECK: weft.all_reduce sum %arg2 on @mesh <{"dp"}> {channel = @data.dp, weft.op = "all_reduce r"}
func.func @ordered(%p: tensor<8xf32>, %q: tensor<4xf32>, %r: tensor<8xi32>) -> (tensor<8xf32>, tensor<4xf32>, tensor<8xi32>) {
  %0 = weft.all_reduce sum %p on @mesh <{"dp"}> {channel = @data.dp, weft.op = "all_reduce p", weft.order = #weft.order<leaves = 2>} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = weft.all_reduce sum %q on @mesh <{"dp"}> {channel = @data.dp, weft.op = "all_reduce q", weft.order = #weft.order<leaves = 2>} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = weft.all_reduce sum %r on @mesh <{"dp"}> {channel = @data.dp, weft.op = "all_reduce r"} : (tensor<8xi32>) -> tensor<8xi32>
  return %0, %1, %2 : tensor<8xf32>, tensor<4xf32>, tensor<8xi32>
}
