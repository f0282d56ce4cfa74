// RUN: weft-opt %s --weft-assign-orders="axes=mesh min-leaf=4" | FileCheck %s
// RUN: weft-opt %s --weft-assign-orders="axes=pp leaves=6 min-leaf=4" | FileCheck %s --check-prefix=SIX
// RUN: weft-opt %s --weft-assign-orders="axes=mesh min-leaf=4 partials=bf16" | FileCheck %s --check-prefix=BF16
// RUN: weft-opt %s --weft-assign-orders | FileCheck %s --check-prefix=FAST
// RUN: weft-opt %s --weft-assign-orders="axes=mesh min-leaf=4" --weft-assign-orders="axes=mesh min-leaf=4" \
// RUN:   | FileCheck %s --check-prefix=TWICE

// CHECK: module attributes {weft.invariance = #weft.invariance<axes = ["dp", "tp", "pp"], leaves = 8>}
// SIX: module attributes {weft.invariance = #weft.invariance<axes = ["pp"], leaves = 6>}
// FAST-NOT: weft.invariance
// FAST-NOT: weft.order

weft.mesh @mesh = <["dp"=2, "tp"=2, "pp"=1]>

// 48 elements are 8 leaves of 6, 24 are 4 leaves of 6 (of six: 6 of 4), and 7
// are one.
// CHECK-LABEL: func @matmuls
// CHECK: weft.matmul {{.*}} weft.order = #weft.order<leaves = 8>
// CHECK: weft.matmul {{.*}} weft.order = #weft.order<leaves = 4>
// CHECK: weft.matmul {{.*}} weft.order = #weft.order<leaves = 1>
// SIX-LABEL: func @matmuls
// SIX: weft.matmul {{.*}} weft.order = #weft.order<leaves = 6>
// SIX: weft.matmul {{.*}} weft.order = #weft.order<leaves = 6>
// SIX: weft.matmul {{.*}} weft.order = #weft.order<leaves = 1>
func.func @matmuls(%a: tensor<4x48xf32>, %b: tensor<48x8xf32>, %c: tensor<4x2x12xf32>,
                   %d: tensor<2x12x8xf32>, %e: tensor<4x7xf32>, %f: tensor<7x8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
         affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
       : tensor<4x48xf32>, tensor<48x8xf32> -> tensor<4x8xf32>
  %1 = weft.matmul %c, %d {indexing_maps = [affine_map<(m, n, j, k) -> (m, j, k)>,
         affine_map<(m, n, j, k) -> (j, k, n)>, affine_map<(m, n, j, k) -> (m, n)>]}
       : tensor<4x2x12xf32>, tensor<2x12x8xf32> -> tensor<4x8xf32>
  %2 = weft.matmul %e, %f {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
         affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
       : tensor<4x7xf32>, tensor<7x8xf32> -> tensor<4x8xf32>
  return %0, %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// A contraction for each of many batches has longer leaves.
// CHECK-LABEL: func @batched
// CHECK: weft.matmul {{.*}} weft.order = #weft.order<leaves = 2>
func.func @batched(%a: tensor<3x4x48xf32>, %b: tensor<3x48x8xf32>) -> tensor<3x4x8xf32> {
  %0 = weft.matmul %a, %b {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>,
         affine_map<(b, m, n, k) -> (b, k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>]}
       : tensor<3x4x48xf32>, tensor<3x48x8xf32> -> tensor<3x4x8xf32>
  return %0 : tensor<3x4x8xf32>
}

// Parts of the sum are joined before they are rounded to bf16, or each is
// rounded. One leaf is rounded once, in either case.
// CHECK-LABEL: func @narrow
// CHECK: %[[WIDE:.*]] = weft.matmul {{.*}} weft.order = #weft.order<leaves = 8>} : {{.*}} -> tensor<4x8xf32>
// CHECK: linalg.generic {{.*}} ins(%[[WIDE]] : tensor<4x8xf32>) outs(%{{.*}} : tensor<4x8xbf16>)
// CHECK: arith.truncf
// CHECK: weft.matmul {{.*}} weft.order = #weft.order<leaves = 1>} : {{.*}} -> tensor<4x8xbf16>
// BF16-LABEL: func @narrow
// BF16: weft.matmul {{.*}} weft.order = #weft.order<leaves = 8, rounded = true>} : {{.*}} -> tensor<4x8xbf16>
// BF16-NOT: truncf
// BF16: weft.matmul {{.*}} weft.order = #weft.order<leaves = 1>} : {{.*}} -> tensor<4x8xbf16>
// TWICE-LABEL: func @narrow
// TWICE-COUNT-1: truncf
// TWICE-NOT: truncf
// TWICE: return
func.func @narrow(%a: tensor<4x256xbf16>, %b: tensor<256x8xbf16>, %e: tensor<4x7xbf16>, %f: tensor<7x8xbf16>)
    -> (tensor<4x8xbf16>, tensor<4x8xbf16>) {
  %0 = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
         affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
       : tensor<4x256xbf16>, tensor<256x8xbf16> -> tensor<4x8xbf16>
  %1 = weft.matmul %e, %f {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
         affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
       : tensor<4x7xbf16>, tensor<7x8xbf16> -> tensor<4x8xbf16>
  return %0, %1 : tensor<4x8xbf16>, tensor<4x8xbf16>
}

// With narrow partial sums a contraction takes in the cast that is all that
// becomes of its result, after whatever moves elements only. Not one of f16,
// which none of f32 rounds to; nor if something else uses the wide result.
// CHECK-LABEL: func @casts
// CHECK-COUNT-3: weft.matmul {{.*}} -> tensor<4x8xf32>
// BF16-LABEL: func @casts
// BF16: %[[NARROW:.*]] = weft.matmul {{.*}} weft.order = #weft.order<leaves = 8, rounded = true>} : tensor<4x192xf32>, tensor<192x8xf32> -> tensor<4x8xbf16>
// BF16: %[[MOVED:.*]] = linalg.generic {{.*}} ins(%[[NARROW]] : tensor<4x8xbf16>) outs(%{{.*}} : tensor<8x4xbf16>)
// BF16-NEXT: ^bb0(%[[IN:.*]]: bf16, %{{.*}}: bf16):
// BF16-NEXT: linalg.yield %[[IN]] : bf16
// BF16: %[[SHAPED:.*]] = tensor.expand_shape %[[MOVED]] {{.*}} : tensor<8x4xbf16> into tensor<8x2x2xbf16>
// BF16: weft.matmul {{.*}} weft.order = #weft.order<leaves = 8>} : {{.*}} -> tensor<4x8xf32>
// BF16: arith.truncf {{.*}} : f32 to f16
// BF16: %[[BOTH:.*]] = weft.matmul {{.*}} weft.order = #weft.order<leaves = 8>} : {{.*}} -> tensor<4x8xf32>
// BF16: arith.truncf {{.*}} : f32 to bf16
// BF16: return %[[SHAPED]], %{{.*}}, %{{.*}}, %[[BOTH]]
func.func @casts(%a: tensor<4x192xf32>, %b: tensor<192x8xf32>)
    -> (tensor<8x2x2xbf16>, tensor<4x8xf16>, tensor<4x8xbf16>, tensor<4x8xf32>) {
  %0 = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
         affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
       : tensor<4x192xf32>, tensor<192x8xf32> -> tensor<4x8xf32>
  %e0 = tensor.empty() : tensor<8x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
         iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<4x8xf32>) outs(%e0 : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x4xf32>
  %2 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [8, 2, 2] : tensor<8x4xf32> into tensor<8x2x2xf32>
  %e1 = tensor.empty() : tensor<8x2x2xbf16>
  %3 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>],
         iterator_types = ["parallel", "parallel", "parallel"]} ins(%2 : tensor<8x2x2xf32>) outs(%e1 : tensor<8x2x2xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %t = arith.truncf %in : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<8x2x2xbf16>
  %4 = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
         affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
       : tensor<4x192xf32>, tensor<192x8xf32> -> tensor<4x8xf32>
  %e2 = tensor.empty() : tensor<4x8xf16>
  %5 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
         iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<4x8xf32>) outs(%e2 : tensor<4x8xf16>) {
  ^bb0(%in: f32, %out: f16):
    %t = arith.truncf %in : f32 to f16
    linalg.yield %t : f16
  } -> tensor<4x8xf16>
  %6 = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
         affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
       : tensor<4x192xf32>, tensor<192x8xf32> -> tensor<4x8xf32>
  %e3 = tensor.empty() : tensor<4x8xbf16>
  %7 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
         iterator_types = ["parallel", "parallel"]} ins(%6 : tensor<4x8xf32>) outs(%e3 : tensor<4x8xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %t = arith.truncf %in : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<4x8xbf16>
  return %3, %5, %7, %6 : tensor<8x2x2xbf16>, tensor<4x8xf16>, tensor<4x8xbf16>, tensor<4x8xf32>
}

// Rows of 128 are summed in 16 chains: a leaf is a part of a row. Columns are
// not, nor are rows of 48 in leaves of 6. Leaves of these may be shorter.
// CHECK-LABEL: func @reductions
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} {{.*}} attrs = {weft.order = #weft.order<leaves = 8, lanes = 16>}
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} {{.*}} attrs = {weft.order = #weft.order<leaves = 8>}
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} {{.*}} attrs = {weft.order = #weft.order<leaves = 8>}
func.func @reductions(%x: tensor<16x128xf32>, %y: tensor<16x48xf32>)
    -> (tensor<16xf32>, tensor<128xf32>, tensor<16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<16xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<16xf32>) -> tensor<16xf32>
  %e2 = tensor.empty() : tensor<128xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<128xf32>) -> tensor<128xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
         iterator_types = ["parallel", "reduction"]} ins(%x : tensor<16x128xf32>) outs(%z0 : tensor<16xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
         iterator_types = ["reduction", "parallel"]} ins(%x : tensor<16x128xf32>) outs(%z2 : tensor<128xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  } -> tensor<128xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
         iterator_types = ["parallel", "reduction"]} ins(%y : tensor<16x48xf32>) outs(%z0 : tensor<16xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  return %0, %2, %3 : tensor<16xf32>, tensor<128xf32>, tensor<16xf32>
}

