// A scheduled program of which test/Verify/verify-planning.mlir changes the
// plan, one thing at a time.
weft.mesh @mesh = <["dp"=2, "tp"=2]>
weft.channel @data.dp on @mesh <{"dp"}> purpose data
weft.channel @other.dp on @mesh <{"dp"}> purpose data
func.func @step(%x: tensor<4x8xf32> {weft.name = "x"}, %w: tensor<8x8xf32> {weft.name = "w"},
    %t: tensor<6x8xf32> {weft.name = "t"}, %i: tensor<4xi32> {weft.name = "i"}, %n: tensor<i32> {weft.name = "n"})
    -> (tensor<4x8xf32> {weft.name = "y"}, tensor<8x8xf32> {weft.name = "v"}, tensor<6x8xf32> {weft.name = "u"},
        tensor<16xf32> {weft.name = "r"}, tensor<2xi32> {weft.name = "e"}, tensor<6x8xf32> {weft.name = "l"},
        tensor<8x8xf32> {weft.name = "c"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %five = arith.constant 5 : i32
  %k = arith.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]]> : tensor<1x8xf32>
  %m = weft.matmul %x, %w {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (m, n)>], weft.op = "product"} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %f = weft.all_reduce sum %m on @mesh <{"dp"}> {channel = @data.dp, weft.op = "sum"}
      : (tensor<4x8xf32>) -> !weft.future<tensor<4x8xf32>>
  %u = weft.scatter_add %t, %i, %x base %c1 {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>,
      index_map = affine_map<(s, d) -> (s)>, weft.op = "scatter"} : tensor<6x8xf32>, tensor<4xi32>, tensor<4x8xf32>
  %s = weft.wait %f : !weft.future<tensor<4x8xf32>>
  %y = weft_rt.fused ins(%s, %x, %k : tensor<4x8xf32>, tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<1x8xf32>):
    %e = tensor.empty() : tensor<4x8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
        affine_map<(i, j) -> (0, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%a, %b, %c : tensor<4x8xf32>, tensor<4x8xf32>, tensor<1x8xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%p: f32, %q: f32, %v: f32, %o: f32):
      %d = arith.subf %p, %q : f32
      %g = arith.mulf %d, %v : f32
      linalg.yield %g : f32
    } -> tensor<4x8xf32>
    weft_rt.yield %r : tensor<4x8xf32>
  } {weft.op = "kernel"}
  // Parts, put together the other way round.
  %top = tensor.extract_slice %w[0, 0] [4, 8] [1, 1] : tensor<8x8xf32> to tensor<4x8xf32>
  %bottom = tensor.extract_slice %w[4, 0] [4, 8] [1, 1] : tensor<8x8xf32> to tensor<4x8xf32>
  %v = tensor.concat dim(0) %bottom, %top : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  // A part that has no strides in another shape.
  %half = tensor.extract_slice %x[0, 4] [4, 4] [1, 1] : tensor<4x8xf32> to tensor<4x4xf32>
  %r = tensor.collapse_shape %half [[0, 1]] : tensor<4x4xf32> into tensor<16xf32>
  %z = tensor.extract %n[] : tensor<i32>
  %two = weft_rt.fused ins() scalars(%z, %five : i32, i32) -> tensor<2xi32> {
  ^bb0(%a: i32, %b: i32):
    %e = tensor.empty() : tensor<2xi32>
    %q = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<2xi32>) {
    ^bb0(%o: i32):
      %d = arith.subi %a, %b : i32
      linalg.yield %d : i32
    } -> tensor<2xi32>
    weft_rt.yield %q : tensor<2xi32>
  } {weft.op = "two"}
  // Rows at the counter of a loop.
  %l = scf.for %j = %c0 to %c2 step %c1 iter_args(%acc = %t) -> tensor<6x8xf32> {
    %row = tensor.extract_slice %w[%j, 0] [1, 8] [1, 1] : tensor<8x8xf32> to tensor<1x8xf32>
    %set = tensor.insert_slice %row into %acc[%j, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<6x8xf32>
    scf.yield %set : tensor<6x8xf32>
  }
  %isFive = arith.cmpi eq, %z, %five : i32
  %b = scf.if %isFive -> tensor<8x8xf32> {
    scf.yield %v : tensor<8x8xf32>
  } else {
    scf.yield %w : tensor<8x8xf32>
  }
  return %y, %v, %u, %r, %two, %l, %b : tensor<4x8xf32>, tensor<8x8xf32>, tensor<6x8xf32>, tensor<16xf32>, tensor<2xi32>, tensor<6x8xf32>, tensor<8x8xf32>
}
