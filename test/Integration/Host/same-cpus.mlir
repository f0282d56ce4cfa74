// RUN: %native %s --values special --cpus x86-64,x86-64-v3,x86-64-v4,native

// What rounds, or chooses among zeros and NaN, gives the same bits on CPUs that
// have instructions for it as on those that have not. Denormals of bf16 stay.
module attributes {weft.invariance = #weft.invariance<axes = [], leaves = 8>} {
  func.func @single(%x: tensor<21x21xf32> {weft.name = "x"}, %y: tensor<21x21xf32> {weft.name = "y"})
      -> (tensor<21x21xf32> {weft.name = "max"}, tensor<21x21xf32> {weft.name = "min"}, tensor<21x21xf32> {weft.name = "ratio"},
          tensor<21x21xf32> {weft.name = "product"}, tensor<21x21xbf16> {weft.name = "narrow"}, tensor<21x21xf16> {weft.name = "half"}) {
    %0 = arith.maximumf %x, %y : tensor<21x21xf32>
    %1 = arith.minimumf %x, %y : tensor<21x21xf32>
    %2 = arith.divf %x, %y : tensor<21x21xf32>
    %3 = arith.mulf %x, %y : tensor<21x21xf32>
    %4 = arith.addf %3, %y : tensor<21x21xf32>
    %5 = arith.truncf %x : tensor<21x21xf32> to tensor<21x21xbf16>
    %6 = arith.truncf %x : tensor<21x21xf32> to tensor<21x21xf16>
    return %0, %1, %2, %4, %5, %6 : tensor<21x21xf32>, tensor<21x21xf32>, tensor<21x21xf32>, tensor<21x21xf32>,
                                    tensor<21x21xbf16>, tensor<21x21xf16>
  }
}

// -----

module attributes {weft.invariance = #weft.invariance<axes = [], leaves = 8>} {
  func.func @narrow(%x: tensor<21x21xbf16> {weft.name = "x"}, %y: tensor<21x21xbf16> {weft.name = "y"},
                    %h: tensor<21x21xf16> {weft.name = "h"}, %g: tensor<21x21xf16> {weft.name = "g"})
      -> (tensor<21x21xbf16> {weft.name = "max"}, tensor<21x21xbf16> {weft.name = "product"}, tensor<21x21xbf16> {weft.name = "ratio"},
          tensor<21x21xf64> {weft.name = "wide"}, tensor<21x21xbf16> {weft.name = "back"},
          tensor<21x21xf16> {weft.name = "halves"}, tensor<21x21xf16> {weft.name = "parts"}) {
    %0 = arith.maximumf %x, %y : tensor<21x21xbf16>
    %1 = arith.mulf %x, %y : tensor<21x21xbf16>
    %2 = arith.divf %x, %y : tensor<21x21xbf16>
    %3 = arith.extf %x : tensor<21x21xbf16> to tensor<21x21xf64>
    %4 = arith.truncf %3 : tensor<21x21xf64> to tensor<21x21xbf16>
    %5 = arith.mulf %h, %g : tensor<21x21xf16>
    %6 = arith.divf %h, %g : tensor<21x21xf16>
    return %0, %1, %2, %3, %4, %5, %6 : tensor<21x21xbf16>, tensor<21x21xbf16>, tensor<21x21xbf16>, tensor<21x21xf64>,
                                        tensor<21x21xbf16>, tensor<21x21xf16>, tensor<21x21xf16>
  }
}

// -----

// Of two zeros and of NaN and a number.
module attributes {weft.invariance = #weft.invariance<axes = [], leaves = 8>} {
  func.func @numbers(%x: tensor<21x21xf32> {weft.name = "x"}, %y: tensor<21x21xf32> {weft.name = "y"})
      -> (tensor<21x21xf32> {weft.name = "larger"}, tensor<21x21xf32> {weft.name = "smaller"}) {
    %0 = arith.maxnumf %x, %y : tensor<21x21xf32>
    %1 = arith.minnumf %x, %y : tensor<21x21xf32>
    return %0, %1 : tensor<21x21xf32>, tensor<21x21xf32>
  }
}
