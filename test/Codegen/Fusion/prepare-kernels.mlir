// RUN: weft-opt %s --weft-prepare-kernels -split-input-file | FileCheck %s

// Named ops and ops on tensors become generics; an index out of range is zero.

// CHECK-LABEL: func @lookup
// CHECK-SAME: (%[[TABLE:.*]]: tensor<16x4xf32>, %{{.*}}: tensor<8xi32>)
func.func @lookup(%table: tensor<16x4xf32>, %i: tensor<8xi32>) -> tensor<8x4xf32> {
  // CHECK: linalg.generic
  // CHECK-NEXT: ^bb0(%[[I:.*]]: i32, %{{.*}}: f32):
  // CHECK: %[[INDEX:.*]] = arith.index_cast %[[I]] : i32 to index
  // CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[INDEX]], %{{.*}} : index
  // CHECK: %[[SAFE:.*]] = arith.select %[[INSIDE]], %[[INDEX]], %{{.*}} : index
  // CHECK: %[[COLUMN:.*]] = linalg.index 1 : index
  // CHECK: %[[V:.*]] = tensor.extract %[[TABLE]][%[[SAFE]], %[[COLUMN]]] : tensor<16x4xf32>
  // CHECK: arith.select %[[INSIDE]], %[[V]], %{{.*}} : f32
  // CHECK-NOT: weft.take
  %r = weft.take %table, %i {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : tensor<16x4xf32>, tensor<8xi32> -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// -----

// A table without rows is not looked into.

// CHECK-LABEL: func @lookup_nothing
// CHECK-NOT: tensor.extract
// CHECK: return
func.func @lookup_nothing(%table: tensor<0x4xf32>, %i: tensor<8xi32>) -> tensor<8x4xf32> {
  %r = weft.take %table, %i {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : tensor<0x4xf32>, tensor<8xi32> -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// -----

// Each element gets at most one update: no serial loop.

// CHECK-LABEL: func @scatter_once
// CHECK-NOT: weft.scatter_add
// CHECK: linalg.generic
// CHECK: %[[HIT:.*]] = arith.cmpi eq
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: arith.select %[[HIT]], %[[SUM]]
func.func @scatter_once(%init: tensor<4x8xf32>, %i: tensor<4xi32>, %u: tensor<4xf32>) -> tensor<4x8xf32> {
  %r = weft.scatter_add %init, %i, %u {axis = 1 : i64, table_map = affine_map<(b) -> (b)>, index_map = affine_map<(b) -> (b)>}
      : tensor<4x8xf32>, tensor<4xi32>, tensor<4xf32>
  return %r : tensor<4x8xf32>
}

// -----

// Sums of narrow updates are f32 until the end.

// CHECK-LABEL: func @scatter_narrow
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK: weft.scatter_add {{.*}} : tensor<16x4xf32>, tensor<8xi32>, tensor<8x4xf32>
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @scatter_narrow(%init: tensor<16x4xbf16>, %i: tensor<8xi32>, %u: tensor<8x4xbf16>) -> tensor<16x4xbf16> {
  %r = weft.scatter_add %init, %i, %u {axis = 0 : i64, table_map = affine_map<(s, d) -> (d)>, index_map = affine_map<(s, d) -> (s)>}
      : tensor<16x4xbf16>, tensor<8xi32>, tensor<8x4xbf16>
  return %r : tensor<16x4xbf16>
}

// -----

// Transposes of operands and result are strides of the contraction.

// CHECK-LABEL: func @transposed
// CHECK-SAME: (%[[A:.*]]: tensor<8x16xf32>, %[[B:.*]]: tensor<4x8xf32>)
// CHECK-NOT: linalg.generic
// CHECK: %[[M:.*]] = weft.matmul %[[A]], %[[B]] {{.*}} : tensor<8x16xf32>, tensor<4x8xf32> -> tensor<4x16xf32>
// CHECK-NEXT: return %[[M]]
func.func @transposed(%a: tensor<8x16xf32>, %b: tensor<4x8xf32>) -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<16x8xf32>
  %at = linalg.transpose ins(%a : tensor<8x16xf32>) outs(%e : tensor<16x8xf32>) permutation = [1, 0]
  %m = weft.matmul %at, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<16x8xf32>, tensor<4x8xf32> -> tensor<16x4xf32>
  %f = tensor.empty() : tensor<4x16xf32>
  %mt = linalg.transpose ins(%m : tensor<16x4xf32>) outs(%f : tensor<4x16xf32>) permutation = [1, 0]
  return %mt : tensor<4x16xf32>
}

// -----

// A contraction of types that the runtime has none for is one of f32.

// CHECK-LABEL: func @mixed
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: weft.matmul {{.*}} : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
func.func @mixed(%a: tensor<8x16xf16>, %b: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %m = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<8x16xf16>, tensor<16x4xf32> -> tensor<8x4xf32>
  return %m : tensor<8x4xf32>
}

// -----

// A transpose of what was converted after a contraction goes into the
// contraction all the same.
// CHECK-LABEL: func @transposed_conversion
// CHECK: %[[M:.*]] = weft.matmul {{.*}} : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<4x8xf32>
// CHECK: linalg.generic {{.*}} ins(%[[M]] : tensor<4x8xf32>)
// CHECK: arith.truncf
// CHECK-NOT: linalg.generic
func.func @transposed_conversion(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) -> (tensor<4x8xf16> {weft.name = "y"}) {
  %m = weft.matmul %a, %b {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  %n = arith.truncf %m : tensor<8x4xf32> to tensor<8x4xf16>
  %e = tensor.empty() : tensor<4x8xf16>
  %t = linalg.transpose ins(%n : tensor<8x4xf16>) outs(%e : tensor<4x8xf16>) permutation = [1, 0]
  return %t : tensor<4x8xf16>
}

// -----

// So does one of what ranks made of it together, along its dims in their new
// places.

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
weft.mesh @mesh = <["x"=2, "y"=2, "z"=2]>

// CHECK-LABEL: func @transposed_collectives
// CHECK: %[[M:.*]] = weft.matmul {{.*}}weft.order = #weft.order<leaves = 2>{{.*}} : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<4x8xf32>
// CHECK: %[[S:.*]] = weft.reduce_scatter sum %[[M]] on @mesh <{"x"}> dims [1] {weft.order = #weft.order<leaves = 2>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
// CHECK: %[[R:.*]] = weft.all_reduce sum %[[S]] on @mesh <{"y"}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK: %[[C:.*]] = linalg.generic {{.*}} ins(%[[R]] : tensor<4x4xf32>)
// CHECK: %[[G:.*]] = weft.all_gather %[[C]] on @mesh <{"z"}> dims [0] : (tensor<4x4xbf16>) -> tensor<8x4xbf16>
// CHECK-NEXT: return %[[G]]
func.func @transposed_collectives(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) -> (tensor<8x4xbf16> {weft.name = "y"}) {
  %m = weft.matmul %a, %b {weft.order = #weft.order<leaves = 2>, indexing_maps = [#mk, #kn, #mn]}
      : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  %s = weft.reduce_scatter sum %m on @mesh <{"x"}> dims [0] {weft.order = #weft.order<leaves = 2>} : (tensor<8x4xf32>) -> tensor<4x4xf32>
  %r = weft.all_reduce sum %s on @mesh <{"y"}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %n = arith.truncf %r : tensor<4x4xf32> to tensor<4x4xbf16>
  %g = weft.all_gather %n on @mesh <{"z"}> dims [1] : (tensor<4x4xbf16>) -> tensor<4x8xbf16>
  %e = tensor.empty() : tensor<8x4xbf16>
  %t = linalg.transpose ins(%g : tensor<4x8xbf16>) outs(%e : tensor<8x4xbf16>) permutation = [1, 0]
  return %t : tensor<8x4xbf16>
}

// What is used as it is stays as it is.
// CHECK-LABEL: func @no_transposed_collectives
// CHECK: weft.matmul {{.*}} -> tensor<8x4xf32>
// CHECK: weft.reduce_scatter {{.*}} dims [0]
// CHECK: linalg.generic
func.func @no_transposed_collectives(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>)
    -> (tensor<4x4xf32> {weft.name = "x"}, tensor<4x4xf32> {weft.name = "y"}) {
  %m = weft.matmul %a, %b {indexing_maps = [#mk, #kn, #mn]} : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  %s = weft.reduce_scatter sum %m on @mesh <{"x"}> dims [0] : (tensor<8x4xf32>) -> tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x4xf32>
  %t = linalg.transpose ins(%s : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) permutation = [1, 0]
  return %s, %t : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A contraction rounds its sums to bf16 itself where only that is used of them.

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func @rounded_result
// CHECK: %[[M:.*]] = weft.matmul {{.*}}weft.order = #weft.order<leaves = 2>{{.*}} : tensor<8x16xbf16>, tensor<16x4xf32> -> tensor<8x4xbf16>
// CHECK-NEXT: return %[[M]]
func.func @rounded_result(%a: tensor<8x16xbf16>, %b: tensor<16x4xf32>) -> (tensor<8x4xbf16> {weft.name = "y"}) {
  %m = weft.matmul %a, %b {weft.order = #weft.order<leaves = 2>, indexing_maps = [#mk, #kn, #mn]}
      : tensor<8x16xbf16>, tensor<16x4xf32> -> tensor<8x4xf32>
  %n = arith.truncf %m : tensor<8x4xf32> to tensor<8x4xbf16>
  return %n : tensor<8x4xbf16>
}

// Not if leaves would be rounded with it, if the sums are used too, and not to
// a type or in a way that the runtime does not round.
// CHECK-LABEL: func @no_rounded_result
// CHECK-COUNT-4: weft.matmul {{.*}} -> tensor<8x4xf32>
func.func @no_rounded_result(%a: tensor<8x16xbf16>, %b: tensor<16x4xbf16>)
    -> (tensor<8x4xbf16> {weft.name = "w"}, tensor<8x4xf32> {weft.name = "x"}, tensor<8x4xbf16> {weft.name = "x2"},
        tensor<8x4xf16> {weft.name = "y"}, tensor<8x4xbf16> {weft.name = "z"}) {
  %0 = weft.matmul %a, %b {weft.order = #weft.order<leaves = 2, rounded = true>, indexing_maps = [#mk, #kn, #mn]}
      : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xf32>
  %w = arith.truncf %0 : tensor<8x4xf32> to tensor<8x4xbf16>
  %x = weft.matmul %a, %b {weft.order = #weft.order<leaves = 4>, indexing_maps = [#mk, #kn, #mn]}
      : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xf32>
  %x2 = arith.truncf %x : tensor<8x4xf32> to tensor<8x4xbf16>
  %2 = weft.matmul %a, %b {weft.order = #weft.order<leaves = 8>, indexing_maps = [#mk, #kn, #mn]}
      : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xf32>
  %y = arith.truncf %2 : tensor<8x4xf32> to tensor<8x4xf16>
  %3 = weft.matmul %a, %b {weft.order = #weft.order<leaves = 1>, indexing_maps = [#mk, #kn, #mn]}
      : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xf32>
  %z = arith.truncf %3 toward_zero : tensor<8x4xf32> to tensor<8x4xbf16>
  return %w, %x, %x2, %y, %z : tensor<8x4xbf16>, tensor<8x4xf32>, tensor<8x4xbf16>, tensor<8x4xf16>, tensor<8x4xbf16>
}

// -----

// The host multiplies no floats of 8 bits. What they were stays noted, for
// machines that do.

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func @widened_products
// CHECK: weft.matmul {{.*}} weft_rt.product_type = f8E4M3FN} : tensor<8x4xbf16>, tensor<4x6xbf16> -> tensor<8x6xf32>
// CHECK: weft.matmul {{.*}} weft_rt.product_type = bf16} : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
func.func @widened_products(%a: tensor<8x4xf8E4M3FN>, %b: tensor<4x6xf8E4M3FN>, %c: tensor<8x4xbf16>) -> (tensor<8x6xf32>, tensor<8x6xf32>) {
  %0 = weft.matmul %a, %b {indexing_maps = [#mk, #kn, #mn]} : tensor<8x4xf8E4M3FN>, tensor<4x6xf8E4M3FN> -> tensor<8x6xf32>
  %1 = weft.matmul %c, %b {indexing_maps = [#mk, #kn, #mn]} : tensor<8x4xbf16>, tensor<4x6xf8E4M3FN> -> tensor<8x6xf32>
  return %0, %1 : tensor<8x6xf32>, tensor<8x6xf32>
}

// -----

// f16 and bf16 have only f32 in common.

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func @mixed_products
// CHECK-NOT: product_type
// CHECK: return
func.func @mixed_products(%a: tensor<8x4xf16>, %b: tensor<4x6xbf16>) -> tensor<8x6xf32> {
  %0 = weft.matmul %a, %b {indexing_maps = [#mk, #kn, #mn]} : tensor<8x4xf16>, tensor<4x6xbf16> -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}

// -----

// The gradient of one element chosen in each row: the updates' last dim, of size
// 1, is none of the table's, so that a row gets one update.

// CHECK-LABEL: func @one_of_a_row
// CHECK-NOT: weft.scatter_add
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
// CHECK: linalg.index 1
// CHECK: arith.cmpi eq
// CHECK-NOT: weft.scatter_add
func.func @one_of_a_row(%init: tensor<4x8xf32>, %at: tensor<4x1xi32>, %u: tensor<4x1xf32>) -> tensor<4x8xf32> {
  %0 = weft.scatter_add %init, %at, %u {axis = 1 : i64, table_map = affine_map<(r, c) -> (r)>, index_map = affine_map<(r, c) -> (r, c)>}
      : tensor<4x8xf32>, tensor<4x1xi32>, tensor<4x1xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func @several_for_a_row
// CHECK: weft.scatter_add {{.*}} : tensor<4x8xf32>, tensor<4x1x2xi32>, tensor<4x1x2xf32>
func.func @several_for_a_row(%init: tensor<4x8xf32>, %at: tensor<4x1x2xi32>, %u: tensor<4x1x2xf32>) -> tensor<4x8xf32> {
  %0 = weft.scatter_add %init, %at, %u {axis = 1 : i64, table_map = affine_map<(r, c, d) -> (r)>, index_map = affine_map<(r, c, d) -> (r, c, d)>}
      : tensor<4x8xf32>, tensor<4x1x2xi32>, tensor<4x1x2xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// A lookup into one sequence looks into the tensor without the dim of size 1,
// which may be made in the same kernel; into a split dim it looks as written.

#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @look_into_one_sequence
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x16xf32>
// CHECK-NOT: tensor<1x8x16xf32>
// CHECK: tensor.extract %[[X]][%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}] : tensor<8x16xf32>
// CHECK: return
func.func @look_into_one_sequence(%x: tensor<8x16xf32>, %at: tensor<1x8xi32>) -> tensor<1x8xf32> {
  %whole = tensor.expand_shape %x [[0, 1], [2]] output_shape [1, 8, 16] : tensor<8x16xf32> into tensor<1x8x16xf32>
  %empty = tensor.empty() : tensor<1x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%at : tensor<1x8xi32>) outs(%empty : tensor<1x8xf32>) {
  ^bb0(%in: i32, %out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.index_cast %in : i32 to index
    %v = tensor.extract %whole[%i, %j, %k] : tensor<1x8x16xf32>
    linalg.yield %v : f32
  } -> tensor<1x8xf32>
  return %0 : tensor<1x8xf32>
}

// CHECK-LABEL: func @look_into_two_sequences
// CHECK: tensor.extract %{{.*}} : tensor<2x4x16xf32>
func.func @look_into_two_sequences(%x: tensor<8x16xf32>, %at: tensor<2x4xi32>) -> tensor<2x4xf32> {
  %whole = tensor.expand_shape %x [[0, 1], [2]] output_shape [2, 4, 16] : tensor<8x16xf32> into tensor<2x4x16xf32>
  %empty = tensor.empty() : tensor<2x4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%at : tensor<2x4xi32>) outs(%empty : tensor<2x4xf32>) {
  ^bb0(%in: i32, %out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.index_cast %in : i32 to index
    %v = tensor.extract %whole[%i, %j, %k] : tensor<2x4x16xf32>
    linalg.yield %v : f32
  } -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// An index that may point to no element is kept, also along a dim of size 1.
// CHECK-LABEL: func @look_beside_one_sequence
// CHECK: tensor.extract %{{.*}} : tensor<1x8x16xf32>
func.func @look_beside_one_sequence(%x: tensor<8x16xf32>, %at: tensor<8x16xi32>) -> tensor<8x16xf32> {
  %whole = tensor.expand_shape %x [[0, 1], [2]] output_shape [1, 8, 16] : tensor<8x16xf32> into tensor<1x8x16xf32>
  %empty = tensor.empty() : tensor<8x16xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%at : tensor<8x16xi32>) outs(%empty : tensor<8x16xf32>) {
  ^bb0(%in: i32, %out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.index_cast %in : i32 to index
    %v = tensor.extract %whole[%k, %i, %j] : tensor<1x8x16xf32>
    linalg.yield %v : f32
  } -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

// What an op without loops reads are operands, so that ops that read other
// numbers are told apart by these. A loop reads a number in its body.

// CHECK-LABEL: func @numbers
// CHECK-SAME: (%[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<8xf32>)
// CHECK: linalg.generic {{.*}}iterator_types = []} ins(%[[X]] : tensor<f32>)
// CHECK-NOT: tensor.extract
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%[[Y]] : tensor<8xf32>)
// CHECK: tensor.extract %{{.*}}[] : tensor<f32>
func.func @numbers(%x: tensor<f32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %none = tensor.empty() : tensor<f32>
  %number = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%x : tensor<f32>) outs(%none : tensor<f32>) {
  ^bb0(%a: f32, %out: f32):
    %root = math.sqrt %a : f32
    linalg.yield %root : f32
  } -> tensor<f32>
  %empty = tensor.empty() : tensor<8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}
      ins(%y, %number : tensor<8xf32>, tensor<f32>) outs(%empty : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}
