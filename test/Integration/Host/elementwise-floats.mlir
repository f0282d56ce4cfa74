// RUN: %native %s --values special

// Each op on all pairs of special values, as the ODS of arith and math says.

func.func @on_f32(%a: tensor<441xf32> {weft.name = "a"}, %b: tensor<441xf32> {weft.name = "b"})
    -> (tensor<441xf32> {weft.name = "addf"},
        tensor<441xf32> {weft.name = "subf"},
        tensor<441xf32> {weft.name = "mulf"},
        tensor<441xf32> {weft.name = "divf"},
        tensor<441xf32> {weft.name = "maximumf"},
        tensor<441xf32> {weft.name = "minimumf"},
        tensor<441xf32> {weft.name = "remf"},
        tensor<441xf32> {weft.name = "negf"},
        tensor<441xf32> {weft.name = "absf"},
        tensor<441xf32> {weft.name = "sqrt"},
        tensor<441xi1> {weft.name = "oeq"},
        tensor<441xi1> {weft.name = "ogt"},
        tensor<441xi1> {weft.name = "oge"},
        tensor<441xi1> {weft.name = "olt"},
        tensor<441xi1> {weft.name = "ole"},
        tensor<441xi1> {weft.name = "one"},
        tensor<441xi1> {weft.name = "ord"},
        tensor<441xi1> {weft.name = "ueq"},
        tensor<441xi1> {weft.name = "ugt"},
        tensor<441xi1> {weft.name = "uge"},
        tensor<441xi1> {weft.name = "ult"},
        tensor<441xi1> {weft.name = "ule"},
        tensor<441xi1> {weft.name = "une"},
        tensor<441xi1> {weft.name = "uno"},
        tensor<441xf32> {weft.name = "chosen"},
        tensor<441xf16> {weft.name = "half"},
        tensor<441xbf16> {weft.name = "brain"},
        tensor<441xf64> {weft.name = "wide"},
        tensor<441xf32> {weft.name = "double"},
        tensor<441xf32> {weft.name = "none"},
        tensor<441xf32> {weft.name = "whole"}) {
  %addf = arith.addf %a, %b : tensor<441xf32>
  %subf = arith.subf %a, %b : tensor<441xf32>
  %mulf = arith.mulf %a, %b : tensor<441xf32>
  %divf = arith.divf %a, %b : tensor<441xf32>
  %maximumf = arith.maximumf %a, %b : tensor<441xf32>
  %minimumf = arith.minimumf %a, %b : tensor<441xf32>
  %remf = arith.remf %a, %b : tensor<441xf32>
  %negf = arith.negf %a : tensor<441xf32>
  %absf = math.absf %a : tensor<441xf32>
  %sqrt = math.sqrt %a : tensor<441xf32>
  %oeq = arith.cmpf oeq, %a, %b : tensor<441xf32>
  %ogt = arith.cmpf ogt, %a, %b : tensor<441xf32>
  %oge = arith.cmpf oge, %a, %b : tensor<441xf32>
  %olt = arith.cmpf olt, %a, %b : tensor<441xf32>
  %ole = arith.cmpf ole, %a, %b : tensor<441xf32>
  %one = arith.cmpf one, %a, %b : tensor<441xf32>
  %ord = arith.cmpf ord, %a, %b : tensor<441xf32>
  %ueq = arith.cmpf ueq, %a, %b : tensor<441xf32>
  %ugt = arith.cmpf ugt, %a, %b : tensor<441xf32>
  %uge = arith.cmpf uge, %a, %b : tensor<441xf32>
  %ult = arith.cmpf ult, %a, %b : tensor<441xf32>
  %ule = arith.cmpf ule, %a, %b : tensor<441xf32>
  %une = arith.cmpf une, %a, %b : tensor<441xf32>
  %uno = arith.cmpf uno, %a, %b : tensor<441xf32>
  %chosen = arith.select %olt, %a, %b : tensor<441xi1>, tensor<441xf32>
  %half = arith.truncf %a : tensor<441xf32> to tensor<441xf16>
  %brain = arith.truncf %a : tensor<441xf32> to tensor<441xbf16>
  %wide = arith.extf %a : tensor<441xf32> to tensor<441xf64>
  %double = arith.addf %a, %a : tensor<441xf32>
  %none = arith.subf %a, %a : tensor<441xf32>
  %whole = arith.divf %a, %a : tensor<441xf32>
  return %addf, %subf, %mulf, %divf, %maximumf, %minimumf, %remf, %negf, %absf, %sqrt, %oeq, %ogt, %oge, %olt, %ole, %one, %ord, %ueq, %ugt, %uge, %ult, %ule, %une, %uno, %chosen, %half, %brain, %wide, %double, %none, %whole
      : tensor<441xf32>, tensor<441xf32>, tensor<441xf32>, tensor<441xf32>, tensor<441xf32>, tensor<441xf32>, tensor<441xf32>, tensor<441xf32>, tensor<441xf32>, tensor<441xf32>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xf32>, tensor<441xf16>, tensor<441xbf16>, tensor<441xf64>, tensor<441xf32>, tensor<441xf32>, tensor<441xf32>
}

