// RUN: weft-opt %s --weft-verify-scheduling -split-input-file -verify-diagnostics

// expected-error @+1 {{has no module @local to compare with}}
module {
}

// -----

// expected-error @+1 {{'weft.tf32' is not that of the module that it was made from: it decides how products are rounded}}
module attributes {weft.tf32} {
  module @local {
  }
}

// -----

// expected-error @+1 {{has other meshes than the module that it was made from}}
module {
  weft.mesh @mesh = <["tp"=2]>
  module @local {
    weft.mesh @mesh = <["tp"=4]>
  }
}

// -----

// expected-error @+1 {{has no function @f}}
module {
  module @local {
    func.func @f() {
      return
    }
  }
}

// -----

module {
  // expected-error @+1 {{is not in the module that it was made from}}
  func.func @f() {
    return
  }
  module @local {
  }
}

// -----

module {
  // expected-error @+1 {{has type '(tensor<4xf32>) -> ()', but was made from one of type '(tensor<8xf32>) -> ()'}}
  func.func @f(%x: tensor<4xf32>) {
    return
  }
  module @local {
    func.func @f(%x: tensor<8xf32>) {
      return
    }
  }
}

// -----

module {
  // expected-error @+1 {{has other attributes on argument #0 than what it was made from}}
  func.func @f(%x: tensor<4xf32> {weft.name = "x"}) {
    return
  }
  module @local {
    func.func @f(%x: tensor<4xf32> {weft.name = "y"}) {
      return
    }
  }
}

// -----

module {
  // expected-error @+1 {{has other attributes on result #0 than what it was made from}}
  func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {weft.alias = 0 : index}) {
    return %x : tensor<4xf32>
  }
  module @local {
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    }
  }
}

// -----

module {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  module @local {
    // expected-error @+1 {{has 2 blocks, expected one}}
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      cf.br ^bb1
    ^bb1:
      return %x : tensor<4xf32>
    }
  }
}

// -----

module {
  func.func @f(%x: tensor<?xf32>) {
    return
  }
  module @local {
    // expected-error @+1 {{argument #0 has type 'tensor<?xf32>', which cannot be followed}}
    func.func @f(%x: tensor<?xf32>) {
      return
    }
  }
}

// -----

module {
  func.func @f(%n: index) -> index {
    return %n : index
  }
  module @local {
    func.func @f(%n: index) -> index {
      // expected-error @+1 {{makes a value of type 'tensor<?xf32>', which cannot be followed}}
      %0 = tensor.empty(%n) : tensor<?xf32>
      return %n : index
    }
  }
}

// -----

module {
  func.func @f(%n: index) -> index {
    return %n : index
  }
  module @local {
    func.func @f(%n: index) -> index {
      // expected-error @+1 {{has branches, which cannot be followed}}
      %0 = scf.execute_region -> index {
        cf.br ^bb1
      ^bb1:
        scf.yield %n : index
      }
      return %0 : index
    }
  }
}

// -----

