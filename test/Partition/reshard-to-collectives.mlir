// RUN: weft-opt %s -split-input-file -weft-partition -weft-verify-local -canonicalize -cse | FileCheck %s

// CHECK-LABEL: func.func @gather
// CHECK: weft.all_gather %{{.*}} on @mesh <{"tp"}> dims [1] : (tensor<4x4xf32>) -> tensor<4x8xf32>
weft.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @gather(%x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>})
    -> (tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}) {
  %0 = weft.reshard %x from <@mesh, [{"dp"}, {"tp"}]> to <@mesh, [{"dp"}, {}]> : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

// CHECK-LABEL: func.func @slice
// CHECK-DAG: %[[C4:.*]] = arith.constant 4 : index
// CHECK: %[[I:.*]] = weft.axis_index @mesh <{"tp"}>
// CHECK: %[[OFF:.*]] = arith.muli %[[I]], %[[C4]]
// CHECK: tensor.extract_slice %{{.*}}[0, %[[OFF]]] [4, 4] [1, 1]
weft.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @slice(%x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>})
    -> (tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>}) {
  %0 = weft.reshard %x from <@mesh, [{"dp"}, {}]> to <@mesh, [{"dp"}, {"tp"}]> : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

// CHECK-LABEL: func.func @swap
// CHECK: weft.all_to_all %{{.*}} on @mesh <{"tp"}> split [1] concat [0] : (tensor<2x8xf32>) -> tensor<8x2xf32>
weft.mesh @mesh = <["tp"=4]>
func.func @swap(%x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>}) {
  %0 = weft.reshard %x from <@mesh, [{"tp"}, {}]> to <@mesh, [{}, {"tp"}]> : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

// A weight gradient: scattered onto its storage axis first, then reduced over
// the rest.

// CHECK-LABEL: func.func @gradient
// CHECK: %[[S:.*]] = weft.reduce_scatter sum %{{.*}} on @mesh <{"fsdp"}> dims [0] : (tensor<8x8xf32>) -> tensor<4x8xf32>
// CHECK: weft.all_reduce sum %[[S]] on @mesh <{"dp"}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
weft.mesh @mesh = <["dp"=2, "fsdp"=2]>
func.func @gradient(%a: tensor<4x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}, {}]>})
    -> (tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}]>}) {
  %0 = weft.matmul %a, %a {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      weft.shardings = [#weft.sharding<@mesh, [{}, {}], partial = sum {"dp", "fsdp"}>]}
      : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  %1 = weft.reshard %0 from <@mesh, [{}, {}], partial = sum {"dp", "fsdp"}> to <@mesh, [{"fsdp"}, {}]> : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

// CHECK-LABEL: func.func @permute
// CHECK: weft.permute %{{.*}} on @mesh <{{.*}}> sources
weft.mesh @mesh = <["a"=2, "b"=2]>
func.func @permute(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", "b"}]>})
    -> (tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"b", "a"}]>}) {
  %0 = weft.reshard %x from <@mesh, [{"a", "b"}]> to <@mesh, [{"b", "a"}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Sizes that do not divide: padded where the dimension is whole, cut again
// after a gather.

// CHECK-LABEL: func.func @uneven
// CHECK: %[[G:.*]] = weft.all_gather %{{.*}} on @mesh <{"tp"}> dims [0] : (tensor<3xf32>) -> tensor<12xf32>
// CHECK: tensor.extract_slice %[[G]][0] [10] [1]
// CHECK: tensor.pad %{{.*}} low[0] high[2]
// CHECK: weft.axis_index
// CHECK: tensor.extract_slice {{.*}} : tensor<12xf32> to tensor<3xf32>
weft.mesh @mesh = <["tp"=4]>
func.func @uneven(%x: tensor<10xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}, %y: tensor<10xf32>)
    -> (tensor<10xf32>, tensor<10xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) {
  %0 = weft.reshard %x from <@mesh, [{"tp"}]> to <@mesh, [{}]> : tensor<10xf32>
  %1 = weft.reshard %y from <@mesh, [{}]> to <@mesh, [{"tp"}]> : tensor<10xf32>
  return %0, %1 : tensor<10xf32>, tensor<10xf32>
}

// -----

// A tensor of one element is made again, not moved.

// CHECK-LABEL: func.func @uniform
// CHECK-NOT: weft.all_gather
// CHECK-NOT: tensor.extract_slice
// CHECK: linalg.fill {{.*}} -> tensor<2x8xf32>
weft.mesh @mesh = <["tp"=4]>
func.func @uniform(%v: f32) -> (tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) {
  %e = tensor.empty() {weft.shardings = [#weft.sharding<@mesh, [{}, {"tp"}]>]} : tensor<8x8xf32>
  %f = linalg.fill {weft.shardings = [#weft.sharding<@mesh, [{}, {"tp"}]>]} ins(%v : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %0 = weft.reshard %f from <@mesh, [{}, {"tp"}]> to <@mesh, [{"tp"}, {}]> : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

// Axes of size 1 leave no trace.

// CHECK-LABEL: func.func @inactive
// CHECK-NEXT: return
weft.mesh @mesh = <["dp"=1, "tp"=1]>
func.func @inactive(%x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>})
    -> (tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) {
  %0 = weft.reshard %x from <@mesh, [{"dp"}, {"tp"}]> to <@mesh, [{"tp"}, {}]> : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
