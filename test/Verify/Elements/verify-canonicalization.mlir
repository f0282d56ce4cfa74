// RUN: weft-opt %s --weft-verify-canonicalization -split-input-file -o /dev/null

// A product in bf16, of which the sum begins with something, after a call.

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
module {
  weft.mesh @mesh = <["tp"=4]>
  func.func @f(%x: tensor<4x8xbf16> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}], storage = {"tp"}>},
               %w: tensor<8x6xbf16>, %b: tensor<4x6xbf16>) -> tensor<4x6xbf16> {
    %p = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<4x8xbf16>, tensor<8x6xbf16> -> tensor<4x6xf32>
    %e = tensor.empty() : tensor<4x6xbf16>
    %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %b : tensor<4x6xf32>, tensor<4x6xbf16>) outs(%e : tensor<4x6xbf16>) {
    ^bb0(%v: f32, %u: bf16, %o: bf16):
      %s = arith.extf %u : bf16 to f32
      %t = arith.addf %s, %v : f32
      %y = arith.truncf %t : f32 to bf16
      linalg.yield %y : bf16
    } -> tensor<4x6xbf16>
    return %r : tensor<4x6xbf16>
  }
  module @source {
    weft.mesh @mesh = <["tp"=2]>
    func.func @f(%x: tensor<4x8xbf16> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>},
                 %w: tensor<8x6xbf16>, %b: tensor<4x6xbf16>) -> tensor<4x6xbf16> {
      %r = func.call @product(%x, %w, %b) : (tensor<4x8xbf16>, tensor<8x6xbf16>, tensor<4x6xbf16>) -> tensor<4x6xbf16>
      return %r : tensor<4x6xbf16>
    }
    func.func private @product(%x: tensor<4x8xbf16>, %w: tensor<8x6xbf16>, %b: tensor<4x6xbf16>) -> tensor<4x6xbf16> {
      %r = linalg.matmul ins(%x, %w : tensor<4x8xbf16>, tensor<8x6xbf16>) outs(%b : tensor<4x6xbf16>) -> tensor<4x6xbf16>
      return %r : tensor<4x6xbf16>
    }
  }
}

// -----

// A loop that was written out: each pass adds a row.

module {
  func.func @f(%x: tensor<3x4xf32>) -> tensor<4xf32> {
    %0 = tensor.extract_slice %x[0, 0] [1, 4] [1, 1] : tensor<3x4xf32> to tensor<4xf32>
    %1 = tensor.extract_slice %x[1, 0] [1, 4] [1, 1] : tensor<3x4xf32> to tensor<4xf32>
    %2 = tensor.extract_slice %x[2, 0] [1, 4] [1, 1] : tensor<3x4xf32> to tensor<4xf32>
    %3 = arith.addf %0, %1 : tensor<4xf32>
    %4 = arith.addf %3, %2 : tensor<4xf32>
    return %4 : tensor<4xf32>
  }
  module @source {
    func.func @f(%x: tensor<3x4xf32>) -> tensor<4xf32> {
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %first = tensor.extract_slice %x[0, 0] [1, 4] [1, 1] : tensor<3x4xf32> to tensor<4xf32>
      %r = scf.for %i = %c1 to %c3 step %c1 iter_args(%s = %first) -> (tensor<4xf32>) {
        %row = tensor.extract_slice %x[%i, 0] [1, 4] [1, 1] : tensor<3x4xf32> to tensor<4xf32>
        %t = arith.addf %s, %row : tensor<4xf32>
        scf.yield %t : tensor<4xf32>
      }
      return %r : tensor<4xf32>
    }
  }
}

// -----

// A loop whose length is not known, which carries a weight and a result that
// nobody uses; and one with a condition.

