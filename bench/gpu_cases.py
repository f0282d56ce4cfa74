# SPDX-License-Identifier: Apache-2.0
"""What bench/gpu.py puts into a bundle besides the example: programs of one kernel,
whose bytes are known, and contractions."""

ALL, ROW, COLUMN = (f"affine_map<(i, j) -> ({d})>" for d in ("i, j", "i", "j"))
TURNED = "affine_map<(i, j) -> (j, i)>"


def element_of(tensor):
    return tensor.split("x")[-1][:-1]


def generic(name, inputs, init, out, body, reduces=()):
    """One op over all points; an input is a name, a type and its map. `reduces` says the loop that
    is summed over, and the map of what is left."""
    loop, left = reduces or (None, ALL)
    maps = [where for _, _, where in inputs] + [left]
    loops = ", ".join('"reduction"' if i == loop else '"parallel"' for i in range(2))
    names = ", ".join(f"%{n}" for n, _, _ in inputs)
    types = ", ".join(t for _, t, _ in inputs)
    elements = ", ".join(f"%v{i}: {element_of(t)}" for i, (_, t, _) in enumerate(inputs))
    element = element_of(out)
    return f"""  %{name} = linalg.generic {{indexing_maps = [{", ".join(maps)}], iterator_types = [{loops}]}}
      ins({names} : {types}) outs(%{init} : {out}) {{
  ^bb0({elements}, %o: {element}):
{body}    linalg.yield %r : {element}
  }} -> {out}
"""


def program(inputs, results, body):
    """A module; inputs and results are names with types, results alias inputs of their name."""
    places = list(inputs)
    given = ", ".join(f'%{n}: {t} {{weft.name = "{n}"}}' for n, t in inputs.items())
    gives = ", ".join(f'{t} {{weft.name = "{n}"' +
                      (f", weft.alias = {places.index(n)} : index" if n in inputs else "") + "}"
                      for n, t in results.items())
    values = ", ".join(f"%{'new_' if n in inputs else ''}{n}" for n in results)
    return f"""func.func @kernel({given}) -> ({gives}) {{
  %none = arith.constant -0.0 : f32
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
{body}  return {values} : {", ".join(results.values())}
}}
"""


def empty(name, tensor):
    return f"  %{name} = tensor.empty() : {tensor}\n"


def bytes_of(*tensors):
    """Of tensors whose types these are, together."""
    total = 0
    for tensor in tensors:
        *sizes, element = tensor[len("tensor<"):-1].split("x")
        count = 1
        for size in sizes:
            count *= int(size)
        total += count * int(element.lstrip("bfi")) // 8
    return total


def in_f32(element, name, value):
    """Text that widens a value, and the name of the wide one."""
    if element == "f32":
        return "", value
    return f"    %{name} = arith.extf {value} : {element} to f32\n", f"%{name}"


def narrowed(element, value):
    if element == "f32":
        return f"    %r = arith.addf {value}, %none : f32\n"
    return f"    %r = arith.truncf {value} : f32 to {element}\n"


def matrix(rows, columns, element):
    return f"tensor<{rows}x{columns}x{element}>"


def elementwise(rows, columns, element):
    full = matrix(rows, columns, element)
    (first, a), (second, b) = in_f32(element, "wa", "%v0"), in_f32(element, "wb", "%v1")
    body = (first + second + f"    %p = arith.mulf {a}, {b} : f32\n"
            f"    %s = arith.addf %p, {a} : f32\n" + narrowed(element, "%s"))
    text = empty("e", full) + generic("y", [("a", full, ALL), ("b", full, ALL)], "e", full, body)
    return program({"a": full, "b": full}, {"y": full}, text), bytes_of(full) * 3


def cast(rows, columns, element):
    """From f32 to bf16, or back."""
    given, full = matrix(rows, columns, element), matrix(rows, columns, "f32")
    if element == "f32":
        full = matrix(rows, columns, "bf16")
    op = "truncf" if element == "f32" else "extf"
    body = f"    %r = arith.{op} %v0 : {element} to {element_of(full)}\n"
    text = empty("e", full) + generic("y", [("x", given, ALL)], "e", full, body)
    return program({"x": given}, {"y": full}, text), bytes_of(given, full)


