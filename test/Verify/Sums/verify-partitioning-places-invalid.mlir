// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// Slices and insertions at other places than those of the global program.

// Another index.

module {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<2x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}, %n: tensor<i32>, %m: tensor<i32>) -> (tensor<2x3xf32> {weft.global_type = tensor<4x3xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}) {
    %p = tensor.extract %m[] : tensor<i32>
    %i = arith.index_cast %p : i32 to index
    %c0 = arith.constant 0 : index
    %c5 = arith.constant 5 : index
    %low = arith.minsi %i, %c5 : index
    %j = arith.maxsi %low, %c0 : index
    // expected-error@+1 {{makes result #0 another one: argument (2), but in the global program argument (1)}}
    %0 = tensor.extract_slice %x[0, %j] [2, 3] [1, 1] : tensor<2x8xf32> to tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
  module @global {
    func.func @f(%x: tensor<4x8xf32>, %n: tensor<i32>, %m: tensor<i32>) -> tensor<4x3xf32> {
      %p = tensor.extract %n[] : tensor<i32>
      %i = arith.index_cast %p : i32 to index
      %c0 = arith.constant 0 : index
      %c5 = arith.constant 5 : index
      %low = arith.minsi %i, %c5 : index
      %j = arith.maxsi %low, %c0 : index
      // expected-note@+1 {{this op of the global program makes argument (1)}}
      %0 = tensor.extract_slice %x[0, %j] [4, 3] [1, 1] : tensor<4x8xf32> to tensor<4x3xf32>
      return %0 : tensor<4x3xf32>
    }
  }
}

// -----

// Bounds of another tensor.

module {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<2x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}, %n: tensor<i32>, %m: tensor<i32>) -> (tensor<2x3xf32> {weft.global_type = tensor<4x3xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}) {
    %p = tensor.extract %n[] : tensor<i32>
    %i = arith.index_cast %p : i32 to index
    %c0 = arith.constant 0 : index
    %c5 = arith.constant 4 : index
    %low = arith.minsi %i, %c5 : index
    %j = arith.maxsi %low, %c0 : index
    // expected-error@+1 {{makes result #0 another one: constant (4 : index), but in the global program constant (5 : index)}}
    %0 = tensor.extract_slice %x[0, %j] [2, 3] [1, 1] : tensor<2x8xf32> to tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
  module @global {
    func.func @f(%x: tensor<4x8xf32>, %n: tensor<i32>, %m: tensor<i32>) -> tensor<4x3xf32> {
      %p = tensor.extract %n[] : tensor<i32>
      %i = arith.index_cast %p : i32 to index
      %c0 = arith.constant 0 : index
      %c5 = arith.constant 5 : index
      %low = arith.minsi %i, %c5 : index
      %j = arith.maxsi %low, %c0 : index
      // expected-note@+1 {{this op of the global program makes constant (5 : index)}}
      %0 = tensor.extract_slice %x[0, %j] [4, 3] [1, 1] : tensor<4x8xf32> to tensor<4x3xf32>
      return %0 : tensor<4x3xf32>
    }
  }
}

// -----

// Without bounds.

module {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<2x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}, %n: tensor<i32>, %m: tensor<i32>) -> (tensor<2x3xf32> {weft.global_type = tensor<4x3xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}) {
    %p = tensor.extract %n[] : tensor<i32>
    %i = arith.index_cast %p : i32 to index
    %c0 = arith.constant 0 : index
    %c5 = arith.constant 5 : index
    %low = arith.minsi %i, %c5 : index
    %j = arith.maxsi %i, %i : index
    // expected-error@+1 {{makes result #0 another one: arith.index_cast, but in the global program arith.minsi}}
    %0 = tensor.extract_slice %x[0, %j] [2, 3] [1, 1] : tensor<2x8xf32> to tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
  module @global {
    func.func @f(%x: tensor<4x8xf32>, %n: tensor<i32>, %m: tensor<i32>) -> tensor<4x3xf32> {
      %p = tensor.extract %n[] : tensor<i32>
      %i = arith.index_cast %p : i32 to index
      %c0 = arith.constant 0 : index
      %c5 = arith.constant 5 : index
      %low = arith.minsi %i, %c5 : index
      %j = arith.maxsi %low, %c0 : index
      // expected-note@+1 {{this op of the global program makes arith.minsi}}
      %0 = tensor.extract_slice %x[0, %j] [4, 3] [1, 1] : tensor<4x8xf32> to tensor<4x3xf32>
      return %0 : tensor<4x3xf32>
    }
  }
}

