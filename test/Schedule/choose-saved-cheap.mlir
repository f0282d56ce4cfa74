// RUN: weft-opt %s --weft-choose-saved=machine=h100x8 | FileCheck %s
// RUN: weft-opt %s --weft-choose-saved=machine=host | FileCheck %s --check-prefix=KEPT

// Memory costs nothing here, but what a kernel keeps for a later kernel alone is
// written and read for that. On a GPU the exponential takes less; on a CPU it
// takes more.
#id = affine_map<(i, j) -> (i, j)>
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func @gated
// CHECK: %[[GATE:.*]] = weft.matmul %{{.*}}, %{{.*}}
// CHECK: math.exp
// CHECK: weft.matmul
// CHECK: %[[LAST:.*]] = weft.matmul
// CHECK: %[[B:.*]]:2 = weft.optimization_barrier %[[GATE]], %[[LAST]]
// CHECK: linalg.generic {{.*}} ins(%[[B]]#0 :
// CHECK: math.exp
// What the gradient's kernel reads beside that is the same value.
// CHECK: linalg.generic {{.*}} ins(%[[LAST]], %[[B]]#0, %{{.*}} :
// KEPT-LABEL: func @gated
// KEPT: math.exp
// KEPT-NOT: math.exp
func.func @gated(%x: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %gate = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%gate : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<1024x1024xf32>
  %p = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%gate, %s : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<1024x1024xf32>
  %1 = weft.matmul %p, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %2 = weft.matmul %1, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%2, %gate, %s : tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %4 = arith.mulf %a, %b : f32
    %5 = arith.addf %4, %c : f32
    linalg.yield %5 : f32
  } -> tensor<1024x1024xf32>
  return %3 : tensor<1024x1024xf32>
}
