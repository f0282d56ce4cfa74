// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// A slice, and an insertion, at a place that is computed from data: of a dimension
// that each rank has all of.

module {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<2x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}, %n: tensor<i32>, %m: tensor<i32>) -> (tensor<2x3xf32> {weft.global_type = tensor<4x3xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}) {
    %p = tensor.extract %n[] : tensor<i32>
    %i = arith.index_cast %p : i32 to index
    %c0 = arith.constant 0 : index
    %c5 = arith.constant 5 : index
    %low = arith.minsi %i, %c5 : index
    %j = arith.maxsi %low, %c0 : index
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
      %0 = tensor.extract_slice %x[0, %j] [4, 3] [1, 1] : tensor<4x8xf32> to tensor<4x3xf32>
      return %0 : tensor<4x3xf32>
    }
  }
}

// -----

module {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<2x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}, %y: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}, %n: tensor<i32>, %m: tensor<i32>) -> (tensor<2x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}) {
    %p = tensor.extract %n[] : tensor<i32>
    %i = arith.index_cast %p : i32 to index
    %0 = tensor.insert_slice %y into %x[0, %i] [2, 1] [1, 1] : tensor<2xf32> into tensor<2x8xf32>
    return %0 : tensor<2x8xf32>
  }
  module @global {
    func.func @f(%x: tensor<4x8xf32>, %y: tensor<4xf32>, %n: tensor<i32>, %m: tensor<i32>) -> tensor<4x8xf32> {
      %p = tensor.extract %n[] : tensor<i32>
      %i = arith.index_cast %p : i32 to index
      %0 = tensor.insert_slice %y into %x[0, %i] [4, 1] [1, 1] : tensor<4xf32> into tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
  }
}

// -----

// A place that bounds leave no choice is a number, so that the dimension may be cut.

module {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<2x8xf32> {weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}, %n: tensor<i32>, %m: tensor<i32>) -> (tensor<2x3xf32> {weft.global_type = tensor<4x3xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}) {
    %p = tensor.extract %n[] : tensor<i32>
    %i = arith.index_cast %p : i32 to index
    %c0 = arith.constant 0 : index
    %low = arith.minsi %i, %c0 : index
    %j = arith.maxsi %low, %c0 : index
    %0 = tensor.extract_slice %x[%j, 2] [2, 3] [1, 1] : tensor<2x8xf32> to tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
  module @global {
    func.func @f(%x: tensor<4x8xf32>, %n: tensor<i32>, %m: tensor<i32>) -> tensor<4x3xf32> {
      %p = tensor.extract %n[] : tensor<i32>
      %i = arith.index_cast %p : i32 to index
      %c0 = arith.constant 0 : index
      %low = arith.minsi %i, %c0 : index
      %j = arith.maxsi %low, %c0 : index
      %0 = tensor.extract_slice %x[%j, 2] [4, 3] [1, 1] : tensor<4x8xf32> to tensor<4x3xf32>
      return %0 : tensor<4x3xf32>
    }
  }
}

// -----

// Of parts of a sum, too.

module {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<3x8xf32> {weft.global_type = tensor<6x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}, %n: tensor<i32>) -> tensor<3xf32> {
    %zero = arith.constant dense<0.0> : tensor<8xf32>
    %s = linalg.reduce ins(%x : tensor<3x8xf32>) outs(%zero : tensor<8xf32>) dimensions = [0] (%a: f32, %b: f32) {
      %r = arith.addf %a, %b : f32
      linalg.yield %r : f32
    }
    %p = tensor.extract %n[] : tensor<i32>
    %i = arith.index_cast %p : i32 to index
    %0 = tensor.extract_slice %s[%i] [3] [1] : tensor<8xf32> to tensor<3xf32>
    %1 = weft.all_reduce sum %0 on @mesh <{"dp"}> : (tensor<3xf32>) -> tensor<3xf32>
    return %1 : tensor<3xf32>
  }
  module @global {
    func.func @f(%x: tensor<6x8xf32>, %n: tensor<i32>) -> tensor<3xf32> {
      %zero = arith.constant dense<0.0> : tensor<8xf32>
      %s = linalg.reduce ins(%x : tensor<6x8xf32>) outs(%zero : tensor<8xf32>) dimensions = [0] (%a: f32, %b: f32) {
        %r = arith.addf %a, %b : f32
        linalg.yield %r : f32
      }
      %p = tensor.extract %n[] : tensor<i32>
      %i = arith.index_cast %p : i32 to index
      %0 = tensor.extract_slice %s[%i] [3] [1] : tensor<8xf32> to tensor<3xf32>
      return %0 : tensor<3xf32>
    }
  }
}

// -----

// The place of a loop's pass.

module {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<300x8xf32> {weft.global_type = tensor<600x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}) -> tensor<8xf32> {
    %all = weft.all_gather %x on @mesh <{"dp"}> dims [0] : (tensor<300x8xf32>) -> tensor<600x8xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c6 = arith.constant 600 : index
    %zero = arith.constant dense<0.0> : tensor<8xf32>
    %0 = scf.for %i = %c0 to %c6 step %c1 iter_args(%v = %zero) -> tensor<8xf32> {
      %row = tensor.extract_slice %all[%i, 0] [1, 8] [1, 1] : tensor<600x8xf32> to tensor<8xf32>
      %w = arith.addf %v, %row : tensor<8xf32>
      scf.yield %w : tensor<8xf32>
    }
    return %0 : tensor<8xf32>
  }
  module @global {
    func.func @f(%x: tensor<600x8xf32>) -> tensor<8xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c6 = arith.constant 600 : index
      %zero = arith.constant dense<0.0> : tensor<8xf32>
      %0 = scf.for %i = %c0 to %c6 step %c1 iter_args(%v = %zero) -> tensor<8xf32> {
        %row = tensor.extract_slice %x[%i, 0] [1, 8] [1, 1] : tensor<600x8xf32> to tensor<8xf32>
        %w = arith.addf %v, %row : tensor<8xf32>
        scf.yield %w : tensor<8xf32>
      }
      return %0 : tensor<8xf32>
    }
  }
}