// -----

// Another stride.

module {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<2x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}, %n: tensor<i32>, %m: tensor<i32>) -> (tensor<2x3xf32> {weft.global_type = tensor<4x3xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}) {
    %p = tensor.extract %n[] : tensor<i32>
    %i = arith.index_cast %p : i32 to index
    %c0 = arith.constant 0 : index
    %c5 = arith.constant 5 : index
    %low = arith.minsi %i, %c5 : index
    %j = arith.maxsi %low, %c0 : index
    // expected-error@+1 {{makes result #0 another one: slice 4x3xf32 (1: data + 3 * 2, ), but in the global program slice 4x3xf32 (1: data + 3 * 1, )}}
    %0 = tensor.extract_slice %x[0, %j] [2, 3] [1, 2] : tensor<2x8xf32> to tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
  module @global {
    func.func @f(%x: tensor<4x8xf32>, %n: tensor<i32>, %m: tensor<i32>) -> tensor<4x3xf32> {
      %p = tensor.extract %n[] : tensor<i32>
      %i = arith.index_cast %p : i32 to index
      %c0 = arith.constant 0 : index
      %c5 = arith.constant 5 : index
      %low = arith.minsi %i, %c5 : index
      %j = arith.maxsi %low, %c0 : index
      // expected-note@+1 {{this op of the global program makes slice 4x3xf32 (1: data + 3 * 1, )}}
      %0 = tensor.extract_slice %x[0, %j] [4, 3] [1, 1] : tensor<4x8xf32> to tensor<4x3xf32>
      return %0 : tensor<4x3xf32>
    }
  }
}

// -----

// A number.

module {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<2x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}, %n: tensor<i32>, %m: tensor<i32>) -> (tensor<2x3xf32> {weft.global_type = tensor<4x3xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}) {
    %p = tensor.extract %n[] : tensor<i32>
    %i = arith.index_cast %p : i32 to index
    %c0 = arith.constant 0 : index
    %c5 = arith.constant 5 : index
    %low = arith.minsi %i, %c5 : index
    %j = arith.maxsi %low, %c0 : index
    // expected-error@+1 {{makes result #0 another one: slice 4x3xf32 (1: 5 + 3 * 1, ), but in the global program slice 4x3xf32 (1: data + 3 * 1, )}}
    %0 = tensor.extract_slice %x[0, 5] [2, 3] [1, 1] : tensor<2x8xf32> to tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
  module @global {
    func.func @f(%x: tensor<4x8xf32>, %n: tensor<i32>, %m: tensor<i32>) -> tensor<4x3xf32> {
      %p = tensor.extract %n[] : tensor<i32>
      %i = arith.index_cast %p : i32 to index
      %c0 = arith.constant 0 : index
      %c5 = arith.constant 5 : index
      %low = arith.minsi %i, %c5 : index
      %j = arith.maxsi %low, %c0 : index
      // expected-note@+1 {{this op of the global program makes slice 4x3xf32 (1: data + 3 * 1, )}}
      %0 = tensor.extract_slice %x[0, %j] [4, 3] [1, 1] : tensor<4x8xf32> to tensor<4x3xf32>
      return %0 : tensor<4x3xf32>
    }
  }
}

// -----

// Another place on each rank.