// -----

func.func @on_f64(%a: tensor<441xf64> {weft.name = "a"}, %b: tensor<441xf64> {weft.name = "b"})
    -> (tensor<441xf64> {weft.name = "addf"},
        tensor<441xf64> {weft.name = "subf"},
        tensor<441xf64> {weft.name = "mulf"},
        tensor<441xf64> {weft.name = "divf"},
        tensor<441xf64> {weft.name = "maximumf"},
        tensor<441xf64> {weft.name = "minimumf"},
        tensor<441xf64> {weft.name = "remf"},
        tensor<441xf64> {weft.name = "negf"},
        tensor<441xf64> {weft.name = "absf"},
        tensor<441xf64> {weft.name = "sqrt"},
        tensor<441xi1> {weft.name = "oeq"},
        tensor<441xi1> {weft.name = "ogt"},
        tensor<441xi1> {weft.name = "oge"},
        tensor<441xi1> {weft.name = "olt"},
        tensor<441xi1> {weft.name = "ole"},
        tensor<441xi1> {weft.name = "one"},
        tensor<441xi1> {weft.name = "ord"},
        tensor<441xi1> {weft.name = "ueq"},
        tensor<441xi1> {weft.name = "ugt"},
        tensor<441xi1> {weft.name = "uge"},
        tensor<441xi1> {weft.name = "ult"},
        tensor<441xi1> {weft.name = "ule"},
        tensor<441xi1> {weft.name = "une"},
        tensor<441xi1> {weft.name = "uno"},
        tensor<441xf64> {weft.name = "chosen"}) {
  %addf = arith.addf %a, %b : tensor<441xf64>
  %subf = arith.subf %a, %b : tensor<441xf64>
  %mulf = arith.mulf %a, %b : tensor<441xf64>
  %divf = arith.divf %a, %b : tensor<441xf64>
  %maximumf = arith.maximumf %a, %b : tensor<441xf64>
  %minimumf = arith.minimumf %a, %b : tensor<441xf64>
  %remf = arith.remf %a, %b : tensor<441xf64>
  %negf = arith.negf %a : tensor<441xf64>
  %absf = math.absf %a : tensor<441xf64>
  %sqrt = math.sqrt %a : tensor<441xf64>
  %oeq = arith.cmpf oeq, %a, %b : tensor<441xf64>
  %ogt = arith.cmpf ogt, %a, %b : tensor<441xf64>
  %oge = arith.cmpf oge, %a, %b : tensor<441xf64>
  %olt = arith.cmpf olt, %a, %b : tensor<441xf64>
  %ole = arith.cmpf ole, %a, %b : tensor<441xf64>
  %one = arith.cmpf one, %a, %b : tensor<441xf64>
  %ord = arith.cmpf ord, %a, %b : tensor<441xf64>
  %ueq = arith.cmpf ueq, %a, %b : tensor<441xf64>
  %ugt = arith.cmpf ugt, %a, %b : tensor<441xf64>
  %uge = arith.cmpf uge, %a, %b : tensor<441xf64>
  %ult = arith.cmpf ult, %a, %b : tensor<441xf64>
  %ule = arith.cmpf ule, %a, %b : tensor<441xf64>
  %une = arith.cmpf une, %a, %b : tensor<441xf64>
  %uno = arith.cmpf uno, %a, %b : tensor<441xf64>
  %chosen = arith.select %olt, %a, %b : tensor<441xi1>, tensor<441xf64>
  return %addf, %subf, %mulf, %divf, %maximumf, %minimumf, %remf, %negf, %absf, %sqrt, %oeq, %ogt, %oge, %olt, %ole, %one, %ord, %ueq, %ugt, %uge, %ult, %ule, %une, %uno, %chosen
      : tensor<441xf64>, tensor<441xf64>, tensor<441xf64>, tensor<441xf64>, tensor<441xf64>, tensor<441xf64>, tensor<441xf64>, tensor<441xf64>, tensor<441xf64>, tensor<441xf64>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xf64>
}

