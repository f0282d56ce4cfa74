// Adds x to a donated state; rows are cut over ranks.
weft.mesh @mesh = <["rows"=1]>

func.func @step(
    %state: tensor<6x4xf32> {weft.name = "state", weft.sharding = #weft.sharding<@mesh, [{"rows"}, {}]>},
    %x: tensor<6x4xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}, {}]>})
    -> (tensor<6x4xf32> {weft.name = "state", weft.alias = 0 : index, weft.sharding = #weft.sharding<@mesh, [{"rows"}, {}]>},
        tensor<6x4xf32> {weft.name = "double", weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %sum = arith.addf %state, %x : tensor<6x4xf32>
  %double = arith.addf %x, %x : tensor<6x4xf32>
  return %sum, %double : tensor<6x4xf32>, tensor<6x4xf32>
}
