// RUN: weft-opt %s --weft-schedule="policy=sync machine=h100x8" | FileCheck %s

// What is computed of a scalar alone is computed once for all elements, also
// where a lookup reads the scalar: such elements take no longer than a product
// with a scalar that is an operand.

#id = affine_map<(i) -> (i)>
#scalar = affine_map<(i) -> ()>

// CHECK-LABEL: func @operand
// CHECK-SAME: compute_ns = [[NS:[0-9]+]] : i64
func.func @operand(%x: tensor<67108864xf32>, %s: tensor<f32>) -> tensor<67108864xf32> {
  %e = tensor.empty() : tensor<67108864xf32>
  %y = linalg.generic {indexing_maps = [#id, #scalar, #id], iterator_types = ["parallel"], weft.op = "kernel #0"}
      ins(%x, %s : tensor<67108864xf32>, tensor<f32>) outs(%e : tensor<67108864xf32>) {
  ^bb0(%in: f32, %scalar: f32, %out: f32):
    %m = arith.mulf %in, %scalar : f32
    linalg.yield %m : f32
  } -> tensor<67108864xf32>
  return %y : tensor<67108864xf32>
}

// CHECK-LABEL: func @looked_up
// CHECK-SAME: compute_ns = [[NS]] : i64
func.func @looked_up(%x: tensor<67108864xf32>, %s: tensor<f32>) -> tensor<67108864xf32> {
  %e = tensor.empty() : tensor<67108864xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"], weft.op = "kernel #0"}
      ins(%x : tensor<67108864xf32>) outs(%e : tensor<67108864xf32>) {
  ^bb0(%in: f32, %out: f32):
    %scalar = tensor.extract %s[] : tensor<f32>
    %a = weft.scale_of %scalar {element = f8E4M3FN} : f32
    %b = math.exp %a : f32
    %c = math.exp %b : f32
    %d = math.exp %c : f32
    %f = math.exp %d : f32
    %m = arith.mulf %in, %f : f32
    linalg.yield %m : f32
  } -> tensor<67108864xf32>
  return %y : tensor<67108864xf32>
}