// -----

func.func @on_f16(%a: tensor<441xf16> {weft.name = "a"}, %b: tensor<441xf16> {weft.name = "b"})
    -> (tensor<441xf16> {weft.name = "addf"},
        tensor<441xf16> {weft.name = "subf"},
        tensor<441xf16> {weft.name = "mulf"},
        tensor<441xf16> {weft.name = "divf"},
        tensor<441xf16> {weft.name = "maximumf"},
        tensor<441xf16> {weft.name = "minimumf"},
        tensor<441xf16> {weft.name = "negf"},
        tensor<441xf16> {weft.name = "absf"},
        tensor<441xi1> {weft.name = "oeq"},
        tensor<441xi1> {weft.name = "ogt"},
        tensor<441xi1> {weft.name = "oge"},
        tensor<441xi1> {weft.name = "olt"},
        tensor<441xi1> {weft.name = "ole"},
        tensor<441xi1> {weft.name = "one"},
        tensor<441xi1> {weft.name = "ord"},
        tensor<441xi1> {weft.name = "ueq"},
        tensor<441xi1> {weft.name = "ugt"},
        tensor<441xi1> {weft.name = "uge"},
        tensor<441xi1> {weft.name = "ult"},
        tensor<441xi1> {weft.name = "ule"},
        tensor<441xi1> {weft.name = "une"},
        tensor<441xi1> {weft.name = "uno"},
        tensor<441xf16> {weft.name = "chosen"}) {
  %addf = arith.addf %a, %b : tensor<441xf16>
  %subf = arith.subf %a, %b : tensor<441xf16>
  %mulf = arith.mulf %a, %b : tensor<441xf16>
  %divf = arith.divf %a, %b : tensor<441xf16>
  %maximumf = arith.maximumf %a, %b : tensor<441xf16>
  %minimumf = arith.minimumf %a, %b : tensor<441xf16>
  %negf = arith.negf %a : tensor<441xf16>
  %absf = math.absf %a : tensor<441xf16>
  %oeq = arith.cmpf oeq, %a, %b : tensor<441xf16>
  %ogt = arith.cmpf ogt, %a, %b : tensor<441xf16>
  %oge = arith.cmpf oge, %a, %b : tensor<441xf16>
  %olt = arith.cmpf olt, %a, %b : tensor<441xf16>
  %ole = arith.cmpf ole, %a, %b : tensor<441xf16>
  %one = arith.cmpf one, %a, %b : tensor<441xf16>
  %ord = arith.cmpf ord, %a, %b : tensor<441xf16>
  %ueq = arith.cmpf ueq, %a, %b : tensor<441xf16>
  %ugt = arith.cmpf ugt, %a, %b : tensor<441xf16>
  %uge = arith.cmpf uge, %a, %b : tensor<441xf16>
  %ult = arith.cmpf ult, %a, %b : tensor<441xf16>
  %ule = arith.cmpf ule, %a, %b : tensor<441xf16>
  %une = arith.cmpf une, %a, %b : tensor<441xf16>
  %uno = arith.cmpf uno, %a, %b : tensor<441xf16>
  %chosen = arith.select %olt, %a, %b : tensor<441xi1>, tensor<441xf16>
  return %addf, %subf, %mulf, %divf, %maximumf, %minimumf, %negf, %absf, %oeq, %ogt, %oge, %olt, %ole, %one, %ord, %ueq, %ugt, %uge, %ult, %ule, %une, %uno, %chosen
      : tensor<441xf16>, tensor<441xf16>, tensor<441xf16>, tensor<441xf16>, tensor<441xf16>, tensor<441xf16>, tensor<441xf16>, tensor<441xf16>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xf16>
}

