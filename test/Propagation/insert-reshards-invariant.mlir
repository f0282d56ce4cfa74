// RUN: weft-opt %s --split-input-file --weft-propagate-shardings --weft-insert-reshards --weft-verify-sharding --weft-partition \
// RUN:   | FileCheck %s

// Each of four ranks sums two of eight leaves, which are one subtree.
// CHECK-LABEL: func @tree
// CHECK: %[[PART:.*]] = weft.matmul {{.*}} weft.order = #weft.order<leaves = 2>} : tensor<4x128xf32>, tensor<128x8xf32>
// CHECK: weft.all_reduce sum %[[PART]] on @mesh <{"tp"}> {weft.order = #weft.order<leaves = 4>}
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=4]>
  func.func @tree(%x: tensor<4x512xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
                  %w: tensor<512x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>})
      -> (tensor<4x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
    %0 = weft.matmul %x, %w {weft.order = #weft.order<leaves = 8>, indexing_maps = [
           affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
         : tensor<4x512xf32>, tensor<512x8xf32> -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
}

// -----

// With two leaves four ranks cannot: both operands are gathered along half of
// the axis, and along the other half each rank sums a leaf.
// CHECK-LABEL: func @few_leaves
// CHECK-DAG: weft.all_gather %arg0 on @mesh <{"tp":(2)2}> dims [1]
// CHECK-DAG: weft.all_gather %arg1 on @mesh <{"tp":(2)2}> dims [0]
// CHECK: %[[PART:.*]] = weft.matmul {{.*}} weft.order = #weft.order<leaves = 1>} : tensor<64x256xf32>, tensor<256x8xf32>
// CHECK: weft.all_reduce sum %[[PART]] on @mesh <{"tp":(1)2}> {weft.order = #weft.order<leaves = 2>}
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=4]>
  func.func @few_leaves(%x: tensor<64x512xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
                        %w: tensor<512x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>})
      -> (tensor<64x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
    %0 = weft.matmul %x, %w {weft.order = #weft.order<leaves = 2>, indexing_maps = [
           affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
         : tensor<64x512xf32>, tensor<512x8xf32> -> tensor<64x8xf32>
    return %0 : tensor<64x8xf32>
  }
}

// -----

// An axis that is not listed cuts in three: each rank sums a sixth of K, the
// halves of each third in one subtree. Six parts of unequal depth join at once.
// CHECK-LABEL: func @free_axis
// CHECK: %[[PART:.*]] = weft.matmul {{.*}} weft.order = #weft.order<leaves = 4>} : tensor<8x128xf32>, tensor<128x8xf32>
// CHECK: weft.all_reduce sum %[[PART]] on @mesh <{"dp", "tp"}> {weft.order = #weft.order<leaves = 6>}
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2, "dp"=3]>
  func.func @free_axis(%x: tensor<8x768xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"dp", "tp"}]>},
                       %w: tensor<768x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "tp"}, {}]>})
      -> (tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
    %0 = weft.matmul %x, %w {weft.order = #weft.order<leaves = 24>, indexing_maps = [
           affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
         : tensor<8x768xf32>, tensor<768x8xf32> -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}

// -----

// A weight gradient whose batch is cut by fsdp before dp: the parts are joined
// in that order, whatever the order of the mesh. The weight rests over dp: a
// scatter over both, and a gather over the other.
// CHECK-LABEL: func @axes_in_other_order
// CHECK: %[[PART:.*]] = weft.matmul {{.*}} weft.order = #weft.order<leaves = 2>}
// CHECK: %[[JOINED:.*]] = weft.all_reduce sum %[[PART]] on @mesh <{"fsdp", "dp"}> {weft.order = #weft.order<leaves = 4>}
module attributes {weft.invariance = #weft.invariance<axes = ["dp", "fsdp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=2, "fsdp"=2]>
  func.func @axes_in_other_order(%x: tensor<8x64x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp", "dp"}, {}, {}]>},
                                 %g: tensor<8x64x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp", "dp"}, {}, {}]>})
      -> (tensor<16x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
    %0 = weft.matmul %x, %g {weft.order = #weft.order<leaves = 8>, indexing_maps = [
           affine_map<(m, n, b, s) -> (b, s, m)>, affine_map<(m, n, b, s) -> (b, s, n)>, affine_map<(m, n, b, s) -> (m, n)>]}
         : tensor<8x64x16xf32>, tensor<8x64x8xf32> -> tensor<16x8xf32>
    return %0 : tensor<16x8xf32>
  }
}

// -----

// The inner loop of the sum is cut while the outer one is whole: the rank's part
// is not contiguous. Operands are gathered.
// CHECK-LABEL: func @inner_loop
// CHECK-COUNT-2: weft.all_gather
// CHECK: weft.matmul {{.*}} weft.order = #weft.order<leaves = 8>} : tensor<8x64x16xf32>
// CHECK-NOT: all_reduce
module attributes {weft.invariance = #weft.invariance<axes = ["sp"], leaves = 8>} {
  weft.mesh @mesh = <["sp"=2]>
  func.func @inner_loop(%x: tensor<8x64x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"sp"}, {}]>},
                        %g: tensor<8x64x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"sp"}, {}]>})
      -> (tensor<16x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
    %0 = weft.matmul %x, %g {weft.order = #weft.order<leaves = 8>, indexing_maps = [
           affine_map<(m, n, b, s) -> (b, s, m)>, affine_map<(m, n, b, s) -> (b, s, n)>, affine_map<(m, n, b, s) -> (m, n)>]}
         : tensor<8x64x16xf32>, tensor<8x64x8xf32> -> tensor<16x8xf32>
    return %0 : tensor<16x8xf32>
  }
}

