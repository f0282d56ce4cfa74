// RUN: weft-opt %s --split-input-file --verify-diagnostics

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_to_all_c1_unknown(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{axes: unknown axis 'ep' in mesh}}
  %0 = weft.all_to_all %x0 on @mesh <{"ep"}> split [0] concat [1] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_to_all_c1_twice(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{axes: axis 'tp' is used twice}}
  %0 = weft.all_to_all %x0 on @mesh <{"tp", "tp":(2)2}> split [0] concat [1] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_to_all_c2_dynamic(%x0: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // expected-error @+1 {{operand #0 has a dynamic shape}}
  %0 = weft.all_to_all %x0 on @mesh <{"tp"}> split [0] concat [1] : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_to_all_c2_results(%x0: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  // expected-error @+1 {{has 2 results for 1 operands}}
  %0:2 = weft.all_to_all %x0 on @mesh <{"tp"}> split [0] concat [1] : (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>)
  return %0#0, %0#1 : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_to_all_c2_none() {
  // expected-error @+1 {{needs at least one operand}}
  weft.all_to_all on @mesh <{"tp"}> split [] concat [] : () -> ()
  return
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_to_all_c3_split(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{has 2 split dims for 1 operands}}
  %0 = weft.all_to_all %x0 on @mesh <{"tp"}> split [0, 1] concat [1] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_to_all_c3_concat(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{concat dim 5 is out of range for 'tensor<8x64xf32>'}}
  %0 = weft.all_to_all %x0 on @mesh <{"tp"}> split [0] concat [5] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_to_all_c4(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{result #0 has type 'tensor<8x64xf32>', expected 'tensor<2x256xf32>'}}
  %0 = weft.all_to_all %x0 on @mesh <{"tp"}> split [0] concat [1] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_to_all_c4_divide(%x0: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // expected-error @+1 {{dim 0 of size 2 does not divide by the group's 4 ranks}}
  %0 = weft.all_to_all %x0 on @mesh <{"tp"}> split [0] concat [1] : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
