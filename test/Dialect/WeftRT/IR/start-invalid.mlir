// RUN: weft-opt %s -split-input-file -verify-diagnostics

weft.mesh @mesh = <["fsdp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose data
func.func @start_c1(%x: memref<8xf32>) {
  // expected-error @+1 {{'weft_rt.start' op has 1 inputs and 2 outputs}}
  %t = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"fsdp"}>, reduce = sum> ins(%x : memref<8xf32>) outs(%x, %x : memref<8xf32>, memref<8xf32>) {channel = @c}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose data
func.func @start_without_channel(%x: memref<8xf32>) {
  // expected-error @+1 {{'weft_rt.start' op requires attribute 'channel'}}
  %t = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"fsdp"}>, reduce = sum> ins(%x : memref<8xf32>) outs(%x : memref<8xf32>)
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @c on @mesh <{"fsdp", "tp"}> purpose data
func.func @start_c3_group(%x: memref<6x16xf32>, %y: memref<12x16xf32>) {
  // expected-error @+1 {{'weft_rt.start' op makes no dense 'memref<12x16xf32>' of input #0 of type 'memref<6x16xf32>' in groups of 4}}
  %t = weft_rt.start <all_gather, mesh = @mesh, axes = <{"fsdp", "tp"}>, dims = [0]> ins(%x : memref<6x16xf32>) outs(%y : memref<12x16xf32>) {channel = @c}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose data
func.func @start_c3_element(%x: memref<6x16xf32>, %y: memref<12x16xbf16>) {
  // expected-error @+1 {{'weft_rt.start' op makes no dense 'memref<12x16xbf16>' of input #0 of type 'memref<6x16xf32>' in groups of 2}}
  %t = weft_rt.start <all_gather, mesh = @mesh, axes = <{"fsdp"}>, dims = [0]> ins(%x : memref<6x16xf32>) outs(%y : memref<12x16xbf16>) {channel = @c}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose data
func.func @start_c3_dense(%x: memref<6x16xf32, strided<[32, 1]>>, %y: memref<12x16xf32>) {
  // expected-error @+1 {{'weft_rt.start' op makes no dense 'memref<12x16xf32>' of input #0}}
  %t = weft_rt.start <all_gather, mesh = @mesh, axes = <{"fsdp"}>, dims = [0]> ins(%x : memref<6x16xf32, strided<[32, 1]>>) outs(%y : memref<12x16xf32>) {channel = @c}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose data
func.func @start_c3_dim(%x: memref<6x16xf32>, %y: memref<12x16xf32>) {
  // expected-error @+1 {{'weft_rt.start' op makes no dense 'memref<12x16xf32>' of input #0}}
  %t = weft_rt.start <all_gather, mesh = @mesh, axes = <{"fsdp"}>, dims = [2]> ins(%x : memref<6x16xf32>) outs(%y : memref<12x16xf32>) {channel = @c}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose data
func.func @start_c3_uneven(%x: memref<7x16xf32>, %y: memref<3x16xf32>) {
  // expected-error @+1 {{'weft_rt.start' op makes no dense 'memref<3x16xf32>' of input #0}}
  %t = weft_rt.start <reduce_scatter, mesh = @mesh, axes = <{"fsdp"}>, reduce = sum, dims = [0]> ins(%x : memref<7x16xf32>) outs(%y : memref<3x16xf32>) {channel = @c}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose data
func.func @start_c3_axis(%x: memref<7x16xf32>) {
  // expected-error @+1 {{'weft_rt.start' op axes: unknown axis 'tp' in mesh #weft.mesh<["fsdp"=2]>}}
  %t = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"tp"}>, reduce = sum> ins(%x : memref<7x16xf32>) outs(%x : memref<7x16xf32>) {channel = @c}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose data
func.func @start_c3_sources(%x: memref<7x16xf32>, %y: memref<7x16xf32>) {
  // expected-error @+1 {{'weft_rt.start' op has no source in its group of 2 for each of its members}}
  %t = weft_rt.start <permute, mesh = @mesh, axes = <{"fsdp"}>, sources = [1, 2]> ins(%x : memref<7x16xf32>) outs(%y : memref<7x16xf32>) {channel = @c}
  return
}

// -----

// expected-error @+1 {{all_gather has no 'dims'}}
func.func @collective_c1_missing() attributes {x = #weft_rt.collective<all_gather, mesh = @mesh, axes = <{"fsdp"}>>} {
  return
}

// -----

// expected-error @+1 {{all_reduce has no 'reduce'}}
func.func @collective_c1_reduce() attributes {x = #weft_rt.collective<all_reduce, mesh = @mesh, axes = <{"fsdp"}>>} {
  return
}

// -----

// expected-error @+1 {{all_to_all has no 'split_dims'}}
func.func @collective_c1_split() attributes {x = #weft_rt.collective<all_to_all, mesh = @mesh, axes = <{"fsdp"}>, concat_dims = [0]>} {
  return
}

// -----

// expected-error @+1 {{permute has no 'sources'}}
func.func @collective_c1_sources() attributes {x = #weft_rt.collective<permute, mesh = @mesh, axes = <{"fsdp"}>>} {
  return
}

// -----

// expected-error @+1 {{permute has 'reduce', which is not for collectives of its kind}}
func.func @collective_c1_needless() attributes {x = #weft_rt.collective<permute, mesh = @mesh, axes = <{"fsdp"}>, reduce = sum, sources = [1, 0]>} {
  return
}

// -----

// expected-error @+1 {{all_gather has 'order', which is not for collectives of its kind}}
func.func @collective_c1_order() attributes {x = #weft_rt.collective<all_gather, mesh = @mesh, axes = <{"fsdp"}>, order = <leaves = 2>, dims = [0]>} {
  return
}

// -----

func.func @collective_kind(%x: memref<8xf32>) {
  // expected-error @+2 {{expected one of [all_gather, reduce_scatter, all_reduce, all_to_all, permute] for what a collective does, got: broadcast}}
  // expected-error @+1 {{failed to parse WeftRT_CollectiveAttr parameter 'kind'}}
  %t = weft_rt.start <broadcast, mesh = @mesh, axes = <{"dp"}>> ins(%x : memref<8xf32>) outs(%x : memref<8xf32>) {channel = @c}
  return
}

// -----

weft.mesh @other = <["fsdp"=2]>
weft.channel @c on @other <{"fsdp"}> purpose data
func.func @start_c2_mesh(%x: memref<8xf32>) {
  // expected-error @+1 {{'weft_rt.start' op axes: unknown mesh @mesh}}
  %t = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"fsdp"}>, reduce = sum> ins(%x : memref<8xf32>) outs(%x : memref<8xf32>) {channel = @c}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2]>
func.func @start_c2_channel(%x: memref<8xf32>) {
  // expected-error @+1 {{'weft_rt.start' op runs on @c, which is no channel}}
  %t = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"fsdp"}>, reduce = sum> ins(%x : memref<8xf32>) outs(%x : memref<8xf32>) {channel = @c}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @c on @mesh <{"tp"}> purpose data
func.func @start_c2_other_axes(%x: memref<8xf32>) {
  // expected-error @+1 {{'weft_rt.start' op is over #weft.axes<{"fsdp"}>, but its channel @c is over #weft.axes<{"tp"}>}}
  %t = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"fsdp"}>, reduce = sum> ins(%x : memref<8xf32>) outs(%x : memref<8xf32>) {channel = @c}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose data
func.func @start_c3_dims(%x: memref<6x16xf32>, %y: memref<12x16xf32>) {
  // expected-error @+1 {{'weft_rt.start' op makes no dense 'memref<12x16xf32>' of input #0}}
  %t = weft_rt.start <all_gather, mesh = @mesh, axes = <{"fsdp"}>, dims = [0, 0]> ins(%x : memref<6x16xf32>) outs(%y : memref<12x16xf32>) {channel = @c}
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose data
func.func @start_truth_values(%x: memref<8xi1>, %y: memref<8xi1>) {
  // expected-error @+1 {{'weft_rt.start' op combines truth values by sum, expected and or or}}
  %t = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"fsdp"}>, reduce = sum> ins(%x : memref<8xi1>) outs(%y : memref<8xi1>) {channel = @c}
  return
}