module {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<2x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}, %n: tensor<i32>, %m: tensor<i32>) -> (tensor<2x3xf32> {weft.global_type = tensor<4x3xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}) {
    %p = tensor.extract %n[] : tensor<i32>
    %i = arith.index_cast %p : i32 to index
    %c0 = arith.constant 0 : index
    %c5 = arith.constant 5 : index
    %low = arith.minsi %i, %c5 : index
    %j = arith.maxsi %low, %c0 : index
    %r = weft.axis_index @mesh <{"dp"}>
    // expected-error@+1 {{computes with an index that depends on the rank, and is not the global index of a loop}}
    %k = arith.addi %j, %r : index
    %0 = tensor.extract_slice %x[0, %k] [2, 3] [1, 1] : tensor<2x8xf32> to tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
  module @global {
    func.func @f(%x: tensor<4x8xf32>, %n: tensor<i32>, %m: tensor<i32>) -> tensor<4x3xf32> {
      %p = tensor.extract %n[] : tensor<i32>
      %i = arith.index_cast %p : i32 to index
      %c0 = arith.constant 0 : index
      %c5 = arith.constant 5 : index
      %low = arith.minsi %i, %c5 : index
      %j = arith.maxsi %low, %c0 : index
      %0 = tensor.extract_slice %x[0, %j] [4, 3] [1, 1] : tensor<4x8xf32> to tensor<4x3xf32>
      return %0 : tensor<4x3xf32>
    }
  }
}

// -----

// Of a dimension of which a rank has a part.

module {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<4x4xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"dp"}]>}, %n: tensor<i32>, %m: tensor<i32>) -> tensor<4x3xf32> {
    %p = tensor.extract %n[] : tensor<i32>
    %i = arith.index_cast %p : i32 to index
    %c0 = arith.constant 0 : index
    %c5 = arith.constant 5 : index
    %low = arith.minsi %i, %c5 : index
    %j = arith.maxsi %low, %c0 : index
    // expected-error@+1 {{cuts at a place that is computed from data a dimension of size 8, of which a rank has 4 elements}}
    %0 = tensor.extract_slice %x[0, %j] [4, 3] [1, 1] : tensor<4x4xf32> to tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  }
  module @global {
    func.func @f(%x: tensor<4x8xf32>, %n: tensor<i32>, %m: tensor<i32>) -> tensor<4x3xf32> {
      %p = tensor.extract %n[] : tensor<i32>
      %i = arith.index_cast %p : i32 to index
      %c0 = arith.constant 0 : index
      %c5 = arith.constant 5 : index
      %low = arith.minsi %i, %c5 : index
      %j = arith.maxsi %low, %c0 : index
      %0 = tensor.extract_slice %x[0, %j] [4, 3] [1, 1] : tensor<4x8xf32> to tensor<4x3xf32>
      return %0 : tensor<4x3xf32>
    }
  }
}

// -----

// Along another dimension.

module {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<8x8xf32>, %n: tensor<i32>) -> tensor<3x3xf32> {
    %p = tensor.extract %n[] : tensor<i32>
    %i = arith.index_cast %p : i32 to index
    // expected-error@+1 {{makes result #0 another one: slice 3x3xf32 (0: 0 + 3 * 1, 1: data + 3 * 1, ), but in the global program slice 3x3xf32 (0: data + 3 * 1, 1: 0 + 3 * 1, )}}
    %0 = tensor.extract_slice %x[0, %i] [3, 3] [1, 1] : tensor<8x8xf32> to tensor<3x3xf32>
    return %0 : tensor<3x3xf32>
  }
  module @global {
    func.func @f(%x: tensor<8x8xf32>, %n: tensor<i32>) -> tensor<3x3xf32> {
      %p = tensor.extract %n[] : tensor<i32>
      %i = arith.index_cast %p : i32 to index
      // expected-note@+1 {{this op of the global program makes slice 3x3xf32 (0: data + 3 * 1, 1: 0 + 3 * 1, )}}
      %0 = tensor.extract_slice %x[%i, 0] [3, 3] [1, 1] : tensor<8x8xf32> to tensor<3x3xf32>
      return %0 : tensor<3x3xf32>
    }
  }
}

// -----

// An insertion at another index.

