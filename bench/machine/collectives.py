#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Holds machine descriptions to what others measured: collectives and products.

    bench/machine/collectives.py [--sim build/bin/weft-sim] [--table FILE]

measured.json has the figures with their sources. Each set of them becomes a
module, which weft-sim executes on the described machine; the times are in its
trace. Prints a table as Markdown: what was measured, what is predicted, and how
far apart they are. Figures that a description was fitted to are marked. Ends
with 1 if one is farther off than its set allows, or, with --table, if the table
in FILE is another.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
KINDS = {
    "all_reduce": ("weft.all_reduce sum", "", lambda n, g: (n, n)),
    "all_gather": ("weft.all_gather", " dims [0]", lambda n, g: (n // g, n)),
    "reduce_scatter": ("weft.reduce_scatter sum", " dims [0]", lambda n, g: (n, n // g)),
    "all_to_all": ("weft.all_to_all", " split [0] concat [0]", lambda n, g: (n, n)),
}
MAPS = ("#mk = affine_map<(m, n, k) -> (m, k)>\n#kn = affine_map<(m, n, k) -> (k, n)>\n"
        "#mn = affine_map<(m, n, k) -> (m, n)>\n")


def collective_module(kind, ranks, sizes):
    """A function that does one collective after the other, on all ranks."""
    op, places, shapes = KINDS[kind]
    arguments, body, results = [], [], []
    for i, size in enumerate(sizes):
        elements = size // 4 // ranks * ranks
        before, after = (f"tensor<{n}xf32>" for n in shapes(elements, ranks))
        arguments.append(f"%a{i}: {before}")
        body.append(f'  %{i} = {op} %a{i} on @mesh <{{"g"}}>{places} : ({before}) -> {after}')
        results.append((f"%{i}", after))
    return f'weft.mesh @mesh = <["g"={ranks}]>\n' + function_of(arguments, body, results)


def product_module(type, shapes):
    arguments, body, results = [], [], []
    for i, (m, n, k) in enumerate(shapes):
        lhs, rhs, out = f"tensor<{m}x{k}x{type}>", f"tensor<{k}x{n}x{type}>", f"tensor<{m}x{n}xf32>"
        arguments += [f"%a{i}: {lhs}", f"%b{i}: {rhs}"]
        body.append(f"  %{i} = weft.matmul %a{i}, %b{i} {{indexing_maps = [#mk, #kn, #mn]}} : "
                    f"{lhs}, {rhs} -> {out}")
        results.append((f"%{i}", out))
    return MAPS + function_of(arguments, body, results)


def function_of(arguments, body, results):
    types = ", ".join(type for _, type in results)
    lines = "\n".join(body)
    return (f"func.func @step({', '.join(arguments)}) -> ({types}) {{\n{lines}\n"
            f"  return {', '.join(name for name, _ in results)} : {types}\n}}\n")


def durations(module, machine, sim, wanted):
    """Seconds of the collectives or products of a module, in its order."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        run = subprocess.run(
            [sim, "-", "--machine", machine, "--schedule", "sync",
             "--memory-limit", "none", "--trace", trace],
            input=module, text=True, capture_output=True)
        if run.returncode != 0:
            sys.exit(f"weft-sim ended with {run.returncode}\n{run.stderr[:2000]}")
        events = json.loads(trace.read_text())["traceEvents"]
    found = [event for event in events
             if event["ph"] == "X" and event.get("cat") == wanted[0]
             and event["name"].startswith(wanted[1])]
    found.sort(key=lambda event: event["ts"])
    return [event["dur"] * 1e-6 for event in found]


def bus_bytes(kind, ranks, size):
    """What nccl-tests divides by the time, for the bandwidth of the bus."""
    share = size * (ranks - 1) / ranks
    return 2 * share if kind == "all_reduce" else share


def predict(figures, sim):
    """Rows of a set: what, measured, predicted, and whether it was fitted to."""
    rows, points = [], figures["points"]
    if "collective" in figures:
        kind = figures["collective"]
        by_ranks = {}
        for point in points:
            by_ranks.setdefault(point.get("ranks", figures.get("ranks")), []).append(point)
        for ranks, some in by_ranks.items():
            sizes = [point["bytes"] for point in some]
            times = durations(collective_module(kind, ranks, sizes), figures["machine"], sim,
                              ("collective", kind))
            for point, size, seconds in zip(some, sizes, times, strict=True):
                rows.append((f"{kind}, {ranks} GPUs, {text_of(size)}", point,
                             bus_bytes(kind, ranks, size) / seconds / 1e9))
    else:
        shapes = [point["mnk"] for point in points]
        times = durations(product_module(figures["type"], shapes), figures["machine"], sim,
                          ("compute", "matmul"))
        for point, (m, n, k), seconds in zip(points, shapes, times, strict=True):
            rows.append((f"{figures['type']} {m}x{n}x{k}", point, 2 * m * n * k / seconds / 1e12))
    return rows


def text_of(size):
    return f"{size >> 30} GiB" if size >= 1 << 30 else f"{size >> 20} MiB"


def table_of(sets, sim, problems):
    lines = ["| machine | what | measured | predicted | off | |",
             "| --- | --- | --: | --: | --: | --- |"]
    for figures in sets:
        for what, point, predicted in predict(figures, sim):
            off = predicted / point["measured"] - 1
            mark = "fitted" if point.get("fitted") else ""
            lines.append(f"| {figures['machine']} | {what} | {point['measured']:g} | "
                         f"{predicted:.1f} | {off:+.1%} | {mark} |".replace("%", " %"))
            if abs(off) > point.get("within", figures["within"]):
                problems.append(f"{figures['machine']}, {what}: predicted {predicted:.1f}, "
                                f"measured {point['measured']:g}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sim", default=HERE.parent.parent / "build" / "bin" / "weft-sim")
    parser.add_argument("--table", type=Path, help="a page that has to have this table")
    options = parser.parse_args()
    sets, problems = json.loads((HERE / "measured.json").read_text()), []
    table = "\n".join(table_of(sets, options.sim, problems))
    print(table)
    if options.table and table not in options.table.read_text():
        problems.append(f"{options.table} has another table")
    sys.exit("\n".join(problems) if problems else 0)


if __name__ == "__main__":
    main()
