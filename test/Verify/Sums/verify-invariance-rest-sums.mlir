// A sum along an axis that is not invariant, whose parts are padded for the
// ranks that get one each: so they are in the one-rank program.
// RUN: weft-compile %s --to local --invariant=z -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// CHECK: tensor.pad
// CHECK: weft.reduce_scatter
// CHECK: module @one_rank
// CHECK: weft.reduce_scatter

// Other parts are none.
// RUN: sed '0,/arith.addf %%out, %%in/s//arith.subf %%out, %%in/' %t.mlir > %t.other.mlir
// RUN: not weft-opt %t.other.mlir --weft-verify-invariance 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: {{.*}}combines in a way that ranks cannot share
weft.mesh @mesh = <["x"=3, "z"=1]>
func.func @main(%a: tensor<6x2xf32> {weft.name = "a", weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<2xf32> {weft.name = "r", weft.sharding = #weft.sharding<@mesh, [{"x"}]>}) {
  %e = arith.constant dense<0.0> : tensor<2xf32>
  %v = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]}
      ins(%a : tensor<6x2xf32>) outs(%e : tensor<2xf32>) {
  ^bb0(%i0: f32, %o: f32):
    %r = arith.addf %o, %i0 : f32
    linalg.yield %r : f32
  } -> tensor<2xf32>
  return %v : tensor<2xf32>
}
