// RUN: weft-opt %s --weft-verify-scheduling -split-input-file -o /dev/null

// A producer that was inlined, a transpose that moved into a product's map, and
// a collective that was started.

module {
  weft.mesh @mesh = <["tp"=2]>
  weft.channel @data.tp on @mesh <{"tp"}> purpose data
  func.func @f(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>) -> (tensor<6x4xf32>, tensor<4x8xf32>) {
    %0 = weft_rt.fused ins(%x : tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%a: tensor<4x8xf32>):
      %e = tensor.empty() : tensor<4x8xf32>
      %two = arith.constant 2.0 : f32
      %r = linalg.generic {indexing_maps = [affine_map<(j, i) -> (i, j)>, affine_map<(j, i) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
      ^bb0(%v: f32, %o: f32):
        %s = arith.mulf %two, %v : f32
        %t = math.exp %s : f32
        linalg.yield %t : f32
      } -> tensor<4x8xf32>
      weft_rt.yield %r : tensor<4x8xf32>
    } {weft.op = "kernel #0"}
    %1 = weft.matmul %0, %w {weft.op = "matmul w", indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (n, m)>]} : tensor<4x8xf32>, tensor<6x8xf32> -> tensor<6x4xf32>
    %2:2 = weft.all_reduce sum %1, %0 on @mesh <{"tp"}> {weft.op = "all_reduce w", channel = @data.tp} : (tensor<6x4xf32>, tensor<4x8xf32>) -> (!weft.future<tensor<6x4xf32>>, !weft.future<tensor<4x8xf32>>)
    %3:2 = weft.wait %2#0, %2#1 : !weft.future<tensor<6x4xf32>>, !weft.future<tensor<4x8xf32>>
    return %3#0, %3#1 : tensor<6x4xf32>, tensor<4x8xf32>
  }
  module @local {
    weft.mesh @mesh = <["tp"=2]>
    func.func @f(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>) -> (tensor<6x4xf32>, tensor<4x8xf32>) {
      %e = tensor.empty() : tensor<4x8xf32>
      %two = arith.constant dense<2.0> : tensor<4x8xf32>
      %m = arith.mulf %x, %two : tensor<4x8xf32>
      %0 = math.exp %m : tensor<4x8xf32>
      %we = tensor.empty() : tensor<8x6xf32>
      %t = linalg.transpose ins(%w : tensor<6x8xf32>) outs(%we : tensor<8x6xf32>) permutation = [1, 0]
      %1 = weft.matmul %0, %t {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]} : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
      %2 = weft.all_reduce sum %1 on @mesh <{"tp"}> : (tensor<4x6xf32>) -> tensor<4x6xf32>
      %3 = weft.all_reduce sum %0 on @mesh <{"tp"}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
      %re = tensor.empty() : tensor<6x4xf32>
      %r = linalg.transpose ins(%2 : tensor<4x6xf32>) outs(%re : tensor<6x4xf32>) permutation = [1, 0]
      return %r, %3 : tensor<6x4xf32>, tensor<4x8xf32>
    }
  }
}

// -----

// A transpose on the other side of a gather and a rounding; a product whose
// operands were widened, and whose sum was rounded after it.

module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<4x8xf16>, %w: tensor<8x6xbf16>) -> tensor<12x4xbf16> {
    %xe = tensor.empty() : tensor<4x8xf32>
    %we = tensor.empty() : tensor<8x6xf32>
    %xw = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf16>) outs(%xe : tensor<4x8xf32>) {
    ^bb0(%v: f16, %o: f32):
      %s = arith.extf %v : f16 to f32
      linalg.yield %s : f32
    } -> tensor<4x8xf32>
    %ww = arith.extf %w : tensor<8x6xbf16> to tensor<8x6xf32>
    %0 = weft.matmul %xw, %ww {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (n, m)>]} : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<6x4xf32>
    %1 = arith.truncf %0 : tensor<6x4xf32> to tensor<6x4xbf16>
    %2 = weft.all_gather %1 on @mesh <{"tp"}> dims [0] : (tensor<6x4xbf16>) -> tensor<12x4xbf16>
    return %2 : tensor<12x4xbf16>
  }
  module @local {
    weft.mesh @mesh = <["tp"=2]>
    func.func @f(%x: tensor<4x8xf16>, %w: tensor<8x6xbf16>) -> tensor<12x4xbf16> {
      %0 = weft.matmul %x, %w {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]} : tensor<4x8xf16>, tensor<8x6xbf16> -> tensor<4x6xbf16>
      %1 = weft.all_gather %0 on @mesh <{"tp"}> dims [1] : (tensor<4x6xbf16>) -> tensor<4x12xbf16>
      %e = tensor.empty() : tensor<12x4xbf16>
      %2 = linalg.transpose ins(%1 : tensor<4x12xbf16>) outs(%e : tensor<12x4xbf16>) permutation = [1, 0]
      return %2 : tensor<12x4xbf16>
    }
  }
}

