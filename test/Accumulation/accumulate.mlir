// RUN: weft-opt --weft-accumulate=axis=mb --canonicalize --split-input-file %s | FileCheck %s

// What depends on the microbatch is done once for each, one microbatch after the
// other; what does not is done once. Sums are joined as soon as they are there.

// CHECK: weft.mesh @mesh = <["dp"=2]>
weft.mesh @mesh = <["dp"=2, "mb"=2]>

// CHECK-LABEL: func @step
// CHECK-SAME: %[[W:.*]]: tensor<8x8xf32>, %[[X:.*]]: tensor<4x8xf32> {weft.global_type = tensor<8x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>})
// CHECK-SAME: -> (tensor<4x8xf32> {weft.global_type = tensor<8x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>}, tensor<8x8xf32>)
// CHECK:      %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0] [2, 8] [1, 1]
// CHECK:      %[[W2:.*]] = arith.negf %[[W]]
// CHECK:      %[[Y0:.*]] = weft.matmul %[[X0]], %[[W2]]
// CHECK:      %[[G0:.*]] = weft.matmul %[[X0]], %[[Y0]]
// CHECK:      %[[X1:.*]] = tensor.extract_slice %[[X]][2, 0] [2, 8] [1, 1]
// CHECK:      %[[Y1:.*]] = weft.matmul %[[X1]], %[[W2]]
// CHECK:      %[[G1:.*]] = weft.matmul %[[X1]], %[[Y1]]
// CHECK:      %[[SUM:.*]] = linalg.generic
// CHECK-SAME:   iterator_types = ["parallel", "parallel"]} ins(%[[G0]], %[[G1]] : {{.*}} attrs = {weft.order = #weft.order<leaves = 2>}
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT:   %[[ADD:.*]] = arith.addf %[[A]], %[[B]] : f32
// CHECK-NEXT:   linalg.yield %[[ADD]]
// CHECK:      %[[R:.*]] = weft.all_reduce sum %[[SUM]] on @mesh <{"dp"}>
// CHECK:      %[[Y:.*]] = tensor.concat dim(0) %[[Y0]], %[[Y1]]
// CHECK:      return %[[Y]], %[[R]]
func.func @step(%w: tensor<8x8xf32>,
    %x: tensor<2x8xf32> {weft.global_type = tensor<8x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp", "mb"}, {}]>})
  -> (tensor<2x8xf32> {weft.global_type = tensor<8x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp", "mb"}, {}]>}, tensor<8x8xf32>) {
  %w2 = arith.negf %w : tensor<8x8xf32>
  %0 = weft.matmul %x, %w2 {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
       affine_map<(m, n, k) -> (m, n)>]} : tensor<2x8xf32>, tensor<8x8xf32> -> tensor<2x8xf32>
  %1 = weft.matmul %x, %0 {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>,
       affine_map<(m, n, k) -> (m, n)>]} : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<8x8xf32>
  %2 = weft.all_reduce sum %1 on @mesh <{"dp", "mb"}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0, %2 : tensor<2x8xf32>, tensor<8x8xf32>
}

// -----

// With an order: a tree over the members, minor axes first.

weft.mesh @mesh = <["a"=2, "mb"=4, "b"=2]>

// CHECK-LABEL: func @tree
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK: %[[X0:.*]] = tensor.extract_slice %[[X]][0]
// CHECK: %[[P0:.*]] = weft.all_reduce sum %[[X0]] on @mesh <{"b"}> {weft.order = #weft.order<leaves = 2>}
// CHECK: %[[X1:.*]] = tensor.extract_slice %[[X]][1]
// CHECK: %[[P1:.*]] = weft.all_reduce sum %[[X1]] on @mesh <{"b"}>
// CHECK: %[[L:.*]] = linalg.generic {{.*}} ins(%[[P0]], %[[P1]] :
// CHECK: %[[X2:.*]] = tensor.extract_slice %[[X]][2]
// CHECK: %[[P2:.*]] = weft.all_reduce sum %[[X2]] on @mesh <{"b"}>
// CHECK: %[[X3:.*]] = tensor.extract_slice %[[X]][3]
// CHECK: %[[P3:.*]] = weft.all_reduce sum %[[X3]] on @mesh <{"b"}>
// CHECK: %[[H:.*]] = linalg.generic {{.*}} ins(%[[P2]], %[[P3]] :
// CHECK: %[[ALL:.*]] = linalg.generic {{.*}} ins(%[[L]], %[[H]] :
// CHECK: %[[R:.*]] = weft.all_reduce sum %[[ALL]] on @mesh <{"a"}> {weft.order = #weft.order<leaves = 2>}
// CHECK: return %[[R]]
func.func @tree(%x: tensor<1xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>}) -> tensor<1xf32> {
  %0 = weft.all_reduce sum %x on @mesh <{"a", "mb", "b"}> {weft.order = #weft.order<leaves = 16>} : (tensor<1xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// Without one: all microbatches first, as a chain, then all ranks at once.

// CHECK-LABEL: func @chain
// CHECK-NOT: weft.all_reduce
// CHECK: %[[S1:.*]] = linalg.generic
// CHECK: %[[S2:.*]] = linalg.generic {{.*}} ins(%[[S1]], %
// CHECK: %[[S3:.*]] = linalg.generic {{.*}} ins(%[[S2]], %
// CHECK: weft.all_reduce sum %[[S3]] on @mesh <{"a", "b"}> :
func.func @chain(%x: tensor<1xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>}) -> tensor<1xf32> {
  %0 = weft.all_reduce sum %x on @mesh <{"a", "mb", "b"}> : (tensor<1xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// Then what ranks reduced before is joined before, too.

// CHECK-LABEL: func @join_first
// CHECK: %[[S3:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>)
// CHECK: %[[S:.*]] = weft.reduce_scatter sum %{{.*}} on @mesh <{"a"}> dims [0]
// CHECK: weft.all_reduce sum %[[S]] on @mesh <{"b"}>
// CHECK-NOT: weft.reduce_scatter
func.func @join_first(%x: tensor<4xf32> {weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>}) -> tensor<2xf32> {
  %0 = weft.reduce_scatter sum %x on @mesh <{"a"}> dims [0] : (tensor<4xf32>) -> tensor<2xf32>
  %1 = weft.all_reduce sum %0 on @mesh <{"mb", "b"}> : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// So it is where one reduction follows another, and nothing else is to join.

// CHECK-LABEL: func @join_first_of_three
// CHECK-NOT: weft.reduce_scatter
// CHECK-COUNT-3: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>)
// CHECK: %[[A:.*]] = weft.reduce_scatter sum %{{.*}} on @mesh <{"a"}> dims [0]
// CHECK: %[[B:.*]] = weft.reduce_scatter sum %[[A]] on @mesh <{"b"}> dims [0]
// CHECK: %[[R:.*]] = weft.all_reduce sum %[[B]] on @mesh <{"a"}>
// CHECK: return %[[R]]
func.func @join_first_of_three(%x: tensor<4xf32> {weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>}) -> tensor<1xf32> {
  %0 = weft.reduce_scatter sum %x on @mesh <{"a"}> dims [0] : (tensor<4xf32>) -> tensor<2xf32>
  %1 = weft.reduce_scatter sum %0 on @mesh <{"b"}> dims [0] : (tensor<2xf32>) -> tensor<1xf32>
  %2 = weft.all_reduce sum %1 on @mesh <{"a"}> : (tensor<1xf32>) -> tensor<1xf32>
  %3 = weft.all_reduce sum %2 on @mesh <{"mb"}> : (tensor<1xf32>) -> tensor<1xf32>
  return %3 : tensor<1xf32>
}

// Maxima need no order.

// CHECK-LABEL: func @maximum
// CHECK-NOT: weft.order
// CHECK: arith.maximumf
// CHECK: weft.all_reduce max %{{.*}} on @mesh <{"a"}>
func.func @maximum(%x: tensor<1xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>}) -> tensor<1xf32> {
  %0 = weft.all_reduce max %x on @mesh <{"a", "mb"}> : (tensor<1xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// A part of the axis: two groups of two coordinates.

// CHECK-LABEL: func @half
// CHECK: %[[X0:.*]] = tensor.extract_slice %{{.*}}[0] [1]
// CHECK: %[[X1:.*]] = tensor.extract_slice %{{.*}}[1] [1]
// CHECK: %[[X2:.*]] = tensor.extract_slice %{{.*}}[2] [1]
// CHECK: %[[S02:.*]] = linalg.generic {{.*}} ins(%[[X0]], %[[X2]] :
// CHECK: %[[X3:.*]] = tensor.extract_slice %{{.*}}[3] [1]
// CHECK: %[[S13:.*]] = linalg.generic {{.*}} ins(%[[X1]], %[[X3]] :
// CHECK: tensor.concat dim(0) %[[S02]], %[[S13]], %[[S02]], %[[S13]]
func.func @half(%x: tensor<1xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>})
  -> (tensor<1xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>}) {
  %n = tensor.expand_shape %x [[0, 1]] output_shape [1, 1] : tensor<1xf32> into tensor<1x1xf32>
  %m = tensor.collapse_shape %n [[0, 1]] : tensor<1x1xf32> into tensor<1xf32>
  %0 = weft.all_reduce sum %m on @mesh <{"mb":(1)2}> : (tensor<1xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "mb"=2, "b"=2]>

// A coordinate is a constant; a position along other axes, too, is computed.

// CHECK-LABEL: func @index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
// CHECK: weft.axis_index @mesh <{"b"}>
// CHECK: %[[B:.*]] = weft.axis_index @mesh <{"b"}>
// CHECK: %[[SUM:.*]] = arith.addi %[[B]], %[[C2]]
// CHECK: tensor.from_elements %[[C1]], %[[SUM]]
func.func @index() -> (tensor<2xindex> {weft.global_type = tensor<4xindex>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>}) {
  %0 = weft.axis_index @mesh <{"mb"}>
  %1 = weft.axis_index @mesh <{"mb", "b"}>
  %2 = tensor.from_elements %0, %1 : tensor<2xindex>
  return %2 : tensor<2xindex>
}

// Gathered is what is concatenated: here the argument itself.

// CHECK-LABEL: func @gather
// CHECK-SAME: (%[[X:.*]]: tensor<4x2xf32>
// CHECK-NEXT: return %[[X]]
func.func @gather(%x: tensor<2x2xf32> {weft.global_type = tensor<4x2xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}, {}]>}) -> tensor<4x2xf32> {
  %0 = weft.all_gather %x on @mesh <{"mb"}> dims [0] : (tensor<2x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// The members lie between the major and the minor axes' parts.

// CHECK-LABEL: func @gather_between
// CHECK-DAG: %[[X0:.*]] = tensor.extract_slice %{{.*}}[0] [2] [1]
// CHECK-DAG: %[[X1:.*]] = tensor.extract_slice %{{.*}}[2] [2] [1]
// CHECK-DAG: %[[B0:.*]] = weft.all_gather %[[X0]] on @mesh <{"b"}> dims [0] : (tensor<2xf32>) -> tensor<4xf32>
// CHECK-DAG: %[[B1:.*]] = weft.all_gather %[[X1]] on @mesh <{"b"}> dims [0] : (tensor<2xf32>) -> tensor<4xf32>
// CHECK: %[[C:.*]] = tensor.concat dim(0) %[[B0]], %[[B1]]
// CHECK: %[[A:.*]] = weft.all_gather %[[C]] on @mesh <{"a"}> dims [0] : (tensor<8xf32>) -> tensor<16xf32>
// CHECK: return %[[A]]
func.func @gather_between(%x: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>}) -> tensor<16xf32> {
  %0 = weft.all_gather %x on @mesh <{"a", "mb", "b"}> dims [0] : (tensor<2xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// Where no axes come after the serial one, what a rank has of all members is one
// piece of what is gathered, scattered or exchanged.

// CHECK-LABEL: func @gather_after
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>
// CHECK-NEXT: %[[A:.*]] = weft.all_gather %[[X]] on @mesh <{"a"}> dims [0] : (tensor<4xf32>) -> tensor<8xf32>
// CHECK-NEXT: return %[[A]]
func.func @gather_after(%x: tensor<2xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"a", "mb"}]>}) -> tensor<8xf32> {
  %0 = weft.all_gather %x on @mesh <{"a", "mb"}> dims [0] : (tensor<2xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @scatter_after
// CHECK: %[[SUM:.*]] = linalg.generic
// CHECK: %[[ALL:.*]] = weft.reduce_scatter sum %[[SUM]] on @mesh <{"a"}> dims [0] : (tensor<8xf32>) -> tensor<4xf32>
// CHECK: tensor.extract_slice %[[ALL]][0] [2] [1]
// CHECK: tensor.extract_slice %[[ALL]][2] [2] [1]
func.func @scatter_after(%x: tensor<8xf32> {weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>})
  -> (tensor<2xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"a", "mb"}]>}) {
  %0 = weft.reduce_scatter sum %x on @mesh <{"a", "mb"}> dims [0] : (tensor<8xf32>) -> tensor<2xf32>
  %1 = math.absf %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}

// CHECK-LABEL: func @exchange_after
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[ALL:.*]] = weft.all_to_all %[[X]] on @mesh <{"a"}> split [1] concat [0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
// CHECK-DAG: tensor.extract_slice %[[ALL]][0, 0] [8, 2] [1, 1]
// CHECK-DAG: tensor.extract_slice %[[ALL]][0, 2] [8, 2] [1, 1]
func.func @exchange_after(%x: tensor<2x8xf32> {weft.global_type = tensor<8x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"a", "mb"}, {}]>})
  -> (tensor<8x2xf32> {weft.global_type = tensor<8x8xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"a", "mb"}]>}) {
  %0 = weft.all_to_all %x on @mesh <{"a", "mb"}> split [1] concat [0] : (tensor<2x8xf32>) -> tensor<8x2xf32>
  %1 = math.absf %0 : tensor<8x2xf32>
  return %1 : tensor<8x2xf32>
}

