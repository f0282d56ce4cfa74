// SPDX-License-Identifier: Apache-2.0
// Branches in branches, opposite conditions, and a place that a branch chooses.
module {
  weft.mesh @mesh = <["dp"=2, "tp"=2]>
  func.func @step(%x: tensor<8x16xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>}, %y: tensor<8x16xf32> {weft.name = "y"},
                  %n: tensor<i32> {weft.name = "n"}, %k: tensor<i32> {weft.name = "k"})
      -> (tensor<8x16xf32> {weft.name = "a"}, tensor<8x16xf32> {weft.name = "b"}, tensor<2x16xf32> {weft.name = "c"}, tensor<i1> {weft.name = "d"}) {
    %one = arith.constant 1 : i32
    %true = arith.constant true
    %false = arith.constant false
    %c = tensor.extract %n[] : tensor<i32>
    %big = arith.cmpi sgt, %c, %one : i32
    %d = tensor.extract %k[] : tensor<i32>
    %odd = arith.cmpi slt, %d, %c : i32
    %1 = scf.if %big -> tensor<8x16xf32> {
      %4 = scf.if %odd -> tensor<8x16xf32> {
        %m = arith.mulf %x, %y : tensor<8x16xf32>
        scf.yield %m : tensor<8x16xf32>
      } else {
        scf.yield %y : tensor<8x16xf32>
      }
      scf.yield %4 : tensor<8x16xf32>
    } else {
      scf.yield %y : tensor<8x16xf32>
    }
    %not = arith.xori %big, %true : i1
    %2:2 = scf.if %not -> (tensor<8x16xf32>, i1) {
      %s = arith.addf %1, %x : tensor<8x16xf32>
      scf.yield %s, %false : tensor<8x16xf32>, i1
    } else {
      %s = arith.subf %1, %x : tensor<8x16xf32>
      scf.yield %s, %true : tensor<8x16xf32>, i1
    }
    %at = scf.if %2#1 -> index {
      %i = arith.index_cast %c : i32 to index
      scf.yield %i : index
    } else {
      %i = arith.index_cast %d : i32 to index
      scf.yield %i : index
    }
    %3 = scf.if %big -> tensor<2x16xf32> {
      %p = tensor.extract_slice %1[%at, 0] [2, 16] [1, 1] : tensor<8x16xf32> to tensor<2x16xf32>
      scf.yield %p : tensor<2x16xf32>
    } else {
      %z = arith.constant dense<0.0> : tensor<2x16xf32>
      scf.yield %z : tensor<2x16xf32>
    }
    %e = tensor.from_elements %2#1 : tensor<i1>
    return %1, %2#0, %3, %e : tensor<8x16xf32>, tensor<8x16xf32>, tensor<2x16xf32>, tensor<i1>
  }
}
