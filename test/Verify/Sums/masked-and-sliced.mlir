// Rows that are cut unequally are masked for a sum over them. What is masked is the rows, of which there are 8, and not a slice
// of them that the global program makes as well.

// RUN: weft-compile %s --to local -o - | FileCheck %s
// CHECK: func.func @step
// CHECK: arith.select

weft.mesh @mesh = <["a"=3]>
func.func @step(%y: tensor<8x6xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>},
                %z: tensor<8x6xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>}) -> (tensor<6x6xf32>, tensor<6x6xf32>) {
  %0 = weft.matmul %y, %z {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]} : tensor<8x6xf32>, tensor<8x6xf32> -> tensor<6x6xf32>
  %1 = tensor.extract_slice %z[0, 0] [6, 6] [1, 1] : tensor<8x6xf32> to tensor<6x6xf32>
  %2 = arith.mulf %1, %1 : tensor<6x6xf32>
  return %0, %2 : tensor<6x6xf32>, tensor<6x6xf32>
}
