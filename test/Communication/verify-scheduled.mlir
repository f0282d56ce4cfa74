// RUN: weft-opt %s --weft-verify-scheduled | FileCheck %s

// Names are unique in a function; waits may stand anywhere after the start.

weft.mesh @mesh = <["dp"=2]>
weft.channel @c on @mesh <{"dp"}> purpose data

// CHECK-LABEL: func @f
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = weft.all_reduce sum %x on @mesh <{"dp"}> {channel = @c, weft.op = "a"} : (tensor<4xf32>) -> !weft.future<tensor<4xf32>>
  weft_rt.fused ins() {
    weft_rt.yield
  } {weft.op = "k"}
  %1 = weft.wait %0 : !weft.future<tensor<4xf32>>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func @g
func.func @g() {
  weft_rt.fused ins() {
    weft_rt.yield
  } {weft.op = "k"}
  return
}
