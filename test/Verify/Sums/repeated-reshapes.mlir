// What is repeated becomes one dimension with what is not, in steps that the global program does not make, and is cut, put together, and
// cut again; a loop over what is repeated is shared along one of the axes over which a sum is combined. Each is proved.

// RUN: weft-compile %s --mesh a=4,b=2 --to local -o - | FileCheck %s
// RUN: weft-compile %s --mesh a=4,b=2 --invariant --to local -o - | FileCheck %s
// RUN: weft-compile %s --mesh a=2,b=4 --invariant --to local -o - | FileCheck %s
// RUN: weft-compile %s --mesh a=1,b=4 --to local -o - | FileCheck %s
// RUN: weft-compile %s --mesh a=3,b=2 --to local -o - | FileCheck %s
// CHECK: func.func @step

#each = affine_map<(d0, d1, d2) -> (d0, d2)>
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#row = affine_map<(d0, d1) -> (d1)>
#rows = affine_map<(d0, d1) -> (d0, d1)>
module {
  weft.mesh @mesh = <["a"=1, "b"=1]>
  func.func @step(%x: tensor<5x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", "b"}, {}]>},
                  %y: tensor<10xf32> {weft.sharding = #weft.sharding<@mesh, [{"b"}]>})
      -> (tensor<40xf32> {weft.sharding = #weft.sharding<@mesh, [{"b"}]>},
          tensor<20xf32> {weft.sharding = #weft.sharding<@mesh, [{"b"}]>},
          tensor<10xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", "b"}]>}) {
    %e = tensor.empty() : tensor<5x2x4xf32>
    %0 = linalg.generic {indexing_maps = [#each, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<5x4xf32>) outs(%e : tensor<5x2x4xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<5x2x4xf32>
    %1 = tensor.collapse_shape %0 [[0, 1, 2]] : tensor<5x2x4xf32> into tensor<40xf32>
    %f = tensor.empty() : tensor<2x10xf32>
    %2 = linalg.generic {indexing_maps = [#row, #rows], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<10xf32>) outs(%f : tensor<2x10xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<2x10xf32>
    %3 = tensor.collapse_shape %2 [[0, 1]] : tensor<2x10xf32> into tensor<20xf32>
    %one = arith.constant dense<1.0> : tensor<f32>
    %4 = weft.matmul %one, %3 {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]} : tensor<f32>, tensor<20xf32> -> tensor<20xf32>
    %5 = tensor.expand_shape %4 [[0, 1]] output_shape [2, 10] : tensor<20xf32> into tensor<2x10xf32>
    %zero = arith.constant dense<0.0> : tensor<10xf32>
    %6 = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["reduction", "parallel"]} ins(%5 : tensor<2x10xf32>) outs(%zero : tensor<10xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<10xf32>
    return %1, %3, %6 : tensor<40xf32>, tensor<20xf32>, tensor<10xf32>
  }
}
