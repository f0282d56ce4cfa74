// RUN: %equivalence %s --mesh a=1 --mesh a=2 --mesh b=3 --mesh a=4 --mesh a=2,b=2 --mesh a=3,b=2,c=2 --mesh a=4,b=2

// Reshapes, slices, insertions, concatenations, pads and constants; an axis
// that is cut in two by a reshape.
weft.mesh @mesh = <["a"=1, "b"=1, "c"=1]>
func.func @shapes(
    %x: tensor<12x8xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"a"}, {"b"}]>},
    %y: tensor<12x3xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"b", "a"}, {}]>})
    -> (tensor<3x4x8xf32> {weft.name = "split", weft.sharding = #weft.sharding<@mesh, [{}, {"a"}, {"b"}]>},
        tensor<96xf32> {weft.name = "flat", weft.sharding = #weft.sharding<@mesh, [{"a", "b"}]>},
        tensor<12x5xf32> {weft.name = "slice", weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>},
        tensor<12x8xf32> {weft.name = "insert", weft.sharding = #weft.sharding<@mesh, [{"a"}, {"c"}]>},
        tensor<12x11xf32> {weft.name = "concat", weft.sharding = #weft.sharding<@mesh, [{"a"}, {"b"}]>},
        tensor<12x10xf32> {weft.name = "pad", weft.sharding = #weft.sharding<@mesh, [{"b"}, {"a"}]>},
        tensor<7xi32> {weft.name = "constant", weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
  %split = tensor.expand_shape %x [[0, 1], [2]] output_shape [3, 4, 8] : tensor<12x8xf32> into tensor<3x4x8xf32>
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<12x8xf32> into tensor<96xf32>
  %slice = tensor.extract_slice %x[0, 1] [12, 5] [1, 1] : tensor<12x8xf32> to tensor<12x5xf32>
  %insert = tensor.insert_slice %y into %x[0, 2] [12, 3] [1, 2] : tensor<12x3xf32> into tensor<12x8xf32>
  %concat = tensor.concat dim(1) %x, %y : (tensor<12x8xf32>, tensor<12x3xf32>) -> tensor<12x11xf32>
  %v = arith.constant 1.5 : f32
  %pad = tensor.pad %x low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %v : f32
  } : tensor<12x8xf32> to tensor<12x10xf32>
  %c = arith.constant dense<[3, 1, 4, 1, 5, 9, 2]> : tensor<7xi32>
  return %split, %flat, %slice, %insert, %concat, %pad, %c
      : tensor<3x4x8xf32>, tensor<96xf32>, tensor<12x5xf32>, tensor<12x8xf32>, tensor<12x11xf32>, tensor<12x10xf32>, tensor<7xi32>
}
