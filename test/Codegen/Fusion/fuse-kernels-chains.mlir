// Chains and ladders of elementwise ops become bodies of bounded length, none of
// which is computed twice.
// RUN: %python -c "n = 600; t = 'tensor<8x8xf32>'; print('func.func @ladder(%%v0: ' + t + ', %%v1: ' + t + ') -> ' + t + ' {'); print('\n'.join(f'%%v{i} = arith.addf %%v{i-1}, %%v{i-2} : ' + t for i in range(2, n + 2))); print(f'return %%v{n+1} : ' + t + '}')" > %t.mlir
// RUN: weft-opt %t.mlir --convert-elementwise-to-linalg --weft-fuse-kernels -o %t.fused.mlir
// RUN: %python -c "import re; text = open(r'%t.fused.mlir').read(); bodies = [b.count('arith.addf') for b in text.split('linalg.generic')[1:]]; assert sum(bodies) == 600 and max(bodies) <= 64 and len(bodies) > 9, bodies"
// RUN: grep -c weft_rt.fused %t.fused.mlir

// A kernel has at most so many formulas: LLVM's time grows with the square of a loop's length.
// RUN: %python -c "n = 600; t = 'tensor<8x8xf32>'; print('func.func @formulas(%%v0: ' + t + ') -> ' + t + ' {'); print('\n'.join(f'%%v{i} = math.exp %%v{i-1} : ' + t for i in range(1, n + 1))); print(f'return %%v{n} : ' + t + '}')" > %t.formulas.mlir
// RUN: weft-opt %t.formulas.mlir --convert-elementwise-to-linalg --weft-fuse-kernels -o %t.kernels.mlir
// RUN: %python -c "text = open(r'%t.kernels.mlir').read(); groups = [g.count('math.exp') for g in text.split('weft_rt.fused')[1:]] or [b.count('math.exp') for b in text.split('linalg.generic')[1:]]; assert text.count('math.exp') == 600 and max(groups) <= 64, groups"

// A link that a sum and the next link read is computed again for each of them only at the chain's start, or a few links of it: not all that a body has room for.
// RUN: %python %S/Inputs/sums.py 400 > %t.sums.mlir
// RUN: weft-opt %t.sums.mlir --weft-fuse-kernels -o %t.stored.mlir
// RUN: %python -c "text = open(r'%t.stored.mlir').read(); count = text.count('arith.subf'); assert 400 <= count <= 4 * 400, count"

// The same where the sums are broadcast first.
// RUN: %python %S/Inputs/sums.py 60 broadcast > %t.broadcast.mlir
// RUN: weft-opt %t.broadcast.mlir --weft-fuse-kernels -o %t.stored2.mlir
// RUN: %python -c "text = open(r'%t.stored2.mlir').read(); count = text.count('arith.subf'); assert 60 <= count <= 4 * 60, count"

// And where what is broadcast is scaled.
// RUN: %python %S/Inputs/sums.py 60 scaled > %t.scaled.mlir
// RUN: weft-opt %t.scaled.mlir --weft-fuse-kernels -o %t.stored3.mlir
// RUN: %python -c "text = open(r'%t.stored3.mlir').read(); count = text.count('arith.subf'); assert 60 <= count <= 4 * 60, count"
