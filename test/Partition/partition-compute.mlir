// RUN: weft-opt %s -split-input-file -weft-partition -weft-verify-local -canonicalize -cse | FileCheck %s

// A sharded K gives a contribution; a K that does not divide is masked in both
// operands, since zero times NaN is NaN.

// CHECK-LABEL: func.func @uneven_k
// CHECK-SAME: %[[A:.*]]: tensor<4x3xf32>{{.*}}, %[[B:.*]]: tensor<3x6xf32>
// CHECK: %[[MA:.*]] = linalg.generic {{.*}} ins(%[[A]]
// CHECK: linalg.index 1
// CHECK: arith.select
// CHECK: %[[MB:.*]] = linalg.generic {{.*}} ins(%[[B]]
// CHECK: linalg.index 0
// CHECK: arith.select
// CHECK: %[[M:.*]] = weft.matmul %[[MA]], %[[MB]] {{.*}} : tensor<4x3xf32>, tensor<3x6xf32> -> tensor<4x6xf32>
// CHECK: weft.reduce_scatter sum %[[M]] on @mesh <{"tp"}> dims [0] : (tensor<4x6xf32>) -> tensor<1x6xf32>
weft.mesh @mesh = <["tp"=4]>
func.func @uneven_k(%a: tensor<4x10xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
                    %b: tensor<10x6xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<4x6xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) {
  %0 = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      weft.shardings = [#weft.sharding<@mesh, [{}, {}], partial = sum {"tp"}>]}
      : tensor<4x10xf32>, tensor<10x6xf32> -> tensor<4x6xf32>
  %1 = weft.reshard %0 from <@mesh, [{}, {}], partial = sum {"tp"}> to <@mesh, [{"tp"}, {}]> : tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// -----

// An uneven M or N is never summed: nothing is masked.

// CHECK-LABEL: func.func @uneven_m
// CHECK-NOT: linalg.generic
// CHECK: weft.matmul {{.*}} : tensor<3x4xbf16>, tensor<4x6xbf16> -> tensor<3x6xf32>
weft.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @uneven_m(%a: tensor<9x4xbf16> {weft.sharding = #weft.sharding<@mesh, [{"dp", "tp"}, {}]>}, %b: tensor<4x6xbf16>)
    -> (tensor<9x6xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "tp"}, {}]>}) {
  %0 = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      weft.shardings = [#weft.sharding<@mesh, [{"dp", "tp"}, {}]>]}
      : tensor<9x4xbf16>, tensor<4x6xbf16> -> tensor<9x6xf32>
  return %0 : tensor<9x6xf32>
}

// -----

// A lookup in a table whose rows are sharded: each rank has a base; where the
// last rank has padding, no index may find it.

// CHECK-LABEL: func.func @take_rows
// CHECK-SAME: %[[T:.*]]: tensor<3x4xf32>{{.*}}, %[[X:.*]]: tensor<8xi32>
// CHECK-DAG: %[[C10:.*]] = arith.constant 10 : i32
// CHECK-DAG: %[[NONE:.*]] = arith.constant -1 : i32
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : index
// CHECK: %[[I:.*]] = linalg.generic {{.*}} ins(%[[X]]
// CHECK: ^bb0(%[[IN:.*]]: i32, %{{.*}}: i32):
// CHECK: %[[V:.*]] = arith.cmpi slt, %[[IN]], %[[C10]]
// CHECK: arith.select %[[V]], %[[IN]], %[[NONE]]
// CHECK: %[[R:.*]] = weft.axis_index @mesh <{"tp"}>
// CHECK: %[[BASE:.*]] = arith.muli %[[R]], %[[C3]]
// CHECK: weft.take %[[T]], %[[I]] base %[[BASE]]
// CHECK: weft.all_reduce sum
weft.mesh @mesh = <["tp"=4]>
func.func @take_rows(%t: tensor<10x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}, %i: tensor<8xi32>)
    -> tensor<8x4xf32> {
  %0 = weft.take %t, %i {axis = 0 : i64, table_map = affine_map<(b, d) -> (d)>, index_map = affine_map<(b, d) -> (b)>,
      weft.shardings = [#weft.sharding<@mesh, [{}, {}], partial = sum {"tp"}>]}
      : tensor<10x4xf32>, tensor<8xi32> -> tensor<8x4xf32>
  %1 = weft.reshard %0 from <@mesh, [{}, {}], partial = sum {"tp"}> to <@mesh, [{}, {}]> : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

// Even rows need a base, but no check.

// CHECK-LABEL: func.func @take_even
// CHECK-NOT: linalg.generic
// CHECK: weft.take %{{.*}}, %{{.*}} base
weft.mesh @mesh = <["tp"=4]>
func.func @take_even(%t: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}, %i: tensor<8xi8>)
    -> tensor<8x4xf32> {
  %0 = weft.take %t, %i {axis = 0 : i64, table_map = affine_map<(b, d) -> (d)>, index_map = affine_map<(b, d) -> (b)>,
      weft.shardings = [#weft.sharding<@mesh, [{}, {}], partial = sum {"tp"}>]}
      : tensor<8x4xf32>, tensor<8xi8> -> tensor<8x4xf32>
  %1 = weft.reshard %0 from <@mesh, [{}, {}], partial = sum {"tp"}> to <@mesh, [{}, {}]> : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

// The gradient: updates of a sharded batch give contributions, those after
// its end are dropped; sharded rows have a base.

// CHECK-LABEL: func.func @scatter
// CHECK-SAME: %[[X:.*]]: tensor<3xi32>{{.*}}, %[[U:.*]]: tensor<3x4xf32>
// CHECK: %[[Z:.*]] = arith.constant dense<0.000000e+00> : tensor<5x4xf32>
// CHECK: weft.axis_index @mesh <{"dp"}>
// CHECK: %[[I:.*]] = linalg.generic {{.*}} ins(%[[X]]
// CHECK: arith.select {{.*}}, %c-1_i32
// CHECK: weft.axis_index @mesh <{"tp"}>
// CHECK: weft.scatter_add %[[Z]], %[[I]], %[[U]] base
// CHECK-SAME: tensor<5x4xf32>, tensor<3xi32>, tensor<3x4xf32>
weft.mesh @mesh = <["dp"=3, "tp"=2]>
func.func @scatter(%i: tensor<8xi32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>},
                   %u: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>})
    -> (tensor<10x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) {
  %z = arith.constant {weft.shardings = [#weft.sharding<@mesh, [{"tp"}, {}]>]} dense<0.0> : tensor<10x4xf32>
  %0 = weft.scatter_add %z, %i, %u {axis = 0 : i64, table_map = affine_map<(b, d) -> (d)>, index_map = affine_map<(b, d) -> (b)>,
      weft.shardings = [#weft.sharding<@mesh, [{"tp"}, {}], partial = sum {"dp"}>]}
      : tensor<10x4xf32>, tensor<8xi32>, tensor<8x4xf32>
  %1 = weft.reshard %0 from <@mesh, [{"tp"}, {}], partial = sum {"dp"}> to <@mesh, [{"tp"}, {}]> : tensor<10x4xf32>
  return %1 : tensor<10x4xf32>
}

// -----

// What is one number everywhere needs no mask beside what has one: of three
// ranks two have an element.

// CHECK-LABEL: func.func @constant_k
// CHECK: %[[B:.*]] = arith.constant dense<2.000000e+00> : tensor<1x1xf32>
// CHECK: %[[MASKED:.*]] = linalg.generic
// CHECK: weft.matmul %[[MASKED]], %[[B]]
weft.mesh @mesh = <["tp"=3]>
func.func @constant_k(%a: tensor<4x2xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<4x1xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %b = arith.constant {weft.shardings = [#weft.sharding<@mesh, [{"tp"}, {}]>]} dense<2.0> : tensor<2x1xf32>
  %0 = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      weft.shardings = [#weft.sharding<@mesh, [{}, {}], partial = sum {"tp"}>]}
      : tensor<4x2xf32>, tensor<2x1xf32> -> tensor<4x1xf32>
  %1 = weft.reshard %0 from <@mesh, [{}, {}], partial = sum {"tp"}> to <@mesh, [{}, {}]> : tensor<4x1xf32>
  return %1 : tensor<4x1xf32>
}
