// expected-error @below {{cannot change its sizes after partitioning}}
weft.mesh @mesh = <["dp"=2]>
func.func @f(%x: tensor<4xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) {
  return
}
