// RUN: weft-opt --weft-accumulate=axis=mb --split-input-file --verify-diagnostics %s

// expected-error @+1 {{expected a weft.mesh with the axis 'mb' to go through serially, found none}}
module {
}

// -----

// expected-error @+1 {{'weft.mesh' op has no axis 'mb' to go through serially: #weft.mesh<["dp"=2]>}}
weft.mesh @mesh = <["dp"=2]>

// -----

weft.mesh @mesh = <["dp"=2, "mb"=2]>
// expected-error @+1 {{argument #0 is sharded as #weft.sharding<@mesh, [{"mb", "dp"}]>: the serial axis 'mb' is not the last one of dim 0}}
func.func @major(%x: tensor<2xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb", "dp"}]>}) {
  return
}

// -----

weft.mesh @mesh = <["dp"=2, "mb"=2]>
// expected-error @+1 {{result #0 has 6 elements along dim 0, which 2 ranks times 2 coordinates along 'mb' do not divide}}
func.func @uneven(%x: tensor<2xf32>) -> (tensor<2xf32> {weft.global_type = tensor<6xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp", "mb"}]>}) {
  return %x : tensor<2xf32>
}

// -----

weft.mesh @mesh = <["mb"=4]>
// expected-error @+1 {{argument #0 ('rows') has 6 elements along dim 0, in parts of 2: the last of 4 coordinates along 'mb' has none}}
func.func @empty(%x: tensor<2xf32> {weft.name = "rows", weft.global_type = tensor<6xf32>, weft.sharding = #weft.sharding<@mesh, [{"mb"}]>}) {
  return
}

// -----

weft.mesh @mesh = <["a"=2, "mb"=3]>
func.func @tree(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{joins 6 leaves over #weft.axes<{"a", "mb"}>, a tree that does not nest at 'mb' of size 3: the axis cannot be serial}}
  %0 = weft.all_reduce sum %x on @mesh <{"a", "mb"}> {weft.order = #weft.order<leaves = 6>} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "mb"=4]>
func.func @parts(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{is over #weft.axes<{"mb":(2)2, "a", "mb":(1)2}>, in which 'mb' stands in two places: the axis cannot be serial}}
  %0 = weft.all_reduce sum %x on @mesh <{"mb":(2)2, "a", "mb":(1)2}> : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

weft.mesh @mesh = <["a"=3, "mb"=2]>
func.func @disordered(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{has sources 3, -1, 2, 0, -1, 1 in no order that coordinates along 'mb' can take: the axis cannot be serial}}
  %0 = weft.permute %x on @mesh <{"a", "mb"}> sources [3, -1, 2, 0, -1, 1] : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

weft.mesh @mesh = <["mb"=2]>
func.func @region(%x: tensor<2xf32>, %c: i1) -> tensor<2xf32> {
  %0 = scf.if %c -> tensor<2xf32> {
    // expected-error @+1 {{is over 'mb' in the region of 'scf.if': the axis cannot be serial}}
    %1 = weft.all_reduce sum %x on @mesh <{"mb"}> : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %1 : tensor<2xf32>
  } else {
    scf.yield %x : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// -----

// Which op takes the argument, or makes the result, is known.

weft.mesh @mesh = <["dp"=2, "mb"=2]>
func.func @taken(%x: tensor<2xf32> {weft.global_type = tensor<6xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp", "mb"}]>}) -> tensor<2xf32> {
  // expected-error @+1 {{argument #0 has 6 elements along dim 0, which 2 ranks times 2 coordinates along 'mb' do not divide}}
  %0 = weft.all_reduce sum %x on @mesh <{"dp"}> : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

weft.mesh @mesh = <["dp"=2, "mb"=2]>
func.func @made(%x: tensor<2xf32>) -> (tensor<2xf32> {weft.global_type = tensor<6xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp", "mb"}]>}) {
  // expected-error @+1 {{result #0 has 6 elements along dim 0, which 2 ranks times 2 coordinates along 'mb' do not divide}}
  %0 = math.exp %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
