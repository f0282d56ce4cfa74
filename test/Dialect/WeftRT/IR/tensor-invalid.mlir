// RUN: weft-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{'func.func' op has value number 9223372036854775807, expected one from 0 on below 2^62}}
func.func @entries_c1() attributes {weft_rt.results = [#weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>, value = 9223372036854775807>]} {
  return
}

// -----

// expected-error @+1 {{'func.func' op has value number 9223372036854775806, expected one from 0 on below 2^62}}
func.func @entries_c1() attributes {weft_rt.results = [#weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>, value = 9223372036854775806>]} {
  return
}

// -----

// expected-error @+1 {{'func.func' op has value number -9223372036854775808, expected one from 0 on below 2^62}}
func.func @entries_c1() attributes {weft_rt.results = [#weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>, value = -9223372036854775808>]} {
  return
}

// -----

// expected-error @+1 {{'func.func' op has value number -1, expected one from 0 on below 2^62}}
func.func @entries_c1() attributes {weft_rt.results = [#weft_rt.tensor<local = tensor<4xf32>, global = tensor<4xf32>, value = -1>]} {
  return
}

// -----

// expected-error @+1 {{: expected static shapes of one rank and element type}}
func.func @tensor_c1_ranks() attributes {weft_rt.args = [#weft_rt.tensor<local = tensor<8xf32>, global = tensor<8x2xf32>>]} {
  return
}

// -----

// expected-error @+1 {{: expected static shapes of one rank and element type}}
func.func @tensor_c1_elements() attributes {weft_rt.args = [#weft_rt.tensor<local = tensor<8xbf16>, global = tensor<8xf32>>]} {
  return
}

// -----

// expected-error @+1 {{: expected static shapes of one rank and element type}}
func.func @tensor_c1_dynamic() attributes {weft_rt.args = [#weft_rt.tensor<local = tensor<?xf32>, global = tensor<8xf32>>]} {
  return
}

// -----

// expected-error @+1 {{'func.func' op has 'weft_rt.args' = [{name = "w"}], expected an array of #weft_rt.tensor}}
func.func @tensors() attributes {weft_rt.args = [{name = "w"}]} {
  return
}

// -----

// expected-error @+1 {{, but only results have an alias and a value}}
func.func @argument_value() attributes {weft_rt.args = [#weft_rt.tensor<local = tensor<8xf32>, global = tensor<8xf32>, value = 0>]} {
  return
}

// -----

// expected-error @+1 {{'func.func' op does not say which value its result 0 is}}
func.func @result_value() attributes {weft_rt.results = [#weft_rt.tensor<local = tensor<8xf32>, global = tensor<8xf32>>]} {
  return
}

// -----

// expected-error @+1 {{'func.func' op has result 0 in argument 1 of 1}}
func.func @result_alias() attributes {
    weft_rt.args = [#weft_rt.tensor<local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<local = tensor<8xf32>, global = tensor<8xf32>, alias = 1, value = 0>]} {
  return
}

// -----

// expected-error @+1 {{'func.func' op has result 0 in argument -1 of 1}}
func.func @result_alias() attributes {
    weft_rt.args = [#weft_rt.tensor<local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = [#weft_rt.tensor<local = tensor<8xf32>, global = tensor<8xf32>, alias = -1, value = 0>]} {
  return
}

// -----

weft.mesh @mesh = <["dp"=2]>
// expected-error @+1 {{'func.func' op argument #0: unknown axis 'tp' in mesh #weft.mesh<["dp"=2]>}}
func.func @sharding() attributes {
    weft_rt.args = [#weft_rt.tensor<local = tensor<4xf32>, global = tensor<8xf32>, sharding = <@mesh, [{"tp"}]>>]} {
  return
}

// -----

// expected-error @+1 {{, but only arguments say that they lie on the host}}
func.func @result_host() attributes {
    weft_rt.results = [#weft_rt.tensor<local = tensor<8xf32>, global = tensor<8xf32>, value = 0, host = true>]} {
  return
}
