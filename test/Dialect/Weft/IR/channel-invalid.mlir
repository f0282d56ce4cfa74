// RUN: weft-opt %s --split-input-file --verify-diagnostics

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
// expected-error @+1 {{axes: unknown axis 'ep' in mesh}}
weft.channel @c on @mesh <{"ep"}> purpose gather

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose gather
func.func @collective_c1_unknown(%x: tensor<8xf32>) -> tensor<16xf32> {
  // expected-error @+1 {{'weft.all_gather' op runs on @mesh, which is no channel}}
  %0 = weft.all_gather %x on @mesh <{"fsdp"}> dims [0] {channel = @mesh} : (tensor<8xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose gather
func.func @collective_c1_axes(%x: tensor<8xf32>) -> tensor<16xf32> {
  // expected-error @+1 {{'weft.all_gather' op is over #weft.axes<{"tp"}>, but its channel @c is over #weft.axes<{"fsdp"}>}}
  %0 = weft.all_gather %x on @mesh <{"tp"}> dims [0] {channel = @c} : (tensor<8xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose gather
func.func @collective_c2(%x: tensor<8xf32>) -> tensor<16xf32> {
  // expected-error @+1 {{'weft.all_gather' op has 1 futures among 2 results, expected all or none}}
  %0:2 = weft.all_gather %x, %x on @mesh <{"fsdp"}> dims [0, 0] {channel = @c} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<16xf32>, !weft.future<tensor<16xf32>>)
  return %0#0 : tensor<16xf32>
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose gather
func.func @collective_c3(%x: tensor<8xf32>) -> tensor<16xf32> {
  // expected-error @+1 {{'weft.all_gather' op is started, but has no channel}}
  %0 = weft.all_gather %x on @mesh <{"fsdp"}> dims [0] : (tensor<8xf32>) -> !weft.future<tensor<16xf32>>
  %1 = weft.wait %0 : !weft.future<tensor<16xf32>>
  return %1 : tensor<16xf32>
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose gather
func.func @collective_c4_never(%x: tensor<8xf32>) {
  // expected-error @+1 {{'weft.all_gather' op future #0 is never waited for}}
  %0 = weft.all_gather %x on @mesh <{"fsdp"}> dims [0] {channel = @c} : (tensor<8xf32>) -> !weft.future<tensor<16xf32>>
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose gather
func.func @collective_c4_twice(%x: tensor<8xf32>) -> tensor<16xf32> {
  // expected-error @+1 {{'weft.all_gather' op future #0 is used 2 times, expected once}}
  %0 = weft.all_gather %x on @mesh <{"fsdp"}> dims [0] {channel = @c} : (tensor<8xf32>) -> !weft.future<tensor<16xf32>>
  %1 = weft.wait %0 : !weft.future<tensor<16xf32>>
  %2 = weft.wait %0 : !weft.future<tensor<16xf32>>
  return %1 : tensor<16xf32>
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose gather
func.func @collective_c4_other(%x: tensor<8xf32>) -> !weft.future<tensor<16xf32>> {
  // expected-error @+1 {{'weft.all_gather' op future #0 is used by 'func.return', expected 'weft.wait'}}
  %0 = weft.all_gather %x on @mesh <{"fsdp"}> dims [0] {channel = @c} : (tensor<8xf32>) -> !weft.future<tensor<16xf32>>
  return %0 : !weft.future<tensor<16xf32>>
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose gather
func.func @result_type(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'weft.all_gather' op result #0 has type '!weft.future<tensor<8xf32>>', expected 'tensor<16xf32>'}}
  %0 = weft.all_gather %x on @mesh <{"fsdp"}> dims [0] {channel = @c} : (tensor<8xf32>) -> !weft.future<tensor<8xf32>>
  %1 = weft.wait %0 : !weft.future<tensor<8xf32>>
  return %1 : tensor<8xf32>
}

// -----

func.func @wait_c1_none() {
  // expected-error @+1 {{'weft.wait' op needs at least one future}}
  "weft.wait"() : () -> ()
  return
}

// -----

func.func @wait_c1_argument(%f: !weft.future<tensor<16xf32>>) {
  // expected-error @+1 {{'weft.wait' op waits for a block argument, expected what a collective started}}
  %0 = weft.wait %f : !weft.future<tensor<16xf32>>
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose gather
func.func @wait_c1_part(%x: tensor<8xf32>) {
  %0:2 = weft.all_gather %x, %x on @mesh <{"fsdp"}> dims [0, 0] {channel = @c} : (tensor<8xf32>, tensor<8xf32>) -> (!weft.future<tensor<16xf32>>, !weft.future<tensor<16xf32>>)
  // expected-error @+1 {{'weft.wait' op takes other futures than all 2 of one 'weft.all_gather' op in their order}}
  %1 = weft.wait %0#0 : !weft.future<tensor<16xf32>>
  %2 = weft.wait %0#1 : !weft.future<tensor<16xf32>>
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose gather
func.func @wait_c1_order(%x: tensor<8xf32>) {
  %0:2 = weft.all_gather %x, %x on @mesh <{"fsdp"}> dims [0, 0] {channel = @c} : (tensor<8xf32>, tensor<8xf32>) -> (!weft.future<tensor<16xf32>>, !weft.future<tensor<16xf32>>)
  // expected-error @+1 {{'weft.wait' op takes other futures than all 2}}
  %1:2 = weft.wait %0#1, %0#0 : !weft.future<tensor<16xf32>>, !weft.future<tensor<16xf32>>
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose gather
func.func @wait_c1_several(%x: tensor<8xf32>) {
  %0 = weft.all_gather %x on @mesh <{"fsdp"}> dims [0] {channel = @c} : (tensor<8xf32>) -> !weft.future<tensor<16xf32>>
  %1 = weft.all_gather %x on @mesh <{"fsdp"}> dims [0] {channel = @c} : (tensor<8xf32>) -> !weft.future<tensor<16xf32>>
  // expected-error @+1 {{'weft.wait' op takes other futures than all 1}}
  %2:2 = weft.wait %0, %1 : !weft.future<tensor<16xf32>>, !weft.future<tensor<16xf32>>
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @c on @mesh <{"fsdp"}> purpose gather
func.func @wait_c2(%x: tensor<8xf32>, %b: i1) {
  %0 = weft.all_gather %x on @mesh <{"fsdp"}> dims [0] {channel = @c} : (tensor<8xf32>) -> !weft.future<tensor<16xf32>>
  scf.if %b {
    // expected-error @+1 {{'weft.wait' op is in another block than the 'weft.all_gather' op that it waits for}}
    %1 = weft.wait %0 : !weft.future<tensor<16xf32>>
  }
  return
}

// -----

func.func @wait_type(%x: tensor<8xf32>) {
  // expected-error @+1 {{'weft.wait' op waits for a value of type 'tensor<8xf32>', expected a future}}
  %0 = weft.wait %x : tensor<8xf32>
  return
}

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
// expected-error @+1 {{is for copies to or from the host's memory, but over #weft.axes<{"tp"}>}}
weft.channel @channel_c2 on @mesh <{"tp"}> purpose fetch

// -----

weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @offload on @mesh <{}> purpose offload
func.func @no_copy(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'weft.all_reduce' op is no copy, but runs on @offload of purpose offload}}
  %0 = weft.all_reduce sum %x on @mesh <{}> {channel = @offload} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
