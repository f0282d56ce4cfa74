// RUN: %native %s --values special --cpus x86-64-v2,x86-64-v3

// Operands for which LLVM and CPUs have no common answer: all pairs of special
// values, with zero divisors, shifts by the width and more, and floats that no
// integer holds.

func.func @on_i8(%a: tensor<81xi8> {weft.name = "a"}, %b: tensor<81xi8> {weft.name = "b"})
    -> (tensor<81xi8> {weft.name = "shli"},
        tensor<81xi8> {weft.name = "shrsi"},
        tensor<81xi8> {weft.name = "shrui"},
        tensor<81xi8> {weft.name = "divsi"},
        tensor<81xi8> {weft.name = "divui"},
        tensor<81xi8> {weft.name = "remsi"},
        tensor<81xi8> {weft.name = "remui"},
        tensor<81xi8> {weft.name = "floordivsi"},
        tensor<81xi8> {weft.name = "ceildivsi"},
        tensor<81xi8> {weft.name = "ceildivui"}) {
  %shli = arith.shli %a, %b : tensor<81xi8>
  %shrsi = arith.shrsi %a, %b : tensor<81xi8>
  %shrui = arith.shrui %a, %b : tensor<81xi8>
  %divsi = arith.divsi %a, %b : tensor<81xi8>
  %divui = arith.divui %a, %b : tensor<81xi8>
  %remsi = arith.remsi %a, %b : tensor<81xi8>
  %remui = arith.remui %a, %b : tensor<81xi8>
  %floordivsi = arith.floordivsi %a, %b : tensor<81xi8>
  %ceildivsi = arith.ceildivsi %a, %b : tensor<81xi8>
  %ceildivui = arith.ceildivui %a, %b : tensor<81xi8>
  return %shli, %shrsi, %shrui, %divsi, %divui, %remsi, %remui, %floordivsi, %ceildivsi, %ceildivui : tensor<81xi8>, tensor<81xi8>, tensor<81xi8>, tensor<81xi8>, tensor<81xi8>, tensor<81xi8>, tensor<81xi8>, tensor<81xi8>, tensor<81xi8>, tensor<81xi8>
}

// -----

func.func @on_i32(%a: tensor<81xi32> {weft.name = "a"}, %b: tensor<81xi32> {weft.name = "b"})
    -> (tensor<81xi32> {weft.name = "shli"},
        tensor<81xi32> {weft.name = "shrsi"},
        tensor<81xi32> {weft.name = "shrui"},
        tensor<81xi32> {weft.name = "divsi"},
        tensor<81xi32> {weft.name = "divui"},
        tensor<81xi32> {weft.name = "remsi"},
        tensor<81xi32> {weft.name = "remui"},
        tensor<81xi32> {weft.name = "floordivsi"},
        tensor<81xi32> {weft.name = "ceildivsi"},
        tensor<81xi32> {weft.name = "ceildivui"}) {
  %shli = arith.shli %a, %b : tensor<81xi32>
  %shrsi = arith.shrsi %a, %b : tensor<81xi32>
  %shrui = arith.shrui %a, %b : tensor<81xi32>
  %divsi = arith.divsi %a, %b : tensor<81xi32>
  %divui = arith.divui %a, %b : tensor<81xi32>
  %remsi = arith.remsi %a, %b : tensor<81xi32>
  %remui = arith.remui %a, %b : tensor<81xi32>
  %floordivsi = arith.floordivsi %a, %b : tensor<81xi32>
  %ceildivsi = arith.ceildivsi %a, %b : tensor<81xi32>
  %ceildivui = arith.ceildivui %a, %b : tensor<81xi32>
  return %shli, %shrsi, %shrui, %divsi, %divui, %remsi, %remui, %floordivsi, %ceildivsi, %ceildivui : tensor<81xi32>, tensor<81xi32>, tensor<81xi32>, tensor<81xi32>, tensor<81xi32>, tensor<81xi32>, tensor<81xi32>, tensor<81xi32>, tensor<81xi32>, tensor<81xi32>
}

