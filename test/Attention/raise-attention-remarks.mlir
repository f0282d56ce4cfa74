// RUN: weft-opt --split-input-file --weft-raise --weft-raise-attention --remarks-filter="weft-raise-attention" %s 2>&1 >/dev/null | FileCheck %s

// Why attention that was seen is not raised.

// CHECK: attention is not raised: what weighs its values is not the softmax of scores alone
// CHECK: attention is not raised: its weights are used by 'weft.matmul'
// CHECK: attention is not raised: a gradient is not that of its queries, keys or values
// CHECK: attention is not raised: its weights are used by 'linalg.generic' (arith.addf)
// CHECK: attention is not raised: its elements are none of f32, bf16 and f16
// CHECK-NOT: attention is not raised

#ijd0 = affine_map<(i, j, d) -> (i, d)>
#ijd1 = affine_map<(i, j, d) -> (j, d)>
#ijd2 = affine_map<(i, j, d) -> (i, j)>
#iej0 = affine_map<(i, e, j) -> (i, j)>
#iej1 = affine_map<(i, e, j) -> (j, e)>
#iej2 = affine_map<(i, e, j) -> (i, e)>
#jei0 = affine_map<(j, e, i) -> (i, j)>
#jei1 = affine_map<(j, e, i) -> (i, e)>
#jei2 = affine_map<(j, e, i) -> (j, e)>
!x = tensor<8x4xf32>
!s = tensor<8x8xf32>
!r = tensor<8xf32>

