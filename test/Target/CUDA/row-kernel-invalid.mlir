// RUN: weft-opt %s --weft-plan-buffers --weft-outline-kernels --verify-diagnostics

// What weft-fuse-kernels makes fits: here a row of 64 KiB waits for its sum.

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

module attributes {weft.target = #weft.target<"cuda">} {
  func.func @f(%x: tensor<4x16384xf32>) -> tensor<4x16384xf32> {
    // expected-error @+1 {{needs 65664 bytes of shared memory, of which a block has 49152}}
    %0 = weft_rt.fused ins(%x : tensor<4x16384xf32>) -> tensor<4x16384xf32> {
    ^bb0(%a: tensor<4x16384xf32>):
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<4x16384xf32>
      %exp = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
          ins(%a : tensor<4x16384xf32>) outs(%e : tensor<4x16384xf32>) {
      ^bb0(%v: f32, %o: f32):
        %r = math.exp %v : f32
        linalg.yield %r : f32
      } -> tensor<4x16384xf32>
      %s = tensor.empty() : tensor<4xf32>
      %z = linalg.fill ins(%zero : f32) outs(%s : tensor<4xf32>) -> tensor<4xf32>
      %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
          ins(%exp : tensor<4x16384xf32>) outs(%z : tensor<4xf32>) {
      ^bb0(%v: f32, %o: f32):
        %r = arith.addf %o, %v : f32
        linalg.yield %r : f32
      } -> tensor<4xf32>
      %d = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
          ins(%exp, %sum : tensor<4x16384xf32>, tensor<4xf32>) outs(%e : tensor<4x16384xf32>) {
      ^bb0(%v: f32, %t: f32, %o: f32):
        %r = arith.divf %v, %t : f32
        linalg.yield %r : f32
      } -> tensor<4x16384xf32>
      weft_rt.yield %d : tensor<4x16384xf32>
    }
    return %0 : tensor<4x16384xf32>
  }
}
