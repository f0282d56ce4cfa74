// RUN: weft-opt %s --weft-verify-canonicalization -split-input-file -verify-diagnostics

// expected-error @below {{has no module @source to compare with}}
module {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

module {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  // expected-error @below {{has no single public function to compare}}
  module @source {
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    }
    func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    }
  }
}

// -----

// expected-error @below {{has other meshes than the module that it was made from}}
module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  module @source {
    weft.mesh @mesh = <["dp"=2]>
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    }
  }
}

// -----

module {
  // expected-error @below {{has type '(tensor<4xf32>) -> tensor<4xf32>', but was made from one of type '(tensor<8xf32>) -> tensor<8xf32>'}}
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  module @source {
    func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
      return %x : tensor<8xf32>
    }
  }
}

// -----

// The user said how it is sharded.

module {
  weft.mesh @mesh = <["dp"=2, "tp"=2]>
  // expected-error @below {{has other attributes on argument #0 than what it was made from}}
  func.func @f(%x: tensor<4x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) -> tensor<4x4xf32> {
    return %x : tensor<4x4xf32>
  }
  module @source {
    weft.mesh @mesh = <["dp"=2, "tp"=2]>
    func.func @f(%x: tensor<4x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<4x4xf32> {
      return %x : tensor<4x4xf32>
    }
  }
}

// -----

module {
  // expected-error @below {{has other attributes on result #0 than what it was made from}}
  func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {weft.alias = 0 : index}) {
    return %x : tensor<4xf32>
  }
  module @source {
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
  module @source {
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      // expected-error @below {{calls 'g', which cannot be followed}}
      %0 = func.call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func private @g(%x: tensor<4xf32>) -> tensor<4xf32>
  }
}

// -----

module {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  module @source {
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = func.call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func private @g(%x: tensor<4xf32>) -> tensor<4xf32> {
      // expected-error @below {{calls 'g' recursively, which cannot be followed}}
      %0 = func.call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// A contraction over other elements.

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
module {
  func.func @f(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
    // expected-error @below {{'weft.matmul' op makes result #0 another one than the user's module: an index, expected an index}}
    %0 = weft.matmul %x, %w {indexing_maps = [#mk, #nk, #mn]} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
  module @source {
    func.func @f(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
      %zero = arith.constant dense<0.0> : tensor<8x8xf32>
      // expected-note @below {{this op of the user's module makes an index}}
      %0 = linalg.matmul ins(%x, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32>
      return %0 : tensor<8x8xf32>
    }
  }
}

// -----

// Another op in the last pass of a loop.

module {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = arith.addf %x, %x : tensor<4xf32>
    %1 = arith.addf %0, %x : tensor<4xf32>
    // expected-error @below {{'arith.mulf' op makes result #0 another one than the user's module: arith.mulf}}
    %2 = arith.mulf %1, %x : tensor<4xf32>
    return %2 : tensor<4xf32>
  }
  module @source {
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %x) -> (tensor<4xf32>) {
        // expected-note @below {{this op of the user's module makes arith.addf}}
        %t = arith.addf %s, %x : tensor<4xf32>
        scf.yield %t : tensor<4xf32>
      }
      return %r : tensor<4xf32>
    }
  }
}

// -----

// A sum of numbers that are all -0.0 is what it begins with.

module {
  func.func @f(%x: tensor<4xf32>) -> tensor<f32> {
    %z = arith.constant dense<-0.0> : tensor<f32>
    // expected-error @below {{'linalg.generic' op makes result #0 another one than the user's module: a reduction, expected a sum}}
    %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
        ins(%x : tensor<4xf32>) outs(%z : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
  }
  module @source {
    func.func @f(%x: tensor<4xf32>) -> tensor<f32> {
      %z = arith.constant dense<0.0> : tensor<f32>
      // expected-note @below {{this op of the user's module makes a sum}}
      %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
          ins(%x : tensor<4xf32>) outs(%z : tensor<f32>) {
      ^bb0(%a: f32, %o: f32):
        %s = arith.addf %o, %a : f32
        linalg.yield %s : f32
      } -> tensor<f32>
      return %0 : tensor<f32>
    }
  }
}

// -----

// Another rounding is allowed than by the user.

module {
  func.func @f(%x: tensor<4xf32>) -> tensor<f32> {
    %z = arith.constant dense<0.0> : tensor<f32>
    // expected-error @below {{'linalg.generic' op makes result #0 another one than the user's module: a reduction, expected a sum}}
    %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
        ins(%x : tensor<4xf32>) outs(%z : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a fastmath<reassoc> : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
  }
  module @source {
    func.func @f(%x: tensor<4xf32>) -> tensor<f32> {
      %z = arith.constant dense<0.0> : tensor<f32>
      // expected-note @below {{this op of the user's module makes a sum}}
      %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
          ins(%x : tensor<4xf32>) outs(%z : tensor<f32>) {
      ^bb0(%a: f32, %o: f32):
        %s = arith.addf %o, %a : f32
        linalg.yield %s : f32
      } -> tensor<f32>
      return %0 : tensor<f32>
    }
  }
}

// -----

// A loop that compares unsigned numbers instead: it makes no pass.

module {
  // expected-error @below {{'func.func' op makes result #0 another one than the user's module: argument 0, expected arith.addf}}
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    %c-2 = arith.constant -2 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %r = scf.for unsigned %i = %c-2 to %c2 step %c1 iter_args(%s = %x) -> (tensor<4xf32>) {
      %t = arith.addf %s, %x : tensor<4xf32>
      scf.yield %t : tensor<4xf32>
    }
    return %r : tensor<4xf32>
  }
  module @source {
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %c-2 = arith.constant -2 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %r = scf.for %i = %c-2 to %c2 step %c1 iter_args(%s = %x) -> (tensor<4xf32>) {
        // expected-note @below {{this op of the user's module makes arith.addf}}
        %t = arith.addf %s, %x : tensor<4xf32>
        scf.yield %t : tensor<4xf32>
      }
      return %r : tensor<4xf32>
    }
  }
}

// -----

// A loop of which none of the passes is left, though 200 is not below 0.

module {
  // expected-error @below {{'func.func' op makes result #0 another one than the user's module: argument 0, expected arith.addf}}
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  module @source {
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %c0 = arith.constant 0 : i8
      %c50 = arith.constant 50 : i8
      %c200 = arith.constant -56 : i8
      %r = scf.for unsigned %i = %c0 to %c200 step %c50 iter_args(%s = %x) -> (tensor<4xf32>) : i8 {
        // expected-note @below {{this op of the user's module makes arith.addf}}
        %t = arith.addf %s, %x : tensor<4xf32>
        scf.yield %t : tensor<4xf32>
      }
      return %r : tensor<4xf32>
    }
  }
}

// -----

// A loop that code does not end after two passes: 140 is no number of 8 bits.

module {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    %c20 = arith.constant 20 : i8
    %c100 = arith.constant 100 : i8
    %c127 = arith.constant 127 : i8
    // expected-error @below {{'scf.for' op makes result #0 another one than the user's module: scf.for}}
    %r = scf.for %i = %c100 to %c127 step %c20 iter_args(%s = %x) -> (tensor<4xf32>) : i8 {
      %t = arith.addf %s, %x : tensor<4xf32>
      scf.yield %t : tensor<4xf32>
    }
    return %r : tensor<4xf32>
  }
  module @source {
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = arith.addf %x, %x : tensor<4xf32>
      // expected-note @below {{this op of the user's module makes arith.addf}}
      %1 = arith.addf %0, %x : tensor<4xf32>
      return %1 : tensor<4xf32>
    }
  }
}

// -----

// A product of products is no sum of them.

module attributes {weft.invariance = #weft.invariance<axes = [], leaves = 4>} {
  func.func @f(%x: tensor<4x8xf32>) -> tensor<f32> {
    %ones = arith.constant dense<1.0> : tensor<4xf32>
    %two = arith.constant dense<2.0> : tensor<f32>
    %0 = linalg.reduce {arith.mulf} ins(%x : tensor<4x8xf32>) outs(%ones : tensor<4xf32>) dimensions = [1]
    // expected-error @below {{makes result #0 another one than the user's module}}
    %1 = linalg.reduce {arith.mulf} ins(%0 : tensor<4xf32>) outs(%two : tensor<f32>) dimensions = [0]
    return %1 : tensor<f32>
  }
  module @source {
    func.func @f(%x: tensor<4x8xf32>) -> tensor<f32> {
      %ones = arith.constant dense<1.0> : tensor<4xf32>
      %two = arith.constant dense<2.0> : tensor<f32>
      %0 = linalg.reduce {arith.mulf} ins(%x : tensor<4x8xf32>) outs(%ones : tensor<4xf32>) dimensions = [1]
      // expected-note @below {{this op of the user's module makes}}
      %1 = linalg.reduce {arith.addf} ins(%0 : tensor<4xf32>) outs(%two : tensor<f32>) dimensions = [0]
      return %1 : tensor<f32>
    }
  }
}

// -----

// The upper half of another product.

module {
  func.func @f(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
    // expected-error @below {{makes result #0 another one than the user's module: arith.mulsi_extended, expected arith.mului_extended}}
    %low, %high = arith.mulsi_extended %x, %y : tensor<4xi32>
    return %high : tensor<4xi32>
  }
  module @source {
    func.func @f(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
      // expected-note @below {{makes arith.mului_extended}}
      %low, %high = arith.mului_extended %x, %y : tensor<4xi32>
      return %high : tensor<4xi32>
    }
  }
}
