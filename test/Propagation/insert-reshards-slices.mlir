// RUN: weft-opt %s -split-input-file --weft-propagate-shardings --weft-insert-reshards \
// RUN:   --weft-verify-sharding --weft-partition --canonicalize --cse --weft-print-traffic -verify-diagnostics -o /dev/null

// One weight for queries, keys and values, cut over tp: 512, 256 and 256 columns,
// of which no shard has its own.

#x = affine_map<(t, n, k) -> (t, k)>
#w = affine_map<(t, n, k) -> (k, n)>
#y = affine_map<(t, n, k) -> (t, n)>

weft.mesh @mesh = <["tp"=4]>

// A rank has 256 columns of all 64 tokens, 64 KB. All columns of its share of the
// tokens are 48 KB, the slices' columns of all tokens again 48 KB. To gather all
// columns of all tokens: 192 KB.
// expected-remark @+1 {{all_to_all over #weft.axes<{"tp"}>: 4 operands, 98304 bytes}}
func.func @heads(
    %x: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %w: tensor<32x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<64x512xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
        tensor<64x256xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
        tensor<64x256xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>}) {
  %y = weft.matmul %x, %w {indexing_maps = [#x, #w, #y]} : tensor<64x32xf32>, tensor<32x1024xf32> -> tensor<64x1024xf32>
  %q = tensor.extract_slice %y[0, 0] [64, 512] [1, 1] : tensor<64x1024xf32> to tensor<64x512xf32>
  %k = tensor.extract_slice %y[0, 512] [64, 256] [1, 1] : tensor<64x1024xf32> to tensor<64x256xf32>
  %v = tensor.extract_slice %y[0, 768] [64, 256] [1, 1] : tensor<64x1024xf32> to tensor<64x256xf32>
  return %q, %k, %v : tensor<64x512xf32>, tensor<64x256xf32>, tensor<64x256xf32>
}

// -----

#x = affine_map<(t, n, k) -> (t, n)>
#w = affine_map<(t, n, k) -> (k, n)>
#y = affine_map<(t, n, k) -> (t, k)>
#id = affine_map<(t, n) -> (t, n)>

weft.mesh @mesh = <["tp"=4]>

// Back: the gradients of the three, padded and added up, times the weight. They
// are added where each rank has some tokens, 48 KB, and go to the weight's
// columns, 48 KB; the product is summed, 12 KB. To gather the three: 192 KB.
// expected-remark @+2 {{all_reduce over #weft.axes<{"tp"}>: 1 operands, 12288 bytes}}
// expected-remark @+1 {{all_to_all over #weft.axes<{"tp"}>: 4 operands, 98304 bytes}}
func.func @gradient(
    %a: tensor<64x512xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
    %b: tensor<64x256xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
    %c: tensor<64x256xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<32x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %zero = arith.constant 0.0 : f32
  %q = tensor.pad %a low[0, 0] high[0, 512] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<64x512xf32> to tensor<64x1024xf32>
  %k = tensor.pad %b low[0, 512] high[0, 256] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<64x256xf32> to tensor<64x1024xf32>
  %v = tensor.pad %c low[0, 768] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<64x256xf32> to tensor<64x1024xf32>
  %e = tensor.empty() : tensor<64x1024xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%q, %k, %v : tensor<64x1024xf32>, tensor<64x1024xf32>, tensor<64x1024xf32>) outs(%e : tensor<64x1024xf32>) {
  ^bb0(%p: f32, %r: f32, %t: f32, %o: f32):
    %0 = arith.addf %p, %r : f32
    %1 = arith.addf %0, %t : f32
    linalg.yield %1 : f32
  } -> tensor<64x1024xf32>
  %g = weft.matmul %s, %w {indexing_maps = [#x, #w, #y]} : tensor<64x1024xf32>, tensor<32x1024xf32> -> tensor<64x32xf32>
  return %g : tensor<64x32xf32>
}

// -----

weft.mesh @mesh = <["tp"=4]>

// A small part that all ranks want is gathered after it was cut: 12 KB, and 3 KB.
// expected-remark @+2 {{all_to_all over #weft.axes<{"tp"}>: 1 operands, 12288 bytes}}
// expected-remark @+1 {{all_gather over #weft.axes<{"tp"}>: 1 operands, 3072 bytes}}
func.func @small(
    %a: tensor<64x256xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<64x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %0 = tensor.extract_slice %a[0, 56] [64, 16] [1, 1] : tensor<64x256xf32> to tensor<64x16xf32>
  return %0 : tensor<64x16xf32>
}

// -----

weft.mesh @mesh = <["tp"=4]>

// Nothing else divides by 4: what is cut is gathered.
// expected-remark @+1 {{all_gather over #weft.axes<{"tp"}>: 1 operands, 8448 bytes}}
func.func @negative_uneven(
    %a: tensor<11x256xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<11x128xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>}) {
  %0 = tensor.extract_slice %a[0, 56] [11, 128] [1, 1] : tensor<11x256xf32> to tensor<11x128xf32>
  return %0 : tensor<11x128xf32>
}