// -----

func.func @on_i64(%a: tensor<81xi64> {weft.name = "a"}, %b: tensor<81xi64> {weft.name = "b"})
    -> (tensor<81xi64> {weft.name = "shli"},
        tensor<81xi64> {weft.name = "shrsi"},
        tensor<81xi64> {weft.name = "shrui"},
        tensor<81xi64> {weft.name = "divsi"},
        tensor<81xi64> {weft.name = "divui"},
        tensor<81xi64> {weft.name = "remsi"},
        tensor<81xi64> {weft.name = "remui"},
        tensor<81xi64> {weft.name = "floordivsi"},
        tensor<81xi64> {weft.name = "ceildivsi"},
        tensor<81xi64> {weft.name = "ceildivui"}) {
  %shli = arith.shli %a, %b : tensor<81xi64>
  %shrsi = arith.shrsi %a, %b : tensor<81xi64>
  %shrui = arith.shrui %a, %b : tensor<81xi64>
  %divsi = arith.divsi %a, %b : tensor<81xi64>
  %divui = arith.divui %a, %b : tensor<81xi64>
  %remsi = arith.remsi %a, %b : tensor<81xi64>
  %remui = arith.remui %a, %b : tensor<81xi64>
  %floordivsi = arith.floordivsi %a, %b : tensor<81xi64>
  %ceildivsi = arith.ceildivsi %a, %b : tensor<81xi64>
  %ceildivui = arith.ceildivui %a, %b : tensor<81xi64>
  return %shli, %shrsi, %shrui, %divsi, %divui, %remsi, %remui, %floordivsi, %ceildivsi, %ceildivui : tensor<81xi64>, tensor<81xi64>, tensor<81xi64>, tensor<81xi64>, tensor<81xi64>, tensor<81xi64>, tensor<81xi64>, tensor<81xi64>, tensor<81xi64>, tensor<81xi64>
}

// -----

