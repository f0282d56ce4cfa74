// What is cheap is computed again only if that saves more than fusion does
// anyway, by an estimate: else nothing is fused a second time.
// RUN: split-file %s %t
// RUN: weft-compile %t/gated.mlir --machine h100x8 --memory-limit none --schedule next-layer --no-proofs --to scheduled --timing -o %t/out.mlir 2>&1 | FileCheck %s --check-prefix=AGAIN
// RUN: weft-compile %t/scaled.mlir --machine h100x8 --memory-limit none --schedule next-layer --no-proofs --to scheduled --timing -o %t/out.mlir 2>&1 | FileCheck %s --check-prefix=ONCE
// AGAIN: ChooseSavedPass
// ONCE: FuseKernelsPass
// ONCE-NOT: ChooseSavedPass

//--- gated.mlir
#id = affine_map<(i, j) -> (i, j)>
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @gated(%x: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %gate = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%gate : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<1024x1024xf32>
  %p = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%gate, %s : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.mulf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<1024x1024xf32>
  %1 = weft.matmul %p, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %2 = weft.matmul %1, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%2, %gate, %s : tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %z = arith.mulf %a, %b : f32
    %y = arith.addf %z, %c : f32
    linalg.yield %y : f32
  } -> tensor<1024x1024xf32>
  return %3 : tensor<1024x1024xf32>
}

//--- scaled.mlir
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @scaled(%x: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>, %r: tensor<1024xf32>) -> tensor<1024x1024xf32> {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %gate = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %s = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%gate, %r : tensor<1024x1024xf32>, tensor<1024xf32>) outs(%e : tensor<1024x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.mulf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<1024x1024xf32>
  %p = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%gate, %s : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.mulf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<1024x1024xf32>
  %1 = weft.matmul %p, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %2 = weft.matmul %1, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%2, %gate, %s : tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %z = arith.mulf %a, %b : f32
    %y = arith.addf %z, %c : f32
    linalg.yield %y : f32
  } -> tensor<1024x1024xf32>
  return %3 : tensor<1024x1024xf32>
}
