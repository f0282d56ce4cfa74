// If only some axes are invariant, the one-rank program pads for the others as well: of its pads the last one before a
// cut is for them, unless the user's is cut at once. Then ops, and the border, say which.

// RUN: weft-compile %s --invariant=x --to local -o - | FileCheck %s
// RUN: weft-compile %s --invariant=x --mesh x=1 --to local -o - | FileCheck %s
// CHECK: tensor.pad
// CHECK: tensor.pad

// Another number is padded with.
// RUN: weft-compile %s --invariant=x --to local -o %t.mlir
// RUN: sed '0,/tensor.yield %%c5_i8/s//tensor.yield %%c0_i8/' %t.mlir > %t.other.mlir
// RUN: not weft-opt %t.other.mlir --weft-verify-invariance 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: {{.*}}has dim 0 of size 9 {{.*}}expected size 11

#id = affine_map<(d0) -> (d0)>
weft.mesh @mesh = <["x"=2, "y"=3, "z"=2]>
func.func @main(%a: tensor<9xi8> {weft.sharding = #weft.sharding<@mesh, [{"y", "x"}], storage = {"x"}>},
                %b: tensor<7xi8> {weft.sharding = #weft.sharding<@mesh, [{"y"}]>}, %c: tensor<9xi8> {weft.sharding = #weft.sharding<@mesh, [{"x", "y"}]>})
    -> (tensor<11xi8> {weft.sharding = #weft.sharding<@mesh, [{"z"}]>}, tensor<11xi8> {weft.sharding = #weft.sharding<@mesh, [{}]>},
        tensor<9xi8> {weft.sharding = #weft.sharding<@mesh, [{"y"}]>}, tensor<9xi8> {weft.sharding = #weft.sharding<@mesh, [{"x", "y"}]>}) {
  %five = arith.constant 5 : i8
  %0 = tensor.pad %a low[0] high[2] {
  ^bb0(%i: index):
    tensor.yield %five : i8
  } : tensor<9xi8> to tensor<11xi8>
  %e = tensor.empty() : tensor<11xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%0 : tensor<11xi8>) outs(%e : tensor<11xi8>) {
  ^bb0(%i: i8, %o: i8):
    %r = arith.muli %i, %i : i8
    linalg.yield %r : i8
  } -> tensor<11xi8>
  %2 = tensor.pad %b low[0] high[2] {
  ^bb0(%i: index):
    tensor.yield %five : i8
  } : tensor<7xi8> to tensor<9xi8>
  %f = tensor.empty() : tensor<9xi8>
  %3 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%2, %c : tensor<9xi8>, tensor<9xi8>) outs(%f : tensor<9xi8>) {
  ^bb0(%i: i8, %j: i8, %o: i8):
    %r = arith.addi %i, %j : i8
    linalg.yield %r : i8
  } -> tensor<9xi8>
  return %0, %1, %2, %3 : tensor<11xi8>, tensor<11xi8>, tensor<9xi8>, tensor<9xi8>
}
