// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// What of verify-partitioning-merged.mlir must not be otherwise.

// The elements before these.

module {
  weft.mesh @mesh = <["t"=2]>
  func.func @rest(%x: tensor<5xf32>) -> (tensor<1xf32> {weft.global_type = tensor<2xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) {
    %n = arith.constant 2 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.addi %r, %n : index
    %0 = tensor.extract_slice %x[%b] [1] [1] : tensor<5xf32> to tensor<1xf32>
    // expected-error@+1 {{result #0 has dim 0 of size 5 in chunks [2, 3], expected size 2 in chunks [0, 1]}}
    return %0 : tensor<1xf32>
  }
  module @global {
    func.func @rest(%x: tensor<5xf32>) -> tensor<2xf32> {
      %0 = tensor.extract_slice %x[3] [2] [1] : tensor<5xf32> to tensor<2xf32>
      return %0 : tensor<2xf32>
    }
  }
}

// -----

// They begin at another place on one rank.

module {
  weft.mesh @mesh = <["t"=2]>
  func.func @rest(%x: tensor<5xf32>) -> (tensor<1xf32> {weft.global_type = tensor<2xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) {
    %n = arith.constant 3 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.muli %r, %n : index
    %0 = tensor.extract_slice %x[%b] [1] [1] : tensor<5xf32> to tensor<1xf32>
    // expected-error@+1 {{result #0 has dim 0 of size 5 in chunks [0, 3], expected size 2 in chunks [0, 1]}}
    return %0 : tensor<1xf32>
  }
  module @global {
    func.func @rest(%x: tensor<5xf32>) -> tensor<2xf32> {
      %0 = tensor.extract_slice %x[3] [2] [1] : tensor<5xf32> to tensor<2xf32>
      return %0 : tensor<2xf32>
    }
  }
}

// -----

// Another row.

module {
  weft.mesh @mesh = <["t"=2]>
  func.func @one_row(%x: tensor<5x2xf32> {weft.global_type = tensor<5x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"t"}]>}) -> (tensor<1x2xf32> {weft.global_type = tensor<1x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"t"}]>}) {
    %0 = tensor.extract_slice %x[3, 0] [1, 2] [1, 1] : tensor<5x2xf32> to tensor<1x2xf32>
    // expected-error@+1 {{result #0 has dim 0 of size 5 in chunks [3, 3], expected size 1 in chunks [0, 0]}}
    return %0 : tensor<1x2xf32>
  }
  module @global {
    func.func @one_row(%x: tensor<5x4xf32>) -> tensor<1x4xf32> {
      %0 = tensor.extract_slice %x[2, 0] [1, 4] [1, 1] : tensor<5x4xf32> to tensor<1x4xf32>
      return %0 : tensor<1x4xf32>
    }
  }
}

// -----

// The other ones.

