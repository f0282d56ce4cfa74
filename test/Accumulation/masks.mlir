// RUN: weft-opt --weft-accumulate=axis=mb --canonicalize %s | FileCheck %s

// Of 7 rows in 4 parts of 2 the last part has one. Others have no mask; the last
// one's says which part it is.

// CHECK-LABEL: func @rows
// CHECK-DAG: %[[C6:.*]] = arith.constant 6 : index
// CHECK-DAG: %[[C7:.*]] = arith.constant 7 : index
// CHECK: %[[I:.*]] = linalg.index 0 : index
// CHECK-NEXT: %[[ROW:.*]] = arith.addi %[[I]], %[[C6]] : index
// CHECK-NEXT: arith.cmpi slt, %[[ROW]], %[[C7]] : index
// CHECK-NEXT: arith.select
// CHECK-NOT: arith.select
#v = affine_map<(d0) -> (d0)>
weft.mesh @mesh = <["mb"=4]>
func.func @rows(%x: tensor<2xf32> {weft.global_type = tensor<7xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>})
    -> (tensor<2xf32> {weft.global_type = tensor<7xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>}) {
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %zero = arith.constant 0.0 : f32
  %k = weft.axis_index @mesh <{"mb"}>
  %begin = arith.muli %k, %c2 : index
  %rest = arith.subi %c7, %begin : index
  %e = tensor.empty() : tensor<2xf32>
  %0 = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]} ins(%x : tensor<2xf32>) outs(%e : tensor<2xf32>) {
  ^bb0(%p: f32, %o: f32):
    %i = linalg.index 0 : index
    %is = arith.cmpi slt, %i, %rest : index
    %s = arith.select %is, %p, %zero : f32
    linalg.yield %s : f32
  } -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
