// RUN: weft-opt %s -split-input-file --weft-infer-storage --weft-propagate-shardings --weft-insert-reshards --weft-verify-sharding | FileCheck %s

// A table sharded by row and, at rest, by column, and fewer tokens than rows: it
// stays where it is. Each rank looks up its group's tokens in its rows and
// columns, and the sum over rows is the result. Its gradient is added where the
// table rests: only the sum over the batch is left, to the shard.

#d = affine_map<(b, s, d) -> (d)>
#bs = affine_map<(b, s, d) -> (b, s)>
#id = affine_map<(v, d) -> (v, d)>

weft.mesh @mesh = <["dp"=2, "fsdp"=2, "tp"=2]>

// CHECK-LABEL: func.func @embedding
// CHECK: %[[I:.+]] = weft.reshard %arg1 from <@mesh, [{"dp", "fsdp"}, {}]> to <@mesh, [{"dp"}, {}]>
// CHECK-NEXT: %[[T:.+]] = weft.take %arg0, %[[I]] {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"dp"}, {}, {"fsdp"}], partial = sum {"tp"}>]
// CHECK: %[[X:.+]] = weft.reshard %[[T]] from <@mesh, [{"dp"}, {}, {"fsdp"}], partial = sum {"tp"}> to <@mesh, [{"dp", "fsdp"}, {}, {}]>
// CHECK: %[[D:.+]] = linalg.generic {{.*}}ins(%[[X]]
// CHECK: %[[C:.+]] = weft.reshard %[[D]] from <@mesh, [{"dp", "fsdp"}, {}, {}]> to <@mesh, [{"dp"}, {}, {"fsdp"}]>
// CHECK: weft.scatter_add %{{.+}}, %[[I]], %[[C]] {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"tp"}, {"fsdp"}], storage = {"fsdp"}, partial = sum {"dp"}>]
// CHECK: weft.reshard {{.*}} from <@mesh, [{"tp"}, {"fsdp"}], storage = {"fsdp"}, partial = sum {"dp"}> to <@mesh, [{"tp"}, {"fsdp"}], storage = {"fsdp"}>
// CHECK: linalg.generic {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"tp"}, {"fsdp"}], storage = {"fsdp"}>]
// CHECK-NOT: weft.reshard
// CHECK: return
func.func @embedding(
    %table: tensor<256x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {"fsdp"}]>},
    %tokens: tensor<8x32xi32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}, {}]>})
    -> (tensor<256x64xf32> {weft.alias = 0 : index}) {
  %x = weft.take %table, %tokens {axis = 0 : i64, table_map = #d, index_map = #bs}
       : tensor<256x64xf32>, tensor<8x32xi32> -> tensor<8x32x64xf32>
  %e = tensor.empty() : tensor<8x32x64xf32>
  %dx = linalg.generic {indexing_maps = [affine_map<(b, s, d) -> (b, s, d)>, affine_map<(b, s, d) -> (b, s, d)>],
                        iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<8x32x64xf32>) outs(%e : tensor<8x32x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = math.tanh %a : f32
    linalg.yield %t : f32
  } -> tensor<8x32x64xf32>
  %zero = arith.constant dense<0.0> : tensor<256x64xf32>
  %g = weft.scatter_add %zero, %tokens, %dx {axis = 0 : i64, table_map = #d, index_map = #bs}
       : tensor<256x64xf32>, tensor<8x32xi32>, tensor<8x32x64xf32>
  %et = tensor.empty() : tensor<256x64xf32>
  %n = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%table, %g : tensor<256x64xf32>, tensor<256x64xf32>) outs(%et : tensor<256x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.subf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<256x64xf32>
  return %n : tensor<256x64xf32>
}

// -----

// Cross-entropy over a sharded vocabulary: only values per token cross tp.

#bsv = affine_map<(b, s, v) -> (b, s, v)>
#bs = affine_map<(b, s, v) -> (b, s)>
#t = affine_map<(b, s) -> (b, s)>
#none = affine_map<(b, s) -> ()>

weft.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK-LABEL: func.func @cross_entropy
// CHECK: linalg.generic {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"dp"}, {}], partial = max {"tp"}>]
// CHECK: weft.reshard {{.*}}partial = max {"tp"}> to <@mesh, [{"dp"}, {}]>{{.*}} : tensor<8x32xf32>
// CHECK: linalg.generic {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"dp"}, {}], partial = sum {"tp"}>]
// CHECK: weft.take {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"dp"}, {}], partial = sum {"tp"}>]
// CHECK-COUNT-2: weft.reshard {{.*}}partial = sum {"tp"}> to <@mesh, [{"dp"}, {}]>{{.*}} : tensor<8x32xf32>
// CHECK: linalg.generic {{.*}}weft.shardings = [#weft.sharding<@mesh, [], partial = sum {"dp"}>]
// CHECK: weft.reshard {{.*}}partial = sum {"dp"}> to <@mesh, []>
// CHECK-NOT: weft.reshard
// CHECK: return
func.func @cross_entropy(
    %z: tensor<8x32x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}, {"tp"}]>},
    %labels: tensor<8x32xi32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}) -> tensor<f32> {
  %low = arith.constant dense<0xFF800000> : tensor<8x32xf32>
  %zero = arith.constant dense<0.0> : tensor<8x32xf32>
  %zero0 = arith.constant dense<0.0> : tensor<f32>
  %m = linalg.generic {indexing_maps = [#bsv, #bs], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%z : tensor<8x32x1024xf32>) outs(%low : tensor<8x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.maximumf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<8x32xf32>
  %s = linalg.generic {indexing_maps = [#bsv, #bs, #bs], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%z, %m : tensor<8x32x1024xf32>, tensor<8x32xf32>) outs(%zero : tensor<8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %e = math.exp %d : f32
    %t = arith.addf %e, %o : f32
    linalg.yield %t : f32
  } -> tensor<8x32xf32>
  %p = weft.take %z, %labels {axis = 2 : i64, table_map = #t, index_map = #t}
       : tensor<8x32x1024xf32>, tensor<8x32xi32> -> tensor<8x32xf32>
  %l = linalg.generic {indexing_maps = [#t, #t, #t, #none], iterator_types = ["reduction", "reduction"]}
      ins(%s, %m, %p : tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>) outs(%zero0 : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %g = math.log %a : f32
    %h = arith.addf %g, %b : f32
    %i = arith.subf %h, %c : f32
    %t = arith.addf %i, %o : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A sequence that the user shards between the layers: the sum is scattered
// over it, and it is gathered in front of the next layer, once.

#x = affine_map<(b, s, n, k) -> (b, s, k)>
#w = affine_map<(b, s, n, k) -> (k, n)>
#y = affine_map<(b, s, n, k) -> (b, s, n)>
#id = affine_map<(b, s, n) -> (b, s, n)>

weft.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK-LABEL: func.func @sequence
// CHECK: weft.matmul {{.*}}partial = sum {"tp"}
// CHECK-NEXT: weft.reshard {{.*}} from <@mesh, [{"dp"}, {}, {}], partial = sum {"tp"}> to <@mesh, [{"dp"}, {"tp"}, {}]>
// CHECK: linalg.generic {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"dp"}, {"tp"}, {}]>]
// CHECK: %[[G:.+]] = weft.reshard {{.*}} from <@mesh, [{"dp"}, {"tp"}, {}]> to <@mesh, [{"dp"}, {}, {}]>
// CHECK-NEXT: weft.matmul %[[G]]
// CHECK-NEXT: weft.matmul %[[G]]
// CHECK-NOT: weft.reshard
// CHECK: return
func.func @sequence(
    %h: tensor<8x32x128xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}, {"tp"}]>},
    %w0: tensor<128x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>},
    %w1: tensor<64x128xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
    %w2: tensor<64x128xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<8x32x128xf32>, tensor<8x32x128xf32>) {
  %e = tensor.empty() : tensor<8x32x64xf32>
  %0 = weft.matmul %h, %w0 {indexing_maps = [#x, #w, #y]} : tensor<8x32x128xf32>, tensor<128x64xf32> -> tensor<8x32x64xf32>
  %1 = weft.shard %0 to <@mesh, [{"dp"}, {"tp"}, {}]> : tensor<8x32x64xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%1 : tensor<8x32x64xf32>) outs(%e : tensor<8x32x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = math.tanh %a : f32
    linalg.yield %t : f32
  } -> tensor<8x32x64xf32>
  %3 = weft.shard %2 to <@mesh, [{"dp"}, {}, {}]> : tensor<8x32x64xf32>
  %4 = weft.matmul %3, %w1 {indexing_maps = [#x, #w, #y]} : tensor<8x32x64xf32>, tensor<64x128xf32> -> tensor<8x32x128xf32>
  %5 = weft.matmul %3, %w2 {indexing_maps = [#x, #w, #y]} : tensor<8x32x64xf32>, tensor<64x128xf32> -> tensor<8x32x128xf32>
  return %4, %5 : tensor<8x32x128xf32>, tensor<8x32x128xf32>
}
