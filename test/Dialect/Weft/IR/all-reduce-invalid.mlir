// RUN: weft-opt %s --split-input-file --verify-diagnostics

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_reduce_c1_unknown(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{axes: unknown axis 'ep' in mesh}}
  %0 = weft.all_reduce sum %x0 on @mesh <{"ep"}> : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_reduce_c1_twice(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{axes: axis 'tp' is used twice}}
  %0 = weft.all_reduce sum %x0 on @mesh <{"tp", "tp":(2)2}> : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_reduce_c2_dynamic(%x0: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // expected-error @+1 {{operand #0 has a dynamic shape}}
  %0 = weft.all_reduce sum %x0 on @mesh <{"tp"}> : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_reduce_c2_results(%x0: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  // expected-error @+1 {{has 2 results for 1 operands}}
  %0:2 = weft.all_reduce sum %x0 on @mesh <{"tp"}> : (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>)
  return %0#0, %0#1 : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_reduce_c2_none() {
  // expected-error @+1 {{needs at least one operand}}
  weft.all_reduce sum on @mesh <{"tp"}> : () -> ()
  return
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_reduce_c3(%x0: tensor<8x64xf32>) -> tensor<8x32xf32> {
  // expected-error @+1 {{result #0 has type 'tensor<8x32xf32>', expected 'tensor<8x64xf32>'}}
  %0 = weft.all_reduce sum %x0 on @mesh <{"tp"}> : (tensor<8x64xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// -----

weft.mesh @mesh = <["tp"=4]>
func.func @f(%x0: tensor<8xi1>) -> tensor<8xi1> {
  // expected-error@+1 {{'weft.all_reduce' op combines truth values by sum, expected and or or}}
  %0 = weft.all_reduce sum %x0 on @mesh <{"tp"}> : (tensor<8xi1>) -> tensor<8xi1>
  return %0 : tensor<8xi1>
}
