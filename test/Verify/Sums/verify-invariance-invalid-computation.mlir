// RUN: weft-opt %s --weft-verify-invariance -split-input-file -verify-diagnostics

// A sum over an inner dimension that is cut, inside of a whole one.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<4x8xf32> {weft.global_type = tensor<4x16xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    // expected-error @+1 {{cuts an inner dimension of size 16, but the rank has more than one index of an outer one: its part is not one piece}}
    %0 = linalg.generic {indexing_maps = [affine_map<(j, k) -> (j, k)>, affine_map<(j, k) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<4x8xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 1>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<4x16xf32>) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}

// -----

// Padding is added up.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=4]>
  func.func @f(%x: tensor<3xf32> {weft.global_type = tensor<10xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<3xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 1>} {
    ^bb0(%a: f32, %o: f32):
      // expected-error @+1 {{combines elements past the end of a dimension of size 10}}
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<10xf32>) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}

// -----

// Padding is multiplied and added up.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=4]>
  func.func @f(%x: tensor<3xf32> {weft.global_type = tensor<10xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    // expected-error @+1 {{combines elements past the end of a dimension of size 10}}
    %0 = weft.matmul %x, %x {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>], weft.order = #weft.order<leaves = 1>} : tensor<3xf32>, tensor<3xf32> -> tensor<f32>
    return %0 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<10xf32>) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}

// -----

// Elements that nothing has defined are read.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %e = tensor.empty() : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%e : tensor<f32>) outs(%e : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      // expected-error @+1 {{uses elements that nothing has defined}}
      %s = arith.negf %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}

// -----

// A sum begins with what nothing has defined.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %zero = tensor.empty() : tensor<f32>
    // expected-error @+1 {{uses elements that nothing has defined}}
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 1>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}

// -----

// A result that nothing has defined.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %0 = tensor.empty() : tensor<f32>
    // expected-error @+1 {{uses elements that nothing has defined}}
    return %0 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}

// -----

// A fold in leaves.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32>) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    // expected-error @+1 {{is to join 2 parts, but combines in a way that cannot be joined}}
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 2>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.subf %a, %o : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<64xf32>) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}

// -----

// The output is indexed by a constant.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32>) -> tensor<1xf32> {
    %e = tensor.empty() : tensor<1xf32>
    // expected-error @+1 {{writes by a computed index}}
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> (0)>], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<1xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.negf %a : f32
      linalg.yield %s : f32
    } -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<64xf32>) -> tensor<1xf32> {
      %c = arith.constant dense<0.0> : tensor<1xf32>
      return %c : tensor<1xf32>
    }
  }
}

// -----

// Dimensions of two sizes with chunks of one.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=4]>
  func.func @f(%x: tensor<3xf32> {weft.global_type = tensor<10xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}, %y: tensor<3xf32> {weft.global_type = tensor<12xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> (tensor<3xf32> {weft.global_type = tensor<10xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) {
    %e = tensor.empty() : tensor<3xf32>
    // expected-error @+1 {{combines dimensions of global sizes 10 and 12}}
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> (k)>], iterator_types = ["parallel"]} ins(%x, %y : tensor<3xf32>, tensor<3xf32>) outs(%e : tensor<3xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<3xf32>
    return %0 : tensor<3xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<10xf32>, %y: tensor<12xf32>) -> tensor<10xf32> {
      %c = arith.constant dense<0.0> : tensor<10xf32>
      return %c : tensor<10xf32>
    }
  }
}

// -----

// Chunks in two orders.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %y = weft.permute %x on @mesh <{"tp"}> sources [1, 0] : (tensor<64xf32>) -> tensor<64xf32>
    %e = tensor.empty() : tensor<64xf32>
    %zero = arith.constant dense<0.0> : tensor<f32>
    // expected-error @+1 {{combines dimensions that are cut in different ways: a rank has parts [0, 1] of one and [1, 0] of the other}}
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> (k)>], iterator_types = ["parallel"]} ins(%x, %y : tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<64xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<64xf32>
    return %zero : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}

// -----

// An index of the rank that is no index of the loop.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %r = weft.axis_index @mesh <{"tp"}>
    %e = tensor.empty() : tensor<64xindex>
    // expected-error @+1 {{computes with an index that depends on the rank, and is not the global index of a loop}}
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xindex>) {
    ^bb0(%a: f32, %o: index):
      %i = linalg.index 0 : index
      %s = arith.addi %i, %r : index
      linalg.yield %s : index
    } -> tensor<64xindex>
    return %zero : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}

// -----

// Rows of another rank.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<8x4xf32> {weft.global_type = tensor<16x4xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}, %i: tensor<2xi32>) -> tensor<2x4xf32> {
    // expected-error @+1 {{looks up from row [0, 0], but the rank's rows begin at [0, 8]}}
    %0 = weft.take %x, %i {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>} : tensor<8x4xf32>, tensor<2xi32> -> tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<16x4xf32>, %i: tensor<2xi32>) -> tensor<2x4xf32> {
      %c = arith.constant dense<0.0> : tensor<2x4xf32>
      return %c : tensor<2x4xf32>
    }
  }
}

// -----

// Rows past the end.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=4]>
  func.func @f(%x: tensor<3x4xf32> {weft.global_type = tensor<10x4xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}, %i: tensor<2xi32>) -> tensor<2x4xf32> {
    %c3 = arith.constant 3 : index
    %r = weft.axis_index @mesh <{"tp"}>
    %b = arith.muli %r, %c3 : index
    // expected-error @+1 {{may find elements past the end of a dimension of size 10}}
    %0 = weft.take %x, %i base %b {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>} : tensor<3x4xf32>, tensor<2xi32> -> tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<10x4xf32>, %i: tensor<2xi32>) -> tensor<2x4xf32> {
      %c = arith.constant dense<0.0> : tensor<2x4xf32>
      return %c : tensor<2x4xf32>
    }
  }
}

// -----

// A sum of integers that is combined where it is whole.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=2, "tp"=2]>
  func.func @f(%x: tensor<64xi32> {weft.global_type = tensor<128xi32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) -> tensor<i32> {
    %zero = arith.constant dense<0> : tensor<i32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xi32>) outs(%zero : tensor<i32>) {
    ^bb0(%a: i32, %o: i32):
      %s = arith.addi %o, %a : i32
      linalg.yield %s : i32
    } -> tensor<i32>
    // expected-error @+1 {{combines parts 0, 0 of 2 of arith.addi}}
    %1 = weft.all_reduce sum %0 on @mesh <{"tp"}> : (tensor<i32>) -> tensor<i32>
    return %1 : tensor<i32>
  }
  module @one_rank {
    weft.mesh @mesh = <["dp"=2, "tp"=1]>
    func.func @f(%x: tensor<64xi32> {weft.global_type = tensor<128xi32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) -> tensor<i32> {
      %c = arith.constant dense<0> : tensor<i32>
      return %c : tensor<i32>
    }
  }
}