// A sum over several loops is taken in stages: batch and sequence first, then
// heads. Each may be cut by an axis of its own.
// CHECK-LABEL: func @stages
// CHECK: %[[HEADS:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "reduction", "parallel", "parallel"]}
// CHECK-SAME: outs(%{{.*}} : tensor<16x64xf32>) attrs = {weft.order = #weft.order<leaves = 8>}
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[HEADS]] : tensor<16x64xf32>)
// CHECK-SAME: outs(%arg1 : tensor<64xf32>) attrs = {weft.order = #weft.order<leaves = 8>}
// CHECK-NOT: mulf
// CHECK: return %[[SUM]]
func.func @stages(%x: tensor<4x8x16x64xf32>, %start: tensor<64xf32>) -> tensor<64xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(b, s, h, d) -> (b, s, h, d)>, affine_map<(b, s, h, d) -> (d)>],
         iterator_types = ["reduction", "reduction", "reduction", "parallel"]} ins(%x : tensor<4x8x16x64xf32>) outs(%start : tensor<64xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %q = arith.mulf %a, %a : f32
    %s = arith.addf %q, %acc : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// A sum to one f32 is taken in f64, what it starts from included.
// CHECK-LABEL: func @to_scalar
// CHECK: %[[COLUMNS:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} {{.*}} outs(%{{.*}} : tensor<128xf64>)
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%[[COLUMNS]] : tensor<128xf64>) {{.*}} attrs = {weft.order = #weft.order<leaves = 8, lanes = 16>}
// CHECK: linalg.generic {{.*}} ins(%[[SUM]], %arg1 : tensor<f64>, tensor<f32>) outs(%{{.*}} : tensor<f32>)
// CHECK: %[[START:.*]] = arith.extf
// CHECK: arith.addf %[[START]]
// CHECK: arith.truncf %{{.*}} : f64 to f32
func.func @to_scalar(%x: tensor<16x128xf32>, %start: tensor<f32>) -> tensor<f32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>],
         iterator_types = ["reduction", "reduction"]} ins(%x : tensor<16x128xf32>) outs(%start : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// Max and integer sums need no order; the largest with its index is one chain.
// CHECK-LABEL: func @others
// CHECK: arith.maximumf
// CHECK-NOT: weft.order
// CHECK: arith.addi
// CHECK-NOT: weft.order
// CHECK: attrs = {weft.order = #weft.order<leaves = 1>}
func.func @others(%x: tensor<128xf32>, %n: tensor<128xi32>) -> (tensor<f32>, tensor<i32>, tensor<f32>, tensor<index>) {
  %low = arith.constant dense<0xFF800000> : tensor<f32>
  %none = arith.constant dense<0> : tensor<i32>
  %first = arith.constant dense<0> : tensor<index>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
         iterator_types = ["reduction"]} ins(%x : tensor<128xf32>) outs(%low : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %m = arith.maximumf %acc, %a : f32
    linalg.yield %m : f32
  } -> tensor<f32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
         iterator_types = ["reduction"]} ins(%n : tensor<128xi32>) outs(%none : tensor<i32>) {
  ^bb0(%a: i32, %acc: i32):
    %s = arith.addi %acc, %a : i32
    linalg.yield %s : i32
  } -> tensor<i32>
  %2:2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> ()>],
         iterator_types = ["reduction"]} ins(%x : tensor<128xf32>) outs(%low, %first : tensor<f32>, tensor<index>) {
  ^bb0(%a: f32, %acc: f32, %at: index):
    %i = linalg.index 0 : index
    %more = arith.cmpf ogt, %a, %acc : f32
    %m = arith.select %more, %a, %acc : f32
    %k = arith.select %more, %i, %at : index
    linalg.yield %m, %k : f32, index
  } -> (tensor<f32>, tensor<index>)
  return %0, %1, %2#0, %2#1 : tensor<f32>, tensor<i32>, tensor<f32>, tensor<index>
}

