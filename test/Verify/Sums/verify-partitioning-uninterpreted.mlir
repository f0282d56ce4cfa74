// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// Ops that are not known are functions of tensors that all ranks have.

#id = affine_map<(i) -> (i)>
module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @generate(%x: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<4xf32> {
    %all = weft.all_gather %x on @mesh <{"tp"}> dims [0] : (tensor<2xf32>) -> tensor<4xf32>
    %0 = tensor.generate {
    ^bb0(%i: index):
      %e = tensor.extract %all[%i] : tensor<4xf32>
      tensor.yield %e : f32
    } : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @global {
    func.func @generate(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = tensor.generate {
      ^bb0(%i: index):
        %e = tensor.extract %x[%i] : tensor<4xf32>
        tensor.yield %e : f32
      } : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// Another op in a region is another function.

module {
  func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+1 {{makes result #0 another one: tensor.generate 4x}}
    %0 = tensor.generate {
    ^bb0(%i: index):
      %e = tensor.extract %x[%i] : tensor<4xf32>
      %m = arith.mulf %e, %e : f32
      tensor.yield %m : f32
    } : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @global {
    func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
      // expected-note@+1 {{this op of the global program makes tensor.generate}}
      %0 = tensor.generate {
      ^bb0(%i: index):
        %e = tensor.extract %x[%i] : tensor<4xf32>
        %m = arith.addf %e, %e : f32
        tensor.yield %m : f32
      } : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// Not of parts.

module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @part(%x: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>})
      -> (tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) {
    // expected-error@+1 {{'tensor.generate' op is not known to the proof (lib/Verify/Sums), which takes it for a function of whole tensors: it has an operand with a dimension of size 4, of which a rank has 2 elements}}
    %0 = tensor.generate {
    ^bb0(%i: index):
      %e = tensor.extract %x[%i] : tensor<2xf32>
      tensor.yield %e : f32
    } : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  module @global {
    func.func @part(%x: tensor<4xf32>) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    }
  }
}

// -----

// Not of ranks.

module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @ranks(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+1 {{has collectives or indices of ranks inside, which cannot be followed}}
    %0 = tensor.generate {
    ^bb0(%i: index):
      %rank = weft.axis_index @mesh <{"tp"}>
      %e = tensor.extract %x[%rank] : tensor<4xf32>
      tensor.yield %e : f32
    } : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @global {
    func.func @ranks(%x: tensor<4xf32>) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    }
  }
}

// -----

// In bodies, too.

#id = affine_map<(i) -> (i)>
module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @body(%x: tensor<4xf32>) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %c1 = arith.constant 1 : index
    %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %i = linalg.index 0 : index
      %r = scf.for %k = %i to %c1 step %c1 iter_args(%s = %a) -> f32 {
        %n = arith.negf %s : f32
        scf.yield %n : f32
      }
      linalg.yield %r : f32
    } -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @global {
    func.func @body(%x: tensor<4xf32>) -> tensor<4xf32> {
      %e = tensor.empty() : tensor<4xf32>
      %c1 = arith.constant 1 : index
      %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        %i = linalg.index 0 : index
        %r = scf.for %k = %i to %c1 step %c1 iter_args(%s = %a) -> f32 {
          %n = arith.negf %s : f32
          scf.yield %n : f32
        }
        linalg.yield %r : f32
      } -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}
