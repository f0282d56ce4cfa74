// RUN: weft-compile %s --to local -o - | FileCheck %s
// RUN: weft-compile %s --mesh x=3 --to local -o - | FileCheck %s

// Rows of one number are that number, too: the global program knows at once that x - x is 0, ranks join what they have cut.

// CHECK: tensor.concat

weft.mesh @mesh = <["x"=4]>
func.func @rows(%x: tensor<2xi8> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}]>})
    -> (tensor<2x10xi8> {weft.name = "rows", weft.sharding = #weft.sharding<@mesh, [{}, {"x"}]>}) {
  %empty = tensor.empty() : tensor<2xi8>
  %zero = linalg.map { arith.subi } ins(%x, %x : tensor<2xi8>, tensor<2xi8>) outs(%empty : tensor<2xi8>)
  %wide = tensor.empty() : tensor<2x5xi8>
  %each = linalg.broadcast ins(%zero : tensor<2xi8>) outs(%wide : tensor<2x5xi8>) dimensions = [1]
  %row = tensor.collapse_shape %each [[0, 1]] : tensor<2x5xi8> into tensor<10xi8>
  %rows = tensor.expand_shape %row [[0, 1]] output_shape [1, 10] : tensor<10xi8> into tensor<1x10xi8>
  %joined = tensor.concat dim(0) %rows, %rows : (tensor<1x10xi8>, tensor<1x10xi8>) -> tensor<2x10xi8>
  return %joined : tensor<2x10xi8>
}
