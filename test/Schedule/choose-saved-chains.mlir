// RUN: weft-opt %s --weft-choose-saved=price=1000000000 | FileCheck %s

// Between the parts of an elementwise chain nothing waits, however many of them
// are read later in it: the forward pass ends after its products, and what the
// last product reads again is computed again shortly before it.

#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
// CHECK-LABEL: func.func @f
// CHECK-NOT: weft.optimization_barrier
// CHECK: weft.matmul {{.*}} "sixth"
// CHECK: weft.optimization_barrier
// CHECK: weft.matmul {{.*}} "last"
func.func @f(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %empty = tensor.empty() : tensor<64x64xf32>
  %p = weft.matmul %x, %w {weft.op = "first", indexing_maps = [#l, #r, #o]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %e1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) {
  ^bb0(%a0: f32, %out: f32):
    %s = math.exp %a0 : f32
    linalg.yield %s : f32
  } -> tensor<64x64xf32>
  %e2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%e1 : tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) {
  ^bb0(%a0: f32, %out: f32):
    %s = math.exp %a0 : f32
    linalg.yield %s : f32
  } -> tensor<64x64xf32>
  %e3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%e2 : tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) {
  ^bb0(%a0: f32, %out: f32):
    %s = math.exp %a0 : f32
    linalg.yield %s : f32
  } -> tensor<64x64xf32>
  %e4 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%e3 : tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) {
  ^bb0(%a0: f32, %out: f32):
    %s = math.exp %a0 : f32
    linalg.yield %s : f32
  } -> tensor<64x64xf32>
  %e5 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%e4 : tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) {
  ^bb0(%a0: f32, %out: f32):
    %s = math.exp %a0 : f32
    linalg.yield %s : f32
  } -> tensor<64x64xf32>
  %e6 = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%e1, %e2, %e3, %e4, %e5 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) {
  ^bb0(%a0: f32, %a1: f32, %a2: f32, %a3: f32, %a4: f32, %out: f32):
    %s1 = arith.addf %a0, %a1 : f32
    %s2 = arith.addf %s1, %a2 : f32
    %s3 = arith.addf %s2, %a3 : f32
    %s4 = arith.addf %s3, %a4 : f32
    linalg.yield %s4 : f32
  } -> tensor<64x64xf32>
  %m0 = weft.matmul %e6, %w {weft.op = "second", indexing_maps = [#l, #r, #o]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %m1 = weft.matmul %m0, %w {weft.op = "third", indexing_maps = [#l, #r, #o]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %m2 = weft.matmul %m1, %w {weft.op = "fourth", indexing_maps = [#l, #r, #o]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %m3 = weft.matmul %m2, %w {weft.op = "fifth", indexing_maps = [#l, #r, #o]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %m4 = weft.matmul %m3, %w {weft.op = "sixth", indexing_maps = [#l, #r, #o]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %last = weft.matmul %m4, %e6 {weft.op = "last", indexing_maps = [#l, #r, #o]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  return %last : tensor<64x64xf32>
}
