// RUN: weft-opt %s -split-input-file --weft-align-weights | FileCheck %s
// RUN: weft-opt %s -split-input-file --weft-align-weights --weft-propagate-shardings --weft-insert-reshards \
// RUN:   --weft-partition --canonicalize --cse --weft-print-traffic -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES

// Queries, keys and values of one weight, and more tokens than the weight has
// rows: its columns are put in the order of ranks, each with its part of the
// three. Slices are cut from what each rank has. A rank has 32 KB of the weight,
// which go there and back; of the product it has 64 KB.
// BYTES: all_to_all over {{.*}}: 4 operands, 49152 bytes

#x = affine_map<(t, n, k) -> (t, k)>
#w = affine_map<(t, n, k) -> (k, n)>
#y = affine_map<(t, n, k) -> (t, n)>

weft.mesh @mesh = <["tp"=4]>

// CHECK-LABEL: func.func @heads
// CHECK: %[[Q:.+]] = tensor.extract_slice %arg1[0, 0] [32, 512]
// CHECK: %[[QS:.+]] = weft.shard %[[Q]] to <@mesh, [{}, {"tp"}]>
// CHECK: tensor.extract_slice %arg1[0, 512] [32, 256]
// CHECK: tensor.extract_slice %arg1[0, 768] [32, 256]
// CHECK: tensor.expand_shape %[[QS]] {{.*}} into tensor<32x4x128xf32>
// CHECK: %[[C:.+]] = tensor.concat dim(2) {{.*}} -> tensor<32x4x256xf32>
// CHECK: %[[F:.+]] = tensor.collapse_shape %[[C]]
// CHECK: %[[W:.+]] = weft.shard %[[F]] to <@mesh, [{}, {"tp"}]>
// CHECK: %[[Y:.+]] = weft.matmul %arg0, %[[W]]
// CHECK: %[[E:.+]] = tensor.expand_shape %[[Y]] {{.*}} into tensor<64x4x256xf32>
// CHECK: %[[S:.+]] = tensor.extract_slice %[[E]][0, 0, 0] [64, 4, 128]
// CHECK: tensor.collapse_shape %[[S]] {{.*}} into tensor<64x512xf32>
// CHECK: tensor.extract_slice {{.*}}[0, 0, 128] [64, 4, 64]
// CHECK: tensor.extract_slice {{.*}}[0, 0, 192] [64, 4, 64]
// CHECK-NOT: tensor.extract_slice
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

#x = affine_map<(t, n, k) -> (t, k)>
#w = affine_map<(t, n, k) -> (k, n)>
#y = affine_map<(t, n, k) -> (t, n)>

weft.mesh @mesh = <["tp"=4]>

