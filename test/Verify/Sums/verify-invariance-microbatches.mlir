// RUN: weft-opt %s --weft-verify-invariance --split-input-file | FileCheck %s

// Programs whose ranks compute microbatches one after the other.

// Numbers of rows are cut twice, into halves and then into quarters, before
// they meet the rows that say how many there are.

#v = affine_map<(i) -> (i)>
// CHECK: weft.certificate =
// CHECK: module @one_rank
module attributes {weft.invariance = #weft.invariance<axes = ["dp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=1]>
  func.func @f(%x: tensor<8xi32>) -> tensor<8xi32> {
    %e = tensor.empty() : tensor<8xi32>
    %p = tensor.empty() : tensor<2xi32>
    %rows = linalg.generic {indexing_maps = [#v], iterator_types = ["parallel"]} outs(%e : tensor<8xi32>) {
    ^bb0(%o: i32):
      %i = linalg.index 0 : index
      %n = arith.index_cast %i : index to i32
      linalg.yield %n : i32
    } -> tensor<8xi32>
    %low = tensor.extract_slice %rows[0] [4] [1] : tensor<8xi32> to tensor<4xi32>
    %high = tensor.extract_slice %rows[4] [4] [1] : tensor<8xi32> to tensor<4xi32>
    %r0 = tensor.extract_slice %low[0] [2] [1] : tensor<4xi32> to tensor<2xi32>
    %r1 = tensor.extract_slice %low[2] [2] [1] : tensor<4xi32> to tensor<2xi32>
    %r2 = tensor.extract_slice %high[0] [2] [1] : tensor<4xi32> to tensor<2xi32>
    %r3 = tensor.extract_slice %high[2] [2] [1] : tensor<4xi32> to tensor<2xi32>
    %x0 = tensor.extract_slice %x[0] [2] [1] : tensor<8xi32> to tensor<2xi32>
    %x1 = tensor.extract_slice %x[2] [2] [1] : tensor<8xi32> to tensor<2xi32>
    %x2 = tensor.extract_slice %x[4] [2] [1] : tensor<8xi32> to tensor<2xi32>
    %x3 = tensor.extract_slice %x[6] [2] [1] : tensor<8xi32> to tensor<2xi32>
    %y0 = linalg.add ins(%r0, %x0 : tensor<2xi32>, tensor<2xi32>) outs(%p : tensor<2xi32>) -> tensor<2xi32>
    %y1 = linalg.add ins(%r1, %x1 : tensor<2xi32>, tensor<2xi32>) outs(%p : tensor<2xi32>) -> tensor<2xi32>
    %y2 = linalg.add ins(%r2, %x2 : tensor<2xi32>, tensor<2xi32>) outs(%p : tensor<2xi32>) -> tensor<2xi32>
    %y3 = linalg.add ins(%r3, %x3 : tensor<2xi32>, tensor<2xi32>) outs(%p : tensor<2xi32>) -> tensor<2xi32>
    %y = tensor.concat dim(0) %y0, %y1, %y2, %y3 : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<8xi32>
    return %y : tensor<8xi32>
  }
  module @one_rank {
    weft.mesh @mesh = <["dp"=1]>
    func.func @f(%x: tensor<8xi32>) -> tensor<8xi32> {
      %e = tensor.empty() : tensor<8xi32>
      %rows = linalg.generic {indexing_maps = [#v], iterator_types = ["parallel"]} outs(%e : tensor<8xi32>) {
      ^bb0(%o: i32):
        %i = linalg.index 0 : index
        %n = arith.index_cast %i : index to i32
        linalg.yield %n : i32
      } -> tensor<8xi32>
      %y = linalg.add ins(%rows, %x : tensor<8xi32>, tensor<8xi32>) outs(%e : tensor<8xi32>) -> tensor<8xi32>
      return %y : tensor<8xi32>
    }
  }
}

// -----

// Rank 0 has rows 0 and 1 of four, rank 1 has rows 2 and 3, in two microbatches
// each. They exchange: rank r takes row r first, then row r + 2. In the first round
// each keeps one of its rows, in the second it sends the other one.

// CHECK: weft.certificate =
// CHECK: module @one_rank
module attributes {weft.invariance = #weft.invariance<axes = ["dp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<2x3xf32> {weft.global_type = tensor<4x3xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>})
      -> tensor<4x3xf32> {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %a = tensor.extract_slice %x[0, 0] [1, 3] [1, 1] : tensor<2x3xf32> to tensor<1x3xf32>
    %b = tensor.extract_slice %x[1, 0] [1, 3] [1, 1] : tensor<2x3xf32> to tensor<1x3xf32>
    %0 = tensor.expand_shape %a [[0, 1], [2]] output_shape [1, 1, 3] : tensor<1x3xf32> into tensor<1x1x3xf32>
    %1 = tensor.expand_shape %b [[0, 1], [2]] output_shape [1, 1, 3] : tensor<1x3xf32> into tensor<1x1x3xf32>
    %2 = tensor.concat dim(0) %0, %1 : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<2x1x3xf32>
    %rank = weft.axis_index @mesh <{"dp"}>
    %next = arith.addi %rank, %c1 : index
    %other = arith.remui %next, %c2 : index
    %kept = tensor.extract_slice %2[%rank, 0, 0] [1, 1, 3] [1, 1, 1] : tensor<2x1x3xf32> to tensor<1x3xf32>
    %sent = tensor.extract_slice %2[%other, 0, 0] [1, 1, 3] [1, 1, 1] : tensor<2x1x3xf32> to tensor<1x3xf32>
    %got = weft.permute %sent on @mesh <{"dp"}> sources [1, 0] : (tensor<1x3xf32>) -> tensor<1x3xf32>
    %3 = tensor.expand_shape %kept [[0, 1], [2]] output_shape [1, 1, 3] : tensor<1x3xf32> into tensor<1x1x3xf32>
    %4 = tensor.expand_shape %got [[0, 1], [2]] output_shape [1, 1, 3] : tensor<1x3xf32> into tensor<1x1x3xf32>
    %5 = tensor.concat dim(0) %3, %4 : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<2x1x3xf32>
    %first = tensor.extract_slice %5[%rank, 0, 0] [1, 1, 3] [1, 1, 1] : tensor<2x1x3xf32> to tensor<1x3xf32>
    %second = tensor.extract_slice %5[%other, 0, 0] [1, 1, 3] [1, 1, 1] : tensor<2x1x3xf32> to tensor<1x3xf32>
    %low = weft.all_gather %first on @mesh <{"dp"}> dims [0] : (tensor<1x3xf32>) -> tensor<2x3xf32>
    %high = weft.all_gather %second on @mesh <{"dp"}> dims [0] : (tensor<1x3xf32>) -> tensor<2x3xf32>
    %y = tensor.concat dim(0) %low, %high : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    return %y : tensor<4x3xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["dp"=1]>
    func.func @f(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
      return %x : tensor<4x3xf32>
    }
  }
}

// -----

// Numbers of rows are cut twice and put together at once.

#v = affine_map<(i) -> (i)>
// CHECK: weft.certificate =
// CHECK: module @one_rank
module attributes {weft.invariance = #weft.invariance<axes = ["dp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=1]>
  func.func @f() -> tensor<8xi32> {
    %e = tensor.empty() : tensor<8xi32>
    %rows = linalg.generic {indexing_maps = [#v], iterator_types = ["parallel"]} outs(%e : tensor<8xi32>) {
    ^bb0(%o: i32):
      %i = linalg.index 0 : index
      %n = arith.index_cast %i : index to i32
      linalg.yield %n : i32
    } -> tensor<8xi32>
    %a = tensor.expand_shape %rows [[0, 1]] output_shape [2, 4] : tensor<8xi32> into tensor<2x4xi32>
    %b = tensor.expand_shape %a [[0], [1, 2]] output_shape [2, 2, 2] : tensor<2x4xi32> into tensor<2x2x2xi32>
    %y = tensor.collapse_shape %b [[0, 1, 2]] : tensor<2x2x2xi32> into tensor<8xi32>
    return %y : tensor<8xi32>
  }
  module @one_rank {
    weft.mesh @mesh = <["dp"=1]>
    func.func @f() -> tensor<8xi32> {
      %e = tensor.empty() : tensor<8xi32>
      %rows = linalg.generic {indexing_maps = [#v], iterator_types = ["parallel"]} outs(%e : tensor<8xi32>) {
      ^bb0(%o: i32):
        %i = linalg.index 0 : index
        %n = arith.index_cast %i : index to i32
        linalg.yield %n : i32
      } -> tensor<8xi32>
      return %rows : tensor<8xi32>
    }
  }
}
