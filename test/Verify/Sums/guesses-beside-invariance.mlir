// If only some axes are invariant, the one-rank program is cut along the others, too: of what says no size, how long it is there
// is a guess as well, which results make smaller. And of indices in a tensor of one element nobody says along which dimension
// they are: each is tried.

// RUN: weft-compile %s --invariant=z --to local -o - | FileCheck %s
// RUN: weft-compile %s --invariant=x,z --mesh y=1 --to local -o - | FileCheck %s
// CHECK: func.func @step

weft.mesh @mesh = <["x"=2, "y"=3, "z"=2]>
func.func @step(%n: tensor<i32> {weft.name = "n", weft.sharding = #weft.sharding<@mesh, []>})
    -> (tensor<9xi32> {weft.name = "r0", weft.sharding = #weft.sharding<@mesh, [{"x"}]>},
        tensor<9xi32> {weft.name = "r1", weft.sharding = #weft.sharding<@mesh, [{"x", "y"}]>},
        tensor<1x3xi32> {weft.name = "r2", weft.sharding = #weft.sharding<@mesh, [{}, {"x", "z"}]>}) {
  %c = arith.constant dense<-100> : tensor<9xi32>
  %e = tensor.empty() : tensor<9xi32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%c, %n : tensor<9xi32>, tensor<i32>) outs(%e : tensor<9xi32>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    linalg.yield %p : i32
  } -> tensor<9xi32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%0 : tensor<9xi32>) outs(%e : tensor<9xi32>) {
  ^bb0(%a: i32, %o: i32):
    %seven = arith.constant 7 : i32
    %r = arith.remsi %a, %seven : i32
    linalg.yield %r : i32
  } -> tensor<9xi32>
  %f = tensor.empty() : tensor<1x3xi32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%f : tensor<1x3xi32>) {
  ^bb0(%o: i32):
    %k = linalg.index 1 : index
    %i = arith.index_cast %k : index to i32
    linalg.yield %i : i32
  } -> tensor<1x3xi32>
  return %0, %1, %2 : tensor<9xi32>, tensor<9xi32>, tensor<1x3xi32>
}
