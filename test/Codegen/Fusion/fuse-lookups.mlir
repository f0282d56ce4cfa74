// RUN: weft-opt %s --weft-fuse-kernels -split-input-file | FileCheck %s

#matrix = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>
#row = affine_map<(i) -> (i)>

// A loss: logits less their maxima are summed up, looked up, and computed with
// again after a barrier. All three take them from the logits, and nobody
// stores them.

// CHECK-LABEL: func @loss
// CHECK-SAME: (%[[X:[a-z0-9]*]]: tensor<64x512xf32>, %[[M:[a-z0-9]*]]: tensor<64xf32>
// CHECK-NOT: -> tensor<64x512xf32>
// CHECK-COUNT-3: arith.subf
// CHECK-NOT: arith.subf
// CHECK: return
func.func @loss(%x: tensor<64x512xf32>, %max: tensor<64xf32>, %labels: tensor<64xindex>, %t: tensor<64xf32>)
    -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x512xf32>
  %r = tensor.empty() : tensor<64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%r : tensor<64xf32>) -> tensor<64xf32>
  %less = linalg.generic {indexing_maps = [#matrix, #rows, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%x, %max : tensor<64x512xf32>, tensor<64xf32>) outs(%e : tensor<64x512xf32>) {
  ^bb0(%v: f32, %m: f32, %o: f32):
    %d = arith.subf %v, %m : f32
    linalg.yield %d : f32
  } -> tensor<64x512xf32>
  %sum = linalg.generic {indexing_maps = [#matrix, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%less : tensor<64x512xf32>) outs(%z : tensor<64xf32>) {
  ^bb0(%v: f32, %a: f32):
    %p = math.exp %v : f32
    %s = arith.addf %a, %p : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %found = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%labels : tensor<64xindex>) outs(%r : tensor<64xf32>) {
  ^bb0(%label: index, %o: f32):
    %i = linalg.index 0 : index
    %l = tensor.extract %less[%i, %label] : tensor<64x512xf32>
    linalg.yield %l : f32
  } -> tensor<64xf32>
  %held:2 = weft.optimization_barrier %less, %t : tensor<64x512xf32>, tensor<64xf32>
  %again = linalg.generic {indexing_maps = [#matrix, #rows, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%held#0, %held#1 : tensor<64x512xf32>, tensor<64xf32>) outs(%z : tensor<64xf32>) {
  ^bb0(%v: f32, %w: f32, %a: f32):
    %p = math.exp %v : f32
    %q = arith.mulf %p, %w : f32
    %s = arith.addf %a, %q : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  return %sum, %found, %again : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// -----

#matrix = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i) -> (i)>

// A table that is in memory anyway is looked into.

// CHECK-LABEL: func @table
// CHECK: %[[T:.*]] = weft_rt.fused {{.*}} -> tensor<64x512xf32>
// CHECK: arith.mulf
// CHECK: weft_rt.fused ins({{.*}}%[[T]]
// CHECK-NOT: arith.mulf
// CHECK: return
func.func @table(%x: tensor<64x512xf32>, %labels: tensor<64xindex>) -> (tensor<64x512xf32>, tensor<64xf32>) {
  %e = tensor.empty() : tensor<64x512xf32>
  %r = tensor.empty() : tensor<64xf32>
  %table = linalg.generic {indexing_maps = [#matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x512xf32>) outs(%e : tensor<64x512xf32>) {
  ^bb0(%v: f32, %o: f32):
    %d = arith.mulf %v, %v : f32
    linalg.yield %d : f32
  } -> tensor<64x512xf32>
  %found = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%labels : tensor<64xindex>) outs(%r : tensor<64xf32>) {
  ^bb0(%label: index, %o: f32):
    %i = linalg.index 0 : index
    %l = tensor.extract %table[%i, %label] : tensor<64x512xf32>
    linalg.yield %l : f32
  } -> tensor<64xf32>
  return %table, %found : tensor<64x512xf32>, tensor<64xf32>
}

// -----

#matrix = affine_map<(i, j) -> (i, j)>
#lhs = affine_map<(i, j, k) -> (i, k)>
#rhs = affine_map<(i, j, k) -> (k, j)>
#out = affine_map<(i, j, k) -> (i, j)>

// Two that are there soon read the product itself, and round it.

// CHECK-LABEL: func @soon
// CHECK: %[[P:.*]] = weft.matmul
// CHECK: weft_rt.fused ins(%[[P]] : tensor<64x512xf32>) -> tensor<64x512xbf16>, tensor<64x512xbf16>
// CHECK-COUNT-2: arith.truncf
// CHECK-NOT: weft_rt.fused
// CHECK: return
func.func @soon(%a: tensor<64x32xf32>, %b: tensor<32x512xf32>) -> (tensor<64x512xbf16>, tensor<64x512xbf16>) {
  %e = tensor.empty() : tensor<64x512xbf16>
  %p = weft.matmul %a, %b {indexing_maps = [#lhs, #rhs, #out]} : tensor<64x32xf32>, tensor<32x512xf32> -> tensor<64x512xf32>
  %n = linalg.generic {indexing_maps = [#matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<64x512xf32>) outs(%e : tensor<64x512xbf16>) {
  ^bb0(%v: f32, %o: bf16):
    %d = arith.truncf %v : f32 to bf16
    linalg.yield %d : bf16
  } -> tensor<64x512xbf16>
  %x = linalg.generic {indexing_maps = [#matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%n : tensor<64x512xbf16>) outs(%e : tensor<64x512xbf16>) {
  ^bb0(%v: bf16, %o: bf16):
    %d = arith.negf %v : bf16
    linalg.yield %d : bf16
  } -> tensor<64x512xbf16>
  %y = linalg.generic {indexing_maps = [#matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%n : tensor<64x512xbf16>) outs(%e : tensor<64x512xbf16>) {
  ^bb0(%v: bf16, %o: bf16):
    %d = arith.mulf %v, %v : bf16
    linalg.yield %d : bf16
  } -> tensor<64x512xbf16>
  return %x, %y : tensor<64x512xbf16>, tensor<64x512xbf16>
}
