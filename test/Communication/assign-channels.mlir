// RUN: weft-opt %s -split-input-file --weft-assign-channels | FileCheck %s
// RUN: weft-opt %s -split-input-file --weft-assign-channels --weft-assign-channels | FileCheck %s
// RUN: weft-opt %s -split-input-file --weft-assign-channels=merge | FileCheck %s --check-prefix=MERGED
// RUN: weft-opt %s -split-input-file --weft-assign-channels --remarks-filter="weft-channels" 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// One step with a weight's gather, its use, its gradient and its update: a
// channel for each chain (channel/chosen-once, channel/keyed), gathers apart from
// reductions on the same axis (channel/ag-rs-split).

#mm = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
#gm = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]

weft.mesh @mesh = <["dp"=2, "fsdp"=2, "tp"=2]>

// CHECK: weft.mesh @mesh
// CHECK-NEXT: weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
// CHECK-NEXT: weft.channel @activation.tp on @mesh <{"tp"}> purpose activation
// CHECK-NEXT: weft.channel @reduce.fsdp on @mesh <{"fsdp"}> purpose reduce
// CHECK-NEXT: weft.channel @data.dp on @mesh <{"dp"}> purpose data
// CHECK-NEXT: weft.channel @data.dp.fsdp on @mesh <{"dp", "fsdp"}> purpose data
// CHECK-NEXT: weft.channel @activation.fsdp on @mesh <{"fsdp"}> purpose activation
// CHECK-NOT: weft.channel
// MERGED: weft.channel @all.fsdp on @mesh <{"fsdp"}> purpose gather
// MERGED-NEXT: weft.channel @all.tp on @mesh <{"tp"}> purpose activation
// MERGED-NEXT: weft.channel @all.dp on @mesh <{"dp"}> purpose data
// MERGED-NEXT: weft.channel @all.dp.fsdp on @mesh <{"dp", "fsdp"}> purpose data
// MERGED-NOT: weft.channel
// REMARK: 'weft.all_gather' runs on @gather.fsdp: it brings weight 'w' to its uses
// REMARK: 'weft.all_reduce' runs on @activation.tp: it moves what is computed from data
// REMARK: 'weft.reduce_scatter' runs on @reduce.fsdp: it sums up the gradient of 'w', which is sharded at rest
// REMARK: 'weft.all_reduce' runs on @data.dp: it sums up the gradient of 'w', which is whole at rest
// REMARK: 'weft.all_reduce' runs on @data.dp.fsdp: it sums up scalars of the ranks
// REMARK: 'weft.all_gather' runs on @activation.fsdp: it moves what is computed from data
// CHECK-LABEL: func @dense
// CHECK: weft.all_gather {{.*}} {channel = @gather.fsdp}
// CHECK: weft.all_reduce sum {{.*}} {channel = @activation.tp}
// CHECK: weft.reduce_scatter sum {{.*}} {channel = @reduce.fsdp}
// CHECK: weft.all_reduce sum {{.*}} {channel = @data.dp}
// CHECK: weft.all_reduce sum {{.*}} {channel = @data.dp.fsdp}
// CHECK: weft.all_gather {{.*}} {channel = @activation.fsdp}
// MERGED-LABEL: func @dense
// MERGED: weft.all_gather {{.*}} {channel = @all.fsdp}
// MERGED: weft.all_reduce sum {{.*}} {channel = @all.tp}
// MERGED: weft.reduce_scatter sum {{.*}} {channel = @all.fsdp}
func.func @dense(%w: tensor<4x8xf32> {weft.name = "w"}, %x: tensor<2x8xf32>)
    -> (tensor<4x8xf32> {weft.name = "w", weft.alias = 0 : index}, tensor<f32>, tensor<4x8xf32>) {
  %b = arith.truncf %w : tensor<4x8xf32> to tensor<4x8xbf16>
  %g = weft.all_gather %b on @mesh <{"fsdp"}> dims [0] : (tensor<4x8xbf16>) -> tensor<8x8xbf16>
  %y = weft.matmul %x, %g {indexing_maps = #mm} : tensor<2x8xf32>, tensor<8x8xbf16> -> tensor<2x8xf32>
  %z = weft.all_reduce sum %y on @mesh <{"tp"}> : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %d = weft.matmul %x, %z {indexing_maps = #gm} : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<8x8xf32>
  %s = weft.reduce_scatter sum %d on @mesh <{"fsdp"}> dims [0] : (tensor<8x8xf32>) -> tensor<4x8xf32>
  %r = weft.all_reduce sum %s on @mesh <{"dp"}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %n = arith.addf %w, %r : tensor<4x8xf32>
  %c = tensor.extract_slice %z[0, 0] [1, 1] [1, 1] : tensor<2x8xf32> to tensor<f32>
  %l = weft.all_reduce sum %c on @mesh <{"dp", "fsdp"}> : (tensor<f32>) -> tensor<f32>
  %o = weft.all_gather %z on @mesh <{"fsdp"}> dims [0] : (tensor<2x8xf32>) -> tensor<4x8xf32>
  return %n, %l, %o : tensor<4x8xf32>, tensor<f32>, tensor<4x8xf32>
}

// -----

// Weights that contractions take with a batch dim, and their gradients, have
// channels apart from dense ones on the same axis (channel/expert-too).

#mm = [affine_map<(e, m, n, k) -> (e, m, k)>, affine_map<(e, m, n, k) -> (e, k, n)>, affine_map<(e, m, n, k) -> (e, m, n)>]
#gm = [affine_map<(e, m, n, k) -> (e, k, m)>, affine_map<(e, m, n, k) -> (e, k, n)>, affine_map<(e, m, n, k) -> (e, m, n)>]

weft.mesh @mesh = <["dp"=2, "ep"=2, "fsdp"=2]>

// CHECK-LABEL: func @experts
// CHECK: weft.all_gather %arg0 {{.*}} {channel = @expert_gather.fsdp}
// CHECK: weft.all_gather %arg1 {{.*}} {channel = @gather.fsdp}
// CHECK: weft.all_to_all {{.*}} {channel = @activation.ep}
// CHECK: weft.reduce_scatter {{.*}} {channel = @expert_reduce.fsdp}
// CHECK: weft.all_reduce {{.*}} {channel = @expert_reduce.dp}
// CHECK: weft.reduce_scatter {{.*}} {channel = @reduce.fsdp}
// REMARK: brings weight 'arg0' to contractions per expert
// REMARK: sums up the gradient per expert of 'result0'
func.func @experts(%w: tensor<2x4x8xf32>, %v: tensor<4x8xf32>, %x: tensor<4x2x8xf32>)
    -> (tensor<2x4x8xf32> {weft.alias = 0 : index}, tensor<4x8xf32> {weft.alias = 1 : index}) {
  %g = weft.all_gather %w on @mesh <{"fsdp"}> dims [1] : (tensor<2x4x8xf32>) -> tensor<2x8x8xf32>
  %h = weft.all_gather %v on @mesh <{"fsdp"}> dims [0] : (tensor<4x8xf32>) -> tensor<8x8xf32>
  %t = weft.all_to_all %x on @mesh <{"ep"}> split [0] concat [1] : (tensor<4x2x8xf32>) -> tensor<2x4x8xf32>
  %y = weft.matmul %t, %g {indexing_maps = #mm} : tensor<2x4x8xf32>, tensor<2x8x8xf32> -> tensor<2x4x8xf32>
  %p = weft.matmul %y, %h {indexing_maps = [affine_map<(e, m, n, k) -> (e, m, k)>, affine_map<(e, m, n, k) -> (k, n)>, affine_map<(e, m, n, k) -> (e, m, n)>]} : tensor<2x4x8xf32>, tensor<8x8xf32> -> tensor<2x4x8xf32>
  %d = weft.matmul %t, %p {indexing_maps = #gm} : tensor<2x4x8xf32>, tensor<2x4x8xf32> -> tensor<2x8x8xf32>
  %s = weft.reduce_scatter sum %d on @mesh <{"fsdp"}> dims [1] : (tensor<2x8x8xf32>) -> tensor<2x4x8xf32>
  %r = weft.all_reduce sum %s on @mesh <{"dp"}> : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %c = weft.matmul %t, %p {indexing_maps = [affine_map<(m, n, e, k) -> (e, k, m)>, affine_map<(m, n, e, k) -> (e, k, n)>, affine_map<(m, n, e, k) -> (m, n)>]} : tensor<2x4x8xf32>, tensor<2x4x8xf32> -> tensor<8x8xf32>
  %q = weft.reduce_scatter sum %c on @mesh <{"fsdp"}> dims [0] : (tensor<8x8xf32>) -> tensor<4x8xf32>
  return %r, %q : tensor<2x4x8xf32>, tensor<4x8xf32>
}

// -----

// The gathers of all experts' weights, and the reductions of their gradients,
// are one grouped collective each, on one channel (gather/grouped).

#mm = [affine_map<(e, m, n, k) -> (e, m, k)>, affine_map<(e, m, n, k) -> (e, k, n)>, affine_map<(e, m, n, k) -> (e, m, n)>]
#gm = [affine_map<(e, m, n, k) -> (e, k, m)>, affine_map<(e, m, n, k) -> (e, k, n)>, affine_map<(e, m, n, k) -> (e, m, n)>]

weft.mesh @mesh = <["fsdp"=2]>

// CHECK: weft.channel @expert_gather.fsdp
// CHECK-NEXT: weft.channel @expert_reduce.fsdp
// CHECK-LABEL: func @grouped_experts
// CHECK: weft.all_gather %arg0, %arg1 {{.*}} {channel = @expert_gather.fsdp}
// CHECK-NOT: weft.all_gather
// CHECK: weft.reduce_scatter sum {{.*}}, {{.*}} {channel = @expert_reduce.fsdp}
func.func @grouped_experts(%v: tensor<2x4x8xf32>, %w: tensor<2x4x8xf32>, %x: tensor<2x4x8xf32>)
    -> (tensor<2x4x8xf32> {weft.alias = 0 : index}, tensor<2x4x8xf32> {weft.alias = 1 : index}) {
  %g:2 = weft.all_gather %v, %w on @mesh <{"fsdp"}> dims [1, 1] : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> (tensor<2x8x8xf32>, tensor<2x8x8xf32>)
  %y = weft.matmul %x, %g#0 {indexing_maps = #mm} : tensor<2x4x8xf32>, tensor<2x8x8xf32> -> tensor<2x4x8xf32>
  %z = weft.matmul %y, %g#1 {indexing_maps = #mm} : tensor<2x4x8xf32>, tensor<2x8x8xf32> -> tensor<2x4x8xf32>
  %d = weft.matmul %x, %z {indexing_maps = #gm} : tensor<2x4x8xf32>, tensor<2x4x8xf32> -> tensor<2x8x8xf32>
  %c = weft.matmul %y, %z {indexing_maps = #gm} : tensor<2x4x8xf32>, tensor<2x4x8xf32> -> tensor<2x8x8xf32>
  %s:2 = weft.reduce_scatter sum %d, %c on @mesh <{"fsdp"}> dims [1, 1] : (tensor<2x8x8xf32>, tensor<2x8x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>)
  return %s#0, %s#1 : tensor<2x4x8xf32>, tensor<2x4x8xf32>
}

// -----

// The largest absolute value goes apart from the maximum of a softmax, which is
// on the way of activations. Of what is quantized, the gather is a weight's.

#mm = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

weft.mesh @mesh = <["tp"=2]>

// CHECK-LABEL: func @amax
// CHECK: weft.all_reduce max {{.*}} {channel = @amax.tp}
// CHECK: weft.all_gather {{.*}} {channel = @gather.tp}
// CHECK: weft.all_reduce max {{.*}} {channel = @activation.tp}
// CHECK: weft.all_reduce max {{.*}} {channel = @amax.tp}
// REMARK: 'weft.all_reduce' runs on @amax.tp: it finds the largest absolute value
func.func @amax(%w: tensor<4x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}], storage = {"tp"}>, weft.global_type = tensor<8x8xf32>},
                %x: tensor<4x8xf32>, %s: tensor<f32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<f32>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %a = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%w : tensor<4x8xf32>) outs(%zero : tensor<4xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %0 = math.absf %in : f32
    %1 = arith.maximumf %0, %acc : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %m = weft.all_reduce max %a on @mesh <{"tp"}> : (tensor<4xf32>) -> tensor<4xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %q = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%w, %m : tensor<4x8xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%in: f32, %scale: f32, %out: f32):
    %0 = arith.divf %in, %scale : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  %g = weft.all_gather %q on @mesh <{"tp"}> dims [0] : (tensor<4x8xf32>) -> tensor<8x8xf32>
  %y = weft.matmul %x, %g {indexing_maps = #mm} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%y : tensor<4x8xf32>) outs(%zero : tensor<4xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %1 = arith.maximumf %in, %acc : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %n = weft.all_reduce max %r on @mesh <{"tp"}> : (tensor<4xf32>) -> tensor<4xf32>
  %t = weft.all_reduce max %s on @mesh <{"tp"}> : (tensor<f32>) -> tensor<f32>
  return %y, %n, %t : tensor<4x8xf32>, tensor<4xf32>, tensor<f32>
}

// -----

// Channels that are there are kept, and used for what has the same key. A name
// that is taken is not used again.

weft.mesh @mesh = <["tp"=2]>
weft.channel @mine on @mesh <{"tp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose reduce

// CHECK: weft.channel @mine on @mesh <{"tp"}> purpose gather
// CHECK-NEXT: weft.channel @data.tp on @mesh <{"tp"}> purpose reduce
// CHECK-NEXT: weft.channel @data.tp_2 on @mesh <{"tp"}> purpose data
// CHECK-NOT: weft.channel
// CHECK-LABEL: func @kept
// CHECK: weft.all_gather {{.*}} {channel = @data.tp}
// CHECK: weft.all_gather {{.*}} {channel = @mine}
// CHECK: weft.all_reduce {{.*}} {channel = @data.tp_2}
func.func @kept(%w: tensor<4xf32>, %s: tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<f32>) {
  %0 = weft.all_gather %w on @mesh <{"tp"}> dims [0] {channel = @data.tp} : (tensor<4xf32>) -> tensor<8xf32>
  %1 = weft.all_gather %w on @mesh <{"tp"}> dims [0] : (tensor<4xf32>) -> tensor<8xf32>
  %2 = weft.all_reduce sum %s on @mesh <{"tp"}> : (tensor<f32>) -> tensor<f32>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<f32>
}

// -----

// A part of an axis, and several axes, are communicators of their own.

weft.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK: weft.channel @"gather.tp:(1)2" on @mesh <{"tp":(1)2}> purpose gather
// CHECK-NEXT: weft.channel @"gather.dp.tp:(1)2" on @mesh <{"dp", "tp":(1)2}> purpose gather
// CHECK-NEXT: weft.channel @gather.dp.tp on @mesh <{"dp", "tp"}> purpose gather
// CHECK-LABEL: func @axes
func.func @axes(%w: tensor<4xf32>) -> (tensor<8xf32>, tensor<16xf32>, tensor<32xf32>) {
  %0 = weft.all_gather %w on @mesh <{"tp":(1)2}> dims [0] : (tensor<4xf32>) -> tensor<8xf32>
  %1 = weft.all_gather %w on @mesh <{"dp", "tp":(1)2}> dims [0] : (tensor<4xf32>) -> tensor<16xf32>
  %2 = weft.all_gather %w on @mesh <{"dp", "tp"}> dims [0] : (tensor<4xf32>) -> tensor<32xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<16xf32>, tensor<32xf32>
}

// -----

// In loops, what is carried around is followed: the stacked weight's slice is a
// weight, the reduction in the forward loop is an activation's, the one in the
// backward loop goes into the state.

#mm = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]

weft.mesh @mesh = <["fsdp"=2]>

// CHECK-LABEL: func @loops
// CHECK: weft.all_gather {{.*}} {channel = @gather.fsdp}
// CHECK: weft.all_reduce {{.*}} {channel = @activation.fsdp}
// CHECK: weft.reduce_scatter {{.*}} {channel = @reduce.fsdp}
func.func @loops(%w: tensor<3x2x4xf32>, %x: tensor<4x4xf32>) -> (tensor<3x2x4xf32> {weft.alias = 0 : index}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (tensor<4x4xf32>) {
    %s = tensor.extract_slice %w[%i, 0, 0] [1, 2, 4] [1, 1, 1] : tensor<3x2x4xf32> to tensor<2x4xf32>
    %g = weft.all_gather %s on @mesh <{"fsdp"}> dims [0] : (tensor<2x4xf32>) -> tensor<4x4xf32>
    %m = weft.matmul %a, %g {indexing_maps = #mm} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %r = weft.all_reduce sum %m on @mesh <{"fsdp"}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    scf.yield %r : tensor<4x4xf32>
  }
  %u = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %w) -> (tensor<3x2x4xf32>) {
    %m = weft.matmul %y, %y {indexing_maps = #mm} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %r = weft.reduce_scatter sum %m on @mesh <{"fsdp"}> dims [0] : (tensor<4x4xf32>) -> tensor<2x4xf32>
    %s = tensor.insert_slice %r into %a[%i, 0, 0] [1, 2, 4] [1, 1, 1] : tensor<2x4xf32> into tensor<3x2x4xf32>
    scf.yield %s : tensor<3x2x4xf32>
  }
  return %u : tensor<3x2x4xf32>
}

// -----

// Without collectives there are no channels.

weft.mesh @mesh = <["tp"=2]>

// CHECK-NOT: weft.channel
// CHECK-LABEL: func @none
func.func @none(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.negf %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
