// RUN: weft-opt --split-input-file --weft-raise --weft-raise-attention %s | FileCheck %s

// What is attention, forward and backward, and what looks like it and is not.
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

// All keys.
// CHECK-LABEL: func @plain(
// CHECK: weft.attention %{{.*}} {config = #weft.attention<scale = 5.000000e-01 : f32>, indexing_maps
// CHECK-NOT: weft.matmul
// CHECK: return
func.func @plain(%q: !x, %k: !x, %v: !x) -> (!x) {
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
  %o = weft.matmul %p, %v {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
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

// Causal, with all gradients.
// CHECK-LABEL: func @causal(
// CHECK: weft.attention %{{.*}} {config = #weft.attention<scale = 5.000000e-01 : f32, right = 0>
// CHECK: weft.attention_grad %{{.*}} {config = #weft.attention<scale = 5.000000e-01 : f32, right = 0>
// CHECK-NOT: weft.matmul
// CHECK: return
func.func @causal(%q: !x, %k: !x, %v: !x, %do: !x) -> (!x, !x, !x, !x) {
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
  %ds = arith.mulf %ds1, %c : !s
  %dq = weft.matmul %ds, %k {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  %dk = weft.matmul %ds, %q {indexing_maps = [#jei0, #jei1, #jei2]} : !s, !x -> !x
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

// A key after the query is seen.
// CHECK-LABEL: func @right(
// CHECK: weft.attention %{{.*}} {config = #weft.attention<scale = 5.000000e-01 : f32, right = 1>
// CHECK: return
func.func @right(%q: !x, %k: !x, %v: !x) -> (!x) {
  %qk = weft.matmul %q, %k {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %c = arith.constant dense<0.5> : !s
  %s = arith.mulf %qk, %c : !s
  %im = tensor.generate {
  ^bb0(%i: index, %j: index):
    %o = arith.constant 1 : index
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

// Keys from the third before the query on.
// CHECK-LABEL: func @left(
// CHECK: weft.attention %{{.*}} {config = #weft.attention<scale = 5.000000e-01 : f32, left = 3>
// CHECK: return
func.func @left(%q: !x, %k: !x, %v: !x) -> (!x) {
  %qk = weft.matmul %q, %k {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %c = arith.constant dense<0.5> : !s
  %s = arith.mulf %qk, %c : !s
  %im = tensor.generate {
  ^bb0(%i: index, %j: index):
    %o = arith.constant -3 : index
    %io = arith.addi %i, %o : index
    %b = arith.cmpi sge, %j, %io : index
    tensor.yield %b : i1
  } : tensor<8x8xi1>
  %f = arith.constant dense<0xFF800000> : !s
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

// The first query would see no key: then all weigh the same.
// CHECK-LABEL: func @before(
// CHECK: weft.attention %{{.*}} mask %{{.*}} {config = #weft.attention<scale = 5.000000e-01 : f32, fill = -1.000000e+30 : f32>
func.func @before(%q: !x, %k: !x, %v: !x) -> (!x) {
  %qk = weft.matmul %q, %k {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %c = arith.constant dense<0.5> : !s
  %s = arith.mulf %qk, %c : !s
  %im = tensor.generate {
  ^bb0(%i: index, %j: index):
    %o = arith.constant 0 : index
    %io = arith.addi %i, %o : index
    %b = arith.cmpi slt, %j, %io : index
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

// What is not seen still weighs something.
// CHECK-LABEL: func @weak(
// CHECK: weft.attention %{{.*}} mask %{{.*}} fill = -1.000000e+00 : f32>
func.func @weak(%q: !x, %k: !x, %v: !x) -> (!x) {
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
  %f = arith.constant dense<-1.0> : !s
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

// The rest is divided by the sum after the values are added up.
// CHECK-LABEL: func @after(
// CHECK: weft.attention %{{.*}} {config = #weft.attention<scale = 5.000000e-01 : f32
// CHECK-NOT: weft.matmul
// CHECK: return
func.func @after(%q: !x, %k: !x, %v: !x) -> (!x) {
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
  %n = weft.matmul %e, %v {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  %ex = tensor.empty() : !x
  %lx = linalg.broadcast ins(%l : !r) outs(%ex : !x) dimensions = [1]
  %o = arith.divf %n, %lx : !x
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

// The sum is of other scores.
// CHECK-LABEL: func @negative_sum(
// CHECK-NOT: weft.attention
// CHECK: return
func.func @negative_sum(%q: !x, %k: !x, %v: !x) -> (!x) {
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
  %e2 = arith.mulf %e, %e : !s
  %l = linalg.reduce { arith.addf } ins(%e2 : !s) outs(%zero : !r) dimensions = [1]
  %lb = linalg.broadcast ins(%l : !r) outs(%es : !s) dimensions = [1]
  %p = arith.divf %e, %lb : !s
  %o = weft.matmul %p, %v {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
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

// The maximum is of other scores than those it is taken from, and cancels.
// CHECK-LABEL: func @maximum(
// CHECK: weft.attention %{{.*}} {config = #weft.attention<scale = 5.000000e-01 : f32
func.func @maximum(%q: !x, %k: !x, %v: !x) -> (!x) {
  %qk = weft.matmul %q, %k {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %c = arith.constant dense<0.5> : !s
  %s = arith.mulf %qk, %c : !s
  %low = arith.constant dense<0xFF800000> : !r
  %zero = arith.constant dense<0.0> : !r
  %es = tensor.empty() : !s
  %max = linalg.reduce { arith.maximumf } ins(%qk : !s) outs(%low : !r) dimensions = [1]
  %mb = linalg.broadcast ins(%max : !r) outs(%es : !s) dimensions = [1]
  %x = arith.subf %s, %mb : !s
  %e = math.exp %x : !s
  %l = linalg.reduce { arith.addf } ins(%e : !s) outs(%zero : !r) dimensions = [1]
  %lb = linalg.broadcast ins(%l : !r) outs(%es : !s) dimensions = [1]
  %p = arith.divf %e, %lb : !s
  %o = weft.matmul %p, %v {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  return %o : !x
}
