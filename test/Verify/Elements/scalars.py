# SPDX-License-Identifier: Apache-2.0
"""Bodies of scalar ops that upstream's patterns rewrite between two phases.

RIGHT are compiled with all proofs, of tensors of one element, of several and of
none, as one body and as a chain of ops on tensors: each must be accepted. Of
WRONG each is a rewriting that is almost one of those: the second body instead of
the first must be refused.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

# Types of x, y, z, w; type of the result; ops. `op a, b : t` and `op a : t to u`.
RIGHT = """
i32 > i32: 3 -> a; 4 -> b; addi x, a -> p; addi p, b
i32 > i32: 3 -> a; 4 -> b; subi x, a -> p; addi p, b
i32 > i32: 3 -> a; 4 -> b; subi a, x -> p; addi p, b
i32 > i32: 3 -> a; 4 -> b; addi x, a -> p; subi p, b
i32 > i32: 3 -> a; 4 -> b; addi x, a -> p; subi b, p
i32 > i32: 3 -> a; 4 -> b; subi x, a -> p; subi p, b
i32 > i32: 3 -> a; 4 -> b; subi a, x -> p; subi b, p
i32 > i32: 3 -> a; 4 -> b; subi a, x -> p; subi p, b
i32 i32 > i32: subi x, y -> p; subi p, x
i32 i32 > i32: -1 -> m; muli y, m -> p; addi x, p
i32 i32 > i32: -1 -> m; muli y, m -> p; muli x, m -> q; addi q, p
i32 > i32: 3 -> a; 4 -> b; muli x, a -> p; muli p, b
i8 i8 > i32: extui x : i8 to i32 -> p; extui y : i8 to i32 -> q; andi p, q
i8 i8 > i32: extsi x : i8 to i32 -> p; extsi y : i8 to i32 -> q; ori p, q
i8 i8 > i32: extsi x : i8 to i32 -> p; extsi y : i8 to i32 -> q; xori p, q
i1 i1 > i32: extui x : i1 to i32 -> p; extui y : i1 to i32 -> q; ori p, q
i8 i8 > i1: extui x : i8 to i32 -> p; extui y : i8 to i32 -> q; cmpi slt, p, q : i32
i8 i8 > i1: extsi x : i8 to i32 -> p; extsi y : i8 to i32 -> q; cmpi ult, p, q : i32
i1 i1 > i1: extsi x : i1 to i32 -> p; extsi y : i1 to i32 -> q; cmpi sgt, p, q : i32
i1 > i1: extui x : i1 to i32 -> p; 0 -> a; cmpi ne, p, a : i32
i1 > i1: extsi x : i1 to i32 -> p; 0 -> a; cmpi eq, p, a : i32
i1 > i1: false : i1 -> f; cmpi ne, x, f : i1
i1 > i1: true : i1 -> t; cmpi eq, x, t : i1
i1 i1 > i1: true : i1 -> t; cmpi ult, x, y : i1 -> p; xori p, t : i1
i32 i32 > i1: true : i1 -> t; cmpi slt, x, y : i32 -> p; xori p, t : i1
i1 i1 > i1: true : i1 -> t; xori x, t : i1 -> p; xori p, y : i1
i1 > i32: 1 -> a; 0 -> b; select x, a, b
i1 > i32: 1 -> a; 0 -> b; select x, b, a
i8 > i16: extui x : i8 to i32 -> p; trunci p : i32 to i16
i8 > i16: extsi x : i8 to i32 -> p; trunci p : i32 to i16
i8 > i32: extui x : i8 to i16 -> p; extsi p : i16 to i32
i32 > i8: 24 -> a; shrsi x, a -> p; trunci p : i32 to i8
i8 > i64: extsi x : i8 to i32 -> p; index_cast p : i32 to index -> q; index_cast q : index to i64
i32 > i1: sitofp x : i32 to f64 -> p; 2.5 : f64 -> a; cmpf olt, p, a : f64
i32 > i1: sitofp x : i32 to f32 -> p; -2.5 : f32 -> a; cmpf ogt, p, a : f32
i8 > i1: uitofp x : i8 to f32 -> p; 200.0 : f32 -> a; cmpf ueq, p, a : f32
i8 > i1: sitofp x : i8 to f32 -> p; 1000.0 : f32 -> a; cmpf ule, p, a : f32
i1 > i1: uitofp x : i1 to f32 -> p; 0.5 : f32 -> a; cmpf ogt, p, a : f32
f32 f32 > f32: negf x : f32 -> p; negf y : f32 -> q; mulf p, q : f32
f32 f32 > f32: negf x : f32 -> p; negf y : f32 -> q; divf p, q : f32
f32 > f32: bitcast x : f32 to i32 -> p; bitcast p : i32 to f32
i32 > i32: 11 -> d; 0 -> n; remsi x, d -> r; cmpi slt, r, n : i32 -> b; false : i1 -> f; cmpi ne, b, f : i1 -> c; \
cmpi ne, r, n : i32 -> e; andi c, e : i1 -> g; addi r, d -> h; select g, h, r
"""

# What is asked for and what is made of it.
WRONG = """
i32 > i32: 3 -> a; 4 -> b; addi x, a -> p; addi p, b | 8 -> a; addi x, a
i32 > i32: 3 -> a; 4 -> b; subi a, x -> p; subi b, p | 1 -> a; subi x, a
i32 i32 > i32: subi x, y -> p; subi p, x | 0 -> a; subi a, x
i32 i32 > i32: -1 -> m; muli y, m -> p; addi x, p | subi y, x
i8 i8 > i32: extui x : i8 to i32 -> p; extui y : i8 to i32 -> q; andi p, q | andi x, y : i8 -> p; extsi p : i8 to i32
i8 i8 > i32: extui x : i8 to i32 -> p; extsi y : i8 to i32 -> q; ori p, q | ori x, y : i8 -> p; extsi p : i8 to i32
i8 i8 > i1: extui x : i8 to i32 -> p; extui y : i8 to i32 -> q; cmpi slt, p, q : i32 | cmpi slt, x, y : i8
i1 i1 > i1: cmpi slt, x, y : i1 | cmpi ult, x, y : i1
i1 > i1: extui x : i1 to i32 -> p; 0 -> a; cmpi sgt, p, a : i32 | extsi x : i1 to i32 -> p; 0 -> a; cmpi sgt, p, a : i32
i1 i1 > i1: true : i1 -> t; xori x, t : i1 -> p; xori p, y : i1 | xori x, y : i1
i1 > i32: 1 -> a; 0 -> b; select x, a, b | extsi x : i1 to i32
i8 > i16: extui x : i8 to i32 -> p; trunci p : i32 to i16 | extsi x : i8 to i16
i8 > i32: extsi x : i8 to i16 -> p; extui p : i16 to i32 | extui x : i8 to i32
i32 > i8: 25 -> a; shrsi x, a -> p; trunci p : i32 to i8 | 25 -> a; shrui x, a -> p; trunci p : i32 to i8
i32 > i1: 127 -> a; cmpi sle, x, a : i32 | 127 -> a; cmpi slt, x, a : i32
i32 > i1: 2147483647 -> a; cmpi sle, x, a : i32 | -2147483648 -> a; cmpi slt, x, a : i32
i32 > i1: sitofp x : i32 to f64 -> p; 2.5 : f64 -> a; cmpf olt, p, a : f64 | 2 -> a; cmpi slt, x, a : i32
i32 > i1: sitofp x : i32 to f32 -> p; 16777217.0 : f32 -> a; cmpf olt, p, a : f32 | 16777217 -> a; cmpi slt, x, a : i32
i32 > i1: sitofp x : i32 to f32 -> p; 2147483648.0 : f32 -> a; cmpf olt, p, a : f32 | true : i1
i8 > i1: uitofp x : i8 to f32 -> p; -1.0 : f32 -> a; cmpf olt, p, a : f32 | -1 : i8 -> a; cmpi ult, x, a : i8
f32 f32 > f32: negf x : f32 -> p; mulf p, y : f32 | mulf x, y : f32
"""


def parse(text):
    """Yields lists of types, a type, and lists of ops."""
    for line in text.replace("\\\n", "").strip().splitlines():
        types, result, *_ = re.match(r"(.*) > (\w+): (.*)", line).groups()
        yield types.split(), result, [write(body.split(";")) for body in line.split(": ", 1)[1].split(" | ")]


def write(ops):
    """Returns (name, op, operands, types) of each; the last is %r."""
    made = []
    for text in ops:
        text, name = text.split(" -> ") if " -> " in text else (text, "result")
        text, types = text.split(" : ") if " : " in text else (text, "i32")
        op, *operands = text.replace(",", "").split()
        made.append((name.strip(), op, operands, types.strip()))
    return made


def is_constant(op):
    return op in ("true", "false") or op.lstrip("-")[0].isdigit()


def write_body(ops):
    """One body."""
    lines = []
    for name, op, operands, types in ops:
        predicate = operands.pop(0) + ", " if op.startswith("cmp") and len(operands) == 3 else ""
        values = ", ".join(f"%{v}" for v in operands)
        if is_constant(op):
            lines.append(f"      %{name} = arith.constant {op}" + ("" if types == "i1" else f" : {types}"))
        else:
            lines.append(f"      %{name} = arith.{op} {predicate}{values} : {types}")
        if predicate:
            operands.insert(0, predicate[:-2])
    return "\n".join(lines)


def write_chain(ops, shape):
    """Ops on tensors."""
    lines = []
    def tensor(element):
        return f"tensor<{shape}{element}>"
    for name, op, operands, types in ops:
        if is_constant(op):
            lines.append(f"    %{name} = arith.constant dense<{op}> : {tensor(types)}")
            continue
        written = " to ".join(tensor(t) for t in types.split(" to "))
        if op == "select":
            written = f"{tensor('i1')}, {written}"
        values = ", ".join(v if op.startswith("cmp") and i == 0 else f"%{v}" for i, v in enumerate(operands))
        lines.append(f"    %{name} = arith.{op} {values} : {written}")
    return "\n".join(lines)


class Body:
    """What is computed of arguments of its own, whose names begin with `prefix`."""

    def __init__(self, prefix, types, result, ops, shape, is_chain):
        def tensor(element):
            return f"tensor<{shape}{element}>"
        names = "xyzw"[: len(types)]
        if is_chain:
            body = write_chain(ops, shape)
        else:
            of = "affine_map<(d0) -> (d0)>" if shape else "affine_map<() -> ()>"
            scalars = "".join(f"%{n}: {t}, " for n, t in zip(names, types))
            body = f"""    %empty = tensor.empty() : {tensor(result)}
    %tresult = linalg.generic {{indexing_maps = [{", ".join([of] * (len(types) + 1))}],
        iterator_types = [{'"parallel"' if shape else ''}]}}
        ins({", ".join("%t" + n for n in names)} : {", ".join(map(tensor, types))})
        outs(%empty : {tensor(result)}) {{
    ^bb0({scalars}%out: {result}):
{write_body(ops)}
      linalg.yield %result : {result}
    }} -> {tensor(result)}"""
        own = "" if is_chain else "t"
        self.args = [f'%{prefix}{own}{n}: {tensor(t)} {{weft.name = "{prefix}{n}"}}' for n, t in zip(names, types)]
        self.text = re.sub(r"%(\w+)", rf"%{prefix}\1", body)
        self.result, self.type = f"%{prefix}{own}result", tensor(result)


def write_function(bodies):
    results = ", ".join(f'{body.type} {{weft.name = "r{i}"}}' for i, body in enumerate(bodies))
    return f"""  func.func @f({", ".join(arg for body in bodies for arg in body.args)}) -> ({results}) {{
{chr(10).join(body.text for body in bodies)}
    return {", ".join(body.result for body in bodies)} : {", ".join(body.type for body in bodies)}
  }}
