// RUN: weft-opt %s --weft-choose-saved=machine=h100x8 | FileCheck %s
// RUN: weft-opt %s --weft-choose-saved=machine=host | FileCheck %s --check-prefix=KEPT
// RUN: weft-opt %s --weft-choose-saved="machine=h100x8 time=true" | FileCheck %s --check-prefix=TIME

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

// What is cast again is read in its wide type: the narrow one costs less, unless
// memory is to be saved, even if both are there.
// CHECK-LABEL: func @narrow
// CHECK: arith.truncf
// CHECK: arith.truncf
// KEPT-LABEL: func @narrow
// TIME-LABEL: func @narrow
// TIME: arith.truncf
// TIME-NOT: arith.truncf
func.func @narrow(%x: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %n = tensor.empty() : tensor<1024x1024xf8E4M3FN>
  %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %cast = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<1024x1024xf32>) outs(%n : tensor<1024x1024xf8E4M3FN>) {
  ^bb0(%a: f32, %o: f8E4M3FN):
    %4 = arith.truncf %a : f32 to f8E4M3FN
    linalg.yield %4 : f8E4M3FN
  } -> tensor<1024x1024xf8E4M3FN>
  %1 = weft.matmul %0, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %2 = weft.matmul %1, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%2, %0, %cast : tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf8E4M3FN>) outs(%e : tensor<1024x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f8E4M3FN, %o: f32):
    %4 = arith.mulf %a, %b : f32
    %5 = arith.extf %c : f8E4M3FN to f32
    %6 = arith.addf %4, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<1024x1024xf32>
  return %3 : tensor<1024x1024xf32>
}

// As around a loss: no product is between the exponential and what reads it, so
// that one kernel may do both, unless memory is to be saved.
// CHECK-LABEL: func @loss
// CHECK: math.exp
// CHECK: math.exp
// TIME-LABEL: func @loss
// TIME: math.exp
// TIME-NOT: math.exp
func.func @loss(%x: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %1 = weft.matmul %0, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %logits = weft.matmul %1, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%logits : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) {
  ^bb0(%a: f32, %o: f32):
    %6 = math.exp %a : f32
    linalg.yield %6 : f32
  } -> tensor<1024x1024xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%logits : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) {
  ^bb0(%a: f32, %o: f32):
    %6 = arith.mulf %a, %a : f32
    linalg.yield %6 : f32
  } -> tensor<1024x1024xf32>
  %d = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%logits, %s : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %6 = arith.addf %a, %b : f32
    linalg.yield %6 : f32
  } -> tensor<1024x1024xf32>
  %2 = weft.matmul %d, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %3 = weft.matmul %2, %1 {indexing_maps = [#mk, #kn, #mn]} : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %4 = weft.matmul %3, %0 {indexing_maps = [#mk, #kn, #mn]} : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %5 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%4, %q : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %6 = arith.addf %a, %b : f32
    linalg.yield %6 : f32
  } -> tensor<1024x1024xf32>
  return %5 : tensor<1024x1024xf32>
}
