# SPDX-License-Identifier: Apache-2.0
"""What bench/gpu.py puts into a bundle besides the example: programs of one kernel,
whose bytes are known, and contractions."""

ALL, ROW = "affine_map<(i, j) -> (i, j)>", "affine_map<(i, j) -> (i)>"


def generic(name, kind, inputs, init, out, body, reduces=False):
    """One op over all points; an input is a name, a type and whether it is of rows."""
    maps = [ROW if of_row else ALL for _, _, of_row in inputs] + [ROW if reduces else ALL]
    second = "reduction" if reduces else "parallel"
    names = ", ".join(f"%{n}" for n, _, _ in inputs)
    types = ", ".join(t for _, t, _ in inputs)
    elements = ", ".join(f"%v{i}: {t.split('x')[-1][:-1]}" for i, (_, t, _) in enumerate(inputs))
    element = out.split("x")[-1][:-1]
    return f"""  %{name} = linalg.generic {{indexing_maps = [{", ".join(maps)}], iterator_types = ["parallel", "{second}"]}}
      ins({names} : {types}) outs(%{init} : {out}) {{
  ^bb0({elements}, %o: {element}):
{body}    linalg.yield %r : {element}
  }} -> {out}
"""


def program(rows, columns, element, inputs, results, body):
    """A module; inputs and results are names, results alias inputs of their name."""
    full = f"tensor<{rows}x{columns}x{element}>"
    given = ", ".join(f'%{n}: {full} {{weft.name = "{n}"}}' for n in inputs)
    gives = ", ".join(f'{full} {{weft.name = "{n}"' +
                      (f", weft.alias = {inputs.index(n)} : index" if n in inputs else "") + "}"
                      for n in results)
    values = ", ".join(f"%{'new_' if n in inputs else ''}{n}" for n in results)
    return f"""func.func @kernel({given}) -> ({gives}) {{
  %e = tensor.empty() : {full}
{body}  return {values} : {", ".join([full] * len(results))}
}}
"""


def in_f32(element, name, value):
    """Text that widens a value, and the name of the wide one."""
    if element == "f32":
        return "", value
    return f"    %{name} = arith.extf {value} : {element} to f32\n", f"%{name}"


def narrowed(element, value):
    if element == "f32":
        return f"    %r = arith.addf {value}, %none : f32\n"
    return f"    %r = arith.truncf {value} : f32 to {element}\n"


def elementwise(rows, columns, element):
    full = f"tensor<{rows}x{columns}x{element}>"
    (first, a), (second, b) = in_f32(element, "wa", "%v0"), in_f32(element, "wb", "%v1")
    body = (first + second + f"    %p = arith.mulf {a}, {b} : f32\n"
            f"    %s = arith.addf %p, {a} : f32\n" + narrowed(element, "%s"))
    text = "  %none = arith.constant -0.0 : f32\n" + generic("y", "map", [("a", full, False), ("b", full, False)], "e", full, body)
    return program(rows, columns, element, ["a", "b"], ["y"], text), 3


def row_sum(rows, name, value, init, body):
    wide = f"tensor<{rows}xf32>"
    return (f"  %{name}_e = tensor.empty() : {wide}\n"
            f"  %{name}_z = linalg.fill ins(%{init} : f32) outs(%{name}_e : {wide}) -> {wide}\n" +
            generic(name, "sum", value, f"{name}_z", wide, body, reduces=True))


def norm(rows, columns, element):
    full, wide = f"tensor<{rows}x{columns}x{element}>", f"tensor<{rows}xf32>"
    text, value = in_f32(element, "w", "%v0")
    squares = text + f"    %s = arith.mulf {value}, {value} : f32\n    %r = arith.addf %o, %s : f32\n"
    scaled = (text + f"    %n = arith.constant {1 / columns:.9e} : f32\n"
              "    %mean = arith.mulf %v1, %n : f32\n    %i = math.rsqrt %mean : f32\n"
              f"    %p = arith.mulf {value}, %i : f32\n" + narrowed(element, "%p"))
    body = ("  %none = arith.constant -0.0 : f32\n  %zero = arith.constant 0.0 : f32\n" +
            row_sum(rows, "sum", [("x", full, False)], "zero", squares) +
            generic("y", "map", [("x", full, False), ("sum", wide, True)], "e", full, scaled))
    return program(rows, columns, element, ["x"], ["y"], body), 2


