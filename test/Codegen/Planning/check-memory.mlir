// RUN: weft-opt %s --weft-check-memory=limit=639 -split-input-file -verify-diagnostics
// RUN: weft-opt %s --weft-check-memory=limit=640 -split-input-file -o /dev/null
// RUN: weft-opt %s --weft-check-memory -split-input-file -o /dev/null

// A result that is a donated argument counts once, and each block is rounded up
// to 64 bytes.

weft.mesh @mesh = <["dp"=2]>
weft.channel @c on @mesh <{"dp"}> purpose data
// expected-error @+1 {{'func.func' op needs 640 bytes a rank (128 for arguments, 64 for results, 448 for the arena), more than the limit of 639}}
func.func @step() attributes {weft_rt.arena_bytes = 448 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<16xf32>, global = tensor<16xf32>>, #weft_rt.tensor<local = tensor<1xf32>, global = tensor<1xf32>>],
    weft_rt.results = [#weft_rt.tensor<local = tensor<16xf32>, global = tensor<16xf32>, alias = 0, value = 0>, #weft_rt.tensor<local = tensor<2xi8>, global = tensor<2xi8>, value = 0>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<16xf32>
  %i = arith.constant 0 : index
  %v = weft_rt.read_scalar %w[%i] : memref<16xf32>
  // expected-note @+1 {{'small' has 2 bytes of the arena at the peak, at 'read both'}}
  %a = weft_rt.buffer arena 0 "small" : memref<2xi8>
  // expected-note @+1 {{'large' has 200 bytes of the arena at the peak, at 'read both'}}
  %b = weft_rt.buffer arena 64 "large" : memref<100xbf16>
  %c = weft_rt.buffer arena 64 "late" : memref<64xi8>
  %y = weft_rt.read_scalar %a[%i] : memref<2xi8>
  %t = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"dp"}>, reduce = sum> ins(%b, %a : memref<100xbf16>, memref<2xi8>)
      outs(%b, %a : memref<100xbf16>, memref<2xi8>) {channel = @c, weft.op = "read both"}
  weft_rt.wait %t
  %x = weft_rt.read_scalar %c[%i] : memref<64xi8>
  return
}
