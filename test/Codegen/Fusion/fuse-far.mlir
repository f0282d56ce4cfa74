// RUN: weft-opt --split-input-file --weft-fuse-kernels %s | FileCheck %s

// What is read far from where it is made is made at once, if what it is made of
// takes up more memory: parts of a sum over layers do not all wait for its end.

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
#bij = affine_map<(i, j, b) -> (b, i, j)>
#ij = affine_map<(i, j, b) -> (i, j)>
!t = tensor<512x512xf32>
!all = tensor<4x512x512xf32>

// CHECK-LABEL: func @far(
// CHECK: %[[SUM:.*]] = weft_rt.fused ins(%{{.*}}, %{{.*}} : tensor<512x512xf32>, tensor<512x512xf32>)
// CHECK-COUNT-4: weft.matmul
// CHECK: weft_rt.fused ins(%[[SUM]], %{{.*}} : tensor<512x512xf32>, tensor<512x512xf32>)
func.func @far(%x: !t, %w: !t) -> !t {
  %e = tensor.empty() : !t
  %a = weft.matmul %x, %x {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  %b = weft.matmul %a, %w {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  %ab = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : !t, !t) outs(%e : !t) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %s = arith.addf %l, %r : f32
    linalg.yield %s : f32
  } -> !t
  %c = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  %d = weft.matmul %c, %w {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  %f = weft.matmul %d, %w {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  %g = weft.matmul %f, %w {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%ab, %g : !t, !t) outs(%e : !t) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %s = arith.addf %l, %r : f32
    linalg.yield %s : f32
  } -> !t
  return %r : !t
}

// A layer's own sums stay one kernel.
// CHECK-LABEL: func @near(
// CHECK-NOT: weft_rt.fused
// CHECK-COUNT-5: weft.matmul
// CHECK: weft_rt.fused ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>)
// CHECK-NOT: weft_rt.fused
func.func @near(%x: !t, %w: !t) -> !t {
  %e = tensor.empty() : !t
  %a = weft.matmul %x, %x {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  %b = weft.matmul %a, %w {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  %ab = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : !t, !t) outs(%e : !t) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %s = arith.addf %l, %r : f32
    linalg.yield %s : f32
  } -> !t
  %c = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  %d = weft.matmul %c, %w {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  %f = weft.matmul %d, %w {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%ab, %f : !t, !t) outs(%e : !t) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %s = arith.addf %l, %r : f32
    linalg.yield %s : f32
  } -> !t
  return %r : !t
}

// What waits for others anyway takes up no memory for this one.
// CHECK-LABEL: func @awaited(
// CHECK-NOT: weft_rt.fused
// CHECK-COUNT-6: weft.matmul
// CHECK: weft_rt.fused ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>)
// CHECK-NOT: weft_rt.fused
// CHECK: weft.matmul
func.func @awaited(%x: !t, %w: !t) -> (!t, !t) {
  %e = tensor.empty() : !t
  %a = weft.matmul %x, %x {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  %b = weft.matmul %a, %w {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  %ab = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : !t, !t) outs(%e : !t) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %s = arith.addf %l, %r : f32
    linalg.yield %s : f32
  } -> !t
  %c = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  %d = weft.matmul %c, %w {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  %f = weft.matmul %d, %w {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  %g = weft.matmul %f, %w {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%ab, %g : !t, !t) outs(%e : !t) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %s = arith.addf %l, %r : f32
    linalg.yield %s : f32
  } -> !t
  %last = weft.matmul %a, %w {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  return %r, %last : !t, !t
}

// So with sums that read more than they make.
// CHECK-LABEL: func @reduced(
// CHECK: %[[SUM:.*]] = weft_rt.fused ins(%{{.*}} : tensor<4x512x512xf32>)
// CHECK-COUNT-4: weft.matmul
// CHECK: weft_rt.fused ins(%[[SUM]], %{{.*}} : tensor<512x512xf32>, tensor<512x512xf32>)
func.func @reduced(%x: !t, %w: !t, %pieces: tensor<2x512x512xf32>) -> !t {
  %e = tensor.empty() : !t
  %none = arith.constant 0.0 : f32
  %zero = linalg.fill ins(%none : f32) outs(%e : !t) -> !t
  %made = tensor.concat dim(0) %pieces, %pieces : (tensor<2x512x512xf32>, tensor<2x512x512xf32>) -> !all
  %ab = linalg.generic {indexing_maps = [#bij, #ij], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%made : !all) outs(%zero : !t) {
  ^bb0(%l: f32, %o: f32):
    %s = arith.addf %l, %o : f32
    linalg.yield %s : f32
  } -> !t
  %c = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  %d = weft.matmul %c, %w {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  %f = weft.matmul %d, %w {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  %g = weft.matmul %f, %w {indexing_maps = [#mk, #kn, #mn]} : !t, !t -> !t
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%ab, %g : !t, !t) outs(%e : !t) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %s = arith.addf %l, %r : f32
    linalg.yield %s : f32
  } -> !t
  return %r : !t
}
