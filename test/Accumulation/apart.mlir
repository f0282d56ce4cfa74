// Microbatches are not gathered, though that is fewer bytes than the sums of a table's gradient, which stay on the rank.

// RUN: weft-compile %s --mesh mb=8,fsdp=2 --accumulate mb --to local -o - | FileCheck %s --check-prefix APART
// APART-COUNT-8: weft.matmul {{.*}} tensor<32x64xf32> -> tensor<1024x64xf32>

// And the gradient is reduced to the shards of who keeps it, once, not whole.

// RUN: sed 's/<512x/<4096x/g' %s | weft-compile - --mesh mb=8,fsdp=2 --accumulate mb --to local -o %t.mlir --stats 2>&1 | FileCheck %s --check-prefix ONCE
// ONCE: all_gather <{"fsdp"}> 1 tensors 131072 B
// ONCE-NEXT: reduce_scatter <{"fsdp"}> 1 tensors 131072 B
// ONCE-NEXT: total 2 tensors 262144 B

// Where a microbatch has less on a rank than a leaf of an ordered sum, those of the rank are put together, and not those of several ranks:
// the bytes of one microbatch.

// RUN: sed 's/<512x/<64x/g' %s | weft-compile - --mesh mb=1,fsdp=2 --accumulate mb --invariant --to local -o %t.mlir --stats 2>&1 | FileCheck %s --check-prefix LEAVES
// RUN: sed 's/<512x/<64x/g' %s | weft-compile - --mesh mb=2,fsdp=2 --accumulate mb --invariant --to local -o %t.mlir --stats 2>&1 | FileCheck %s --check-prefix LEAVES
// LEAVES: all_gather <{"fsdp"}> 2 tensors 139264 B
// LEAVES-NEXT: all_to_all <{"fsdp"}> 1 tensors 65536 B
// LEAVES-NEXT: total 3 tensors 204800 B

module {
  weft.mesh @mesh = <["mb"=1, "fsdp"=1]>
  func.func @step(
      %x: tensor<512x64xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"mb", "fsdp"}, {}]>},
      %w: tensor<64x1024xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {"fsdp"}]>})
      -> (tensor<64x1024xf32> {weft.name = "new_w", weft.sharding = #weft.sharding<@mesh, [{}, {"fsdp"}]>}) {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<512x1024xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512x1024xf32>) -> tensor<512x1024xf32>
    %y = linalg.matmul ins(%x, %w : tensor<512x64xf32>, tensor<64x1024xf32>) outs(%f : tensor<512x1024xf32>) -> tensor<512x1024xf32>
    %ge = tensor.empty() : tensor<1024x64xf32>
    %gf = linalg.fill ins(%zero : f32) outs(%ge : tensor<1024x64xf32>) -> tensor<1024x64xf32>
    %g = linalg.generic {
        indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
        iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%y, %x : tensor<512x1024xf32>, tensor<512x64xf32>) outs(%gf : tensor<1024x64xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %c, %p : f32
      linalg.yield %s : f32
    } -> tensor<1024x64xf32>
    %te = tensor.empty() : tensor<64x1024xf32>
    %t = linalg.transpose ins(%g : tensor<1024x64xf32>) outs(%te : tensor<64x1024xf32>) permutation = [1, 0]
    %new = linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%w, %t : tensor<64x1024xf32>, tensor<64x1024xf32>) outs(%te : tensor<64x1024xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %d = arith.subf %a, %b : f32
      linalg.yield %d : f32
    } -> tensor<64x1024xf32>
    return %new : tensor<64x1024xf32>
  }
}