// CHECK-LABEL: func @lookups
// CHECK: %[[ROWS:.*]] = weft.take {{.*}} tensor<4x8xf32>
// CHECK-NEXT: %[[NUMBERS:.*]] = weft.take {{.*}} tensor<4xi32>
// CHECK-NEXT: return %[[ROWS]], %[[NUMBERS]]
func.func @lookups(%t: tensor<16x8xf32>, %u: tensor<16xi32>, %i: tensor<4xi32>) -> (tensor<4x8xf32>, tensor<4xi32>) {
  %0 = weft.take %t, %i {axis = 0 : i64, table_map = affine_map<(b, d) -> (d)>, index_map = affine_map<(b, d) -> (b)>}
    : tensor<16x8xf32>, tensor<4xi32> -> tensor<4x8xf32>
  %1 = weft.take %u, %i {axis = 0 : i64, table_map = affine_map<(b) -> ()>, index_map = affine_map<(b) -> (b)>}
    : tensor<16xi32>, tensor<4xi32> -> tensor<4xi32>
  return %0, %1 : tensor<4x8xf32>, tensor<4xi32>
}

// A product that the runtime computes in f32 only is rounded once, whatever the
// partial sums are.
// CHECK-LABEL: func @rounded_once
// BF16-LABEL: func @rounded_once
// BF16: weft.matmul {{.*}} weft.order = #weft.order<leaves = 8>} : {{.*}} -> tensor<4x8xf32>
// BF16: arith.truncf
func.func @rounded_once(%a: tensor<4x48xf32>, %b: tensor<48x8xf32>) -> tensor<4x8xf16> {
  %0 = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
         affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
       : tensor<4x48xf32>, tensor<48x8xf32> -> tensor<4x8xf16>
  return %0 : tensor<4x8xf16>
}