// -----

// Two sums that are added are joined each by itself; in fast mode they would be
// added first and joined once.
// CHECK-LABEL: func @sum_of_sums
// CHECK-COUNT-2: weft.reduce_scatter sum {{.*}} dims [0] {weft.order = #weft.order<leaves = 2>}
// CHECK: arith.addf
// CHECK: weft.all_gather
// CHECK: return
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @sum_of_sums(%x: tensor<4x512xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
                         %w: tensor<512x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>},
                         %v: tensor<512x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>})
      -> (tensor<4x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
    %0 = weft.matmul %x, %w {weft.order = #weft.order<leaves = 8>, indexing_maps = [
           affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
         : tensor<4x512xf32>, tensor<512x8xf32> -> tensor<4x8xf32>
    %1 = weft.matmul %x, %v {weft.order = #weft.order<leaves = 8>, indexing_maps = [
           affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
         : tensor<4x512xf32>, tensor<512x8xf32> -> tensor<4x8xf32>
    %e = tensor.empty() : tensor<4x8xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
           iterator_types = ["parallel", "parallel"]} ins(%0, %1 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<4x8xf32>
    return %2 : tensor<4x8xf32>
  }
}

// -----

// A transposition may wait: it only moves contributions.
// CHECK-LABEL: func @moved_sum
// CHECK: weft.matmul
// CHECK: linalg.generic
// CHECK: weft.reduce_scatter sum {{.*}} dims [0] {weft.order = #weft.order<leaves = 2>}
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @moved_sum(%x: tensor<4x512xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
                       %w: tensor<512x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>})
      -> (tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>}) {
    %0 = weft.matmul %x, %w {weft.order = #weft.order<leaves = 8>, indexing_maps = [
           affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
         : tensor<4x512xf32>, tensor<512x8xf32> -> tensor<4x8xf32>
    %e = tensor.empty() : tensor<8x4xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
           iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<8x4xf32>
    return %1 : tensor<8x4xf32>
  }
}

// -----

