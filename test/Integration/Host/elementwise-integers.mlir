// RUN: %native %s --values special

// Each op on all pairs of special values, as the ODS of arith and math says.

func.func @on_i32(%a: tensor<81xi32> {weft.name = "a"}, %b: tensor<81xi32> {weft.name = "b"})
    -> (tensor<81xi32> {weft.name = "addi"},
        tensor<81xi32> {weft.name = "subi"},
        tensor<81xi32> {weft.name = "muli"},
        tensor<81xi32> {weft.name = "maxsi"},
        tensor<81xi32> {weft.name = "minsi"},
        tensor<81xi32> {weft.name = "andi"},
        tensor<81xi32> {weft.name = "ori"},
        tensor<81xi32> {weft.name = "xori"},
        tensor<81xi32> {weft.name = "shli"},
        tensor<81xi32> {weft.name = "shrsi"},
        tensor<81xi32> {weft.name = "shrui"},
        tensor<81xi32> {weft.name = "divsi"},
        tensor<81xi32> {weft.name = "remsi"},
        tensor<81xi32> {weft.name = "divui"},
        tensor<81xi32> {weft.name = "remui"},
        tensor<81xi1> {weft.name = "eq"},
        tensor<81xi1> {weft.name = "ne"},
        tensor<81xi1> {weft.name = "slt"},
        tensor<81xi1> {weft.name = "sle"},
        tensor<81xi1> {weft.name = "sgt"},
        tensor<81xi1> {weft.name = "sge"},
        tensor<81xi1> {weft.name = "ult"},
        tensor<81xi1> {weft.name = "ule"},
        tensor<81xi1> {weft.name = "ugt"},
        tensor<81xi1> {weft.name = "uge"},
        tensor<81xf32> {weft.name = "single"},
        tensor<81xf32> {weft.name = "unsigned"},
        tensor<81xi64> {weft.name = "signed"},
        tensor<81xi64> {weft.name = "zeros"},
        tensor<81xi8> {weft.name = "low"}) {
  %seven = arith.constant dense<7> : tensor<81xi32>
  %one = arith.constant dense<1> : tensor<81xi32>
  %n = arith.andi %b, %seven : tensor<81xi32>
  %d = arith.ori %n, %one : tensor<81xi32>
  %addi = arith.addi %a, %b : tensor<81xi32>
  %subi = arith.subi %a, %b : tensor<81xi32>
  %muli = arith.muli %a, %b : tensor<81xi32>
  %maxsi = arith.maxsi %a, %b : tensor<81xi32>
  %minsi = arith.minsi %a, %b : tensor<81xi32>
  %andi = arith.andi %a, %b : tensor<81xi32>
  %ori = arith.ori %a, %b : tensor<81xi32>
  %xori = arith.xori %a, %b : tensor<81xi32>
  %shli = arith.shli %a, %n : tensor<81xi32>
  %shrsi = arith.shrsi %a, %n : tensor<81xi32>
  %shrui = arith.shrui %a, %n : tensor<81xi32>
  %divsi = arith.divsi %a, %d : tensor<81xi32>
  %remsi = arith.remsi %a, %d : tensor<81xi32>
  %divui = arith.divui %a, %d : tensor<81xi32>
  %remui = arith.remui %a, %d : tensor<81xi32>
  %eq = arith.cmpi eq, %a, %b : tensor<81xi32>
  %ne = arith.cmpi ne, %a, %b : tensor<81xi32>
  %slt = arith.cmpi slt, %a, %b : tensor<81xi32>
  %sle = arith.cmpi sle, %a, %b : tensor<81xi32>
  %sgt = arith.cmpi sgt, %a, %b : tensor<81xi32>
  %sge = arith.cmpi sge, %a, %b : tensor<81xi32>
  %ult = arith.cmpi ult, %a, %b : tensor<81xi32>
  %ule = arith.cmpi ule, %a, %b : tensor<81xi32>
  %ugt = arith.cmpi ugt, %a, %b : tensor<81xi32>
  %uge = arith.cmpi uge, %a, %b : tensor<81xi32>
  %single = arith.sitofp %a : tensor<81xi32> to tensor<81xf32>
  %unsigned = arith.uitofp %a : tensor<81xi32> to tensor<81xf32>
  %signed = arith.extsi %a : tensor<81xi32> to tensor<81xi64>
  %zeros = arith.extui %a : tensor<81xi32> to tensor<81xi64>
  %low = arith.trunci %a : tensor<81xi32> to tensor<81xi8>
  return %addi, %subi, %muli, %maxsi, %minsi, %andi, %ori, %xori, %shli, %shrsi, %shrui, %divsi, %remsi, %divui, %remui, %eq, %ne, %slt, %sle, %sgt, %sge, %ult, %ule, %ugt, %uge, %single, %unsigned, %signed, %zeros, %low
      : tensor<81xi32>, tensor<81xi32>, tensor<81xi32>, tensor<81xi32>, tensor<81xi32>, tensor<81xi32>, tensor<81xi32>, tensor<81xi32>, tensor<81xi32>, tensor<81xi32>, tensor<81xi32>, tensor<81xi32>, tensor<81xi32>, tensor<81xi32>, tensor<81xi32>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xf32>, tensor<81xf32>, tensor<81xi64>, tensor<81xi64>, tensor<81xi8>
}