module {
  weft.mesh @mesh = <["t"=2]>
  func.func @each_second(%x: tensor<9xf32>) -> (tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) {
    %one = arith.constant 0 : index
    %n = arith.constant 4 : index
    %r = weft.axis_index @mesh <{"t"}>
    %s = arith.muli %r, %n : index
    %b = arith.addi %s, %one : index
    // expected-error@+1 {{cuts dim 0 of size 9 at [0, 4], which is not at chunks of 2}}
    %0 = tensor.extract_slice %x[%b] [2] [2] : tensor<9xf32> to tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  module @global {
    func.func @each_second(%x: tensor<9xf32>) -> tensor<4xf32> {
      %0 = tensor.extract_slice %x[1] [4] [2] : tensor<9xf32> to tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// Neighbours.

module {
  weft.mesh @mesh = <["t"=2]>
  func.func @each_second(%x: tensor<9xf32>) -> (tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) {
    %one = arith.constant 1 : index
    %n = arith.constant 4 : index
    %r = weft.axis_index @mesh <{"t"}>
    %s = arith.muli %r, %n : index
    %b = arith.addi %s, %one : index
    // expected-error@+1 {{cuts dim 0 of size 9 at [1, 5], which is not at chunks of 2}}
    %0 = tensor.extract_slice %x[%b] [2] [1] : tensor<9xf32> to tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  module @global {
    func.func @each_second(%x: tensor<9xf32>) -> tensor<4xf32> {
      %0 = tensor.extract_slice %x[1] [4] [2] : tensor<9xf32> to tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// Every fourth.

module {
  weft.mesh @mesh = <["t"=2]>
  func.func @each_second(%x: tensor<9xf32>) -> (tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) {
    %one = arith.constant 1 : index
    %n = arith.constant 4 : index
    %r = weft.axis_index @mesh <{"t"}>
    %s = arith.muli %r, %n : index
    %b = arith.addi %s, %one : index
    // expected-error@+1 {{cuts dim 0 of size 9 at [1, 5], which is not at chunks of 2}}
    %0 = tensor.extract_slice %x[%b] [2] [4] : tensor<9xf32> to tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  module @global {
    func.func @each_second(%x: tensor<9xf32>) -> tensor<4xf32> {
      %0 = tensor.extract_slice %x[1] [4] [2] : tensor<9xf32> to tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// Two elements before, and one after.

module {
  weft.mesh @mesh = <["t"=3]>
  func.func @padded_before(%x: tensor<3xf32>) -> (tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) {
    %c = arith.constant 1.0 : f32
    %n = arith.constant 2 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.muli %r, %n : index
    %0 = tensor.pad %x low[2] high[1] {
    ^bb0(%i: index):
      tensor.yield %c : f32
    } : tensor<3xf32> to tensor<6xf32>
    %1 = tensor.extract_slice %0[%b] [2] [1] : tensor<6xf32> to tensor<2xf32>
    // expected-error@+1 {{result #0 has dim 0 of size 6 in chunks [0, 1, 2], expected size 4 in chunks [0, 1, 2]}}
    return %1 : tensor<2xf32>
  }
  module @global {
    func.func @padded_before(%x: tensor<3xf32>) -> tensor<4xf32> {
      %c = arith.constant 1.0 : f32
      %0 = tensor.pad %x low[1] high[0] {
      ^bb0(%i: index):
        tensor.yield %c : f32
      } : tensor<3xf32> to tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// Another number.

module {
  weft.mesh @mesh = <["t"=3]>
  func.func @padded_before(%x: tensor<3xf32>) -> (tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) {
    %c = arith.constant 2.0 : f32
    %n = arith.constant 2 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.muli %r, %n : index
    %0 = tensor.pad %x low[1] high[2] {
    ^bb0(%i: index):
      tensor.yield %c : f32
    } : tensor<3xf32> to tensor<6xf32>
    %1 = tensor.extract_slice %0[%b] [2] [1] : tensor<6xf32> to tensor<2xf32>
    // expected-error@+1 {{result #0 has dim 0 of size 6 in chunks [0, 1, 2], expected size 4 in chunks [0, 1, 2]}}
    return %1 : tensor<2xf32>
  }
  module @global {
    func.func @padded_before(%x: tensor<3xf32>) -> tensor<4xf32> {
      %c = arith.constant 1.0 : f32
      %0 = tensor.pad %x low[1] high[0] {
      ^bb0(%i: index):
        tensor.yield %c : f32
      } : tensor<3xf32> to tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// Another number.

module {
  weft.mesh @mesh = <["t"=4]>
  func.func @padded_after(%x: tensor<5xf32>) -> (tensor<2xf32> {weft.global_type = tensor<7xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) {
    %c = arith.constant 2.0 : f32
    %n = arith.constant 2 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.muli %r, %n : index
    %0 = tensor.pad %x low[0] high[3] {
    ^bb0(%i: index):
      tensor.yield %c : f32
    } : tensor<5xf32> to tensor<8xf32>
    %1 = tensor.extract_slice %0[%b] [2] [1] : tensor<8xf32> to tensor<2xf32>
    // expected-error@+1 {{result #0 has dim 0 of size 5 in chunks [0, 1, 2, 3], expected size 7 in chunks [0, 1, 2, 3]}}
    return %1 : tensor<2xf32>
  }
  module @global {
    func.func @padded_after(%x: tensor<5xf32>) -> tensor<7xf32> {
      %c = arith.constant 0.0 : f32
      %0 = tensor.pad %x low[0] high[2] {
      ^bb0(%i: index):
        tensor.yield %c : f32
      } : tensor<5xf32> to tensor<7xf32>
      return %0 : tensor<7xf32>
    }
  }
}

// -----

// Of four parts of the gathered columns those of another rank in between.

module {
  weft.mesh @mesh = <["a"=4, "b"=2]>
  func.func @gathered_twice(%x: tensor<1x2xf32> {weft.global_type = tensor<2x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"a":(1)2}, {"a":(2)2, "b"}]>}) -> (tensor<2x4xf32> {weft.global_type = tensor<2x8xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"b"}]>}) {
    %0 = tensor.collapse_shape %x [[0, 1]] : tensor<1x2xf32> into tensor<2xf32>
    // expected-error@+1 {{puts chunks 0, 2, 4, 6 of 2 elements one after the other, which are no neighbours}}
    %1 = weft.all_gather %0 on @mesh <{"a"}> dims [0] : (tensor<2xf32>) -> tensor<8xf32>
    %2 = tensor.expand_shape %1 [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
    return %2 : tensor<2x4xf32>
  }
  module @global {
    func.func @gathered_twice(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
      return %x : tensor<2x8xf32>
    }
  }
}

// -----

// Nobody says where the function returns: the op that makes the result does.

module {
  weft.mesh @mesh = <["t"=2]>
  func.func @returned(%x: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) -> (tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) {
    // expected-error@+1 {{'func.return' op result #0 has dim 0 of size 4 in chunks [1, 0], expected size 4 in chunks [0, 1]}}
    %0 = weft.permute %x on @mesh <{"t"}> sources [1, 0] : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32> loc(unknown)
  }
  module @global {
    func.func @returned(%x: tensor<4xf32>) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    }
  }
}

// -----

// The other way around.

module {
  weft.mesh @mesh = <["t"=2]>
  func.func @padded_rows(%x: tensor<1x3xf32>, %y: tensor<1x3xf32>) -> (tensor<2x2xf32> {weft.global_type = tensor<2x3xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"t"}]>}) {
    %c = arith.constant 0.0 : f32
    %n = arith.constant 2 : index
    %r = weft.axis_index @mesh <{"t"}>
    %b = arith.muli %r, %n : index
    %0 = tensor.pad %x low[0, 0] high[0, 1] {
    ^bb0(%i: index, %j: index):
      tensor.yield %c : f32
    } : tensor<1x3xf32> to tensor<1x4xf32>
    // expected-error@+1 {{makes result #0 another one: argument 1x3xf32 (1), but in the global program argument 1x3xf32 (0)}}
    %1 = tensor.pad %y low[0, 0] high[0, 1] {
    ^bb0(%i: index, %j: index):
      tensor.yield %c : f32
    } : tensor<1x3xf32> to tensor<1x4xf32>
    %2 = tensor.concat dim(0) %1, %0 : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
    %3 = tensor.extract_slice %2[0, %b] [2, 2] [1, 1] : tensor<2x4xf32> to tensor<2x2xf32>
    return %3 : tensor<2x2xf32>
  }
  module @global {
    func.func @padded_rows(%x: tensor<1x3xf32>, %y: tensor<1x3xf32>) -> tensor<2x3xf32> {
      // expected-note@+1 {{this op of the global program makes argument 1x3xf32 (0)}}
      %0 = tensor.concat dim(0) %x, %y : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
      return %0 : tensor<2x3xf32>
    }
  }
}

// -----

// The row of a rank that has none.

module {
  weft.mesh @mesh = <["d"=4]>
  func.func @padded_twice(%x: tensor<1x5xf32> {weft.global_type = tensor<1x5xf32>, weft.sharding = #weft.sharding<@mesh, [{"d"}, {}]>}) -> (tensor<1x8xf32> {weft.global_type = tensor<1x8xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
    %c = arith.constant 0.0 : f32
    %0 = tensor.pad %x low[0, 0] high[0, 3] {
    ^bb0(%i: index, %j: index):
      tensor.yield %c : f32
    } : tensor<1x5xf32> to tensor<1x8xf32>
    %1 = weft.all_to_all %0 on @mesh <{"d"}> split [1] concat [0] : (tensor<1x8xf32>) -> tensor<4x2xf32>
    %2 = tensor.extract_slice %1[1, 0] [1, 2] [1, 1] : tensor<4x2xf32> to tensor<1x2xf32>
    %3 = weft.all_gather %2 on @mesh <{"d"}> dims [1] : (tensor<1x2xf32>) -> tensor<1x8xf32>
    %4 = tensor.extract_slice %3[0, 0] [1, 5] [1, 1] : tensor<1x8xf32> to tensor<1x5xf32>
    %5 = tensor.pad %4 low[0, 0] high[0, 3] {
    ^bb0(%i: index, %j: index):
      tensor.yield %c : f32
    } : tensor<1x5xf32> to tensor<1x8xf32>
    // expected-error@+1 {{result #0 has dim 0 of size 1 in chunks [1, 1, 1, 1], expected size 1 in chunks [0, 0, 0, 0]}}
    return %5 : tensor<1x8xf32>
  }
  module @global {
    func.func @padded_twice(%x: tensor<1x5xf32>) -> tensor<1x8xf32> {
      %c = arith.constant 0.0 : f32
      %0 = tensor.pad %x low[0, 0] high[0, 3] {
      ^bb0(%i: index, %j: index):
        tensor.yield %c : f32
      } : tensor<1x5xf32> to tensor<1x8xf32>
      return %0 : tensor<1x8xf32>
    }
  }
}

// -----

// It is padded with another element.

module {
  weft.mesh @mesh = <["d"=4]>
  func.func @padded_twice(%x: tensor<1x5xf32> {weft.global_type = tensor<1x5xf32>, weft.sharding = #weft.sharding<@mesh, [{"d"}, {}]>}) -> (tensor<1x8xf32> {weft.global_type = tensor<1x8xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
    %c = arith.constant 0.0 : f32
    %0 = tensor.pad %x low[0, 0] high[0, 3] {
    ^bb0(%i: index, %j: index):
      tensor.yield %c : f32
    } : tensor<1x5xf32> to tensor<1x8xf32>
    %1 = weft.all_to_all %0 on @mesh <{"d"}> split [1] concat [0] : (tensor<1x8xf32>) -> tensor<4x2xf32>
    %2 = tensor.extract_slice %1[0, 0] [1, 2] [1, 1] : tensor<4x2xf32> to tensor<1x2xf32>
    %3 = weft.all_gather %2 on @mesh <{"d"}> dims [1] : (tensor<1x2xf32>) -> tensor<1x8xf32>
    %4 = tensor.extract_slice %3[0, 0] [1, 5] [1, 1] : tensor<1x8xf32> to tensor<1x5xf32>
    %d = arith.constant 1.0 : f32
    // expected-error@+1 {{'tensor.pad' op makes result #0 another one: constant (1.000000e+00 : f32), but in the global program constant (0.000000e+00 : f32)}}
    %5 = tensor.pad %4 low[0, 0] high[0, 3] {
    ^bb0(%i: index, %j: index):
      tensor.yield %d : f32
    } : tensor<1x5xf32> to tensor<1x8xf32>
    return %5 : tensor<1x8xf32>
  }
  module @global {
    func.func @padded_twice(%x: tensor<1x5xf32>) -> tensor<1x8xf32> {
      %c = arith.constant 0.0 : f32
      // expected-note@+1 {{this op of the global program makes constant (0.000000e+00 : f32)}}
      %0 = tensor.pad %x low[0, 0] high[0, 3] {
      ^bb0(%i: index, %j: index):
        tensor.yield %c : f32
      } : tensor<1x5xf32> to tensor<1x8xf32>
      return %0 : tensor<1x8xf32>
    }
  }
}
