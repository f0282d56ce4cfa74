// A part that begins where the rank says, of a value that lies in columns of a
// concatenation: what lies in the other columns is not in its way.
// RUN: weft-compile %s --to planned -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: weft-verify --from scheduled %s %t.mlir
// CHECK: weft_rt.view %[[BOTH:.*]] at 0 : memref<4x6xf32> to memref<4x3xf32, strided<[6, 1]>>
// CHECK: weft_rt.view %[[BOTH]] at 0 plus %{{.*}} : memref<4x6xf32> to memref<2x3xf32, strided<[6, 1]>>

// Columns 1 to 3 are none of its parts.
// RUN: sed -e 's/ at 0 plus \(.*2x3xf32, strided<.6, 1.>>\)/ at 1 plus \1/' %t.mlir > %t.COLUMNS.mlir
// RUN: not weft-verify --from scheduled %s %t.COLUMNS.mlir 2>&1 | FileCheck %s --check-prefix=COLUMNS
// COLUMNS: error: 'other' reads some bytes of 'r1' for a part of what 'kernel' computes, but other elements of it lie there

#d = affine_map<(d0, d1) -> (d0, d1)>
weft.mesh @mesh = <["y"=2]>
func.func @main(%x: tensor<4x3xf32> {weft.global_type = tensor<4x3xf32>, weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}, {}]>})
    -> (tensor<2x3xf32> {weft.global_type = tensor<4x3xf32>, weft.name = "r0", weft.sharding = #weft.sharding<@mesh, [{"y"}, {}]>},
        tensor<4x6xf32> {weft.global_type = tensor<4x6xf32>, weft.name = "r1", weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %0 = weft_rt.fused ins(%x : tensor<4x3xf32>) -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %e = tensor.empty() : tensor<4x3xf32>
    %g = linalg.generic {indexing_maps = [#d, #d], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x3xf32>) outs(%e : tensor<4x3xf32>) {
    ^bb0(%in: f32, %o: f32):
      %t = math.tanh %in : f32
      linalg.yield %t : f32
    } -> tensor<4x3xf32>
    weft_rt.yield %g : tensor<4x3xf32>
  } {weft.op = "kernel"}
  %1 = tensor.concat dim(1) %0, %0 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
  %two = arith.constant 2 : index
  %y = weft.axis_index @mesh <{"y"}>
  %at = arith.muli %y, %two : index
  %2 = tensor.extract_slice %0[%at, 0] [2, 3] [1, 1] : tensor<4x3xf32> to tensor<2x3xf32>
  %3 = weft_rt.fused ins(%2 : tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%a: tensor<2x3xf32>):
    %e = tensor.empty() : tensor<2x3xf32>
    %g = linalg.generic {indexing_maps = [#d, #d], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
    ^bb0(%in: f32, %o: f32):
      %t = math.sin %in : f32
      linalg.yield %t : f32
    } -> tensor<2x3xf32>
    weft_rt.yield %g : tensor<2x3xf32>
  } {weft.op = "other"}
  return %3, %1 : tensor<2x3xf32>, tensor<4x6xf32>
}
