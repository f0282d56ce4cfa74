// RUN: weft-opt %s --weft-propagate-shardings --weft-insert-reshards --remarks-filter="weft-.*" 2>&1 >/dev/null | FileCheck %s
// RUN: weft-opt %s --weft-propagate-shardings --weft-insert-reshards 2>&1 >/dev/null | FileCheck %s --check-prefix=QUIET --allow-empty

// A conflict is reported with its bytes, a reshard with its steps.

// QUIET-NOT: remark

#id = affine_map<(m, n) -> (m, n)>

weft.mesh @mesh = <["dp"=2]>

// CHECK: an operand of 'linalg.generic' has sharding [{}, {"dp"}], the op uses [{"dp"}, {}]
// CHECK-SAME: bytes=128
// CHECK: 'linalg.generic' needs [{"dp"}, {}], its operand is [{}, {"dp"}]: all_to_all
// CHECK-SAME: bytes=32
func.func @conflict(
    %x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>},
    %y: tensor<8x8xbf16> {weft.sharding = #weft.sharding<@mesh, [{}, {"dp"}]>})
    -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %n = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<8x8xf32>, tensor<8x8xbf16>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: bf16, %o: f32):
    %w = arith.extf %b : bf16 to f32
    %t = arith.mulf %a, %w : f32
    linalg.yield %t : f32
  } -> tensor<8x8xf32>
  return %n : tensor<8x8xf32>
}
