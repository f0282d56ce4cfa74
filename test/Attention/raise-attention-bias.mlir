// RUN: weft-opt --split-input-file --weft-raise --weft-raise-attention %s | FileCheck %s

// Attention with a bias whose gradient is asked for as well.

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

// The gradient of a bias is asked for as well: scores are computed once more,
// after the gradient, for that alone.
// CHECK-LABEL: func @bias(
// CHECK-NOT: weft.matmul
// CHECK: weft.attention %{{.*}} bias %
// CHECK-NOT: weft.matmul
// CHECK: weft.attention_grad %{{.*}} bias %
// CHECK-COUNT-2: weft.matmul
// CHECK-NOT: weft.matmul
// CHECK: return
func.func @bias(%q: !x, %k: !x, %v: !x, %do: !x, %bias: !s) -> (!x, !x, !x, !x, !x) {
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
  %dbias = linalg.reduce { arith.addf } ins(%ds0 : !s) outs(%zero : !r) dimensions = [1]
  %dbx = tensor.empty() : !x
  %dbb = linalg.broadcast ins(%dbias : !r) outs(%dbx : !x) dimensions = [1]
  return %o, %dq, %dk, %dv, %dbb : !x, !x, !x, !x, !x
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

// In a branch, what is made outside of it stays there.
// CHECK-LABEL: func @bias_in_a_branch(
// CHECK: linalg.generic
// CHECK: scf.if
// CHECK-NOT: weft.matmul
// CHECK: weft.attention %{{.*}} bias %
// CHECK-NOT: weft.matmul
// CHECK: weft.attention_grad %{{.*}} bias %
// CHECK-COUNT-2: weft.matmul
// CHECK-NOT: weft.matmul
// CHECK: return
func.func @bias_in_a_branch(%q: !x, %k: !x, %v: !x, %do: !x, %half: !s, %flag: tensor<i1>) -> (!x, !x, !x, !x, !x) {
  %bias = arith.addf %half, %half : !s
  %is = tensor.extract %flag[] : tensor<i1>
  %all:5 = scf.if %is -> (!x, !x, !x, !x, !x) {
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
    %dbias = linalg.reduce { arith.addf } ins(%ds0 : !s) outs(%zero : !r) dimensions = [1]
    %dbx = tensor.empty() : !x
    %dbb = linalg.broadcast ins(%dbias : !r) outs(%dbx : !x) dimensions = [1]
    scf.yield %o, %dq, %dk, %dv, %dbb : !x, !x, !x, !x, !x
  } else {
    scf.yield %q, %q, %q, %q, %q : !x, !x, !x, !x, !x
  }
  return %all#0, %all#1, %all#2, %all#3, %all#4 : !x, !x, !x, !x, !x
}