// -----

// A concatenation in pieces, a lookup as an extract, reshapes that undo one
// another, a pad as an insertion, and a slice of a part of a whole.

module {
  func.func @f(%x: tensor<2x6xf32>, %y: tensor<3x6xf32>, %i: tensor<4xi32>) -> (tensor<5x6xf32>, tensor<4x6xf32>, tensor<3x4xf32>, tensor<4x6xf32>, tensor<2x3xf32>) {
    %e = tensor.empty() : tensor<5x6xf32>
    %0 = tensor.insert_slice %y into %e[2, 0] [3, 6] [1, 1] : tensor<3x6xf32> into tensor<5x6xf32>
    %1 = tensor.insert_slice %x into %0[0, 0] [2, 6] [1, 1] : tensor<2x6xf32> into tensor<5x6xf32>
    %te = tensor.empty() : tensor<4x6xf32>
    %zero = arith.constant 0.0 : f32
    %missing = arith.constant -0.0 : f32
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%i : tensor<4xi32>) outs(%te : tensor<4x6xf32>) {
    ^bb0(%v: i32, %o: f32):
      %at = arith.index_cast %v : i32 to index
      %in = arith.cmpi ult, %at, %c3 : index
      %safe = arith.select %in, %at, %c0 : index
      %j = linalg.index 1 : index
      %element = tensor.extract %y[%safe, %j] : tensor<3x6xf32>
      %s = arith.select %in, %element, %missing : f32
      linalg.yield %s : f32
    } -> tensor<4x6xf32>
    %3 = tensor.collapse_shape %x [[0, 1]] : tensor<2x6xf32> into tensor<12xf32>
    %4 = tensor.expand_shape %3 [[0, 1]] output_shape [3, 4] : tensor<12xf32> into tensor<3x4xf32>
    %pe = tensor.empty() : tensor<4x6xf32>
    %pf = linalg.fill ins(%zero : f32) outs(%pe : tensor<4x6xf32>) -> tensor<4x6xf32>
    %5 = tensor.insert_slice %x into %pf[1, 0] [2, 6] [1, 1] : tensor<2x6xf32> into tensor<4x6xf32>
    %6 = tensor.extract_slice %y[1, 2] [2, 3] [1, 1] : tensor<3x6xf32> to tensor<2x3xf32>
    return %1, %2, %4, %5, %6 : tensor<5x6xf32>, tensor<4x6xf32>, tensor<3x4xf32>, tensor<4x6xf32>, tensor<2x3xf32>
  }
  module @local {
    func.func @f(%x: tensor<2x6xf32>, %y: tensor<3x6xf32>, %i: tensor<4xi32>) -> (tensor<5x6xf32>, tensor<4x6xf32>, tensor<3x4xf32>, tensor<4x6xf32>, tensor<2x3xf32>) {
      %1 = tensor.concat dim(0) %x, %y : (tensor<2x6xf32>, tensor<3x6xf32>) -> tensor<5x6xf32>
      %2 = weft.take %y, %i {axis = 0 : i64, table_map = affine_map<(i, j) -> (j)>, index_map = affine_map<(i, j) -> (i)>} : tensor<3x6xf32>, tensor<4xi32> -> tensor<4x6xf32>
      %3 = tensor.expand_shape %x [[0], [1, 2, 3]] output_shape [2, 1, 2, 3] : tensor<2x6xf32> into tensor<2x1x2x3xf32>
      %4 = tensor.collapse_shape %3 [[0, 1, 2, 3]] : tensor<2x1x2x3xf32> into tensor<12xf32>
      %5 = tensor.expand_shape %4 [[0, 1]] output_shape [3, 4] : tensor<12xf32> into tensor<3x4xf32>
      %zero = arith.constant 0.0 : f32
      %6 = tensor.pad %x low[1, 0] high[1, 0] {
      ^bb0(%a: index, %b: index):
        tensor.yield %zero : f32
      } : tensor<2x6xf32> to tensor<4x6xf32>
      %7 = tensor.extract_slice %1[3, 2] [2, 3] [1, 1] : tensor<5x6xf32> to tensor<2x3xf32>
      return %1, %2, %5, %6, %7 : tensor<5x6xf32>, tensor<4x6xf32>, tensor<3x4xf32>, tensor<4x6xf32>, tensor<2x3xf32>
    }
  }
}

// -----

// Loops and branches are what their regions make; a reduction over one element
// adds to what it begins with; updates that meet are added up in f32.