module {
  func.func @f(%x: tensor<2x8xf32>) -> tensor<2xf32> {
    %zero = arith.constant dense<0.0> : tensor<2xf32>
    // expected-error @+1 {{'linalg.generic' op makes result #0 another one than before scheduling: a reduction 2 #weft.order<leaves = 4>, expected a reduction 2 #weft.order<leaves = 2>}}
    %0 = linalg.generic {weft.order = #weft.order<leaves = 4>, indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x8xf32>) outs(%zero : tensor<2xf32>) {
    ^bb0(%v: f32, %o: f32):
      %s = arith.addf %v, %o : f32
      linalg.yield %s : f32
    } -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  module @local {
    func.func @f(%x: tensor<2x8xf32>) -> tensor<2xf32> {
      %zero = arith.constant dense<0.0> : tensor<2xf32>
      // expected-note @+1 {{this op of the program before makes a reduction 2 #weft.order<leaves = 2>}}
      %0 = linalg.generic {weft.order = #weft.order<leaves = 2>, indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x8xf32>) outs(%zero : tensor<2xf32>) {
      ^bb0(%v: f32, %o: f32):
        %s = arith.addf %v, %o : f32
        linalg.yield %s : f32
      } -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }
  }
}

// -----

// A collective that was dropped.

module {
  weft.mesh @mesh = <["tp"=2]>
  // expected-error @+1 {{'func.func' op makes result #0 another one than before scheduling: argument 0, expected weft.all_reduce 4 {axes = #weft.axes<{"tp"}>, kind = #weft<reduce_kind sum>, mesh = @mesh}}}
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  module @local {
    weft.mesh @mesh = <["tp"=2]>
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      // expected-note @+1 {{this op of the program before makes weft.all_reduce 4 {axes = #weft.axes<{"tp"}>, kind = #weft<reduce_kind sum>, mesh = @mesh}}}
      %0 = weft.all_reduce sum %x on @mesh <{"tp"}> : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// A loop that runs once more.

module {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @+1 {{'arith.constant' op makes result #0 another one than before scheduling: constant 6 : index, expected constant 5 : index}}
    %c6 = arith.constant 6 : index
    %0 = scf.for %k = %c0 to %c6 step %c1 iter_args(%a = %x) -> tensor<4xf32> {
      %b = arith.addf %a, %a : tensor<4xf32>
      scf.yield %b : tensor<4xf32>
    }
    return %0 : tensor<4xf32>
  }
  module @local {
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      // expected-note @+1 {{this op of the program before makes constant 5 : index}}
      %c5 = arith.constant 5 : index
      %0 = scf.for %k = %c0 to %c5 step %c1 iter_args(%a = %x) -> tensor<4xf32> {
        %b = arith.addf %a, %a : tensor<4xf32>
        scf.yield %b : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// Rows of a lookup that are those of another tensor, one later.

module {
  func.func @f(%x: tensor<4x6xf32>) -> tensor<2x6xf32> {
    // expected-error @+1 {{another one than before scheduling}}
    %0 = tensor.extract_slice %x[1, 0] [2, 6] [1, 1] : tensor<4x6xf32> to tensor<2x6xf32>
    return %0 : tensor<2x6xf32>
  }
  module @local {
    func.func @f(%x: tensor<4x6xf32>) -> tensor<2x6xf32> {
      // expected-note @+1 {{this op of the program before makes}}
      %0 = tensor.extract_slice %x[2, 0] [2, 6] [1, 1] : tensor<4x6xf32> to tensor<2x6xf32>
      return %0 : tensor<2x6xf32>
    }
  }
}

// -----

module {
  // expected-error @+1 {{makes result #0 another one than before scheduling: argument 1, expected argument 0}}
  func.func @f(%a: f32, %b: f32) -> tensor<2xf32> {
    %e = tensor.empty() : tensor<1xf32>
    %0 = linalg.fill ins(%a : f32) outs(%e : tensor<1xf32>) -> tensor<1xf32>
    %1 = linalg.fill ins(%b : f32) outs(%e : tensor<1xf32>) -> tensor<1xf32>
    %all = tensor.concat dim(0) %1, %0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
    return %all : tensor<2xf32>
  }
  module @local {
    // expected-note @+1 {{this op of the program before makes argument 0}}
    func.func @f(%a: f32, %b: f32) -> tensor<2xf32> {
      %all = tensor.from_elements %a, %b : tensor<2xf32>
      return %all : tensor<2xf32>
    }
  }
}

// -----

// An order on what combines nothing.

module {
  func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    // expected-error @+1 {{'linalg.generic' op has the order #weft.order<leaves = 4>, but combines nothing}}
    %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"], weft.order = #weft.order<leaves = 4>} ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      linalg.yield %p : f32
    } -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @local {
    func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
      %e = tensor.empty() : tensor<4xf32>
      %0 = linalg.mul ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// An order on one op of a body: the op around it says how it combines.

module {
  func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
    %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) {
    ^bb0(%x: f32, %o: f32):
      // expected-error @+1 {{'arith.addf' op has the order #weft.order<leaves = 2>, but combines nothing}}
      %p = arith.addf %x, %o {weft.order = #weft.order<leaves = 2>} : f32
      linalg.yield %p : f32
    } -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @local {
    func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
      %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) {
      ^bb0(%x: f32, %o: f32):
        %p = arith.addf %x, %o : f32
        linalg.yield %p : f32
      } -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// A single leaf on what combines nothing.

module {
  func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @+1 {{'linalg.generic' op has the order #weft.order<leaves = 1>, but combines nothing}}
    %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"], weft.order = #weft.order<leaves = 1>} ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) {
    ^bb0(%x: f32, %o: f32):
      %p = arith.addf %x, %o : f32
      linalg.yield %p : f32
    } -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @local {
    func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
      %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) {
      ^bb0(%x: f32, %o: f32):
        %p = arith.addf %x, %o : f32
        linalg.yield %p : f32
      } -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// Lanes where no loop is a reduction.

module {
  func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @+1 {{'linalg.generic' op has the order #weft.order<leaves = 2, lanes = 2>, but no last loop that is a reduction, which has lanes}}
    %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"], weft.order = #weft.order<leaves = 2, lanes = 2>} ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) {
    ^bb0(%x: f32, %o: f32):
      %p = arith.addf %x, %o : f32
      linalg.yield %p : f32
    } -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @local {
    func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
      %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) {
      ^bb0(%x: f32, %o: f32):
        %p = arith.addf %x, %o : f32
        linalg.yield %p : f32
      } -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// Leaves that are rounded one by one are a contraction's.

module {
  func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) -> tensor<f32> {
    // expected-error @+1 {{'linalg.generic' op has the order #weft.order<leaves = 1, rounded = true>, but only contractions round their leaves}}
    %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"], weft.order = #weft.order<leaves = 1, rounded = true>} ins(%a : tensor<4xf32>) outs(%b : tensor<f32>) {
    ^bb0(%x: f32, %o: f32):
      %p = arith.addf %x, %o : f32
      linalg.yield %p : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
  }
  module @local {
    func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) -> tensor<f32> {
      %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%a : tensor<4xf32>) outs(%b : tensor<f32>) {
      ^bb0(%x: f32, %o: f32):
        %p = arith.addf %x, %o : f32
        linalg.yield %p : f32
      } -> tensor<f32>
      return %0 : tensor<f32>
    }
  }
}
