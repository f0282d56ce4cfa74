// RUN: %equivalence %s --mesh a=1 --mesh a=2 --mesh b=3 --mesh a=2,b=2 --mesh a=3,b=2,c=2

// Elementwise ops, broadcasts and transposes, with sizes that some meshes do
// not divide; division by values that padding must not make zero.
weft.mesh @mesh = <["a"=1, "b"=1, "c"=1]>
func.func @elementwise(
    %x: tensor<8x10xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"a"}, {"b", "c"}]>},
    %v: tensor<10xf32> {weft.name = "v", weft.sharding = #weft.sharding<@mesh, [{"a"}]>},
    %i: tensor<8x10xi32> {weft.name = "i", weft.sharding = #weft.sharding<@mesh, [{"c"}, {"a"}]>})
    -> (tensor<10x8xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"b"}, {"a"}]>},
        tensor<8x10xi32> {weft.name = "q", weft.sharding = #weft.sharding<@mesh, [{}, {"b"}]>}) {
  %e = tensor.empty() : tensor<10x8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(r, c) -> (c, r)>, affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x, %v : tensor<8x10xf32>, tensor<10xf32>) outs(%e : tensor<10x8xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %m = arith.mulf %p, %q : f32
    %t = math.exp %m : f32
    %s = arith.addf %t, %q : f32
    linalg.yield %s : f32
  } -> tensor<10x8xf32>
  %c3 = arith.constant 3 : i32
  %f = tensor.empty() : tensor<8x10xi32>
  %1 = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<8x10xi32>) outs(%f : tensor<8x10xi32>) {
  ^bb0(%p: i32, %out: i32):
    %c = linalg.index 1 : index
    %ci = arith.index_cast %c : index to i32
    %b = arith.addi %p, %c3 : i32
    %q = arith.divsi %ci, %b : i32
    %r = arith.remsi %ci, %b : i32
    %s = arith.addi %q, %r : i32
    linalg.yield %s : i32
  } -> tensor<8x10xi32>
  return %0, %1 : tensor<10x8xf32>, tensor<8x10xi32>
}