// Each microbatch keeps its part of the sum.

// CHECK-LABEL: func @scatter
// CHECK: %[[SUM:.*]] = linalg.generic
// CHECK: tensor.extract_slice %[[SUM]][0] [2] [1]
// CHECK: tensor.extract_slice %[[SUM]][2] [2] [1]
func.func @scatter(%x: tensor<4xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>})
  -> (tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>}) {
  %0 = weft.reduce_scatter sum %x on @mesh <{"mb"}> dims [0] : (tensor<4xf32>) -> tensor<2xf32>
  %1 = math.absf %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}

// With an order, the minor axes' sums come before the join.

// CHECK-LABEL: func @scatter_tree
// CHECK: %[[P0:.*]] = weft.reduce_scatter sum %{{.*}} on @mesh <{"b"}> dims [2] {weft.order = #weft.order<leaves = 2>} : (tensor<2x2x2x1xf32>) -> tensor<2x2x1x1xf32>
// CHECK: %[[P1:.*]] = weft.reduce_scatter sum %{{.*}} on @mesh <{"b"}> dims [2]
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[P0]], %[[P1]] :
// CHECK: %[[ALL:.*]] = weft.reduce_scatter sum %[[SUM]] on @mesh <{"a"}> dims [0] {weft.order = #weft.order<leaves = 2>} : (tensor<2x2x1x1xf32>) -> tensor<1x2x1x1xf32>
// CHECK: tensor.extract_slice %[[ALL]][0, 0, 0, 0] [1, 1, 1, 1]
// CHECK: tensor.extract_slice %[[ALL]][0, 1, 0, 0] [1, 1, 1, 1]
func.func @scatter_tree(%x: tensor<8xf32> {weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>})
  -> (tensor<1xf32> {weft.global_type = tensor<2xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>}) {
  %0 = weft.reduce_scatter sum %x on @mesh <{"a", "mb", "b"}> dims [0] {weft.order = #weft.order<leaves = 8>} : (tensor<8xf32>) -> tensor<1xf32>
  %1 = math.absf %0 : tensor<1xf32>
  return %1 : tensor<1xf32>
}

// Part m of each microbatch goes to microbatch m.

// CHECK-LABEL: func @exchange
// CHECK-SAME: (%[[X:.*]]: tensor<4x4xf32>
// CHECK-DAG: %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0] [2, 4] [1, 1]
// CHECK-DAG: %[[X1:.*]] = tensor.extract_slice %[[X]][2, 0] [2, 4] [1, 1]
// CHECK-DAG: %[[X00:.*]] = tensor.extract_slice %[[X0]][0, 0] [2, 2] [1, 1]
// CHECK-DAG: %[[X10:.*]] = tensor.extract_slice %[[X1]][0, 0] [2, 2] [1, 1]
// CHECK-DAG: %[[Y0:.*]] = tensor.concat dim(0) %[[X00]], %[[X10]]
// CHECK-DAG: %[[X01:.*]] = tensor.extract_slice %[[X0]][0, 2] [2, 2] [1, 1]
// CHECK-DAG: %[[X11:.*]] = tensor.extract_slice %[[X1]][0, 2] [2, 2] [1, 1]
// CHECK-DAG: %[[Y1:.*]] = tensor.concat dim(0) %[[X01]], %[[X11]]
// CHECK-DAG: math.absf %[[Y0]]
// CHECK-DAG: math.absf %[[Y1]]
func.func @exchange(%x: tensor<2x4xf32> {weft.global_type = tensor<4x4xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}, {}]>})
  -> (tensor<4x2xf32> {weft.global_type = tensor<4x4xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"mb"}]>}) {
  %0 = weft.all_to_all %x on @mesh <{"mb"}> split [1] concat [0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %1 = math.absf %0 : tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// CHECK-LABEL: func @exchange_between
// CHECK: %[[M0:.*]] = tensor.concat dim(1) {{.*}} -> tensor<1x2x1x1x2x1x2x1xf32>
// CHECK: %[[B0:.*]] = weft.all_to_all %[[M0]] on @mesh <{"b"}> split [6] concat [2] : (tensor<1x2x1x1x2x1x2x1xf32>) -> tensor<1x2x2x1x2x1x1x1xf32>
// CHECK: %[[A0:.*]] = weft.all_to_all %[[B0]] on @mesh <{"a"}> split [4] concat [0] : (tensor<1x2x2x1x2x1x1x1xf32>) -> tensor<2x2x2x1x1x1x1x1xf32>
// CHECK: tensor.collapse_shape %[[A0]] {{.*}} into tensor<8x1xf32>
func.func @exchange_between(%x: tensor<1x8xf32> {weft.global_type = tensor<2x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}, {}]>})
  -> (tensor<8x1xf32> {weft.global_type = tensor<8x2xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"mb"}]>}) {
  %0 = weft.all_to_all %x on @mesh <{"a", "mb", "b"}> split [1] concat [0] : (tensor<1x8xf32>) -> tensor<8x1xf32>
  return %0 : tensor<8x1xf32>
}

