// RUN: weft-opt %s --weft-schedule="machine=%S/Inputs/slow.json memory-limit=2175" --split-input-file --verify-diagnostics

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

weft.mesh @mesh = <["fsdp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather

// expected-error @+2 {{needs 2176 bytes at least, more than the 2175 bytes of the memory limit}}
// expected-note @+1 {{arguments and results take 1408 bytes all the time}}
func.func @large(%x: tensor<16x8xf32>, %a: tensor<8x8xf32>, %b: tensor<4x8xf32>) -> tensor<16x8xf32> {
  // expected-note @+1 {{what all_gather b makes takes 256 bytes where most is needed}}
  %1 = weft.all_gather %b on @mesh <{"fsdp"}> dims [0] {channel = @gather.fsdp, weft.op = "all_gather b"} : (tensor<4x8xf32>) -> tensor<8x8xf32>
  // expected-note @+1 {{what matmul #0 makes takes 512 bytes where most is needed}}
  %2 = weft.matmul %x, %a {indexing_maps = [#lhs, #rhs, #out], weft.op = "matmul #0"} : tensor<16x8xf32>, tensor<8x8xf32> -> tensor<16x8xf32>
  %3 = weft.matmul %2, %1 {indexing_maps = [#lhs, #rhs, #out], weft.op = "matmul #1"} : tensor<16x8xf32>, tensor<8x8xf32> -> tensor<16x8xf32>
  return %3 : tensor<16x8xf32>
}

// -----

weft.mesh @mesh = <["fsdp"=2]>

func.func @no_channel(%a: tensor<4x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{has no channel to be started on}}
  %0 = weft.all_gather %a on @mesh <{"fsdp"}> dims [0] : (tensor<4x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

weft.mesh @mesh = <["fsdp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather

func.func @started(%a: tensor<4x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{is started already, so its place is fixed}}
  %0 = weft.all_gather %a on @mesh <{"fsdp"}> dims [0] {channel = @gather.fsdp} : (tensor<4x8xf32>) -> !weft.future<tensor<8x8xf32>>
  %1 = weft.wait %0 : !weft.future<tensor<8x8xf32>>
  return %1 : tensor<8x8xf32>
}

// -----

func.func @offload(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{offloads a value, which weft-offload turns into copies before they are scheduled}}
  %0 = weft.optimization_barrier %a {offload} : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
