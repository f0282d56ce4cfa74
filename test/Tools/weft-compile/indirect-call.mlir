// RUN: weft-compile %s -o %t.o && test -s %t.o

// A kernel that was edited by hand may call what it only has the address of, as
// the entry does.

llvm.func @weft_k0(%buffers: !llvm.ptr, %scalars: !llvm.ptr, %begin: i64, %end: i64) {
  %0 = llvm.load %buffers : !llvm.ptr -> !llvm.ptr
  llvm.call %0(%begin) : !llvm.ptr, (i64) -> ()
  llvm.return
}
