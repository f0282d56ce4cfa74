// RUN: weft-opt --split-input-file --weft-raise --weft-raise-attention %s | FileCheck %s

// Gradients of attention, and what looks like them and is not.
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

// The gradient lacks the scale.
// CHECK-LABEL: func @negative_scale(
// CHECK-NOT: weft.attention
// CHECK: return
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

// The gradient takes the sum of another product off.
// CHECK-LABEL: func @negative_delta(
// CHECK-NOT: weft.attention
// CHECK: return
func.func @negative_delta(%q: !x, %k: !x, %v: !x, %do: !x) -> (!x, !x, !x, !x) {
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
  %pdp = arith.mulf %p, %e : !s
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

// The mask of the gradient is not needed, as the weights are 0 there.
// CHECK-LABEL: func @unmasked(
// CHECK: weft.attention %{{.*}} {config = #weft.attention<scale = 5.000000e-01 : f32, right = 0>
// CHECK: weft.attention_grad %{{.*}} {config = #weft.attention<scale = 5.000000e-01 : f32
func.func @unmasked(%q: !x, %k: !x, %v: !x, %do: !x) -> (!x, !x, !x, !x) {
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
  %ds = arith.mulf %ds0, %c : !s
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

// The gradient of keys is that of others.
// CHECK-LABEL: func @negative_keys(
// CHECK-NOT: weft.attention
// CHECK: return
func.func @negative_keys(%q: !x, %k: !x, %v: !x, %do: !x) -> (!x, !x, !x, !x) {
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
  %dv = weft.matmul %p, %do {indexing_maps = [#jei0, #jei1, #jei2]} : !s, !x -> !x
  %dp = weft.matmul %do, %v {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %pdp = arith.mulf %p, %dp : !s
  %delta = linalg.reduce { arith.addf } ins(%pdp : !s) outs(%zero : !r) dimensions = [1]
  %db = linalg.broadcast ins(%delta : !r) outs(%es : !s) dimensions = [1]
  %dd = arith.subf %dp, %db : !s
  %ds0 = arith.mulf %p, %dd : !s
  %ds = arith.mulf %ds0, %c : !s
  %dq = weft.matmul %ds, %k {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  %dk = weft.matmul %ds0, %q {indexing_maps = [#jei0, #jei1, #jei2]} : !s, !x -> !x
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

// The gradient is of another result.
// CHECK-LABEL: func @negative_result(
// CHECK-NOT: weft.attention
// CHECK: return
func.func @negative_result(%q: !x, %k: !x, %v: !x, %do: !x) -> (!x, !x, !x, !x) {
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
  %dv = weft.matmul %p, %do {indexing_maps = [#jei0, #jei1, #jei2]} : !s, !x -> !x
  %dp = weft.matmul %q, %v {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %pdp = arith.mulf %p, %dp : !s
  %delta = linalg.reduce { arith.addf } ins(%pdp : !s) outs(%zero : !r) dimensions = [1]
  %db = linalg.broadcast ins(%delta : !r) outs(%es : !s) dimensions = [1]
  %dd = arith.subf %dp, %db : !s
  %ds0 = arith.mulf %p, %dd : !s
  %ds = arith.mulf %ds0, %c : !s
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

// The scale is applied to gradients.
// CHECK-LABEL: func @scaled_after(
// CHECK: weft.attention %{{.*}} {config = #weft.attention<scale = 5.000000e-01 : f32
// CHECK: weft.attention_grad %{{.*}} {config = #weft.attention<scale = 5.000000e-01 : f32
func.func @scaled_after(%q: !x, %k: !x, %v: !x, %do: !x) -> (!x, !x, !x, !x) {
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
  %dv = weft.matmul %p, %do {indexing_maps = [#jei0, #jei1, #jei2]} : !s, !x -> !x
  %dp = weft.matmul %do, %v {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %pdp = arith.mulf %p, %dp : !s
  %delta = linalg.reduce { arith.addf } ins(%pdp : !s) outs(%zero : !r) dimensions = [1]
  %db = linalg.broadcast ins(%delta : !r) outs(%es : !s) dimensions = [1]
  %dd = arith.subf %dp, %db : !s
  %ds0 = arith.mulf %p, %dd : !s
  %dq0 = weft.matmul %ds0, %k {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  %dk0 = weft.matmul %ds0, %q {indexing_maps = [#jei0, #jei1, #jei2]} : !s, !x -> !x
  %cx = arith.constant dense<0.5> : !x
  %dq = arith.mulf %dq0, %cx : !x
  %dk = arith.mulf %dk0, %cx : !x
  return %o, %dq, %dk, %dv : !x, !x, !x, !x
}
