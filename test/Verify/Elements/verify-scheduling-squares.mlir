// RUN: weft-compile %s --to scheduled -o %t.mlir

// A product of a tensor with itself, of which fusion leaves out a loop: which of
// the two elements comes first must not depend on what was read before.

weft.mesh @mesh = <["x"=1]>
func.func @main(%a: tensor<1x4x4xi32> {weft.name = "a"}) -> (tensor<4x4xi32> {weft.name = "sum"}, tensor<1x4x4xi32> {weft.name = "rest"}) {
  %zeros = arith.constant dense<0> : tensor<1x4x4xi32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %a : tensor<1x4x4xi32>, tensor<1x4x4xi32>) outs(%zeros : tensor<1x4x4xi32>) {
  ^bb0(%p: i32, %q: i32, %o: i32):
    %m = arith.muli %p, %q : i32
    %r = arith.addi %o, %m : i32
    linalg.yield %r : i32
  } -> tensor<1x4x4xi32>
  %zero = arith.constant dense<0> : tensor<4x4xi32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%0 : tensor<1x4x4xi32>) outs(%zero : tensor<4x4xi32>) {
  ^bb0(%p: i32, %o: i32):
    %r = arith.addi %p, %o : i32
    linalg.yield %r : i32
  } -> tensor<4x4xi32>
  %empty = tensor.empty() : tensor<1x4x4xi32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%0 : tensor<1x4x4xi32>) outs(%empty : tensor<1x4x4xi32>) {
  ^bb0(%p: i32, %o: i32):
    %seven = arith.constant 7 : i32
    %r = arith.remsi %p, %seven : i32
    linalg.yield %r : i32
  } -> tensor<1x4x4xi32>
  return %1, %2 : tensor<4x4xi32>, tensor<1x4x4xi32>
}
