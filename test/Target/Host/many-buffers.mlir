// RUN: weft-opt %s --weft-outline-kernels -split-input-file | FileCheck %s

// The body of a kernel of more than 16 buffers stays a function of its own: inlining would make lists, of each access, of
// all buffers that it is not of.
// CHECK-LABEL: llvm.func internal @weft_k0_body
// CHECK-SAME: attributes {{{.*}}no_inline

#all = affine_map<(i, j) -> (i, j)>

func.func @k0() {
  %x = weft_rt.buffer argument 0 : memref<8x64xf32>
  %y0 = weft_rt.buffer argument 1 : memref<8x64xf32>
  %y1 = weft_rt.buffer argument 2 : memref<8x64xf32>
  %y2 = weft_rt.buffer argument 3 : memref<8x64xf32>
  %y3 = weft_rt.buffer argument 4 : memref<8x64xf32>
  %y4 = weft_rt.buffer argument 5 : memref<8x64xf32>
  %y5 = weft_rt.buffer argument 6 : memref<8x64xf32>
  %y6 = weft_rt.buffer argument 7 : memref<8x64xf32>
  %y7 = weft_rt.buffer argument 8 : memref<8x64xf32>
  %y8 = weft_rt.buffer argument 9 : memref<8x64xf32>
  %y9 = weft_rt.buffer argument 10 : memref<8x64xf32>
  %y10 = weft_rt.buffer argument 11 : memref<8x64xf32>
  %y11 = weft_rt.buffer argument 12 : memref<8x64xf32>
  %y12 = weft_rt.buffer argument 13 : memref<8x64xf32>
  %y13 = weft_rt.buffer argument 14 : memref<8x64xf32>
  %y14 = weft_rt.buffer argument 15 : memref<8x64xf32>
  %y15 = weft_rt.buffer argument 16 : memref<8x64xf32>
  weft_rt.fused ins(%x : memref<8x64xf32>)
      outs(%y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11,
      %y12, %y13, %y14, %y15 :
      memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>,
      memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>,
      memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>) {
  ^bb0(%a: tensor<8x64xf32>):
    %e = tensor.empty() : tensor<8x64xf32>
    %r:16 = linalg.generic {indexing_maps = [#all, #all, #all, #all, #all, #all, #all, #all, #all, #all, #all, #all,
      #all, #all, #all, #all, #all], iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<8x64xf32>) outs(%e, %e, %e, %e, %e, %e, %e, %e, %e, %e, %e, %e,
      %e, %e, %e, %e :
      tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>,
      tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>,
      tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) {
    ^bb0(%v: f32, %o0: f32, %o1: f32, %o2: f32, %o3: f32, %o4: f32, %o5: f32, %o6: f32, %o7: f32,
      %o8: f32, %o9: f32, %o10: f32, %o11: f32, %o12: f32, %o13: f32, %o14: f32, %o15: f32):
      %w = arith.mulf %v, %v : f32
      linalg.yield %w, %w, %w, %w, %w, %w, %w, %w, %w, %w, %w, %w, %w, %w, %w, %w : f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32
    } -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>,
      tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>,
      tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>)
    weft_rt.yield %r#0, %r#1, %r#2, %r#3, %r#4, %r#5, %r#6, %r#7, %r#8, %r#9, %r#10, %r#11,
      %r#12, %r#13, %r#14, %r#15 :
      tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>,
      tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>,
      tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>
  }
  return
}

// -----

// CHECK-LABEL: llvm.func internal @weft_k0_body
// CHECK-NOT: no_inline
// CHECK: llvm.func hidden @weft_k0(

#all = affine_map<(i, j) -> (i, j)>

func.func @k0() {
  %x = weft_rt.buffer argument 0 : memref<8x64xf32>
  %y0 = weft_rt.buffer argument 1 : memref<8x64xf32>
  %y1 = weft_rt.buffer argument 2 : memref<8x64xf32>
  %y2 = weft_rt.buffer argument 3 : memref<8x64xf32>
  %y3 = weft_rt.buffer argument 4 : memref<8x64xf32>
  %y4 = weft_rt.buffer argument 5 : memref<8x64xf32>
  %y5 = weft_rt.buffer argument 6 : memref<8x64xf32>
  %y6 = weft_rt.buffer argument 7 : memref<8x64xf32>
  %y7 = weft_rt.buffer argument 8 : memref<8x64xf32>
  %y8 = weft_rt.buffer argument 9 : memref<8x64xf32>
  %y9 = weft_rt.buffer argument 10 : memref<8x64xf32>
  %y10 = weft_rt.buffer argument 11 : memref<8x64xf32>
  %y11 = weft_rt.buffer argument 12 : memref<8x64xf32>
  %y12 = weft_rt.buffer argument 13 : memref<8x64xf32>
  %y13 = weft_rt.buffer argument 14 : memref<8x64xf32>
  %y14 = weft_rt.buffer argument 15 : memref<8x64xf32>
  weft_rt.fused ins(%x : memref<8x64xf32>)
      outs(%y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11,
      %y12, %y13, %y14 :
      memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>,
      memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>,
      memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>) {
  ^bb0(%a: tensor<8x64xf32>):
    %e = tensor.empty() : tensor<8x64xf32>
    %r:15 = linalg.generic {indexing_maps = [#all, #all, #all, #all, #all, #all, #all, #all, #all, #all, #all, #all,
      #all, #all, #all, #all], iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<8x64xf32>) outs(%e, %e, %e, %e, %e, %e, %e, %e, %e, %e, %e, %e,
      %e, %e, %e :
      tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>,
      tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>,
      tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) {
    ^bb0(%v: f32, %o0: f32, %o1: f32, %o2: f32, %o3: f32, %o4: f32, %o5: f32, %o6: f32, %o7: f32,
      %o8: f32, %o9: f32, %o10: f32, %o11: f32, %o12: f32, %o13: f32, %o14: f32):
      %w = arith.mulf %v, %v : f32
      linalg.yield %w, %w, %w, %w, %w, %w, %w, %w, %w, %w, %w, %w, %w, %w, %w : f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32
    } -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>,
      tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>,
      tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>)
    weft_rt.yield %r#0, %r#1, %r#2, %r#3, %r#4, %r#5, %r#6, %r#7, %r#8, %r#9, %r#10, %r#11,
      %r#12, %r#13, %r#14 :
      tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>,
      tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>,
      tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>
  }
  return
}
