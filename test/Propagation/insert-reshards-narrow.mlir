// RUN: weft-opt %s --weft-infer-storage --weft-propagate-shardings --weft-insert-reshards --weft-verify-sharding | FileCheck %s

// What was widened moves as it was before, and is widened again.

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#y = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

weft.mesh @mesh = <["tp"=2]>

// CHECK-LABEL: func.func @widened
// CHECK: %[[N:.+]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<64x32xf8E4M3FN>)
// CHECK: %[[G:.+]] = weft.reshard %[[N]] from <@mesh, [{"tp"}, {}]> to <@mesh, [{}, {}]>
// CHECK: %[[W:.+]] = linalg.generic {{.*}} ins(%[[G]] : tensor<64x32xf8E4M3FN>)
// CHECK: weft.matmul %[[W]]
func.func @widened(
    %a: tensor<64x16xbf16> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}, %b: tensor<16x32xbf16>,
    %w: tensor<32x128xbf16> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<64x128xbf16> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>}) {
  %h = weft.matmul %a, %b {indexing_maps = [#x, #w, #y]} : tensor<64x16xbf16>, tensor<16x32xbf16> -> tensor<64x32xbf16>
  %q = tensor.empty() : tensor<64x32xf8E4M3FN>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%h : tensor<64x32xbf16>) outs(%q : tensor<64x32xf8E4M3FN>) {
  ^bb0(%v: bf16, %o: f8E4M3FN):
    %t = arith.truncf %v : bf16 to f8E4M3FN
    linalg.yield %t : f8E4M3FN
  } -> tensor<64x32xf8E4M3FN>
  %e = tensor.empty() : tensor<64x32xbf16>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%n : tensor<64x32xf8E4M3FN>) outs(%e : tensor<64x32xbf16>) {
  ^bb0(%v: f8E4M3FN, %o: bf16):
    %t = arith.extf %v : f8E4M3FN to bf16
    linalg.yield %t : bf16
  } -> tensor<64x32xbf16>
  %p = weft.matmul %d, %w {indexing_maps = [#x, #w, #y]} : tensor<64x32xbf16>, tensor<32x128xbf16> -> tensor<64x128xbf16>
  return %p : tensor<64x128xbf16>
}
