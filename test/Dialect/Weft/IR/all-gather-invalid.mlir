// RUN: weft-opt %s --split-input-file --verify-diagnostics

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_gather_c1_unknown(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{axes: unknown axis 'ep' in mesh}}
  %0 = weft.all_gather %x0 on @mesh <{"ep"}> dims [0] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_gather_c1_twice(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{axes: axis 'tp' is used twice}}
  %0 = weft.all_gather %x0 on @mesh <{"tp", "tp":(2)2}> dims [0] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_gather_c2_dynamic(%x0: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // expected-error @+1 {{operand #0 has a dynamic shape}}
  %0 = weft.all_gather %x0 on @mesh <{"tp"}> dims [0] : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_gather_c2_results(%x0: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  // expected-error @+1 {{has 2 results for 1 operands}}
  %0:2 = weft.all_gather %x0 on @mesh <{"tp"}> dims [0] : (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>)
  return %0#0, %0#1 : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_gather_c2_none() {
  // expected-error @+1 {{needs at least one operand}}
  weft.all_gather on @mesh <{"tp"}> dims [] : () -> ()
  return
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_gather_c3_count(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{has 2 gather dims for 1 operands}}
  %0 = weft.all_gather %x0 on @mesh <{"tp"}> dims [0, 1] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_gather_c3_range(%x0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{gather dim 2 is out of range for 'tensor<8x64xf32>'}}
  %0 = weft.all_gather %x0 on @mesh <{"tp"}> dims [2] : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_gather_c4(%x0: tensor<8x64xf32>) -> tensor<16x64xf32> {
  // expected-error @+1 {{result #0 has type 'tensor<16x64xf32>', expected 'tensor<32x64xf32>'}}
  %0 = weft.all_gather %x0 on @mesh <{"tp"}> dims [0] : (tensor<8x64xf32>) -> tensor<16x64xf32>
  return %0 : tensor<16x64xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @all_gather_c4_second(%x0: tensor<8x64xf32>, %x1: tensor<8x64xf32>) -> (tensor<16x64xf32>, tensor<8x64xf32>) {
  // expected-error @+1 {{result #1 has type 'tensor<8x64xf32>', expected 'tensor<8x128xf32>'}}
  %0:2 = weft.all_gather %x0, %x1 on @mesh <{"dp"}> dims [0, 1] : (tensor<8x64xf32>, tensor<8x64xf32>) -> (tensor<16x64xf32>, tensor<8x64xf32>)
  return %0#0, %0#1 : tensor<16x64xf32>, tensor<8x64xf32>
}
