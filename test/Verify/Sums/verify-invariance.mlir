// RUN: weft-opt %s --weft-verify-invariance -split-input-file | FileCheck %s

// Half of K on each rank: two subtrees of four leaves are the tree of eight.

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
// CHECK: module attributes
// CHECK-SAME: weft.certificate = "{\22version\22:1,\22axes\22:[\22tp\22],\22leaves\22:8,\22digest\22:\22{{[0-9a-f]*}}\22
// CHECK-SAME: \22results\22:[{\22name\22:\22y\22,\22form\22:\22{{[0-9a-f]*}}\22}]
// CHECK-SAME: \22kind\22:\22matmul\22
// CHECK-SAME: \22order\22:\22tree 8 in f32 of chain 16\22
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<4x64xf32> {weft.name = "x", weft.global_type = tensor<4x128xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>},
               %w: tensor<64x8xf32> {weft.name = "w", weft.global_type = tensor<128x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>})
      -> (tensor<4x4xf32> {weft.name = "y", weft.global_type = tensor<4x8xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"tp"}]>}) {
    %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn], weft.order = #weft.order<leaves = 4>} : tensor<4x64xf32>, tensor<64x8xf32> -> tensor<4x8xf32>
    %1 = weft.reduce_scatter sum %0 on @mesh <{"tp"}> dims [1] {weft.order = #weft.order<leaves = 2>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<4x128xf32> {weft.name = "x"}, %w: tensor<128x8xf32> {weft.name = "w"}) -> (tensor<4x8xf32> {weft.name = "y"}) {
      %0 = weft.matmul %x, %w {indexing_maps = [#mk, #kn, #mn], weft.order = #weft.order<leaves = 8>} : tensor<4x128xf32>, tensor<128x8xf32> -> tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
  }
}

// -----

// K is cut by two axes, the minor one joined first. The other result gathers.

#k = affine_map<(k) -> (k)>
#none = affine_map<(k) -> ()>
// CHECK: weft.certificate = {{.*}}arith.mulf{{.*}}chain 128{{.*}}tree 8 in f32 of chain 16 in 8 lanes
module attributes {weft.invariance = #weft.invariance<axes = ["dp", "tp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=2, "tp"=4]>
  func.func @f(%x: tensor<16xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp", "dp"}]>})
      -> (tensor<f32>, tensor<f32>) {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %one = arith.constant dense<1.0> : tensor<f32>
    %0 = linalg.generic {indexing_maps = [#k, #none], iterator_types = ["reduction"]} ins(%x : tensor<16xf32>) outs(%zero : tensor<f32>)
        attrs = {weft.order = #weft.order<leaves = 1, lanes = 8>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %1 = weft.all_reduce sum %0 on @mesh <{"dp"}> {weft.order = #weft.order<leaves = 2>} : (tensor<f32>) -> tensor<f32>
    %2 = weft.all_reduce sum %1 on @mesh <{"tp"}> {weft.order = #weft.order<leaves = 4>} : (tensor<f32>) -> tensor<f32>
    %3 = weft.all_gather %x on @mesh <{"tp", "dp"}> dims [0] : (tensor<16xf32>) -> tensor<128xf32>
    %4 = linalg.generic {indexing_maps = [#k, #none], iterator_types = ["reduction"]} ins(%3 : tensor<128xf32>) outs(%one : tensor<f32>)
        attrs = {weft.order = #weft.order<leaves = 1>} {
    ^bb0(%a: f32, %o: f32):
      %s = arith.mulf %a, %o : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %2, %4 : tensor<f32>, tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["dp"=1, "tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> (tensor<f32>, tensor<f32>) {
      %zero = arith.constant dense<0.0> : tensor<f32>
      %one = arith.constant dense<1.0> : tensor<f32>
      %0 = linalg.generic {indexing_maps = [#k, #none], iterator_types = ["reduction"]} ins(%x : tensor<128xf32>) outs(%one : tensor<f32>)
          attrs = {weft.order = #weft.order<leaves = 1>} {
      ^bb0(%a: f32, %o: f32):
        %s = arith.mulf %a, %o : f32
        linalg.yield %s : f32
      } -> tensor<f32>
      %1 = linalg.generic {indexing_maps = [#k, #none], iterator_types = ["reduction"]} ins(%x : tensor<128xf32>) outs(%zero : tensor<f32>)
          attrs = {weft.order = #weft.order<leaves = 8, lanes = 8>} {
      ^bb0(%a: f32, %o: f32):
        %s = arith.addf %o, %a : f32
        linalg.yield %s : f32
      } -> tensor<f32>
      return %1, %0 : tensor<f32>, tensor<f32>
    }
  }
}

// -----

// A lookup in a sharded table: one rank has the row, and -0.0 of the others adds nothing.

#row = affine_map<(s, d) -> (d)>
#seq = affine_map<(s, d) -> (s)>
// CHECK: weft.certificate
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%table: tensor<16x8xf32> {weft.global_type = tensor<32x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}, {}]>},
               %tokens: tensor<4xi32>) -> tensor<4x8xf32> {
    %c16 = arith.constant 16 : index
    %0 = weft.axis_index @mesh <{"tp"}>
    %1 = arith.muli %0, %c16 : index
    %2 = weft.take %table, %tokens base %1 {axis = 0 : i64, table_map = #row, index_map = #seq} : tensor<16x8xf32>, tensor<4xi32> -> tensor<4x8xf32>
    %3 = weft.all_reduce sum %2 on @mesh <{"tp"}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %3 : tensor<4x8xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%table: tensor<32x8xf32>, %tokens: tensor<4xi32>) -> tensor<4x8xf32> {
      %1 = weft.take %table, %tokens {axis = 0 : i64, table_map = #row, index_map = #seq} : tensor<32x8xf32>, tensor<4xi32> -> tensor<4x8xf32>
      return %1 : tensor<4x8xf32>
    }
  }
}

// -----

// An uneven dimension: padded for equal chunks, masked, gathered, cut again;
// and a global index.

#d = affine_map<(i) -> (i)>
#z = affine_map<(i) -> ()>
// CHECK: weft.certificate
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=4]>
  func.func @f(%x: tensor<10xf32>) -> (tensor<10xi64>, tensor<f32>) {
    %c3 = arith.constant 3 : index
    %c10 = arith.constant 10 : index
    %zero = arith.constant 0.0 : f32
    %low = arith.constant 0xFF800000 : f32
    %first = arith.constant dense<0xFF800000> : tensor<f32>
    %0 = weft.axis_index @mesh <{"tp"}>
    %1 = arith.muli %0, %c3 : index
    %2 = arith.subi %c10, %1 : index
    %3 = tensor.pad %x low[0] high[2] {
    ^bb0(%i: index):
      tensor.yield %zero : f32
    } : tensor<10xf32> to tensor<12xf32>
    %4 = tensor.extract_slice %3[%1] [3] [1] : tensor<12xf32> to tensor<3xf32>
    %5 = linalg.generic {indexing_maps = [#d, #z], iterator_types = ["reduction"]} ins(%4 : tensor<3xf32>) outs(%first : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %i = linalg.index 0 : index
      %valid = arith.cmpi slt, %i, %2 : index
      %b = arith.select %valid, %a, %low : f32
      %s = arith.maximumf %o, %b : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %6 = weft.all_reduce max %5 on @mesh <{"tp"}> : (tensor<f32>) -> tensor<f32>
    %7 = tensor.empty() : tensor<3xi64>
    %8 = linalg.generic {indexing_maps = [#d], iterator_types = ["parallel"]} outs(%7 : tensor<3xi64>) {
    ^bb0(%o: i64):
      %i = linalg.index 0 : index
      %g = arith.addi %i, %1 : index
      %s = arith.index_cast %g : index to i64
      linalg.yield %s : i64
    } -> tensor<3xi64>
    %9 = weft.all_gather %8 on @mesh <{"tp"}> dims [0] : (tensor<3xi64>) -> tensor<12xi64>
    %10 = tensor.extract_slice %9[0] [10] [1] : tensor<12xi64> to tensor<10xi64>
    return %10, %6 : tensor<10xi64>, tensor<f32>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<10xf32>) -> (tensor<10xi64>, tensor<f32>) {
      %first = arith.constant dense<0xFF800000> : tensor<f32>
      %0 = linalg.generic {indexing_maps = [#d, #z], iterator_types = ["reduction"]} ins(%x : tensor<10xf32>) outs(%first : tensor<f32>) {
      ^bb0(%a: f32, %o: f32):
        %s = arith.maximumf %o, %a : f32
        linalg.yield %s : f32
      } -> tensor<f32>
      %1 = tensor.empty() : tensor<10xi64>
      %2 = linalg.generic {indexing_maps = [#d], iterator_types = ["parallel"]} outs(%1 : tensor<10xi64>) {
      ^bb0(%o: i64):
        %i = linalg.index 0 : index
        %s = arith.index_cast %i : index to i64
        linalg.yield %s : i64
      } -> tensor<10xi64>
      return %2, %0 : tensor<10xi64>, tensor<f32>
    }
  }
}

// -----

// What commutes with a maximum may come before its parts are combined.

#m = affine_map<(i) -> (i)>
#n = affine_map<(i) -> ()>
// CHECK: weft.certificate
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<64xf32> {weft.global_type = tensor<128xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) -> tensor<4xbf16> {
    %low = arith.constant dense<-9.0> : tensor<f32>
    %one = arith.constant 1.0 : f32
    %0 = linalg.generic {indexing_maps = [#m, #n], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%low : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.maximumf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %1 = tensor.empty() : tensor<4xbf16>
    %2 = linalg.generic {indexing_maps = [#n, #m], iterator_types = ["parallel"]} ins(%0 : tensor<f32>) outs(%1 : tensor<4xbf16>) {
    ^bb0(%a: f32, %o: bf16):
      %s = arith.maximumf %a, %one : f32
      %t = arith.truncf %s : f32 to bf16
      linalg.yield %t : bf16
    } -> tensor<4xbf16>
    %3 = weft.all_reduce max %2 on @mesh <{"tp"}> : (tensor<4xbf16>) -> tensor<4xbf16>
    return %3 : tensor<4xbf16>
  }
  module @one_rank {
    weft.mesh @mesh = <["tp"=1]>
    func.func @f(%x: tensor<128xf32>) -> tensor<4xbf16> {
      %low = arith.constant dense<-9.0> : tensor<f32>
      %one = arith.constant 1.0 : f32
      %0 = linalg.generic {indexing_maps = [#m, #n], iterator_types = ["reduction"]} ins(%x : tensor<128xf32>) outs(%low : tensor<f32>) {
      ^bb0(%a: f32, %o: f32):
        %s = arith.maximumf %o, %a : f32
        linalg.yield %s : f32
      } -> tensor<f32>
      %1 = tensor.empty() : tensor<4xbf16>
      %2 = linalg.generic {indexing_maps = [#n, #m], iterator_types = ["parallel"]} ins(%0 : tensor<f32>) outs(%1 : tensor<4xbf16>) {
      ^bb0(%a: f32, %o: bf16):
        %s = arith.maximumf %a, %one : f32
        %t = arith.truncf %s : f32 to bf16
        linalg.yield %t : bf16
      } -> tensor<4xbf16>
      return %2 : tensor<4xbf16>
    }
  }
}

// -----

// A rank that computes two microbatches joins their sums first, then
// with the other rank's. Their rows are put together again, too.

#v = affine_map<(i) -> (i)>
#s = affine_map<(i) -> ()>
#t = affine_map<() -> ()>
// CHECK: weft.certificate = {{.*}}tree 4 in f32 of chain 8
module attributes {weft.invariance = #weft.invariance<axes = ["dp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=2]>
  func.func @f(%x: tensor<16xf32> {weft.global_type = tensor<32xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}]>})
      -> (tensor<f32>, tensor<16xf32> {weft.global_type = tensor<32xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %e = tensor.empty() : tensor<f32>
    %a = tensor.extract_slice %x[0] [8] [1] : tensor<16xf32> to tensor<8xf32>
    %b = tensor.extract_slice %x[8] [8] [1] : tensor<16xf32> to tensor<8xf32>
    %0 = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]} ins(%a : tensor<8xf32>) outs(%zero : tensor<f32>)
        attrs = {weft.order = #weft.order<leaves = 1>} {
    ^bb0(%u: f32, %o: f32):
      %z = arith.addf %o, %u : f32
      linalg.yield %z : f32
    } -> tensor<f32>
    %1 = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]} ins(%b : tensor<8xf32>) outs(%zero : tensor<f32>)
        attrs = {weft.order = #weft.order<leaves = 1>} {
    ^bb0(%u: f32, %o: f32):
      %z = arith.addf %o, %u : f32
      linalg.yield %z : f32
    } -> tensor<f32>
    %2 = linalg.generic {indexing_maps = [#t, #t, #t], iterator_types = []} ins(%0, %1 : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>)
        attrs = {weft.order = #weft.order<leaves = 2>} {
    ^bb0(%u: f32, %w: f32, %o: f32):
      %z = arith.addf %u, %w : f32
      linalg.yield %z : f32
    } -> tensor<f32>
    %3 = weft.all_reduce sum %2 on @mesh <{"dp"}> {weft.order = #weft.order<leaves = 2>} : (tensor<f32>) -> tensor<f32>
    %4 = tensor.concat dim(0) %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
    return %3, %4 : tensor<f32>, tensor<16xf32>
  }
  module @one_rank {
    weft.mesh @mesh = <["dp"=1]>
    func.func @f(%x: tensor<32xf32>) -> (tensor<f32>, tensor<32xf32>) {
      %zero = arith.constant dense<0.0> : tensor<f32>
      %0 = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]} ins(%x : tensor<32xf32>) outs(%zero : tensor<f32>)
          attrs = {weft.order = #weft.order<leaves = 4>} {
      ^bb0(%u: f32, %o: f32):
        %z = arith.addf %o, %u : f32
        linalg.yield %z : f32
      } -> tensor<f32>
      return %0, %x : tensor<f32>, tensor<32xf32>
    }
  }
}

// -----

// Nothing is promised, so nothing is proved.

// CHECK: module {
// CHECK-NOT: certificate
module {
  func.func @f() {
    return
  }
}
