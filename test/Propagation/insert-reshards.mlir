// RUN: weft-opt %s -split-input-file --weft-infer-storage --weft-propagate-shardings --weft-insert-reshards --weft-verify-sharding | FileCheck %s

// Two layers with a weight sharded by column and one by row: each gathered in
// front of its use along the storage axis, one sum over tp at the end.

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#y = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

weft.mesh @mesh = <["dp"=2, "fsdp"=2, "tp"=2]>

// CHECK-LABEL: func.func @mlp
// CHECK-SAME: %[[X:.+]]: tensor<64x32xf32>
// CHECK-SAME: %[[W1:.+]]: tensor<32x128xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {"tp"}], storage = {"fsdp"}>}
// CHECK-SAME: %[[W2:.+]]: tensor<128x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {"fsdp"}], storage = {"fsdp"}>}
// CHECK: %[[G1:.+]] = weft.reshard %[[W1]] from <@mesh, [{"fsdp"}, {"tp"}], storage = {"fsdp"}> to <@mesh, [{}, {"tp"}]>
// CHECK-NEXT: %[[H:.+]] = weft.matmul %[[X]], %[[G1]] {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"dp", "fsdp"}, {"tp"}]>]
// CHECK: %[[R:.+]] = linalg.generic {{.*}}ins(%[[H]]
// CHECK: %[[G2:.+]] = weft.reshard %[[W2]] from <@mesh, [{"tp"}, {"fsdp"}], storage = {"fsdp"}> to <@mesh, [{"tp"}, {}]>
// CHECK-NEXT: %[[P:.+]] = weft.matmul %[[R]], %[[G2]] {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"dp", "fsdp"}, {}], partial = sum {"tp"}>]
// CHECK-NEXT: %[[Y:.+]] = weft.reshard %[[P]] from <@mesh, [{"dp", "fsdp"}, {}], partial = sum {"tp"}> to <@mesh, [{"dp", "fsdp"}, {}]>
// CHECK-NEXT: return %[[Y]]
func.func @mlp(
    %x: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}, {}]>},
    %w1: tensor<32x128xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {"tp"}], storage = {"fsdp"}>},
    %w2: tensor<128x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {"fsdp"}], storage = {"fsdp"}>})
    -> tensor<64x32xf32> {
  %h = weft.matmul %x, %w1 {indexing_maps = [#x, #w, #y]} : tensor<64x32xf32>, tensor<32x128xf32> -> tensor<64x128xf32>
  %e = tensor.empty() : tensor<64x128xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<64x128xf32>) outs(%e : tensor<64x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = math.tanh %a : f32
    linalg.yield %t : f32
  } -> tensor<64x128xf32>
  %y = weft.matmul %r, %w2 {indexing_maps = [#x, #w, #y]} : tensor<64x128xf32>, tensor<128x32xf32> -> tensor<64x32xf32>
  return %y : tensor<64x32xf32>
}

// -----

// Three contributions to one gradient: they are added before they are summed
// over the ranks.

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

weft.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK-LABEL: func.func @one_sum
// CHECK-COUNT-3: weft.matmul {{.*}}partial = sum {"tp"}
// CHECK: linalg.generic {{.*}}partial = sum {"tp"}
// CHECK: linalg.generic {{.*}}partial = sum {"tp"}
// CHECK: weft.reshard {{.*}} from <@mesh, [{"dp"}, {}], partial = sum {"tp"}> to <@mesh, [{"dp"}, {}]>
// CHECK-NOT: weft.reshard
// CHECK: return
func.func @one_sum(
    %dq: tensor<64x128xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>},
    %dk: tensor<64x128xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>},
    %dv: tensor<64x128xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>},
    %wq: tensor<32x128xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
    %wk: tensor<32x128xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
    %wv: tensor<32x128xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}) {
  %e = tensor.empty() : tensor<64x32xf32>
  %q = weft.matmul %dq, %wq {indexing_maps = [#x, #w, #y]} : tensor<64x128xf32>, tensor<32x128xf32> -> tensor<64x32xf32>
  %k = weft.matmul %dk, %wk {indexing_maps = [#x, #w, #y]} : tensor<64x128xf32>, tensor<32x128xf32> -> tensor<64x32xf32>
  %v = weft.matmul %dv, %wv {indexing_maps = [#x, #w, #y]} : tensor<64x128xf32>, tensor<32x128xf32> -> tensor<64x32xf32>
  %qk = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%q, %k : tensor<64x32xf32>, tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.addf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<64x32xf32>
  %dx = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%qk, %v : tensor<64x32xf32>, tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.addf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<64x32xf32>
  return %dx : tensor<64x32xf32>
}

// -----

// Gradients of two microbatches, scaled and added, then an update on the
// storage shards: one reduction to the shard. The weight is cast where it
// rests.

#x = affine_map<(m, n, k) -> (k, m)>
#w = affine_map<(m, n, k) -> (k, n)>
#y = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

weft.mesh @mesh = <["dp"=2, "fsdp"=2]>

// CHECK-LABEL: func.func @accumulate
// CHECK-COUNT-2: weft.matmul {{.*}}partial = sum {"dp", "fsdp"}
// CHECK: linalg.generic {{.*}}partial = sum {"dp", "fsdp"}
// CHECK: %[[G:.+]] = weft.reshard {{.*}} from <@mesh, [{}, {}], partial = sum {"dp", "fsdp"}> to <@mesh, [{"fsdp"}, {}], storage = {"fsdp"}>
// CHECK-NEXT: linalg.generic {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"fsdp"}, {}], storage = {"fsdp"}>]
// CHECK-NOT: weft.reshard
// CHECK: return
func.func @accumulate(
    %x0: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}, {}]>},
    %x1: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}, {}]>},
    %d0: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}, {}]>},
    %d1: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}, {}]>},
    %p: tensor<32x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}], storage = {"fsdp"}>})
    -> (tensor<32x32xf32> {weft.alias = 4 : index}) {
  %e = tensor.empty() : tensor<32x32xf32>
  %half = arith.constant 5.0e-01 : f32
  %g0 = weft.matmul %x0, %d0 {indexing_maps = [#x, #w, #y]} : tensor<64x32xf32>, tensor<64x32xf32> -> tensor<32x32xf32>
  %g1 = weft.matmul %x1, %d1 {indexing_maps = [#x, #w, #y]} : tensor<64x32xf32>, tensor<64x32xf32> -> tensor<32x32xf32>
  %g = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g0, %g1 : tensor<32x32xf32>, tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.mulf %a, %half : f32
    %t = arith.mulf %b, %half : f32
    %u = arith.addf %s, %t : f32
    linalg.yield %u : f32
  } -> tensor<32x32xf32>
  %n = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %g : tensor<32x32xf32>, tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = math.tanh %b : f32
    %t = arith.subf %a, %s : f32
    linalg.yield %t : f32
  } -> tensor<32x32xf32>
  return %n : tensor<32x32xf32>
}

// -----

// A user's gather of a weight is one per use, after the cast; two uses with
// no other gather in between share one.

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#y = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

weft.mesh @mesh = <["fsdp"=4]>

// CHECK-LABEL: func.func @gather_per_use
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<64x32xbf16>
// CHECK: %[[B:.+]] = linalg.generic {{.*}}ins(%{{.*}} : tensor<32x32xf32>){{.*}}weft.shardings = [#weft.sharding<@mesh, [{"fsdp"}, {}], storage = {"fsdp"}>]
// CHECK: %[[G:.+]] = weft.reshard %[[B]]
// CHECK-SAME: tensor<32x32xbf16>
// CHECK-NEXT: weft.matmul %[[X]], %[[G]]
// CHECK-NEXT: weft.matmul %{{.*}}, %[[G]]
// CHECK-NEXT: weft.reshard {{.*}} to <@mesh, [{}, {}]>
// CHECK-NEXT: weft.matmul
// CHECK-NEXT: weft.reshard %[[B]]
// CHECK-NEXT: weft.matmul
// CHECK-NOT: weft.reshard
// CHECK: return
func.func @gather_per_use(
    %x: tensor<64x32xbf16> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}]>},
    %w: tensor<32x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}]>},
    %v: tensor<32x32xbf16> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}], storage = {"fsdp"}>})
    -> tensor<64x32xbf16> {
  %s = weft.shard %w to <@mesh, [{}, {}]> : tensor<32x32xf32>
  %e = tensor.empty() : tensor<32x32xbf16>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<32x32xf32>) outs(%e : tensor<32x32xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %t = arith.truncf %a : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<32x32xbf16>
  %0 = weft.matmul %x, %b {indexing_maps = [#x, #w, #y]} : tensor<64x32xbf16>, tensor<32x32xbf16> -> tensor<64x32xbf16>
  %1 = weft.matmul %0, %b {indexing_maps = [#x, #w, #y]} : tensor<64x32xbf16>, tensor<32x32xbf16> -> tensor<64x32xbf16>
  %2 = weft.matmul %1, %v {indexing_maps = [#x, #w, #y]} : tensor<64x32xbf16>, tensor<32x32xbf16> -> tensor<64x32xbf16>
  %3 = weft.matmul %2, %b {indexing_maps = [#x, #w, #y]} : tensor<64x32xbf16>, tensor<32x32xbf16> -> tensor<64x32xbf16>
  return %3 : tensor<64x32xbf16>
}

// -----

// No mesh: nothing to do.

// CHECK-LABEL: func.func @no_mesh
// CHECK-NOT: weft
// CHECK: return
func.func @no_mesh(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// An axis of size 1 leaves no trace.

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#y = affine_map<(m, n, k) -> (m, n)>

weft.mesh @mesh = <["dp"=2, "fsdp"=1, "tp"=1]>

// CHECK-LABEL: func.func @inactive
// CHECK-SAME: tensor<32x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}
// CHECK-NOT: weft.reshard
// CHECK: return
func.func @inactive(
    %x: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}, {}]>},
    %w: tensor<32x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {"tp"}], storage = {"fsdp"}>})
    -> (tensor<64x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>}) {
  %y = weft.matmul %x, %w {indexing_maps = [#x, #w, #y]} : tensor<64x32xf32>, tensor<32x16xf32> -> tensor<64x16xf32>
  return %y : tensor<64x16xf32>
}

// -----

// For each contraction by itself, to gather both operands would move less than
// to sum its contributions. The three together are summed once.

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

weft.mesh @mesh = <["tp"=2]>

// CHECK-LABEL: func.func @narrow_summands
// CHECK-COUNT-3: weft.matmul {{.*}}partial = sum {"tp"}
// CHECK-NOT: weft.reshard
// CHECK: linalg.generic {{.*}}partial = sum {"tp"}
// CHECK: linalg.generic {{.*}}partial = sum {"tp"}
// CHECK: weft.reshard {{.*}} from <@mesh, [{}, {}], partial = sum {"tp"}> to <@mesh, [{}, {}]>
// CHECK-NOT: weft.reshard
func.func @narrow_summands(
    %q: tensor<256x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
    %k: tensor<256x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
    %v: tensor<256x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<64x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<256x64xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %0 = weft.matmul %q, %w {indexing_maps = [#x, #w, #y]} : tensor<256x16xf32>, tensor<64x16xf32> -> tensor<256x64xf32>
  %1 = weft.matmul %k, %w {indexing_maps = [#x, #w, #y]} : tensor<256x16xf32>, tensor<64x16xf32> -> tensor<256x64xf32>
  %2 = weft.matmul %v, %w {indexing_maps = [#x, #w, #y]} : tensor<256x16xf32>, tensor<64x16xf32> -> tensor<256x64xf32>
  %e = tensor.empty() : tensor<256x64xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %1 : tensor<256x64xf32>, tensor<256x64xf32>) outs(%e : tensor<256x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<256x64xf32>
  %4 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%3, %2 : tensor<256x64xf32>, tensor<256x64xf32>) outs(%e : tensor<256x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<256x64xf32>
  return %4 : tensor<256x64xf32>
}
