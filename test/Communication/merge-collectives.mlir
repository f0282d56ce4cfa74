// RUN: weft-opt %s -split-input-file -weft-merge-collectives | FileCheck %s
// RUN: weft-opt %s -split-input-file -cse -canonicalize | FileCheck %s --check-prefix=CSE

// CHECK-LABEL: func.func @scatter_reduction
// CHECK-NOT: weft.all_reduce
// CHECK: %[[S:.*]] = weft.reduce_scatter sum %{{.*}} on @mesh <{"tp"}> dims [0] : (tensor<8x4xf32>) -> tensor<2x4xf32>
// CHECK: return %[[S]]
weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @scatter_reduction(%x: tensor<8x4xf32>) -> tensor<2x4xf32> {
  %c2 = arith.constant 2 : index
  %0 = weft.all_reduce sum %x on @mesh <{"tp"}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %i = weft.axis_index @mesh <{"tp"}>
  %o = arith.muli %i, %c2 : index
  %1 = tensor.extract_slice %0[%o, 0] [2, 4] [1, 1] : tensor<8x4xf32> to tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

// Another part, or another use: the all_reduce stays.

// CHECK-LABEL: func.func @other_part
// CHECK-COUNT-2: weft.all_reduce
// CHECK-NOT: weft.reduce_scatter
weft.mesh @mesh = <["dp"=4, "tp"=4]>
func.func @other_part(%x: tensor<8xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<8xf32>) {
  %c2 = arith.constant 2 : index
  %0 = weft.all_reduce sum %x on @mesh <{"tp"}> : (tensor<8xf32>) -> tensor<8xf32>
  %i = weft.axis_index @mesh <{"dp"}>
  %o = arith.muli %i, %c2 : index
  %1 = tensor.extract_slice %0[%o] [2] [1] : tensor<8xf32> to tensor<2xf32>
  %2 = weft.all_reduce max %x on @mesh <{"dp"}> : (tensor<8xf32>) -> tensor<8xf32>
  %3 = tensor.extract_slice %2[%o] [2] [1] : tensor<8xf32> to tensor<2xf32>
  return %1, %3, %2 : tensor<2xf32>, tensor<2xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @scatter_first
// CHECK: %[[S:.*]] = weft.reduce_scatter sum %{{.*}} on @mesh <{"tp"}> dims [0]
// CHECK: weft.all_reduce sum %[[S]] on @mesh <{"dp"}> : (tensor<2x4xf32>)
weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @scatter_first(%x: tensor<8x4xf32>) -> tensor<2x4xf32> {
  %0 = weft.all_reduce sum %x on @mesh <{"dp"}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = weft.reduce_scatter sum %0 on @mesh <{"tp"}> dims [0] : (tensor<8x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

// A sum of maxima is not the maximum of sums.

// CHECK-LABEL: func.func @other_kind
// CHECK: weft.all_reduce max
// CHECK: weft.reduce_scatter sum
weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @other_kind(%x: tensor<8x4xf32>) -> tensor<2x4xf32> {
  %0 = weft.all_reduce max %x on @mesh <{"dp"}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = weft.reduce_scatter sum %0 on @mesh <{"tp"}> dims [0] : (tensor<8x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

// What has no use goes, and what only that used.

// CHECK-LABEL: func.func @unused
// CHECK-NEXT: return
weft.mesh @mesh = <["tp"=4]>
func.func @unused(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = weft.all_gather %x on @mesh <{"tp"}> dims [0] : (tensor<8xf32>) -> tensor<32xf32>
  %1 = tensor.extract_slice %0[0] [8] [1] : tensor<32xf32> to tensor<8xf32>
  %2 = weft.all_reduce sum %1 on @mesh <{"tp"}> : (tensor<8xf32>) -> tensor<8xf32>
  return %x : tensor<8xf32>
}

// -----

// Independent small reductions become one, before the first use; one that
// needs the result of another does not join it, and one of another kind
// neither.

// CHECK-LABEL: func.func @group
// CHECK-SAME: %[[A:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<f32>
// CHECK: %[[M:.*]] = weft.all_reduce max %[[A]] on
// CHECK: %[[G:.*]]:2 = weft.all_reduce sum %[[A]], %[[B]] on @mesh <{"tp"}> : (tensor<8xf32>, tensor<f32>) -> (tensor<8xf32>, tensor<f32>)
// CHECK: %[[D:.*]] = weft.all_reduce sum %[[G]]#0 on
// CHECK: return %[[G]]#1, %[[D]], %[[M]]
weft.mesh @mesh = <["tp"=4]>
func.func @group(%a: tensor<8xf32>, %b: tensor<f32>) -> (tensor<f32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = weft.all_reduce sum %a on @mesh <{"tp"}> : (tensor<8xf32>) -> tensor<8xf32>
  %1 = weft.all_reduce max %a on @mesh <{"tp"}> : (tensor<8xf32>) -> tensor<8xf32>
  %2 = weft.all_reduce sum %b on @mesh <{"tp"}> : (tensor<f32>) -> tensor<f32>
  %3 = weft.all_reduce sum %0 on @mesh <{"tp"}> : (tensor<8xf32>) -> tensor<8xf32>
  return %2, %3, %1 : tensor<f32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// What several ask for is moved once.

// CHECK-LABEL: func.func @group_twice
// CHECK-SAME: %[[A:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<f32>
// CHECK: %[[G:.*]]:2 = weft.all_reduce sum %[[A]], %[[B]] on @mesh
// CHECK: return %[[G]]#0, %[[G]]#1, %[[G]]#0
weft.mesh @mesh = <["tp"=4]>
func.func @group_twice(%a: tensor<8xf32>, %b: tensor<f32>) -> (tensor<8xf32>, tensor<f32>, tensor<8xf32>) {
  %0 = weft.all_reduce sum %a on @mesh <{"tp"}> : (tensor<8xf32>) -> tensor<8xf32>
  %1 = weft.all_reduce sum %b on @mesh <{"tp"}> : (tensor<f32>) -> tensor<f32>
  %2 = weft.all_reduce sum %a on @mesh <{"tp"}> : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<f32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @group_scatters
// CHECK: weft.reduce_scatter sum %{{.*}}, %{{.*}} on @mesh <{"tp"}> dims [0, 1] : (tensor<8xf32>, tensor<2x8xf32>) -> (tensor<2xf32>, tensor<2x2xf32>)
weft.mesh @mesh = <["tp"=4]>
func.func @group_scatters(%a: tensor<8xf32>, %b: tensor<2x8xf32>) -> (tensor<2xf32>, tensor<2x2xf32>) {
  %0 = weft.reduce_scatter sum %a on @mesh <{"tp"}> dims [0] : (tensor<8xf32>) -> tensor<2xf32>
  %1 = weft.reduce_scatter sum %b on @mesh <{"tp"}> dims [1] : (tensor<2x8xf32>) -> tensor<2x2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2x2xf32>
}

// -----

// Large operands are not held back for others.

// CHECK-LABEL: func.func @large
// CHECK-COUNT-2: weft.all_reduce
weft.mesh @mesh = <["tp"=4]>
func.func @large(%a: tensor<32768xf32>, %b: tensor<f32>) -> (tensor<32768xf32>, tensor<f32>) {
  %0 = weft.all_reduce sum %a on @mesh <{"tp"}> : (tensor<32768xf32>) -> tensor<32768xf32>
  %1 = weft.all_reduce sum %b on @mesh <{"tp"}> : (tensor<f32>) -> tensor<f32>
  return %0, %1 : tensor<32768xf32>, tensor<f32>
}

// -----

// Equal gathers stay two, here and in general rewrites.

// CHECK-LABEL: func.func @gathers
// CHECK-COUNT-2: weft.all_gather
// CSE-LABEL: func.func @gathers
// CSE-COUNT-2: weft.all_gather
weft.mesh @mesh = <["tp"=4]>
func.func @gathers(%w: tensor<8xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
  %0 = weft.all_gather %w on @mesh <{"tp"}> dims [0] : (tensor<8xf32>) -> tensor<32xf32>
  %1 = weft.all_gather %w on @mesh <{"tp"}> dims [0] : (tensor<8xf32>) -> tensor<32xf32>
  return %0, %1 : tensor<32xf32>, tensor<32xf32>
}

// -----

// Contributions that join in a declared order: the part of an all_reduce keeps
// it; a scatter does not go first; only reductions of one order are grouped.

// CHECK-LABEL: func.func @ordered_scatter
// CHECK: weft.reduce_scatter sum %{{.*}} on @mesh <{"tp"}> dims [0] {weft.order = #weft.order<leaves = 4>} : (tensor<8x4xf32>) -> tensor<2x4xf32>
weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @ordered_scatter(%x: tensor<8x4xf32>) -> tensor<2x4xf32> {
  %c2 = arith.constant 2 : index
  %0 = weft.all_reduce sum %x on @mesh <{"tp"}> {weft.order = #weft.order<leaves = 4>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %i = weft.axis_index @mesh <{"tp"}>
  %o = arith.muli %i, %c2 : index
  %1 = tensor.extract_slice %0[%o, 0] [2, 4] [1, 1] : tensor<8x4xf32> to tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

// CHECK-LABEL: func.func @ordered_reduce_first
// CHECK: weft.all_reduce sum %{{.*}} on @mesh <{"dp"}> {weft.order = #weft.order<leaves = 2>} : (tensor<8x4xf32>)
// CHECK: weft.reduce_scatter sum %{{.*}} on @mesh <{"tp"}> dims [0] {weft.order = #weft.order<leaves = 4>}
weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @ordered_reduce_first(%x: tensor<8x4xf32>) -> tensor<2x4xf32> {
  %0 = weft.all_reduce sum %x on @mesh <{"dp"}> {weft.order = #weft.order<leaves = 2>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = weft.reduce_scatter sum %0 on @mesh <{"tp"}> dims [0] {weft.order = #weft.order<leaves = 4>} : (tensor<8x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

// CHECK-LABEL: func.func @ordered_groups
// CHECK: weft.all_reduce sum %{{.*}} on @mesh <{"dp"}> : (tensor<3xi32>)
// CHECK: weft.all_reduce sum %{{.*}}, %{{.*}} on @mesh <{"dp"}> {weft.order = #weft.order<leaves = 2>} : (tensor<4xf32>, tensor<2xf32>)
weft.mesh @mesh = <["dp"=2]>
func.func @ordered_groups(%x: tensor<4xf32>, %y: tensor<2xf32>, %n: tensor<3xi32>) -> (tensor<4xf32>, tensor<2xf32>, tensor<3xi32>) {
  %0 = weft.all_reduce sum %x on @mesh <{"dp"}> {weft.order = #weft.order<leaves = 2>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = weft.all_reduce sum %n on @mesh <{"dp"}> : (tensor<3xi32>) -> tensor<3xi32>
  %2 = weft.all_reduce sum %y on @mesh <{"dp"}> {weft.order = #weft.order<leaves = 2>} : (tensor<2xf32>) -> tensor<2xf32>
  return %0, %2, %1 : tensor<4xf32>, tensor<2xf32>, tensor<3xi32>
}

// -----

// What is small and made of reductions alone does not keep them apart: it goes
// down to its first use. So do gathers of it, which become one. What a
// reduction waits for stays, and so does what takes other values.

// CHECK-LABEL: func.func @sink
// CHECK-SAME: %[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>, %[[W:.*]]: tensor<8xf32>
// CHECK: %[[NEG:.*]] = arith.negf %[[W]]
// CHECK: %[[R:.*]]:2 = weft.all_reduce sum %[[A]], %[[B]] on @mesh <{"dp"}>
// CHECK: %[[G:.*]]:2 = weft.all_gather %[[R]]#0, %[[R]]#1 on @mesh <{"tp"}> dims [0, 0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>)
// CHECK: %[[SA:.*]] = arith.addf %[[G]]#0, %[[G]]#0
// CHECK: arith.addf %[[SA]], %[[NEG]]
// CHECK: %[[SB:.*]] = arith.mulf %[[G]]#1, %[[G]]#1
// CHECK: arith.addf %[[SB]], %[[NEG]]
weft.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @sink(%a: tensor<4xf32>, %b: tensor<4xf32>, %w: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = weft.all_reduce sum %a on @mesh <{"dp"}> : (tensor<4xf32>) -> tensor<4xf32>
  %1 = weft.all_gather %0 on @mesh <{"tp"}> dims [0] : (tensor<4xf32>) -> tensor<8xf32>
  %2 = arith.addf %1, %1 : tensor<8xf32>
  %3 = weft.all_reduce sum %b on @mesh <{"dp"}> : (tensor<4xf32>) -> tensor<4xf32>
  %4 = weft.all_gather %3 on @mesh <{"tp"}> dims [0] : (tensor<4xf32>) -> tensor<8xf32>
  %5 = arith.mulf %4, %4 : tensor<8xf32>
  %6 = arith.negf %w : tensor<8xf32>
  %7 = arith.addf %2, %6 : tensor<8xf32>
  %8 = arith.addf %5, %6 : tensor<8xf32>
  return %7, %8 : tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @sink_chain
// CHECK: %[[R:.*]] = weft.all_reduce sum %arg0 on @mesh <{"dp"}>
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[R]], %[[R]]
// CHECK-NEXT: %[[M:.*]] = arith.mulf %[[R]], %arg1
// CHECK-NEXT: %[[W:.*]] = arith.negf %arg1
// CHECK-NEXT: %[[T:.*]] = weft.all_reduce sum %[[S]] on @mesh <{"dp"}>
// CHECK-NEXT: return %[[T]], %[[M]], %[[W]]
weft.mesh @mesh = <["dp"=2]>
func.func @sink_chain(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = weft.all_reduce sum %a on @mesh <{"dp"}> : (tensor<4xf32>) -> tensor<4xf32>
  %1 = arith.addf %0, %0 : tensor<4xf32>
  %2 = arith.mulf %0, %b : tensor<4xf32>
  %3 = arith.negf %b : tensor<4xf32>
  %4 = weft.all_reduce sum %1 on @mesh <{"dp"}> : (tensor<4xf32>) -> tensor<4xf32>
  return %4, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Both halves are reduced: so is the whole, which lies in one piece.

// CHECK-LABEL: func.func @reduce_whole
// CHECK: %[[R:.*]] = weft.all_reduce sum %arg0 on @mesh <{"tp"}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-DAG: %[[A:.*]] = tensor.extract_slice %[[R]][0, 0] [4, 3]
// CHECK-DAG: %[[B:.*]] = tensor.extract_slice %[[R]][0, 3] [4, 5]
// CHECK: return %[[A]], %[[B]]
weft.mesh @mesh = <["tp"=2]>
func.func @reduce_whole(%x: tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x5xf32>) {
  %a = tensor.extract_slice %x[0, 0] [4, 3] [1, 1] : tensor<4x8xf32> to tensor<4x3xf32>
  %b = tensor.extract_slice %x[0, 3] [4, 5] [1, 1] : tensor<4x8xf32> to tensor<4x5xf32>
  %0 = weft.all_reduce sum %a on @mesh <{"tp"}> : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %1 = weft.all_reduce sum %b on @mesh <{"tp"}> : (tensor<4x5xf32>) -> tensor<4x5xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<4x5xf32>
}

// -----

// A part that nobody wants is not reduced, nor are sums and maxima joined.

// CHECK-LABEL: func.func @reduce_parts
// CHECK-NOT: weft.all_reduce {{.*}} : (tensor<4x8xf32>)
// CHECK: return
weft.mesh @mesh = <["tp"=2]>
func.func @reduce_parts(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x4xf32>, tensor<4x3xf32>, tensor<4x5xf32>) {
  %a = tensor.extract_slice %x[0, 0] [4, 3] [1, 1] : tensor<4x8xf32> to tensor<4x3xf32>
  %b = tensor.extract_slice %x[0, 4] [4, 4] [1, 1] : tensor<4x8xf32> to tensor<4x4xf32>
  %c = tensor.extract_slice %y[0, 0] [4, 3] [1, 1] : tensor<4x8xf32> to tensor<4x3xf32>
  %d = tensor.extract_slice %y[0, 3] [4, 5] [1, 1] : tensor<4x8xf32> to tensor<4x5xf32>
  %0 = weft.all_reduce sum %a on @mesh <{"tp"}> : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %1 = weft.all_reduce sum %b on @mesh <{"tp"}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = weft.all_reduce sum %c on @mesh <{"tp"}> : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %3 = weft.all_reduce max %d on @mesh <{"tp"}> : (tensor<4x5xf32>) -> tensor<4x5xf32>
  return %0, %1, %2, %3 : tensor<4x3xf32>, tensor<4x4xf32>, tensor<4x3xf32>, tensor<4x5xf32>
}

// -----

// Elements and scales that one op reads are gathered together, by way of views.

// CHECK-LABEL: func.func @elements_and_scales
// CHECK: %[[G:.*]]:2 = weft.all_gather %{{.*}}, %{{.*}} on @mesh <{"tp"}> dims [0, 0] : (tensor<8x64xi8>, tensor<8x2xf32>) -> (tensor<32x64xi8>, tensor<32x2xf32>)
// CHECK: %[[Q:.*]] = tensor.expand_shape %[[G]]#0
// CHECK-NEXT: linalg.generic {{.*}} ins(%[[Q]], %[[G]]#1 :
#all = affine_map<(i, b, j) -> (i, b, j)>
#block = affine_map<(i, b, j) -> (i, b)>
weft.mesh @mesh = <["tp"=4]>
func.func @elements_and_scales(%q: tensor<8x64xi8>, %s: tensor<8x2xf32>) -> tensor<32x2x32xf32> {
  %0 = weft.all_gather %q on @mesh <{"tp"}> dims [0] : (tensor<8x64xi8>) -> tensor<32x64xi8>
  %1 = tensor.expand_shape %0 [[0], [1, 2]] output_shape [32, 2, 32] : tensor<32x64xi8> into tensor<32x2x32xi8>
  %2 = weft.all_gather %s on @mesh <{"tp"}> dims [0] : (tensor<8x2xf32>) -> tensor<32x2xf32>
  %e = tensor.empty() : tensor<32x2x32xf32>
  %3 = linalg.generic {indexing_maps = [#all, #block, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%1, %2 : tensor<32x2x32xi8>, tensor<32x2xf32>) outs(%e : tensor<32x2x32xf32>) {
  ^bb0(%a: i8, %b: f32, %c: f32):
    %4 = arith.sitofp %a : i8 to f32
    %5 = arith.mulf %4, %b : f32
    linalg.yield %5 : f32
  } -> tensor<32x2x32xf32>
  return %3 : tensor<32x2x32xf32>
}

// -----

// Two of a size, other ranks, and what is read twice, stay apart.

// CHECK-LABEL: func.func @gathers_apart
// CHECK-COUNT-6: weft.all_gather
weft.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @gathers_apart(%a: tensor<4xf32>, %b: tensor<32xf32>) -> (tensor<16xf32>, tensor<72xf32>, tensor<72xf32>, tensor<64xf32>) {
  %0 = weft.all_gather %a on @mesh <{"tp"}> dims [0] : (tensor<4xf32>) -> tensor<8xf32>
  %1 = weft.all_gather %a on @mesh <{"tp"}> dims [0] : (tensor<4xf32>) -> tensor<8xf32>
  %2 = tensor.concat dim(0) %0, %1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %3 = weft.all_gather %a on @mesh <{"tp"}> dims [0] : (tensor<4xf32>) -> tensor<8xf32>
  %4 = weft.all_gather %b on @mesh <{"dp"}> dims [0] : (tensor<32xf32>) -> tensor<64xf32>
  %5 = tensor.concat dim(0) %3, %4 : (tensor<8xf32>, tensor<64xf32>) -> tensor<72xf32>
  %6 = weft.all_gather %a on @mesh <{"tp"}> dims [0] : (tensor<4xf32>) -> tensor<8xf32>
  %7 = weft.all_gather %b on @mesh <{"tp"}> dims [0] : (tensor<32xf32>) -> tensor<64xf32>
  %8 = tensor.concat dim(0) %6, %7 : (tensor<8xf32>, tensor<64xf32>) -> tensor<72xf32>
  return %2, %5, %8, %7 : tensor<16xf32>, tensor<72xf32>, tensor<72xf32>, tensor<64xf32>
}
