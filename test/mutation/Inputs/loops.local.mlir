// A loop with a gather in it, rows read and set at its counter, a table of
// slices that becomes another shape, and a branch.
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i) -> (i)>
weft.mesh @mesh = <["fsdp"=2]>
func.func @step(%count: tensor<i32> {weft.name = "count", weft.global_type = tensor<i32>, weft.sharding = #weft.sharding<@mesh, []>},
    %xs: tensor<6x4x8xf32> {weft.name = "xs"},
    %b: tensor<6x8xf32> {weft.name = "b"}, %d: tensor<6x8xf32> {weft.name = "d"},
    %w: tensor<4x8xf32> {weft.name = "w", weft.global_type = tensor<8x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}]>})
    -> (tensor<6x4x8xf32> {weft.name = "ys"}, tensor<4x8xf32> {weft.name = "h"}, tensor<12x4xf32> {weft.name = "t"},
        tensor<6x8xf32> {weft.name = "p"}, tensor<6x8xf32> {weft.name = "q"}, tensor<i32> {weft.name = "n"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : i32
  %two = arith.constant 2 : i32
  %zero = arith.constant 0 : i32
  %f2 = arith.constant 2.0 : f32
  %zeros = arith.constant dense<1.0> : tensor<6x4x8xf32>
  %start = arith.constant dense<5.0e-01> : tensor<4x8xf32>
  %i0 = tensor.extract %count[] : tensor<i32>
  %i1 = arith.andi %i0, %two : i32
  %i2 = arith.addi %i1, %c5 : i32
  %n = arith.index_cast %i2 : i32 to index
  %ys, %h, %k = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zeros, %c = %start, %s = %zero) -> (tensor<6x4x8xf32>, tensor<4x8xf32>, i32) {
    %j = arith.remsi %i, %n : index
    %five = arith.constant 5 : index
    %m = arith.minsi %j, %five : index
    %x = tensor.extract_slice %xs[%m, 0, 0] [1, 4, 8] [1, 1, 1] : tensor<6x4x8xf32> to tensor<4x8xf32>
    %g = weft.all_gather %w on @mesh <{"fsdp"}> dims [0] : (tensor<4x8xf32>) -> tensor<8x8xf32>
    %y = weft.matmul %c, %g {indexing_maps = [#lhs, #rhs, #out]} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %e = tensor.empty() : tensor<4x8xf32>
    %z = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x, %y : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %u = arith.mulf %q, %f2 : f32
      %v = arith.subf %p, %u : f32
      %t = math.tanh %v : f32
      linalg.yield %t : f32
    } -> tensor<4x8xf32>
    %acc1 = tensor.insert_slice %z into %acc[%m, 0, 0] [1, 4, 8] [1, 1, 1] : tensor<4x8xf32> into tensor<6x4x8xf32>
    %s1 = arith.addi %s, %two : i32
    scf.yield %acc1, %z, %s1 : tensor<6x4x8xf32>, tensor<4x8xf32>, i32
  }
  %left = tensor.extract_slice %b[0, 0] [6, 4] [1, 1] : tensor<6x8xf32> to tensor<6x4xf32>
  %right = tensor.extract_slice %b[0, 4] [6, 4] [1, 1] : tensor<6x8xf32> to tensor<6x4xf32>
  %e2 = tensor.empty() : tensor<6x4xf32>
  %sum = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%left, %right : tensor<6x4xf32>, tensor<6x4xf32>) outs(%e2 : tensor<6x4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %u = arith.subf %p, %q : f32
    linalg.yield %u : f32
  } -> tensor<6x4xf32>
  %t = tensor.concat dim(0) %sum, %left : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<12x4xf32>
  %isFive = arith.cmpi eq, %i2, %c5 : i32
  %p, %q = scf.if %isFive -> (tensor<6x8xf32>, tensor<6x8xf32>) {
    %e3 = tensor.empty() : tensor<6x8xf32>
    %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%b, %d : tensor<6x8xf32>, tensor<6x8xf32>) outs(%e3 : tensor<6x8xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %u = arith.divf %x, %y : f32
      linalg.yield %u : f32
    } -> tensor<6x8xf32>
    scf.yield %r, %r : tensor<6x8xf32>, tensor<6x8xf32>
  } else {
    %e3 = tensor.empty() : tensor<6x8xf32>
    %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%b, %d : tensor<6x8xf32>, tensor<6x8xf32>) outs(%e3 : tensor<6x8xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %u = arith.mulf %x, %y : f32
      linalg.yield %u : f32
    } -> tensor<6x8xf32>
    scf.yield %r, %b : tensor<6x8xf32>, tensor<6x8xf32>
  }
  %number = tensor.from_elements %k : tensor<i32>
  return %ys, %h, %t, %p, %q, %number : tensor<6x4x8xf32>, tensor<4x8xf32>, tensor<12x4xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<i32>
}
