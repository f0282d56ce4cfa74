// RUN: weft-opt %s --weft-verify-partitioning -split-input-file | FileCheck %s

// What the global program puts into a tensor, or together to one, is a part of
// that where ranks compute with parts.

// Three elements of nine, computed as the second of three parts.

// CHECK-LABEL: func.func @inserted
module {
  weft.mesh @mesh = <["t"=1]>
  func.func @inserted(%x: tensor<3xf32>, %y: tensor<9xf32>, %z: tensor<3xf32>) -> tensor<9xf32> {
    %i = tensor.insert_slice %x into %y[3] [3] [1] : tensor<3xf32> into tensor<9xf32>
    %i0 = tensor.extract_slice %i[0] [3] [1] : tensor<9xf32> to tensor<3xf32>
    %i2 = tensor.extract_slice %i[6] [3] [1] : tensor<9xf32> to tensor<3xf32>
    %a_e = tensor.empty() : tensor<3xf32>
    %a = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%i0 : tensor<3xf32>) outs(%a_e : tensor<3xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = math.tanh %in : f32
      linalg.yield %s : f32
    } -> tensor<3xf32>
    %b_e = tensor.empty() : tensor<3xf32>
    %b = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%x : tensor<3xf32>) outs(%b_e : tensor<3xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = math.tanh %in : f32
      linalg.yield %s : f32
    } -> tensor<3xf32>
    %c_e = tensor.empty() : tensor<3xf32>
    %c = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%i2 : tensor<3xf32>) outs(%c_e : tensor<3xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = math.tanh %in : f32
      linalg.yield %s : f32
    } -> tensor<3xf32>
    %r = tensor.concat dim(0) %a, %b, %c : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<9xf32>
    return %r : tensor<9xf32>
  }
  module @global {
    func.func @inserted(%x: tensor<3xf32>, %y: tensor<9xf32>, %z: tensor<3xf32>) -> tensor<9xf32> {
      %i = tensor.insert_slice %x into %y[3] [3] [1] : tensor<3xf32> into tensor<9xf32>
      %r_e = tensor.empty() : tensor<9xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%i : tensor<9xf32>) outs(%r_e : tensor<9xf32>) {
      ^bb0(%in: f32, %out: f32):
        %s = math.tanh %in : f32
        linalg.yield %s : f32
      } -> tensor<9xf32>
      return %r : tensor<9xf32>
    }
  }
}

// -----

// Two and two.

// CHECK-LABEL: func.func @joined
module {
  weft.mesh @mesh = <["t"=1]>
  func.func @joined(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<4xf32> {
    %a_e = tensor.empty() : tensor<2xf32>
    %a = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%x : tensor<2xf32>) outs(%a_e : tensor<2xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = math.tanh %in : f32
      linalg.yield %s : f32
    } -> tensor<2xf32>
    %b_e = tensor.empty() : tensor<2xf32>
    %b = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%y : tensor<2xf32>) outs(%b_e : tensor<2xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = math.tanh %in : f32
      linalg.yield %s : f32
    } -> tensor<2xf32>
    %r = tensor.concat dim(0) %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
  module @global {
    func.func @joined(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<4xf32> {
      %c = tensor.concat dim(0) %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
      %r_e = tensor.empty() : tensor<4xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%c : tensor<4xf32>) outs(%r_e : tensor<4xf32>) {
      ^bb0(%in: f32, %out: f32):
        %s = math.tanh %in : f32
        linalg.yield %s : f32
      } -> tensor<4xf32>
      return %r : tensor<4xf32>
    }
  }
}
