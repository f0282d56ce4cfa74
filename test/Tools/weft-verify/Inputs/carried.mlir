// A loop that sends one of two values that it carries, a loop without
// collectives, and a branch that gives two values; what these give is sent.
#id = affine_map<(i) -> (i)>
weft.mesh @mesh = <["dp"=2]>
func.func @step(%a: tensor<8xf32> {weft.name = "a"}, %n: tensor<2xi32> {weft.name = "n"})
    -> (tensor<8xf32> {weft.name = "r"}, tensor<8xf32> {weft.name = "s"}, tensor<8xf32> {weft.name = "t"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %e = tensor.empty() : tensor<8xf32>
  %r, %s = scf.for %i = %c0 to %c4 step %c1 iter_args(%c = %a, %d = %a) -> (tensor<8xf32>, tensor<8xf32>) {
    %g = weft.all_reduce sum %c on @mesh <{"dp"}> : (tensor<8xf32>) -> tensor<8xf32>
    %z = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
        ins(%c, %d : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %u = arith.mulf %q, %p : f32
      %t = math.tanh %u : f32
      linalg.yield %t : f32
    } -> tensor<8xf32>
    %w = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
        ins(%g, %d : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %u = arith.addf %q, %p : f32
      linalg.yield %u : f32
    } -> tensor<8xf32>
    scf.yield %z, %w : tensor<8xf32>, tensor<8xf32>
  }
  %x = scf.for %i = %c0 to %c6 step %c1 iter_args(%c = %a) -> (tensor<8xf32>) {
    %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%c : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%p: f32, %o: f32):
      %t = math.exp %p : f32
      linalg.yield %t : f32
    } -> tensor<8xf32>
    scf.yield %z : tensor<8xf32>
  }
  %y = weft.all_reduce sum %x on @mesh <{"dp"}> : (tensor<8xf32>) -> tensor<8xf32>
  %first = tensor.extract %n[%c0] : tensor<2xi32>
  %other = tensor.extract %n[%c1] : tensor<2xi32>
  %less = arith.cmpi slt, %first, %other : i32
  %k, %l = scf.if %less -> (tensor<8xf32>, tensor<8xf32>) {
    %one = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%y : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%p: f32, %o: f32):
      %u = math.sqrt %p : f32
      linalg.yield %u : f32
    } -> tensor<8xf32>
    scf.yield %one, %y : tensor<8xf32>, tensor<8xf32>
  } else {
    %one = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%y : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%p: f32, %o: f32):
      %u = arith.negf %p : f32
      linalg.yield %u : f32
    } -> tensor<8xf32>
    scf.yield %y, %one : tensor<8xf32>, tensor<8xf32>
  }
  %m = weft.all_reduce max %l on @mesh <{"dp"}> : (tensor<8xf32>) -> tensor<8xf32>
  %v = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%m, %k : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %u = arith.divf %q, %p : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  return %r, %s, %v : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
