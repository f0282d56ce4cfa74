// RUN: weft-opt %s -split-input-file --weft-propagate-shardings | FileCheck %s

// Forward from the arguments and backward from the result, through a reshape:
// an axis of 4 over dimensions of 2 and 8 is cut in two.

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#y = affine_map<(m, n, k) -> (m, n)>

weft.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK-LABEL: func.func @reshape
// CHECK-SAME: tensor<32x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>}
// CHECK: weft.matmul {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"dp"}, {"tp"}]>]
// CHECK: tensor.expand_shape {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"dp"}, {"tp":(1)2}, {"tp":(2)2}]>]
func.func @reshape(
    %x: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>},
    %w: tensor<32x16xf32>)
    -> (tensor<64x2x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp":(1)2}, {"tp":(2)2}]>}) {
  %h = weft.matmul %x, %w {indexing_maps = [#x, #w, #y]} : tensor<64x32xf32>, tensor<32x16xf32> -> tensor<64x16xf32>
  %r = tensor.expand_shape %h [[0], [1, 2]] output_shape [64, 2, 8] : tensor<64x16xf32> into tensor<64x2x8xf32>
  return %r : tensor<64x2x8xf32>
}

// -----

// Storage axes flow through a cast, but not through the contraction after it;
// backward from the donated result to the gradient, and no further.

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#y = affine_map<(m, n, k) -> (m, n)>
#dx = affine_map<(m, n, k) -> (k, m)>
#id = affine_map<(m, n) -> (m, n)>

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>

// CHECK-LABEL: func.func @storage
// CHECK: linalg.generic {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"fsdp"}, {"tp"}], storage = {"fsdp"}>]
// CHECK: weft.matmul {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"fsdp"}, {"tp"}]>]
// CHECK: weft.matmul {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"fsdp"}, {"tp"}], storage = {"fsdp"}>]
// CHECK: linalg.generic {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"fsdp"}, {"tp"}], storage = {"fsdp"}>]
func.func @storage(
    %x: tensor<64x32xbf16> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}]>},
    %p: tensor<32x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {"tp"}], storage = {"fsdp"}>})
    -> (tensor<32x16xf32> {weft.alias = 1 : index, weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {"tp"}], storage = {"fsdp"}>}) {
  %eb = tensor.empty() : tensor<32x16xbf16>
  %e = tensor.empty() : tensor<32x16xf32>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<32x16xf32>) outs(%eb : tensor<32x16xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %t = arith.truncf %a : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<32x16xbf16>
  %h = weft.matmul %x, %c {indexing_maps = [#x, #w, #y]} : tensor<64x32xbf16>, tensor<32x16xbf16> -> tensor<64x16xbf16>
  %g = weft.matmul %x, %h {indexing_maps = [#dx, #w, #y]} : tensor<64x32xbf16>, tensor<64x16xbf16> -> tensor<32x16xf32>
  %n = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %g : tensor<32x16xf32>, tensor<32x16xf32>) outs(%e : tensor<32x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.subf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<32x16xf32>
  return %n : tensor<32x16xf32>
}

// -----

// A user's sharding is fixed: closed dimensions stay as they are, the open one
// gets its axis.

#id = affine_map<(m, n) -> (m, n)>

weft.mesh @mesh = <["dp"=2, "tp"=2]>

// CHECK-LABEL: func.func @user
// CHECK: weft.shard {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {"tp"}]>]
// CHECK: linalg.generic {{.*}}weft.shardings = [#weft.sharding<@mesh, [{?}, {"tp"}]>]
func.func @user(%x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>})
    -> tensor<8x8xf32> {
  %s = weft.shard %x to <@mesh, [{}, {?}]> : tensor<8x8xf32>
  %e = tensor.empty() : tensor<8x8xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = math.exp %a : f32
    linalg.yield %t : f32
  } -> tensor<8x8xf32>
  return %n : tensor<8x8xf32>
}
