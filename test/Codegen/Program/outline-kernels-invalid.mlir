// RUN: weft-opt %s --weft-outline-kernels -verify-diagnostics

// What is read is not a linear function of the loops.
func.func @no_loops() {
  %x = weft_rt.buffer argument 0 : memref<6xf32>
  %y = weft_rt.buffer result 0 : memref<6xf32>
  // expected-error @+1 {{'weft_rt.fused' op has no loop structure: its ops share no rows, or an indexing map is not linear}}
  weft_rt.fused ins(%x : memref<6xf32>) outs(%y : memref<6xf32>) {
  ^bb0(%a: tensor<6xf32>):
    %e = tensor.empty() : tensor<6xf32>
    %g = linalg.generic {indexing_maps = [affine_map<(i) -> (i mod 3)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a : tensor<6xf32>) outs(%e : tensor<6xf32>) {
    ^bb0(%v: f32, %o: f32):
      linalg.yield %v : f32
    } -> tensor<6xf32>
    weft_rt.yield %g : tensor<6xf32>
  }
  return
}
