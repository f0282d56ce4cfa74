// RUN: weft-opt --split-input-file --weft-raise --weft-raise-attention --remarks-filter="weft-raise-attention" %s 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t

// A column beside the scores, which is no key, leaves attention less.

#ijd0 = affine_map<(i, j, d) -> (i, d)>
#ijd1 = affine_map<(i, j, d) -> (j, d)>
#ijd2 = affine_map<(i, j, d) -> (i, j)>
#iej0 = affine_map<(i, e, j) -> (i, j)>
#iej1 = affine_map<(i, e, j) -> (j, e)>
#iej2 = affine_map<(i, e, j) -> (i, e)>
!x = tensor<8x4xf32>
!s = tensor<8x8xf32>
!c = tensor<8x1xf32>
!w = tensor<8x9xf32>
!r = tensor<8xf32>

// CHECK-LABEL: func @column
// CHECK-SAME: %[[Q:.*]]: tensor<8x4xf32>, %[[K:.*]]: tensor<8x4xf32>, %[[V:.*]]: tensor<8x4xf32>, %[[SINK:.*]]: tensor<8x1xf32>
// CHECK: %[[OUT:.*]], %[[LSE:.*]] = weft.attention %[[Q]], %[[K]], %[[V]]
// CHECK: %[[SHARE:.*]] = linalg.generic {{.*}} ins(%[[LSE]], %{{.*}} : tensor<8xf32>, tensor<8xf32>)
// CHECK: arith.subf %[[S:.*]], %[[L:.*]] : f32
// CHECK: math.exp
// CHECK: arith.addf %{{.*}}, %{{.*}} : f32
// CHECK: arith.divf
// CHECK: %[[LEFT:.*]] = linalg.generic {{.*}} ins(%[[OUT]], %[[SHARE]] : tensor<8x4xf32>, tensor<8xf32>)
// CHECK: arith.mulf
// CHECK: return %[[LEFT]]
// CHECK-NOT: 8x9
func.func @column(%q: !x, %k: !x, %v: !x, %sink: !c) -> !x {
  %s = weft.matmul %q, %k {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %w = tensor.concat dim(1) %s, %sink : (!s, !c) -> !w
  %low = arith.constant dense<0xFF800000> : !r
  %zero = arith.constant dense<0.0> : !r
  %ew = tensor.empty() : !w
  %max = linalg.reduce { arith.maximumf } ins(%w : !w) outs(%low : !r) dimensions = [1]
  %mb = linalg.broadcast ins(%max : !r) outs(%ew : !w) dimensions = [1]
  %x = arith.subf %w, %mb : !w
  %e = math.exp %x : !w
  %l = linalg.reduce { arith.addf } ins(%e : !w) outs(%zero : !r) dimensions = [1]
  %lb = linalg.broadcast ins(%l : !r) outs(%ew : !w) dimensions = [1]
  %p = arith.divf %e, %lb : !w
  %keys = tensor.extract_slice %p[0, 0] [8, 8] [1, 1] : !w to !s
  %o = weft.matmul %keys, %v {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  return %o : !x
}

// -----

#ijd0 = affine_map<(i, j, d) -> (i, d)>
#ijd1 = affine_map<(i, j, d) -> (j, d)>
#ijd2 = affine_map<(i, j, d) -> (i, j)>
#iej0 = affine_map<(i, e, j) -> (i, j)>
#iej1 = affine_map<(i, e, j) -> (j, e)>
#iej2 = affine_map<(i, e, j) -> (i, e)>
!x = tensor<8x4xf32>
!s = tensor<8x8xf32>
!w = tensor<8x9xf32>
!r = tensor<8xf32>

// Padding in front, with a number of its own: a sink of 0.5.

// CHECK-LABEL: func @padding
// CHECK: weft.attention %
// CHECK-NOT: 8x9
// CHECK: return
func.func @padding(%q: !x, %k: !x, %v: !x) -> !x {
  %s = weft.matmul %q, %k {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %half = arith.constant 0.5 : f32
  %w = tensor.pad %s low[0, 1] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %half : f32
  } : !s to !w
  %zero = arith.constant dense<0.0> : !r
  %ew = tensor.empty() : !w
  %e = math.exp %w : !w
  %l = linalg.reduce { arith.addf } ins(%e : !w) outs(%zero : !r) dimensions = [1]
  %lb = linalg.broadcast ins(%l : !r) outs(%ew : !w) dimensions = [1]
  %p = arith.divf %e, %lb : !w
  %keys = tensor.extract_slice %p[0, 1] [8, 8] [1, 1] : !w to !s
  %o = weft.matmul %keys, %v {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  return %o : !x
}

// -----

#ijd0 = affine_map<(i, j, d) -> (i, d)>
#ijd1 = affine_map<(i, j, d) -> (j, d)>
#ijd2 = affine_map<(i, j, d) -> (i, j)>
#iej0 = affine_map<(i, e, j) -> (i, j)>
#iej1 = affine_map<(i, e, j) -> (j, e)>
#iej2 = affine_map<(i, e, j) -> (i, e)>
!x = tensor<8x4xf32>
!s = tensor<8x8xf32>
!c = tensor<8x1xf32>
!w = tensor<8x9xf32>
!r = tensor<8xf32>

// The column is used, so nothing is taken apart.

// CHECK-LABEL: func @negative_weight_of_the_column
// CHECK: tensor.concat
// CHECK-NOT: weft.attention
// CHECK: tensor.extract_slice
// CHECK: return
// REMARK: attention is not raised: its softmax has a column that is no key; weft.jax.dot_product_attention takes sinks
func.func @negative_weight_of_the_column(%q: !x, %k: !x, %v: !x, %sink: !c) -> (!x, !w) {
  %s = weft.matmul %q, %k {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %w = tensor.concat dim(1) %s, %sink : (!s, !c) -> !w
  %zero = arith.constant dense<0.0> : !r
  %ew = tensor.empty() : !w
  %e = math.exp %w : !w
  %l = linalg.reduce { arith.addf } ins(%e : !w) outs(%zero : !r) dimensions = [1]
  %lb = linalg.broadcast ins(%l : !r) outs(%ew : !w) dimensions = [1]
  %p = arith.divf %e, %lb : !w
  %keys = tensor.extract_slice %p[0, 0] [8, 8] [1, 1] : !w to !s
  %o = weft.matmul %keys, %v {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  return %o, %p : !x, !w
}