// -----

func.func @on_i8(%a: tensor<81xi8> {weft.name = "a"}, %b: tensor<81xi8> {weft.name = "b"})
    -> (tensor<81xi8> {weft.name = "addi"},
        tensor<81xi8> {weft.name = "subi"},
        tensor<81xi8> {weft.name = "muli"},
        tensor<81xi8> {weft.name = "maxsi"},
        tensor<81xi8> {weft.name = "minsi"},
        tensor<81xi8> {weft.name = "andi"},
        tensor<81xi8> {weft.name = "ori"},
        tensor<81xi8> {weft.name = "xori"},
        tensor<81xi8> {weft.name = "shli"},
        tensor<81xi8> {weft.name = "shrsi"},
        tensor<81xi8> {weft.name = "shrui"},
        tensor<81xi8> {weft.name = "divsi"},
        tensor<81xi8> {weft.name = "remsi"},
        tensor<81xi8> {weft.name = "divui"},
        tensor<81xi8> {weft.name = "remui"},
        tensor<81xi1> {weft.name = "eq"},
        tensor<81xi1> {weft.name = "ne"},
        tensor<81xi1> {weft.name = "slt"},
        tensor<81xi1> {weft.name = "sle"},
        tensor<81xi1> {weft.name = "sgt"},
        tensor<81xi1> {weft.name = "sge"},
        tensor<81xi1> {weft.name = "ult"},
        tensor<81xi1> {weft.name = "ule"},
        tensor<81xi1> {weft.name = "ugt"},
        tensor<81xi1> {weft.name = "uge"},
        tensor<81xf32> {weft.name = "single"},
        tensor<81xf32> {weft.name = "unsigned"},
        tensor<81xi64> {weft.name = "signed"},
        tensor<81xi64> {weft.name = "zeros"}) {
  %seven = arith.constant dense<7> : tensor<81xi8>
  %one = arith.constant dense<1> : tensor<81xi8>
  %n = arith.andi %b, %seven : tensor<81xi8>
  %d = arith.ori %n, %one : tensor<81xi8>
  %addi = arith.addi %a, %b : tensor<81xi8>
  %subi = arith.subi %a, %b : tensor<81xi8>
  %muli = arith.muli %a, %b : tensor<81xi8>
  %maxsi = arith.maxsi %a, %b : tensor<81xi8>
  %minsi = arith.minsi %a, %b : tensor<81xi8>
  %andi = arith.andi %a, %b : tensor<81xi8>
  %ori = arith.ori %a, %b : tensor<81xi8>
  %xori = arith.xori %a, %b : tensor<81xi8>
  %shli = arith.shli %a, %n : tensor<81xi8>
  %shrsi = arith.shrsi %a, %n : tensor<81xi8>
  %shrui = arith.shrui %a, %n : tensor<81xi8>
  %divsi = arith.divsi %a, %d : tensor<81xi8>
  %remsi = arith.remsi %a, %d : tensor<81xi8>
  %divui = arith.divui %a, %d : tensor<81xi8>
  %remui = arith.remui %a, %d : tensor<81xi8>
  %eq = arith.cmpi eq, %a, %b : tensor<81xi8>
  %ne = arith.cmpi ne, %a, %b : tensor<81xi8>
  %slt = arith.cmpi slt, %a, %b : tensor<81xi8>
  %sle = arith.cmpi sle, %a, %b : tensor<81xi8>
  %sgt = arith.cmpi sgt, %a, %b : tensor<81xi8>
  %sge = arith.cmpi sge, %a, %b : tensor<81xi8>
  %ult = arith.cmpi ult, %a, %b : tensor<81xi8>
  %ule = arith.cmpi ule, %a, %b : tensor<81xi8>
  %ugt = arith.cmpi ugt, %a, %b : tensor<81xi8>
  %uge = arith.cmpi uge, %a, %b : tensor<81xi8>
  %single = arith.sitofp %a : tensor<81xi8> to tensor<81xf32>
  %unsigned = arith.uitofp %a : tensor<81xi8> to tensor<81xf32>
  %signed = arith.extsi %a : tensor<81xi8> to tensor<81xi64>
  %zeros = arith.extui %a : tensor<81xi8> to tensor<81xi64>
  return %addi, %subi, %muli, %maxsi, %minsi, %andi, %ori, %xori, %shli, %shrsi, %shrui, %divsi, %remsi, %divui, %remui, %eq, %ne, %slt, %sle, %sgt, %sge, %ult, %ule, %ugt, %uge, %single, %unsigned, %signed, %zeros
      : tensor<81xi8>, tensor<81xi8>, tensor<81xi8>, tensor<81xi8>, tensor<81xi8>, tensor<81xi8>, tensor<81xi8>, tensor<81xi8>, tensor<81xi8>, tensor<81xi8>, tensor<81xi8>, tensor<81xi8>, tensor<81xi8>, tensor<81xi8>, tensor<81xi8>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xf32>, tensor<81xf32>, tensor<81xi64>, tensor<81xi64>
}