// Fewer tokens than rows of the weight: the product is cheaper to move.
// BYTES: all_to_all over {{.*}}: 3 operands, 24576 bytes
// CHECK-LABEL: func.func @negative_few_tokens
// CHECK: weft.matmul %arg0, %arg1
// CHECK-NOT: tensor.concat
func.func @negative_few_tokens(
    %x: tensor<16x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %w: tensor<32x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<16x512xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
        tensor<16x512xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>}) {
  %y = weft.matmul %x, %w {indexing_maps = [#x, #w, #y]} : tensor<16x32xf32>, tensor<32x1024xf32> -> tensor<16x1024xf32>
  %a = tensor.extract_slice %y[0, 0] [16, 512] [1, 1] : tensor<16x1024xf32> to tensor<16x512xf32>
  %b = tensor.extract_slice %y[0, 512] [16, 512] [1, 1] : tensor<16x1024xf32> to tensor<16x512xf32>
  return %a, %b : tensor<16x512xf32>, tensor<16x512xf32>
}

// -----

#x = affine_map<(t, n, k) -> (t, k)>
#w = affine_map<(t, n, k) -> (k, n)>
#y = affine_map<(t, n, k) -> (t, n)>

weft.mesh @mesh = <["tp"=4]>

// A slice that is wished whole: nothing would be saved. The columns between the
// slices: not all of the product is used.
// CHECK-LABEL: func.func @negative_whole
// CHECK: weft.matmul %arg0, %arg1
// CHECK-NOT: tensor.concat
func.func @negative_whole(
    %x: tensor<64x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %w: tensor<32x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<64x512xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
        tensor<64x256xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>}) {
  %y = weft.matmul %x, %w {indexing_maps = [#x, #w, #y]} : tensor<64x32xf32>, tensor<32x1024xf32> -> tensor<64x1024xf32>
  %a = tensor.extract_slice %y[0, 0] [64, 512] [1, 1] : tensor<64x1024xf32> to tensor<64x512xf32>
  %b = tensor.extract_slice %y[0, 768] [64, 256] [1, 1] : tensor<64x1024xf32> to tensor<64x256xf32>
  return %a, %b : tensor<64x512xf32>, tensor<64x256xf32>
}

// -----

#x = affine_map<(t, n, k) -> (t, n)>
#w = affine_map<(t, n, k) -> (k, n)>
#y = affine_map<(t, n, k) -> (t, k)>
#h = affine_map<(n, k, t) -> (t, n)>
#a = affine_map<(n, k, t) -> (t, k)>
#g = affine_map<(n, k, t) -> (n, k)>
#id = affine_map<(t, n) -> (t, n)>

weft.mesh @mesh = <["tp"=4]>

// Gradients of two slices: they are put together in the order of ranks, and the
// gradient of the weight is put back: 32 KB of the weight and of its gradient go
// there and back, and not 128 KB of the sum.
// BYTES: all_to_all over {{.*}}: 6 operands, 98304 bytes
// CHECK-LABEL: func.func @gradients
// CHECK: %[[W:.+]] = weft.shard {{.*}} : tensor<32x1024xf32>
// CHECK-NOT: tensor.pad
// CHECK: tensor.concat dim(2) {{.*}} -> tensor<128x4x256xf32>
// CHECK: %[[S:.+]] = tensor.collapse_shape {{.*}} into tensor<128x1024xf32>
// CHECK: weft.matmul %[[S]], %[[W]]
// CHECK: %[[G:.+]] = weft.matmul %[[S]], %arg3
// CHECK: %[[R:.+]] = weft.shard %[[G]] to <@mesh, [{"tp"}, {}]>
// CHECK: tensor.expand_shape %[[R]] {{.*}} into tensor<4x256x32xf32>
// CHECK: %[[D:.+]] = tensor.concat dim(0) {{.*}} -> tensor<1024x32xf32>
// CHECK: return {{.*}}, %[[D]]
func.func @gradients(
    %p: tensor<128x768xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
    %q: tensor<128x256xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<32x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
    %x: tensor<128x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>})
    -> (tensor<128x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
        tensor<1024x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) {
  %zero = arith.constant 0.0 : f32
  %a = tensor.pad %p low[0, 0] high[0, 256] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<128x768xf32> to tensor<128x1024xf32>
  %b = tensor.pad %q low[0, 768] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<128x256xf32> to tensor<128x1024xf32>
  %e = tensor.empty() : tensor<128x1024xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<128x1024xf32>, tensor<128x1024xf32>) outs(%e : tensor<128x1024xf32>) {
  ^bb0(%m: f32, %n: f32, %o: f32):
    %0 = arith.addf %m, %n : f32
    linalg.yield %0 : f32
  } -> tensor<128x1024xf32>
  %dx = weft.matmul %s, %w {indexing_maps = [#x, #w, #y]} : tensor<128x1024xf32>, tensor<32x1024xf32> -> tensor<128x32xf32>
  %dw = weft.matmul %s, %x {indexing_maps = [#h, #a, #g]} : tensor<128x1024xf32>, tensor<128x32xf32> -> tensor<1024x32xf32>
  return %dx, %dw : tensor<128x32xf32>, tensor<1024x32xf32>
}