// Coordinates change places; ranks do where the sources say so.

// CHECK-LABEL: func @permute
// CHECK: %[[X0:.*]] = tensor.extract_slice %{{.*}}[0] [2]
// CHECK: %[[X1:.*]] = tensor.extract_slice %{{.*}}[2] [2]
// CHECK: %[[P:.*]] = weft.permute %[[X0]] on @mesh <{"b"}> sources [1, 0]
// CHECK: tensor.concat dim(0) %[[X1]], %[[P]]
func.func @permute(%x: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>})
  -> (tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>}) {
  %0 = weft.permute %x on @mesh <{"mb", "b"}> sources [2, 3, 1, 0] : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// A transposition of ranks and coordinates: in two rounds, in the first of which
// each keeps one.

// CHECK-LABEL: func @transpose
// CHECK: %[[S:.*]] = tensor.expand_shape %{{.*}} into tensor<1x2xf32>
// CHECK: %[[C:.*]] = tensor.concat dim(0) %[[S]], %{{.*}} -> tensor<2x2xf32>
// CHECK: %[[KEPT:.*]] = tensor.extract_slice %[[C]][%{{.*}}, 0] [1, 2] [1, 1] : tensor<2x2xf32> to tensor<2xf32>
// CHECK: %[[SENT:.*]] = tensor.extract_slice %[[C]][%{{.*}}, 0] [1, 2] [1, 1] : tensor<2x2xf32> to tensor<2xf32>
// CHECK: %[[GOT:.*]] = weft.permute %[[SENT]] on @mesh <{"b"}> sources [1, 0]
// CHECK: %[[R0:.*]] = tensor.expand_shape %[[KEPT]]
// CHECK: %[[R1:.*]] = tensor.expand_shape %[[GOT]]
// CHECK: %[[ALL:.*]] = tensor.concat dim(0) %[[R0]], %[[R1]]
// CHECK: tensor.extract_slice %[[ALL]][%{{.*}}, 0] [1, 2] [1, 1]
// CHECK: tensor.extract_slice %[[ALL]][%{{.*}}, 0] [1, 2] [1, 1]
func.func @transpose(%x: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>})
  -> (tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>}) {
  %0 = weft.permute %x on @mesh <{"mb", "b"}> sources [0, 2, 1, 3] : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func @shift
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<2xf32>
// CHECK: %[[X0:.*]] = tensor.extract_slice %{{.*}}[0] [2]
// CHECK: tensor.concat dim(0) %[[ZERO]], %[[X0]]
func.func @shift(%x: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>})
  -> (tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>}) {
  %0 = weft.permute %x on @mesh <{"mb"}> sources [-1, 0] : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// A sum that each microbatch needs comes first; what it does not need waits.

// CHECK-LABEL: func @stages
// CHECK: linalg.generic
// CHECK: %[[E0:.*]] = math.exp
// CHECK: arith.divf %[[E0]]
// CHECK: %[[E1:.*]] = math.exp
// CHECK: arith.divf %[[E1]]
func.func @stages(%x: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>})
  -> (tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>}) {
  %0 = math.exp %x : tensor<2xf32>
  %1 = weft.all_reduce sum %x on @mesh <{"mb"}> : (tensor<2xf32>) -> tensor<2xf32>
  %2 = arith.divf %0, %1 : tensor<2xf32>
  return %2 : tensor<2xf32>
}

// -----

// Three rows in two parts: the second is padded, as it is on ranks.

weft.mesh @mesh = <["mb"=2]>

// CHECK: weft.mesh @mesh = <[]>
// CHECK-LABEL: func @uneven
// CHECK-SAME: (%[[X:.*]]: tensor<3x2xf32>
// CHECK: tensor.extract_slice %[[X]][0, 0] [2, 2]
// CHECK: %[[LAST:.*]] = tensor.extract_slice %[[X]][2, 0] [1, 2]
// CHECK: tensor.pad %[[LAST]] low[0, 0] high[1, 0]
// CHECK: %[[ALL:.*]] = tensor.concat dim(0)
// CHECK: tensor.extract_slice %[[ALL]][0, 0] [3, 2]
func.func @uneven(%x: tensor<2x2xf32> {weft.global_type = tensor<3x2xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}, {}]>})
  -> (tensor<2x2xf32> {weft.global_type = tensor<3x2xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}, {}]>}) {
  %0 = math.absf %x : tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
