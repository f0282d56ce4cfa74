// RUN: weft-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{mesh axis without a name}}
weft.mesh @mesh = <[""=2]>

// -----

// expected-error @+1 {{mesh axis 'dp' is declared twice}}
weft.mesh @mesh = <["dp"=2, "dp"=2]>

// -----

// expected-error @+1 {{mesh axis 'dp' has size 0, expected at least 1}}
weft.mesh @mesh = <["dp"=0]>

// -----

// expected-error @+1 {{mesh has more than 2^24 ranks}}
weft.mesh @mesh = <["dp"=4096, "tp"=8192]>

// -----

// expected-error @+1 {{expected string}}
weft.mesh @mesh = <[dp=2]>

// -----

// expected-error @+1 {{sub-axis of 'tp' is (0)2, expected a pre-size of at least 1 and a size of at least 2}}
module attributes {a = #weft.axis_ref<"tp":(0)2>} {}

// -----

// expected-error @+1 {{sub-axis of 'tp' is (2)1, expected a pre-size of at least 1 and a size of at least 2}}
module attributes {a = #weft.axes<{"tp":(2)1}>} {}

// -----

// expected-error @+1 {{'?' must end the list of axes}}
module attributes {a = #weft.dim_sharding<{?, "tp"}>} {}

// -----

// expected-error @+1 {{unknown reduction 'mean'}}
module attributes {a = #weft.sharding<@mesh, [{}], partial = mean {"tp"}>} {}

// -----

// expected-error @+1 {{expected 'storage' or 'partial', got 'replicated'}}
module attributes {a = #weft.sharding<@mesh, [{}], replicated = {"tp"}>} {}

// -----

// expected-note @below {{the first is here}}
weft.mesh @a = <["dp"=2]>
func.func private @between()
// expected-error @below {{'weft.mesh' op is the second mesh of the module, expected one}}
weft.mesh @b = <["dp"=2]>
