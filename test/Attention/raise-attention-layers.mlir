// RUN: weft-opt --weft-raise --weft-raise-attention %s | FileCheck %s

// Layers in turn. Comparisons of one layer serve the next only where these
// differ in nothing but which tensors they read, each in the same places.

#ijd0 = affine_map<(i, j, d) -> (i, d)>
#ijd1 = affine_map<(i, j, d) -> (j, d)>
#ijd2 = affine_map<(i, j, d) -> (i, j)>
#iej0 = affine_map<(i, e, j) -> (i, j)>
#iej1 = affine_map<(i, e, j) -> (j, e)>
#iej2 = affine_map<(i, e, j) -> (i, e)>
!x = tensor<8x4xf32>
!s = tensor<8x8xf32>
!r = tensor<8xf32>

// CHECK-LABEL: func @layers(
func.func @layers(%x0: !x, %k: !x, %v: !x, %other: !r) -> (!x) {
  %c = arith.constant dense<0.5> : !s
  %low = arith.constant dense<0xFF800000> : !r
  %zero = arith.constant dense<0.0> : !r
  %almost_one = arith.constant dense<1.0000001> : !r
  %three = arith.constant dense<3.0> : !r
  %es = tensor.empty() : !s

  // CHECK: = weft.attention %
  %qk1 = weft.matmul %x0, %k {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %s1 = arith.mulf %qk1, %c : !s
  %max1 = linalg.reduce { arith.maximumf } ins(%s1 : !s) outs(%low : !r) dimensions = [1]
  %mb1 = linalg.broadcast ins(%max1 : !r) outs(%es : !s) dimensions = [1]
  %d1 = arith.subf %s1, %mb1 : !s
  %e1 = math.exp %d1 : !s
  %l1 = linalg.reduce { arith.addf } ins(%e1 : !s) outs(%zero : !r) dimensions = [1]
  %t1 = arith.mulf %l1, %almost_one : !r
  %lb1 = linalg.broadcast ins(%t1 : !r) outs(%es : !s) dimensions = [1]
  %p1 = arith.divf %e1, %lb1 : !s
  %o1 = weft.matmul %p1, %v {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  %x1 = arith.addf %o1, %x0 : !x

  // CHECK: = weft.attention %
  %qk2 = weft.matmul %x1, %k {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %s2 = arith.mulf %qk2, %c : !s
  %max2 = linalg.reduce { arith.maximumf } ins(%s2 : !s) outs(%low : !r) dimensions = [1]
  %mb2 = linalg.broadcast ins(%max2 : !r) outs(%es : !s) dimensions = [1]
  %d2 = arith.subf %s2, %mb2 : !s
  %e2 = math.exp %d2 : !s
  %l2 = linalg.reduce { arith.addf } ins(%e2 : !s) outs(%zero : !r) dimensions = [1]
  %t2 = arith.mulf %l2, %almost_one : !r
  %lb2 = linalg.broadcast ins(%t2 : !r) outs(%es : !s) dimensions = [1]
  %p2 = arith.divf %e2, %lb2 : !s
  %o2 = weft.matmul %p2, %v {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  %x2 = arith.addf %o2, %x1 : !x

  // Another number in the same place.
  // CHECK-NOT: = weft.attention
  // CHECK-COUNT-2: = weft.matmul
  %qk3 = weft.matmul %x2, %k {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %s3 = arith.mulf %qk3, %c : !s
  %max3 = linalg.reduce { arith.maximumf } ins(%s3 : !s) outs(%low : !r) dimensions = [1]
  %mb3 = linalg.broadcast ins(%max3 : !r) outs(%es : !s) dimensions = [1]
  %d3 = arith.subf %s3, %mb3 : !s
  %e3 = math.exp %d3 : !s
  %l3 = linalg.reduce { arith.addf } ins(%e3 : !s) outs(%zero : !r) dimensions = [1]
  %t3 = arith.mulf %l3, %three : !r
  %lb3 = linalg.broadcast ins(%t3 : !r) outs(%es : !s) dimensions = [1]
  %p3 = arith.divf %e3, %lb3 : !s
  %o3 = weft.matmul %p3, %v {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  %x3 = arith.addf %o3, %x2 : !x

  // Another tensor in the same place.
  // CHECK-NOT: = weft.attention
  // CHECK-COUNT-2: = weft.matmul
  %qk4 = weft.matmul %x3, %k {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %s4 = arith.mulf %qk4, %c : !s
  %max4 = linalg.reduce { arith.maximumf } ins(%s4 : !s) outs(%low : !r) dimensions = [1]
  %mb4 = linalg.broadcast ins(%max4 : !r) outs(%es : !s) dimensions = [1]
  %d4 = arith.subf %s4, %mb4 : !s
  %e4 = math.exp %d4 : !s
  %l4 = linalg.reduce { arith.addf } ins(%e4 : !s) outs(%zero : !r) dimensions = [1]
  %t4 = arith.mulf %other, %almost_one : !r
  %lb4 = linalg.broadcast ins(%t4 : !r) outs(%es : !s) dimensions = [1]
  %p4 = arith.divf %e4, %lb4 : !s
  %o4 = weft.matmul %p4, %v {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  %x4 = arith.addf %o4, %x3 : !x

  // CHECK: = weft.attention %
  // CHECK-NOT: weft.matmul
  %qk5 = weft.matmul %x4, %k {indexing_maps = [#ijd0, #ijd1, #ijd2]} : !x, !x -> !s
  %s5 = arith.mulf %qk5, %c : !s
  %max5 = linalg.reduce { arith.maximumf } ins(%s5 : !s) outs(%low : !r) dimensions = [1]
  %mb5 = linalg.broadcast ins(%max5 : !r) outs(%es : !s) dimensions = [1]
  %d5 = arith.subf %s5, %mb5 : !s
  %e5 = math.exp %d5 : !s
  %l5 = linalg.reduce { arith.addf } ins(%e5 : !s) outs(%zero : !r) dimensions = [1]
  %t5 = arith.mulf %l5, %almost_one : !r
  %lb5 = linalg.broadcast ins(%t5 : !r) outs(%es : !s) dimensions = [1]
  %p5 = arith.divf %e5, %lb5 : !s
  %o5 = weft.matmul %p5, %v {indexing_maps = [#iej0, #iej1, #iej2]} : !s, !x -> !x
  %x5 = arith.addf %o5, %x4 : !x
  // CHECK: return
  return %x5 : !x
}
