// RUN: weft-opt %s -split-input-file -verify-diagnostics -weft-print-traffic

weft.mesh @mesh = <["dp"=2, "tp"=4]>
// expected-remark @+5 {{all_gather over #weft.axes<{"tp"}>: 2 operands, 192 bytes}}
// expected-remark @+4 {{reduce_scatter over #weft.axes<{"tp"}>: 1 operands, 24 bytes}}
// expected-remark @+3 {{all_reduce over #weft.axes<{"dp"}>: 1 operands, 4 bytes}}
// expected-remark @+2 {{all_to_all over #weft.axes<{"tp"}>: 1 operands, 24 bytes}}
// expected-remark @+1 {{permute over #weft.axes<{"tp"}>: 1 operands, 32 bytes}}
func.func @all(%x: tensor<8xf32>, %y: tensor<24xi1>, %z: tensor<f32>, %s: tensor<4x2xf32>) {
  %1:2 = weft.all_gather %x, %s on @mesh <{"tp"}> dims [0, 1] : (tensor<8xf32>, tensor<4x2xf32>) -> (tensor<32xf32>, tensor<4x8xf32>)
  %0 = weft.all_reduce sum %z on @mesh <{"dp"}> : (tensor<f32>) -> tensor<f32>
  %2 = weft.reduce_scatter sum %x on @mesh <{"tp"}> dims [0] : (tensor<8xf32>) -> tensor<2xf32>
  %3 = weft.all_to_all %s on @mesh <{"tp"}> split [0] concat [1] : (tensor<4x2xf32>) -> tensor<1x8xf32>
  %4 = weft.permute %x on @mesh <{"tp"}> sources [1, 0, 3, 2] : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// A bit takes a byte; types below a byte are packed; bytes are rounded up.

weft.mesh @mesh = <["dp"=3]>
// expected-remark @+1 {{all_gather over #weft.axes<{"dp"}>: 2 operands, 60 bytes}}
func.func @small_types(%x: tensor<24xi1>, %y: tensor<12xf4E2M1FN>) {
  %1:2 = weft.all_gather %x, %y on @mesh <{"dp"}> dims [0, 0] : (tensor<24xi1>, tensor<12xf4E2M1FN>) -> (tensor<72xi1>, tensor<36xf4E2M1FN>)
  return
}