module {
  func.func @f(%n: tensor<i32>, %x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i0 = tensor.extract %n[] : tensor<i32>
    %end = arith.index_cast %i0 : i32 to index
    %r = scf.for %i = %c0 to %end step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
      %t = arith.addf %a, %w : tensor<4xf32>
      scf.yield %t : tensor<4xf32>
    }
    %one = arith.constant 1 : i32
    %u:2 = scf.while (%k = %i0, %a = %x) : (i32, tensor<4xf32>) -> (i32, tensor<4xf32>) {
      %go = arith.cmpi sgt, %k, %one : i32
      scf.condition(%go) %k, %a : i32, tensor<4xf32>
    } do {
    ^bb0(%k: i32, %a: tensor<4xf32>):
      %m = arith.subi %k, %one : i32
      %t = arith.mulf %a, %w : tensor<4xf32>
      scf.yield %m, %t : i32, tensor<4xf32>
    }
    return %r, %u#1 : tensor<4xf32>, tensor<4xf32>
  }
  module @source {
    func.func @f(%n: tensor<i32>, %x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %i0 = tensor.extract %n[] : tensor<i32>
      %end = arith.index_cast %i0 : i32 to index
      %r:3 = scf.for %i = %c0 to %end step %c1 iter_args(%b = %w, %z = %x, %a = %x) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
        %t = arith.addf %a, %b : tensor<4xf32>
        %zz = arith.mulf %z, %t : tensor<4xf32>
        scf.yield %b, %zz, %t : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
      }
      %one = arith.constant 1 : i32
      %u:3 = scf.while (%b = %w, %k = %i0, %a = %x) : (tensor<4xf32>, i32, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, i32) {
        %go = arith.cmpi sgt, %k, %one : i32
        scf.condition(%go) %b, %a, %k : tensor<4xf32>, tensor<4xf32>, i32
      } do {
      ^bb0(%b: tensor<4xf32>, %a: tensor<4xf32>, %k: i32):
        %m = arith.subi %k, %one : i32
        %t = arith.mulf %a, %b : tensor<4xf32>
        scf.yield %b, %m, %t : tensor<4xf32>, i32, tensor<4xf32>
      }
      return %r#2, %u#1 : tensor<4xf32>, tensor<4xf32>
    }
  }
}

// -----

// A lookup and a concatenation that a kernel's body spells out; a slice that may
// begin anywhere; an axis that became the last.

module {
  weft.mesh @mesh = <["dp"=2, "tp"=2]>
  func.func @f(%t: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp", "dp"}, {}]>}, %i: tensor<3xi32>, %b: tensor<2x4xf32>, %k: index) -> (tensor<5x4xf32>, tensor<2x4xf32>) {
    %rows = weft.take %t, %i {axis = 0 : i64, table_map = affine_map<(d0, d1) -> (d1)>, index_map = affine_map<(d0, d1) -> (d0)>} : tensor<8x4xf32>, tensor<3xi32> -> tensor<3x4xf32>
    %r = tensor.concat dim(0) %rows, %b : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<5x4xf32>
    %c0 = arith.constant 0 : index
    %c6 = arith.constant 6 : index
    %low = arith.minsi %k, %c6 : index
    %at = arith.maxsi %low, %c0 : index
    %s = tensor.extract_slice %t[%at, 0] [2, 4] [1, 1] : tensor<8x4xf32> to tensor<2x4xf32>
    return %r, %s : tensor<5x4xf32>, tensor<2x4xf32>
  }
  module @source {
    weft.mesh @mesh = <["dp"=2, "tp"=2]>
    func.func @f(%t: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "tp"}, {}]>}, %i: tensor<3xi32>, %b: tensor<2x4xf32>, %k: index) -> (tensor<5x4xf32>, tensor<2x4xf32>) {
      %e = tensor.empty() : tensor<5x4xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<5x4xf32>) {
      ^bb0(%o: f32):
        %row = linalg.index 0 : index
        %column = linalg.index 1 : index
        %c3 = arith.constant 3 : index
        %isRow = arith.cmpi ult, %row, %c3 : index
        %v = scf.if %isRow -> (f32) {
          %n = tensor.extract %i[%row] : tensor<3xi32>
          %m = arith.index_cast %n : i32 to index
          %found = tensor.extract %t[%m, %column] : tensor<8x4xf32>
          scf.yield %found : f32
        } else {
          %behind = arith.subi %row, %c3 : index
          %found = tensor.extract %b[%behind, %column] : tensor<2x4xf32>
          scf.yield %found : f32
        }
        linalg.yield %v : f32
      } -> tensor<5x4xf32>
      %s = tensor.extract_slice %t[%k, 0] [2, 4] [1, 1] : tensor<8x4xf32> to tensor<2x4xf32>
      return %r, %s : tensor<5x4xf32>, tensor<2x4xf32>
    }
  }
}

// -----

// Lower halves of which nobody reads the upper ones.

module {
  func.func @f(%x: tensor<4xi32>, %y: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
    %0 = arith.addi %x, %y : tensor<4xi32>
    %1 = arith.muli %x, %y : tensor<4xi32>
    %low, %high = arith.mului_extended %x, %y : tensor<4xi32>
    return %0, %1, %high : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
  }
  module @source {
    func.func @f(%x: tensor<4xi32>, %y: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
      %0, %overflows = arith.addui_extended %x, %y : tensor<4xi32>, tensor<4xi1>
      %1, %signed = arith.mulsi_extended %x, %y : tensor<4xi32>
      %low, %high = arith.mului_extended %x, %y : tensor<4xi32>
      return %0, %1, %high : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
    }
  }
}
