// RUN: %equivalence %s --mesh a=2 --mesh a=2,b=2 --mesh a=3,b=2 --mesh a=2,b=3,c=2 --mesh a=4,b=2

// From any layout to any other: gathers, slices, all-to-alls, permutations,
// sub-axes, sizes that do not divide.
weft.mesh @mesh = <["a"=1, "b"=1, "c"=1]>
func.func @reshards(
    %x: tensor<10x9xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"a"}, {"b"}]>},
    %y: tensor<24xi32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"a", "b", "c"}]>})
    -> (tensor<10x9xf32> {weft.name = "swap", weft.sharding = #weft.sharding<@mesh, [{"b"}, {"a"}]>},
        tensor<10x9xf32> {weft.name = "whole"},
        tensor<10x9xf32> {weft.name = "third", weft.sharding = #weft.sharding<@mesh, [{}, {"c", "a"}]>},
        tensor<24xi32> {weft.name = "reorder", weft.sharding = #weft.sharding<@mesh, [{"c", "b", "a"}]>},
        tensor<24xi32> {weft.name = "fewer", weft.sharding = #weft.sharding<@mesh, [{"b"}]>}) {
  %0 = weft.shard %x to <@mesh, [{}, {"a", "b"}]> : tensor<10x9xf32>
  %1 = weft.shard %0 to <@mesh, [{"b", "a"}, {}]> : tensor<10x9xf32>
  return %1, %1, %0, %y, %y : tensor<10x9xf32>, tensor<10x9xf32>, tensor<10x9xf32>, tensor<24xi32>, tensor<24xi32>
}
