// RUN: weft-opt %s --weft-lower-quantization --weft-prepare-kernels --weft-fuse-kernels --split-input-file | FileCheck %s

// A GPU makes one kernel of casts by rows and by columns, which reads the
// tensor once and writes all of their results.

// CHECK-LABEL: func.func @both
// CHECK: %[[X:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0, 1], [2, 3]] output_shape [8, 32, 16, 32] : tensor<256x512xbf16> into tensor<8x32x16x32xbf16>
// CHECK: %[[R:.*]]:4 = weft_rt.fused ins(%[[X]] : tensor<8x32x16x32xbf16>) -> tensor<8x32x16xf8E8M0FNU>, tensor<8x32x16x32xf8E4M3FN>, tensor<8x16x32xf8E8M0FNU>, tensor<8x32x16x32xf8E4M3FN>
// CHECK-NOT: weft_rt.fused
// CHECK: tensor.collapse_shape %[[R]]#0 {{\[\[}}0, 1], [2]] : tensor<8x32x16xf8E8M0FNU> into tensor<256x16xf8E8M0FNU>
module attributes {weft.target = #weft.target<"cuda">} {
  func.func @both(%x: tensor<256x512xbf16>) -> (tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<256x512xf8E4M3FN>, tensor<8x512xf8E8M0FNU>) {
    %a = weft.amax %x {blocks = array<i64: 1, 32>} : tensor<256x512xbf16> -> tensor<256x16xf32>
    %m, %s = weft.block_scale %a {element = f8E4M3FN} : (tensor<256x16xf32>) -> (tensor<256x16xf32>, tensor<256x16xf8E8M0FNU>)
    %q = weft.quantize %x, %m : tensor<256x512xbf16>, tensor<256x16xf32> -> tensor<256x512xf8E4M3FN>
    %ac = weft.amax %x {blocks = array<i64: 32, 1>} : tensor<256x512xbf16> -> tensor<8x512xf32>
    %mc, %sc = weft.block_scale %ac {element = f8E4M3FN} : (tensor<8x512xf32>) -> (tensor<8x512xf32>, tensor<8x512xf8E8M0FNU>)
    %qc = weft.quantize %x, %mc : tensor<256x512xbf16>, tensor<8x512xf32> -> tensor<256x512xf8E4M3FN>
    return %q, %s, %qc, %sc : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<256x512xf8E4M3FN>, tensor<8x512xf8E8M0FNU>
  }
}

// -----

// No loop is cut where an op asks where it is in it: all views stay.

