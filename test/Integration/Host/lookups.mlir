// RUN: %native %s --values integers

// Indices from -4 to 4 into tables of three: most are outside.
func.func @takes(
    %t: tensor<3x6xf32> {weft.name = "t"}, %i: tensor<20xi32> {weft.name = "i"}, %h: tensor<20x3xbf16> {weft.name = "h"},
    %j: tensor<20xi64> {weft.name = "j"}, %n: tensor<0x6xf32> {weft.name = "n"})
    -> (tensor<20x6xf32> {weft.name = "rows"}, tensor<20xbf16> {weft.name = "along"}, tensor<20x6xf32> {weft.name = "nothing"},
        tensor<6x20xf32> {weft.name = "turned"}) {
  %rows = weft.take %t, %i {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : tensor<3x6xf32>, tensor<20xi32> -> tensor<20x6xf32>
  %along = weft.take %h, %j {axis = 1 : i64, table_map = affine_map<(s) -> (s)>, index_map = affine_map<(s) -> (s)>}
      : tensor<20x3xbf16>, tensor<20xi64> -> tensor<20xbf16>
  %nothing = weft.take %n, %i {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : tensor<0x6xf32>, tensor<20xi32> -> tensor<20x6xf32>
  %turned = weft.take %t, %i {axis = 0 : i64, table_map = affine_map<(d, s) -> (d)>, index_map = affine_map<(d, s) -> (s)>}
      : tensor<3x6xf32>, tensor<20xi32> -> tensor<6x20xf32>
  return %rows, %along, %nothing, %turned : tensor<20x6xf32>, tensor<20xbf16>, tensor<20x6xf32>, tensor<6x20xf32>
}

// -----

// Rows get several updates, others none; narrow sums are rounded once; the
// table is an argument that is donated, one that is not, or a value.
func.func @scatters(
    %p: tensor<3x6xf32> {weft.name = "p"}, %q: tensor<3x6xf32> {weft.name = "q"}, %i: tensor<40xi32> {weft.name = "i"},
    %u: tensor<40x6xf32> {weft.name = "u"}, %h: tensor<3x6xbf16> {weft.name = "h"}, %v: tensor<40x6xbf16> {weft.name = "v"})
    -> (tensor<3x6xf32> {weft.name = "p", weft.alias = 0 : index}, tensor<3x6xf32> {weft.name = "q1"},
        tensor<3x6xf32> {weft.name = "sum"}, tensor<3x6xbf16> {weft.name = "h", weft.alias = 4 : index},
        tensor<40x3xf32> {weft.name = "along"}) {
  %p1 = weft.scatter_add %p, %i, %u {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : tensor<3x6xf32>, tensor<40xi32>, tensor<40x6xf32>
  %q1 = weft.scatter_add %q, %i, %u {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : tensor<3x6xf32>, tensor<40xi32>, tensor<40x6xf32>
  %s0 = arith.addf %q, %q1 : tensor<3x6xf32>
  %sum = weft.scatter_add %s0, %i, %u {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : tensor<3x6xf32>, tensor<40xi32>, tensor<40x6xf32>
  %h1 = weft.scatter_add %h, %i, %v {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : tensor<3x6xbf16>, tensor<40xi32>, tensor<40x6xbf16>
  %zeros = arith.constant dense<0.0> : tensor<40x3xf32>
  %c = tensor.extract_slice %u[0, 2] [40, 1] [1, 1] : tensor<40x6xf32> to tensor<40xf32>
  %along = weft.scatter_add %zeros, %i, %c {axis = 1 : i64, table_map = affine_map<(s) -> (s)>, index_map = affine_map<(s) -> (s)>}
      : tensor<40x3xf32>, tensor<40xi32>, tensor<40xf32>
  return %p1, %q1, %sum, %h1, %along : tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xbf16>, tensor<40x3xf32>
}
