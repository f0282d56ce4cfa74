// RUN: weft-opt %s -split-input-file -weft-partition -weft-verify-local -canonicalize -cse | FileCheck %s

// A function's border keeps names, shardings, aliases and global types.

// CHECK: weft.mesh @mesh
// CHECK-LABEL: func.func @border
// CHECK-SAME: %[[W:.*]]: tensor<128x256xf32> {weft.global_type = tensor<256x512xf32>, weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {"tp"}], storage = {"fsdp"}>}
// CHECK-SAME: -> (tensor<128x256xf32> {weft.alias = 0 : index, weft.global_type = tensor<256x512xf32>, weft.name = "w"
// CHECK-NEXT: return %[[W]]
weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
func.func @border(
    %w: tensor<256x512xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {"tp"}], storage = {"fsdp"}>})
    -> (tensor<256x512xf32> {weft.name = "w", weft.alias = 0 : index, weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {"tp"}], storage = {"fsdp"}>}) {
  return %w : tensor<256x512xf32>
}

// -----

// A module without a mesh runs on one rank and stays what it is.

// CHECK-LABEL: func.func @no_mesh
// CHECK-SAME: tensor<4xf32> {weft.global_type = tensor<4xf32>, weft.name = "x"}
// CHECK: weft.matmul
// CHECK-SAME: tensor<4xf32>, tensor<4xf32> -> tensor<f32>
func.func @no_mesh(%x: tensor<4xf32> {weft.name = "x"}) -> (tensor<f32> {weft.name = "y"}) {
  %0 = weft.matmul %x, %x {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>]}
      : tensor<4xf32>, tensor<4xf32> -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// linalg.index gets the offset of the rank's chunk.