// The greatest of what also shrinks depends on the order: one leaf.
// CHECK-LABEL: func @decaying_maximum
// CHECK: attrs = {weft.order = #weft.order<leaves = 1>}
func.func @decaying_maximum(%x: tensor<16x128xf32>, %init: tensor<16xf32>) -> tensor<16xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
         iterator_types = ["parallel", "reduction"]} ins(%x : tensor<16x128xf32>) outs(%init : tensor<16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %half = arith.constant 0.5 : f32
    %less = arith.mulf %out, %half : f32
    %max = arith.maximumf %less, %in : f32
    linalg.yield %max : f32
  } -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// Which zero maxnum gives is open: one chain.
// CHECK-LABEL: func @open_zero
// CHECK: attrs = {weft.order = #weft.order<leaves = 1>}
func.func @open_zero(%x: tensor<128xf32>) -> tensor<f32> {
  %low = arith.constant dense<0xFF800000> : tensor<f32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
         iterator_types = ["reduction"]} ins(%x : tensor<128xf32>) outs(%low : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %m = arith.maxnumf %acc, %a : f32
    linalg.yield %m : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// Attention: keys in one order, of which no rank has a part. The gradients of
// keys and values are sums over groups and queries: narrow ones are joined in
// f32.
#q = affine_map<(h, g, i, j, d, e) -> (h, g, i, d)>
#k = affine_map<(h, g, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, g, i, j, d, e) -> (h, j, e)>
#out = affine_map<(h, g, i, j, d, e) -> (h, g, i, e)>
#lse = affine_map<(h, g, i, j, d, e) -> (h, g, i)>
// CHECK-LABEL: func @attention
// CHECK: weft.attention %{{.*}} {{{.*}} weft.order = #weft.order<leaves = 1>}
// CHECK: %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = weft.attention_grad {{.*}} weft.order = #weft.order<leaves = 8>} {{.*}} -> (tensor<2x4x128x8xbf16>, tensor<2x128x8xf32>, tensor<2x128x8xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[DK]]
// CHECK: arith.truncf
// CHECK: linalg.generic {{.*}} ins(%[[DV]]
// CHECK: arith.truncf
func.func @attention(%q: tensor<2x4x128x8xbf16>, %k: tensor<2x128x8xbf16>, %dout: tensor<2x4x128x8xbf16>)
    -> (tensor<2x4x128x8xbf16>, tensor<2x128x8xbf16>, tensor<2x128x8xbf16>) {
  %out, %lse = weft.attention %q, %k, %k {config = #weft.attention<scale = 0.5 : f32>, indexing_maps = [#q, #k, #v, #out, #lse]}
      : (tensor<2x4x128x8xbf16>, tensor<2x128x8xbf16>, tensor<2x128x8xbf16>) -> (tensor<2x4x128x8xbf16>, tensor<2x4x128xf32>)
  %dq, %dk, %dv = weft.attention_grad %q, %k, %k, %out, %lse, %dout {config = #weft.attention<scale = 0.5 : f32>,
      indexing_maps = [#q, #k, #v, #out, #lse, #out, #q, #k, #v]}
      : (tensor<2x4x128x8xbf16>, tensor<2x128x8xbf16>, tensor<2x128x8xbf16>, tensor<2x4x128x8xbf16>, tensor<2x4x128xf32>, tensor<2x4x128x8xbf16>)
      -> (tensor<2x4x128x8xbf16>, tensor<2x128x8xbf16>, tensor<2x128x8xbf16>)
  return %dq, %dk, %dv : tensor<2x4x128x8xbf16>, tensor<2x128x8xbf16>, tensor<2x128x8xbf16>
}
