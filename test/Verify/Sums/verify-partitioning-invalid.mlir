// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @no_collective(%x: tensor<4x64xf32> {weft.global_type = tensor<4x128xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
                           %w: tensor<64x8xf32> {weft.global_type = tensor<128x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) -> tensor<4x8xf32> {
    %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<4x64xf32>, tensor<64x8xf32> -> tensor<4x8xf32>
    // expected-error@+1 {{result #0 is a contribution: one of 2 parts of matmul 4x8xf32}}
    return %0 : tensor<4x8xf32>
  }
  module @global {
    func.func @no_collective(%x: tensor<4x128xf32>, %w: tensor<128x8xf32>) -> tensor<4x8xf32> {
      %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<4x128xf32>, tensor<128x8xf32> -> tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
  }
}

// -----

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
module {
  weft.mesh @mesh = <["dp"=2, "tp"=2]>
  func.func @twice(%x: tensor<4x64xf32> {weft.global_type = tensor<4x128xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
                   %w: tensor<64x8xf32> {weft.global_type = tensor<128x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) -> tensor<4x8xf32> {
    %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<4x64xf32>, tensor<64x8xf32> -> tensor<4x8xf32>
    // expected-error@+1 {{combines parts 0, 0 of 2 of matmul 4x8xf32 (}}
    %1 = weft.all_reduce sum %0 on @mesh <{"dp"}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %1 : tensor<4x8xf32>
  }
  module @global {
    func.func @twice(%x: tensor<4x128xf32>, %w: tensor<128x8xf32>) -> tensor<4x8xf32> {
      %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<4x128xf32>, tensor<128x8xf32> -> tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
  }
}

// -----

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @product(%x: tensor<4x64xf32> {weft.global_type = tensor<4x128xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
                     %w: tensor<64x4xf32> {weft.global_type = tensor<128x4xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) -> tensor<4x4xf32> {
    %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<4x64xf32>, tensor<64x4xf32> -> tensor<4x4xf32>
    // expected-error@+1 {{multiplies two contributions, to matmul 4x4xf32}}
    %1 = weft.matmul %0, %0 {indexing_maps = [#mk, #kn, #mn]} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %2 = weft.all_reduce sum %1 on @mesh <{"tp"}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %2 : tensor<4x4xf32>
  }
  module @global {
    func.func @product(%x: tensor<4x128xf32>, %w: tensor<128x4xf32>) -> tensor<4x4xf32> {
      %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<4x128xf32>, tensor<128x4xf32> -> tensor<4x4xf32>
      %1 = weft.matmul %0, %0 {indexing_maps = [#mk, #kn, #mn]} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
      return %1 : tensor<4x4xf32>
    }
  }
}

// -----

#two = affine_map<(i, j) -> (i, j)>
#one = affine_map<(i, j) -> (i)>
#e = affine_map<(i) -> (i)>
module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @not_linear(%x: tensor<4x8xf32> {weft.global_type = tensor<4x16xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<4xf32> {
    %zero = arith.constant dense<0.0> : tensor<4xf32>
    %0 = linalg.generic {indexing_maps = [#two, #one], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x8xf32>) outs(%zero : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %a, %o : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %empty = tensor.empty() : tensor<4xf32>
    // expected-error@+1 {{does with contributions what does not commute with their sum: one of 2 parts of arith.addf 4xf32}}
    %1 = linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel"]} ins(%0 : tensor<4xf32>) outs(%empty : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.mulf %a, %a : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %2 = weft.all_reduce sum %1 on @mesh <{"tp"}> : (tensor<4xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
  module @global {
    func.func @not_linear(%x: tensor<4x16xf32>) -> tensor<4xf32> {
      %zero = arith.constant dense<0.0> : tensor<4xf32>
      %0 = linalg.generic {indexing_maps = [#two, #one], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x16xf32>) outs(%zero : tensor<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        %s = arith.addf %a, %o : f32
        linalg.yield %s : f32
      } -> tensor<4xf32>
      %empty = tensor.empty() : tensor<4xf32>
      %1 = linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel"]} ins(%0 : tensor<4xf32>) outs(%empty : tensor<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        %s = arith.mulf %a, %a : f32
        linalg.yield %s : f32
      } -> tensor<4xf32>
      return %1 : tensor<4xf32>
    }
  }
}

// -----

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @whole_beside_parts(%x: tensor<4x64xf32> {weft.global_type = tensor<4x128xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
                                %w: tensor<64x8xf32> {weft.global_type = tensor<128x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>},
                                %y: tensor<4x8xf32>) -> tensor<8x8xf32> {
    %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<4x64xf32>, tensor<64x8xf32> -> tensor<4x8xf32>
    // expected-error@+1 {{puts together contributions and argument 4x8xf32}}
    %1 = tensor.concat dim(0) %0, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %2 = weft.all_reduce sum %1 on @mesh <{"tp"}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  }
  module @global {
    func.func @whole_beside_parts(%x: tensor<4x128xf32>, %w: tensor<128x8xf32>, %y: tensor<4x8xf32>) -> tensor<8x8xf32> {
      %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<4x128xf32>, tensor<128x8xf32> -> tensor<4x8xf32>
      %1 = tensor.concat dim(0) %0, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
      return %1 : tensor<8x8xf32>
    }
  }
}

// -----

module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @other_rows(%x: tensor<8xf32>) -> (tensor<4xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) {
    %c4 = arith.constant 4 : index
    %i = weft.axis_index @mesh <{"tp"}>
    %m = arith.muli %i, %c4 : index
    %n = arith.subi %c4, %m : index
    %0 = tensor.extract_slice %x[%n] [4] [1] : tensor<8xf32> to tensor<4xf32>
    // expected-error@+1 {{result #0 has dim 0 of size 8 in chunks [1, 0], expected size 8 in chunks [0, 1]}}
    return %0 : tensor<4xf32>
  }
  module @global {
    func.func @other_rows(%x: tensor<8xf32>) -> tensor<8xf32> {
      return %x : tensor<8xf32>
    }
  }
}

// -----

#e = affine_map<(i) -> (i)>
module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @other_constant(%x: tensor<4xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>})
      -> (tensor<4xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) {
    %two = arith.constant 2.0 : f32
    %empty = tensor.empty() : tensor<4xf32>
    // expected-error@+1 {{makes result #0 another one: constant (2.000000e+00 : f32), but in the global program constant (3.000000e+00 : f32)}}
    %0 = linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%empty : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.mulf %a, %two : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @global {
    func.func @other_constant(%x: tensor<8xf32>) -> tensor<8xf32> {
      %two = arith.constant 3.0 : f32
      %empty = tensor.empty() : tensor<8xf32>
      // expected-note@+1 {{this op of the global program makes constant (3.000000e+00 : f32)}}
      %0 = linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) {
      ^bb0(%a: f32, %o: f32):
        %s = arith.mulf %a, %two : f32
        linalg.yield %s : f32
      } -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
  }
}

// -----

module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @shard(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+1 {{is an op of global programs}}
    %0 = weft.shard %x to <@mesh, [{"tp"}]> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @global {
    func.func @shard(%x: tensor<4xf32>) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    }
  }
}

// -----

module {
  // expected-error@+1 {{has 1 arguments and 1 results, but the global program has 2 and 1}}
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  module @global {
    func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    }
  }
}

// -----

module {
  // expected-error@+1 {{argument #0 is not that of the global program}}
  func.func @f(%x: tensor<4xf32> {weft.name = "v"}, %y: tensor<4xf32> {weft.name = "w"}) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  module @global {
    func.func @f(%x: tensor<4xf32> {weft.name = "w"}, %y: tensor<4xf32> {weft.name = "v"}) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    }
  }
}

// -----

module {
  // expected-error@+1 {{result #0 is not that of the global program}}
  func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {weft.name = "v"}) {
    return %x : tensor<4xf32>
  }
  module @global {
    func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {weft.name = "w"}) {
      return %x : tensor<4xf32>
    }
  }
}

// -----

module {
  // expected-error@+1 {{argument #0 is not that of the global program}}
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  module @global {
    func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
      return %x : tensor<8xf32>
    }
  }
}

// -----

module {
  // expected-error@+1 {{result #0 is not that of the global program}}
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  module @global {
    func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {weft.alias = 0 : index}) {
      return %x : tensor<4xf32>
    }
  }
}

// -----

// expected-error@+1 {{has no module @global to compare with}}
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
  // expected-error@+1 {{has no single public function to prove}}
  module @global {
  }
}

// -----

// Twice as many equal numbers as there are.

module {
  weft.mesh @mesh = <["dp"=3, "tp"=2]>
  func.func @equal(%x: tensor<4xf32>) -> tensor<4xf32> {
    %zero = arith.constant dense<0.0> : tensor<4xf32>
    %c = arith.constant dense<0.5> : tensor<4x16xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
        iterator_types = ["parallel", "reduction"]} ins(%x, %c : tensor<4xf32>, tensor<4x16xf32>) outs(%zero : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %m = arith.mulf %a, %b : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    // expected-error @below {{combines whole values, not contributions}}
    %1 = weft.all_reduce sum %0 on @mesh <{"tp"}> : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  module @global {
    func.func @equal(%x: tensor<4xf32>) -> tensor<4xf32> {
      %zero = arith.constant dense<0.0> : tensor<4xf32>
      %c = arith.constant dense<0.5> : tensor<4x16xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
          iterator_types = ["parallel", "reduction"]} ins(%x, %c : tensor<4xf32>, tensor<4x16xf32>) outs(%zero : tensor<4xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32):
        %m = arith.mulf %a, %b : f32
        %s = arith.addf %o, %m : f32
        linalg.yield %s : f32
      } -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// Half of them on each rank, not added up.

module {
  weft.mesh @mesh = <["dp"=3, "tp"=2]>
  func.func @equal(%x: tensor<4xf32>) -> tensor<4xf32> {
    %zero = arith.constant dense<0.0> : tensor<4xf32>
    %c = arith.constant dense<0.5> : tensor<4x8xf32>
    // expected-error @below {{makes result #0}}
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
        iterator_types = ["parallel", "reduction"]} ins(%x, %c : tensor<4xf32>, tensor<4x8xf32>) outs(%zero : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %m = arith.mulf %a, %b : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @global {
    func.func @equal(%x: tensor<4xf32>) -> tensor<4xf32> {
      %zero = arith.constant dense<0.0> : tensor<4xf32>
      %c = arith.constant dense<0.5> : tensor<4x16xf32>
      // expected-note @below {{}}
      %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
          iterator_types = ["parallel", "reduction"]} ins(%x, %c : tensor<4xf32>, tensor<4x16xf32>) outs(%zero : tensor<4xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32):
        %m = arith.mulf %a, %b : f32
        %s = arith.addf %o, %m : f32
        linalg.yield %s : f32
      } -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// What is added depends on where: both ranks add the first half.

module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @counted(%x: tensor<4xf32>) -> tensor<4xi64> {
    %zero = arith.constant dense<0> : tensor<4xi64>
    %c = arith.constant dense<1> : tensor<4x8xi64>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%c : tensor<4x8xi64>) outs(%zero : tensor<4xi64>) {
    ^bb0(%b: i64, %o: i64):
      %j = linalg.index 1 : index
      %n = arith.index_cast %j : index to i64
      %s = arith.addi %o, %n : i64
      linalg.yield %s : i64
    } -> tensor<4xi64>
    // expected-error @below {{combines whole values, not contributions}}
    %1 = weft.all_reduce sum %0 on @mesh <{"tp"}> : (tensor<4xi64>) -> tensor<4xi64>
    return %1 : tensor<4xi64>
  }
  module @global {
    func.func @counted(%x: tensor<4xf32>) -> tensor<4xi64> {
      %zero = arith.constant dense<0> : tensor<4xi64>
      %c = arith.constant dense<1> : tensor<4x16xi64>
      %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%c : tensor<4x16xi64>) outs(%zero : tensor<4xi64>) {
      ^bb0(%b: i64, %o: i64):
        %j = linalg.index 1 : index
        %n = arith.index_cast %j : index to i64
        %s = arith.addi %o, %n : i64
        linalg.yield %s : i64
      } -> tensor<4xi64>
      return %0 : tensor<4xi64>
    }
  }
}
