// RUN: weft-opt %s --weft-emit-ptx --split-input-file --verify-diagnostics

module attributes {weft.target = #weft.target<"cuda">} {
  module @weft_device {
    llvm.func @fmodf(f32, f32) -> f32
    // expected-error @+1 {{kernel 'weft_k0' needs 'fmodf', for which there is no code on GPUs}}
    llvm.func ptx_kernelcc @weft_k0(%x: f32, %to: !llvm.ptr<1>) {
      %0 = llvm.call @fmodf(%x, %x) : (f32, f32) -> f32
      llvm.store %0, %to : f32, !llvm.ptr<1>
      llvm.return
    }
  }
}

// -----

module attributes {weft.target = #weft.target<"cuda">} {
  module @weft_device {
    // expected-error @+1 {{kernel 'weft_k0' needs 'frem', for which there is no code on GPUs}}
    llvm.func ptx_kernelcc @weft_k0(%x: f32, %to: !llvm.ptr<1>) {
      %0 = llvm.frem %x, %x : f32
      llvm.store %0, %to : f32, !llvm.ptr<1>
      llvm.return
    }
  }
}

// -----

module attributes {weft.target = #weft.target<"cuda">} {
  module @weft_device {
    // expected-error @+1 {{kernel 'weft_k0' needs 'llvm.sin.f32', for which there is no code on GPUs}}
    llvm.func ptx_kernelcc @weft_k0(%x: f32, %to: !llvm.ptr<1>) {
      %0 = llvm.intr.sin(%x) : (f32) -> f32
      llvm.store %0, %to : f32, !llvm.ptr<1>
      llvm.return
    }
  }
}
