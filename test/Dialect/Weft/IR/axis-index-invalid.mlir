// RUN: weft-opt %s --split-input-file --verify-diagnostics

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @axis_index_c1_unknown() -> index {
  // expected-error @+1 {{axes: unknown axis 'ep'}}
  %0 = weft.axis_index @mesh <{"ep"}>
  return %0 : index
}

// -----

weft.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @axis_index_c1_twice() -> index {
  // expected-error @+1 {{axes: axis 'dp' is used twice}}
  %0 = weft.axis_index @mesh <{"dp", "dp"}>
  return %0 : index
}

// -----

func.func @axis_index_c1_mesh() -> index {
  // expected-error @+1 {{axes: unknown mesh @mesh}}
  %0 = weft.axis_index @mesh <{"dp"}>
  return %0 : index
}
