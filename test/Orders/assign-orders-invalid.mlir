// RUN: weft-opt %s --weft-assign-orders="axes=dp,tp" --split-input-file --verify-diagnostics

// expected-error @below {{axis "dp" of size 3 cannot be invariant with 8 leaves: sizes that can are 1, 2, 4 and 8}}
weft.mesh @mesh = <["dp"=3, "tp"=2]>

// -----

// expected-error @below {{there is no axis "dp" to be invariant in: expected mesh, or some of "data", "tp"}}
weft.mesh @mesh = <["data"=3, "tp"=2]>

// -----

// Each of the two could be, but not both on one batch.
// expected-error @below {{axes "dp" and "tp" shard dimension 0 of argument #0 in 16 parts, which cannot be invariant with 8 leaves: numbers that can are 1, 2, 4 and 8}}
weft.mesh @mesh = <["dp"=4, "tp"=4, "ep"=3]>
func.func @f(%tokens: tensor<48x8xi32> {weft.sharding = #weft.sharding<@mesh, [{"dp", "ep", "tp"}, {}]>}) {
  return
}

// -----

// A mesh that was changed since orders were assigned, and other wishes.
// expected-error @below {{orders are assigned for #weft.invariance<axes = ["tp"], leaves = 8> already, not for #weft.invariance<axes = ["dp", "tp"], leaves = 8>}}
module attributes {weft.invariance = #weft.invariance<axes = ["tp"], leaves = 8>} {
  weft.mesh @mesh = <["dp"=2, "tp"=2]>
}
