// What a program marks to be computed again is kept where memory is loose, as
// it is without marks, although the product's operand is gathered twice.

// RUN: weft-compile %s --machine h100x8 --memory-limit 64MiB --recompute auto --to planned -o - | FileCheck %s --check-prefix=KEPT
// RUN: weft-compile %s --machine h100x8 --memory-limit 64MiB --recompute none --to planned -o - | FileCheck %s --check-prefix=KEPT
// RUN: weft-compile %s --machine h100x8 --memory-limit 64MiB --recompute marked --to planned -o - | FileCheck %s --check-prefix=AGAIN

// KEPT-COUNT-5: weft_rt.gemm
// KEPT-NOT: weft_rt.gemm
// AGAIN-COUNT-6: weft_rt.gemm
// AGAIN-NOT: weft_rt.gemm

weft.mesh @mesh = <["d"=8]>
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#nk = affine_map<(m, n, k) -> (n, k)>
#km = affine_map<(m, n, k) -> (k, m)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @step(
    %x: tensor<1024x128xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"d"}, {}]>},
    %up: tensor<128x512xf32> {weft.name = "up", weft.sharding = #weft.sharding<@mesh, [{}, {"d"}]>},
    %down: tensor<512x128xf32> {weft.name = "down", weft.sharding = #weft.sharding<@mesh, [{"d"}, {}]>},
    %g: tensor<1024x128xf32> {weft.name = "g", weft.sharding = #weft.sharding<@mesh, [{"d"}, {}]>})
    -> (tensor<1024x128xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"d"}, {}]>},
        tensor<1024x128xf32> {weft.name = "gradient.x", weft.sharding = #weft.sharding<@mesh, [{"d"}, {}]>},
        tensor<512x128xf32> {weft.name = "gradient.down", weft.sharding = #weft.sharding<@mesh, [{"d"}, {}]>}) {
  %h = weft.matmul %x, %up {indexing_maps = [#mk, #kn, #mn]} : tensor<1024x128xf32>, tensor<128x512xf32> -> tensor<1024x512xf32>
  %a = math.tanh %h : tensor<1024x512xf32>
  %y = weft.matmul %a, %down {indexing_maps = [#mk, #kn, #mn]} : tensor<1024x512xf32>, tensor<512x128xf32> -> tensor<1024x128xf32>
  %xs:2 = weft.optimization_barrier %x, %y : tensor<1024x128xf32>, tensor<1024x128xf32>
  %again = weft.optimization_barrier %up : tensor<128x512xf32>
  %h2 = weft.matmul %xs#0, %again {indexing_maps = [#mk, #kn, #mn]} : tensor<1024x128xf32>, tensor<128x512xf32> -> tensor<1024x512xf32>
  %own = weft.shard %h2 to <@mesh, [{"d"}, {}]> : tensor<1024x512xf32>
  %a2 = math.tanh %own : tensor<1024x512xf32>
  %gdown = weft.matmul %a2, %g {indexing_maps = [#km, #kn, #mn]} : tensor<1024x512xf32>, tensor<1024x128xf32> -> tensor<512x128xf32>
  %da = weft.matmul %g, %down {indexing_maps = [#mk, #nk, #mn]} : tensor<1024x128xf32>, tensor<512x128xf32> -> tensor<1024x512xf32>
  %dh = arith.mulf %da, %a2 : tensor<1024x512xf32>
  %gx = weft.matmul %dh, %again {indexing_maps = [#mk, #nk, #mn]} : tensor<1024x512xf32>, tensor<128x512xf32> -> tensor<1024x128xf32>
  return %y, %gx, %gdown : tensor<1024x128xf32>, tensor<1024x128xf32>, tensor<512x128xf32>
}
