// RUN: weft-opt %s "--weft-canonicalize-global=invariant=mesh leaves=4 min-leaf=2" -o %t
// RUN: FileCheck %s < %t
// RUN: weft-opt %t --weft-verify-canonicalization=source=%s -o /dev/null

// Inserted at others' places, side by side, not turned around, or beside its place:
// RUN: sed "s/into %\([a-z_0-9]*\)\[0, 1, 0\] \[4, 2, 8\] \[1, 2, 1\]/into %\1[0, 0, 0] [4, 2, 8] [1, 2, 1]/" %t > %t.places
// RUN: not diff %t %t.places > /dev/null
// RUN: not weft-opt %t.places --weft-verify-canonicalization=source=%s -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: sed "s/into %\([a-z_0-9]*\)\[0, 1, 0\] \[4, 2, 8\] \[1, 2, 1\]/into %\1[0, 1, 0] [4, 2, 8] [1, 1, 1]/" %t > %t.strides
// RUN: not diff %t %t.strides > /dev/null
// RUN: not weft-opt %t.strides --weft-verify-canonicalization=source=%s -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: sed "s/-d1 + 3/d1/" %t > %t.forward
// RUN: not diff %t %t.forward > /dev/null
// RUN: not weft-opt %t.forward --weft-verify-canonicalization=source=%s -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: sed "s/into %\([a-z_0-9]*\)\[0, 0, 0, 0\] \[2, 2, 2, 8\] \[1, 2, 2, 1\]/into %\1[0, 0, 1, 0] [2, 2, 2, 8] [1, 2, 2, 1]/" %t > %t.odd
// RUN: not diff %t %t.odd > /dev/null
// RUN: not weft-opt %t.odd --weft-verify-canonicalization=source=%s -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRONG

// Every second element, in sums that are taken in stages where they were taken
// at once. Which of two it is is a digit of the sum's variable.

// CHECK: f64
// WRONG: another one than the user's module

#back = affine_map<(d0, d1, d2) -> (d0, -d1 + 3, d2)>
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
module {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%a: tensor<4x4x8xf32>, %x: tensor<2x4x4x8xf32>) -> (tensor<f32>, tensor<2x2xf32>) {
    // A reversed scan's two halves.
    %zero = arith.constant 0.000000e+00 : f32
    %none = tensor.empty() : tensor<4x4x8xf32>
    %half = tensor.empty() : tensor<4x2x8xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%none : tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %1 = linalg.generic {indexing_maps = [#back, #id], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%a : tensor<4x4x8xf32>) outs(%none : tensor<4x4x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x4x8xf32>
    %even = tensor.extract_slice %1[0, 0, 0] [4, 2, 8] [1, 2, 1] : tensor<4x4x8xf32> to tensor<4x2x8xf32>
    %odd = tensor.extract_slice %1[0, 1, 0] [4, 2, 8] [1, 2, 1] : tensor<4x4x8xf32> to tensor<4x2x8xf32>
    %both = linalg.map { arith.mulf } ins(%even, %odd : tensor<4x2x8xf32>, tensor<4x2x8xf32>) outs(%half : tensor<4x2x8xf32>)
    %first = tensor.insert_slice %even into %zeros[0, 0, 0] [4, 2, 8] [1, 2, 1] : tensor<4x2x8xf32> into tensor<4x4x8xf32>
    %second = tensor.insert_slice %both into %zeros[0, 1, 0] [4, 2, 8] [1, 2, 1] : tensor<4x2x8xf32> into tensor<4x4x8xf32>
    %woven = linalg.map { arith.addf } ins(%first, %second : tensor<4x4x8xf32>, tensor<4x4x8xf32>) outs(%none : tensor<4x4x8xf32>)
    %2 = linalg.generic {indexing_maps = [#back, #id], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%woven : tensor<4x4x8xf32>) outs(%none : tensor<4x4x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x4x8xf32>
    %start = tensor.empty() : tensor<f32>
    %from = linalg.fill ins(%zero : f32) outs(%start : tensor<f32>) -> tensor<f32>
    %sum = linalg.reduce { arith.addf } ins(%2 : tensor<4x4x8xf32>) outs(%from : tensor<f32>) dimensions = [0, 1, 2]

    // The gradient of every second row and column, summed over groups of channels.
    %rows = tensor.extract_slice %x[0, 0, 0, 0] [2, 2, 2, 8] [1, 2, 2, 1] : tensor<2x4x4x8xf32> to tensor<2x2x2x8xf32>
    %place = tensor.empty() : tensor<2x4x4x8xf32>
    %nothing = linalg.fill ins(%zero : f32) outs(%place : tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
    %spread = tensor.insert_slice %rows into %nothing[0, 0, 0, 0] [2, 2, 2, 8] [1, 2, 2, 1] : tensor<2x2x2x8xf32> into tensor<2x4x4x8xf32>
    %groups = tensor.expand_shape %spread [[0], [1], [2], [3, 4]] output_shape [2, 4, 4, 2, 4] : tensor<2x4x4x8xf32> into tensor<2x4x4x2x4xf32>
    %of = tensor.expand_shape %x [[0], [1], [2], [3, 4]] output_shape [2, 4, 4, 2, 4] : tensor<2x4x4x8xf32> into tensor<2x4x4x2x4xf32>
    %like = tensor.empty() : tensor<2x4x4x2x4xf32>
    %products = linalg.map { arith.mulf } ins(%groups, %of : tensor<2x4x4x2x4xf32>, tensor<2x4x4x2x4xf32>) outs(%like : tensor<2x4x4x2x4xf32>)
    %means = tensor.empty() : tensor<2x2xf32>
    %clear = linalg.fill ins(%zero : f32) outs(%means : tensor<2x2xf32>) -> tensor<2x2xf32>
    %mean = linalg.reduce { arith.addf } ins(%products : tensor<2x4x4x2x4xf32>) outs(%clear : tensor<2x2xf32>) dimensions = [1, 2, 4]
    return %sum, %mean : tensor<f32>, tensor<2x2xf32>
  }
}