// CHECK-LABEL: func.func @iota
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[I:.*]] = weft.axis_index @mesh <{"tp"}>
// CHECK: %[[OFF:.*]] = arith.muli %[[I]], %[[C2]]
// CHECK: linalg.generic
// CHECK: %[[L:.*]] = linalg.index 0
// CHECK: arith.addi %[[L]], %[[OFF]]
// CHECK-NOT: linalg.index 1{{.*}}addi
// CHECK: -> tensor<2x3xi32>
weft.mesh @mesh = <["tp"=4]>
func.func @iota() -> (tensor<8x3xi32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) {
  %0 = tensor.empty() {weft.shardings = [#weft.sharding<@mesh, [{"tp"}, {}]>]} : tensor<8x3xi32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      outs(%0 : tensor<8x3xi32>) attrs = {weft.shardings = [#weft.sharding<@mesh, [{"tp"}, {}]>]} {
  ^bb0(%out: i32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %s = arith.addi %i, %j : index
    %c = arith.index_cast %s : index to i32
    linalg.yield %c : i32
  } -> tensor<8x3xi32>
  return %1 : tensor<8x3xi32>
}

// -----

// The sum over an uneven dimension sees zeros past the end, by a select.

// CHECK-LABEL: func.func @uneven_sum
// CHECK-SAME: tensor<3xf32>
// CHECK-DAG: %[[C10:.*]] = arith.constant 10 : index
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[ZERO:.*]] = arith.constant -0.000000e+00 : f32
// CHECK: %[[I:.*]] = weft.axis_index @mesh <{"tp"}>
// CHECK: %[[OFF:.*]] = arith.muli %[[I]], %[[C3]]
// CHECK: %[[COUNT:.*]] = arith.subi %[[C10]], %[[OFF]]
// CHECK: linalg.generic
// CHECK: %[[L:.*]] = linalg.index 0
// CHECK: %[[VALID:.*]] = arith.cmpi slt, %[[L]], %[[COUNT]]
// CHECK: %[[IN:.*]] = arith.select %[[VALID]], %{{.*}}, %[[ZERO]]
// CHECK: arith.addf %[[IN]], %{{.*}}
// CHECK: weft.all_reduce sum
weft.mesh @mesh = <["tp"=4]>
func.func @uneven_sum(%x: tensor<10xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>})
    -> (tensor<f32> {weft.sharding = #weft.sharding<@mesh, []>}) {
  %z = arith.constant {weft.shardings = [#weft.sharding<@mesh, []>]} dense<0.0> : tensor<f32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<10xf32>) outs(%z : tensor<f32>)
      attrs = {weft.shardings = [#weft.sharding<@mesh, [], partial = sum {"tp"}>]} {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %1 = weft.reshard %0 from <@mesh, [], partial = sum {"tp"}> to <@mesh, []> : tensor<f32>
  return %1 : tensor<f32>
}

// -----

// Division and element access past the end get harmless operands.

// CHECK-LABEL: func.func @traps
// CHECK: linalg.generic
// CHECK: %[[VALID:.*]] = arith.cmpi slt
// CHECK: %[[D:.*]] = arith.select %[[VALID]], %{{.*}}, %c1_i32
// CHECK: arith.divsi %{{.*}}, %[[D]]
// CHECK: %[[X:.*]] = arith.select %[[VALID]], %{{.*}}, %c0
// CHECK: tensor.extract %{{.*}}[%[[X]]]
weft.mesh @mesh = <["tp"=4]>
func.func @traps(%a: tensor<10xi32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>},
                 %b: tensor<10xi32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}, %t: tensor<7xi32>)
    -> (tensor<10xi32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) {
  %e = tensor.empty() {weft.shardings = [#weft.sharding<@mesh, [{"tp"}]>]} : tensor<10xi32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a, %b : tensor<10xi32>, tensor<10xi32>) outs(%e : tensor<10xi32>)
      attrs = {weft.shardings = [#weft.sharding<@mesh, [{"tp"}]>]} {
  ^bb0(%x: i32, %y: i32, %out: i32):
    %q = arith.divsi %x, %y : i32
    %i = arith.index_cast %x : i32 to index
    %v = tensor.extract %t[%i] : tensor<7xi32>
    %s = arith.addi %q, %v : i32
    linalg.yield %s : i32
  } -> tensor<10xi32>
  return %0 : tensor<10xi32>
}

// -----

// Constants: splats shrink, others are cut by rank.

// CHECK-LABEL: func.func @constants
// CHECK-DAG: arith.constant dense<1.000000e+00> : tensor<2xf32>
// CHECK-DAG: %[[ALL:.*]] = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
// CHECK: %[[I:.*]] = weft.axis_index @mesh <{"tp"}>
// CHECK: %[[OFF:.*]] = arith.muli %[[I]]
// CHECK: tensor.extract_slice %[[ALL]][%[[OFF]]] [2] [1] : tensor<4xi32> to tensor<2xi32>
weft.mesh @mesh = <["tp"=2]>
func.func @constants() -> (tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>},
                           tensor<4xi32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) {
  %0 = arith.constant {weft.shardings = [#weft.sharding<@mesh, [{"tp"}]>]} dense<1.0> : tensor<4xf32>
  %1 = arith.constant {weft.shardings = [#weft.sharding<@mesh, [{"tp"}]>]} dense<[1, 2, 3, 4]> : tensor<4xi32>
  return %0, %1 : tensor<4xf32>, tensor<4xi32>
}

// -----

// Slices, concatenations, pads and reshapes: the dimensions that they leave
// alone have local sizes.

// CHECK-LABEL: func.func @shapes
// CHECK: tensor.extract_slice %{{.*}}[0, 2] [4, 3] [1, 1] : tensor<4x6xf32> to tensor<4x3xf32>
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 1] [4, 3] [1, 1] : tensor<4x3xf32> into tensor<4x6xf32>
// CHECK: tensor.concat dim(1) {{.*}} -> tensor<4x9xf32>
// CHECK: tensor.pad {{.*}} low[0, 1] high[0, 2]
// CHECK: tensor<4x9xf32> to tensor<4x12xf32>
// CHECK: tensor.expand_shape {{.*}} output_shape [2, 2, 12]
// CHECK: tensor.collapse_shape {{.*}} : tensor<2x2x12xf32> into tensor<2x24xf32>
weft.mesh @mesh = <["tp"=2]>
func.func @shapes(%x: tensor<8x6xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<4x24xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) {
  %z = arith.constant 0.0 : f32
  %0 = tensor.extract_slice %x[0, 2] [8, 3] [1, 1] {weft.shardings = [#weft.sharding<@mesh, [{"tp"}, {}]>]} : tensor<8x6xf32> to tensor<8x3xf32>
  %1 = tensor.insert_slice %0 into %x[0, 1] [8, 3] [1, 1] {weft.shardings = [#weft.sharding<@mesh, [{"tp"}, {}]>]} : tensor<8x3xf32> into tensor<8x6xf32>
  %2 = tensor.concat dim(1) %0, %1 {weft.shardings = [#weft.sharding<@mesh, [{"tp"}, {}]>]} : (tensor<8x3xf32>, tensor<8x6xf32>) -> tensor<8x9xf32>
  %3 = tensor.pad %2 low[0, 1] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } {weft.shardings = [#weft.sharding<@mesh, [{"tp"}, {}]>]} : tensor<8x9xf32> to tensor<8x12xf32>
  %4 = tensor.expand_shape %3 [[0, 1], [2]] output_shape [4, 2, 12] {weft.shardings = [#weft.sharding<@mesh, [{"tp"}, {}, {}]>]} : tensor<8x12xf32> into tensor<4x2x12xf32>
  %5 = tensor.collapse_shape %4 [[0], [1, 2]] {weft.shardings = [#weft.sharding<@mesh, [{"tp"}, {}]>]} : tensor<4x2x12xf32> into tensor<4x24xf32>
  return %5 : tensor<4x24xf32>
}

// -----

// Ops that weft does not know run as they are, on whole tensors.

// CHECK-LABEL: func.func @unknown
// CHECK: %[[E:.*]] = tensor.extract %{{.*}}[%c1]
// CHECK: scf.if
// CHECK: tensor.from_elements %[[E]], %[[E]] : tensor<2xf32>
weft.mesh @mesh = <["tp"=2]>
func.func @unknown(%x: tensor<4xf32>, %p: i1) -> tensor<2xf32> {
  %c1 = arith.constant 1 : index
  %e = tensor.extract %x[%c1] : tensor<4xf32>
  %a = scf.if %p -> tensor<2xf32> {
    %f = tensor.from_elements %e, %e : tensor<2xf32>
    scf.yield %f : tensor<2xf32>
  } else {
    %f = tensor.splat %e : tensor<2xf32>
    scf.yield %f : tensor<2xf32>
  } {weft.shardings = [#weft.sharding<@mesh, [{}]>]}
  return %a : tensor<2xf32>
}
