// RUN: %native %s --ulps 4

// Code is made in parts, one for a few kernels: each knows the functions that
// its kernels call. The larger kernels are placed first.
func.func @small_kernel_calls(%x: tensor<4x4xf64> {weft.name = "x"}, %y: tensor<4x4xf64> {weft.name = "y"})
    -> (tensor<4x4xf64> {weft.name = "called"}, tensor<4x4xf64> {weft.name = "larger"}) {
  %called = math.erf %x : tensor<4x4xf64>
  %0 = weft.matmul %called, %y {indexing_maps = [
         affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
       : tensor<4x4xf64>, tensor<4x4xf64> -> tensor<4x4xf64>
  %1 = arith.mulf %0, %y : tensor<4x4xf64>
  %2 = arith.addf %1, %x : tensor<4x4xf64>
  %3 = arith.subf %2, %0 : tensor<4x4xf64>
  %4 = arith.maximumf %3, %y : tensor<4x4xf64>
  %5 = arith.minimumf %4, %0 : tensor<4x4xf64>
  %larger = arith.addf %5, %4 : tensor<4x4xf64>
  return %called, %larger : tensor<4x4xf64>, tensor<4x4xf64>
}
