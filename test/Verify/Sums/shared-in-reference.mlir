// Sums of what is repeated, which ranks share along an axis that is not
// invariant: so does the program that is compared with.
// RUN: weft-compile %s --invariant=z --to local -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: sed -e '0,/all_reduce sum/ s//all_reduce max/' %t.mlir > %t.MAX.mlir
// RUN: not weft-opt %t.MAX.mlir --weft-verify-invariance -o /dev/null 2>&1 | FileCheck %s --check-prefix=MAX
// CHECK: weft.all_reduce sum {{.*}} on @mesh <{"x"}>
// CHECK: module @one_rank
// CHECK: weft.all_reduce sum {{.*}} on @mesh <{"x"}>
// MAX: error: 'weft.all_reduce' op combines contributions to a sum by max

#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#both = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
weft.mesh @mesh = <["x"=3, "z"=2]>
// Three times the numbers from 0 to 3 in each row, one time on each rank.
func.func @step() -> (tensor<8xi32> {weft.name = "r0", weft.sharding = #weft.sharding<@mesh, [{"z"}]>}) {
  %e = tensor.empty() : tensor<8x3x4xi32>
  %0 = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e : tensor<8x3x4xi32>) {
  ^bb0(%o: i32):
    %k = linalg.index 2 : index
    %i = arith.index_cast %k : index to i32
    linalg.yield %i : i32
  } -> tensor<8x3x4xi32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<8x3x4xi32> into tensor<8x12xi32>
  %2 = weft.shard %1 to <@mesh, [{"z"}, {"x"}]> : tensor<8x12xi32>
  %zero = arith.constant dense<0> : tensor<8xi32>
  %3 = linalg.generic {indexing_maps = [#both, #rows], iterator_types = ["parallel", "reduction"]} ins(%2 : tensor<8x12xi32>) outs(%zero : tensor<8xi32>) {
  ^bb0(%a: i32, %o: i32):
    %t = arith.addi %a, %o : i32
    linalg.yield %t : i32
  } -> tensor<8xi32>
  return %3 : tensor<8xi32>
}
