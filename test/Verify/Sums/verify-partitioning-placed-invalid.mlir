// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// What of verify-partitioning-placed.mlir must not be otherwise.

// The parts in another order.

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
    // expected-error@+1 {{concatenates along a dimension of size 9, of which a rank has 3 elements}}
    %r = tensor.concat dim(0) %b, %a, %c : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<9xf32>
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

// Another tensor than what is put there.

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
        ins(%z : tensor<3xf32>) outs(%b_e : tensor<3xf32>) {
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
    // expected-error@+1 {{concatenates along a dimension of size 9, of which a rank has 3 elements}}
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

// It lies in two parts.

module {
  weft.mesh @mesh = <["t"=1]>
  func.func @inserted(%x: tensor<3xf32>, %y: tensor<9xf32>, %z: tensor<3xf32>) -> tensor<9xf32> {
    %i = tensor.insert_slice %x into %y[2] [3] [1] : tensor<3xf32> into tensor<9xf32>
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
    // expected-error@+1 {{concatenates along a dimension of size 9, of which a rank has 3 elements}}
    %r = tensor.concat dim(0) %a, %b, %c : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<9xf32>
    return %r : tensor<9xf32>
  }
  module @global {
    func.func @inserted(%x: tensor<3xf32>, %y: tensor<9xf32>, %z: tensor<3xf32>) -> tensor<9xf32> {
      %i = tensor.insert_slice %x into %y[2] [3] [1] : tensor<3xf32> into tensor<9xf32>
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

// What is put together, in another order.

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
    // expected-error@+1 {{concatenates along a dimension of size 4, of which a rank has 2 elements}}
    %r = tensor.concat dim(0) %b, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
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

// -----

// The same one twice.

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
    // expected-error@+1 {{concatenates along a dimension of size 4, of which a rank has 2 elements}}
    %r = tensor.concat dim(0) %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
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