// Weights are dropped out.
func.func @negative_dropout(%q: !x, %k: !x, %v: !x, %keep: !s) -> (!x) {
  %qk = weft.matmul %q, %k {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %c = arith.constant dense<0.5> : !s
  %s = arith.mulf %qk, %c : !s
  %low = arith.constant dense<0xFF800000> : !r
  %zero = arith.constant dense<0.0> : !r
  %es = tensor.empty() : !s
  %max = linalg.reduce { arith.maximumf } ins(%s : !s) outs(%low : !r) dimensions = [1]
  %mb = linalg.broadcast ins(%max : !r) outs(%es : !s) dimensions = [1]
  %x = arith.subf %s, %mb : !s
  %e = math.exp %x : !s
  %l = linalg.reduce { arith.addf } ins(%e : !s) outs(%zero : !r) dimensions = [1]
  %lb = linalg.broadcast ins(%l : !r) outs(%es : !s) dimensions = [1]
  %p = arith.divf %e, %lb : !s
  %pm = arith.mulf %p, %keep : !s
  %o = weft.matmul %pm, %v {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  return %o : !x
}

// -----

#ijd0 = affine_map<(i, j, d) -> (i, d)>
#ijd1 = affine_map<(i, j, d) -> (j, d)>
#ijd2 = affine_map<(i, j, d) -> (i, j)>
#iej0 = affine_map<(i, e, j) -> (i, j)>
#iej1 = affine_map<(i, e, j) -> (j, e)>
#iej2 = affine_map<(i, e, j) -> (i, e)>
#jei0 = affine_map<(j, e, i) -> (i, j)>
#jei1 = affine_map<(j, e, i) -> (i, e)>
#jei2 = affine_map<(j, e, i) -> (j, e)>
!x = tensor<8x4xf32>
!s = tensor<8x8xf32>
!r = tensor<8xf32>

// The weights are used elsewhere.
func.func @negative_used(%q: !x, %k: !x, %v: !x, %w: !x) -> (!x) {
  %qk = weft.matmul %q, %k {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %c = arith.constant dense<0.5> : !s
  %s = arith.mulf %qk, %c : !s
  %low = arith.constant dense<0xFF800000> : !r
  %zero = arith.constant dense<0.0> : !r
  %es = tensor.empty() : !s
  %max = linalg.reduce { arith.maximumf } ins(%s : !s) outs(%low : !r) dimensions = [1]
  %mb = linalg.broadcast ins(%max : !r) outs(%es : !s) dimensions = [1]
  %x = arith.subf %s, %mb : !s
  %e = math.exp %x : !s
  %l = linalg.reduce { arith.addf } ins(%e : !s) outs(%zero : !r) dimensions = [1]
  %lb = linalg.broadcast ins(%l : !r) outs(%es : !s) dimensions = [1]
  %p = arith.divf %e, %lb : !s
  %o1 = weft.matmul %p, %v {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  %o2 = weft.matmul %p, %w {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  %o = arith.addf %o1, %o2 : !x
  return %o : !x
}

// -----

#ijd0 = affine_map<(i, j, d) -> (i, d)>
#ijd1 = affine_map<(i, j, d) -> (j, d)>
#ijd2 = affine_map<(i, j, d) -> (i, j)>
#iej0 = affine_map<(i, e, j) -> (i, j)>
#iej1 = affine_map<(i, e, j) -> (j, e)>
#iej2 = affine_map<(i, e, j) -> (i, e)>
#jei0 = affine_map<(j, e, i) -> (i, j)>
#jei1 = affine_map<(j, e, i) -> (i, e)>
#jei2 = affine_map<(j, e, i) -> (j, e)>
!x = tensor<8x4xf32>
!s = tensor<8x8xf32>
!r = tensor<8xf32>

// The gradient lacks the scale.
func.func @negative_scale(%q: !x, %k: !x, %v: !x, %do: !x) -> (!x, !x, !x, !x) {
  %qk = weft.matmul %q, %k {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %c = arith.constant dense<0.5> : !s
  %s = arith.mulf %qk, %c : !s
  %im = tensor.generate {
  ^bb0(%i: index, %j: index):
    %o = arith.constant 0 : index
    %io = arith.addi %i, %o : index
    %b = arith.cmpi sle, %j, %io : index
    tensor.yield %b : i1
  } : tensor<8x8xi1>
  %f = arith.constant dense<-1.0e30> : !s
  %m = arith.select %im, %s, %f : tensor<8x8xi1>, !s
  %low = arith.constant dense<0xFF800000> : !r
  %zero = arith.constant dense<0.0> : !r
  %es = tensor.empty() : !s
  %max = linalg.reduce { arith.maximumf } ins(%m : !s) outs(%low : !r) dimensions = [1]
  %mb = linalg.broadcast ins(%max : !r) outs(%es : !s) dimensions = [1]
  %x = arith.subf %m, %mb : !s
  %e = math.exp %x : !s
  %l = linalg.reduce { arith.addf } ins(%e : !s) outs(%zero : !r) dimensions = [1]
  %lb = linalg.broadcast ins(%l : !r) outs(%es : !s) dimensions = [1]
  %p = arith.divf %e, %lb : !s
  %o = weft.matmul %p, %v {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  %dv = weft.matmul %p, %do {indexing_maps = [#jei0, #jei1, #jei2]} : !s, !x -> !x
  %dp = weft.matmul %do, %v {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %pdp = arith.mulf %p, %dp : !s
  %delta = linalg.reduce { arith.addf } ins(%pdp : !s) outs(%zero : !r) dimensions = [1]
  %db = linalg.broadcast ins(%delta : !r) outs(%es : !s) dimensions = [1]
  %dd = arith.subf %dp, %db : !s
  %ds0 = arith.mulf %p, %dd : !s
  %zeros = arith.constant dense<0.0> : !s
  %ds1 = arith.select %im, %ds0, %zeros : tensor<8x8xi1>, !s
  %dq = weft.matmul %ds1, %k {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  %dk = weft.matmul %ds1, %q {indexing_maps = [#jei0, #jei1, #jei2]} : !s, !x -> !x
  return %o, %dq, %dk, %dv : !x, !x, !x, !x
}

// -----

#ijd0 = affine_map<(i, j, d) -> (i, d)>
#ijd1 = affine_map<(i, j, d) -> (j, d)>
#ijd2 = affine_map<(i, j, d) -> (i, j)>
#iej0 = affine_map<(i, e, j) -> (i, j)>
#iej1 = affine_map<(i, e, j) -> (j, e)>
#iej2 = affine_map<(i, e, j) -> (i, e)>
#jei0 = affine_map<(j, e, i) -> (i, j)>
#jei1 = affine_map<(j, e, i) -> (i, e)>
#jei2 = affine_map<(j, e, i) -> (j, e)>
!x = tensor<8x4xf32>
!s = tensor<8x8xf32>
!r = tensor<8xf32>

// The weights are added up, beside gradients.
func.func @sums_of_weights(%q: !x, %k: !x, %v: !x, %do: !x, %bias: !s) -> (!x, !x, !x, !x, !x) {
  %qk = weft.matmul %q, %k {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %s = arith.addf %qk, %bias : !s
  %low = arith.constant dense<0xFF800000> : !r
  %zero = arith.constant dense<0.0> : !r
  %es = tensor.empty() : !s
  %max = linalg.reduce { arith.maximumf } ins(%s : !s) outs(%low : !r) dimensions = [1]
  %mb = linalg.broadcast ins(%max : !r) outs(%es : !s) dimensions = [1]
  %x = arith.subf %s, %mb : !s
  %e = math.exp %x : !s
  %l = linalg.reduce { arith.addf } ins(%e : !s) outs(%zero : !r) dimensions = [1]
  %lb = linalg.broadcast ins(%l : !r) outs(%es : !s) dimensions = [1]
  %p = arith.divf %e, %lb : !s
  %o = weft.matmul %p, %v {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  %dv = weft.matmul %p, %do {indexing_maps = [#jei0, #jei1, #jei2]} : !s, !x -> !x
  %dp = weft.matmul %do, %v {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %pdp = arith.mulf %p, %dp : !s
  %delta = linalg.reduce { arith.addf } ins(%pdp : !s) outs(%zero : !r) dimensions = [1]
  %db = linalg.broadcast ins(%delta : !r) outs(%es : !s) dimensions = [1]
  %dd = arith.subf %dp, %db : !s
  %ds0 = arith.mulf %p, %dd : !s
  %dq = weft.matmul %ds0, %k {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  %dk = weft.matmul %ds0, %q {indexing_maps = [#jei0, #jei1, #jei2]} : !s, !x -> !x
  %sums = linalg.reduce { arith.addf } ins(%p : !s) outs(%zero : !r) dimensions = [1]
  %sx = tensor.empty() : !x
  %sb = linalg.broadcast ins(%sums : !r) outs(%sx : !x) dimensions = [1]
  return %o, %dq, %dk, %dv, %sb : !x, !x, !x, !x, !x
}

// -----

#ijd0 = affine_map<(i, j, d) -> (i, d)>
#ijd1 = affine_map<(i, j, d) -> (j, d)>
#ijd2 = affine_map<(i, j, d) -> (i, j)>
#iej0 = affine_map<(i, e, j) -> (i, j)>
#iej1 = affine_map<(i, e, j) -> (j, e)>
#iej2 = affine_map<(i, e, j) -> (i, e)>
#jei0 = affine_map<(j, e, i) -> (i, j)>
#jei1 = affine_map<(j, e, i) -> (i, e)>
#jei2 = affine_map<(j, e, i) -> (j, e)>
!x = tensor<8x4xf64>
!s = tensor<8x8xf64>
!r = tensor<8xf64>

// Elements are of another type.
func.func @wide(%q: !x, %k: !x, %v: !x) -> (!x) {
  %qk = weft.matmul %q, %k {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %low = arith.constant dense<0xFFF0000000000000> : !r
  %zero = arith.constant dense<0.0> : !r
  %es = tensor.empty() : !s
  %max = linalg.reduce { arith.maximumf } ins(%qk : !s) outs(%low : !r) dimensions = [1]
  %mb = linalg.broadcast ins(%max : !r) outs(%es : !s) dimensions = [1]
  %x = arith.subf %qk, %mb : !s
  %e = math.exp %x : !s
  %l = linalg.reduce { arith.addf } ins(%e : !s) outs(%zero : !r) dimensions = [1]
  %lb = linalg.broadcast ins(%l : !r) outs(%es : !s) dimensions = [1]
  %p = arith.divf %e, %lb : !s
  %o = weft.matmul %p, %v {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  return %o : !x
}