def softmax(rows, columns, element):
    full, wide = f"tensor<{rows}x{columns}x{element}>", f"tensor<{rows}xf32>"
    text, value = in_f32(element, "w", "%v0")
    most = text + f"    %r = arith.maximumf %o, {value} : f32\n"
    power = text + f"    %d = arith.subf {value}, %v1 : f32\n    %power = math.exp %d : f32\n"
    body = ("  %none = arith.constant -0.0 : f32\n  %zero = arith.constant 0.0 : f32\n"
            "  %low = arith.constant 0xFF800000 : f32\n" +
            row_sum(rows, "max", [("x", full, False)], "low", most) +
            row_sum(rows, "sum", [("x", full, False), ("max", wide, True)], "zero",
                    power + "    %r = arith.addf %o, %power : f32\n") +
            generic("y", "map", [("x", full, False), ("max", wide, True), ("sum", wide, True)], "e",
                    full, power + "    %q = arith.divf %power, %v2 : f32\n" + narrowed(element, "%q")))
    return program(rows, columns, element, ["x"], ["y"], body), 2


def adamw(rows, columns, element):
    full = f"tensor<{rows}x{columns}xf32>"
    new_m = ("    %k = arith.constant 0.9 : f32\n    %l = arith.constant 0.1 : f32\n"
             "    %x = arith.mulf %v0, %k : f32\n    %y = arith.mulf %v1, %l : f32\n")
    new_v = ("    %k = arith.constant 0.99 : f32\n    %l = arith.constant 0.01 : f32\n"
             "    %q = arith.mulf %v1, %v1 : f32\n"
             "    %x = arith.mulf %v0, %k : f32\n    %y = arith.mulf %q, %l : f32\n")
    step = ("    %rate = arith.constant 1.0e-3 : f32\n    %eps = arith.constant 1.0e-8 : f32\n"
            "    %keep = arith.constant 0.999 : f32\n    %d = math.sqrt %v2 : f32\n"
            "    %f = arith.addf %d, %eps : f32\n    %q = arith.divf %v1, %f : f32\n"
            "    %t = arith.mulf %q, %rate : f32\n    %u = arith.mulf %v0, %keep : f32\n"
            "    %r = arith.subf %u, %t : f32\n")
    add = "    %r = arith.addf %x, %y : f32\n"
    body = (generic("new_m", "map", [("m", full, False), ("g", full, False)], "e", full, new_m + add) +
            generic("new_v", "map", [("v", full, False), ("g", full, False)], "e", full, new_v + add) +
            generic("new_w", "map", [("w", full, False), ("new_m", full, False), ("new_v", full, False)],
                    "e", full, step))
    return program(rows, columns, "f32", ["w", "m", "v", "g"], ["w", "m", "v"], body), 7


KERNELS = {"elementwise": elementwise, "norm": norm, "softmax": softmax, "adamw": adamw}


def matmul(m, n, k, element):
    sums = f"tensor<{m}x{n}xf32>"
    out = f"tensor<{m}x{n}x{element}>"
    text = "" if element == "f32" else f"""  %e = tensor.empty() : {out}
  %y = linalg.map {{ arith.truncf }} ins(%p : {sums}) outs(%e : {out})
"""
    return f"""func.func @matmul(%a: tensor<{m}x{k}x{element}> {{weft.name = "a"}},
    %b: tensor<{k}x{n}x{element}> {{weft.name = "b"}}) -> ({out} {{weft.name = "y"}}) {{
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty() : {sums}
  %z = linalg.fill ins(%zero : f32) outs(%s : {sums}) -> {sums}
  %p = linalg.matmul ins(%a, %b : tensor<{m}x{k}x{element}>, tensor<{k}x{n}x{element}>)
      outs(%z : {sums}) -> {sums}
{text}  return %{"p" if element == "f32" else "y"} : {out}
}}
"""
