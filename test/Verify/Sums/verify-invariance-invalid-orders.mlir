// RUN: weft-opt %s --weft-verify-invariance -split-input-file -verify-diagnostics

// Another number of leaves on a rank.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 2>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    // expected-error @+1 {{makes result #0 depend on the mesh: arith.addf: tree 4 in f32 of chain 32, but on one rank arith.addf: tree 8 in f32 of chain 16}}
    %1 = weft.all_reduce sum %0 on @mesh <{"tp"}> {weft.order = #weft.order<leaves = 2>} : (tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
      // expected-note @+2 {{this op of the one-rank program makes arith.addf: tree 8 in f32 of chain 16}}
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

// A sum without an order.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    // expected-error @+2 {{adds up 128 elements in an open order: it has no 'weft.order'}}
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%zero : tensor<f32>) {
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

// A collective without an order.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 4>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    // expected-error @+1 {{adds up 2 parts of arith.addf: tree 4 in f32 of chain 16 in an open order: it has no 'weft.order'}}
    %1 = weft.all_reduce sum %0 on @mesh <{"tp"}> : (tensor<f32>) -> tensor<f32>
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

// A collective with the order of another group.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 4>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    // expected-error @+1 {{has an order of 4 leaves in 1 lanes, but joins 2 parts}}
    %1 = weft.all_reduce sum %0 on @mesh <{"tp"}> {weft.order = #weft.order<leaves = 4>} : (tensor<f32>) -> tensor<f32>
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

// Leaves that do not divide.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    // expected-error @+2 {{has 7 leaves, which do not divide 64 elements}}
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 7>} {
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

// Lanes that runs do not have.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<6x16xf32>) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    // expected-error @+1 {{has 4 lanes, but a leaf of 24 elements is not made of runs along the last loop}}
    %0 = linalg.generic {indexing_maps = [affine_map<(j, k) -> (j, k)>, affine_map<(j, k) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<6x16xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 4, lanes = 4>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<6x16xf32>) -> tensor<f32> {
      %0 = arith.constant dense<0.0> : tensor<f32>
      return %0 : tensor<f32>
    }
  }
}

// -----

// The major axis first.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=2, "tp"=2]>
  func.func @f(%x: tensor<32xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp", "dp"}]>}) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<32xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 2>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    // expected-error @+1 {{joins parts 0, 2 of 4 of arith.addf: tree 2 in f32 of chain 16, which are not one subtree in order}}
    %1 = weft.all_reduce sum %0 on @mesh <{"tp"}> {weft.order = #weft.order<leaves = 2>} : (tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["dp"=2, "tp"=1]>
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

// A part of a sum is scaled.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 4>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %e = tensor.empty() : tensor<f32>
    // expected-error @+1 {{computes with a contribution: operand #0 is one of 2 parts of arith.addf: tree 4 in f32 of chain 16}}
    %y = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%0 : tensor<f32>) outs(%e : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.mulf %a, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %1 = weft.all_reduce sum %y on @mesh <{"tp"}> {weft.order = #weft.order<leaves = 2>} : (tensor<f32>) -> tensor<f32>
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

// A sum in an open order, inside of a loop.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<8xf32>) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    return %zero : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<8xf32>) -> tensor<f32> {
      %zero = arith.constant dense<0.0> : tensor<f32>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c1000 = arith.constant 1000 : index
      %r = scf.for %i = %c0 to %c1000 step %c1 iter_args(%a = %zero) -> (tensor<f32>) {
        // expected-error @+1 {{adds up 8 elements in an open order}}
        %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<8xf32>) outs(%a : tensor<f32>) {
        ^bb0(%u: f32, %o: f32):
          %s = arith.addf %o, %u : f32
          linalg.yield %s : f32
        } -> tensor<f32>
        scf.yield %0 : tensor<f32>
      }
      return %r : tensor<f32>
    }
  }
}

// -----

// A loop that carries what nothing has defined.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
    return %x : tensor<8xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c1000 = arith.constant 1000 : index
      %e = tensor.empty() : tensor<8xf32>
      // expected-error @+1 {{'scf.for' op uses elements that nothing has defined}}
      %r = scf.for %i = %c0 to %c1000 step %c1 iter_args(%a = %e) -> (tensor<8xf32>) {
        scf.yield %x : tensor<8xf32>
      }
      return %r : tensor<8xf32>
    }
  }
}

// -----

// Scales that were not written out.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<8x64xf8E4M3FN>, %w: tensor<64x16xf8E4M3FN>, %s: tensor<f32>) -> tensor<8x16xf32> {
    %0 = weft.matmul %x, %w scales %s, %s : tensor<f32>, tensor<f32> {indexing_maps = [
        affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>,
        affine_map<(i, j, k) -> ()>, affine_map<(i, j, k) -> ()>]}
        : tensor<8x64xf8E4M3FN>, tensor<64x16xf8E4M3FN> -> tensor<8x16xf32>
    return %0 : tensor<8x16xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<8x64xf8E4M3FN>, %w: tensor<64x16xf8E4M3FN>, %s: tensor<f32>) -> tensor<8x16xf32> {
      // expected-error @+1 {{has scales, which the proof does not know}}
      %0 = weft.matmul %x, %w scales %s, %s : tensor<f32>, tensor<f32> {indexing_maps = [
          affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>,
          affine_map<(i, j, k) -> ()>, affine_map<(i, j, k) -> ()>]}
          : tensor<8x64xf8E4M3FN>, tensor<64x16xf8E4M3FN> -> tensor<8x16xf32>
      return %0 : tensor<8x16xf32>
    }
  }
}
