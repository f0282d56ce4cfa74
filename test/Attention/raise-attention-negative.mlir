// RUN: weft-opt --split-input-file --weft-raise --weft-raise-attention %s | FileCheck %s

// What looks like attention and is not.
// Elementwise ops stand on tensors here; weft-raise makes the form that frontends
// reach as well.

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

// The mask comes after the softmax.
// CHECK-LABEL: func @negative_mask_after(
// CHECK-NOT: weft.attention
// CHECK: return
func.func @negative_mask_after(%q: !x, %k: !x, %v: !x) -> (!x) {
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
  %f = arith.constant dense<0.0> : !s
  %pm = arith.select %im, %p, %f : tensor<8x8xi1>, !s
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

// Weights are dropped out.
// CHECK-LABEL: func @negative_dropout(
// CHECK-NOT: weft.attention
// CHECK: return
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
// CHECK-LABEL: func @negative_used(
// CHECK-NOT: weft.attention
// CHECK: return
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

// Its sums have orders, which the op would not have.
// CHECK-LABEL: func @negative_ordered(
// CHECK-NOT: weft.attention
// CHECK: return
func.func @negative_ordered(%q: !x, %k: !x, %v: !x) -> (!x) {
  %s = weft.matmul %q, %k {indexing_maps = [#ijd0, #ijd1, #ijd2], weft.order = #weft.order<leaves = 1>} : !x, !x -> !s
  %zero = arith.constant dense<0.0> : !r
  %es = tensor.empty() : !s
  %e = math.exp %s : !s
  %l = linalg.reduce { arith.addf } ins(%e : !s) outs(%zero : !r) dimensions = [1]
  %lb = linalg.broadcast ins(%l : !r) outs(%es : !s) dimensions = [1]
  %p = arith.divf %e, %lb : !s
  %o = weft.matmul %p, %v {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  return %o : !x
}
