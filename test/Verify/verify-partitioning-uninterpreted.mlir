// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// Ops that are not known are functions of tensors that all ranks have.

#id = affine_map<(i) -> (i)>
module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @while(%x: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}, %n: tensor<i32>) -> tensor<4xf32> {
    %one = arith.constant 1 : i32
    %all = weft.all_gather %x on @mesh <{"tp"}> dims [0] : (tensor<2xf32>) -> tensor<4xf32>
    %0:2 = scf.while (%i = %n, %v = %all) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>) {
      %c = tensor.extract %i[] : tensor<i32>
      %more = arith.cmpi sgt, %c, %one : i32
      scf.condition(%more) %i, %v : tensor<i32>, tensor<4xf32>
    } do {
    ^bb0(%i: tensor<i32>, %v: tensor<4xf32>):
      %c = tensor.extract %i[] : tensor<i32>
      %d = arith.subi %c, %one : i32
      %j = tensor.from_elements %d : tensor<i32>
      %w = arith.mulf %v, %v : tensor<4xf32>
      scf.yield %j, %w : tensor<i32>, tensor<4xf32>
    }
    return %0#1 : tensor<4xf32>
  }
  module @global {
    func.func @while(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
      %one = arith.constant 1 : i32
      %0:2 = scf.while (%i = %n, %v = %x) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>) {
        %c = tensor.extract %i[] : tensor<i32>
        %more = arith.cmpi sgt, %c, %one : i32
        scf.condition(%more) %i, %v : tensor<i32>, tensor<4xf32>
      } do {
      ^bb0(%i: tensor<i32>, %v: tensor<4xf32>):
        %c = tensor.extract %i[] : tensor<i32>
        %d = arith.subi %c, %one : i32
        %j = tensor.from_elements %d : tensor<i32>
        %w = arith.mulf %v, %v : tensor<4xf32>
        scf.yield %j, %w : tensor<i32>, tensor<4xf32>
      }
      return %0#1 : tensor<4xf32>
    }
  }
}

// -----

// Another op in a region is another function.

module {
  func.func @if(%x: tensor<4xf32>, %n: tensor<i1>) -> tensor<4xf32> {
    %c = tensor.extract %n[] : tensor<i1>
    // expected-error@+1 {{makes result #0 another one: scf.if 4x}}
    %0 = scf.if %c -> tensor<4xf32> {
      %w = arith.mulf %x, %x : tensor<4xf32>
      scf.yield %w : tensor<4xf32>
    } else {
      scf.yield %x : tensor<4xf32>
    }
    return %0 : tensor<4xf32>
  }
  module @global {
    func.func @if(%x: tensor<4xf32>, %n: tensor<i1>) -> tensor<4xf32> {
      %c = tensor.extract %n[] : tensor<i1>
      // expected-note@+1 {{this op of the global program makes scf.if}}
      %0 = scf.if %c -> tensor<4xf32> {
        %w = arith.addf %x, %x : tensor<4xf32>
        scf.yield %w : tensor<4xf32>
      } else {
        scf.yield %x : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// Not of parts.

module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @part(%x: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}, %n: tensor<i1>)
      -> (tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) {
    %c = tensor.extract %n[] : tensor<i1>
    // expected-error@+1 {{reads by a computed index a dimension of size 4, of which a rank has 2 elements}}
    %0 = scf.if %c -> tensor<2xf32> {
      %w = arith.mulf %x, %x : tensor<2xf32>
      scf.yield %w : tensor<2xf32>
    } else {
      scf.yield %x : tensor<2xf32>
    }
    return %0 : tensor<2xf32>
  }
  module @global {
    func.func @part(%x: tensor<4xf32>, %n: tensor<i1>) -> tensor<4xf32> {
      %c = tensor.extract %n[] : tensor<i1>
      %0 = scf.if %c -> tensor<4xf32> {
        %w = arith.mulf %x, %x : tensor<4xf32>
        scf.yield %w : tensor<4xf32>
      } else {
        scf.yield %x : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// Not of ranks.

module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @ranks(%x: tensor<4xf32>, %n: tensor<i1>) -> tensor<4xf32> {
    %c = tensor.extract %n[] : tensor<i1>
    // expected-error@+1 {{has collectives or indices of ranks inside, which cannot be followed}}
    %0 = scf.if %c -> tensor<4xf32> {
      %w = weft.all_reduce max %x on @mesh <{"tp"}> : (tensor<4xf32>) -> tensor<4xf32>
      scf.yield %w : tensor<4xf32>
    } else {
      scf.yield %x : tensor<4xf32>
    }
    return %0 : tensor<4xf32>
  }
  module @global {
    func.func @ranks(%x: tensor<4xf32>, %n: tensor<i1>) -> tensor<4xf32> {
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
      %c = arith.cmpi eq, %i, %c1 : index
      %r = scf.if %c -> f32 {
        %n = arith.negf %a : f32
        scf.yield %n : f32
      } else {
        scf.yield %a : f32
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
        %c = arith.cmpi eq, %i, %c1 : index
        %r = scf.if %c -> f32 {
          %n = arith.negf %a : f32
          scf.yield %n : f32
        } else {
          scf.yield %a : f32
        }
        linalg.yield %r : f32
      } -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}
