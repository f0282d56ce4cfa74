weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
func.func @step() attributes {weft_rt.arena_bytes = 128 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<4xf32>, global = tensor<4xf32>>, #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
    weft_rt.results = []} {
  %w = weft_rt.buffer argument 0 "w" : memref<4xf32>
  %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
  %g = weft_rt.buffer arena 0 "gathered w" : memref<8xf32>
  %s = weft_rt.buffer arena 64 "sum" : memref<8xf32>
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c1 = arith.constant 1 : index
    %b = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"tp"}>, reduce = sum>
      ins(%x : memref<8xf32>) outs(%s : memref<8xf32>) {channel = @data.tp, weft.op = "all_reduce x", weft_rt.values = array<i64: 1, 3>}
    weft_rt.wait %b
    %d = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"tp"}>, reduce = sum>
      ins(%x : memref<8xf32>) outs(%s : memref<8xf32>) {channel = @data.tp, weft.op = "second", weft_rt.values = array<i64: 1, 4>}
    weft_rt.wait %d
  return
}
