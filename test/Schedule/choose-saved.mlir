// RUN: weft-opt %s --weft-choose-saved=price=1000000000 | FileCheck %s
// RUN: weft-opt %s --weft-choose-saved | FileCheck %s --check-prefix=KEPT
// RUN: weft-opt %s --weft-choose-saved="price=1000000000 share=0" | FileCheck %s --check-prefix=KEPT
// RUN: weft-opt %s --weft-choose-saved="price=1000000000 kept=0" | FileCheck %s --check-prefix=KEPT
// RUN: weft-opt %s --weft-choose-saved="share=0 late-price=1000000000" | FileCheck %s
// RUN: not weft-opt %s --weft-choose-saved=machine=none.json 2>&1 | FileCheck %s --check-prefix=MACHINE
// MACHINE: error: no machine 'none.json'
// RUN: not weft-opt %s --weft-choose-saved="kept=0,99" 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: error: 'func.func' op has {{[0-9]+}} tasks before its backward pass, and no number 99 that could be kept
// RUN: not weft-opt %s --weft-choose-saved="price=-1" 2>&1 | FileCheck %s --check-prefix=PRICE
// RUN: not weft-opt %s --weft-choose-saved="share=101" 2>&1 | FileCheck %s --check-prefix=PRICE
// PRICE: error: weft-choose-saved: price={{-1|0}} late-price=0 share={{10[01]}}: prices are 0 or more, a share is 0 to 100 percent

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>

// At no price, all is kept.
// KEPT-LABEL: func @chain
// KEPT-NOT: optimization_barrier
// KEPT-LABEL: func @gathers

// The first product waits for the last one, and its reader reads it through a
// view. What it is made of are arguments, which are there anyway.
// CHECK-LABEL: func @chain
// CHECK-SAME: (%[[X:.*]]: tensor<64x64xf32>, %[[W:.*]]: tensor<64x64xf32>)
// CHECK: %[[FIRST:.*]] = weft.matmul %[[X]], %[[W]]
// CHECK: %[[SECOND:.*]] = weft.matmul %[[FIRST]], %[[W]]
// CHECK-COUNT-3: weft.matmul
// CHECK: %[[LAST:.*]] = weft.matmul
// CHECK: %[[B:.*]]:2 = weft.optimization_barrier %[[X]], %[[LAST]]
// CHECK: %[[AGAIN:.*]] = weft.matmul %[[B]]#0, %[[W]]
// CHECK: %[[VIEW:.*]] = tensor.expand_shape %[[AGAIN]]
// CHECK: %[[BACK:.*]] = tensor.collapse_shape %[[VIEW]]
// CHECK: weft.matmul %[[LAST]], %[[BACK]]
func.func @chain(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %view = tensor.expand_shape %0 [[0, 1], [2]] output_shape [8, 8, 64] : tensor<64x64xf32> into tensor<8x8x64xf32>
  %back = tensor.collapse_shape %view [[0, 1], [2]] : tensor<8x8x64xf32> into tensor<64x64xf32>
  %1 = weft.matmul %0, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %a = weft.matmul %1, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %b = weft.matmul %a, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %c = weft.matmul %b, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %2 = weft.matmul %c, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %3 = weft.matmul %2, %back {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}

weft.mesh @mesh = <["fsdp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather

// The weight of what is done again is gathered again anyway: that gather comes
// earlier, and there is no third one.
// CHECK-LABEL: func @gathers
// CHECK: weft.all_gather
// CHECK-COUNT-5: weft.matmul
// CHECK: %[[THIRD:.*]] = weft.matmul
// CHECK: %[[AGAIN:.*]] = weft.all_gather
// CHECK: %[[FIRST:.*]] = weft.matmul %{{.*}}, %[[AGAIN]]
// CHECK: %[[LAST:.*]] = weft.matmul %[[THIRD]], %[[FIRST]]
// CHECK-NOT: weft.all_gather
// CHECK: weft.matmul %[[LAST]], %[[AGAIN]]
func.func @gathers(%x: tensor<64x64xf32>, %w: tensor<32x64xf32>, %v: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %g = weft.all_gather %w on @mesh <{"fsdp"}> dims [0] {channel = @gather.fsdp} : (tensor<32x64xf32>) -> tensor<64x64xf32>
  %0 = weft.matmul %x, %g {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %1 = weft.matmul %0, %v {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %a = weft.matmul %1, %v {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %b = weft.matmul %a, %v {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %c = weft.matmul %b, %v {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %2 = weft.matmul %c, %v {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %3 = weft.matmul %2, %0 {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %h = weft.all_gather %w on @mesh <{"fsdp"}> dims [0] {channel = @gather.fsdp} : (tensor<32x64xf32>) -> tensor<64x64xf32>
  %4 = weft.matmul %3, %h {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  return %4 : tensor<64x64xf32>
}

// A product that is read again a few products later stays.
// CHECK-LABEL: func @soon
// CHECK-NOT: optimization_barrier
// CHECK: return
func.func @soon(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %1 = weft.matmul %0, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %2 = weft.matmul %1, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %3 = weft.matmul %2, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %4 = weft.matmul %3, %0 {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  return %4 : tensor<64x64xf32>
}

#id = affine_map<(i, j) -> (i, j)>

// The sum is made again at the first product that reads it; the wide copy of it
// that only the last product needs is made just before that one, and does not
// wait in memory.
// CHECK-LABEL: func @wide
// CHECK-COUNT-5: weft.matmul
// CHECK: %[[END:.*]] = weft.matmul
// CHECK: weft.optimization_barrier %{{.*}}, %[[END]]
// CHECK: %[[SUM:.*]] = linalg.generic
// CHECK: %[[FIRST:.*]] = weft.matmul %{{.*}}, %[[SUM]]
// CHECK: %[[NEXT:.*]] = weft.matmul %[[FIRST]]
// CHECK: %[[B:.*]]:2 = weft.optimization_barrier %[[SUM]], %[[NEXT]]
// CHECK: linalg.generic {{.*}} ins(%[[B]]#0 :
// CHECK: arith.extf
func.func @wide(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %v: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %e = tensor.empty() : tensor<64x64xbf16>
  %f = tensor.empty() : tensor<64x64xf32>
  %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %x : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%e : tensor<64x64xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %o: bf16):
    %t = arith.addf %a, %b : bf16
    linalg.yield %t : bf16
  } -> tensor<64x64xbf16>
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<64x64xbf16>) outs(%f : tensor<64x64xf32>) {
  ^bb0(%a: bf16, %o: f32):
    %t = arith.extf %a : bf16 to f32
    linalg.yield %t : f32
  } -> tensor<64x64xf32>
  %1 = weft.matmul %s, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xbf16>
  %p = weft.matmul %1, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xbf16>
  %q = weft.matmul %p, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xbf16>
  %r = weft.matmul %q, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xbf16>
  %2 = weft.matmul %r, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xbf16>
  %3 = weft.matmul %2, %s {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xbf16>
  %4 = weft.matmul %3, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  %5 = weft.matmul %4, %g {indexing_maps = [#mk, #kn, #mn]} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  return %5 : tensor<64x64xf32>
}
