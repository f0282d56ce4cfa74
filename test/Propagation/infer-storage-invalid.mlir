// RUN: weft-opt %s --weft-infer-storage --split-input-file --verify-diagnostics

weft.mesh @mesh = <["dp"=2, "tp"=2]>
// expected-error @below {{result #0 is sharded as #weft.sharding<@mesh, [{"tp"}]>, but argument #0, which is donated to it, as #weft.sharding<@mesh, [{"dp"}]>}}
func.func @other_dims(%w: tensor<64xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>})
    -> (tensor<64xf32> {weft.alias = 0 : index, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) {
  return %w : tensor<64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=2]>
// expected-error @below {{result #0 is sharded as #weft.sharding<@mesh, [{"tp"}]>, but argument #0, which is donated to it, has no sharding}}
func.func @none(%w: tensor<64xf32>)
    -> (tensor<64xf32> {weft.alias = 0 : index, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) {
  return %w : tensor<64xf32>
}
