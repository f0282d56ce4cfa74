// Scalars that kernels and a scatter get with their launches, elements that the
// program waits for, and constants that are copied.
#matrix = affine_map<(i, j) -> (i, j)>
weft.mesh @mesh = <["tp"=2]>
func.func @step(%n: tensor<4xi32> {weft.name = "n"}, %m: tensor<4xi32> {weft.name = "m"},
    %f: tensor<2xf32> {weft.name = "f"}, %x: tensor<4x8xf32> {weft.name = "x"},
    %t: tensor<6x8xf32> {weft.name = "t", weft.global_type = tensor<12x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>},
    %i: tensor<4xi32> {weft.name = "i"})
    -> (tensor<4x8xf32> {weft.name = "y"}, tensor<6x8xf32> {weft.name = "u", weft.global_type = tensor<12x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}, tensor<3xi32> {weft.name = "e"},
        tensor<2x3xf32> {weft.name = "a"}, tensor<2x3xf32> {weft.name = "b"}, tensor<4x8xf32> {weft.name = "l"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : i32
  %c1_i32 = arith.constant 1 : i32
  %a = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %b = arith.constant dense<[[7.0, 1.0, 8.0], [2.0, 9.0, 3.0]]> : tensor<2x3xf32>
  %0 = tensor.extract %n[%c1] : tensor<4xi32>
  %1 = tensor.extract %m[%c2] : tensor<4xi32>
  %2 = arith.andi %0, %c3 : i32
  %3 = arith.andi %1, %c1_i32 : i32
  %p = arith.index_cast %2 : i32 to index
  %q = arith.index_cast %3 : i32 to index
  %v = tensor.extract %f[%c0] : tensor<2xf32>
  %w = tensor.extract %f[%q] : tensor<2xf32>
  // An element of what a kernel writes.
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%s: f32, %o: f32):
    %z = arith.mulf %s, %v : f32
    %d = arith.subf %z, %w : f32
    %g = math.tanh %d : f32
    linalg.yield %g : f32
  } -> tensor<4x8xf32>
  %h = tensor.extract %y[%p, %c2] : tensor<4x8xf32>
  %rank = weft.axis_index @mesh <{"tp"}>
  %c6 = arith.constant 6 : index
  %base = arith.muli %rank, %c6 : index
  %u = weft.scatter_add %t, %i, %y base %base {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>,
      index_map = affine_map<(s, d) -> (s)>} : tensor<6x8xf32>, tensor<4xi32>, tensor<4x8xf32>
  // Goes on as often as data says, with what it finds.
  %l = scf.for %k = %c0 to %p step %c1 iter_args(%c = %x) -> tensor<4x8xf32> {
    %r = linalg.generic {indexing_maps = [#matrix, #matrix], iterator_types = ["parallel", "parallel"]}
        ins(%c : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%s: f32, %o: f32):
      %z = arith.addf %s, %h : f32
      linalg.yield %z : f32
    } -> tensor<4x8xf32>
    scf.yield %r : tensor<4x8xf32>
  }
  %all = tensor.from_elements %0, %3, %2 : tensor<3xi32>
  return %y, %u, %all, %a, %b, %l : tensor<4x8xf32>, tensor<6x8xf32>, tensor<3xi32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4x8xf32>
}
