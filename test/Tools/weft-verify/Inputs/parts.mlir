// Sends rows of a value, two values put together, a row known only at run time,
// and a constant; gives a part of a sum.
weft.mesh @mesh = <["fsdp"=2, "tp"=2]>
weft.channel @gather.fsdp on @mesh <{"fsdp"}> purpose gather
weft.channel @data.tp on @mesh <{"tp"}> purpose data
memref.global "private" constant @seven : memref<4xi32> = dense<7>
func.func @step() attributes {weft_rt.arena_bytes = 512 : i64,
    weft_rt.args = [#weft_rt.tensor<name = "w", local = tensor<2x8xf32>, global = tensor<2x8xf32>>, #weft_rt.tensor<name = "n", local = tensor<2xindex>, global = tensor<2xindex>>],
    weft_rt.results = [#weft_rt.tensor<name = "r", local = tensor<4xf32>, global = tensor<4xf32>, value = 3, part = <begin = 4, sizes = [4], strides = [1]>>,
        #weft_rt.tensor<local = tensor<16xf32>, global = tensor<16xf32>, value = 6>]} {
  %w = weft_rt.buffer argument 0 "w" : memref<2x8xf32>
  %n = weft_rt.buffer argument 1 "n" : memref<2xindex>
  %r = weft_rt.buffer result 0 "r" : memref<4xf32>
  %k = weft_rt.buffer result 1 : memref<16xf32>
  %all = weft_rt.buffer arena 0 "gathered w" : memref<4x8xf32>
  %s = weft_rt.buffer arena 128 "sum" : memref<8xf32>
  %x = weft_rt.buffer arena 192 "sum of some row" : memref<8xf32>
  %j = weft_rt.buffer arena 256 "joined" : memref<16xf32>
  %i = weft_rt.buffer arena 320 "seven" : memref<4xi32>
  %m = weft_rt.buffer arena 384 "sum of seven" : memref<4xi32>
  %part = weft_rt.view %all at 16 : memref<4x8xf32> to memref<8xf32>
  %first = weft_rt.view %all at 0 : memref<4x8xf32> to memref<8xf32>
  %ja = weft_rt.view %j at 0 : memref<16xf32> to memref<8xf32>
  %jb = weft_rt.view %j at 8 : memref<16xf32> to memref<8xf32>
  %half = weft_rt.view %s at 4 : memref<8xf32> to memref<4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = arith.constant 8 : index
  %gather = weft_rt.start <all_gather, mesh = @mesh, axes = <{"fsdp"}>, dims = [0]>
      ins(%w : memref<2x8xf32>) outs(%all : memref<4x8xf32>) {channel = @gather.fsdp, weft.op = "all_gather w", weft_rt.values = array<i64: 0, 2>}
  weft_rt.wait %gather
  %a = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"tp"}>, reduce = sum>
      ins(%part : memref<8xf32>) outs(%s : memref<8xf32>) {channel = @data.tp, weft.op = "all_reduce part", weft_rt.parts = [#weft_rt.part<begin = 16, sizes = [8], strides = [1]>, unit], weft_rt.values = array<i64: 2, 3>}
  weft_rt.wait %a
  weft_rt.copy %s to %ja {weft_rt.values = array<i64: 3, 3>} : memref<8xf32> to memref<8xf32>
  weft_rt.copy %first to %jb {weft_rt.parts = [#weft_rt.part<begin = 0, sizes = [8], strides = [1]>, #weft_rt.part<begin = 0, sizes = [8], strides = [1]>], weft_rt.values = array<i64: 2, 2>} : memref<8xf32> to memref<8xf32>
  weft_rt.assemble %j value 5 from [3, 2] {weft_rt.into = [#weft_rt.part<begin = 0, sizes = [8], strides = [1]>, #weft_rt.part<begin = 8, sizes = [8], strides = [1]>], weft_rt.parts = [unit, #weft_rt.part<begin = 0, sizes = [8], strides = [1]>]} : memref<16xf32>
  %b = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"tp"}>, reduce = sum>
      ins(%j : memref<16xf32>) outs(%k : memref<16xf32>) {channel = @data.tp, weft.op = "all_reduce joined", weft_rt.values = array<i64: 5, 6>}
  weft_rt.wait %b
  %one = weft_rt.read_scalar %n[%c0] {weft_rt.values = array<i64: 1>} : memref<2xindex>
  %other = weft_rt.read_scalar %n[%c1] {weft_rt.values = array<i64: 1>} : memref<2xindex>
  %rows = arith.constant 4 : index
  %at = arith.remui %one, %rows : index
  %until = arith.remui %other, %rows : index
  %o = arith.muli %at, %row : index
  %p = arith.muli %until, %row : index
  %some = weft_rt.view %all at 0 plus %o : memref<4x8xf32> to memref<8xf32>
  %c = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"tp"}>, reduce = sum>
      ins(%some : memref<8xf32>) outs(%x : memref<8xf32>) {channel = @data.tp, weft.op = "all_reduce somewhere", weft_rt.parts = [#weft_rt.part<begin = 0, sizes = [8], strides = [1], moves = true>, unit], weft_rt.values = array<i64: 2, 7>}
  weft_rt.wait %c
  %seven = memref.get_global @seven : memref<4xi32>
  weft_rt.copy %seven to %i {weft_rt.values = array<i64: 8, 8>} : memref<4xi32> to memref<4xi32>
  %d = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"tp"}>, reduce = sum>
      ins(%i : memref<4xi32>) outs(%m : memref<4xi32>) {channel = @data.tp, weft.op = "all_reduce constant", weft_rt.values = array<i64: 8, 9>}
  weft_rt.wait %d
  weft_rt.copy %half to %r {weft_rt.parts = [#weft_rt.part<begin = 4, sizes = [4], strides = [1]>, #weft_rt.part<begin = 4, sizes = [4], strides = [1]>], weft_rt.values = array<i64: 3, 3>} : memref<4xf32> to memref<4xf32>
  return
}
