// RUN: weft-opt %s "--weft-canonicalize-global=invariant=mesh leaves=4 min-leaf=2" -o %t
// RUN: FileCheck %s < %t
// RUN: weft-opt %t --weft-verify-canonicalization=source=%s -o /dev/null
// RUN: sed "s/leaves = 2/leaves = 1/" %t > %t.other
// RUN: weft-opt %t.other --weft-verify-canonicalization=source=%s -o /dev/null
// RUN: sed "0,/dim(2)/s/dim(2) %\([a-z_0-9]*\), %\([a-z_0-9]*\) :/dim(2) %\2, %\1 :/" %t > %t.wrong
// RUN: not diff %t %t.wrong > /dev/null
// RUN: not weft-opt %t.wrong --weft-verify-canonicalization=source=%s -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRONG

// Where sums are given orders, products of weights are joined, sums over several
// loops are taken in stages, in f64 if there is just one, narrow products are
// widened, and lookups are followed by + 0: over the reals nothing changes.

// CHECK: tensor.concat dim(2)
// CHECK: tensor.concat
// CHECK: weft.matmul {{.*}}weft.order
// CHECK: f64
// WRONG: another one than the user's module

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
#whole = affine_map<(i, j) -> ()>
module {
  weft.mesh @mesh = <["dp"=2, "tp"=2]>
  func.func @f(%q: tensor<6x16xbf16>, %k: tensor<6x16xbf16>, %x: tensor<6x8xbf16>, %i: tensor<6xi32>,
               %wq: tensor<8x16xbf16>, %wk: tensor<8x16xbf16>, %t: tensor<32x24xf32>, %e: tensor<6x0xf32>)
      -> (tensor<6x8xbf16>, tensor<f32>, tensor<6xf32>, tensor<24xf32>, tensor<f32>, tensor<f32>) {
    %0 = weft.matmul %q, %wq {indexing_maps = [#mk, #nk, #mn]} : tensor<6x16xbf16>, tensor<8x16xbf16> -> tensor<6x8xbf16>
    %1 = weft.matmul %k, %wk {indexing_maps = [#mk, #nk, #mn]} : tensor<6x16xbf16>, tensor<8x16xbf16> -> tensor<6x8xbf16>
    %2 = arith.addf %x, %1 : tensor<6x8xbf16>
    %3 = arith.addf %0, %2 : tensor<6x8xbf16>
    %one = arith.constant dense<1.0> : tensor<f32>
    %all = linalg.generic {indexing_maps = [#id, #whole], iterator_types = ["reduction", "reduction"]} ins(%t : tensor<32x24xf32>) outs(%one : tensor<f32>) {
    ^bb0(%v: f32, %o: f32):
      %s = math.exp %v : f32
      %r = arith.addf %o, %s : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    %rows = weft.take %t, %i {axis = 0 : i64, table_map = affine_map<(d0, d1) -> (d1)>, index_map = affine_map<(d0, d1) -> (d0)>} : tensor<32x24xf32>, tensor<6xi32> -> tensor<6x24xf32>
    %zero = arith.constant dense<0.0> : tensor<6xf32>
    %sums = linalg.reduce {arith.addf} ins(%rows : tensor<6x24xf32>) outs(%zero : tensor<6xf32>) dimensions = [1]
    %ones = arith.constant dense<1.0> : tensor<24xf32>
    %product = linalg.reduce {arith.mulf} ins(%t : tensor<32x24xf32>) outs(%ones : tensor<24xf32>) dimensions = [0]
    // Stages begin with 1, and only the last one with 2.
    %two = arith.constant dense<2.0> : tensor<f32>
    %stages = linalg.reduce {arith.mulf} ins(%t : tensor<32x24xf32>) outs(%two : tensor<f32>) dimensions = [0, 1]
    // A product of nothing is 0, and so is a sum of its squares.
    %nothing = weft.matmul %e, %e {indexing_maps = [#mk, #nk, #mn]} : tensor<6x0xf32>, tensor<6x0xf32> -> tensor<6x6xf32>
    %squares = linalg.generic {indexing_maps = [#id, #whole], iterator_types = ["reduction", "reduction"]} ins(%nothing : tensor<6x6xf32>) outs(%one : tensor<f32>) {
    ^bb0(%v: f32, %o: f32):
      %s = arith.mulf %v, %v : f32
      %r = arith.addf %o, %s : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    return %3, %all, %sums, %product, %stages, %squares : tensor<6x8xbf16>, tensor<f32>, tensor<6xf32>, tensor<24xf32>, tensor<f32>, tensor<f32>
  }
}