func.func @on_i1(%a: tensor<4xi1> {weft.name = "a"}, %b: tensor<4xi1> {weft.name = "b"})
    -> (tensor<4xi1> {weft.name = "shli"},
        tensor<4xi1> {weft.name = "shrsi"},
        tensor<4xi1> {weft.name = "shrui"},
        tensor<4xi1> {weft.name = "divsi"},
        tensor<4xi1> {weft.name = "divui"},
        tensor<4xi1> {weft.name = "remsi"},
        tensor<4xi1> {weft.name = "remui"},
        tensor<4xi1> {weft.name = "floordivsi"},
        tensor<4xi1> {weft.name = "ceildivsi"},
        tensor<4xi1> {weft.name = "ceildivui"}) {
  %shli = arith.shli %a, %b : tensor<4xi1>
  %shrsi = arith.shrsi %a, %b : tensor<4xi1>
  %shrui = arith.shrui %a, %b : tensor<4xi1>
  %divsi = arith.divsi %a, %b : tensor<4xi1>
  %divui = arith.divui %a, %b : tensor<4xi1>
  %remsi = arith.remsi %a, %b : tensor<4xi1>
  %remui = arith.remui %a, %b : tensor<4xi1>
  %floordivsi = arith.floordivsi %a, %b : tensor<4xi1>
  %ceildivsi = arith.ceildivsi %a, %b : tensor<4xi1>
  %ceildivui = arith.ceildivui %a, %b : tensor<4xi1>
  return %shli, %shrsi, %shrui, %divsi, %divui, %remsi, %remui, %floordivsi, %ceildivsi, %ceildivui : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// -----

func.func @of_f32(%x: tensor<21xf32> {weft.name = "x"})
    -> (tensor<21xi1> {weft.name = "si_i1"},
        tensor<21xi1> {weft.name = "ui_i1"},
        tensor<21xi8> {weft.name = "si_i8"},
        tensor<21xi8> {weft.name = "ui_i8"},
        tensor<21xi16> {weft.name = "si_i16"},
        tensor<21xi16> {weft.name = "ui_i16"},
        tensor<21xi32> {weft.name = "si_i32"},
        tensor<21xi32> {weft.name = "ui_i32"},
        tensor<21xi64> {weft.name = "si_i64"},
        tensor<21xi64> {weft.name = "ui_i64"}) {
  %si_i1 = arith.fptosi %x : tensor<21xf32> to tensor<21xi1>
  %ui_i1 = arith.fptoui %x : tensor<21xf32> to tensor<21xi1>
  %si_i8 = arith.fptosi %x : tensor<21xf32> to tensor<21xi8>
  %ui_i8 = arith.fptoui %x : tensor<21xf32> to tensor<21xi8>
  %si_i16 = arith.fptosi %x : tensor<21xf32> to tensor<21xi16>
  %ui_i16 = arith.fptoui %x : tensor<21xf32> to tensor<21xi16>
  %si_i32 = arith.fptosi %x : tensor<21xf32> to tensor<21xi32>
  %ui_i32 = arith.fptoui %x : tensor<21xf32> to tensor<21xi32>
  %si_i64 = arith.fptosi %x : tensor<21xf32> to tensor<21xi64>
  %ui_i64 = arith.fptoui %x : tensor<21xf32> to tensor<21xi64>
  return %si_i1, %ui_i1, %si_i8, %ui_i8, %si_i16, %ui_i16, %si_i32, %ui_i32, %si_i64, %ui_i64 : tensor<21xi1>, tensor<21xi1>, tensor<21xi8>, tensor<21xi8>, tensor<21xi16>, tensor<21xi16>, tensor<21xi32>, tensor<21xi32>, tensor<21xi64>, tensor<21xi64>
}

// -----

func.func @of_f64(%x: tensor<21xf64> {weft.name = "x"})
    -> (tensor<21xi1> {weft.name = "si_i1"},
        tensor<21xi1> {weft.name = "ui_i1"},
        tensor<21xi8> {weft.name = "si_i8"},
        tensor<21xi8> {weft.name = "ui_i8"},
        tensor<21xi16> {weft.name = "si_i16"},
        tensor<21xi16> {weft.name = "ui_i16"},
        tensor<21xi32> {weft.name = "si_i32"},
        tensor<21xi32> {weft.name = "ui_i32"},
        tensor<21xi64> {weft.name = "si_i64"},
        tensor<21xi64> {weft.name = "ui_i64"}) {
  %si_i1 = arith.fptosi %x : tensor<21xf64> to tensor<21xi1>
  %ui_i1 = arith.fptoui %x : tensor<21xf64> to tensor<21xi1>
  %si_i8 = arith.fptosi %x : tensor<21xf64> to tensor<21xi8>
  %ui_i8 = arith.fptoui %x : tensor<21xf64> to tensor<21xi8>
  %si_i16 = arith.fptosi %x : tensor<21xf64> to tensor<21xi16>
  %ui_i16 = arith.fptoui %x : tensor<21xf64> to tensor<21xi16>
  %si_i32 = arith.fptosi %x : tensor<21xf64> to tensor<21xi32>
  %ui_i32 = arith.fptoui %x : tensor<21xf64> to tensor<21xi32>
  %si_i64 = arith.fptosi %x : tensor<21xf64> to tensor<21xi64>
  %ui_i64 = arith.fptoui %x : tensor<21xf64> to tensor<21xi64>
  return %si_i1, %ui_i1, %si_i8, %ui_i8, %si_i16, %ui_i16, %si_i32, %ui_i32, %si_i64, %ui_i64 : tensor<21xi1>, tensor<21xi1>, tensor<21xi8>, tensor<21xi8>, tensor<21xi16>, tensor<21xi16>, tensor<21xi32>, tensor<21xi32>, tensor<21xi64>, tensor<21xi64>
}

// -----

func.func @of_f16(%x: tensor<21xf16> {weft.name = "x"})
    -> (tensor<21xi1> {weft.name = "si_i1"},
        tensor<21xi1> {weft.name = "ui_i1"},
        tensor<21xi8> {weft.name = "si_i8"},
        tensor<21xi8> {weft.name = "ui_i8"},
        tensor<21xi16> {weft.name = "si_i16"},
        tensor<21xi16> {weft.name = "ui_i16"},
        tensor<21xi32> {weft.name = "si_i32"},
        tensor<21xi32> {weft.name = "ui_i32"},
        tensor<21xi64> {weft.name = "si_i64"},
        tensor<21xi64> {weft.name = "ui_i64"}) {
  %si_i1 = arith.fptosi %x : tensor<21xf16> to tensor<21xi1>
  %ui_i1 = arith.fptoui %x : tensor<21xf16> to tensor<21xi1>
  %si_i8 = arith.fptosi %x : tensor<21xf16> to tensor<21xi8>
  %ui_i8 = arith.fptoui %x : tensor<21xf16> to tensor<21xi8>
  %si_i16 = arith.fptosi %x : tensor<21xf16> to tensor<21xi16>
  %ui_i16 = arith.fptoui %x : tensor<21xf16> to tensor<21xi16>
  %si_i32 = arith.fptosi %x : tensor<21xf16> to tensor<21xi32>
  %ui_i32 = arith.fptoui %x : tensor<21xf16> to tensor<21xi32>
  %si_i64 = arith.fptosi %x : tensor<21xf16> to tensor<21xi64>
  %ui_i64 = arith.fptoui %x : tensor<21xf16> to tensor<21xi64>
  return %si_i1, %ui_i1, %si_i8, %ui_i8, %si_i16, %ui_i16, %si_i32, %ui_i32, %si_i64, %ui_i64 : tensor<21xi1>, tensor<21xi1>, tensor<21xi8>, tensor<21xi8>, tensor<21xi16>, tensor<21xi16>, tensor<21xi32>, tensor<21xi32>, tensor<21xi64>, tensor<21xi64>
}

// -----

func.func @of_bf16(%x: tensor<21xbf16> {weft.name = "x"})
    -> (tensor<21xi1> {weft.name = "si_i1"},
        tensor<21xi1> {weft.name = "ui_i1"},
        tensor<21xi8> {weft.name = "si_i8"},
        tensor<21xi8> {weft.name = "ui_i8"},
        tensor<21xi16> {weft.name = "si_i16"},
        tensor<21xi16> {weft.name = "ui_i16"},
        tensor<21xi32> {weft.name = "si_i32"},
        tensor<21xi32> {weft.name = "ui_i32"},
        tensor<21xi64> {weft.name = "si_i64"},
        tensor<21xi64> {weft.name = "ui_i64"}) {
  %si_i1 = arith.fptosi %x : tensor<21xbf16> to tensor<21xi1>
  %ui_i1 = arith.fptoui %x : tensor<21xbf16> to tensor<21xi1>
  %si_i8 = arith.fptosi %x : tensor<21xbf16> to tensor<21xi8>
  %ui_i8 = arith.fptoui %x : tensor<21xbf16> to tensor<21xi8>
  %si_i16 = arith.fptosi %x : tensor<21xbf16> to tensor<21xi16>
  %ui_i16 = arith.fptoui %x : tensor<21xbf16> to tensor<21xi16>
  %si_i32 = arith.fptosi %x : tensor<21xbf16> to tensor<21xi32>
  %ui_i32 = arith.fptoui %x : tensor<21xbf16> to tensor<21xi32>
  %si_i64 = arith.fptosi %x : tensor<21xbf16> to tensor<21xi64>
  %ui_i64 = arith.fptoui %x : tensor<21xbf16> to tensor<21xi64>
  return %si_i1, %ui_i1, %si_i8, %ui_i8, %si_i16, %ui_i16, %si_i32, %ui_i32, %si_i64, %ui_i64 : tensor<21xi1>, tensor<21xi1>, tensor<21xi8>, tensor<21xi8>, tensor<21xi16>, tensor<21xi16>, tensor<21xi32>, tensor<21xi32>, tensor<21xi64>, tensor<21xi64>
}

// -----

// Elements that are not there are zeros.
func.func @outside(%x: tensor<5x4xf32> {weft.name = "x"}, %i: tensor<21xi32> {weft.name = "i"}, %k: tensor<i32> {weft.name = "k"})
    -> (tensor<21xf32> {weft.name = "found"}, tensor<3xf32> {weft.name = "element"}) {
  %e = tensor.empty() : tensor<21xf32>
  %found = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>], iterator_types = ["parallel"]}
      ins(%i : tensor<21xi32>) outs(%e : tensor<21xf32>) {
  ^bb0(%j: i32, %o: f32):
    %row = arith.index_cast %j : i32 to index
    %d = linalg.index 0 : index
    %column = arith.subi %row, %d : index
    %v = tensor.extract %x[%row, %column] : tensor<5x4xf32>
    linalg.yield %v : f32
  } -> tensor<21xf32>
  %c100 = arith.constant 100 : i32
  %k0 = tensor.extract %k[] : tensor<i32>
  %k1 = arith.addi %k0, %c100 : i32
  %high = arith.index_cast %k1 : i32 to index
  %big = arith.constant 1000000000 : index
  %s = tensor.extract %x[%big, %high] : tensor<5x4xf32>
  %element = tensor.splat %s : tensor<3xf32>
  return %found, %element : tensor<21xf32>, tensor<3xf32>
}

