// RUN: weft-opt %s --weft-prepare-kernels --split-input-file --verify-diagnostics

// expected-error @+1 {{unknown target 'moon': expected host, null}}
module attributes {weft.target = #weft.target<"moon">} {
}

// -----

// expected-error @+1 {{target 'host' has no option "arch" = "sm_90", expected cpu and its name}}
module attributes {weft.target = #weft.target<"host", {arch = "sm_90"}>} {
}

// -----

// expected-error @+1 {{target 'host' has the option cpu = 3 : i64, expected the name of a CPU}}
module attributes {weft.target = #weft.target<"host", {cpu = 3}>} {
}

// -----

// expected-error @+1 {{target 'null' has no option "arch" = "sm_90", expected cpu and its name}}
module attributes {weft.target = #weft.target<"null", {arch = "sm_90"}>} {
}

// -----

// expected-error @+1 {{unknown CPU 'abacus' for target}}
module attributes {weft.target = #weft.target<"host", {cpu = "abacus"}>} {
}

// -----

// expected-error @+1 {{'weft.target' must be a #weft.target on a module, got "host"}}
module attributes {weft.target = "host"} {
}