module {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<2x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}, %y: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}, %n: tensor<i32>, %m: tensor<i32>) -> (tensor<2x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}) {
    %p = tensor.extract %m[] : tensor<i32>
    %i = arith.index_cast %p : i32 to index
    // expected-error@+1 {{makes result #0 another one: argument (3), but in the global program argument (2)}}
    %0 = tensor.insert_slice %y into %x[0, %i] [2, 1] [1, 1] : tensor<2xf32> into tensor<2x8xf32>
    return %0 : tensor<2x8xf32>
  }
  module @global {
    func.func @f(%x: tensor<4x8xf32>, %y: tensor<4xf32>, %n: tensor<i32>, %m: tensor<i32>) -> tensor<4x8xf32> {
      %p = tensor.extract %n[] : tensor<i32>
      %i = arith.index_cast %p : i32 to index
      // expected-note@+1 {{this op of the global program makes argument (2)}}
      %0 = tensor.insert_slice %y into %x[0, %i] [4, 1] [1, 1] : tensor<4xf32> into tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
  }
}

// -----

// An insertion at a number.

module {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<2x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}, %y: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}, %n: tensor<i32>, %m: tensor<i32>) -> (tensor<2x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}) {
    %p = tensor.extract %n[] : tensor<i32>
    %i = arith.index_cast %p : i32 to index
    // expected-error@+1 {{makes result #0 another one: insert_slice 4x8xf32 (all, 0 + 1 * 1 dropped, ), but in the global program insert_slice 4x8xf32 (all, data + 1 * 1 dropped, )}}
    %0 = tensor.insert_slice %y into %x[0, 0] [2, 1] [1, 1] : tensor<2xf32> into tensor<2x8xf32>
    return %0 : tensor<2x8xf32>
  }
  module @global {
    func.func @f(%x: tensor<4x8xf32>, %y: tensor<4xf32>, %n: tensor<i32>, %m: tensor<i32>) -> tensor<4x8xf32> {
      %p = tensor.extract %n[] : tensor<i32>
      %i = arith.index_cast %p : i32 to index
      // expected-note@+1 {{this op of the global program makes insert_slice 4x8xf32 (all, data + 1 * 1 dropped, )}}
      %0 = tensor.insert_slice %y into %x[0, %i] [4, 1] [1, 1] : tensor<4xf32> into tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
  }
}

// -----

// Strides from data are not followed.

module {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<8xf32>, %n: tensor<i32>) -> tensor<3xf32> {
    %p = tensor.extract %n[] : tensor<i32>
    %i = arith.index_cast %p : i32 to index
    %0 = tensor.extract_slice %x[0] [3] [%i] : tensor<8xf32> to tensor<3xf32>
    return %0 : tensor<3xf32>
  }
  module @global {
    func.func @f(%x: tensor<8xf32>, %n: tensor<i32>) -> tensor<3xf32> {
      %p = tensor.extract %n[] : tensor<i32>
      %i = arith.index_cast %p : i32 to index
      // expected-error@+1 {{cuts dim 0 by a size or stride that is computed}}
      %0 = tensor.extract_slice %x[0] [3] [%i] : tensor<8xf32> to tensor<3xf32>
      return %0 : tensor<3xf32>
    }
  }
}

// -----

module {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<3xf32>, %y: tensor<8xf32>, %n: tensor<i32>) -> tensor<8xf32> {
    %p = tensor.extract %n[] : tensor<i32>
    %i = arith.index_cast %p : i32 to index
    %0 = tensor.insert_slice %x into %y[0] [3] [%i] : tensor<3xf32> into tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  module @global {
    func.func @f(%x: tensor<3xf32>, %y: tensor<8xf32>, %n: tensor<i32>) -> tensor<8xf32> {
      %p = tensor.extract %n[] : tensor<i32>
      %i = arith.index_cast %p : i32 to index
      // expected-error@+1 {{inserts by a size or stride that is computed}}
      %0 = tensor.insert_slice %x into %y[0] [3] [%i] : tensor<3xf32> into tensor<8xf32>
      return %0 : tensor<8xf32>
    }
  }
}
