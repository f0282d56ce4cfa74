// RUN: %python %S/Inputs/cubin.py real weft-opt %s --weft-assemble-ptx --split-input-file | FileCheck %s
// RUN: not %python %S/Inputs/cubin.py broken weft-opt %s --weft-assemble-ptx --split-input-file 2>&1 | FileCheck %s --check-prefix=BROKEN

// The machine code comes first. What has no code, or code elsewhere, stays as it is.
module attributes {weft.target = #weft.target<"cuda", {arch = "sm_90", cubin = "always"}>} {
  llvm.mlir.global internal constant @weft_ptx(".version 8.0\0A.target sm_90\0A.address_size 64\0A.visible .entry weft_k0() { ret; }\0A\00")
  // CHECK: llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.image = [@weft_cubin, @weft_ptx]}
  llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.image = @weft_ptx}
  // CHECK: llvm.func @weft_k1(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.image = @other}
  llvm.func @weft_k1(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.image = @other}
  // CHECK: llvm.func @weft_k2(!llvm.ptr, !llvm.ptr, i64, i64)
  llvm.func @weft_k2(!llvm.ptr, !llvm.ptr, i64, i64)
}

// -----

// CHECK: arch = "sm_80"
// BROKEN: error: cannot make machine code of kernels: '{{.*}}ptxas' failed for sm_90 with exit code 7: no such architecture
module attributes {weft.target = #weft.target<"cuda", {arch = "sm_80", cubin = "never"}>} {
  llvm.mlir.global internal constant @weft_ptx("no PTX\00")
  // CHECK: llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.image = @weft_ptx}
  llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.image = @weft_ptx}
}

// -----

// A text that does not end with a zero, as there is none at all.
module attributes {weft.target = #weft.target<"cuda", {arch = "sm_80"}>} {
  llvm.mlir.global internal constant @weft_ptx("")
  // CHECK: llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.image = @weft_ptx}
  llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.image = @weft_ptx}
}

// -----

// An assembler that refuses the text leaves it as it is.
module attributes {weft.target = #weft.target<"cuda", {arch = "sm_80"}>} {
  llvm.mlir.global internal constant @weft_ptx("no PTX\00")
  // CHECK: llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.image = @weft_ptx}
  llvm.func @weft_k0(!llvm.ptr, !llvm.ptr, i64, i64) attributes {weft_rt.image = @weft_ptx}
}
