// RUN: %native %s --values random

// Chains of ops on narrow types in one kernel round after each op, and what is
// computed in f32 rounds where the program says.
func.func @chained_bf16(%a: tensor<7x33xbf16> {weft.name = "a"}, %b: tensor<7x33xbf16> {weft.name = "b"}, %c: tensor<7x33xbf16> {weft.name = "c"})
    -> (tensor<7x33xbf16> {weft.name = "sum"}, tensor<7x33xbf16> {weft.name = "quotient"}, tensor<7x33xbf16> {weft.name = "difference"},
        tensor<7x33xf32> {weft.name = "wide"}, tensor<7x33xbf16> {weft.name = "back"}) {
  %p = arith.mulf %a, %b : tensor<7x33xbf16>
  %sum = arith.addf %p, %c : tensor<7x33xbf16>
  %quotient = arith.divf %sum, %b : tensor<7x33xbf16>
  %again = arith.addf %quotient, %p : tensor<7x33xbf16>
  %difference = arith.subf %again, %p : tensor<7x33xbf16>
  %x = arith.extf %sum : tensor<7x33xbf16> to tensor<7x33xf32>
  %y = arith.extf %c : tensor<7x33xbf16> to tensor<7x33xf32>
  %wide = arith.mulf %x, %y : tensor<7x33xf32>
  %back = arith.truncf %wide : tensor<7x33xf32> to tensor<7x33xbf16>
  return %sum, %quotient, %difference, %wide, %back
      : tensor<7x33xbf16>, tensor<7x33xbf16>, tensor<7x33xbf16>, tensor<7x33xf32>, tensor<7x33xbf16>
}

// -----

func.func @chained_f16(%a: tensor<7x33xf16> {weft.name = "a"}, %b: tensor<7x33xf16> {weft.name = "b"}, %c: tensor<7x33xf16> {weft.name = "c"})
    -> (tensor<7x33xf16> {weft.name = "sum"}, tensor<7x33xf16> {weft.name = "quotient"}, tensor<7x33xf16> {weft.name = "difference"},
        tensor<7x33xf32> {weft.name = "wide"}, tensor<7x33xf16> {weft.name = "back"}) {
  %p = arith.mulf %a, %b : tensor<7x33xf16>
  %sum = arith.addf %p, %c : tensor<7x33xf16>
  %quotient = arith.divf %sum, %b : tensor<7x33xf16>
  %again = arith.addf %quotient, %p : tensor<7x33xf16>
  %difference = arith.subf %again, %p : tensor<7x33xf16>
  %x = arith.extf %sum : tensor<7x33xf16> to tensor<7x33xf32>
  %y = arith.extf %c : tensor<7x33xf16> to tensor<7x33xf32>
  %wide = arith.mulf %x, %y : tensor<7x33xf32>
  %back = arith.truncf %wide : tensor<7x33xf32> to tensor<7x33xf16>
  return %sum, %quotient, %difference, %wide, %back
      : tensor<7x33xf16>, tensor<7x33xf16>, tensor<7x33xf16>, tensor<7x33xf32>, tensor<7x33xf16>
}
