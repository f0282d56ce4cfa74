// A result along an axis that is not invariant, of a size that is no multiple
// of it: the one-rank program has ranks along that as well, and pads for them.
// RUN: weft-compile %s --to local --invariant=z -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// CHECK: tensor.pad
// CHECK: module @one_rank
// CHECK: tensor.pad

// Another rank's part is none.
// RUN: sed '0,/extract_slice %%padded\[%%1\]/s//extract_slice %%padded[0]/' %t.mlir > %t.other.mlir
// RUN: not weft-opt %t.other.mlir --weft-verify-invariance 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: {{.*}}result #0
weft.mesh @mesh = <["x"=3, "z"=1]>
func.func @main(%a: tensor<2xf32> {weft.name = "a", weft.sharding = #weft.sharding<@mesh, [{}]>})
    -> (tensor<2xf32> {weft.name = "r", weft.sharding = #weft.sharding<@mesh, [{"x"}]>}) {
  %e = tensor.empty() : tensor<2xf32>
  %v = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%a : tensor<2xf32>) outs(%e : tensor<2xf32>) {
  ^bb0(%i0: f32, %o: f32):
    %r = math.sqrt %i0 : f32
    linalg.yield %r : f32
  } -> tensor<2xf32>
  return %v : tensor<2xf32>
}
