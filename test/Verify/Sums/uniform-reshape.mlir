// RUN: weft-compile %s --to local -o - | FileCheck %s
// RUN: weft-compile %s --mesh x=3 --to local -o - | FileCheck %s

// One number for all elements is that in any shape. Without the barrier the column would be a constant at once; with
// it, rows are cut where there are columns still.

// CHECK: weft.optimization_barrier
// CHECK: tensor.extract_slice {{.*}} to tensor<{{[34]}}xf32>

weft.mesh @mesh = <["x"=4]>
func.func @column() -> (tensor<10xf32> {weft.name = "column", weft.sharding = #weft.sharding<@mesh, [{"x"}]>}) {
  %all = arith.constant dense<1.0> : tensor<10x8xf32>
  %kept = weft.optimization_barrier %all : tensor<10x8xf32>
  %column = tensor.extract_slice %kept[0, 1] [10, 1] [1, 1] : tensor<10x8xf32> to tensor<10xf32>
  return %column : tensor<10xf32>
}
