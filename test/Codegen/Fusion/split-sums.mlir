// RUN: weft-opt %s --weft-fuse-kernels -split-input-file | FileCheck %s

// A long sum is 32 sums of parts, and one of these.

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

module attributes {weft.target = #weft.target<"cuda">} {
  // CHECK-LABEL: func.func @whole
  // CHECK: %[[VIEW:.*]] = tensor.expand_shape %{{.*}} {{\[\[0, 1\]\]}} {{.*}} tensor<131072xf32> into tensor<32x4096xf32>
  // CHECK: %[[PARTS:.*]] = weft_rt.fused ins(%[[VIEW]] : tensor<32x4096xf32>) -> tensor<32xf32>
  // CHECK: iterator_types = ["parallel", "reduction"]
  // CHECK: weft_rt.fused ins(%[[PARTS]] : tensor<32xf32>) -> tensor<f32>
  // CHECK: iterator_types = ["reduction"]
  func.func @whole(%x: tensor<131072xf32>) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<f32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %sum = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
        ins(%x : tensor<131072xf32>) outs(%z : tensor<f32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.addf %o, %v : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    return %sum : tensor<f32>
  }

  // A declared order stays.
  // CHECK-LABEL: func.func @ordered
  // CHECK-NOT: tensor.expand_shape
  // CHECK: weft_rt.fused
  // CHECK-NOT: weft_rt.fused
  func.func @ordered(%x: tensor<131072xf32>) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<f32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %sum = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
        ins(%x : tensor<131072xf32>) outs(%z : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 8, lanes = 16>} {
    ^bb0(%v: f32, %o: f32):
      %r = arith.addf %o, %v : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    return %sum : tensor<f32>
  }

  // The index of the largest element depends on all before it.
  // CHECK-LABEL: func.func @chain
  // CHECK-NOT: tensor.expand_shape
  // CHECK: weft_rt.fused
  // CHECK-NOT: weft_rt.fused
  func.func @chain(%x: tensor<131072xf32>) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<f32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %sum = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
        ins(%x : tensor<131072xf32>) outs(%z : tensor<f32>) {
    ^bb0(%v: f32, %o: f32):
      %s = arith.mulf %o, %o : f32
      %r = arith.addf %s, %v : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    return %sum : tensor<f32>
  }

  // A prime number of elements has no parts.
  // CHECK-LABEL: func.func @prime
  // CHECK-NOT: tensor.expand_shape
  // CHECK: weft_rt.fused
  // CHECK-NOT: weft_rt.fused
  func.func @prime(%x: tensor<131071xf32>) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<f32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %sum = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
        ins(%x : tensor<131071xf32>) outs(%z : tensor<f32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.addf %o, %v : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    return %sum : tensor<f32>
  }

  // Factors of rows, which all columns take alike, leave columns side by side.
  // CHECK-LABEL: func.func @columns
  // CHECK: weft_rt.fused ins(%{{.*}}, %{{.*}} : tensor<64x256x1024xf32>, tensor<64x256xf32>) -> tensor<64x1024xf32>
  // CHECK: weft_rt.fused ins(%{{.*}} : tensor<64x1024xf32>) -> tensor<1024xf32>
  func.func @columns(%x: tensor<16384x1024xf32>, %f: tensor<16384xf32>) -> tensor<1024xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<1024xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1024xf32>) -> tensor<1024xf32>
    %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>],
                           iterator_types = ["reduction", "parallel"]}
        ins(%x, %f : tensor<16384x1024xf32>, tensor<16384xf32>) outs(%z : tensor<1024xf32>) {
    ^bb0(%v: f32, %w: f32, %o: f32):
      %m = arith.mulf %v, %w : f32
      %r = arith.addf %o, %m : f32
      linalg.yield %r : f32
    } -> tensor<1024xf32>
    return %sum : tensor<1024xf32>
  }

  // Parts that are rows need no view, and are one kernel with what makes them.
  // CHECK-LABEL: func.func @rows
  // CHECK-NOT: tensor.expand_shape
  // CHECK: %[[MADE:.*]]:2 = weft_rt.fused ins(%{{.*}} : tensor<512x1024xf32>) -> tensor<512x1024xbf16>, tensor<512xbf16>
  // CHECK: weft_rt.fused ins(%[[MADE]]#1 : tensor<512xbf16>) -> tensor<bf16>
  // CHECK-NOT: weft_rt.fused
  func.func @rows(%x: tensor<512x1024xf32>) -> (tensor<512x1024xbf16>, tensor<bf16>) {
    %zero = arith.constant 0.0 : bf16
    %n = tensor.empty() : tensor<512x1024xbf16>
    %narrow = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<512x1024xf32>) outs(%n : tensor<512x1024xbf16>) {
    ^bb0(%v: f32, %o: bf16):
      %r = arith.truncf %v : f32 to bf16
      linalg.yield %r : bf16
    } -> tensor<512x1024xbf16>
    %e = tensor.empty() : tensor<bf16>
    %z = linalg.fill ins(%zero : bf16) outs(%e : tensor<bf16>) -> tensor<bf16>
    %most = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
        ins(%narrow : tensor<512x1024xbf16>) outs(%z : tensor<bf16>) {
    ^bb0(%v: bf16, %o: bf16):
      %r = arith.maximumf %o, %v : bf16
      linalg.yield %r : bf16
    } -> tensor<bf16>
    return %narrow, %most : tensor<512x1024xbf16>, tensor<bf16>
  }

  // Many rows are blocks enough.
  // CHECK-LABEL: func.func @many
  // CHECK-NOT: tensor.expand_shape
  // CHECK: weft_rt.fused
  // CHECK-NOT: weft_rt.fused
  func.func @many(%x: tensor<512x131072xf32>) -> tensor<512xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<512xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<512xf32>) -> tensor<512xf32>
    %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
        ins(%x : tensor<512x131072xf32>) outs(%z : tensor<512xf32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.addf %o, %v : f32
      linalg.yield %r : f32
    } -> tensor<512xf32>
    return %sum : tensor<512xf32>
  }
}

// -----

// On the host threads share a sum by themselves.

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

// CHECK-LABEL: func.func @host
// CHECK-NOT: tensor.expand_shape
func.func @host(%x: tensor<131072xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %sum = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
      ins(%x : tensor<131072xf32>) outs(%z : tensor<f32>) {
  ^bb0(%v: f32, %o: f32):
    %r = arith.addf %o, %v : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %sum : tensor<f32>
}

// -----

// Those of 16 rows are 512 sums of parts, each of which is a row of its own: in
// one kernel with what joins them they would be 16 rows.

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

module attributes {weft.target = #weft.target<"cuda">} {
  // CHECK-LABEL: func.func @rows
  // CHECK: %[[PARTS:.*]] = weft_rt.fused ins(%{{.*}} : tensor<16x32x4096xf32>) -> tensor<32x16xf32>
  // CHECK: weft_rt.fused ins(%[[PARTS]] : tensor<32x16xf32>) -> tensor<16xf32>
  func.func @rows(%x: tensor<16x131072xf32>) -> tensor<16xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<16xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
    %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
        ins(%x : tensor<16x131072xf32>) outs(%z : tensor<16xf32>) {
    ^bb0(%v: f32, %o: f32):
      %r = arith.addf %o, %v : f32
      linalg.yield %r : f32
    } -> tensor<16xf32>
    return %sum : tensor<16xf32>
  }
}