// Max is exact in any order; a row scatter adds all its updates on each rank.
// CHECK-LABEL: func @exact_and_scatter
// CHECK-DAG: weft.all_reduce max {{.*}} on @mesh <{"dp"}> :
// CHECK-DAG: weft.all_gather {{.*}} (tensor<4xi32>)
// CHECK-DAG: weft.all_gather {{.*}} (tensor<4x8xf32>)
// CHECK-DAG: weft.scatter_add {{.*}} : tensor<64x8xf32>, tensor<8xi32>, tensor<8x8xf32>
module attributes {weft.invariance = #weft.invariance<axes = ["dp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=2]>
  func.func @exact_and_scatter(%x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>},
                               %i: tensor<8xi32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>})
      -> (tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>},
          tensor<64x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
    %low = arith.constant dense<0xFF800000> : tensor<8xf32>
    %zeros = arith.constant dense<0.0> : tensor<64x8xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
           iterator_types = ["reduction", "parallel"]} ins(%x : tensor<8x8xf32>) outs(%low : tensor<8xf32>) {
    ^bb0(%a: f32, %acc: f32):
      %m = arith.maximumf %acc, %a : f32
      linalg.yield %m : f32
    } -> tensor<8xf32>
    %1 = weft.scatter_add %zeros, %i, %x {axis = 0 : i64, table_map = affine_map<(b, d) -> (d)>, index_map = affine_map<(b, d) -> (b)>}
      : tensor<64x8xf32>, tensor<8xi32>, tensor<8x8xf32>
    return %0, %1 : tensor<8xf32>, tensor<64x8xf32>
  }
}

// -----

// Three sums that are added: each is joined in parts, the parts are added, and
// what comes out is gathered once. With fast sums one all_reduce would do.
// CHECK-LABEL: func @parts_of_sums
// CHECK-COUNT-2: weft.reduce_scatter sum {{.*}} dims [0] {weft.order = #weft.order<leaves = 2>}
// CHECK: arith.addf
// CHECK: weft.reduce_scatter sum {{.*}} dims [0] {weft.order = #weft.order<leaves = 2>}
// CHECK: arith.addf
// CHECK: weft.all_gather
// CHECK: math.absf
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @parts_of_sums(%x: tensor<64x512xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
                           %u: tensor<512x80xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>},
                           %v: tensor<512x80xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>},
                           %w: tensor<512x80xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>})
      -> (tensor<64x80xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
    %0 = weft.matmul %x, %u {weft.order = #weft.order<leaves = 8>, indexing_maps = [
           affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
         : tensor<64x512xf32>, tensor<512x80xf32> -> tensor<64x80xf32>
    %1 = weft.matmul %x, %v {weft.order = #weft.order<leaves = 8>, indexing_maps = [
           affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
         : tensor<64x512xf32>, tensor<512x80xf32> -> tensor<64x80xf32>
    %2 = weft.matmul %x, %w {weft.order = #weft.order<leaves = 8>, indexing_maps = [
           affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
         : tensor<64x512xf32>, tensor<512x80xf32> -> tensor<64x80xf32>
    %e = tensor.empty() : tensor<64x80xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
           iterator_types = ["parallel", "parallel"]} ins(%0, %1 : tensor<64x80xf32>, tensor<64x80xf32>) outs(%e : tensor<64x80xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<64x80xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
           iterator_types = ["parallel", "parallel"]} ins(%3, %2 : tensor<64x80xf32>, tensor<64x80xf32>) outs(%e : tensor<64x80xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<64x80xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
           iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<64x80xf32>) outs(%e : tensor<64x80xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = math.absf %a : f32
      linalg.yield %s : f32
    } -> tensor<64x80xf32>
    return %5 : tensor<64x80xf32>
  }
}

// -----

// Updates over an axis that is not listed are added in one chain as well.
// CHECK-LABEL: func @free_scatter
// CHECK: all_gather
// CHECK: weft.scatter_add {{.*}} tensor<8xi32>, tensor<8x8xf32>
// CHECK-NOT: all_reduce
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=2, "tp"=2]>
  func.func @free_scatter(%x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>},
                          %i: tensor<8xi32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>})
      -> (tensor<64x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
    %zeros = arith.constant dense<0.0> : tensor<64x8xf32>
    %0 = weft.scatter_add %zeros, %i, %x {axis = 0 : i64, table_map = affine_map<(b, d) -> (d)>, index_map = affine_map<(b, d) -> (b)>}
      : tensor<64x8xf32>, tensor<8xi32>, tensor<8x8xf32>
    return %0 : tensor<64x8xf32>
  }
}

// -----

