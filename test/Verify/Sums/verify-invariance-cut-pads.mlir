// SPDX-License-Identifier: Apache-2.0

// Where an axis matters, the one-rank program has ranks as well. What these cut
// at once is padded for them: of 8 rows each of 3 ranks gets 3, and there are
// still 8.
// RUN: weft-compile %s --invariant=tp --to global -o %t.global.mlir
// RUN: weft-compile %t.global.mlir --to local -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: weft-verify --from global %t.global.mlir %t.mlir
// CHECK: module @one_rank
// CHECK: %[[PAD:.*]] = tensor.pad {{.*}} high[1, 0]
// CHECK: weft.all_to_all %[[PAD]]

// RUN: sed '0,/\(extract_slice %[0-9]*\[0, \)0\(\] \[3, 8\]\)/s//\11\2/' %t.mlir > %t.moved.mlir
// RUN: not weft-verify --from global %t.global.mlir %t.moved.mlir 2>&1 | FileCheck %s --check-prefix=MOVED
// MOVED: error: {{.*}}reads past the end of dim 1 of size 8

#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
module {
  weft.mesh @mesh = <["dp"=3, "tp"=2]>
  func.func @lambda(%arg0: tensor<8x12xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>}, %arg1: tensor<8x8xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}, %arg2: tensor<8x12xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>}) -> (tensor<8x12xf32> {weft.name = "result0", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>}) {
    %0 = tensor.empty() : tensor<8x8xf32>
    %transposed = linalg.transpose ins(%arg1 : tensor<8x8xf32>) outs(%0 : tensor<8x8xf32>) permutation = [1, 0]
    %1 = weft.matmul %transposed, %arg2 {indexing_maps = [#map, #map1, #map2]} : tensor<8x8xf32>, tensor<8x12xf32> -> tensor<8x12xf32>
    %2 = tensor.empty() : tensor<8x12xf32>
    %mapped = linalg.map { arith.subf } ins(%arg0, %1 : tensor<8x12xf32>, tensor<8x12xf32>) outs(%2 : tensor<8x12xf32>)
    return %mapped : tensor<8x12xf32>
  }
}

