// RUN: weft-opt %s --weft-verify-invariance -split-input-file -verify-diagnostics

// A part of a maximum is negated.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %low = arith.constant dense<0xFF800000> : tensor<f32>
    %e = tensor.empty() : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%low : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.maximumf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    // expected-error @+1 {{does with contributions what does not commute with their max: one of 2 parts of arith.maximumf}}
    %1 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%0 : tensor<f32>) outs(%e : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.negf %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %1 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}

// -----

// A part of a maximum, which met all of it, is still one to be combined.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %low = arith.constant dense<0xFF800000> : tensor<f32>
    %e = tensor.empty() : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%low : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.maximumf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %w = weft.all_reduce max %0 on @mesh <{"tp"}> : (tensor<f32>) -> tensor<f32>
    %1 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%0, %w : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.maximumf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    // expected-error @+1 {{result #0 is a contribution: one of 2 parts of arith.maximumf}}
    return %1 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}

// -----

// Parts of two reductions.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=2, "tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}, %y: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) -> tensor<f32> {
    %low = arith.constant dense<0xFF800000> : tensor<f32>
    %e = tensor.empty() : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%low : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.maximumf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %1 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%y : tensor<64xf32>) outs(%low : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.minimumf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    // expected-error @+1 {{computes with contributions to different things, of 2 and 2 parts}}
    %2 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%0, %1 : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.maximumf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %2 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["dp"=2, "tp"=1]>
    func.func @f(%x: tensor<128xf32>, %y: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}

// -----

// Microbatches in the wrong order.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %e = tensor.empty() : tensor<f32>
    %a = tensor.extract_slice %x[0] [64] [1] : tensor<128xf32> to tensor<64xf32>
    %b = tensor.extract_slice %x[64] [64] [1] : tensor<128xf32> to tensor<64xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%a : tensor<64xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 1>} {
    ^bb0(%u: f32, %o: f32):
      %s = arith.addf %o, %u : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %2 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%b : tensor<64xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 1>} {
    ^bb0(%u: f32, %o: f32):
      %s = arith.addf %o, %u : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    // expected-error @+1 {{joins arith.addf: chain 64 and arith.addf: chain 64, which are not two neighbouring parts of one sum}}
    %3 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%2, %1 : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 2>} {
    ^bb0(%u: f32, %v: f32, %o: f32):
      %s = arith.addf %u, %v : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %3 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}

// -----

// A sum of parts of a sum.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<4x64xf32> {weft.global_type = tensor<4x128xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %rows = arith.constant dense<0.0> : tensor<4xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(j, k) -> (j, k)>, affine_map<(j, k) -> (j)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x64xf32>) outs(%rows : tensor<4xf32>) attrs = {weft.order = #weft.order<leaves = 1>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    // expected-error @+1 {{computes with a contribution: one of 2 parts to a sum}}
    %1 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%0 : tensor<4xf32>) outs(%zero : tensor<f32>) attrs = {weft.order = #weft.order<leaves = 1>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %1 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<4x128xf32>) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}

// -----

// The greatest of three microbatches, of which one is taken twice and one is not.

#in = affine_map<(i) -> (i)>
#out = affine_map<(i) -> ()>
#one = affine_map<() -> ()>
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=1]>
  func.func @f(%x: tensor<24xf32> {weft.global_type = tensor<24xf32>}) -> tensor<f32> {
    %low = arith.constant dense<0xFF800000> : tensor<f32>
    %e = tensor.empty() : tensor<f32>
    %a = tensor.extract_slice %x[0] [8] [1] : tensor<24xf32> to tensor<8xf32>
    %b = tensor.extract_slice %x[8] [8] [1] : tensor<24xf32> to tensor<8xf32>
    %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["reduction"]} ins(%a : tensor<8xf32>) outs(%low : tensor<f32>) {
    ^bb0(%u: f32, %o: f32):
      %z = arith.maximumf %o, %u : f32
      linalg.yield %z : f32
    } -> tensor<f32>
    %1 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["reduction"]} ins(%b : tensor<8xf32>) outs(%low : tensor<f32>) {
    ^bb0(%u: f32, %o: f32):
      %z = arith.maximumf %o, %u : f32
      linalg.yield %z : f32
    } -> tensor<f32>
    %2 = linalg.generic {indexing_maps = [#one, #one, #one], iterator_types = []} ins(%0, %1 : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) {
    ^bb0(%u: f32, %v: f32, %o: f32):
      %z = arith.maximumf %u, %v : f32
      linalg.yield %z : f32
    } -> tensor<f32>
    %3 = linalg.generic {indexing_maps = [#one, #one, #one], iterator_types = []} ins(%2, %1 : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) {
    ^bb0(%u: f32, %v: f32, %o: f32):
      %z = arith.maximumf %u, %v : f32
      linalg.yield %z : f32
    } -> tensor<f32>
    // expected-error @+1 {{result #0 is a contribution: one of 3 parts of arith.maximumf}}
    return %3 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<24xf32>) -> tensor<f32> {
      %low = arith.constant dense<0xFF800000> : tensor<f32>
      %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["reduction"]} ins(%x : tensor<24xf32>) outs(%low : tensor<f32>) {
      ^bb0(%u: f32, %o: f32):
        %z = arith.maximumf %o, %u : f32
        linalg.yield %z : f32
      } -> tensor<f32>
      return %0 : tensor<f32>
    }
  }
}

