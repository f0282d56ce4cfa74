// RUN: %equivalence %s --mesh a=1 --mesh a=2 --mesh b=3 --mesh a=4 --mesh a=2,b=2 --mesh a=3,b=2,c=2

// Sums, maxima, minima, products and logical reductions over sharded
// dimensions, also those that do not divide; a softmax.
weft.mesh @mesh = <["a"=1, "b"=1, "c"=1]>
func.func @reductions(
    %x: tensor<7x10xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"b"}, {"a", "c"}]>},
    %i: tensor<10x5xi32> {weft.name = "i", weft.sharding = #weft.sharding<@mesh, [{"a"}, {"b"}]>},
    %p: tensor<10xi1> {weft.name = "p", weft.sharding = #weft.sharding<@mesh, [{"a"}]>})
    -> (tensor<7xf32> {weft.name = "sum"}, tensor<f32> {weft.name = "max"},
        tensor<5xi32> {weft.name = "min", weft.sharding = #weft.sharding<@mesh, [{"a"}]>},
        tensor<i1> {weft.name = "all"}, tensor<i1> {weft.name = "any"},
        tensor<10xf32> {weft.name = "prod", weft.sharding = #weft.sharding<@mesh, [{"a", "b"}]>},
        tensor<7x10xf32> {weft.name = "softmax", weft.sharding = #weft.sharding<@mesh, [{"b"}, {"a"}]>}) {
  %zero = arith.constant dense<0.0> : tensor<7xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<7x10xf32>) outs(%zero : tensor<7xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %s = arith.addf %acc, %v : f32
    linalg.yield %s : f32
  } -> tensor<7xf32>
  %low = arith.constant dense<0xFF800000> : tensor<f32>
  %max = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<7x10xf32>) outs(%low : tensor<f32>) {
  ^bb0(%v: f32, %acc: f32):
    %s = arith.maximumf %v, %acc : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %high = arith.constant dense<2147483647> : tensor<5xi32>
  %min = linalg.generic {indexing_maps = [affine_map<(c, r) -> (r, c)>, affine_map<(c, r) -> (c)>], iterator_types = ["parallel", "reduction"]}
      ins(%i : tensor<10x5xi32>) outs(%high : tensor<5xi32>) {
  ^bb0(%v: i32, %acc: i32):
    %s = arith.minsi %v, %acc : i32
    linalg.yield %s : i32
  } -> tensor<5xi32>
  %true = arith.constant dense<true> : tensor<i1>
  %all = linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> ()>], iterator_types = ["reduction"]}
      ins(%p : tensor<10xi1>) outs(%true : tensor<i1>) {
  ^bb0(%v: i1, %acc: i1):
    %s = arith.andi %v, %acc : i1
    linalg.yield %s : i1
  } -> tensor<i1>
  %false = arith.constant dense<false> : tensor<i1>
  %any = linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> ()>], iterator_types = ["reduction"]}
      ins(%p : tensor<10xi1>) outs(%false : tensor<i1>) {
  ^bb0(%v: i1, %acc: i1):
    %s = arith.ori %v, %acc : i1
    linalg.yield %s : i1
  } -> tensor<i1>
  %one = arith.constant dense<1.0> : tensor<10xf32>
  %prod = linalg.generic {indexing_maps = [affine_map<(c, r) -> (r, c)>, affine_map<(c, r) -> (c)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<7x10xf32>) outs(%one : tensor<10xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %s = arith.mulf %acc, %v : f32
    linalg.yield %s : f32
  } -> tensor<10xf32>
  %rowmin = arith.constant dense<0xFF800000> : tensor<7xf32>
  %rowmax = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<7x10xf32>) outs(%rowmin : tensor<7xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %s = arith.maximumf %acc, %v : f32
    linalg.yield %s : f32
  } -> tensor<7xf32>
  %e = tensor.empty() : tensor<7x10xf32>
  %exp = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %rowmax : tensor<7x10xf32>, tensor<7xf32>) outs(%e : tensor<7x10xf32>) {
  ^bb0(%v: f32, %m: f32, %out: f32):
    %d = arith.subf %v, %m : f32
    %s = math.exp %d : f32
    linalg.yield %s : f32
  } -> tensor<7x10xf32>
  %norm = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>], iterator_types = ["parallel", "reduction"]}
      ins(%exp : tensor<7x10xf32>) outs(%zero : tensor<7xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %s = arith.addf %acc, %v : f32
    linalg.yield %s : f32
  } -> tensor<7xf32>
  %softmax = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%exp, %norm : tensor<7x10xf32>, tensor<7xf32>) outs(%e : tensor<7x10xf32>) {
  ^bb0(%v: f32, %n: f32, %out: f32):
    %s = arith.divf %v, %n : f32
    linalg.yield %s : f32
  } -> tensor<7x10xf32>
  return %sum, %max, %min, %all, %any, %prod, %softmax
      : tensor<7xf32>, tensor<f32>, tensor<5xi32>, tensor<i1>, tensor<i1>, tensor<10xf32>, tensor<7x10xf32>
}
