// RUN: %native %s --values integers

// Tensors of no elements and of one, of truth values and of indices.
func.func @empty_and_scalar(
    %e: tensor<0x3xf32> {weft.name = "e"}, %x: tensor<2x3xf32> {weft.name = "x"}, %s: tensor<f32> {weft.name = "s"})
    -> (tensor<0x3xf32> {weft.name = "e", weft.alias = 0 : index}, tensor<2x3xf32> {weft.name = "c"},
        tensor<3x3xf32> {weft.name = "m"}, tensor<2x0xf32> {weft.name = "n"}, tensor<3xf32> {weft.name = "sum"},
        tensor<1x1xf32> {weft.name = "one"}, tensor<f32> {weft.name = "s", weft.alias = 2 : index}) {
  %e1 = arith.addf %e, %e : tensor<0x3xf32>
  %c = tensor.concat dim(0) %e1, %x : (tensor<0x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %zero = arith.constant 0.0 : f32
  %m0 = tensor.empty() : tensor<3x3xf32>
  %m1 = linalg.fill ins(%zero : f32) outs(%m0 : tensor<3x3xf32>) -> tensor<3x3xf32>
  %t0 = tensor.empty() : tensor<3x0xf32>
  %t = linalg.transpose ins(%e : tensor<0x3xf32>) outs(%t0 : tensor<3x0xf32>) permutation = [1, 0]
  %m = linalg.matmul ins(%t, %e : tensor<3x0xf32>, tensor<0x3xf32>) outs(%m1 : tensor<3x3xf32>) -> tensor<3x3xf32>
  %n0 = tensor.empty() : tensor<2x0xf32>
  %n1 = linalg.fill ins(%zero : f32) outs(%n0 : tensor<2x0xf32>) -> tensor<2x0xf32>
  %n = linalg.matmul ins(%x, %t : tensor<2x3xf32>, tensor<3x0xf32>) outs(%n1 : tensor<2x0xf32>) -> tensor<2x0xf32>
  %sum0 = tensor.empty() : tensor<3xf32>
  %sum1 = linalg.fill ins(%zero : f32) outs(%sum0 : tensor<3xf32>) -> tensor<3xf32>
  %sum = linalg.reduce ins(%e : tensor<0x3xf32>) outs(%sum1 : tensor<3xf32>) dimensions = [0]
    (%i: f32, %a: f32) { %r = arith.addf %i, %a : f32 linalg.yield %r : f32 }
  %one = tensor.expand_shape %s [] output_shape [1, 1] : tensor<f32> into tensor<1x1xf32>
  %s1 = arith.mulf %s, %s : tensor<f32>
  return %e1, %c, %m, %n, %sum, %one, %s1
      : tensor<0x3xf32>, tensor<2x3xf32>, tensor<3x3xf32>, tensor<2x0xf32>, tensor<3xf32>, tensor<1x1xf32>, tensor<f32>
}

// -----

func.func @truth_values(
    %p: tensor<5x4xi1> {weft.name = "p"}, %q: tensor<5x4xi1> {weft.name = "q"}, %x: tensor<5x4xf32> {weft.name = "x"})
    -> (tensor<5x4xi1> {weft.name = "p", weft.alias = 0 : index}, tensor<5x8xi1> {weft.name = "pq"},
        tensor<5x4xf32> {weft.name = "chosen"}, tensor<5xi1> {weft.name = "any"}, tensor<5x4xi32> {weft.name = "wide"},
        tensor<4xi1> {weft.name = "given"}, tensor<2x4xi1> {weft.name = "part"}) {
  %one = arith.constant dense<1.0> : tensor<5x4xf32>
  %less = arith.cmpf olt, %x, %one : tensor<5x4xf32>
  %both = arith.andi %p, %less : tensor<5x4xi1>
  %pq = tensor.concat dim(1) %both, %q : (tensor<5x4xi1>, tensor<5x4xi1>) -> tensor<5x8xi1>
  %chosen = arith.select %both, %x, %one : tensor<5x4xi1>, tensor<5x4xf32>
  %false = arith.constant false
  %a0 = tensor.empty() : tensor<5xi1>
  %a1 = linalg.fill ins(%false : i1) outs(%a0 : tensor<5xi1>) -> tensor<5xi1>
  %any = linalg.reduce ins(%q : tensor<5x4xi1>) outs(%a1 : tensor<5xi1>) dimensions = [1]
    (%i: i1, %a: i1) { %r = arith.ori %i, %a : i1 linalg.yield %r : i1 }
  %wide = arith.extui %q : tensor<5x4xi1> to tensor<5x4xi32>
  %given = arith.constant dense<[true, false, false, true]> : tensor<4xi1>
  %part = tensor.extract_slice %q[2, 0] [2, 4] [1, 1] : tensor<5x4xi1> to tensor<2x4xi1>
  return %both, %pq, %chosen, %any, %wide, %given, %part
      : tensor<5x4xi1>, tensor<5x8xi1>, tensor<5x4xf32>, tensor<5xi1>, tensor<5x4xi32>, tensor<4xi1>, tensor<2x4xi1>
}

// -----

// Index tensors inside, narrow integers, and constants of both.
func.func @integers(
    %i: tensor<6xi32> {weft.name = "i"}, %b: tensor<6xi8> {weft.name = "b"}, %h: tensor<6xi16> {weft.name = "h"})
    -> (tensor<6xi32> {weft.name = "sum"}, tensor<6xi64> {weft.name = "order"}, tensor<6xi8> {weft.name = "b", weft.alias = 1 : index},
        tensor<6xi16> {weft.name = "h2"}, tensor<12xi64> {weft.name = "both"}) {
  %steps = arith.constant dense<[5, 4, 3, 2, 1, 0]> : tensor<6xindex>
  %wide = arith.index_cast %i : tensor<6xi32> to tensor<6xindex>
  %shifted = arith.addi %wide, %steps : tensor<6xindex>
  %sum = arith.index_cast %shifted : tensor<6xindex> to tensor<6xi32>
  %order = arith.index_cast %steps : tensor<6xindex> to tensor<6xi64>
  %joined = tensor.concat dim(0) %shifted, %steps : (tensor<6xindex>, tensor<6xindex>) -> tensor<12xindex>
  %both = arith.index_cast %joined : tensor<12xindex> to tensor<12xi64>
  %big = arith.constant dense<[100, -100, 127, -128, 1, 0]> : tensor<6xi8>
  %b1 = arith.addi %b, %big : tensor<6xi8>
  %h1 = arith.extsi %b1 : tensor<6xi8> to tensor<6xi16>
  %h2 = arith.muli %h1, %h : tensor<6xi16>
  return %sum, %order, %b1, %h2, %both : tensor<6xi32>, tensor<6xi64>, tensor<6xi8>, tensor<6xi16>, tensor<12xi64>
}
