// RUN: weft-opt %s --split-input-file --verify-diagnostics

weft.mesh @mesh = <["dp"=2, "tp"=4]>
// expected-error @+1 {{argument #0: unknown axis 'ep' in mesh #weft.mesh<["dp"=2, "tp"=4]>}}
func.func @f(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"ep"}]>}) { return }

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
// expected-error @+1 {{argument #0: sub-axis (2)4 does not divide axis 'tp' of size 4}}
func.func @f(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp":(2)4}]>}) { return }

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
// expected-error @+1 {{argument #0: axis 'tp' is used twice}}
func.func @f(%x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"tp"}, {"tp":(1)2}]>}) { return }

// -----

// expected-error @+1 {{argument #0: unknown mesh @mesh}}
func.func @f(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) { return }

// -----

weft.mesh @mesh = <["dp"=2]>
// expected-error @+1 {{argument #0: sharding has 1 dimensions, but the value has 2 ('tensor<8x8xf32>')}}
func.func @f(%x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) { return }

// -----

weft.mesh @mesh = <["dp"=2]>
// expected-error @+1 {{argument #0: storage axis 'dp' shards no dimension}}
func.func @f(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{}], storage = {"dp"}>}) { return }

// -----

weft.mesh @mesh = <["dp"=2]>
// expected-error @+1 {{argument #0: a sharding at a function's border cannot be partial}}
func.func @f(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{}], partial = sum {"dp"}>}) { return }

// -----

// expected-error @+1 {{argument #0: 'weft.sharding' must be a #weft.sharding, got 1 : i64}}
func.func @f(%x: tensor<8xf32> {weft.sharding = 1}) { return }

// -----

// expected-error @+1 {{argument #0: 'weft.name' must be a string, got 1 : i64}}
func.func @f(%x: tensor<8xf32> {weft.name = 1}) { return }

// -----

// expected-error @+1 {{argument #0: 'weft.name' must be UTF-8 without zeros and ends of lines, got "x\FF"}}
func.func @f(%x: tensor<8xf32> {weft.name = "x\FF"}) { return }

// -----

// expected-error @+1 {{argument #0: 'weft.name' must be UTF-8 without zeros and ends of lines, got "x\00y"}}
func.func @f(%x: tensor<8xf32> {weft.name = "x\00y"}) { return }

// -----

// expected-error @+1 {{argument #0: 'weft.name' must be UTF-8 without zeros and ends of lines, got "x\0Ay"}}
func.func @f(%x: tensor<8xf32> {weft.name = "x\0Ay"}) { return }

// -----

// expected-error @+1 {{argument #0: unknown attribute 'weft.colour'}}
func.func @f(%x: tensor<8xf32> {weft.colour = 1}) { return }

// -----

// expected-error @+1 {{result #0: 'weft.alias' must be an index attribute, got 0 : i64}}
func.func @f(%x: tensor<8xf32>) -> (tensor<8xf32> {weft.alias = 0}) { return %x : tensor<8xf32> }

// -----

// expected-error @+1 {{result #0: 'weft.alias' is 1, but the function has 1 arguments}}
func.func @f(%x: tensor<8xf32>) -> (tensor<8xf32> {weft.alias = 1 : index}) { return %x : tensor<8xf32> }

// -----

// expected-error @+1 {{result #0 of type 'tensor<8xf32>' cannot take the place of argument #0 of type 'tensor<8xi32>'}}
func.func @f(%x: tensor<8xi32>, %y: tensor<8xf32>) -> (tensor<8xf32> {weft.alias = 0 : index}) { return %y : tensor<8xf32> }

// -----

// expected-error @+1 {{results #0 and #1 both alias argument #0}}
func.func @f(%x: tensor<8xf32>) -> (tensor<8xf32> {weft.alias = 0 : index}, tensor<8xf32> {weft.alias = 0 : index}) { return %x, %x : tensor<8xf32>, tensor<8xf32> }

// -----

// expected-error @+1 {{argument #0: 'weft.global_type' must be a static tensor type, got tensor<?xf32>}}
func.func @f(%x: tensor<8xf32> {weft.global_type = tensor<?xf32>}) { return }

// -----

weft.mesh @mesh = <["dp"=2]>
// expected-error @+1 {{argument #0 has type 'tensor<8xf32>', but one rank holds 'tensor<4xf32>' of the global 'tensor<8xf32>'}}
func.func @f(%x: tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) { return }

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{unknown attribute 'weft.colour'}}
  %0 = arith.negf %x {weft.colour = 1} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'weft.shardings' must hold one #weft.sharding for each of 1 results, got []}}
  %0 = arith.negf %x {weft.shardings = []} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

weft.mesh @mesh = <["dp"=2]>
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'weft.shardings': unknown axis 'tp' in mesh #weft.mesh<["dp"=2]>}}
  %0 = arith.negf %x {weft.shardings = [#weft.sharding<@mesh, [{"tp"}]>]} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Half of a storage axis shards, the other half does not.
weft.mesh @mesh = <["dp"=4]>
// expected-error @+1 {{argument #0: storage axis 'dp' shards no dimension}}
func.func @f(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"dp":(1)2}], storage = {"dp"}>}) { return }

// -----

weft.mesh @mesh = <["dp"=2]>
// expected-error @+1 {{argument #0: 'weft.global_type' must be a static tensor type, got tensor<?xf32>}}
func.func @f(%x: tensor<8xf32> {weft.global_type = tensor<?xf32>}) { return }

// -----

weft.mesh @mesh = <["dp"=2]>
// expected-error @+1 {{argument #0 has type 'tensor<8xf32>', but one rank holds 'tensor<4xf32>' of the global 'tensor<8xf32>'}}
func.func @f(%x: tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) { return }

// -----

weft.mesh @mesh = <["dp"=2]>
// expected-error @+1 {{argument #0: sharding has 1 dimensions, but the value has 2 ('tensor<8x8xf32>')}}
func.func @f(%x: tensor<4xf32> {weft.global_type = tensor<8x8xf32>, weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) { return }

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'weft.op' must be a string, got 3 : i64}}
  %0 = arith.negf %x {weft.op = 3} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// expected-error @+1 {{'weft.schedule' must be a dictionary, got "sync"}}
func.func @f() attributes {weft.schedule = "sync"} { return }

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'weft.scales_contraction' has no value, got 3 : i64}}
  %0 = arith.negf %x {weft.scales_contraction = 3} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// expected-error @+1 {{argument #0: 'weft.host' has no value, got 3 : i64}}
func.func @f(%x: tensor<8xf32> {weft.host = 3}) { return }

// -----

// expected-error @+1 {{result #0: unknown attribute 'weft.host'}}
func.func @f(%x: tensor<8xf32>) -> (tensor<8xf32> {weft.host}) { return %x : tensor<8xf32> }
