// A step that updates two arguments of one type.
weft.mesh @mesh = <["dp"=2]>
func.func @step(%p: tensor<8xf32> {weft.name = "p"}, %q: tensor<8xf32> {weft.name = "q"})
    -> (tensor<8xf32> {weft.name = "p", weft.alias = 0 : index}, tensor<8xf32> {weft.name = "q", weft.alias = 1 : index}) {
  %s = arith.addf %p, %q : tensor<8xf32>
  %d = arith.subf %p, %q : tensor<8xf32>
  return %s, %d : tensor<8xf32>, tensor<8xf32>
}
