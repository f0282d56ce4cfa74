// RUN: weft-opt %s --weft-offload --split-input-file | FileCheck %s

// The copy back stands before the first op that reads the value, and does not
// wait for the gradient that the barrier waits for.
weft.mesh @mesh = <["dp"=2]>

// CHECK: weft.channel @offload on @mesh <{}> purpose offload
// CHECK: weft.channel @fetch on @mesh <{}> purpose fetch
// CHECK-LABEL: func @behind_a_barrier
// CHECK: %[[H:.*]] = math.exp %arg0
// CHECK: %[[S:.*]] = weft.permute %[[H]] on @mesh <{}> sources [0] {channel = @offload}
// CHECK: %[[T:.*]] = math.tanh %[[H]]
// CHECK: %[[B:.*]] = weft.optimization_barrier %[[T]] : tensor<4xf32>
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[B]]
// CHECK-NEXT: %[[F:.*]] = weft.permute %[[S]] on @mesh <{}> sources [0] {channel = @fetch}
// CHECK-NEXT: %[[M:.*]] = arith.mulf %[[F]], %[[N]]
// CHECK-NEXT: arith.addf %[[M]], %[[F]]
func.func @behind_a_barrier(%x: tensor<4xf32>) -> tensor<4xf32> {
  %h = math.exp %x : tensor<4xf32>
  %o = weft.optimization_barrier %h {offload} : tensor<4xf32>
  %t = math.tanh %h : tensor<4xf32>
  %b:2 = weft.optimization_barrier %o, %t : tensor<4xf32>, tensor<4xf32>
  %n = arith.negf %b#1 : tensor<4xf32>
  %m = arith.mulf %b#0, %n : tensor<4xf32>
  %a = arith.addf %m, %o : tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

// A program of one rank has no mesh; one that is called so is another symbol.

// CHECK: weft.mesh @mesh_0 = <["rank"=1]>
// CHECK: weft.channel @offload on @mesh_0 <{}> purpose offload
// CHECK-LABEL: func @mesh
// CHECK: weft.permute %{{.*}} on @mesh_0 <{}> sources [0] {channel = @offload}
func.func @mesh(%x: tensor<4xf32>) -> tensor<4xf32> {
  %h = math.exp %x : tensor<4xf32>
  %o = weft.optimization_barrier %h {offload} : tensor<4xf32>
  %m = arith.mulf %o, %h : tensor<4xf32>
  return %m : tensor<4xf32>
}

// -----

// What nothing reads is not copied. Other barriers stay.

// CHECK-NOT: weft.channel
// CHECK-LABEL: func @unread
// CHECK-NOT: weft.permute
// CHECK: weft.optimization_barrier %{{.*}} : tensor<4xf32>
func.func @unread(%x: tensor<4xf32>) -> tensor<4xf32> {
  %h = math.exp %x : tensor<4xf32>
  %o = weft.optimization_barrier %h {offload} : tensor<4xf32>
  %b = weft.optimization_barrier %h : tensor<4xf32>
  return %b : tensor<4xf32>
}

// -----

// In a loop the value waits for the loop.
weft.mesh @mesh = <["dp"=2]>

// CHECK-LABEL: func @in_a_loop
// CHECK: %[[S:.*]] = weft.permute %arg0 {{.*}} {channel = @offload}
// CHECK: %[[F:.*]] = weft.permute %[[S]] {{.*}} {channel = @fetch}
// CHECK-NEXT: scf.for
// CHECK: arith.addf %{{.*}}, %[[F]]
func.func @in_a_loop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %o = weft.optimization_barrier %x {offload} : tensor<4xf32>
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %s = arith.addf %a, %o : tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// A state is fetched, and what takes its place is brought back; one that does not
// change stays.
weft.mesh @mesh = <["dp"=2]>

// CHECK-LABEL: func @state
// CHECK-NEXT: %[[G:.*]] = math.exp %arg1
// CHECK-NEXT: %[[F:.*]] = weft.permute %arg0 {{.*}} {channel = @fetch}
// CHECK-NEXT: %[[M:.*]] = arith.addf %[[F]], %[[G]]
// CHECK-NEXT: %[[S:.*]] = weft.permute %[[M]] {{.*}} {channel = @offload}
// CHECK-NEXT: return %[[S]], %arg2, %[[M]]
func.func @state(%m: tensor<4xf32> {weft.host}, %g: tensor<4xf32>, %k: tensor<4xf32> {weft.host})
    -> (tensor<4xf32> {weft.alias = 0 : index}, tensor<4xf32> {weft.alias = 2 : index}, tensor<4xf32>) {
  %0 = math.exp %g : tensor<4xf32>
  %1 = arith.addf %m, %0 : tensor<4xf32>
  return %1, %k, %1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// That the new state was put there by the program as well makes no more copies.
weft.mesh @mesh = <["dp"=2]>

// CHECK-LABEL: func @marked_state
// CHECK-COUNT-2: weft.permute
// CHECK-NOT: weft.permute
func.func @marked_state(%m: tensor<4xf32> {weft.host}) -> (tensor<4xf32> {weft.alias = 0 : index}) {
  %0 = math.exp %m : tensor<4xf32>
  %1 = weft.optimization_barrier %0 {offload} : tensor<4xf32>
  return %1 : tensor<4xf32>
}