// -----

// The sum of two of three microbatches.

#in = affine_map<(i) -> (i)>
#out = affine_map<(i) -> ()>
#one = affine_map<() -> ()>
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=1]>
  func.func @f(%x: tensor<24xi32> {weft.global_type = tensor<24xi32>}) -> tensor<i32> {
    %zero = arith.constant dense<0> : tensor<i32>
    %e = tensor.empty() : tensor<i32>
    %a = tensor.extract_slice %x[0] [8] [1] : tensor<24xi32> to tensor<8xi32>
    %b = tensor.extract_slice %x[8] [8] [1] : tensor<24xi32> to tensor<8xi32>
    %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["reduction"]} ins(%a : tensor<8xi32>) outs(%zero : tensor<i32>) {
    ^bb0(%u: i32, %o: i32):
      %z = arith.addi %o, %u : i32
      linalg.yield %z : i32
    } -> tensor<i32>
    %1 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["reduction"]} ins(%b : tensor<8xi32>) outs(%zero : tensor<i32>) {
    ^bb0(%u: i32, %o: i32):
      %z = arith.addi %o, %u : i32
      linalg.yield %z : i32
    } -> tensor<i32>
    %2 = linalg.generic {indexing_maps = [#one, #one, #one], iterator_types = []} ins(%0, %1 : tensor<i32>, tensor<i32>) outs(%e : tensor<i32>) {
    ^bb0(%u: i32, %v: i32, %o: i32):
      %z = arith.addi %u, %v : i32
      linalg.yield %z : i32
    } -> tensor<i32>
    // expected-error @+1 {{result #0 is a contribution: one of 3 parts of arith.addi}}
    return %2 : tensor<i32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<24xi32>) -> tensor<i32> {
      %zero = arith.constant dense<0> : tensor<i32>
      %0 = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["reduction"]} ins(%x : tensor<24xi32>) outs(%zero : tensor<i32>) {
      ^bb0(%u: i32, %o: i32):
        %z = arith.addi %o, %u : i32
        linalg.yield %z : i32
      } -> tensor<i32>
      return %0 : tensor<i32>
    }
  }
}

// -----

// A part of a maximum is cast to a type without infinities, which makes NaN of what is too small.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f8E4M3FN> {
    %low = arith.constant dense<0xFF800000> : tensor<f32>
    %e = tensor.empty() : tensor<f8E4M3FN>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%low : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.maximumf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    // expected-error @+1 {{does with contributions what does not commute with their max: one of 2 parts of arith.maximumf}}
    %1 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%0 : tensor<f32>) outs(%e : tensor<f8E4M3FN>) {
    ^bb0(%a: f32, %o: f8E4M3FN):
      %s = arith.truncf %a : f32 to f8E4M3FN
      linalg.yield %s : f8E4M3FN
    } -> tensor<f8E4M3FN>
    return %1 : tensor<f8E4M3FN>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<f8E4M3FN> {
      %c = arith.constant dense<0.0> : tensor<f8E4M3FN>
      return %c : tensor<f8E4M3FN>
    }
  }
}

// -----

// A part of a maximum meets a maximum that passes over NaN.

module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
    %low = arith.constant dense<0xFF800000> : tensor<f32>
    %e = tensor.empty() : tensor<f32>
    %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%low : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.maximumf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    // expected-error @+1 {{does with contributions what does not commute with their max: one of 2 parts of arith.maximumf}}
    %1 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%0 : tensor<f32>) outs(%e : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %one = arith.constant 1.0 : f32
      %s = arith.maxnumf %a, %one : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %1 : tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<f32> {
      %c = arith.constant dense<0.0> : tensor<f32>
      return %c : tensor<f32>
    }
  }
}