#cube = affine_map<(i, j, k) -> (i, j, k)>
#rows = affine_map<(i, j, k) -> (i, j)>
#columns = affine_map<(i, j, k) -> (i, k)>
// CHECK-LABEL: func.func @negative_index
// CHECK-DAG: tensor.expand_shape %{{.*}} : tensor<256x512xf32> into tensor<256x16x32xf32>
// CHECK-DAG: tensor.expand_shape %{{.*}} : tensor<256x512xf32> into tensor<8x32x512xf32>
module attributes {weft.target = #weft.target<"cuda">} {
  func.func @negative_index(%x: tensor<256x512xf32>) -> (tensor<256x16xf32>, tensor<8x512xf32>) {
    %z0 = arith.constant dense<0.0> : tensor<256x16xf32>
    %z1 = arith.constant dense<0.0> : tensor<8x512xf32>
    %by_rows = tensor.expand_shape %x [[0], [1, 2]] output_shape [256, 16, 32] : tensor<256x512xf32> into tensor<256x16x32xf32>
    %by_columns = tensor.expand_shape %x [[0, 1], [2]] output_shape [8, 32, 512] : tensor<256x512xf32> into tensor<8x32x512xf32>
    %r = linalg.generic {indexing_maps = [#cube, #rows], iterator_types = ["parallel", "parallel", "reduction"]} ins(%by_rows : tensor<256x16x32xf32>) outs(%z0 : tensor<256x16xf32>) {
    ^bb0(%v: f32, %o: f32):
      %i = linalg.index 0 : index
      %n = arith.index_cast %i : index to i32
      %f = arith.sitofp %n : i32 to f32
      %p = arith.mulf %v, %f : f32
      %m = arith.maximumf %o, %p : f32
      linalg.yield %m : f32
    } -> tensor<256x16xf32>
    %c = linalg.generic {indexing_maps = [#cube, #columns], iterator_types = ["parallel", "reduction", "parallel"]} ins(%by_columns : tensor<8x32x512xf32>) outs(%z1 : tensor<8x512xf32>) {
    ^bb0(%v: f32, %o: f32):
      %m = arith.maximumf %o, %v : f32
      linalg.yield %m : f32
    } -> tensor<8x512xf32>
    return %r, %c : tensor<256x16xf32>, tensor<8x512xf32>
  }
}

// -----

// A core has two kernels.

// CHECK-LABEL: func.func @negative_host
// CHECK-COUNT-2: weft_rt.fused
module attributes {weft.target = #weft.target<"host">} {
  func.func @negative_host(%x: tensor<256x512xbf16>) -> (tensor<256x16xf32>, tensor<8x512xf32>) {
    %a = weft.amax %x {blocks = array<i64: 1, 32>} : tensor<256x512xbf16> -> tensor<256x16xf32>
    %ac = weft.amax %x {blocks = array<i64: 32, 1>} : tensor<256x512xbf16> -> tensor<8x512xf32>
    return %a, %ac : tensor<256x16xf32>, tensor<8x512xf32>
  }
}

// -----

// What a tensor is made by has the loops of the blocks in which it is read: one
// kernel.

#all = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func @made
// CHECK: %[[X:.*]] = tensor.expand_shape %arg0 {{\[\[}}0], [1, 2]] output_shape [256, 16, 32] : tensor<256x512xf32> into tensor<256x16x32xf32>
// CHECK: %[[R:.*]]:3 = weft_rt.fused ins(%[[X]] : tensor<256x16x32xf32>) -> tensor<256x16x32xbf16>, tensor<256x16xf8E8M0FNU>, tensor<256x16x32xf8E4M3FN>
// CHECK-NOT: weft_rt.fused
// CHECK: tensor.collapse_shape %[[R]]#0
module attributes {weft.target = #weft.target<"cuda">} {
  func.func @made(%x: tensor<256x512xf32>) -> (tensor<256x512xbf16>, tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) {
    %e = tensor.empty() : tensor<256x512xbf16>
    %n = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<256x512xf32>) outs(%e : tensor<256x512xbf16>) {
    ^bb0(%v: f32, %o: bf16):
      %t = arith.truncf %v : f32 to bf16
      linalg.yield %t : bf16
    } -> tensor<256x512xbf16>
    %a = weft.amax %n {blocks = array<i64: 1, 32>} : tensor<256x512xbf16> -> tensor<256x16xf32>
    %m, %s = weft.block_scale %a {element = f8E4M3FN} : (tensor<256x16xf32>) -> (tensor<256x16xf32>, tensor<256x16xf8E8M0FNU>)
    %q = weft.quantize %n, %m : tensor<256x512xbf16>, tensor<256x16xf32> -> tensor<256x512xf8E4M3FN>
    return %n, %q, %s : tensor<256x512xbf16>, tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  }
}

// -----

// Not so what a sum over all of a row reads, or is in: that is one kernel.

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK-LABEL: func.func @of_rows
// CHECK: weft_rt.fused ins(%arg0 : tensor<256x512xf32>) -> tensor<256x512xbf16>, tensor<256xf32>
module attributes {weft.target = #weft.target<"cuda">} {
  func.func @of_rows(%x: tensor<256x512xf32>, %z: tensor<256xf32>) -> (tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<256xf32>) {
    %e = tensor.empty() : tensor<256x512xbf16>
    %n = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<256x512xf32>) outs(%e : tensor<256x512xbf16>) {
    ^bb0(%v: f32, %o: bf16):
      %s = arith.mulf %v, %v : f32
      %t = arith.truncf %s : f32 to bf16
      linalg.yield %t : bf16
    } -> tensor<256x512xbf16>
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%z : tensor<256xf32>) -> tensor<256xf32>
    %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%n : tensor<256x512xbf16>) outs(%f : tensor<256xf32>) {
    ^bb0(%v: bf16, %o: f32):
      %w = arith.extf %v : bf16 to f32
      %t = arith.addf %o, %w : f32
      linalg.yield %t : f32
    } -> tensor<256xf32>
    %a = weft.amax %n {blocks = array<i64: 1, 32>} : tensor<256x512xbf16> -> tensor<256x16xf32>
    %m, %s = weft.block_scale %a {element = f8E4M3FN} : (tensor<256x16xf32>) -> (tensor<256x16xf32>, tensor<256x16xf8E8M0FNU>)
    %q = weft.quantize %n, %m : tensor<256x512xbf16>, tensor<256x16xf32> -> tensor<256x512xf8E4M3FN>
    return %q, %s, %sum : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<256xf32>
  }
}

// -----

// On a CPU, too, what is computed for each element is computed in the blocks of
// rows whose magnitudes are taken: one kernel.

#v = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func @product_on_host
// CHECK: weft_rt.fused {{.*}} -> tensor<256x32x16xbf16>, tensor<256x32xf32>
// CHECK-NOT: weft_rt.fused
module attributes {weft.target = #weft.target<"host">} {
  func.func @product_on_host(%x: tensor<256x512xbf16>, %w: tensor<256x512xbf16>) -> (tensor<256x512xbf16>, tensor<256x32xf32>) {
    %e = tensor.empty() : tensor<256x512xbf16>
    %y = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel", "parallel"]}
        ins(%x, %w : tensor<256x512xbf16>, tensor<256x512xbf16>) outs(%e : tensor<256x512xbf16>) {
    ^bb0(%a: bf16, %b: bf16, %o: bf16):
      %p = arith.mulf %a, %b : bf16
      linalg.yield %p : bf16
    } -> tensor<256x512xbf16>
    %m = weft.amax %y {blocks = array<i64: 1, 16>} : tensor<256x512xbf16> -> tensor<256x32xf32>
    return %y, %m : tensor<256x512xbf16>, tensor<256x32xf32>
  }
}

// -----

// Not in blocks of columns, which a core walks more slowly.

#v = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func @negative_columns_on_host
// CHECK: weft_rt.fused {{.*}} -> tensor<256x512xbf16>{{ *}}{
// CHECK: weft_rt.fused {{.*}} -> tensor<16x512xf32>{{ *}}{
module attributes {weft.target = #weft.target<"host">} {
  func.func @negative_columns_on_host(%x: tensor<256x512xbf16>, %w: tensor<256x512xbf16>) -> (tensor<256x512xbf16>, tensor<16x512xf32>) {
    %e = tensor.empty() : tensor<256x512xbf16>
    %y = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel", "parallel"]}
        ins(%x, %w : tensor<256x512xbf16>, tensor<256x512xbf16>) outs(%e : tensor<256x512xbf16>) {
    ^bb0(%a: bf16, %b: bf16, %o: bf16):
      %p = arith.mulf %a, %b : bf16
      linalg.yield %p : bf16
    } -> tensor<256x512xbf16>
    %m = weft.amax %y {blocks = array<i64: 16, 1>} : tensor<256x512xbf16> -> tensor<16x512xf32>
    return %y, %m : tensor<256x512xbf16>, tensor<16x512xf32>
  }
}
