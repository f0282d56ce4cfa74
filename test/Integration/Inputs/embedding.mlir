// A step of an embedding table that is stored along its width, and a product.
#map = affine_map<(d0, d1, d2) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2) -> (d2)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d2, d3, d0)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
module {
  weft.mesh @mesh = <["fsdp"=8, "mb"=1]>
  func.func @step(%arg0: tensor<4096x256xf32> {weft.name = "params.e", weft.sharding = #weft.sharding<@mesh, [{}, {"fsdp"}]>}, %arg1: tensor<256x256xf32> {weft.name = "params.w", weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}]>}, %arg2: tensor<64x128xi32> {weft.name = "tok", weft.sharding = #weft.sharding<@mesh, [{"fsdp", "mb"}, {}]>}, %arg3: tensor<64x128x256xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"fsdp", "mb"}, {}, {}]>}) -> (tensor<4096x256xf32> {weft.alias = 0 : index, weft.name = "params.e", weft.sharding = #weft.sharding<@mesh, [{}, {"fsdp"}]>}, tensor<256x256xf32> {weft.alias = 1 : index, weft.name = "params.w", weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}]>}, tensor<f32> {weft.name = "l"}) {
    %cst = arith.constant dense<1.000000e-01> : tensor<256x256xf32>
    %cst_0 = arith.constant dense<1.000000e-01> : tensor<4096x256xf32>
    %cst_1 = arith.constant dense<0.000000e+00> : tensor<4096x256xf32>
    %cst_2 = arith.constant 4.76837158E-7 : f32
    %cst_3 = arith.constant dense<2.000000e+00> : tensor<64x128x256xf32>
    %cst_4 = arith.constant dense<1.000000e+00> : tensor<64x128x256xf32>
    %cst_5 = arith.constant dense<4096> : tensor<64x128xi32>
    %cst_6 = arith.constant 0x4A000000 : f32
    %cst_7 = arith.constant 0.000000e+00 : f32
    %c4095_i32 = arith.constant 4095 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst_8 = arith.constant dense<0> : tensor<64x128xi32>
    %0 = tensor.empty() : tensor<64x128xi1>
    %mapped = linalg.map { arith.cmpi {predicate = 2 : i64} } ins(%arg2, %cst_8 : tensor<64x128xi32>, tensor<64x128xi32>) outs(%0 : tensor<64x128xi1>)
    %1 = tensor.empty() : tensor<64x128xi32>
    %mapped_9 = linalg.map { arith.addi {overflowFlags = #arith.overflow<none>} } ins(%arg2, %cst_5 : tensor<64x128xi32>, tensor<64x128xi32>) outs(%1 : tensor<64x128xi32>)
    %mapped_10 = linalg.map { arith.select } ins(%mapped, %mapped_9, %arg2 : tensor<64x128xi1>, tensor<64x128xi32>, tensor<64x128xi32>) outs(%1 : tensor<64x128xi32>)
    %mapped_11 = linalg.map ins(%mapped_10 : tensor<64x128xi32>) outs(%1 : tensor<64x128xi32>)
      (%in: i32, %init: i32) {
        %12 = arith.maxsi %in, %c0_i32 : i32
        linalg.yield %12 : i32
      }
    %mapped_12 = linalg.map ins(%mapped_11 : tensor<64x128xi32>) outs(%1 : tensor<64x128xi32>)
      (%in: i32, %init: i32) {
        %12 = arith.minsi %in, %c4095_i32 : i32
        linalg.yield %12 : i32
      }
    %2 = weft.take %arg0, %mapped_12 {axis = 0 : i64, index_map = #map, table_map = #map1} : tensor<4096x256xf32>, tensor<64x128xi32> -> tensor<64x128x256xf32>
    %3 = weft.matmul %2, %arg1 {indexing_maps = [#map2, #map3, #map4]} : tensor<64x128x256xf32>, tensor<256x256xf32> -> tensor<64x128x256xf32>
    %4 = tensor.empty() : tensor<64x128x256xf32>
    %mapped_13 = linalg.map { math.tanh } ins(%3 : tensor<64x128x256xf32>) outs(%4 : tensor<64x128x256xf32>)
    %mapped_14 = linalg.map { arith.subf } ins(%cst_4, %mapped_13 : tensor<64x128x256xf32>, tensor<64x128x256xf32>) outs(%4 : tensor<64x128x256xf32>)
    %mapped_15 = linalg.map { arith.subf } ins(%mapped_13, %arg3 : tensor<64x128x256xf32>, tensor<64x128x256xf32>) outs(%4 : tensor<64x128x256xf32>)
    %mapped_16 = linalg.map { arith.mulf } ins(%mapped_15, %mapped_15 : tensor<64x128x256xf32>, tensor<64x128x256xf32>) outs(%4 : tensor<64x128x256xf32>)
    %mapped_17 = linalg.map { arith.mulf } ins(%cst_3, %mapped_15 : tensor<64x128x256xf32>, tensor<64x128x256xf32>) outs(%4 : tensor<64x128x256xf32>)
    %5 = tensor.empty() : tensor<f32>
    %6 = linalg.fill ins(%cst_7 : f32) outs(%5 : tensor<f32>) -> tensor<f32>
    %reduced = linalg.reduce { arith.addf } ins(%mapped_16 : tensor<64x128x256xf32>) outs(%6 : tensor<f32>) dimensions = [0, 1, 2]
    %mapped_18 = linalg.map ins(%reduced : tensor<f32>) outs(%5 : tensor<f32>)
      (%in: f32, %init: f32) {
        %12 = arith.divf %in, %cst_6 : f32
        linalg.yield %12 : f32
      }
    %mapped_19 = linalg.map outs(%5 : tensor<f32>)
      (%init: f32) {
        linalg.yield %cst_2 : f32
      }
    %broadcasted = linalg.broadcast ins(%mapped_19 : tensor<f32>) outs(%4 : tensor<64x128x256xf32>) dimensions = [0, 1, 2]
    %mapped_20 = linalg.map { arith.mulf } ins(%broadcasted, %mapped_17 : tensor<64x128x256xf32>, tensor<64x128x256xf32>) outs(%4 : tensor<64x128x256xf32>)
    %mapped_21 = linalg.map { arith.mulf } ins(%mapped_20, %mapped_14 : tensor<64x128x256xf32>, tensor<64x128x256xf32>) outs(%4 : tensor<64x128x256xf32>)
    %mapped_22 = linalg.map { arith.mulf } ins(%mapped_21, %mapped_13 : tensor<64x128x256xf32>, tensor<64x128x256xf32>) outs(%4 : tensor<64x128x256xf32>)
    %mapped_23 = linalg.map { arith.addf } ins(%mapped_21, %mapped_22 : tensor<64x128x256xf32>, tensor<64x128x256xf32>) outs(%4 : tensor<64x128x256xf32>)
    %7 = weft.matmul %mapped_23, %2 {indexing_maps = [#map5, #map6, #map7]} : tensor<64x128x256xf32>, tensor<64x128x256xf32> -> tensor<256x256xf32>
    %8 = tensor.empty() : tensor<256x256xf32>
    %transposed = linalg.transpose ins(%7 : tensor<256x256xf32>) outs(%8 : tensor<256x256xf32>) permutation = [1, 0]
    %9 = weft.matmul %mapped_23, %arg1 {indexing_maps = [#map2, #map8, #map4]} : tensor<64x128x256xf32>, tensor<256x256xf32> -> tensor<64x128x256xf32>
    %10 = weft.scatter_add %cst_1, %mapped_10, %9 {axis = 0 : i64, index_map = #map, table_map = #map1} : tensor<4096x256xf32>, tensor<64x128xi32>, tensor<64x128x256xf32>
    %11 = tensor.empty() : tensor<4096x256xf32>
    %mapped_24 = linalg.map { arith.mulf } ins(%cst_0, %10 : tensor<4096x256xf32>, tensor<4096x256xf32>) outs(%11 : tensor<4096x256xf32>)
    %mapped_25 = linalg.map { arith.subf } ins(%arg0, %mapped_24 : tensor<4096x256xf32>, tensor<4096x256xf32>) outs(%11 : tensor<4096x256xf32>)
    %mapped_26 = linalg.map { arith.mulf } ins(%cst, %transposed : tensor<256x256xf32>, tensor<256x256xf32>) outs(%8 : tensor<256x256xf32>)
    %mapped_27 = linalg.map { arith.subf } ins(%arg1, %mapped_26 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%8 : tensor<256x256xf32>)
    return %mapped_25, %mapped_27, %mapped_18 : tensor<4096x256xf32>, tensor<256x256xf32>, tensor<f32>
  }
}

