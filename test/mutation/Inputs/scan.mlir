// Loops that stay loops, and branches: a scan over more steps than are written out, with a carry that decays and
// rows at places that follow the counter; a loop as long as data says, with a branch in it; and a branch.
module {
  weft.mesh @mesh = <["a"=1, "b"=1]>
  func.func @step(%state: tensor<4x6xf32> {weft.name = "state", weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>},
                  %inputs: tensor<300x6xf32> {weft.name = "inputs", weft.sharding = #weft.sharding<@mesh, [{}, {"b"}]>},
                  %weight: tensor<4x6xf32> {weft.name = "weight", weft.sharding = #weft.sharding<@mesh, [{"a"}, {"b"}]>},
                  %place: tensor<i32> {weft.name = "place"})
      -> (tensor<4x6xf32> {weft.name = "scanned"}, tensor<300x6xf32> {weft.name = "outputs", weft.sharding = #weft.sharding<@mesh, [{}, {"a"}]>},
          tensor<4x6xf32> {weft.name = "chosen", weft.sharding = #weft.sharding<@mesh, [{"b"}, {}]>}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c300 = arith.constant 300 : index
    %zero = arith.constant 0 : i32
    %seven = arith.constant 7 : i32
    %decay = arith.constant 0.75 : f32
    %limit = arith.constant 6.0 : f32
    %outputs0 = arith.constant dense<0.0> : tensor<300x6xf32>
    %scanned:2 = scf.for %i = %c0 to %c300 step %c1 iter_args(%s = %state, %o = %outputs0) -> (tensor<4x6xf32>, tensor<300x6xf32>) {
      %x = tensor.extract_slice %inputs[%i, 0] [1, 6] [1, 1] : tensor<300x6xf32> to tensor<6xf32>
      %e = tensor.empty() : tensor<4x6xf32>
      %next = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%s, %x, %weight : tensor<4x6xf32>, tensor<6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
      ^bb0(%a: f32, %b: f32, %w: f32, %out: f32):
        %kept = arith.mulf %a, %decay : f32
        %p = arith.mulf %b, %w : f32
        %t = math.tanh %p : f32
        %r = arith.addf %kept, %t : f32
        linalg.yield %r : f32
      } -> tensor<4x6xf32>
      %row = arith.remui %i, %c3 : index
      %read = tensor.extract_slice %next[%row, 0] [1, 6] [1, 1] : tensor<4x6xf32> to tensor<6xf32>
      %kept = tensor.insert_slice %read into %o[%i, 0] [1, 6] [1, 1] : tensor<6xf32> into tensor<300x6xf32>
      scf.yield %next, %kept : tensor<4x6xf32>, tensor<300x6xf32>
    }
    %p = tensor.extract %place[] : tensor<i32>
    %low = arith.andi %p, %seven : i32
    %times = arith.index_cast %low : i32 to index
    %grown = scf.for %i = %c1 to %times step %c1 iter_args(%g = %weight) -> (tensor<4x6xf32>) {
      %e = tensor.empty() : tensor<4x6xf32>
      %first = tensor.extract %g[%c1, %c3] : tensor<4x6xf32>
      %small = arith.cmpf olt, %first, %limit : f32
      %more = scf.if %small -> (tensor<4x6xf32>) {
        %made = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%g, %weight : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
        ^bb0(%a: f32, %w: f32, %out: f32):
          %r = arith.addf %a, %w : f32
          linalg.yield %r : f32
        } -> tensor<4x6xf32>
        scf.yield %made : tensor<4x6xf32>
      } else {
        scf.yield %g : tensor<4x6xf32>
      }
      scf.yield %more : tensor<4x6xf32>
    }
    %is = arith.cmpi sgt, %p, %zero : i32
    %chosen = scf.if %is -> (tensor<4x6xf32>) {
      scf.yield %grown : tensor<4x6xf32>
    } else {
      %e = tensor.empty() : tensor<4x6xf32>
      %other = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%grown, %scanned#0 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
      ^bb0(%a: f32, %w: f32, %out: f32):
        %r = arith.subf %a, %w : f32
        linalg.yield %r : f32
      } -> tensor<4x6xf32>
      scf.yield %other : tensor<4x6xf32>
    }
    return %scanned#0, %scanned#1, %chosen : tensor<4x6xf32>, tensor<300x6xf32>, tensor<4x6xf32>
  }
}
