// RUN: weft-opt %s --weft-fuse-kernels -split-input-file | FileCheck %s

#ij = affine_map<(i, j) -> (i, j)>

// The gradient of two halves: no zeros are written, nothing is copied, and what
// is put together is narrow. Zeros are added: -0 + 0 is 0.

// CHECK-LABEL: func @halves
// CHECK-SAME: (%[[A:.*]]: tensor<8x16xf32>, %[[B:.*]]: tensor<8x16xf32>)
// CHECK: %[[K:.*]]:2 = weft_rt.fused ins(%{{.*}}, %{{.*}} : tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xbf16>, tensor<8x16xbf16>
// CHECK: arith.addf %{{.*}}, %cst
// CHECK: arith.truncf
// CHECK: arith.addf %{{.*}}, %cst
// CHECK: arith.truncf
// CHECK-NOT: weft_rt.fused
// CHECK-NOT: insert_slice
// CHECK: tensor.concat dim(1) %[[K]]#{{[01]}}, %[[K]]#{{[01]}} : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x32xbf16>
func.func @halves(%a: tensor<8x16xf32>, %b: tensor<8x16xf32>) -> tensor<8x32xbf16> {
  %zeros = arith.constant dense<0.0> : tensor<8x32xf32>
  %e = tensor.empty() : tensor<8x16xf32>
  %w = tensor.empty() : tensor<8x32xf32>
  %n = tensor.empty() : tensor<8x32xbf16>
  %p = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<8x16xf32>, tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = arith.mulf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<8x16xf32>
  %high = tensor.insert_slice %p into %zeros[0, 16] [8, 16] [1, 1] : tensor<8x16xf32> into tensor<8x32xf32>
  %low = tensor.insert_slice %b into %zeros[0, 0] [8, 16] [1, 1] : tensor<8x16xf32> into tensor<8x32xf32>
  %sum = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%high, %low : tensor<8x32xf32>, tensor<8x32xf32>) outs(%w : tensor<8x32xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = arith.addf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<8x32xf32>
  %narrow = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%sum : tensor<8x32xf32>) outs(%n : tensor<8x32xbf16>) {
  ^bb0(%x: f32, %o: bf16):
    %r = arith.truncf %x : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<8x32xbf16>
  return %narrow : tensor<8x32xbf16>
}

// -----

#ij = affine_map<(i, j) -> (i, j)>

// Of what lies in both, or in none, nothing is known.

// CHECK-LABEL: func @overlap
// CHECK-NOT: tensor.concat
// CHECK: tensor.insert_slice
// CHECK: tensor.insert_slice
// CHECK: return
func.func @overlap(%a: tensor<8x20xf32>, %b: tensor<8x16xf32>) -> tensor<8x32xf32> {
  %zeros = arith.constant dense<0.0> : tensor<8x32xf32>
  %w = tensor.empty() : tensor<8x32xf32>
  %high = tensor.insert_slice %a into %zeros[0, 12] [8, 20] [1, 1] : tensor<8x20xf32> into tensor<8x32xf32>
  %low = tensor.insert_slice %b into %zeros[0, 0] [8, 16] [1, 1] : tensor<8x16xf32> into tensor<8x32xf32>
  %sum = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%high, %low : tensor<8x32xf32>, tensor<8x32xf32>) outs(%w : tensor<8x32xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = arith.addf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<8x32xf32>
  return %sum : tensor<8x32xf32>
}

// -----

#ij = affine_map<(i, j) -> (i, j)>

// A product of padded tensors is none of parts.

// CHECK-LABEL: func @product
// CHECK-NOT: tensor.concat
// CHECK: tensor.insert_slice
// CHECK: return
func.func @product(%a: tensor<8x16xf32>, %b: tensor<8x16xf32>) -> tensor<8x32xf32> {
  %zeros = arith.constant dense<0.0> : tensor<8x32xf32>
  %w = tensor.empty() : tensor<8x32xf32>
  %high = tensor.insert_slice %a into %zeros[0, 16] [8, 16] [1, 1] : tensor<8x16xf32> into tensor<8x32xf32>
  %low = tensor.insert_slice %b into %zeros[0, 0] [8, 16] [1, 1] : tensor<8x16xf32> into tensor<8x32xf32>
  %sum = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%high, %low : tensor<8x32xf32>, tensor<8x32xf32>) outs(%w : tensor<8x32xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = arith.subf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<8x32xf32>
  return %sum : tensor<8x32xf32>
}

// -----

#ij = affine_map<(i, j) -> (i, j)>

// What is widened and then cut in two is read narrow.

// CHECK-LABEL: func @slices
// CHECK-SAME: (%[[X:.*]]: tensor<8x32xbf16>)
// CHECK-NOT: weft_rt.fused
// CHECK-DAG: %[[A:.*]] = tensor.extract_slice %[[X]][0, 0]
// CHECK-DAG: %[[B:.*]] = tensor.extract_slice %[[X]][0, 16]
// CHECK: weft_rt.fused ins(%{{.*}}, %{{.*}} : tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xf32>
// CHECK-NOT: weft_rt.fused
// CHECK: return
func.func @slices(%x: tensor<8x32xbf16>) -> tensor<8x16xf32> {
  %w = tensor.empty() : tensor<8x32xf32>
  %e = tensor.empty() : tensor<8x16xf32>
  %wide = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x32xbf16>) outs(%w : tensor<8x32xf32>) {
  ^bb0(%v: bf16, %o: f32):
    %r = arith.extf %v : bf16 to f32
    linalg.yield %r : f32
  } -> tensor<8x32xf32>
  %a = tensor.extract_slice %wide[0, 0] [8, 16] [1, 1] : tensor<8x32xf32> to tensor<8x16xf32>
  %b = tensor.extract_slice %wide[0, 16] [8, 16] [1, 1] : tensor<8x32xf32> to tensor<8x16xf32>
  %sum = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<8x16xf32>, tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %r = arith.mulf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<8x16xf32>
  return %sum : tensor<8x16xf32>
}

// -----

#ij = affine_map<(i, j) -> (i, j)>

// Slices that overlap would do more.

// CHECK-LABEL: func @windows
// CHECK: weft_rt.fused
// CHECK: math.exp
// CHECK-NOT: math.exp
// CHECK: return
func.func @windows(%x: tensor<8x32xf32>) -> tensor<8x24xf32> {
  %w = tensor.empty() : tensor<8x32xf32>
  %e = tensor.empty() : tensor<8x24xf32>
  %exp = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x32xf32>) outs(%w : tensor<8x32xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = math.exp %v : f32
    linalg.yield %r : f32
  } -> tensor<8x32xf32>
  %a = tensor.extract_slice %exp[0, 0] [8, 24] [1, 1] : tensor<8x32xf32> to tensor<8x24xf32>
  %b = tensor.extract_slice %exp[0, 8] [8, 24] [1, 1] : tensor<8x32xf32> to tensor<8x24xf32>
  %sum = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<8x24xf32>, tensor<8x24xf32>) outs(%e : tensor<8x24xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %r = arith.mulf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<8x24xf32>
  return %sum : tensor<8x24xf32>
}
