// RUN: weft-opt %s --weft-global-to-local=invariant=mesh | FileCheck %s
// RUN: sed 's/constant 1000/constant 999/' %s > %t.count.mlir
// RUN: sed 's/arith.mulf %u, %f/arith.addf %u, %f/' %s > %t.op.mlir
// RUN: sed 's/scf.yield %m, %b/scf.yield %b, %m/' %s > %t.yield.mlir
// RUN: sed 's/iter_args(%a = %x, %b = %y)/iter_args(%a = %y, %b = %x)/' %s > %t.init.mlir
// RUN: sed 's/"dp"=2/"dp"=4/' %s > %t.mesh.mlir
// RUN: weft-opt %s --weft-global-to-local=invariant=mesh | grep -o "digest.22:.22[0-9a-f]*" > %t.digests
// RUN: weft-opt %t.count.mlir --weft-global-to-local=invariant=mesh | grep -o "digest.22:.22[0-9a-f]*" >> %t.digests
// RUN: weft-opt %t.op.mlir --weft-global-to-local=invariant=mesh | grep -o "digest.22:.22[0-9a-f]*" >> %t.digests
// RUN: weft-opt %t.yield.mlir --weft-global-to-local=invariant=mesh | grep -o "digest.22:.22[0-9a-f]*" >> %t.digests
// RUN: weft-opt %t.init.mlir --weft-global-to-local=invariant=mesh | grep -o "digest.22:.22[0-9a-f]*" >> %t.digests
// RUN: weft-opt %t.mesh.mlir --weft-global-to-local=invariant=mesh | grep -o "digest.22:.22[0-9a-f]*" >> %t.digests
// RUN: wc -l < %t.digests | FileCheck %s --check-prefix=ALL
// RUN: sort -u %t.digests | wc -l | FileCheck %s --check-prefix=COUNT

// A loop that is too long to be written out is told by what it begins with, how
// often it runs and what it makes in a pass. Five programs, one of which on two
// meshes.

// ALL: 6
// COUNT: 5

// CHECK: weft.certificate = {{.*}}chain 16 in 16 lanes
// CHECK: scf.for
// CHECK: module @one_rank
// CHECK: scf.for
weft.mesh @mesh = <["dp"=2]>
func.func @main(%x: tensor<8x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>},
                %y: tensor<8x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>})
    -> (tensor<8x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}, {}]>},
        tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1000 = arith.constant 1000 : index
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %r:2 = scf.for %i = %c0 to %c1000 step %c1 iter_args(%a = %x, %b = %y) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
    %e = tensor.empty() : tensor<8x16xf32>
    %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
           iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
    ^bb0(%u: f32, %o: f32):
      %n = arith.index_cast %i : index to i32
      %f = arith.sitofp %n : i32 to f32
      %c = arith.mulf %u, %f : f32
      linalg.yield %c : f32
    } -> tensor<8x16xf32>
    scf.yield %m, %b : tensor<8x16xf32>, tensor<8x16xf32>
  }
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
           iterator_types = ["parallel", "reduction"]} ins(%r#1 : tensor<8x16xf32>) outs(%zero : tensor<8xf32>) {
  ^bb0(%u: f32, %o: f32):
    %c = arith.addf %o, %u : f32
    linalg.yield %c : f32
  } -> tensor<8xf32>
  return %r#0, %sum : tensor<8x16xf32>, tensor<8xf32>
}
