// RUN: %native %s --values special

// Scalars of each type come to kernels with their launches: elements that the
// program waits for, among them an infinity, a negative zero and NaN.

func.func @i1(%x: tensor<24xi1> {weft.name = "x"}) -> (tensor<2x3xi1> {weft.name = "y"}, tensor<3xi1> {weft.name = "z"}) {
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %c20 = arith.constant 20 : index
  %a = tensor.extract %x[%c9] : tensor<24xi1>
  %b = tensor.extract %x[%c10] : tensor<24xi1>
  %c = tensor.extract %x[%c20] : tensor<24xi1>
  %e = tensor.empty() : tensor<2x3xi1>
  %y = linalg.fill ins(%b : i1) outs(%e : tensor<2x3xi1>) -> tensor<2x3xi1>
  %z = tensor.from_elements %c, %b, %a : tensor<3xi1>
  return %y, %z : tensor<2x3xi1>, tensor<3xi1>
}

// -----

func.func @i8(%x: tensor<24xi8> {weft.name = "x"}) -> (tensor<2x3xi8> {weft.name = "y"}, tensor<3xi8> {weft.name = "z"}) {
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %c20 = arith.constant 20 : index
  %a = tensor.extract %x[%c9] : tensor<24xi8>
  %b = tensor.extract %x[%c10] : tensor<24xi8>
  %c = tensor.extract %x[%c20] : tensor<24xi8>
  %e = tensor.empty() : tensor<2x3xi8>
  %y = linalg.fill ins(%b : i8) outs(%e : tensor<2x3xi8>) -> tensor<2x3xi8>
  %z = tensor.from_elements %c, %b, %a : tensor<3xi8>
  return %y, %z : tensor<2x3xi8>, tensor<3xi8>
}

// -----

func.func @i16(%x: tensor<24xi16> {weft.name = "x"}) -> (tensor<2x3xi16> {weft.name = "y"}, tensor<3xi16> {weft.name = "z"}) {
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %c20 = arith.constant 20 : index
  %a = tensor.extract %x[%c9] : tensor<24xi16>
  %b = tensor.extract %x[%c10] : tensor<24xi16>
  %c = tensor.extract %x[%c20] : tensor<24xi16>
  %e = tensor.empty() : tensor<2x3xi16>
  %y = linalg.fill ins(%b : i16) outs(%e : tensor<2x3xi16>) -> tensor<2x3xi16>
  %z = tensor.from_elements %c, %b, %a : tensor<3xi16>
  return %y, %z : tensor<2x3xi16>, tensor<3xi16>
}

// -----

func.func @i32(%x: tensor<24xi32> {weft.name = "x"}) -> (tensor<2x3xi32> {weft.name = "y"}, tensor<3xi32> {weft.name = "z"}) {
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %c20 = arith.constant 20 : index
  %a = tensor.extract %x[%c9] : tensor<24xi32>
  %b = tensor.extract %x[%c10] : tensor<24xi32>
  %c = tensor.extract %x[%c20] : tensor<24xi32>
  %e = tensor.empty() : tensor<2x3xi32>
  %y = linalg.fill ins(%b : i32) outs(%e : tensor<2x3xi32>) -> tensor<2x3xi32>
  %z = tensor.from_elements %c, %b, %a : tensor<3xi32>
  return %y, %z : tensor<2x3xi32>, tensor<3xi32>
}

// -----

func.func @i64(%x: tensor<24xi64> {weft.name = "x"}) -> (tensor<2x3xi64> {weft.name = "y"}, tensor<3xi64> {weft.name = "z"}) {
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %c20 = arith.constant 20 : index
  %a = tensor.extract %x[%c9] : tensor<24xi64>
  %b = tensor.extract %x[%c10] : tensor<24xi64>
  %c = tensor.extract %x[%c20] : tensor<24xi64>
  %e = tensor.empty() : tensor<2x3xi64>
  %y = linalg.fill ins(%b : i64) outs(%e : tensor<2x3xi64>) -> tensor<2x3xi64>
  %z = tensor.from_elements %c, %b, %a : tensor<3xi64>
  return %y, %z : tensor<2x3xi64>, tensor<3xi64>
}

// -----

func.func @f16(%x: tensor<24xf16> {weft.name = "x"}) -> (tensor<2x3xf16> {weft.name = "y"}, tensor<3xf16> {weft.name = "z"}) {
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %c20 = arith.constant 20 : index
  %a = tensor.extract %x[%c9] : tensor<24xf16>
  %b = tensor.extract %x[%c10] : tensor<24xf16>
  %c = tensor.extract %x[%c20] : tensor<24xf16>
  %e = tensor.empty() : tensor<2x3xf16>
  %y = linalg.fill ins(%b : f16) outs(%e : tensor<2x3xf16>) -> tensor<2x3xf16>
  %z = tensor.from_elements %c, %b, %a : tensor<3xf16>
  return %y, %z : tensor<2x3xf16>, tensor<3xf16>
}

// -----

func.func @bf16(%x: tensor<24xbf16> {weft.name = "x"}) -> (tensor<2x3xbf16> {weft.name = "y"}, tensor<3xbf16> {weft.name = "z"}) {
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %c20 = arith.constant 20 : index
  %a = tensor.extract %x[%c9] : tensor<24xbf16>
  %b = tensor.extract %x[%c10] : tensor<24xbf16>
  %c = tensor.extract %x[%c20] : tensor<24xbf16>
  %e = tensor.empty() : tensor<2x3xbf16>
  %y = linalg.fill ins(%b : bf16) outs(%e : tensor<2x3xbf16>) -> tensor<2x3xbf16>
  %z = tensor.from_elements %c, %b, %a : tensor<3xbf16>
  return %y, %z : tensor<2x3xbf16>, tensor<3xbf16>
}

// -----

func.func @f32(%x: tensor<24xf32> {weft.name = "x"}) -> (tensor<2x3xf32> {weft.name = "y"}, tensor<3xf32> {weft.name = "z"}) {
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %c20 = arith.constant 20 : index
  %a = tensor.extract %x[%c9] : tensor<24xf32>
  %b = tensor.extract %x[%c10] : tensor<24xf32>
  %c = tensor.extract %x[%c20] : tensor<24xf32>
  %e = tensor.empty() : tensor<2x3xf32>
  %y = linalg.fill ins(%b : f32) outs(%e : tensor<2x3xf32>) -> tensor<2x3xf32>
  %z = tensor.from_elements %c, %b, %a : tensor<3xf32>
  return %y, %z : tensor<2x3xf32>, tensor<3xf32>
}

// -----

func.func @f64(%x: tensor<24xf64> {weft.name = "x"}) -> (tensor<2x3xf64> {weft.name = "y"}, tensor<3xf64> {weft.name = "z"}) {
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %c20 = arith.constant 20 : index
  %a = tensor.extract %x[%c9] : tensor<24xf64>
  %b = tensor.extract %x[%c10] : tensor<24xf64>
  %c = tensor.extract %x[%c20] : tensor<24xf64>
  %e = tensor.empty() : tensor<2x3xf64>
  %y = linalg.fill ins(%b : f64) outs(%e : tensor<2x3xf64>) -> tensor<2x3xf64>
  %z = tensor.from_elements %c, %b, %a : tensor<3xf64>
  return %y, %z : tensor<2x3xf64>, tensor<3xf64>
}
