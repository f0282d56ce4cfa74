// RUN: weft-opt %s --weft-verify-partitioning -split-input-file | FileCheck %s

// Half of K on each rank, scaled, cast and moved before the sum is taken.

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>
// CHECK-LABEL: func.func @linear
module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @linear(%x: tensor<4x64xf32> {weft.global_type = tensor<4x128xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
                    %w: tensor<64x8xf32> {weft.global_type = tensor<128x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>},
                    %s: tensor<4x8xf32>)
      -> (tensor<4x4xbf16> {weft.global_type = tensor<8x4xbf16>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) {
    %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<4x64xf32>, tensor<64x8xf32> -> tensor<4x8xf32>
    %e = tensor.empty() : tensor<8x4xbf16>
    %1 = linalg.generic {indexing_maps = [#t, #t, #id], iterator_types = ["parallel", "parallel"]}
        ins(%0, %s : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<8x4xbf16>) {
    ^bb0(%a: f32, %b: f32, %o: bf16):
      %m = arith.mulf %a, %b : f32
      %n = arith.negf %m : f32
      %r = arith.truncf %n : f32 to bf16
      linalg.yield %r : bf16
    } -> tensor<8x4xbf16>
    %2 = weft.reduce_scatter sum %1 on @mesh <{"tp"}> dims [0] : (tensor<8x4xbf16>) -> tensor<4x4xbf16>
    return %2 : tensor<4x4xbf16>
  }
  module @global {
    func.func @linear(%x: tensor<4x128xf32>, %w: tensor<128x8xf32>, %s: tensor<4x8xf32>) -> tensor<8x4xbf16> {
      %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn]} : tensor<4x128xf32>, tensor<128x8xf32> -> tensor<4x8xf32>
      %e = tensor.empty() : tensor<8x4xbf16>
      %1 = linalg.generic {indexing_maps = [#t, #t, #id], iterator_types = ["parallel", "parallel"]}
          ins(%0, %s : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<8x4xbf16>) {
      ^bb0(%a: f32, %b: f32, %o: bf16):
        %m = arith.mulf %a, %b : f32
        %n = arith.negf %m : f32
        %r = arith.truncf %n : f32 to bf16
        linalg.yield %r : bf16
      } -> tensor<8x4xbf16>
      return %1 : tensor<8x4xbf16>
    }
  }
}

// -----

// Sums cut along different axes are added before both are taken, and put below
// each other and zeros.

#two = affine_map<(i, j) -> (i, j)>
#one = affine_map<(i, j) -> (i)>
#e = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @two_sums
module {
  weft.mesh @mesh = <["dp"=2, "tp"=2]>
  func.func @two_sums(%x: tensor<4x8xf32> {weft.global_type = tensor<4x16xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
                      %y: tensor<4x6xf32> {weft.global_type = tensor<4x12xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"dp"}]>})
      -> tensor<8xf32> {
    %zero = arith.constant dense<0.0> : tensor<4xf32>
    %0 = linalg.generic {indexing_maps = [#two, #one], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x8xf32>) outs(%zero : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %a, %o : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %1 = linalg.generic {indexing_maps = [#two, #one], iterator_types = ["parallel", "reduction"]} ins(%y : tensor<4x6xf32>) outs(%zero : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %a, %o : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %r = weft.all_reduce sum %1 on @mesh <{"dp"}> : (tensor<4xf32>) -> tensor<4xf32>
    %q = weft.all_reduce sum %0 on @mesh <{"tp"}> : (tensor<4xf32>) -> tensor<4xf32>
    %empty = tensor.empty() : tensor<4xf32>
    %2 = linalg.generic {indexing_maps = [#e, #e, #e], iterator_types = ["parallel"]} ins(%q, %r : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.subf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %c = tensor.concat dim(0) %0, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
    %d = weft.all_reduce sum %c on @mesh <{"tp"}> : (tensor<8xf32>) -> tensor<8xf32>
    %i = tensor.insert_slice %2 into %d[4] [4] [1] : tensor<4xf32> into tensor<8xf32>
    return %i : tensor<8xf32>
  }
  module @global {
    func.func @two_sums(%x: tensor<4x16xf32>, %y: tensor<4x12xf32>) -> tensor<8xf32> {
      %zero = arith.constant dense<0.0> : tensor<4xf32>
      %0 = linalg.generic {indexing_maps = [#two, #one], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x16xf32>) outs(%zero : tensor<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        %s = arith.addf %a, %o : f32
        linalg.yield %s : f32
      } -> tensor<4xf32>
      %1 = linalg.generic {indexing_maps = [#two, #one], iterator_types = ["parallel", "reduction"]} ins(%y : tensor<4x12xf32>) outs(%zero : tensor<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        %s = arith.addf %a, %o : f32
        linalg.yield %s : f32
      } -> tensor<4xf32>
      %empty = tensor.empty() : tensor<4xf32>
      %2 = linalg.generic {indexing_maps = [#e, #e, #e], iterator_types = ["parallel"]} ins(%0, %1 : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32):
        %s = arith.subf %a, %b : f32
        linalg.yield %s : f32
      } -> tensor<4xf32>
      %c = tensor.concat dim(0) %0, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
      %i = tensor.insert_slice %2 into %c[4] [4] [1] : tensor<4xf32> into tensor<8xf32>
      return %i : tensor<8xf32>
    }
  }
}

// -----

// Parts of two sums, and microbatches: the sets of both are united.

#two = affine_map<(i, j) -> (i, j)>
#one = affine_map<(i, j) -> (i)>
#e = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @microbatches
module {
  weft.mesh @mesh = <["dp"=2]>
  func.func @microbatches(%x: tensor<4x8xf32> {weft.global_type = tensor<4x16xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"dp"}]>}) -> tensor<4xf32> {
    %zero = arith.constant dense<0.0> : tensor<4xf32>
    %x0 = tensor.extract_slice %x[0, 0] [4, 4] [1, 1] : tensor<4x8xf32> to tensor<4x4xf32>
    %x1 = tensor.extract_slice %x[0, 4] [4, 4] [1, 1] : tensor<4x8xf32> to tensor<4x4xf32>
    %0 = linalg.generic {indexing_maps = [#two, #one], iterator_types = ["parallel", "reduction"]} ins(%x0 : tensor<4x4xf32>) outs(%zero : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %a, %o : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %1 = linalg.generic {indexing_maps = [#two, #one], iterator_types = ["parallel", "reduction"]} ins(%x1 : tensor<4x4xf32>) outs(%zero : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %a, %o : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %empty = tensor.empty() : tensor<4xf32>
    %2 = linalg.generic {indexing_maps = [#e, #e, #e], iterator_types = ["parallel"]} ins(%1, %0 : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %3 = weft.all_reduce sum %2 on @mesh <{"dp"}> : (tensor<4xf32>) -> tensor<4xf32>
    return %3 : tensor<4xf32>
  }
  module @global {
    func.func @microbatches(%x: tensor<4x16xf32>) -> tensor<4xf32> {
      %zero = arith.constant dense<0.0> : tensor<4xf32>
      %0 = linalg.generic {indexing_maps = [#two, #one], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x16xf32>) outs(%zero : tensor<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        %s = arith.addf %a, %o : f32
        linalg.yield %s : f32
      } -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// A sum of numbers that do not depend on where they are added, of which each
// rank has half.

// CHECK-LABEL: func.func @equal
module {
  weft.mesh @mesh = <["dp"=3, "tp"=2]>
  func.func @equal(%x: tensor<4xf32>) -> tensor<4xf32> {
    %zero = arith.constant dense<0.0> : tensor<4xf32>
    %c = arith.constant dense<0.5> : tensor<4x8xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
        iterator_types = ["parallel", "reduction"]} ins(%x, %c : tensor<4xf32>, tensor<4x8xf32>) outs(%zero : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %m = arith.mulf %a, %b : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
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

// A product of parts that were rounded: over the reals a cast changes nothing.

#id = affine_map<(i, j) -> (i, j)>
#col = affine_map<(i, j) -> (j)>
#one = affine_map<(j) -> (j)>
// CHECK-LABEL: func.func @product
module {
  weft.mesh @mesh = <["dp"=2]>
  func.func @product(%x: tensor<4x8xf32> {weft.global_type = tensor<8x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>})
      -> tensor<8xbf16> {
    %c1 = arith.constant 1.0 : f32
    %e = tensor.empty() : tensor<8xf32>
    %f = linalg.fill ins(%c1 : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %0 = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
        ins(%x : tensor<4x8xf32>) outs(%f : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %m = arith.mulf %o, %a : f32
      linalg.yield %m : f32
    } -> tensor<8xf32>
    %h = tensor.empty() : tensor<8xbf16>
    %1 = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
        ins(%0 : tensor<8xf32>) outs(%h : tensor<8xbf16>) {
    ^bb0(%a: f32, %o: bf16):
      %r = arith.truncf %a : f32 to bf16
      linalg.yield %r : bf16
    } -> tensor<8xbf16>
    %2 = weft.all_reduce prod %1 on @mesh <{"dp"}> : (tensor<8xbf16>) -> tensor<8xbf16>
    return %2 : tensor<8xbf16>
  }
  module @global {
    func.func @product(%x: tensor<8x8xf32>) -> tensor<8xbf16> {
      %c1 = arith.constant 1.0 : f32
      %e = tensor.empty() : tensor<8xf32>
      %f = linalg.fill ins(%c1 : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
      %0 = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
          ins(%x : tensor<8x8xf32>) outs(%f : tensor<8xf32>) {
      ^bb0(%a: f32, %o: f32):
        %m = arith.mulf %o, %a : f32
        linalg.yield %m : f32
      } -> tensor<8xf32>
      %h = tensor.empty() : tensor<8xbf16>
      %1 = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
          ins(%0 : tensor<8xf32>) outs(%h : tensor<8xbf16>) {
      ^bb0(%a: f32, %o: bf16):
        %r = arith.truncf %a : f32 to bf16
        linalg.yield %r : bf16
      } -> tensor<8xbf16>
      return %1 : tensor<8xbf16>
    }
  }
}

// -----

// 8 rows of 6 elements are 2 rows of 24. On a rank that has one row, or a
// quarter of one, this is no op.

// CHECK-LABEL: func.func @regrouped
module {
  weft.mesh @mesh = <["tp"=8]>
  func.func @regrouped(%x: tensor<1x6xf32> {weft.global_type = tensor<8x6xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) -> (tensor<1x24xf32> {weft.global_type = tensor<2x24xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp":(1)2}, {}]>}) {
    %0 = weft.all_gather %x on @mesh <{"tp":(2)4}> dims [1] : (tensor<1x6xf32>) -> tensor<1x24xf32>
    return %0 : tensor<1x24xf32>
  }
  module @global {
    func.func @regrouped(%x: tensor<8x6xf32>) -> tensor<2x24xf32> {
      %0 = tensor.collapse_shape %x [[0, 1]] : tensor<8x6xf32> into tensor<48xf32>
      %1 = tensor.expand_shape %0 [[0, 1]] output_shape [2, 24] : tensor<48xf32> into tensor<2x24xf32>
      return %1 : tensor<2x24xf32>
    }
  }
}

// -----

// `--offload` puts an argument into the host's memory.

// CHECK-LABEL: func.func @offloaded
module {
  func.func @offloaded(%x: tensor<4xf32> {weft.host, weft.name = "x"}) -> (tensor<4xf32> {weft.alias = 0 : index}) {
    return %x : tensor<4xf32>
  }
  module @global {
    func.func @offloaded(%x: tensor<4xf32> {weft.name = "x"}) -> (tensor<4xf32> {weft.alias = 0 : index}) {
      return %x : tensor<4xf32>
    }
  }
}
