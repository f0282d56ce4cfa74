// If only some axes are invariant, the one-rank program is cut along the others. Where they share what does not change, and it
// becomes one dimension with what does, partitioning says how long that is: neither rows of indices nor their number do.

// RUN: weft-compile %s --invariant=z --to local -o %t.mlir && FileCheck %s < %t.mlir
// RUN: sed 's/{weft.global_type = tensor<8x12xi32>}//' %t.mlir > %t.open.mlir
// RUN: not weft-compile %t.open.mlir --to planned -o %t.not.mlir 2>&1 | FileCheck %s --check-prefix=OPEN
// RUN: sed 's/{weft.global_type = tensor<8x12xi32>}/{weft.global_type = tensor<8x24xi32>}/' %t.mlir > %t.other.mlir
// RUN: not weft-compile %t.other.mlir --to planned -o %t.not.mlir 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: weft-compile %s --invariant=x,z --mesh x=4 --to local -o %t.all.mlir
// CHECK: func.func @step
// CHECK: tensor.collapse_shape {{.*}} {weft.global_type = tensor<8x12xi32>} : tensor<4x1x4xi32> into tensor<4x4xi32>
// OPEN: error: {{.*}} combines dimensions of global sizes 4 and 12
// OTHER: error: {{.*}} combines dimensions of global sizes 24 and 12

weft.mesh @mesh = <["x"=3, "z"=2, "y"=1]>
func.func @step(%n: tensor<8x12xi32> {weft.name = "n", weft.sharding = #weft.sharding<@mesh, [{"z"}, {"x"}]>})
    -> (tensor<8x12xi32> {weft.name = "r0", weft.sharding = #weft.sharding<@mesh, [{"z"}, {"x"}]>},
        tensor<8x12xi32> {weft.name = "r1", weft.sharding = #weft.sharding<@mesh, [{"z"}, {"x"}]>}) {
  %e = tensor.empty() : tensor<8x3x4xi32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e : tensor<8x3x4xi32>) {
  ^bb0(%o: i32):
    %k = linalg.index 2 : index
    %i = arith.index_cast %k : index to i32
    linalg.yield %i : i32
  } -> tensor<8x3x4xi32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<8x3x4xi32> into tensor<8x12xi32>
  %f = tensor.empty() : tensor<8x12xi32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%1, %n : tensor<8x12xi32>, tensor<8x12xi32>) outs(%f : tensor<8x12xi32>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %s = arith.addi %a, %b : i32
    linalg.yield %s : i32
  } -> tensor<8x12xi32>
  return %1, %2 : tensor<8x12xi32>, tensor<8x12xi32>
}
