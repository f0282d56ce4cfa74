// A step of a weight that is used twice, once transposed, in shards over two axes
// of which one is the batch's.
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map3 = affine_map<(d0, d1, d2) -> (d2, d0)>
#map4 = affine_map<(d0, d1, d2) -> (d1, d2)>
module {
  weft.mesh @mesh = <["dp"=2, "fsdp"=2, "tp"=2, "mb"=8]>
  func.func @step(%arg0: tensor<96x32xf32> {weft.name = "p.o", weft.sharding = #weft.sharding<@mesh, [{}, {"fsdp", "tp"}]>}, %arg1: tensor<96x96xf32> {weft.name = "p.w", weft.sharding = #weft.sharding<@mesh, [{"fsdp", "tp"}, {}]>}, %arg2: tensor<64x96xf32> {weft.name = "b.x", weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp", "mb"}, {}]>}, %arg3: tensor<64x32xf32> {weft.name = "b.y", weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp", "mb"}, {}]>}) -> (tensor<96x32xf32> {weft.alias = 0 : index, weft.name = "p.o", weft.sharding = #weft.sharding<@mesh, [{}, {"fsdp", "tp"}]>}, tensor<96x96xf32> {weft.alias = 1 : index, weft.name = "p.w", weft.sharding = #weft.sharding<@mesh, [{"fsdp", "tp"}, {}]>}) {
    %cst = arith.constant dense<5.000000e-02> : tensor<96x96xf32>
    %cst_0 = arith.constant dense<5.000000e-02> : tensor<96x32xf32>
    %cst_1 = arith.constant 4.8828125E-4 : f32
    %cst_2 = arith.constant dense<2.000000e+00> : tensor<64x32xf32>
    %cst_3 = arith.constant dense<1.000000e+00> : tensor<64x96xf32>
    %0 = weft.matmul %arg2, %arg1 {indexing_maps = [#map, #map1, #map2]} : tensor<64x96xf32>, tensor<96x96xf32> -> tensor<64x96xf32>
    %1 = tensor.empty() : tensor<64x96xf32>
    %mapped = linalg.map { math.tanh } ins(%0 : tensor<64x96xf32>) outs(%1 : tensor<64x96xf32>)
    %mapped_4 = linalg.map { arith.subf } ins(%cst_3, %mapped : tensor<64x96xf32>, tensor<64x96xf32>) outs(%1 : tensor<64x96xf32>)
    %2 = tensor.empty() : tensor<96x96xf32>
    %transposed = linalg.transpose ins(%arg1 : tensor<96x96xf32>) outs(%2 : tensor<96x96xf32>) permutation = [1, 0]
    %3 = weft.matmul %mapped, %transposed {indexing_maps = [#map, #map1, #map2]} : tensor<64x96xf32>, tensor<96x96xf32> -> tensor<64x96xf32>
    %mapped_5 = linalg.map { math.tanh } ins(%3 : tensor<64x96xf32>) outs(%1 : tensor<64x96xf32>)
    %mapped_6 = linalg.map { arith.subf } ins(%cst_3, %mapped_5 : tensor<64x96xf32>, tensor<64x96xf32>) outs(%1 : tensor<64x96xf32>)
    %4 = weft.matmul %mapped_5, %arg0 {indexing_maps = [#map, #map1, #map2]} : tensor<64x96xf32>, tensor<96x32xf32> -> tensor<64x32xf32>
    %5 = tensor.empty() : tensor<64x32xf32>
    %mapped_7 = linalg.map { arith.subf } ins(%4, %arg3 : tensor<64x32xf32>, tensor<64x32xf32>) outs(%5 : tensor<64x32xf32>)
    %mapped_8 = linalg.map { arith.mulf } ins(%cst_2, %mapped_7 : tensor<64x32xf32>, tensor<64x32xf32>) outs(%5 : tensor<64x32xf32>)
    %6 = tensor.empty() : tensor<f32>
    %mapped_9 = linalg.map outs(%6 : tensor<f32>)
      (%init: f32) {
        linalg.yield %cst_1 : f32
      }
    %broadcasted = linalg.broadcast ins(%mapped_9 : tensor<f32>) outs(%5 : tensor<64x32xf32>) dimensions = [0, 1]
    %mapped_10 = linalg.map { arith.mulf } ins(%broadcasted, %mapped_8 : tensor<64x32xf32>, tensor<64x32xf32>) outs(%5 : tensor<64x32xf32>)
    %7 = weft.matmul %mapped_10, %mapped_5 {indexing_maps = [#map3, #map1, #map2]} : tensor<64x32xf32>, tensor<64x96xf32> -> tensor<32x96xf32>
    %8 = tensor.empty() : tensor<96x32xf32>
    %transposed_11 = linalg.transpose ins(%7 : tensor<32x96xf32>) outs(%8 : tensor<96x32xf32>) permutation = [1, 0]
    %9 = weft.matmul %mapped_10, %arg0 {indexing_maps = [#map, #map4, #map2]} : tensor<64x32xf32>, tensor<96x32xf32> -> tensor<64x96xf32>
    %mapped_12 = linalg.map { arith.mulf } ins(%9, %mapped_6 : tensor<64x96xf32>, tensor<64x96xf32>) outs(%1 : tensor<64x96xf32>)
    %mapped_13 = linalg.map { arith.mulf } ins(%mapped_12, %mapped_5 : tensor<64x96xf32>, tensor<64x96xf32>) outs(%1 : tensor<64x96xf32>)
    %mapped_14 = linalg.map { arith.addf } ins(%mapped_12, %mapped_13 : tensor<64x96xf32>, tensor<64x96xf32>) outs(%1 : tensor<64x96xf32>)
    %10 = weft.matmul %mapped_14, %mapped {indexing_maps = [#map3, #map1, #map2]} : tensor<64x96xf32>, tensor<64x96xf32> -> tensor<96x96xf32>
    %11 = weft.matmul %mapped_14, %transposed {indexing_maps = [#map, #map4, #map2]} : tensor<64x96xf32>, tensor<96x96xf32> -> tensor<64x96xf32>
    %mapped_15 = linalg.map { arith.mulf } ins(%11, %mapped_4 : tensor<64x96xf32>, tensor<64x96xf32>) outs(%1 : tensor<64x96xf32>)
    %mapped_16 = linalg.map { arith.mulf } ins(%mapped_15, %mapped : tensor<64x96xf32>, tensor<64x96xf32>) outs(%1 : tensor<64x96xf32>)
    %mapped_17 = linalg.map { arith.addf } ins(%mapped_15, %mapped_16 : tensor<64x96xf32>, tensor<64x96xf32>) outs(%1 : tensor<64x96xf32>)
    %12 = weft.matmul %mapped_17, %arg2 {indexing_maps = [#map3, #map1, #map2]} : tensor<64x96xf32>, tensor<64x96xf32> -> tensor<96x96xf32>
    %transposed_18 = linalg.transpose ins(%12 : tensor<96x96xf32>) outs(%2 : tensor<96x96xf32>) permutation = [1, 0]
    %mapped_19 = linalg.map { arith.addf } ins(%10, %transposed_18 : tensor<96x96xf32>, tensor<96x96xf32>) outs(%2 : tensor<96x96xf32>)
    %mapped_20 = linalg.map { arith.mulf } ins(%cst_0, %transposed_11 : tensor<96x32xf32>, tensor<96x32xf32>) outs(%8 : tensor<96x32xf32>)
    %mapped_21 = linalg.map { arith.subf } ins(%arg0, %mapped_20 : tensor<96x32xf32>, tensor<96x32xf32>) outs(%8 : tensor<96x32xf32>)
    %mapped_22 = linalg.map { arith.mulf } ins(%cst, %mapped_19 : tensor<96x96xf32>, tensor<96x96xf32>) outs(%2 : tensor<96x96xf32>)
    %mapped_23 = linalg.map { arith.subf } ins(%arg1, %mapped_22 : tensor<96x96xf32>, tensor<96x96xf32>) outs(%2 : tensor<96x96xf32>)
    return %mapped_21, %mapped_23 : tensor<96x32xf32>, tensor<96x96xf32>
  }
}
