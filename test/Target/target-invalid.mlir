// RUN: weft-opt %s --weft-prepare-kernels --split-input-file --verify-diagnostics

// expected-error @+1 {{unknown target 'moon': expected cuda, host, null}}
module attributes {weft.target = #weft.target<"moon">} {
}

// -----

// expected-error @+1 {{'weft.target' has an empty name}}
module attributes {weft.target = #weft.target<"">} {
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

// expected-error @+1 {{target 'cuda' has no option "side" = "far", expected arch, cpu or cubin and its value}}
module attributes {weft.target = #weft.target<"cuda", {arch = "sm_90", side = "far"}>} {
}

// -----

// expected-error @+1 {{target 'cuda' has no architecture 'sm_999', expected one of sm_80, sm_86, sm_87, sm_88, sm_89, sm_90, sm_90a, sm_100, sm_100a, sm_100f, sm_103, sm_103a, sm_103f, sm_110, sm_110a, sm_110f, sm_120, sm_120a, sm_120f, sm_121, sm_121a, sm_121f}}
module attributes {weft.target = #weft.target<"cuda", {arch = "sm_999"}>} {
}

// -----

// expected-error @+1 {{unknown CPU 'abacus' for target}}
module attributes {weft.target = #weft.target<"host", {cpu = "abacus"}>} {
}

// -----

// expected-error @+1 {{'weft.tf32' must be without a value, on a module, got true}}
module attributes {weft.tf32 = true} {
}

// -----

// expected-error @+1 {{'weft.target' must be a #weft.target on a module, got "host"}}
module attributes {weft.target = "host"} {
}
