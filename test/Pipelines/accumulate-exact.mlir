// RUN: weft-opt %s --weft-global-to-local="invariant=mesh accumulate=mb" | FileCheck %s

// What microbatches find is joined one after the other, where the order does
// not matter; which zero maxnumf takes does, so the batch is put together first.
// All is proved.

#ij = affine_map<(i, j) -> (i, j)>
#j = affine_map<(i, j) -> (j)>
// CHECK: weft.certificate =
// CHECK-LABEL: func.func @main
// CHECK: arith.maximumf %in, %in
// CHECK: arith.addi %in, %in
// CHECK: arith.maximumf %in, %in
// CHECK: arith.addi %in, %in
// CHECK: arith.maximumf %in, %in
// CHECK: arith.addi %in, %in
// CHECK: arith.maxnumf
// CHECK-NOT: arith.maxnumf
// CHECK: module @one_rank
weft.mesh @mesh = <["mb"=4, "dp"=2]>
func.func @main(%x: tensor<64x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "mb"}, {}]>},
                %y: tensor<64x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "mb"}, {}]>},
                %n: tensor<64x16xi32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "mb"}, {}]>})
    -> (tensor<16xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>},
        tensor<16xi32> {weft.sharding = #weft.sharding<@mesh, [{}]>},
        tensor<16xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
    %low = arith.constant dense<0xFF800000> : tensor<16xf32>
    %zero = arith.constant dense<0> : tensor<16xi32>
    %0 = linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<64x16xf32>) outs(%low : tensor<16xf32>) {
    ^bb0(%a: f32, %acc: f32):
      %m = arith.maximumf %acc, %a : f32
      linalg.yield %m : f32
    } -> tensor<16xf32>
    %1 = linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]} ins(%n : tensor<64x16xi32>) outs(%zero : tensor<16xi32>) {
    ^bb0(%a: i32, %acc: i32):
      %m = arith.addi %acc, %a : i32
      linalg.yield %m : i32
    } -> tensor<16xi32>
    %2 = linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]} ins(%y : tensor<64x16xf32>) outs(%low : tensor<16xf32>) {
    ^bb0(%a: f32, %acc: f32):
      %m = arith.maxnumf %acc, %a : f32
      linalg.yield %m : f32
    } -> tensor<16xf32>
    return %0, %1, %2 : tensor<16xf32>, tensor<16xi32>, tensor<16xf32>
}