def rope(rows, columns, element):
    """Angles of a position for 8 heads, which are rows one after the other."""
    full, angles = matrix(rows, columns, element), matrix(rows // 8, columns, "f32")
    sizes = f"tensor<{rows // 8}x8x{columns}x{element}>"
    text, value = in_f32(element, "w", "%v0")
    body = (text + f"    %c = arith.mulf {value}, %v1 : f32\n"
            "    %s = arith.addf %c, %v2 : f32\n" + narrowed(element, "%s"))
    maps = ("affine_map<(i, h, j) -> (i, h, j)>", "affine_map<(i, h, j) -> (i, j)>")
    op = f"""  %e = tensor.empty() : {sizes}
  %y = linalg.generic {{indexing_maps = [{maps[0]}, {maps[1]}, {maps[1]}, {maps[0]}],
      iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%x, %cos, %sin : {sizes}, {angles}, {angles}) outs(%e : {sizes}) {{
  ^bb0(%v0: {element}, %v1: f32, %v2: f32, %o: {element}):
{body}    linalg.yield %r : {element}
  }} -> {sizes}
"""
    return (program({"x": sizes, "cos": angles, "sin": angles}, {"y": sizes}, op),
            bytes_of(full) * 2 + bytes_of(angles) * 2)


def transpose(rows, columns, element):
    given, full = matrix(columns, rows, element), matrix(rows, columns, element)
    body = f"    %r = arith.negf %v0 : {element}\n"
    text = empty("e", full) + generic("y", [("x", given, TURNED)], "e", full, body)
    return program({"x": given}, {"y": full}, text), bytes_of(full) * 2


def sums(name, value, init, body, wide, reduces):
    """What is summed up from `init`."""
    return (empty(f"{name}_e", wide) +
            f"  %{name}_z = linalg.fill ins(%{init} : f32) outs(%{name}_e : {wide}) -> {wide}\n" +
            generic(name, value, f"{name}_z", wide, body, reduces))


def plain_sum(rows, columns, element, reduces, wide):
    full = matrix(rows, columns, element)
    text, value = in_f32(element, "w", "%v0")
    body = text + f"    %r = arith.addf %o, {value} : f32\n"
    return (program({"x": full}, {"y": wide}, sums("y", [("x", full, ALL)], "zero", body, wide, reduces)),
            bytes_of(full, wide))


def row_sum(rows, columns, element):
    return plain_sum(rows, columns, element, (1, ROW), f"tensor<{rows}xf32>")


def column_sum(rows, columns, element):
    return plain_sum(rows, columns, element, (0, COLUMN), f"tensor<{columns}xf32>")


def norm(rows, columns, element):
    full, wide = matrix(rows, columns, element), f"tensor<{rows}xf32>"
    text, value = in_f32(element, "w", "%v0")
    squares = text + f"    %s = arith.mulf {value}, {value} : f32\n    %r = arith.addf %o, %s : f32\n"
    scaled = (text + f"    %n = arith.constant {1 / columns:.9e} : f32\n"
              "    %mean = arith.mulf %v1, %n : f32\n    %i = math.rsqrt %mean : f32\n"
              f"    %p = arith.mulf {value}, %i : f32\n" + narrowed(element, "%p"))
    body = (empty("e", full) + sums("sum", [("x", full, ALL)], "zero", squares, wide, (1, ROW)) +
            generic("y", [("x", full, ALL), ("sum", wide, ROW)], "e", full, scaled))
    return program({"x": full}, {"y": full}, body), bytes_of(full) * 2


def powers(full, wide, element):
    """The maxima and sums of exponentials of rows of x."""
    text, value = in_f32(element, "w", "%v0")
    most = text + f"    %r = arith.maximumf %o, {value} : f32\n"
    power = text + f"    %d = arith.subf {value}, %v1 : f32\n    %power = math.exp %d : f32\n"
    return power, (sums("max", [("x", full, ALL)], "low", most, wide, (1, ROW)) +
                   sums("sum", [("x", full, ALL), ("max", wide, ROW)], "zero",
                        power + "    %r = arith.addf %o, %power : f32\n", wide, (1, ROW)))


def softmax(rows, columns, element):
    full, wide = matrix(rows, columns, element), f"tensor<{rows}xf32>"
    power, body = powers(full, wide, element)
    body += empty("e", full) + generic(
        "y", [("x", full, ALL), ("max", wide, ROW), ("sum", wide, ROW)], "e", full,
        power + "    %q = arith.divf %power, %v2 : f32\n" + narrowed(element, "%q"))
    return program({"x": full}, {"y": full}, body), bytes_of(full) * 2


def cross_entropy(rows, columns, element):
    """Logarithms of sums, of few long rows."""
    rows, columns = rows // 32, columns * 32
    full, wide = matrix(rows, columns, element), f"tensor<{rows}xf32>"
    _, body = powers(full, wide, element)
    body += f"""  %y = linalg.map ins(%sum, %max : {wide}, {wide}) outs(%sum_e : {wide})
    (%s: f32, %m: f32, %o: f32) {{
      %l = math.log %s : f32
      %r = arith.addf %l, %m : f32
      linalg.yield %r : f32
    }}
"""
    return program({"x": full}, {"y": wide}, body), bytes_of(full, wide)


def lookup(rows, columns, element):
    """Rows of a table that has half as many, which are chosen by numbers from 0 to 63 (block_of),
    each of which is followed by the number of the row itself."""
    each = max(1, rows // 128)
    full, table, numbers = (matrix(rows, columns, element), matrix(64 * each, columns, element),
                            f"tensor<{rows}xi32>")
    body = (f"    %k = arith.constant {each} : index\n    %n = arith.index_cast %v0 : i32 to index\n"
            "    %first = arith.muli %n, %k : index\n    %i = linalg.index 0 : index\n"
            "    %rest = arith.remui %i, %k : index\n    %at = arith.addi %first, %rest : index\n"
            "    %j = linalg.index 1 : index\n"
            f"    %r = tensor.extract %table[%at, %j] : {table}\n")
    text = empty("e", full) + generic("y", [("numbers", numbers, ROW)], "e", full, body)
    return (program({"numbers": numbers, "table": table}, {"y": full}, text),
            bytes_of(full) * 2 + bytes_of(numbers))


def adamw(rows, columns, element):
    """In f32; gradients in `element`, and a copy of the weights if that is bf16."""
    full, narrow = matrix(rows, columns, "f32"), matrix(rows, columns, element)
    widened, g = in_f32(element, "wide", "%v1")
    new_m = widened + ("    %k = arith.constant 0.9 : f32\n    %l = arith.constant 0.1 : f32\n"
                       f"    %x = arith.mulf %v0, %k : f32\n    %y = arith.mulf {g}, %l : f32\n")
    new_v = widened + ("    %k = arith.constant 0.99 : f32\n    %l = arith.constant 0.01 : f32\n"
                       f"    %q = arith.mulf {g}, {g} : f32\n"
                       "    %x = arith.mulf %v0, %k : f32\n    %y = arith.mulf %q, %l : f32\n")
    step = ("    %rate = arith.constant 1.0e-3 : f32\n    %eps = arith.constant 1.0e-8 : f32\n"
            "    %keep = arith.constant 0.999 : f32\n    %d = math.sqrt %v2 : f32\n"
            "    %f = arith.addf %d, %eps : f32\n    %q = arith.divf %v1, %f : f32\n"
            "    %t = arith.mulf %q, %rate : f32\n    %u = arith.mulf %v0, %keep : f32\n"
            "    %r = arith.subf %u, %t : f32\n")
    add = "    %r = arith.addf %x, %y : f32\n"
    body = (empty("e", full) +
            generic("new_m", [("m", full, ALL), ("g", narrow, ALL)], "e", full, new_m + add) +
            generic("new_v", [("v", full, ALL), ("g", narrow, ALL)], "e", full, new_v + add) +
            generic("new_w", [("w", full, ALL), ("new_m", full, ALL), ("new_v", full, ALL)], "e", full,
                    step))
    results = {"w": full, "m": full, "v": full}
    total = bytes_of(full) * 6 + bytes_of(narrow)
    if element != "f32":
        body += empty("ne", narrow) + generic("copy", [("new_w", full, ALL)], "ne", narrow,
                                              f"    %r = arith.truncf %v0 : f32 to {element}\n")
        results["copy"] = narrow
        total += bytes_of(narrow)
    return program({"w": full, "m": full, "v": full, "g": narrow}, results, body), total


# Names, with what is added to the number of columns.
KERNELS = {"elementwise": (elementwise, 0), "cast": (cast, 0), "rope": (rope, 0), "lookup": (lookup, 0),
           "transpose": (transpose, 0), "adamw": (adamw, 0), "row sum": (row_sum, 0),
           "column sum": (column_sum, 0), "norm": (norm, 0), "softmax": (softmax, 0),
           "cross entropy": (cross_entropy, 0), "elementwise odd": (elementwise, -1),
           "norm odd": (norm, -1), "softmax odd": (softmax, -1), "column sum odd": (column_sum, -1)}


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
