// What the other examples have not: calls, loops, branches, lookups and
// concatenations in bodies, slices at places that come from data, narrow types.

module {
  weft.mesh @mesh = <["dp"=2, "fsdp"=2, "tp"=2]>
  func.func @step(%x: tensor<6x4xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>},
                  %w: tensor<4x8xbf16> {weft.name = "w"}, %t: tensor<8x4xf32> {weft.name = "t"},
                  %i: tensor<6xi32> {weft.name = "i"}, %n: tensor<i32> {weft.name = "n"})
      -> (tensor<6x8xbf16> {weft.name = "product"}, tensor<9x4xf32> {weft.name = "joined"},
          tensor<6x4xf32> {weft.name = "x", weft.alias = 0 : index}, tensor<2x4xf32> {weft.name = "part"},
          tensor<4xf32> {weft.name = "added"}, tensor<4xf32> {weft.name = "halved"}, tensor<6xf32> {weft.name = "soft"}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %zero = arith.constant 0.0 : bf16
    // A product in bf16, after a call.
    %xe = tensor.empty() : tensor<6x4xbf16>
    %xb = arith.truncf %x : tensor<6x4xf32> to tensor<6x4xbf16>
    %product = func.call @product(%xb, %w) : (tensor<6x4xbf16>, tensor<4x8xbf16>) -> tensor<6x8xbf16>
    // Rows of a table above rows of the batch.
    %je = tensor.empty() : tensor<9x4xf32>
    %joined = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} outs(%je : tensor<9x4xf32>) {
    ^bb0(%o: f32):
      %row = linalg.index 0 : index
      %column = linalg.index 1 : index
      %is = arith.cmpi ult, %row, %c3 : index
      %v = scf.if %is -> (f32) {
        %at = tensor.extract %t[%row, %column] : tensor<8x4xf32>
        scf.yield %at : f32
      } else {
        %behind = arith.subi %row, %c3 : index
        %k = tensor.extract %i[%behind] : tensor<6xi32>
        %m = arith.index_cast %k : i32 to index
        %at = tensor.extract %t[%m, %column] : tensor<8x4xf32>
        scf.yield %at : f32
      }
      linalg.yield %v : f32
    } -> tensor<9x4xf32>
    // A loop of three passes, each of which changes a row.
    %rows = scf.for %k = %c0 to %c3 step %c1 iter_args(%r = %x) -> (tensor<6x4xf32>) {
      %row = tensor.extract_slice %r[%k, 0] [1, 4] [1, 1] : tensor<6x4xf32> to tensor<4xf32>
      %next = arith.addi %k, %c3 : index
      %other = tensor.extract_slice %r[%next, 0] [1, 4] [1, 1] : tensor<6x4xf32> to tensor<4xf32>
      %sum = arith.mulf %row, %other : tensor<4xf32>
      %s = tensor.insert_slice %sum into %r[%k, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<6x4xf32>
      scf.yield %s : tensor<6x4xf32>
    }
    // A slice that begins where the data says.
    %n0 = tensor.extract %n[] : tensor<i32>
    %begin = arith.index_cast %n0 : i32 to index
    %part = tensor.extract_slice %t[%begin, 0] [2, 4] [1, 1] : tensor<8x4xf32> to tensor<2x4xf32>
    // Loops of any length, and a branch.
    %c7 = arith.constant 7 : i32
    %low = arith.andi %n0, %c7 : i32
    %end = arith.index_cast %low : i32 to index
    %first = tensor.extract_slice %t[1, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<4xf32>
    %many:2 = scf.for %k = %c0 to %end step %c1 iter_args(%f = %first, %a = %first) -> (tensor<4xf32>, tensor<4xf32>) {
      %b = arith.addf %a, %f : tensor<4xf32>
      scf.yield %f, %b : tensor<4xf32>, tensor<4xf32>
    }
    %one = arith.constant 1 : i32
    %half = arith.constant dense<0.5> : tensor<4xf32>
    %halved:2 = scf.for %k = %c1 to %end step %c3 iter_args(%a = %first, %b = %half) -> (tensor<4xf32>, tensor<4xf32>) {
      %l = arith.mulf %a, %b : tensor<4xf32>
      scf.yield %l, %a : tensor<4xf32>, tensor<4xf32>
    }
    %odd = arith.cmpi sgt, %n0, %one : i32
    %chosen = scf.if %odd -> (tensor<4xf32>) {
      scf.yield %halved#0 : tensor<4xf32>
    } else {
      %negative = arith.negf %many#1 : tensor<4xf32>
      scf.yield %negative : tensor<4xf32>
    }
    %column = tensor.extract_slice %x[0, 1] [6, 1] [1, 1] : tensor<6x4xf32> to tensor<6xf32>
    %se = tensor.empty() : tensor<6xf32>
    %soft = linalg.softmax dimension(0) ins(%column : tensor<6xf32>) outs(%se : tensor<6xf32>) -> tensor<6xf32>
    return %product, %joined, %rows, %part, %many#1, %chosen, %soft : tensor<6x8xbf16>, tensor<9x4xf32>, tensor<6x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<6xf32>
  }
  func.func private @product(%x: tensor<6x4xbf16>, %w: tensor<4x8xbf16>) -> tensor<6x8xbf16> {
    %zero = arith.constant dense<0.0> : tensor<6x8xbf16>
    %r = linalg.matmul ins(%x, %w : tensor<6x4xbf16>, tensor<4x8xbf16>) outs(%zero : tensor<6x8xbf16>) -> tensor<6x8xbf16>
    return %r : tensor<6x8xbf16>
  }
}
