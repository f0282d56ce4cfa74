// RUN: weft-opt %s --split-input-file --verify-diagnostics

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @reduce_scatter_c1_unknown(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{axes: unknown axis 'ep' in mesh}}
  %0 = weft.reduce_scatter sum %x0 on @mesh <{"ep"}> dims [0] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @reduce_scatter_c1_twice(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{axes: axis 'tp' is used twice}}
  %0 = weft.reduce_scatter sum %x0 on @mesh <{"tp", "tp":(2)2}> dims [0] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @reduce_scatter_c2_dynamic(%x0: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // expected-error @+1 {{operand #0 has a dynamic shape}}
  %0 = weft.reduce_scatter sum %x0 on @mesh <{"tp"}> dims [0] : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @reduce_scatter_c2_results(%x0: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  // expected-error @+1 {{has 2 results for 1 operands}}
  %0:2 = weft.reduce_scatter sum %x0 on @mesh <{"tp"}> dims [0] : (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>)
  return %0#0, %0#1 : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @reduce_scatter_c2_none() {
  // expected-error @+1 {{needs at least one operand}}
  weft.reduce_scatter sum on @mesh <{"tp"}> dims [] : () -> ()
  return
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @reduce_scatter_c3_count(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{has 0 scatter dims for 1 operands}}
  %0 = weft.reduce_scatter sum %x0 on @mesh <{"tp"}> dims [] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @reduce_scatter_c3_range(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{scatter dim -1 is out of range for 'tensor<8x64xf32>'}}
  %0 = weft.reduce_scatter sum %x0 on @mesh <{"tp"}> dims [-1] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @reduce_scatter_c4(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{result #0 has type 'tensor<8x64xf32>', expected 'tensor<2x64xf32>'}}
  %0 = weft.reduce_scatter max %x0 on @mesh <{"tp"}> dims [0] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @reduce_scatter_c4_divide(%x0: tensor<6xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{dim 0 of size 6 does not divide by the group's 4 ranks}}
  %0 = weft.reduce_scatter sum %x0 on @mesh <{"tp"}> dims [0] : (tensor<6xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

weft.mesh @mesh = <["tp"=4]>
func.func @f(%x0: tensor<8xi1>) -> tensor<2xi1> {
  // expected-error@+1 {{'weft.reduce_scatter' op combines truth values by max, expected and or or}}
  %0 = weft.reduce_scatter max %x0 on @mesh <{"tp"}> dims [0] : (tensor<8xi1>) -> tensor<2xi1>
  return %0 : tensor<2xi1>
}
