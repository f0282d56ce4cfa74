// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// A product with what each rank has would have it once for each.

#m = affine_map<(r, k) -> (r, k)>
#c = affine_map<(r, k) -> (k)>
#k = affine_map<(k) -> (k)>
module {
  weft.mesh @mesh = <["t"=2]>
  func.func @by_whole(%x: tensor<2x3xi32> {weft.global_type = tensor<4x3xi32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}, %y: tensor<2x3xi32> {weft.global_type = tensor<4x3xi32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}, %w: tensor<3xi32>) -> tensor<3xi32> {
    %init = arith.constant dense<1> : tensor<3xi32>
    %p = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<2x3xi32>) outs(%init : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.muli %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<3xi32>
    %q = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%y : tensor<2x3xi32>) outs(%init : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.muli %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<3xi32>
    %e = tensor.empty() : tensor<3xi32>
    // expected-error@+1 {{does with contributions what does not commute with their prod}}
    %z = linalg.generic {indexing_maps = [#k, #k, #k, #k], iterator_types = ["parallel"]} ins(%p, %q, %w : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) outs(%e : tensor<3xi32>) {
    ^bb0(%a: i32, %b: i32, %c: i32, %o: i32):
      %f = arith.muli %a, %c : i32
      %g = arith.muli %f, %b : i32
      linalg.yield %g : i32
    } -> tensor<3xi32>
    %result = weft.all_reduce prod %z on @mesh <{"t"}> : (tensor<3xi32>) -> tensor<3xi32>
    return %result : tensor<3xi32>
  }
  module @global {
    func.func @by_whole(%x: tensor<4x3xi32>, %y: tensor<4x3xi32>, %w: tensor<3xi32>) -> tensor<3xi32> {
    %init = arith.constant dense<1> : tensor<3xi32>
    %p = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x3xi32>) outs(%init : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.muli %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<3xi32>
    %q = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%y : tensor<4x3xi32>) outs(%init : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.muli %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<3xi32>
    %e = tensor.empty() : tensor<3xi32>
    %z = linalg.generic {indexing_maps = [#k, #k, #k, #k], iterator_types = ["parallel"]} ins(%p, %q, %w : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) outs(%e : tensor<3xi32>) {
    ^bb0(%a: i32, %b: i32, %c: i32, %o: i32):
      %f = arith.muli %a, %c : i32
      %g = arith.muli %f, %b : i32
      linalg.yield %g : i32
    } -> tensor<3xi32>
    return %z : tensor<3xi32>
    }
  }
}

// -----

// A sum that wraps around is another one in a wider type.

#m = affine_map<(r, k) -> (r, k)>
#c = affine_map<(r, k) -> (k)>
#k = affine_map<(k) -> (k)>
module {
  weft.mesh @mesh = <["t"=2]>
  func.func @widened(%x: tensor<2x3xi32> {weft.global_type = tensor<4x3xi32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}, %y: tensor<2x3xi32> {weft.global_type = tensor<4x3xi32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}, %w: tensor<3xi32>) -> tensor<3xi64> {
    %init = arith.constant dense<0> : tensor<3xi32>
    %p = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<2x3xi32>) outs(%init : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.addi %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<3xi32>
    %q = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%y : tensor<2x3xi32>) outs(%init : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.addi %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<3xi32>
    %e = tensor.empty() : tensor<3xi64>
    // expected-error@+1 {{does with contributions what does not commute with their sum}}
    %z = linalg.generic {indexing_maps = [#k, #k, #k, #k], iterator_types = ["parallel"]} ins(%p, %q, %w : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) outs(%e : tensor<3xi64>) {
    ^bb0(%a: i32, %b: i32, %c: i32, %o: i64):
      %g = arith.subi %a, %b : i32
      %h = arith.extsi %g : i32 to i64
      linalg.yield %h : i64
    } -> tensor<3xi64>
    %result = weft.all_reduce sum %z on @mesh <{"t"}> : (tensor<3xi64>) -> tensor<3xi64>
    return %result : tensor<3xi64>
  }
  module @global {
    func.func @widened(%x: tensor<4x3xi32>, %y: tensor<4x3xi32>, %w: tensor<3xi32>) -> tensor<3xi64> {
    %init = arith.constant dense<0> : tensor<3xi32>
    %p = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x3xi32>) outs(%init : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.addi %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<3xi32>
    %q = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%y : tensor<4x3xi32>) outs(%init : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.addi %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<3xi32>
    %e = tensor.empty() : tensor<3xi64>
    %z = linalg.generic {indexing_maps = [#k, #k, #k, #k], iterator_types = ["parallel"]} ins(%p, %q, %w : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) outs(%e : tensor<3xi64>) {
    ^bb0(%a: i32, %b: i32, %c: i32, %o: i64):
      %g = arith.subi %a, %b : i32
      %h = arith.extsi %g : i32 to i64
      linalg.yield %h : i64
    } -> tensor<3xi64>
    return %z : tensor<3xi64>
    }
  }
}

// -----

// Shifted by what is a part itself.

#m = affine_map<(r, k) -> (r, k)>
#c = affine_map<(r, k) -> (k)>
#k = affine_map<(k) -> (k)>
module {
  weft.mesh @mesh = <["t"=2]>
  func.func @by_parts(%x: tensor<2x3xi32> {weft.global_type = tensor<4x3xi32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}, %y: tensor<2x3xi32> {weft.global_type = tensor<4x3xi32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}, %w: tensor<3xi32>) -> tensor<3xi32> {
    %init = arith.constant dense<0> : tensor<3xi32>
    %p = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<2x3xi32>) outs(%init : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.addi %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<3xi32>
    %q = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%y : tensor<2x3xi32>) outs(%init : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.addi %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<3xi32>
    %e = tensor.empty() : tensor<3xi32>
    // expected-error@+1 {{does with contributions what does not commute with their sum}}
    %z = linalg.generic {indexing_maps = [#k, #k, #k, #k], iterator_types = ["parallel"]} ins(%p, %q, %w : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) outs(%e : tensor<3xi32>) {
    ^bb0(%a: i32, %b: i32, %c: i32, %o: i32):
      %h = arith.shli %c, %a : i32
      %g = arith.subi %h, %b : i32
      linalg.yield %g : i32
    } -> tensor<3xi32>
    %result = weft.all_reduce sum %z on @mesh <{"t"}> : (tensor<3xi32>) -> tensor<3xi32>
    return %result : tensor<3xi32>
  }
  module @global {
    func.func @by_parts(%x: tensor<4x3xi32>, %y: tensor<4x3xi32>, %w: tensor<3xi32>) -> tensor<3xi32> {
    %init = arith.constant dense<0> : tensor<3xi32>
    %p = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x3xi32>) outs(%init : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.addi %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<3xi32>
    %q = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%y : tensor<4x3xi32>) outs(%init : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.addi %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<3xi32>
    %e = tensor.empty() : tensor<3xi32>
    %z = linalg.generic {indexing_maps = [#k, #k, #k, #k], iterator_types = ["parallel"]} ins(%p, %q, %w : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) outs(%e : tensor<3xi32>) {
    ^bb0(%a: i32, %b: i32, %c: i32, %o: i32):
      %h = arith.shli %c, %a : i32
      %g = arith.subi %h, %b : i32
      linalg.yield %g : i32
    } -> tensor<3xi32>
    return %z : tensor<3xi32>
    }
  }
}

// -----

// Of a sum all parts may not meet each of them.

#m = affine_map<(r, k) -> (r, k)>
#c = affine_map<(r, k) -> (k)>
#k = affine_map<(k) -> (k)>
module {
  weft.mesh @mesh = <["t"=2]>
  func.func @sum_twice(%x: tensor<2x3xi32> {weft.global_type = tensor<4x3xi32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}, %y: tensor<2x3xi32> {weft.global_type = tensor<4x3xi32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}, %w: tensor<3xi32>) -> tensor<3xi32> {
    %init = arith.constant dense<0> : tensor<3xi32>
    %p = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<2x3xi32>) outs(%init : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.addi %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<3xi32>
    %q = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%y : tensor<2x3xi32>) outs(%init : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.addi %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<3xi32>
    %all = weft.all_reduce sum %p on @mesh <{"t"}> : (tensor<3xi32>) -> tensor<3xi32>
    %e = tensor.empty() : tensor<3xi32>
    // expected-error@+1 {{does with contributions what does not commute with their sum}}
    %z = linalg.generic {indexing_maps = [#k, #k, #k, #k], iterator_types = ["parallel"]} ins(%p, %all, %w : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) outs(%e : tensor<3xi32>) {
    ^bb0(%a: i32, %b: i32, %c: i32, %o: i32):
      %g = arith.addi %a, %b : i32
      linalg.yield %g : i32
    } -> tensor<3xi32>
    %result = weft.all_reduce sum %z on @mesh <{"t"}> : (tensor<3xi32>) -> tensor<3xi32>
    return %result : tensor<3xi32>
  }
  module @global {
    func.func @sum_twice(%x: tensor<4x3xi32>, %y: tensor<4x3xi32>, %w: tensor<3xi32>) -> tensor<3xi32> {
    %init = arith.constant dense<0> : tensor<3xi32>
    %p = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x3xi32>) outs(%init : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.addi %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<3xi32>
    %q = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%y : tensor<4x3xi32>) outs(%init : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.addi %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<3xi32>
    %e = tensor.empty() : tensor<3xi32>
    %z = linalg.generic {indexing_maps = [#k, #k, #k, #k], iterator_types = ["parallel"]} ins(%p, %p, %w : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) outs(%e : tensor<3xi32>) {
    ^bb0(%a: i32, %b: i32, %c: i32, %o: i32):
      %g = arith.addi %a, %b : i32
      linalg.yield %g : i32
    } -> tensor<3xi32>
    return %z : tensor<3xi32>
    }
  }
}
