// Numbers that are brought into the range of floats of 8 bits and rounded, and
// codes that are widened.

#id = affine_map<(i) -> (i)>

func.func @f(%x: tensor<262144xf32> {weft.name = "x"}, %codes: tensor<256xi8> {weft.name = "codes"})
    -> (tensor<262144xi8> {weft.name = "e4m3"}, tensor<262144xi8> {weft.name = "e5m2"}, tensor<256xf32> {weft.name = "of_e4m3"}, tensor<256xf32> {weft.name = "of_e5m2"}, tensor<256xbf16> {weft.name = "narrow"}) {
  %e = tensor.empty() : tensor<262144xi8>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<262144xf32>) outs(%e : tensor<262144xi8>) {
  ^bb0(%v: f32, %o: i8):
    %most0 = arith.constant 448.0 : f32
    %least0 = arith.constant -448.0 : f32
    %below0 = arith.minimumf %v, %most0 : f32
    %inside0 = arith.maximumf %below0, %least0 : f32
    %y0 = arith.truncf %inside0 : f32 to f8E4M3FN
    %b0 = arith.bitcast %y0 : f8E4M3FN to i8
    linalg.yield %b0 : i8
  } -> tensor<262144xi8>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<262144xf32>) outs(%e : tensor<262144xi8>) {
  ^bb0(%v: f32, %o: i8):
    %most1 = arith.constant 57344.0 : f32
    %least1 = arith.constant -57344.0 : f32
    %below1 = arith.minimumf %v, %most1 : f32
    %inside1 = arith.maximumf %below1, %least1 : f32
    %y1 = arith.truncf %inside1 : f32 to f8E5M2
    %b1 = arith.bitcast %y1 : f8E5M2 to i8
    // What follows a rounding is arithmetic, as that of NaN here.
    %nan = arith.constant 0x7e : i8
    %other = arith.constant 0x7f : i8
    %is = arith.cmpi eq, %b1, %nan : i8
    %z = arith.select %is, %other, %b1 : i8
    linalg.yield %z : i8
  } -> tensor<262144xi8>
  %w = tensor.empty() : tensor<256xf32>
  %c:2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%codes : tensor<256xi8>) outs(%w, %w : tensor<256xf32>, tensor<256xf32>) {
  ^bb0(%v: i8, %o: f32, %p: f32):
    %f = arith.bitcast %v : i8 to f8E4M3FN
    %g = arith.extf %f : f8E4M3FN to f32
    %h = arith.bitcast %v : i8 to f8E5M2
    %i = arith.extf %h : f8E5M2 to f32
    linalg.yield %g, %i : f32, f32
  } -> (tensor<256xf32>, tensor<256xf32>)
  %n = tensor.empty() : tensor<256xbf16>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%codes : tensor<256xi8>) outs(%n : tensor<256xbf16>) {
  ^bb0(%v: i8, %o: bf16):
    %f = arith.bitcast %v : i8 to f8E4M3FN
    %g = arith.extf %f : f8E4M3FN to bf16
    linalg.yield %g : bf16
  } -> tensor<256xbf16>
  return %a, %b, %c#0, %c#1, %d : tensor<262144xi8>, tensor<262144xi8>, tensor<256xf32>, tensor<256xf32>, tensor<256xbf16>
}
