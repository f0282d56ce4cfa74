// RUN: weft-opt %s -split-input-file -weft-merge-collectives | FileCheck %s

// Maxima of arguments and of one value are computed where that is there, so
// that one collective has all that are needed at different places.

// CHECK-LABEL: func.func @raise_maxima
// CHECK-DAG: arith.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[A:.*]] = linalg.generic {{.*}} ins(%arg0 :
// CHECK: %[[B:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<4x4xbf16>)
// CHECK: %[[M:.*]]:2 = weft.all_reduce max %[[A]], %[[B]] on @mesh <{"tp"}>
// CHECK: %[[Y:.*]] = arith.addf %{{.*}} : tensor<4x4xf32>
// CHECK: %[[C:.*]] = linalg.generic {{.*}} ins(%[[Y]] :
// CHECK: %[[N:.*]] = arith.negf %[[Y]]
// CHECK: %[[D:.*]] = linalg.generic {{.*}} ins(%[[N]] :
// CHECK: weft.all_reduce max %[[C]], %[[D]] on @mesh <{"tp"}>
// CHECK-NOT: weft.all_reduce
// CHECK: return
#all = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
weft.mesh @mesh = <["tp"=4]>
func.func @raise_maxima(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %0 = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]}
      ins(%a : tensor<4x4xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%x: f32, %y: f32):
    %m = arith.maximumf %x, %y : f32
    linalg.yield %m : f32
  } -> tensor<f32>
  %1 = weft.all_reduce max %0 on @mesh <{"tp"}> : (tensor<f32>) -> tensor<f32>
  %e = tensor.empty() : tensor<4x4xf32>
  %2 = linalg.generic {indexing_maps = [#all, #none, #all], iterator_types = ["parallel", "parallel"]}
      ins(%a, %1 : tensor<4x4xf32>, tensor<f32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %m = arith.divf %x, %y : f32
    linalg.yield %m : f32
  } -> tensor<4x4xf32>
  %narrow = arith.truncf %b : tensor<4x4xf32> to tensor<4x4xbf16>
  %3 = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]}
      ins(%narrow : tensor<4x4xbf16>) outs(%zero : tensor<f32>) {
  ^bb0(%x: bf16, %y: f32):
    %w = arith.extf %x : bf16 to f32
    %m = arith.maximumf %w, %y : f32
    linalg.yield %m : f32
  } -> tensor<f32>
  %4 = weft.all_reduce max %3 on @mesh <{"tp"}> : (tensor<f32>) -> tensor<f32>
  %5 = linalg.generic {indexing_maps = [#all, #none, #all], iterator_types = ["parallel", "parallel"]}
      ins(%b, %4 : tensor<4x4xf32>, tensor<f32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %m = arith.divf %x, %y : f32
    linalg.yield %m : f32
  } -> tensor<4x4xf32>
  %6 = arith.addf %2, %5 : tensor<4x4xf32>
  %7 = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]}
      ins(%6 : tensor<4x4xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%x: f32, %y: f32):
    %m = arith.maximumf %x, %y : f32
    linalg.yield %m : f32
  } -> tensor<f32>
  %8 = weft.all_reduce max %7 on @mesh <{"tp"}> : (tensor<f32>) -> tensor<f32>
  %9 = linalg.generic {indexing_maps = [#all, #none, #all], iterator_types = ["parallel", "parallel"]}
      ins(%6, %8 : tensor<4x4xf32>, tensor<f32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %m = arith.divf %x, %y : f32
    linalg.yield %m : f32
  } -> tensor<4x4xf32>
  %10 = arith.negf %6 : tensor<4x4xf32>
  %11 = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]}
      ins(%10 : tensor<4x4xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%x: f32, %y: f32):
    %m = arith.maximumf %x, %y : f32
    linalg.yield %m : f32
  } -> tensor<f32>
  %12 = weft.all_reduce max %11 on @mesh <{"tp"}> : (tensor<f32>) -> tensor<f32>
  %13 = linalg.generic {indexing_maps = [#all, #none, #all], iterator_types = ["parallel", "parallel"]}
      ins(%10, %12 : tensor<4x4xf32>, tensor<f32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %m = arith.divf %x, %y : f32
    linalg.yield %m : f32
  } -> tensor<4x4xf32>
  return %2, %9, %13 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A maximum of maxima waits for these: all of the first come before.

// CHECK-LABEL: func.func @maxima_of_maxima
// CHECK: weft.all_reduce max %{{.*}}, %{{.*}} on @mesh <{"dp"}> : (tensor<4xf32>, tensor<4xf32>)
// CHECK: weft.all_reduce max %{{.*}}, %{{.*}} on @mesh <{"tp"}> : (tensor<f32>, tensor<f32>)
// CHECK-NOT: weft.all_reduce
// CHECK: return
#some = affine_map<(i) -> (i)>
#one = affine_map<(i) -> ()>
weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @maxima_of_maxima(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<f32>) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %0 = math.absf %a : tensor<4xf32>
  %1 = weft.all_reduce max %0 on @mesh <{"dp"}> : (tensor<4xf32>) -> tensor<4xf32>
  %2 = linalg.generic {indexing_maps = [#some, #one], iterator_types = ["reduction"]}
      ins(%1 : tensor<4xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%x: f32, %y: f32):
    %m = arith.maximumf %x, %y : f32
    linalg.yield %m : f32
  } -> tensor<f32>
  %3 = weft.all_reduce max %2 on @mesh <{"tp"}> : (tensor<f32>) -> tensor<f32>
  %4 = math.absf %b : tensor<4xf32>
  %5 = weft.all_reduce max %4 on @mesh <{"dp"}> : (tensor<4xf32>) -> tensor<4xf32>
  %6 = linalg.generic {indexing_maps = [#some, #one], iterator_types = ["reduction"]}
      ins(%5 : tensor<4xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%x: f32, %y: f32):
    %m = arith.maximumf %x, %y : f32
    linalg.yield %m : f32
  } -> tensor<f32>
  %7 = weft.all_reduce max %6 on @mesh <{"tp"}> : (tensor<f32>) -> tensor<f32>
  return %1, %3, %5, %7 : tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<f32>
}

// -----

// Blocks that ranks share: one gather instead of one of blocks and one of what
// is in them, in either order.

// CHECK-LABEL: func.func @nested_gathers
// CHECK: %[[C:.*]] = tensor.collapse_shape %arg0 {{\[}}[0, 1], [2]] : tensor<1x4x8xf32> into tensor<4x8xf32>
// CHECK: %[[G:.*]] = weft.all_gather %[[C]] on @mesh <{"tp"}> dims [0] : (tensor<4x8xf32>) -> tensor<32x8xf32>
// CHECK: tensor.expand_shape %[[G]] {{\[}}[0, 1], [2]] output_shape [2, 16, 8]
// CHECK: %[[H:.*]] = weft.all_gather %{{.*}} on @mesh <{"tp"}> dims [0] : (tensor<4x8xf32>) -> tensor<32x8xf32>
// CHECK: tensor.expand_shape %[[H]] {{\[}}[0, 1], [2]] output_shape [2, 16, 8]
weft.mesh @mesh = <["tp"=8]>
func.func @nested_gathers(%a: tensor<1x4x8xf32>) -> (tensor<2x16x8xf32>, tensor<2x16x8xf32>) {
  %0 = weft.all_gather %a on @mesh <{"tp":(1)2}> dims [0] : (tensor<1x4x8xf32>) -> tensor<2x4x8xf32>
  %1 = weft.all_gather %0 on @mesh <{"tp":(2)4}> dims [1] : (tensor<2x4x8xf32>) -> tensor<2x16x8xf32>
  %2 = weft.all_gather %a on @mesh <{"tp":(2)4}> dims [1] : (tensor<1x4x8xf32>) -> tensor<1x16x8xf32>
  %3 = weft.all_gather %2 on @mesh <{"tp":(1)2}> dims [0] : (tensor<1x16x8xf32>) -> tensor<2x16x8xf32>
  return %1, %3 : tensor<2x16x8xf32>, tensor<2x16x8xf32>
}

// -----

// Several blocks a rank, a gather of what is needed by itself, and dims that
// are no neighbours, stay as they are.

// CHECK-LABEL: func.func @gathers_not_nested
// CHECK-COUNT-6: weft.all_gather
weft.mesh @mesh = <["tp"=8]>
func.func @gathers_not_nested(%a: tensor<2x4xf32>, %b: tensor<1x4x8xf32>) -> (tensor<4x16xf32>, tensor<2x4x8xf32>, tensor<2x16x8xf32>, tensor<2x4x32xf32>) {
  %0 = weft.all_gather %a on @mesh <{"tp":(1)2}> dims [0] : (tensor<2x4xf32>) -> tensor<4x4xf32>
  %1 = weft.all_gather %0 on @mesh <{"tp":(2)4}> dims [1] : (tensor<4x4xf32>) -> tensor<4x16xf32>
  %2 = weft.all_gather %b on @mesh <{"tp":(1)2}> dims [0] : (tensor<1x4x8xf32>) -> tensor<2x4x8xf32>
  %3 = weft.all_gather %2 on @mesh <{"tp":(2)4}> dims [1] : (tensor<2x4x8xf32>) -> tensor<2x16x8xf32>
  %neg = arith.negf %b : tensor<1x4x8xf32>
  %4 = weft.all_gather %neg on @mesh <{"tp":(1)2}> dims [0] : (tensor<1x4x8xf32>) -> tensor<2x4x8xf32>
  %5 = weft.all_gather %4 on @mesh <{"tp":(2)4}> dims [2] : (tensor<2x4x8xf32>) -> tensor<2x4x32xf32>
  return %1, %2, %3, %5 : tensor<4x16xf32>, tensor<2x4x8xf32>, tensor<2x16x8xf32>, tensor<2x4x32xf32>
}
