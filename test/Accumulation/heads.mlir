// Attention of heads that are mapped over, which share one head of keys: what is repeated is put together from the
// chunks of microbatches and of ranks. The proof of partitioning has to see that.

// RUN: weft-compile %s --mesh mb=2,dp=1,tp=2 --accumulate mb --to local -o %t.mlir
// RUN: weft-compile %s --mesh mb=2,dp=1,tp=2 --accumulate mb --invariant --to local -o %t.mlir
// RUN: weft-compile %s --mesh mb=2,dp=1,tp=4 --accumulate mb --invariant --to local -o %t.mlir
// RUN: weft-compile %s --mesh mb=4,dp=1,tp=2 --accumulate mb --to local -o %t.mlir
// RUN: weft-compile %s --mesh mb=2,dp=1,tp=4 --accumulate mb --to local -o %t.mlir

#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>
module {
  weft.mesh @mesh = <["mb"=1, "dp"=1, "tp"=1]>
  func.func @step(%arg0: tensor<4x8x4x8xf32> {weft.name = "q", weft.sharding = #weft.sharding<@mesh, [{"mb", "dp"}, {}, {"tp"}, {}]>}, %arg1: tensor<4x8x2x8xf32> {weft.name = "k", weft.sharding = #weft.sharding<@mesh, [{"mb", "dp"}, {}, {"tp"}, {}]>}, %arg2: tensor<4x8x2x8xf32> {weft.name = "v", weft.sharding = #weft.sharding<@mesh, [{"mb", "dp"}, {}, {"tp"}, {}]>}) -> (tensor<f32> {weft.name = "result0"}, tensor<4x8x4x8xf32> {weft.name = "result1"}) {
    %cst = arith.constant dense<1.000000e+00> : tensor<16x8x8xf32>
    %cst_0 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<4x4x8x8xf32>
    %transposed = linalg.transpose ins(%arg0 : tensor<4x8x4x8xf32>) outs(%0 : tensor<4x4x8x8xf32>) permutation = [2, 0, 1, 3]
    %extracted_slice = tensor.extract_slice %arg1[0, 0, 0, 0] [4, 8, 1, 8] [1, 1, 1, 1] : tensor<4x8x2x8xf32> to tensor<4x8x1x8xf32>
    %extracted_slice_1 = tensor.extract_slice %arg2[0, 0, 0, 0] [4, 8, 1, 8] [1, 1, 1, 1] : tensor<4x8x2x8xf32> to tensor<4x8x1x8xf32>
    %1 = tensor.empty() : tensor<4x4x8x1x8xf32>
    %broadcasted = linalg.broadcast ins(%extracted_slice : tensor<4x8x1x8xf32>) outs(%1 : tensor<4x4x8x1x8xf32>) dimensions = [0]
    %broadcasted_2 = linalg.broadcast ins(%extracted_slice_1 : tensor<4x8x1x8xf32>) outs(%1 : tensor<4x4x8x1x8xf32>) dimensions = [0]
    %collapsed = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<4x4x8x8xf32> into tensor<16x8x8xf32>
    %collapsed_3 = tensor.collapse_shape %broadcasted [[0, 1], [2], [3, 4]] : tensor<4x4x8x1x8xf32> into tensor<16x8x8xf32>
    %collapsed_4 = tensor.collapse_shape %broadcasted_2 [[0, 1], [2], [3, 4]] : tensor<4x4x8x1x8xf32> into tensor<16x8x8xf32>
    %out, %lse = weft.attention %collapsed, %collapsed_3, %collapsed_4 {config = #weft.attention<scale = 0.353553385 : f32>, indexing_maps = [#map, #map1, #map2, #map3, #map4]} : (tensor<16x8x8xf32>, tensor<16x8x8xf32>, tensor<16x8x8xf32>) -> (tensor<16x8x8xf32>, tensor<16x8xf32>)
    %expanded = tensor.expand_shape %out [[0, 1], [2], [3]] output_shape [4, 4, 8, 8] : tensor<16x8x8xf32> into tensor<4x4x8x8xf32>
    %2 = tensor.empty() : tensor<4x8x4x8xf32>
    %transposed_5 = linalg.transpose ins(%expanded : tensor<4x4x8x8xf32>) outs(%2 : tensor<4x8x4x8xf32>) permutation = [1, 2, 0, 3]
    %3 = tensor.empty() : tensor<f32>
    %4 = linalg.fill ins(%cst_0 : f32) outs(%3 : tensor<f32>) -> tensor<f32>
    %reduced = linalg.reduce { arith.addf } ins(%transposed_5 : tensor<4x8x4x8xf32>) outs(%4 : tensor<f32>) dimensions = [0, 1, 2, 3]
    %dq, %dk, %dv = weft.attention_grad %collapsed, %collapsed_3, %collapsed_4, %out, %lse, %cst {config = #weft.attention<scale = 0.353553385 : f32>, indexing_maps = [#map, #map1, #map2, #map3, #map4, #map3, #map, #map1, #map2]} : (tensor<16x8x8xf32>, tensor<16x8x8xf32>, tensor<16x8x8xf32>, tensor<16x8x8xf32>, tensor<16x8xf32>, tensor<16x8x8xf32>) -> (tensor<16x8x8xf32>, tensor<16x8x8xf32>, tensor<16x8x8xf32>)
    %expanded_6 = tensor.expand_shape %dq [[0, 1], [2], [3, 4]] output_shape [4, 4, 8, 1, 8] : tensor<16x8x8xf32> into tensor<4x4x8x1x8xf32>
    %5 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<4x4x8x8xf32>) -> tensor<4x4x8x8xf32>
    %reduced_7 = linalg.reduce { arith.addf } ins(%expanded_6 : tensor<4x4x8x1x8xf32>) outs(%5 : tensor<4x4x8x8xf32>) dimensions = [3]
    %transposed_8 = linalg.transpose ins(%reduced_7 : tensor<4x4x8x8xf32>) outs(%2 : tensor<4x8x4x8xf32>) permutation = [1, 2, 0, 3]
    return %reduced, %transposed_8 : tensor<f32>, tensor<4x8x4x8xf32>
  }
}