// -----

func.func @on_i64(%a: tensor<81xi64> {weft.name = "a"}, %b: tensor<81xi64> {weft.name = "b"})
    -> (tensor<81xi64> {weft.name = "addi"},
        tensor<81xi64> {weft.name = "subi"},
        tensor<81xi64> {weft.name = "muli"},
        tensor<81xi64> {weft.name = "maxsi"},
        tensor<81xi64> {weft.name = "minsi"},
        tensor<81xi64> {weft.name = "andi"},
        tensor<81xi64> {weft.name = "ori"},
        tensor<81xi64> {weft.name = "xori"},
        tensor<81xi64> {weft.name = "shli"},
        tensor<81xi64> {weft.name = "shrsi"},
        tensor<81xi64> {weft.name = "shrui"},
        tensor<81xi64> {weft.name = "divsi"},
        tensor<81xi64> {weft.name = "remsi"},
        tensor<81xi64> {weft.name = "divui"},
        tensor<81xi64> {weft.name = "remui"},
        tensor<81xi1> {weft.name = "eq"},
        tensor<81xi1> {weft.name = "ne"},
        tensor<81xi1> {weft.name = "slt"},
        tensor<81xi1> {weft.name = "sle"},
        tensor<81xi1> {weft.name = "sgt"},
        tensor<81xi1> {weft.name = "sge"},
        tensor<81xi1> {weft.name = "ult"},
        tensor<81xi1> {weft.name = "ule"},
        tensor<81xi1> {weft.name = "ugt"},
        tensor<81xi1> {weft.name = "uge"},
        tensor<81xf32> {weft.name = "single"},
        tensor<81xf32> {weft.name = "unsigned"},
        tensor<81xi8> {weft.name = "low"}) {
  %seven = arith.constant dense<7> : tensor<81xi64>
  %one = arith.constant dense<1> : tensor<81xi64>
  %n = arith.andi %b, %seven : tensor<81xi64>
  %d = arith.ori %n, %one : tensor<81xi64>
  %addi = arith.addi %a, %b : tensor<81xi64>
  %subi = arith.subi %a, %b : tensor<81xi64>
  %muli = arith.muli %a, %b : tensor<81xi64>
  %maxsi = arith.maxsi %a, %b : tensor<81xi64>
  %minsi = arith.minsi %a, %b : tensor<81xi64>
  %andi = arith.andi %a, %b : tensor<81xi64>
  %ori = arith.ori %a, %b : tensor<81xi64>
  %xori = arith.xori %a, %b : tensor<81xi64>
  %shli = arith.shli %a, %n : tensor<81xi64>
  %shrsi = arith.shrsi %a, %n : tensor<81xi64>
  %shrui = arith.shrui %a, %n : tensor<81xi64>
  %divsi = arith.divsi %a, %d : tensor<81xi64>
  %remsi = arith.remsi %a, %d : tensor<81xi64>
  %divui = arith.divui %a, %d : tensor<81xi64>
  %remui = arith.remui %a, %d : tensor<81xi64>
  %eq = arith.cmpi eq, %a, %b : tensor<81xi64>
  %ne = arith.cmpi ne, %a, %b : tensor<81xi64>
  %slt = arith.cmpi slt, %a, %b : tensor<81xi64>
  %sle = arith.cmpi sle, %a, %b : tensor<81xi64>
  %sgt = arith.cmpi sgt, %a, %b : tensor<81xi64>
  %sge = arith.cmpi sge, %a, %b : tensor<81xi64>
  %ult = arith.cmpi ult, %a, %b : tensor<81xi64>
  %ule = arith.cmpi ule, %a, %b : tensor<81xi64>
  %ugt = arith.cmpi ugt, %a, %b : tensor<81xi64>
  %uge = arith.cmpi uge, %a, %b : tensor<81xi64>
  %single = arith.sitofp %a : tensor<81xi64> to tensor<81xf32>
  %unsigned = arith.uitofp %a : tensor<81xi64> to tensor<81xf32>
  %low = arith.trunci %a : tensor<81xi64> to tensor<81xi8>
  return %addi, %subi, %muli, %maxsi, %minsi, %andi, %ori, %xori, %shli, %shrsi, %shrui, %divsi, %remsi, %divui, %remui, %eq, %ne, %slt, %sle, %sgt, %sge, %ult, %ule, %ugt, %uge, %single, %unsigned, %low
      : tensor<81xi64>, tensor<81xi64>, tensor<81xi64>, tensor<81xi64>, tensor<81xi64>, tensor<81xi64>, tensor<81xi64>, tensor<81xi64>, tensor<81xi64>, tensor<81xi64>, tensor<81xi64>, tensor<81xi64>, tensor<81xi64>, tensor<81xi64>, tensor<81xi64>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xi1>, tensor<81xf32>, tensor<81xf32>, tensor<81xi8>
}

// -----

func.func @on_i1(%a: tensor<4xi1> {weft.name = "a"}, %b: tensor<4xi1> {weft.name = "b"})
    -> (tensor<4xi1> {weft.name = "and"}, tensor<4xi1> {weft.name = "or"}, tensor<4xi1> {weft.name = "xor"},
        tensor<4xi32> {weft.name = "wide"}, tensor<4xf32> {weft.name = "float"}, tensor<4xi1> {weft.name = "chosen"}) {
  %and = arith.andi %a, %b : tensor<4xi1>
  %or = arith.ori %a, %b : tensor<4xi1>
  %xor = arith.xori %a, %b : tensor<4xi1>
  %wide = arith.extui %a : tensor<4xi1> to tensor<4xi32>
  %float = arith.uitofp %a : tensor<4xi1> to tensor<4xf32>
  %chosen = arith.select %a, %b, %xor : tensor<4xi1>, tensor<4xi1>
  return %and, %or, %xor, %wide, %float, %chosen
      : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi32>, tensor<4xf32>, tensor<4xi1>
}
