// RUN: weft-opt %s | weft-opt | FileCheck %s

weft.mesh @mesh = <["dp"=2]>
weft.channel @reduce.dp on @mesh <{"dp"}> purpose reduce

// CHECK-LABEL: @events
func.func @events(%x: memref<4xf32>, %y: memref<4xf32>) {
  // CHECK: weft_rt.record 0
  weft_rt.record 0
  // CHECK: weft_rt.await 0 {weft_rt.stream = @reduce.dp}
  weft_rt.await 0 {weft_rt.stream = @reduce.dp}
  // CHECK: weft_rt.copy %{{.*}} to %{{.*}} {weft_rt.stream = @reduce.dp}
  weft_rt.copy %x to %y {weft_rt.stream = @reduce.dp} : memref<4xf32> to memref<4xf32>
  // CHECK: weft_rt.record 65535 {weft_rt.stream = @reduce.dp}
  weft_rt.record 65535 {weft_rt.stream = @reduce.dp}
  return
}
