// RUN: weft-opt %s --weft-verify-invariance -o - | FileCheck %s
// RUN: sed 's/%c = tensor.concat dim(0) %0, %m /%c = tensor.concat dim(0) %0, %none /' %s | not weft-opt --weft-verify-invariance 2>&1 | FileCheck %s --check-prefix=WHOLE
// CHECK: tensor.concat
// WHOLE: error: {{.*}}puts together contributions and

// The greatest of floats is one of them, wherever they are moved: looked up, and put together.

module attributes {weft.invariance = #weft.invariance<axes = ["x"], leaves = 8>} {
  weft.mesh @mesh = <["x"=2]>
  func.func @floats(%x: tensor<4x4xf32> {weft.global_type = tensor<8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<3xi32>) -> tensor<7xf32> {
    %none = arith.constant dense<0xFF800000> : tensor<4xf32>
    %m = linalg.generic {indexing_maps = [affine_map<(b, v) -> (b, v)>, affine_map<(b, v) -> (v)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%none : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.maximumf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %0 = weft.take %m, %i {axis = 0 : i64, index_map = affine_map<(i) -> (i)>, table_map = affine_map<(i) -> ()>} : tensor<4xf32>, tensor<3xi32> -> tensor<3xf32>
    %c = tensor.concat dim(0) %0, %m : (tensor<3xf32>, tensor<4xf32>) -> tensor<7xf32>
    %1 = weft.all_reduce max %c on @mesh <{"x"}> : (tensor<7xf32>) -> tensor<7xf32>
    return %1 : tensor<7xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["x"=1]>
    func.func @floats(%x: tensor<8x4xf32>, %i: tensor<3xi32>) -> tensor<7xf32> {
      %none = arith.constant dense<0xFF800000> : tensor<4xf32>
      %m = linalg.generic {indexing_maps = [affine_map<(b, v) -> (b, v)>, affine_map<(b, v) -> (v)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%none : tensor<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        %s = arith.maximumf %o, %a : f32
        linalg.yield %s : f32
      } -> tensor<4xf32>
      %0 = weft.take %m, %i {axis = 0 : i64, index_map = affine_map<(i) -> (i)>, table_map = affine_map<(i) -> ()>} : tensor<4xf32>, tensor<3xi32> -> tensor<3xf32>
      %c = tensor.concat dim(0) %0, %m : (tensor<3xf32>, tensor<4xf32>) -> tensor<7xf32>
      return %c : tensor<7xf32>
    }
  }
}
