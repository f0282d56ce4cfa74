// RUN: weft-opt --weft-fuse-kernels %s | FileCheck %s

#row = affine_map<(d0, d1) -> (d0, d1)>
#scalar = affine_map<(d0, d1) -> (d0)>
#vector = affine_map<(d0) -> (d0)>

// A maximum starts from its own fill, which is part of the kernel: an
// undefined start would be found where all values are negative.
// CHECK-LABEL: func.func @maximum
// CHECK:      weft_rt.fused
// CHECK:      %[[LOWEST:.*]] = arith.constant 0xFF800000 : f32
// CHECK:      %[[FILL:.*]] = linalg.fill ins(%[[LOWEST]] : f32)
// CHECK:      linalg.generic {{.*}} outs(%[[FILL]] : tensor<4xf32>)
// CHECK:      arith.maximumf
func.func @maximum(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %lowest = arith.constant 0xFF800000 : f32
  %wide = tensor.empty() : tensor<4x8xf32>
  %empty = tensor.empty() : tensor<4xf32>
  %start = linalg.generic {indexing_maps = [#vector], iterator_types = ["parallel"]}
      outs(%empty : tensor<4xf32>) {
    ^bb0(%out: f32):
      linalg.yield %lowest : f32
  } -> tensor<4xf32>
  %negative = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%wide : tensor<4x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = math.exp %in : f32
      %1 = arith.negf %0 : f32
      linalg.yield %1 : f32
  } -> tensor<4x8xf32>
  %most = linalg.generic {indexing_maps = [#row, #scalar], iterator_types = ["parallel", "reduction"]}
      ins(%negative : tensor<4x8xf32>) outs(%start : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.maximumf %in, %out : f32
      linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %most : tensor<4xf32>
}

// A sum that starts from what another op computes is no member of its kernel.
// CHECK-LABEL: func.func @accumulated
// CHECK:      %[[STARTS:.*]] = weft_rt.fused
// CHECK:      weft_rt.fused ins({{.*}}%[[STARTS]]{{.*}})
func.func @accumulated(%x: tensor<4x8xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %empty = tensor.empty() : tensor<4xf32>
  %start = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]}
      ins(%y : tensor<4xf32>) outs(%empty : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = math.exp %in : f32
      linalg.yield %0 : f32
  } -> tensor<4xf32>
  %sum = linalg.generic {indexing_maps = [#row, #scalar], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%start : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %out, %in : f32
      linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %sum : tensor<4xf32>
}

// Each value of the chain has two readers, as random bits have: the chain becomes
// one kernel, and its ops do not double from link to link.
// CHECK-LABEL: func.func @chain
// CHECK:      weft_rt.fused
// CHECK-NOT:  weft_rt.fused
// CHECK:      return
func.func @chain(%x: tensor<64xi32>) -> tensor<64xi32> {
  %empty = tensor.empty() : tensor<64xi32>
  %a0 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%x : tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %out: i32):
      %0 = arith.muli %in, %in : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %b0 = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]} ins(%x, %a0 : tensor<64xi32>, tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %in2: i32, %out: i32):
      %0 = arith.xori %in, %in2 : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %a1 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%b0 : tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %out: i32):
      %0 = arith.muli %in, %in : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %b1 = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]} ins(%b0, %a1 : tensor<64xi32>, tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %in2: i32, %out: i32):
      %0 = arith.xori %in, %in2 : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %a2 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%b1 : tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %out: i32):
      %0 = arith.muli %in, %in : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %b2 = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]} ins(%b1, %a2 : tensor<64xi32>, tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %in2: i32, %out: i32):
      %0 = arith.xori %in, %in2 : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %a3 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%b2 : tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %out: i32):
      %0 = arith.muli %in, %in : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %b3 = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]} ins(%b2, %a3 : tensor<64xi32>, tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %in2: i32, %out: i32):
      %0 = arith.xori %in, %in2 : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %a4 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%b3 : tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %out: i32):
      %0 = arith.muli %in, %in : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %b4 = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]} ins(%b3, %a4 : tensor<64xi32>, tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %in2: i32, %out: i32):
      %0 = arith.xori %in, %in2 : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %a5 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%b4 : tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %out: i32):
      %0 = arith.muli %in, %in : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %b5 = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]} ins(%b4, %a5 : tensor<64xi32>, tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %in2: i32, %out: i32):
      %0 = arith.xori %in, %in2 : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %a6 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%b5 : tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %out: i32):
      %0 = arith.muli %in, %in : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %b6 = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]} ins(%b5, %a6 : tensor<64xi32>, tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %in2: i32, %out: i32):
      %0 = arith.xori %in, %in2 : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %a7 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%b6 : tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %out: i32):
      %0 = arith.muli %in, %in : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %b7 = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]} ins(%b6, %a7 : tensor<64xi32>, tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %in2: i32, %out: i32):
      %0 = arith.xori %in, %in2 : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %a8 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%b7 : tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %out: i32):
      %0 = arith.muli %in, %in : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %b8 = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]} ins(%b7, %a8 : tensor<64xi32>, tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %in2: i32, %out: i32):
      %0 = arith.xori %in, %in2 : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %a9 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%b8 : tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %out: i32):
      %0 = arith.muli %in, %in : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %b9 = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]} ins(%b8, %a9 : tensor<64xi32>, tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %in2: i32, %out: i32):
      %0 = arith.xori %in, %in2 : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %a10 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%b9 : tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %out: i32):
      %0 = arith.muli %in, %in : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %b10 = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]} ins(%b9, %a10 : tensor<64xi32>, tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %in2: i32, %out: i32):
      %0 = arith.xori %in, %in2 : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %a11 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%b10 : tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %out: i32):
      %0 = arith.muli %in, %in : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %b11 = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]} ins(%b10, %a11 : tensor<64xi32>, tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %in2: i32, %out: i32):
      %0 = arith.xori %in, %in2 : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %a12 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%b11 : tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %out: i32):
      %0 = arith.muli %in, %in : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %b12 = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]} ins(%b11, %a12 : tensor<64xi32>, tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %in2: i32, %out: i32):
      %0 = arith.xori %in, %in2 : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %a13 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%b12 : tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %out: i32):
      %0 = arith.muli %in, %in : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  %b13 = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]} ins(%b12, %a13 : tensor<64xi32>, tensor<64xi32>) outs(%empty : tensor<64xi32>) {
    ^bb0(%in: i32, %in2: i32, %out: i32):
      %0 = arith.xori %in, %in2 : i32
      linalg.yield %0 : i32
  } -> tensor<64xi32>
  return %b13 : tensor<64xi32>
}

// What repeats a tensor's one element is made where it is read, twice here: it
// is nowhere in memory.
// CHECK-LABEL: func @repeated
// CHECK: weft_rt.fused ins(%{{.*}}, %{{.*}} : tensor<f32>, tensor<64xf32>)
// CHECK: weft_rt.fused ins(%{{.*}}, %{{.*}} : tensor<f32>, tensor<64xf32>)
// CHECK-NOT: weft_rt.fused
func.func @repeated(%x: tensor<64xf32>, %y: tensor<64xf32>, %s: tensor<f32>)
    -> (tensor<64xf32>, tensor<64xf32>) {
  %e = tensor.empty() : tensor<64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%e : tensor<64xf32>) {
  ^bb0(%o: f32):
    %v = tensor.extract %s[] : tensor<f32>
    linalg.yield %v : f32
  } -> tensor<64xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %r : tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = arith.mulf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<64xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%y, %r : tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = arith.divf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}
