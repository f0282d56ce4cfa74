// RUN: weft-opt %s --weft-outline-kernels | FileCheck %s

// Kernels whose code is the same share it, also if their buffers have other shapes: what they go through is a range,
// which the launch says. They are kernels of their own all the same, and say what they take.

#row = affine_map<(i) -> (i)>

// CHECK-LABEL: func @f
// CHECK: weft_rt.launch @weft_k0(%{{.*}}, %{{.*}} : memref<100xf32>, memref<100xf32>) over #weft_rt.host_range<extent = 100,
// CHECK: weft_rt.launch @weft_k1(%{{.*}}, %{{.*}} : memref<200xf32>, memref<200xf32>) over #weft_rt.host_range<extent = 200,
// CHECK: weft_rt.launch @weft_k2(
// CHECK: weft_rt.launch @weft_k3(%{{.*}}, %{{.*}} : memref<300xf32>, memref<300xf32>) over #weft_rt.host_range<extent = 300,
// CHECK: weft_rt.launch @weft_k4(%{{[^,]*}} : memref<400xf32>)
func.func @f() {
  %x0 = weft_rt.buffer argument 0 : memref<100xf32>
  %y0 = weft_rt.buffer argument 1 : memref<100xf32>
  weft_rt.fused ins(%x0 : memref<100xf32>) outs(%y0 : memref<100xf32>) {
  ^bb0(%a: tensor<100xf32>):
    %e = tensor.empty() : tensor<100xf32>
    %g = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
        ins(%a : tensor<100xf32>) outs(%e : tensor<100xf32>) {
    ^bb0(%v: f32, %o: f32):
      %n = arith.negf %v : f32
      linalg.yield %n : f32
    } -> tensor<100xf32>
    weft_rt.yield %g : tensor<100xf32>
  }
  %x1 = weft_rt.buffer argument 2 : memref<200xf32>
  %y1 = weft_rt.buffer argument 3 : memref<200xf32>
  weft_rt.fused ins(%x1 : memref<200xf32>) outs(%y1 : memref<200xf32>) {
  ^bb0(%a: tensor<200xf32>):
    %e = tensor.empty() : tensor<200xf32>
    %g = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
        ins(%a : tensor<200xf32>) outs(%e : tensor<200xf32>) {
    ^bb0(%v: f32, %o: f32):
      %n = arith.negf %v : f32
      linalg.yield %n : f32
    } -> tensor<200xf32>
    weft_rt.yield %g : tensor<200xf32>
  }
  %x2 = weft_rt.buffer argument 4 : memref<200xf32>
  %y2 = weft_rt.buffer argument 5 : memref<200xf32>
  weft_rt.fused ins(%x2 : memref<200xf32>) outs(%y2 : memref<200xf32>) {
  ^bb0(%a: tensor<200xf32>):
    %e = tensor.empty() : tensor<200xf32>
    %g = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
        ins(%a : tensor<200xf32>) outs(%e : tensor<200xf32>) {
    ^bb0(%v: f32, %o: f32):
      %n = math.absf %v : f32
      linalg.yield %n : f32
    } -> tensor<200xf32>
    weft_rt.yield %g : tensor<200xf32>
  }
  %x3 = weft_rt.buffer argument 6 : memref<300xf32>
  %y3 = weft_rt.buffer argument 7 : memref<300xf32>
  weft_rt.fused ins(%x3 : memref<300xf32>) outs(%y3 : memref<300xf32>) {
  ^bb0(%a: tensor<300xf32>):
    %e = tensor.empty() : tensor<300xf32>
    %g = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
        ins(%a : tensor<300xf32>) outs(%e : tensor<300xf32>) {
    ^bb0(%v: f32, %o: f32):
      %n = arith.negf %v : f32
      linalg.yield %n : f32
    } -> tensor<300xf32>
    weft_rt.yield %g : tensor<300xf32>
  }
  // In place.
  %x4 = weft_rt.buffer argument 8 : memref<400xf32>
  weft_rt.fused ins(%x4 : memref<400xf32>) outs(%x4 : memref<400xf32>) {
  ^bb0(%a: tensor<400xf32>):
    %e = tensor.empty() : tensor<400xf32>
    %g = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
        ins(%a : tensor<400xf32>) outs(%e : tensor<400xf32>) {
    ^bb0(%v: f32, %o: f32):
      %n = arith.negf %v : f32
      linalg.yield %n : f32
    } -> tensor<400xf32>
    weft_rt.yield %g : tensor<400xf32>
  }
  return
}

// CHECK: llvm.func internal @weft_k0_body({{.*}}) attributes {no_inline}
// CHECK: llvm.func hidden @weft_k0({{.*}}) attributes {weft_rt.takes = [memref<100xf32>, memref<100xf32>]}
// CHECK: llvm.call @weft_k0_body
// CHECK-NOT: @weft_k1_body
// CHECK: llvm.func hidden @weft_k1({{.*}}) attributes {weft_rt.takes = [memref<200xf32>, memref<200xf32>]}
// CHECK: llvm.call @weft_k0_body
// Another op is other code, and so is one buffer where others have two.
// CHECK: llvm.func internal @weft_k2_body({{.*}}i64) {
// CHECK: llvm.call @weft_k2_body
// CHECK-NOT: @weft_k3_body
// CHECK: llvm.func hidden @weft_k3({{.*}}) attributes {weft_rt.takes = [memref<300xf32>, memref<300xf32>]}
// CHECK: llvm.call @weft_k0_body
// CHECK: llvm.func internal @weft_k4_body
// CHECK: llvm.call @weft_k4_body