// Updates that are cut by rows are cut across where the sum is wished to be cut
// so (fsdp); over others (dp) they are gathered.
// CHECK-LABEL: func @across
// CHECK-DAG: weft.all_to_all {{.*}} on @mesh <{"fsdp"}> split [1] concat [0] : (tensor<{{.*}}x64xf32>) -> tensor<{{.*}}x32xf32>
// CHECK-DAG: weft.all_gather {{.*}} on @mesh <{"dp"}> dims [0] : (tensor<{{.*}}x32xf32>) -> tensor<{{.*}}x32xf32>
// CHECK: weft.scatter_add {{.*}} : tensor<512x32xf32>, tensor<64xi32>, tensor<64x32xf32>
// CHECK: return
module attributes {weft.invariance = #weft.invariance<axes = ["dp", "fsdp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=2, "fsdp"=2]>
  func.func @across(%x: tensor<64x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}, {}]>},
                    %i: tensor<64xi32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}]>})
      -> (tensor<512x64xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"fsdp"}], storage = {"fsdp"}>}) {
    %zeros = arith.constant dense<0.0> : tensor<512x64xf32>
    %0 = weft.scatter_add %zeros, %i, %x {axis = 0 : i64, table_map = affine_map<(b, d) -> (d)>, index_map = affine_map<(b, d) -> (b)>}
      : tensor<512x64xf32>, tensor<64xi32>, tensor<64x64xf32>
    %1 = weft.shard %0 to <@mesh, [{}, {"fsdp"}], storage = {"fsdp"}> : tensor<512x64xf32>
    return %1 : tensor<512x64xf32>
  }
}

// -----

// What is added to contributions over both is cut by both: it joins their parts,
// which are gathered once.
// CHECK-LABEL: func @across_with_parts
// CHECK-COUNT-2: weft.all_to_all
// CHECK: weft.scatter_add {{.*}} : tensor<512x16xf32>, tensor<64xi32>, tensor<64x16xf32>
// CHECK: weft.reduce_scatter sum {{.*}} on @mesh <{"fsdp"}> dims [1] {weft.order = #weft.order<leaves = 2>}
// CHECK: weft.reduce_scatter sum {{.*}} on @mesh <{"dp"}> dims [1] {weft.order = #weft.order<leaves = 2>} : {{.*}} -> tensor<512x16xf32>
// CHECK: arith.addf
// CHECK: weft.all_gather {{.*}} on @mesh <{"dp"}> dims [1] : (tensor<512x16xf32>) -> tensor<512x32xf32>
// CHECK-NOT: all_gather
// CHECK: return
module attributes {weft.invariance = #weft.invariance<axes = ["dp", "fsdp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=2, "fsdp"=2]>
  func.func @across_with_parts(%x: tensor<64x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}, {}]>},
                               %y: tensor<64x512xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}, {}]>},
                               %i: tensor<64xi32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "fsdp"}]>})
      -> (tensor<512x64xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"fsdp"}], storage = {"fsdp"}>}) {
    %zeros = arith.constant dense<0.0> : tensor<512x64xf32>
    %h = weft.matmul %y, %x {weft.order = #weft.order<leaves = 8>, indexing_maps = [
           affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
         : tensor<64x512xf32>, tensor<64x64xf32> -> tensor<512x64xf32>
    %s = weft.scatter_add %zeros, %i, %x {axis = 0 : i64, table_map = affine_map<(b, d) -> (d)>, index_map = affine_map<(b, d) -> (b)>}
      : tensor<512x64xf32>, tensor<64xi32>, tensor<64x64xf32>
    %e = tensor.empty() : tensor<512x64xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
           iterator_types = ["parallel", "parallel"]} ins(%h, %s : tensor<512x64xf32>, tensor<512x64xf32>) outs(%e : tensor<512x64xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %t = arith.addf %a, %b : f32
      linalg.yield %t : f32
    } -> tensor<512x64xf32>
    %1 = weft.shard %0 to <@mesh, [{}, {"fsdp"}], storage = {"fsdp"}> : tensor<512x64xf32>
    return %1 : tensor<512x64xf32>
  }
}
