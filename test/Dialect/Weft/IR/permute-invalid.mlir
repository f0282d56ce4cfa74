// RUN: weft-opt %s --split-input-file --verify-diagnostics

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @permute_c1_unknown(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{axes: unknown axis 'ep' in mesh}}
  %0 = weft.permute %x0 on @mesh <{"ep"}> sources [3, 0, 1, 2] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @permute_c1_twice(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{axes: axis 'tp' is used twice}}
  %0 = weft.permute %x0 on @mesh <{"tp", "tp":(2)2}> sources [3, 0, 1, 2] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @permute_c2_dynamic(%x0: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // expected-error @+1 {{operand #0 has a dynamic shape}}
  %0 = weft.permute %x0 on @mesh <{"tp"}> sources [3, 0, 1, 2] : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @permute_c2_results(%x0: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  // expected-error @+1 {{has 2 results for 1 operands}}
  %0:2 = weft.permute %x0 on @mesh <{"tp"}> sources [3, 0, 1, 2] : (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>)
  return %0#0, %0#1 : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @permute_c2_none() {
  // expected-error @+1 {{needs at least one operand}}
  weft.permute on @mesh <{"tp"}> sources [3, 0, 1, 2] : () -> ()
  return
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @permute_c3_count(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{has 2 sources for a group of 4}}
  %0 = weft.permute %x0 on @mesh <{"tp"}> sources [1, 0] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @permute_c3_range(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{source 4 is not in a group of 4}}
  %0 = weft.permute %x0 on @mesh <{"tp"}> sources [4, 0, 1, 2] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @permute_c3_twice(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{member 1 sends twice}}
  %0 = weft.permute %x0 on @mesh <{"tp"}> sources [1, 0, 1, 2] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @permute_c4(%x0: tensor<8x64xf32>) -> tensor<8x32xf32> {
  // expected-error @+1 {{result #0 has type 'tensor<8x32xf32>', expected 'tensor<8x64xf32>'}}
  %0 = weft.permute %x0 on @mesh <{"tp"}> sources [3, 0, -1, 2] : (tensor<8x64xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}
