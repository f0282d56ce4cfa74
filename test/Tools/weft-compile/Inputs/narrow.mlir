// Each kind of op that LLVM would call a function for, on a CPU without bf16.
func.func @narrow(%x: tensor<64xbf16> {weft.name = "x"}, %i: tensor<64xi32> {weft.name = "i"})
    -> (tensor<64xbf16> {weft.name = "y"}) {
  %e = tensor.empty() : tensor<64xbf16>
  %y = linalg.map ins(%x, %i : tensor<64xbf16>, tensor<64xi32>)
         outs(%e : tensor<64xbf16>)
    (%a: bf16, %b: i32, %init: bf16) {
      %f = arith.sitofp %b : i32 to bf16
      %u = arith.uitofp %b : i32 to bf16
      %s = arith.addf %a, %f : bf16
      %p = arith.mulf %s, %u : bf16
      %d = arith.divf %p, %s : bf16
      %m = arith.maximumf %d, %a : bf16
      %n = arith.negf %m : bf16
      %t = math.exp %n : bf16
      linalg.yield %t : bf16
    }
  return %y : tensor<64xbf16>
}
