// RUN: weft-opt --weft-global-to-local="invariant=mesh" %s | FileCheck %s

// Dimensions of no elements are followed like others.

// CHECK: weft.certificate
weft.mesh @mesh = <["tp"=2]>
func.func @f(%e: tensor<0x3xf32> {weft.name = "e"},
             %x: tensor<2x3xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>},
             %i: tensor<0xi32> {weft.name = "i"})
    -> (tensor<2x3xf32> {weft.name = "c"}, tensor<0x3xf32> {weft.name = "t"}, tensor<3x0xf32> {weft.name = "s"}) {
  %c = tensor.concat dim(0) %e, %x : (tensor<0x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %t = weft.take %x, %i {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>,
         index_map = affine_map<(s, d) -> (s)>} : tensor<2x3xf32>, tensor<0xi32> -> tensor<0x3xf32>
  %t0 = tensor.empty() : tensor<3x0xf32>
  %s = linalg.transpose ins(%e : tensor<0x3xf32>) outs(%t0 : tensor<3x0xf32>) permutation = [1, 0]
  return %c, %t, %s : tensor<2x3xf32>, tensor<0x3xf32>, tensor<3x0xf32>
}
