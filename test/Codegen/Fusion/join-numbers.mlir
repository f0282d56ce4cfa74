// RUN: weft-opt %s --weft-fuse-kernels -split-input-file | FileCheck %s

// Magnitudes that one collective waits for are made by one kernel, whatever the
// tensors are.

#v = affine_map<(i) -> (i)>
#m = affine_map<(i, j) -> (i, j)>
#n = affine_map<(i) -> ()>
#o = affine_map<(i, j) -> ()>

// CHECK-LABEL: func @joined
// CHECK: %[[K:.*]]:2 = weft_rt.fused ins(%{{.*}}, %{{.*}} : tensor<512xf32>, tensor<300x400xf32>) -> tensor<f32>, tensor<f32>
// CHECK-NOT: weft_rt.fused
// CHECK: weft.all_reduce max %[[K]]#0, %[[K]]#1
module attributes {weft.target = #weft.target<"host">} {
  weft.mesh @mesh = <["dp"=2]>
  func.func @joined(%x: tensor<512xf32>, %y: tensor<300x400xf32>) -> (tensor<f32>, tensor<f32>) {
    %z = arith.constant dense<0.0> : tensor<f32>
    %a = linalg.generic {indexing_maps = [#v, #n], iterator_types = ["reduction"]} ins(%x : tensor<512xf32>) outs(%z : tensor<f32>) {
    ^bb0(%e: f32, %s: f32):
      %r = arith.maximumf %e, %s : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    %b = linalg.generic {indexing_maps = [#m, #o], iterator_types = ["reduction", "reduction"]} ins(%y : tensor<300x400xf32>) outs(%z : tensor<f32>) {
    ^bb0(%e: f32, %s: f32):
      %r = arith.maximumf %e, %s : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    %0:2 = weft.all_reduce max %a, %b on @mesh <{"dp"}> : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    return %0#0, %0#1 : tensor<f32>, tensor<f32>
  }
}

// -----

// Not what another op takes, too, which would have to wait; nor on a GPU, whose
// blocks make them side by side.

#v = affine_map<(i) -> (i)>
#n = affine_map<(i) -> ()>

// CHECK-LABEL: func @negative_needed
// CHECK-COUNT-2: weft_rt.fused {{.*}} -> tensor<f32>{{ *}}{
// CHECK: weft.all_reduce
module attributes {weft.target = #weft.target<"host">} {
  weft.mesh @mesh = <["dp"=2]>
  func.func @negative_needed(%x: tensor<512xf32>, %y: tensor<300xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
    %z = arith.constant dense<0.0> : tensor<f32>
    %a = linalg.generic {indexing_maps = [#v, #n], iterator_types = ["reduction"]} ins(%x : tensor<512xf32>) outs(%z : tensor<f32>) {
    ^bb0(%e: f32, %s: f32):
      %r = arith.maximumf %e, %s : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    %b = linalg.generic {indexing_maps = [#v, #n], iterator_types = ["reduction"]} ins(%y : tensor<300xf32>) outs(%z : tensor<f32>) {
    ^bb0(%e: f32, %s: f32):
      %r = arith.maximumf %e, %s : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    %0:2 = weft.all_reduce max %a, %b on @mesh <{"dp"}> : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    return %0#0, %0#1, %a : tensor<f32>, tensor<f32>, tensor<f32>
  }
}

// -----

#v = affine_map<(i) -> (i)>
#n = affine_map<(i) -> ()>

// CHECK-LABEL: func @negative_cuda
// CHECK-COUNT-2: weft_rt.fused {{.*}} -> tensor<f32>{{ *}}{
// CHECK: weft.all_reduce
module attributes {weft.target = #weft.target<"cuda">} {
  weft.mesh @mesh = <["dp"=2]>
  func.func @negative_cuda(%x: tensor<512xf32>, %y: tensor<300xf32>) -> (tensor<f32>, tensor<f32>) {
    %z = arith.constant dense<0.0> : tensor<f32>
    %a = linalg.generic {indexing_maps = [#v, #n], iterator_types = ["reduction"]} ins(%x : tensor<512xf32>) outs(%z : tensor<f32>) {
    ^bb0(%e: f32, %s: f32):
      %r = arith.maximumf %e, %s : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    %b = linalg.generic {indexing_maps = [#v, #n], iterator_types = ["reduction"]} ins(%y : tensor<300xf32>) outs(%z : tensor<f32>) {
    ^bb0(%e: f32, %s: f32):
      %r = arith.maximumf %e, %s : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    %0:2 = weft.all_reduce max %a, %b on @mesh <{"dp"}> : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    return %0#0, %0#1 : tensor<f32>, tensor<f32>
  }
}

// -----

// No more than what one kernel may have of dimensions.

!t = tensor<2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2xf32>
#v = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16) -> (d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16)>
#n = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16) -> ()>

// CHECK-LABEL: func @many_dims
// CHECK: weft_rt.fused {{.*}} -> tensor<f32>, tensor<f32>, tensor<f32>{{ *}}{
// CHECK: weft_rt.fused {{.*}} -> tensor<f32>{{ *}}{
// CHECK: weft.all_reduce
module attributes {weft.target = #weft.target<"host">} {
  weft.mesh @mesh = <["dp"=2]>
  func.func @many_dims(%w: !t, %x: !t, %y: !t, %u: !t) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
    %z = arith.constant dense<0.0> : tensor<f32>
    %a = linalg.generic {indexing_maps = [#v, #n], iterator_types = ["reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction"]} ins(%w : !t) outs(%z : tensor<f32>) {
    ^bb0(%e: f32, %s: f32):
      %r = arith.maximumf %e, %s : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    %b = linalg.generic {indexing_maps = [#v, #n], iterator_types = ["reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction"]} ins(%x : !t) outs(%z : tensor<f32>) {
    ^bb0(%e: f32, %s: f32):
      %r = arith.maximumf %e, %s : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    %c = linalg.generic {indexing_maps = [#v, #n], iterator_types = ["reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction"]} ins(%y : !t) outs(%z : tensor<f32>) {
    ^bb0(%e: f32, %s: f32):
      %r = arith.maximumf %e, %s : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    %d = linalg.generic {indexing_maps = [#v, #n], iterator_types = ["reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction"]} ins(%u : !t) outs(%z : tensor<f32>) {
    ^bb0(%e: f32, %s: f32):
      %r = arith.maximumf %e, %s : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    %0:4 = weft.all_reduce max %a, %b, %c, %d on @mesh <{"dp"}> : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
    return %0#0, %0#1, %0#2, %0#3 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
}
