// SPDX-License-Identifier: Apache-2.0

// What is made of the dump of a quantized module is proved to be the same.
// RUN: weft-compile %s --quantize nvfp4 --to global -o %t.global.mlir
// RUN: weft-compile %t.global.mlir --to local -o %t.local.mlir
// RUN: weft-verify --from global %t.global.mlir %t.local.mlir

// In invariant mode it has the certificate that it has at once.
// RUN: weft-compile %s --quantize nvfp4 --invariant=mesh --to global -o %t.invariant.mlir
// RUN: weft-compile %t.invariant.mlir --to local -o %t.invariant-local.mlir
// RUN: weft-verify --from global %t.invariant.mlir %t.invariant-local.mlir
// RUN: weft-compile %s --quantize nvfp4 --invariant=mesh --to local -o %t.invariant-once.mlir
// RUN: weft-compile --diff-order %t.invariant-once.mlir %t.invariant-local.mlir

#ik = affine_map<(i, j, k) -> (i, k)>
#kj = affine_map<(i, j, k) -> (k, j)>
#ki = affine_map<(i, j, k) -> (k, i)>
#ij = affine_map<(i, j, k) -> (i, j)>
weft.mesh @mesh = <["dp"=2]>
func.func @step(%x: tensor<32x64xbf16> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>},
                %w: tensor<64x32xbf16> {weft.name = "w"},
                %dy: tensor<32x32xbf16> {weft.name = "dy", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>})
    -> (tensor<32x32xbf16> {weft.name = "y"}, tensor<64x32xbf16> {weft.alias = 1 : index, weft.name = "new"}) {
  %0 = weft.matmul %x, %w {indexing_maps = [#ik, #kj, #ij]} : tensor<32x64xbf16>, tensor<64x32xbf16> -> tensor<32x32xbf16>
  %1 = weft.matmul %x, %dy {indexing_maps = [#ki, #kj, #ij]} : tensor<32x64xbf16>, tensor<32x32xbf16> -> tensor<64x32xbf16>
  %2 = arith.subf %w, %1 : tensor<64x32xbf16>
  return %0, %2 : tensor<32x32xbf16>, tensor<64x32xbf16>
}