module {
  func.func @f(%x: tensor<1x4xf32>, %t: tensor<3x4xbf16>, %i: tensor<2xi32>, %u: tensor<2x4xbf16>, %n: index) -> (tensor<4xf32>, tensor<3x4xbf16>, tensor<4xf32>) {
    %0 = tensor.collapse_shape %x [[0, 1]] : tensor<1x4xf32> into tensor<4xf32>
    %one = arith.constant dense<1.0> : tensor<4xf32>
    %1 = arith.addf %0, %one : tensor<4xf32>
    %te = arith.extf %t : tensor<3x4xbf16> to tensor<3x4xf32>
    %ue = arith.extf %u : tensor<2x4xbf16> to tensor<2x4xf32>
    %2 = weft.scatter_add %te, %i, %ue {axis = 0 : i64, table_map = affine_map<(i, j) -> (j)>, index_map = affine_map<(i, j) -> (i)>} : tensor<3x4xf32>, tensor<2xi32>, tensor<2x4xf32>
    %3 = arith.truncf %2 : tensor<3x4xf32> to tensor<3x4xbf16>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %4 = scf.for %k = %c0 to %n step %c1 iter_args(%a = %0) -> tensor<4xf32> {
      %b = weft_rt.fused ins(%a : tensor<4xf32>) -> tensor<4xf32> {
      ^bb0(%v: tensor<4xf32>):
        %e = tensor.empty() : tensor<4xf32>
        %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%v : tensor<4xf32>) outs(%e : tensor<4xf32>) {
        ^bb0(%w: f32, %o: f32):
          %s = arith.addf %w, %w : f32
          linalg.yield %s : f32
        } -> tensor<4xf32>
        weft_rt.yield %r : tensor<4xf32>
      }
      scf.yield %b : tensor<4xf32>
    }
    return %1, %3, %4 : tensor<4xf32>, tensor<3x4xbf16>, tensor<4xf32>
  }
  module @local {
    func.func @f(%x: tensor<1x4xf32>, %t: tensor<3x4xbf16>, %i: tensor<2xi32>, %u: tensor<2x4xbf16>, %n: index) -> (tensor<4xf32>, tensor<3x4xbf16>, tensor<4xf32>) {
      %one = arith.constant dense<1.0> : tensor<4xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<1x4xf32>) outs(%one : tensor<4xf32>) {
      ^bb0(%v: f32, %o: f32):
        %s = arith.addf %v, %o : f32
        linalg.yield %s : f32
      } -> tensor<4xf32>
      %2 = weft.scatter_add %t, %i, %u {axis = 0 : i64, table_map = affine_map<(i, j) -> (j)>, index_map = affine_map<(i, j) -> (i)>} : tensor<3x4xbf16>, tensor<2xi32>, tensor<2x4xbf16>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %3 = tensor.extract_slice %x[0, 0] [1, 4] [1, 1] : tensor<1x4xf32> to tensor<4xf32>
      %4 = scf.for %k = %c0 to %n step %c1 iter_args(%a = %3) -> tensor<4xf32> {
        %b = arith.addf %a, %a : tensor<4xf32>
        scf.yield %b : tensor<4xf32>
      }
      return %1, %2, %4 : tensor<4xf32>, tensor<3x4xbf16>, tensor<4xf32>
    }
  }
}

// -----

// A tensor of scalars, of which kernels write the parts.

module {
  func.func @f(%a: f32, %b: f32, %c: f32, %d: f32) -> (tensor<2x2xf32>, tensor<f32>, tensor<0xf32>) {
    %e = tensor.empty() : tensor<1xf32>
    %0 = linalg.fill ins(%a : f32) outs(%e : tensor<1xf32>) -> tensor<1xf32>
    %1 = linalg.fill ins(%b : f32) outs(%e : tensor<1xf32>) -> tensor<1xf32>
    %2 = linalg.fill ins(%c : f32) outs(%e : tensor<1xf32>) -> tensor<1xf32>
    %3 = linalg.fill ins(%d : f32) outs(%e : tensor<1xf32>) -> tensor<1xf32>
    %row = tensor.concat dim(0) %0, %1, %2, %3 : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<4xf32>
    %all = tensor.expand_shape %row [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
    %se = tensor.empty() : tensor<f32>
    %s = linalg.fill ins(%a : f32) outs(%se : tensor<f32>) -> tensor<f32>
    %none = tensor.empty() : tensor<0xf32>
    return %all, %s, %none : tensor<2x2xf32>, tensor<f32>, tensor<0xf32>
  }
  module @local {
    func.func @f(%a: f32, %b: f32, %c: f32, %d: f32) -> (tensor<2x2xf32>, tensor<f32>, tensor<0xf32>) {
      %all = tensor.from_elements %a, %b, %c, %d : tensor<2x2xf32>
      %s = tensor.from_elements %a : tensor<f32>
      %none = tensor.from_elements : tensor<0xf32>
      return %all, %s, %none : tensor<2x2xf32>, tensor<f32>, tensor<0xf32>
    }
  }
}