// -----

func.func @on_bf16(%a: tensor<441xbf16> {weft.name = "a"}, %b: tensor<441xbf16> {weft.name = "b"})
    -> (tensor<441xbf16> {weft.name = "addf"},
        tensor<441xbf16> {weft.name = "subf"},
        tensor<441xbf16> {weft.name = "mulf"},
        tensor<441xbf16> {weft.name = "divf"},
        tensor<441xbf16> {weft.name = "maximumf"},
        tensor<441xbf16> {weft.name = "minimumf"},
        tensor<441xbf16> {weft.name = "negf"},
        tensor<441xbf16> {weft.name = "absf"},
        tensor<441xbf16> {weft.name = "sqrt"},
        tensor<441xi1> {weft.name = "oeq"},
        tensor<441xi1> {weft.name = "ogt"},
        tensor<441xi1> {weft.name = "oge"},
        tensor<441xi1> {weft.name = "olt"},
        tensor<441xi1> {weft.name = "ole"},
        tensor<441xi1> {weft.name = "one"},
        tensor<441xi1> {weft.name = "ord"},
        tensor<441xi1> {weft.name = "ueq"},
        tensor<441xi1> {weft.name = "ugt"},
        tensor<441xi1> {weft.name = "uge"},
        tensor<441xi1> {weft.name = "ult"},
        tensor<441xi1> {weft.name = "ule"},
        tensor<441xi1> {weft.name = "une"},
        tensor<441xi1> {weft.name = "uno"},
        tensor<441xbf16> {weft.name = "chosen"}) {
  %addf = arith.addf %a, %b : tensor<441xbf16>
  %subf = arith.subf %a, %b : tensor<441xbf16>
  %mulf = arith.mulf %a, %b : tensor<441xbf16>
  %divf = arith.divf %a, %b : tensor<441xbf16>
  %maximumf = arith.maximumf %a, %b : tensor<441xbf16>
  %minimumf = arith.minimumf %a, %b : tensor<441xbf16>
  %negf = arith.negf %a : tensor<441xbf16>
  %absf = math.absf %a : tensor<441xbf16>
  %sqrt = math.sqrt %a : tensor<441xbf16>
  %oeq = arith.cmpf oeq, %a, %b : tensor<441xbf16>
  %ogt = arith.cmpf ogt, %a, %b : tensor<441xbf16>
  %oge = arith.cmpf oge, %a, %b : tensor<441xbf16>
  %olt = arith.cmpf olt, %a, %b : tensor<441xbf16>
  %ole = arith.cmpf ole, %a, %b : tensor<441xbf16>
  %one = arith.cmpf one, %a, %b : tensor<441xbf16>
  %ord = arith.cmpf ord, %a, %b : tensor<441xbf16>
  %ueq = arith.cmpf ueq, %a, %b : tensor<441xbf16>
  %ugt = arith.cmpf ugt, %a, %b : tensor<441xbf16>
  %uge = arith.cmpf uge, %a, %b : tensor<441xbf16>
  %ult = arith.cmpf ult, %a, %b : tensor<441xbf16>
  %ule = arith.cmpf ule, %a, %b : tensor<441xbf16>
  %une = arith.cmpf une, %a, %b : tensor<441xbf16>
  %uno = arith.cmpf uno, %a, %b : tensor<441xbf16>
  %chosen = arith.select %olt, %a, %b : tensor<441xi1>, tensor<441xbf16>
  return %addf, %subf, %mulf, %divf, %maximumf, %minimumf, %negf, %absf, %sqrt, %oeq, %ogt, %oge, %olt, %ole, %one, %ord, %ueq, %ugt, %uge, %ult, %ule, %une, %uno, %chosen
      : tensor<441xbf16>, tensor<441xbf16>, tensor<441xbf16>, tensor<441xbf16>, tensor<441xbf16>, tensor<441xbf16>, tensor<441xbf16>, tensor<441xbf16>, tensor<441xbf16>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xi1>, tensor<441xbf16>
}
