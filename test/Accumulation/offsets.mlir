// RUN: weft-opt --weft-accumulate=axis=mb --canonicalize --split-input-file %s | FileCheck %s

// A microbatch of one row: its number is not folded with what the op computes of it.

#id = affine_map<(d0, d1) -> (d0, d1)>
weft.mesh @mesh = <["mb"=2]>

// CHECK-LABEL: func @index_of_one_row
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK: %[[P0:.*]] = weft.part_offset %[[C0]]
// CHECK: linalg.generic
// CHECK: arith.index_cast %[[P0]]
// CHECK: %[[P1:.*]] = weft.part_offset %[[C1]]
// CHECK: linalg.generic
// CHECK: arith.index_cast %[[P1]]
func.func @index_of_one_row(%x: tensor<1x4xi32> {weft.global_type = tensor<2x4xi32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}, {}]>})
  -> (tensor<1x4xi32> {weft.global_type = tensor<2x4xi32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}, {}]>}) {
  %row = weft.axis_index @mesh <{"mb"}>
  %e = tensor.empty() : tensor<1x4xi32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<1x4xi32>) outs(%e : tensor<1x4xi32>) {
  ^bb0(%a: i32, %o: i32):
    %i = arith.index_cast %row : index to i32
    %s = arith.muli %a, %i : i32
    linalg.yield %s : i32
  } -> tensor<1x4xi32>
  return %0 : tensor<1x4xi32>
}

// -----

// As an index of a place, too, beside those of loops.

#id = affine_map<(d0, d1) -> (d0, d1)>
weft.mesh @mesh = <["mb"=2]>

// CHECK-LABEL: func @place_of_one_row
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK: %[[P0:.*]] = weft.part_offset %[[C0]]
// CHECK: weft.place %[[P0]], %{{.*}} of [2, 4]
// CHECK: %[[P1:.*]] = weft.part_offset %[[C1]]
// CHECK: weft.place %[[P1]], %{{.*}} of [2, 4]
func.func @place_of_one_row(%x: tensor<1x4xi32> {weft.global_type = tensor<2x4xi32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}, {}]>})
  -> (tensor<1x4xi32> {weft.global_type = tensor<2x4xi32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}, {}]>}) {
  %row = weft.axis_index @mesh <{"mb"}>
  %e = tensor.empty() : tensor<1x4xi32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<1x4xi32>) outs(%e : tensor<1x4xi32>) {
  ^bb0(%a: i32, %o: i32):
    %column = linalg.index 1 : index
    %i = weft.place %row, %column of [2, 4] : i32
    %s = arith.muli %a, %i : i32
    linalg.yield %s : i32
  } -> tensor<1x4xi32>
  return %0 : tensor<1x4xi32>
}
