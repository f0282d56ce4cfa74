// SPDX-License-Identifier: Apache-2.0
// Branches that only yield, and that others decide.
module {
  weft.mesh @mesh = <["dp"=2, "tp"=2]>
  func.func @step(%x: tensor<8x16xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {"tp"}]>}, %y: tensor<8x16xf32> {weft.name = "y"},
                  %n: tensor<i32> {weft.name = "n"})
      -> (tensor<8x16xf32> {weft.name = "a"}, tensor<8x16xf32> {weft.name = "b"}, tensor<8x16xf32> {weft.name = "c"}, tensor<i32> {weft.name = "d"}) {
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %c = tensor.extract %n[] : tensor<i32>
    %big = arith.cmpi sgt, %c, %one : i32
    %1 = scf.if %big -> tensor<8x16xf32> {
      scf.yield %x : tensor<8x16xf32>
    } else {
      scf.yield %y : tensor<8x16xf32>
    }
    %2:2 = scf.if %big -> (tensor<8x16xf32>, i32) {
      scf.yield %1, %one : tensor<8x16xf32>, i32
    } else {
      %m = arith.mulf %1, %y : tensor<8x16xf32>
      scf.yield %m, %two : tensor<8x16xf32>, i32
    }
    %small = arith.cmpi slt, %2#1, %two : i32
    %3 = scf.if %small -> tensor<8x16xf32> {
      %4 = scf.if %big -> tensor<8x16xf32> {
        scf.yield %2#0 : tensor<8x16xf32>
      } else {
        %s = arith.subf %x, %y : tensor<8x16xf32>
        scf.yield %s : tensor<8x16xf32>
      }
      scf.yield %4 : tensor<8x16xf32>
    } else {
      scf.yield %x : tensor<8x16xf32>
    }
    %d = tensor.from_elements %2#1 : tensor<i32>
    return %1, %2#0, %3, %d : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<i32>
  }
}