// -----

func.func @powers(%a: tensor<81xi8> {weft.name = "a"}, %b: tensor<81xi8> {weft.name = "b"}, %c: tensor<81xi64> {weft.name = "c"}, %d: tensor<81xi64> {weft.name = "d"})
    -> (tensor<81xi8> {weft.name = "of_i8"}, tensor<81xi64> {weft.name = "of_i64"}, tensor<3xi8> {weft.name = "of_constants"}) {
  %of_i8 = math.ipowi %a, %b : tensor<81xi8>
  %of_i64 = math.ipowi %c, %d : tensor<81xi64>
  %bases = arith.constant dense<[0, -1, 3]> : tensor<3xi8>
  %exponents = arith.constant dense<[-1, -3, -1]> : tensor<3xi8>
  %of_constants = math.ipowi %bases, %exponents : tensor<3xi8>
  return %of_i8, %of_i64, %of_constants : tensor<81xi8>, tensor<81xi64>, tensor<3xi8>
}

// -----

func.func @kinds_of_floats(%x: tensor<21xf32> {weft.name = "x"}, %h: tensor<21xf16> {weft.name = "h"})
    -> (tensor<21xi1> {weft.name = "inf"}, tensor<21xi1> {weft.name = "normal"}, tensor<21xi1> {weft.name = "inf16"}, tensor<21xi1> {weft.name = "normal16"}) {
  %inf = math.isinf %x : tensor<21xf32>
  %normal = math.isnormal %x : tensor<21xf32>
  %inf16 = math.isinf %h : tensor<21xf16>
  %normal16 = math.isnormal %h : tensor<21xf16>
  return %inf, %normal, %inf16, %normal16 : tensor<21xi1>, tensor<21xi1>, tensor<21xi1>, tensor<21xi1>
}

// -----

func.func @clamped(%x: tensor<441xf32> {weft.name = "x"}, %low: tensor<441xf32> {weft.name = "low"}) -> (tensor<441xf32> {weft.name = "y"}) {
  %high = arith.constant dense<2.0> : tensor<441xf32>
  %y = math.clampf %x to [%low, %high] : tensor<441xf32>
  return %y : tensor<441xf32>
}
