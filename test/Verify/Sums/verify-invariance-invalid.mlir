// RUN: weft-opt %s --weft-verify-invariance -split-input-file -verify-diagnostics

// A contraction with a part of a sum.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}, %w: tensor<f32>) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 4>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    // expected-error @+1 {{computes with a contribution: one of 2 parts of arith.addf: tree 4 in f32 of chain 16}}
    %1 = weft.matmul %0, %w {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>]} : tensor<f32>, tensor<f32> -> tensor<f32>
    return %1 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>, %w: tensor<f32>) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<128xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 8>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
    }
  }
}

// -----

// A part is left as a result.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 4>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    // expected-error @+1 {{result #0 is a contribution: one of 2 parts of arith.addf: tree 4 in f32 of chain 16}}
    return %0 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<128xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 8>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
    }
  }
}

// -----

// Whole values are added up.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 4>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %1 = weft.all_reduce sum %0 on @mesh <{"tp"}> {weft.order = #weft.order<leaves = 2>} : (tensor<f32>) -> tensor<f32>
    // expected-error @+1 {{combines whole values, not contributions: arith.addf: tree 8 in f32 of chain 16}}
    %2 = weft.all_reduce sum %1 on @mesh <{"tp"}> {weft.order = #weft.order<leaves = 2>} : (tensor<f32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<128xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 8>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
    }
  }
}

// -----

// Parts of a sum are combined to a maximum.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 4>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    // expected-error @+1 {{combines contributions to a sum by max}}
    %1 = weft.all_reduce max %0 on @mesh <{"tp"}> : (tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<128xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 8>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
    }
  }
}

// -----

// Ranks add to something that is no zero.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    // expected-error @+2 {{is shared by ranks, but each adds to constant (1.000000e+00 : f32)}}
    %zero = arith.constant dense<1.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 4>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %1 = weft.all_reduce sum %0 on @mesh <{"tp"}> {weft.order = #weft.order<leaves = 2>} : (tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<128xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 8>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
    }
  }
}

// -----

// Another constant in a body.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> (tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) {
    %two = arith.constant 2.0 : f32
    %e = tensor.empty() : tensor<64xf32>
    // expected-error @+1 {{makes result #0 depend on the mesh: constant (2.000000e+00 : f32), but on one rank constant (3.000000e+00 : f32)}}
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.mulf %a, %two : f32
      linalg.yield %s : f32
    } -> tensor<64xf32>
    return %0 : tensor<64xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<128xf32> {
      %two = arith.constant 3.0 : f32
      %e = tensor.empty() : tensor<128xf32>
      // expected-note @+1 {{this op of the one-rank program makes constant}}
      %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>], iterator_types = ["parallel"]} ins(%x : tensor<128xf32>) outs(%e : tensor<128xf32>) {
      ^bb0(%a: f32, %o: f32):
        %s = arith.mulf %a, %two : f32
        linalg.yield %s : f32
      } -> tensor<128xf32>
      return %0 : tensor<128xf32>
    }
  }
}

// -----

// Fast-math flags.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 4>} {
    ^bb0(%a: f32, %o: f32):
      // expected-error @+1 {{has no declared result: its bits may depend on how it is compiled}}
      %s = arith.addf %o, %a fastmath<reassoc> : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %1 = weft.all_reduce sum %0 on @mesh <{"tp"}> {weft.order = #weft.order<leaves = 2>} : (tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<128xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 8>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
    }
  }
}

// -----

// A fold that ranks share.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    // expected-error @+1 {{combines in a way that ranks cannot share, over a loop of size 128, of which a rank has 64 elements}}
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 4>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      %t = arith.mulf %s, %o : f32
      linalg.yield %t : f32
    } -> tensor<f32>
    %1 = weft.all_reduce sum %0 on @mesh <{"tp"}> {weft.order = #weft.order<leaves = 2>} : (tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<128xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 8>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
    }
  }
}

// -----

// An op that is not known.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    // expected-error @+1 {{is not known to the proof (lib/Verify/Sums): it may have an order that cannot be followed}}
    %0 = tensor.generate {
      %c = arith.constant 0.0 : f32
      tensor.yield %c : f32
    } : tensor<f32>
    return %0 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<128xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 8>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
    }
  }
}
