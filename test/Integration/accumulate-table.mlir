// RUN: weft-compile %s --accumulate mb --to local -o - | FileCheck %s

// Rows of a table are looked up and updated for all microbatches at once: each
// lookup, and each update, counts its table.

#d = affine_map<(t, d) -> (d)>
#t = affine_map<(t, d) -> (t)>

weft.mesh @mesh = <["fsdp"=2, "tp"=2, "mb"=2]>

// CHECK-LABEL: func.func @step
// CHECK:       weft.take {{.*}} tensor<1000x64xbf16>, tensor<512xi32> -> tensor<512x64xbf16>
// CHECK-NOT:   weft.take
// CHECK:       weft.scatter_add {{.*}} tensor<1000x32xbf16>, tensor<1024xi32>, tensor<1024x32xbf16>
// CHECK-NOT:   weft.scatter_add
func.func @step(
    %table: tensor<2000x64xbf16> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {"fsdp"}]>},
    %tokens: tensor<1024xi32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp", "mb"}]>})
    -> (tensor<2000x64xbf16> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {"fsdp"}]>}) {
  %x = weft.take %table, %tokens {axis = 0 : i64, table_map = #d, index_map = #t}
       : tensor<2000x64xbf16>, tensor<1024xi32> -> tensor<1024x64xbf16>
  %init = tensor.empty() : tensor<1024x64xbf16>
  %y = linalg.map { math.tanh } ins(%x : tensor<1024x64xbf16>) outs(%init : tensor<1024x64xbf16>)
  %zero = arith.constant dense<0.0> : tensor<2000x64xbf16>
  %g = weft.scatter_add %zero, %tokens, %y {axis = 0 : i64, table_map = #d, index_map = #t}
       : tensor<2000x64xbf16>, tensor<1024xi32>, tensor<1024x64xbf16>
  return %g : tensor<2000x64xbf16>
}