"""


def run(folder, text, *command):
    (folder / "in.mlir").write_text(text)
    return subprocess.run([command[0], folder / "in.mlir", *command[1:]], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def check_right(folder):
    for shape, is_chain in [("1x", False), ("1x", True), ("4x", False), ("", True)]:
        bodies = [Body(f"b{i}_", types, result, ops, shape, is_chain)
                  for i, (types, result, (ops,)) in enumerate(parse(RIGHT))]
        text = 'weft.mesh @mesh = <["tp"=2]>\n' + write_function(bodies)
        said = run(folder, text, "weft-compile", "--to", "planned", "-o", folder / "out.mlir")
        if said.returncode != 0:
            yield f"of {shape} is refused:\n{said.stdout}"


def check_wrong(folder):
    modules = []
    for types, result, bodies in parse(WRONG):
        asked, made = (write_function([Body("b", types, result, ops, "4x", False)]) for ops in bodies)
        modules.append(f"module {{\n{made}module @source {{\n{asked}}}\n}}\n")
    said = run(folder, "\n// -----\n\n".join(modules), "weft-opt", "--split-input-file",
               "--weft-verify-canonicalization")
    count = said.stdout.count("another one than the user's module")
    if count != len(modules):
        yield f"{count} of {len(modules)} that are wrong are refused:\n{said.stdout}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        wrong = [*check_right(Path(folder)), *check_wrong(Path(folder))]
    for text in wrong:
        print(text)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
