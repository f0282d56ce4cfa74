// RUN: weft-opt %s --weft-fuse-kernels -split-input-file | FileCheck %s

#matrix = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>
#columns = affine_map<(i, j) -> (j)>

// Sums by rows and by columns are two kernels: one of both would be one
// thread's. What they sum up is computed in each, from what takes no more
// memory. The sum of `a` and `b` would be more to read than itself: it is
// stored, as narrow as it is.

// CHECK-LABEL: func @norm_gradient
// CHECK: %[[SUM:.*]]:2 = weft_rt.fused ins({{.*}}) -> tensor<512x1024xbf16>, tensor<512xf32>
// CHECK: arith.addf {{.*}} : bf16
// CHECK: weft_rt.fused ins(%{{.*}}, %[[SUM]]#0 : tensor<512x1024xbf16>, tensor<512x1024xbf16>) -> tensor<1024xf32>
// CHECK: arith.extf
// CHECK: arith.extf
// CHECK-NOT: weft_rt.fused
// CHECK: return
func.func @norm_gradient(%a: tensor<512x1024xbf16>, %b: tensor<512x1024xbf16>, %x: tensor<512x1024xbf16>, %w: tensor<1024xf32>)
    -> (tensor<512xf32>, tensor<1024xf32>) {
  %zero = arith.constant 0.0 : f32
  %narrow = tensor.empty() : tensor<512x1024xbf16>
  %wide = tensor.empty() : tensor<512x1024xf32>
  %r = tensor.empty() : tensor<512xf32>
  %c = tensor.empty() : tensor<1024xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%r : tensor<512xf32>) -> tensor<512xf32>
  %zc = linalg.fill ins(%zero : f32) outs(%c : tensor<1024xf32>) -> tensor<1024xf32>
  %sum = linalg.generic {indexing_maps = [#matrix, #matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<512x1024xbf16>, tensor<512x1024xbf16>) outs(%narrow : tensor<512x1024xbf16>) {
  ^bb0(%p: bf16, %q: bf16, %o: bf16):
    %s = arith.addf %p, %q : bf16
    linalg.yield %s : bf16
  } -> tensor<512x1024xbf16>
  %dy = linalg.generic {indexing_maps = [#matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%sum : tensor<512x1024xbf16>) outs(%wide : tensor<512x1024xf32>) {
  ^bb0(%p: bf16, %o: f32):
    %s = arith.extf %p : bf16 to f32
    linalg.yield %s : f32
  } -> tensor<512x1024xf32>
  %xf = linalg.generic {indexing_maps = [#matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<512x1024xbf16>) outs(%wide : tensor<512x1024xf32>) {
  ^bb0(%p: bf16, %o: f32):
    %s = arith.extf %p : bf16 to f32
    linalg.yield %s : f32
  } -> tensor<512x1024xf32>
  %dyw = linalg.generic {indexing_maps = [#matrix, #columns, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%dy, %w : tensor<512x1024xf32>, tensor<1024xf32>) outs(%wide : tensor<512x1024xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<512x1024xf32>
  %byrow = linalg.generic {indexing_maps = [#matrix, #matrix, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%xf, %dyw : tensor<512x1024xf32>, tensor<512x1024xf32>) outs(%zr : tensor<512xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<512xf32>
  %bycolumn = linalg.generic {indexing_maps = [#matrix, #matrix, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%xf, %dy : tensor<512x1024xf32>, tensor<512x1024xf32>) outs(%zc : tensor<1024xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1024xf32>
  return %byrow, %bycolumn : tensor<512xf32>, tensor<1024xf32>
}

// -----

#matrix = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>

// What is returned is in memory: nobody computes it again.

// CHECK-LABEL: func @returned
// CHECK: arith.mulf
// CHECK-NOT: arith.mulf
// CHECK: return
func.func @returned(%x: tensor<512x1024xf32>) -> (tensor<512x1024xf32>, tensor<512xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x1024xf32>
  %r = tensor.empty() : tensor<512xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%r : tensor<512xf32>) -> tensor<512xf32>
  %y = linalg.generic {indexing_maps = [#matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<512x1024xf32>) outs(%e : tensor<512x1024xf32>) {
  ^bb0(%p: f32, %o: f32):
    %m = arith.mulf %p, %p : f32
    linalg.yield %m : f32
  } -> tensor<512x1024xf32>
  %s = linalg.generic {indexing_maps = [#matrix, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%y : tensor<512x1024xf32>) outs(%zr : tensor<512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %m = arith.addf %o, %p : f32
    linalg.yield %m : f32
  } -> tensor<512xf32>
  return %y, %s : tensor<512x1024xf32>, tensor<512xf32>
}

// -----

#matrix = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>

// A root for each row is not one for each element.

// CHECK-LABEL: func @broadcast
// CHECK: math.rsqrt
// CHECK-NOT: math.rsqrt
// CHECK: return
func.func @broadcast(%x: tensor<512x1024xf32>, %y: tensor<512x1024xf32>, %v: tensor<512xf32>)
    -> (tensor<512x1024xf32>, tensor<512x1024xf32>) {
  %e = tensor.empty() : tensor<512x1024xf32>
  %r = tensor.empty() : tensor<512xf32>
  %root = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%v : tensor<512xf32>) outs(%r : tensor<512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %m = math.rsqrt %p : f32
    linalg.yield %m : f32
  } -> tensor<512xf32>
  %a = linalg.generic {indexing_maps = [#matrix, #rows, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%x, %root : tensor<512x1024xf32>, tensor<512xf32>) outs(%e : tensor<512x1024xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    linalg.yield %m : f32
  } -> tensor<512x1024xf32>
  %b = linalg.generic {indexing_maps = [#matrix, #rows, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%y, %root : tensor<512x1024xf32>, tensor<512xf32>) outs(%e : tensor<512x1024xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    linalg.yield %m : f32
  } -> tensor<512x1024xf32>
  return %a, %b : tensor<512x1024xf32>, tensor<512x1024xf32>
}

// -----

#matrix = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>

// Exponentials of rows that no kernel keeps are computed for their sum and for
// what is divided by it: one kernel, and none of them in memory.

// CHECK-LABEL: func @long_rows
// CHECK-COUNT-1: weft_rt.fused
// CHECK-COUNT-2: math.exp
// CHECK-NOT: weft_rt.fused
// CHECK: return
func.func @long_rows(%x: tensor<64x65536xbf16>) -> tensor<64x65536xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x65536xf32>
  %n = tensor.empty() : tensor<64x65536xbf16>
  %r = tensor.empty() : tensor<64xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%r : tensor<64xf32>) -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x65536xbf16>) outs(%e : tensor<64x65536xf32>) {
  ^bb0(%p: bf16, %o: f32):
    %w = arith.extf %p : bf16 to f32
    %m = math.exp %w : f32
    linalg.yield %m : f32
  } -> tensor<64x65536xf32>
  %s = linalg.generic {indexing_maps = [#matrix, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%y : tensor<64x65536xf32>) outs(%zr : tensor<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %m = arith.addf %o, %p : f32
    linalg.yield %m : f32
  } -> tensor<64xf32>
  %d = linalg.generic {indexing_maps = [#matrix, #rows, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%y, %s : tensor<64x65536xf32>, tensor<64xf32>) outs(%n : tensor<64x65536xbf16>) {
  ^bb0(%p: f32, %q: f32, %o: bf16):
    %m = arith.divf %p, %q : f32
    %t = arith.truncf %m : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<64x65536xbf16>
  return %d : tensor<64x65536xbf16>
}

// -----

#matrix = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>

// Rows that a kernel keeps are computed once.

// CHECK-LABEL: func @short_rows
// CHECK: math.exp
// CHECK-NOT: math.exp
// CHECK: return
func.func @short_rows(%x: tensor<64x512xbf16>) -> tensor<64x512xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x512xf32>
  %n = tensor.empty() : tensor<64x512xbf16>
  %r = tensor.empty() : tensor<64xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%r : tensor<64xf32>) -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x512xbf16>) outs(%e : tensor<64x512xf32>) {
  ^bb0(%p: bf16, %o: f32):
    %w = arith.extf %p : bf16 to f32
    %m = math.exp %w : f32
    linalg.yield %m : f32
  } -> tensor<64x512xf32>
  %s = linalg.generic {indexing_maps = [#matrix, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%y : tensor<64x512xf32>) outs(%zr : tensor<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %m = arith.addf %o, %p : f32
    linalg.yield %m : f32
  } -> tensor<64xf32>
  %d = linalg.generic {indexing_maps = [#matrix, #rows, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%y, %s : tensor<64x512xf32>, tensor<64xf32>) outs(%n : tensor<64x512xbf16>) {
  ^bb0(%p: f32, %q: f32, %o: bf16):
    %m = arith.divf %p, %q : f32
    %t = arith.truncf %m : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<64x512xbf16>
  return %d : tensor<64x512xbf16>
}

// Numbers that follow from a magnitude are computed where they are read, though
// one op makes both: no kernel is left for them.

// CHECK-LABEL: func.func @numbers
// CHECK: weft_rt.fused ins(%{{.*}}, %{{.*}} : tensor<f32>, tensor<4096xf32>) -> tensor<4096xf8E4M3FN>
// CHECK: arith.divf
// CHECK: weft_rt.fused ins(%{{.*}}, %{{.*}} : tensor<f32>, tensor<4096xf32>) -> tensor<4096xbf16>
// CHECK: arith.divf
// CHECK: arith.divf
// CHECK-NOT: weft_rt.fused
// CHECK: return
func.func @numbers(%amax: tensor<f32>, %x: tensor<4096xf32>, %y: tensor<4096xf32>) -> (tensor<4096xf8E4M3FN>, tensor<4096xbf16>) {
  %most = arith.constant 448.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<f32>
  %m:2 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%amax : tensor<f32>) outs(%e, %e : tensor<f32>, tensor<f32>) {
  ^bb0(%a: f32, %o0: f32, %o1: f32):
    %f = arith.divf %most, %a : f32
    %g = arith.divf %one, %f : f32
    linalg.yield %f, %g : f32, f32
  } -> (tensor<f32>, tensor<f32>)
  %e0 = tensor.empty() : tensor<4096xf8E4M3FN>
  %q = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %m#0 : tensor<4096xf32>, tensor<f32>) outs(%e0 : tensor<4096xf8E4M3FN>) {
  ^bb0(%v: f32, %f: f32, %o: f8E4M3FN):
    %p = arith.mulf %v, %f : f32
    %t = arith.truncf %p : f32 to f8E4M3FN
    linalg.yield %t : f8E4M3FN
  } -> tensor<4096xf8E4M3FN>
  %e1 = tensor.empty() : tensor<4096xbf16>
  %d = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%y, %m#1 : tensor<4096xf32>, tensor<f32>) outs(%e1 : tensor<4096xbf16>) {
  ^bb0(%v: f32, %f: f32, %o: bf16):
    %p = arith.mulf %v, %f : f32
    %t = arith.truncf %p : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<4096xbf16>
  return %q, %d : tensor<4096xf8E4M3FN>, tensor<4096xbf16>
}

// -----

// What is turned around does not say how many elements there are, and a
// constant that becomes part of the body neither: the producer stays an op of
// its own, for a sum has no place for its result.

#flipped = affine_map<(i, j) -> (i, -j + 2)>
#matrix = affine_map<(i, j) -> (i, j)>
#own = affine_map<(i, j, k) -> (i, k)>
#sums = affine_map<(i, j, k) -> (i, j)>

// CHECK-LABEL: func @flipped
// CHECK: weft_rt.fused ins(%{{.*}} : tensor<12x3xf32>) -> tensor<12x3xf32>
// CHECK-NOT: :2 = linalg.generic
// CHECK: return
func.func @flipped(%x: tensor<12x3xf32>) -> tensor<12x3xf32> {
  %nines = arith.constant dense<9.0> : tensor<12x3xf32>
  %zeros = arith.constant dense<0.0> : tensor<12x3xf32>
  %e = tensor.empty() : tensor<12x3xf32>
  %product = linalg.generic {indexing_maps = [#flipped, #matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%x, %nines : tensor<12x3xf32>, tensor<12x3xf32>) outs(%e : tensor<12x3xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<12x3xf32>
  %sums = linalg.generic {indexing_maps = [#own, #sums], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%product : tensor<12x3xf32>) outs(%zeros : tensor<12x3xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<12x3xf32>
  return %sums : tensor<12x3xf32>
}
