// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// A sum that is shifted and narrowed: both are linear in the integers of a width.

#m = affine_map<(r, k) -> (r, k)>
#c = affine_map<(r, k) -> (k)>
#k = affine_map<(k) -> (k)>
module {
  weft.mesh @mesh = <["t"=2]>
  func.func @shifted(%x: tensor<2x3xi32> {weft.global_type = tensor<4x3xi32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}, %y: tensor<2x3xi32> {weft.global_type = tensor<4x3xi32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}, %w: tensor<3xi32>) -> tensor<3xi8> {
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
    %e = tensor.empty() : tensor<3xi8>
    %z = linalg.generic {indexing_maps = [#k, #k, #k, #k], iterator_types = ["parallel"]} ins(%p, %q, %w : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) outs(%e : tensor<3xi8>) {
    ^bb0(%a: i32, %b: i32, %c: i32, %o: i8):
      %f = arith.shli %a, %c : i32
      %g = arith.subi %f, %b : i32
      %h = arith.trunci %g : i32 to i8
      linalg.yield %h : i8
    } -> tensor<3xi8>
    %result = weft.all_reduce sum %z on @mesh <{"t"}> : (tensor<3xi8>) -> tensor<3xi8>
    return %result : tensor<3xi8>
  }
  module @global {
    func.func @shifted(%x: tensor<4x3xi32>, %y: tensor<4x3xi32>, %w: tensor<3xi32>) -> tensor<3xi8> {
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
    %e = tensor.empty() : tensor<3xi8>
    %z = linalg.generic {indexing_maps = [#k, #k, #k, #k], iterator_types = ["parallel"]} ins(%p, %q, %w : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) outs(%e : tensor<3xi8>) {
    ^bb0(%a: i32, %b: i32, %c: i32, %o: i8):
      %f = arith.shli %a, %c : i32
      %g = arith.subi %f, %b : i32
      %h = arith.trunci %g : i32 to i8
      linalg.yield %h : i8
    } -> tensor<3xi8>
    return %z : tensor<3xi8>
    }
  }
}

// -----

// A product of two products.

#m = affine_map<(r, k) -> (r, k)>
#c = affine_map<(r, k) -> (k)>
#k = affine_map<(k) -> (k)>
module {
  weft.mesh @mesh = <["t"=2]>
  func.func @products(%x: tensor<2x3xi32> {weft.global_type = tensor<4x3xi32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}, %y: tensor<2x3xi32> {weft.global_type = tensor<4x3xi32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}, %w: tensor<3xi32>) -> tensor<3xi32> {
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
    %z = linalg.generic {indexing_maps = [#k, #k, #k, #k], iterator_types = ["parallel"]} ins(%p, %q, %w : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) outs(%e : tensor<3xi32>) {
    ^bb0(%a: i32, %b: i32, %c: i32, %o: i32):
      %f = arith.muli %a, %b : i32
      linalg.yield %f : i32
    } -> tensor<3xi32>
    %result = weft.all_reduce prod %z on @mesh <{"t"}> : (tensor<3xi32>) -> tensor<3xi32>
    return %result : tensor<3xi32>
  }
  module @global {
    func.func @products(%x: tensor<4x3xi32>, %y: tensor<4x3xi32>, %w: tensor<3xi32>) -> tensor<3xi32> {
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
      %f = arith.muli %a, %b : i32
      linalg.yield %f : i32
    } -> tensor<3xi32>
    return %z : tensor<3xi32>
    }
  }
}

// -----

// The greatest of all meets its parts once more.

#m = affine_map<(r, k) -> (r, k)>
#c = affine_map<(r, k) -> (k)>
#k = affine_map<(k) -> (k)>
module {
  weft.mesh @mesh = <["t"=2]>
  func.func @twice(%x: tensor<2x3xi32> {weft.global_type = tensor<4x3xi32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}, %y: tensor<2x3xi32> {weft.global_type = tensor<4x3xi32>, weft.sharding = #weft.sharding<@mesh, [{"t"}, {}]>}, %w: tensor<3xi32>) -> tensor<3xi32> {
    %init = arith.constant dense<-9> : tensor<3xi32>
    %p = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<2x3xi32>) outs(%init : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.maxsi %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<3xi32>
    %q = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%y : tensor<2x3xi32>) outs(%init : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.maxsi %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<3xi32>
    %all = weft.all_reduce max %p on @mesh <{"t"}> : (tensor<3xi32>) -> tensor<3xi32>
    %e = tensor.empty() : tensor<3xi32>
    %z = linalg.generic {indexing_maps = [#k, #k, #k, #k], iterator_types = ["parallel"]} ins(%p, %all, %w : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) outs(%e : tensor<3xi32>) {
    ^bb0(%a: i32, %b: i32, %c: i32, %o: i32):
      %f = arith.maxsi %a, %b : i32
      %g = arith.maxsi %f, %c : i32
      linalg.yield %g : i32
    } -> tensor<3xi32>
    %result = weft.all_reduce max %z on @mesh <{"t"}> : (tensor<3xi32>) -> tensor<3xi32>
    return %result : tensor<3xi32>
  }
  module @global {
    func.func @twice(%x: tensor<4x3xi32>, %y: tensor<4x3xi32>, %w: tensor<3xi32>) -> tensor<3xi32> {
    %init = arith.constant dense<-9> : tensor<3xi32>
    %p = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x3xi32>) outs(%init : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.maxsi %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<3xi32>
    %q = linalg.generic {indexing_maps = [#m, #c], iterator_types = ["reduction", "parallel"]} ins(%y : tensor<4x3xi32>) outs(%init : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.maxsi %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<3xi32>
    %e = tensor.empty() : tensor<3xi32>
    %z = linalg.generic {indexing_maps = [#k, #k, #k, #k], iterator_types = ["parallel"]} ins(%p, %p, %w : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) outs(%e : tensor<3xi32>) {
    ^bb0(%a: i32, %b: i32, %c: i32, %o: i32):
      %f = arith.maxsi %a, %b : i32
      %g = arith.maxsi %f, %c : i32
      linalg.yield %g : i32
    } -> tensor<3xi32>
    return %z : tensor<3xi32>
    }
  }
}
