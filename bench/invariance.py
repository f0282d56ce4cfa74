#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What invariant mode costs, what it moves, and how far others drift.

    bench/invariance.py cost [--case medium:f32:tp=4 ...] [--rounds 5] [--steps 5]
    bench/invariance.py drift [--config medium] [--dtype f32,bf16] [--steps 10]
    bench/invariance.py equal [--config small,small-moe] [--dtype f32,bf16] [--steps 100]

cost: the step's time and the bytes that a rank receives, on one mesh: fast;
invariant with partial sums in f32, and in bf16; and invariant with everything
gathered. Rounds are interleaved, a figure is the median of all steps but the
first two of each round. Ends with 1 if one misses its bar.
drift: how far the weights after some steps on tp = 2, 4 and 8 are from those on
one device: JAX, weft, and weft in invariant mode.
equal: sha256 of all weights, of the optimizer's state and of the losses after
some steps, over meshes, schedules, CPUs and partial sums. Ends with 1 if two
that must be equal differ, or if fast mode's do not.

Needs a finished build and a python with JAX. docs/invariance.md has the figures.
"""
import argparse
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "python-bindings"))
TIME_BAR = 1.05
# Elements that no leaf has.
NEVER = 1 << 40
CASES = ["medium:f32:tp=4", "medium:f32:tp=8", "medium:f32:fsdp=4", "medium:f32:dp=2,fsdp=2,tp=2",
         "medium:bf16:tp=4", "medium:bf16:fsdp=4", "medium:bf16:dp=2,fsdp=2,tp=2",
         "medium-moe:bf16:fsdp=2,ep=4", "medium-moe:f32:ep=2,tp=2"]  # fmt: skip
# name -> flags, and the most bytes per byte of fast mode
MODES = {
    "fast": ([], None),
    "tree f32": (["--invariant"], 2.0),
    "tree bf16": (["--invariant", "--partials", "bf16"], 1.0),
    "gather": (None, None),
}
TENSOR = ["tp=1", "tp=2", "tp=4", "tp=8"]
MESHES = {
    "dense": ["dp=2", "dp=4", "dp=8", "fsdp=2", "fsdp=4", "fsdp=8", "dp=2,fsdp=2,tp=2", "dp=4,tp=2", "fsdp=2,tp=4",
              "dp=2,fsdp=4", "dp=2,tp=8", "dp=2,fsdp=2,tp=4"],
    "moe": ["ep=2", "ep=4", "ep=8", "dp=2", "fsdp=8", "dp=2,ep=2,tp=2", "fsdp=4,ep=2", "ep=4,tp=4", "dp=2,fsdp=2,ep=2",
            "fsdp=2,tp=4", "dp=8,tp=2", "dp=2,fsdp=2,ep=2,tp=2"],
}  # fmt: skip
# On a mesh of four ranks: flags of the compiler, instruction set of contractions.
OTHERS = {
    "sync": (["--schedule", "sync"], None), "greedy": (["--schedule", "greedy"], None),
    "64 MiB": (["--memory-limit", "64MiB"], None), "one channel": (["--merge-channels"], None),
    "AVX2": (["--cpu", "x86-64-v3"], "avx2"), "AVX-512": ([], "avx512"),
}  # fmt: skip


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=pathlib.Path, help="where the figures go as well")
    parts = parser.add_subparsers(dest="part", required=True)
    cost = parts.add_parser("cost")
    cost.add_argument("--case", nargs="+", default=CASES, metavar="CONFIG:TYPE:MESH")
    cost.add_argument("--rounds", type=int, default=5)
    cost.add_argument("--steps", type=int, default=5, help="timed, after 2 others")
    for name, config, steps in (("drift", "medium", 10), ("equal", "small,small-moe", 100)):
        part = parts.add_parser(name)
        part.add_argument("--config", default=config)
        part.add_argument("--dtype", default="f32,bf16")
        part.add_argument("--steps", type=int, default=steps)
    device = parts.add_parser("jax")  # one side of `drift`, in a process of its own
    device.add_argument("config"), device.add_argument("dtype"), device.add_argument("tp", type=int)
    device.add_argument("steps", type=int), device.add_argument("file")
    options = parser.parse_args()
    options.work = options.build / "bench"
    return options


class Failed(Exception):
    """A command failed; the text says which, and what it said."""


def must(command, environment=None):
    run = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                         env={**os.environ, **(environment or {})})
    if run.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))} ended with {run.returncode}\n{run.stderr[:3000]}")
    return run.stdout


# -- steps, compiled and run

def export(config, dtype, options):
    """The axes of a step; its files are made once."""
    import invariant_steps
    step, inputs = options.work / f"{config}-{dtype}.mlir", options.work / f"{config}.safetensors"
    made = invariant_steps.Step(config, dtype)
    module = made.export()
    module.save(step)
    if not inputs.exists():
        module.save_inputs(inputs, *made.arguments)
    return made


def build(config, dtype, axes, mesh, flags, tag, options):
    """The compiled step; without flags with leaves so long that nothing is cut."""
    step, library = options.work / f"{config}-{dtype}.mlir", options.work / f"{config}-{dtype}-{tag}.so"
    sizes = {axis: "1" for axis in axes} | dict(part.split("=") for part in mesh.split(","))
    sizes = ",".join(f"{axis}={size}" for axis, size in sizes.items())
    if flags is None:
        local = library.with_suffix(".mlir")
        must([options.build / "bin/weft-opt", step, "-o", local,
              f"--weft-global-to-local=mesh={sizes} invariant=mesh min-leaf={NEVER}"])
        step, flags = local, []
    else:
        flags = ["--mesh", sizes, *flags]
    must([options.build / "bin/weft-compile", step, "-o", library, *flags])
    return library


def run(library, config, steps, options, outputs=None, isa=None):
    """What a run prints, and its statistics."""
    stats = library.with_suffix(".json")
    files = ["--outputs", outputs] if outputs else []
    text = must([options.build / "bin/weft-run", library, "--inputs", options.work / f"{config}.safetensors",
                 "--steps", steps, "--print", "loss", "--stats", stats, "--quiet", *files],
                {"WEFT_GEMM_ISA": isa} if isa else None)
    return text, json.loads(stats.read_text())


# -- cost

def cost_of(case, options):
    config, dtype, mesh = case.split(":")
    axes = export(config, dtype, options).axes
    libraries, times, moved = {}, {}, {}
    for mode, (flags, _) in MODES.items():
        try:
            libraries[mode] = build(config, dtype, axes, mesh, flags, mode.replace(" ", "-"), options)
        except Failed as failure:
            if mode == "fast":
                raise
            print(f"bench: left out {mode}: {failure}", file=sys.stderr)
    for _ in range(options.rounds):
        for mode, library in libraries.items():
            stats = run(library, config, options.steps + 2, options)[1]
            times.setdefault(mode, []).extend(stats["step_ms"][2:])
            moved[mode] = sum(entry["bytes"] for entry in stats["traffic"])
    return {"case": case, "ms": {m: statistics.median(t) for m, t in times.items()}, "bytes": moved}


def misses_of(row):
    for mode, (_, bar) in MODES.items():
        if mode not in row["ms"] or bar is None:
            continue
        slower = row["ms"][mode] / row["ms"]["fast"]
        if slower > TIME_BAR:
            yield f"{row['case']}: {mode} takes {slower:.3f} of the fast step's time"
        if row["bytes"][mode] > bar * row["bytes"]["fast"]:
            yield f"{row['case']}: {mode} moves {row['bytes'][mode] / row['bytes']['fast']:.3f} of the fast step's bytes"


def cost(options):
    print("| step | mesh | " + " | ".join(f"{mode}, ms" for mode in MODES) + " | "
          + " | ".join(f"{mode}, MB" for mode in MODES) + " |\n|---|---|" + "--:|" * 2 * len(MODES))
    rows, misses = [], []
    for case in options.case:
        row = cost_of(case, options)
        rows.append(row)
        misses += misses_of(row)
        fast = {key: row[key]["fast"] for key in ("ms", "bytes")}
        cell = lambda key, mode, form: "" if mode not in row[key] else (
            form(row[key][mode]) + ("" if mode == "fast" or not fast[key] else f" ({row[key][mode] / fast[key]:.2f})"))
        config, dtype, mesh = case.split(":")
        print(f"| {config} {dtype} | {mesh} | "
              + " | ".join(cell("ms", mode, "{:.1f}".format) for mode in MODES) + " | "
              + " | ".join(cell("bytes", mode, lambda b: f"{b / 1e6:.2f}") for mode in MODES) + " |", flush=True)
    for miss in misses:
        print(f"miss: {miss}")
    return rows, bool(misses)


# -- drift

def run_jax(options):
    """Runs a step under JAX and writes its weights."""
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={options.tp}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import invariant_steps
    import numpy as np
    params, _, loss = invariant_steps.Step(options.config, options.dtype).run_jax(options.steps, tp=options.tp)
    np.savez(options.file, loss=loss, **invariant_steps.named(params, "params."))


def ordered(array, np):
    """Floats as integers in the same order, one apart for neighbours."""
    whole = array.view(np.int32).astype(np.int64)
    return np.where(whole < 0, -(whole & 0x7FFFFFFF), whole)


def distances(a, b, np):
    """How many numbers lie between those that differ."""
    apart = np.abs(ordered(a, np) - ordered(b, np)).reshape(-1)
    return apart[apart != 0]


def drift_between(left, right):
    import numpy as np
    names = [name for name in left if name.startswith("params.")]
    pairs = [(np.asarray(left[name]), np.asarray(right[name])) for name in names]
    differ = sum(int((a != b).sum()) for a, b in pairs)
    return {"differ": differ / sum(a.size for a, _ in pairs),
            "largest": max(float(np.abs(a - b).max()) for a, b in pairs),
            "ulps": float(np.median(np.concatenate([distances(a, b, np) for a, b in pairs]))) if differ else 0,
            "loss": abs(float(left["loss"]) - float(right["loss"]))}


def weights_of(side, config, dtype, tp, options):
    """name -> array after the steps, on tp devices."""
    import numpy as np
    from weft import safetensors
    if side == "JAX":
        file = options.work / "jax.npz"
        must([sys.executable, __file__, "jax", config, dtype, tp, options.steps, file])
        return dict(np.load(file))
    axes = export(config, dtype, options).axes
    flags = ["--invariant=tp"] if side == "weft, invariant" else []
    library = build(config, dtype, axes, f"tp={tp}", flags, "drift", options)
    outputs = library.with_suffix(".safetensors")
    run(library, config, options.steps, options, outputs)
    return safetensors.load(outputs)


def drift(options):
    print("| step | by | tp | weights that differ | by at most | median, ulps | loss by |\n|---|---|--:|--:|--:|--:|--:|")
    rows = []
    for config in options.config.split(","):
        for dtype in options.dtype.split(","):
            for side in ("JAX", "weft", "weft, invariant"):
                one = weights_of(side, config, dtype, 1, options)
                for tp in (2, 4, 8):
                    row = drift_between(one, weights_of(side, config, dtype, tp, options))
                    rows.append({"config": config, "dtype": dtype, "side": side, "tp": tp, **row})
                    print(f"| {config} {dtype} | {side} | {tp} | {row['differ']:.1%} | {row['largest']:.2g} | "
                          f"{row['ulps']:.0f} | {row['loss']:.2g} |", flush=True)
    return rows, any(row["side"] == "weft, invariant" and row["differ"] for row in rows)


# -- equal

def digest(config, dtype, axes, mesh, flags, options, isa=None):
    library = build(config, dtype, axes, mesh, flags, "equal", options)
    outputs = library.with_suffix(".safetensors")
    text, _ = run(library, config, options.steps, options, outputs, isa)
    return hashlib.sha256(text.encode() + outputs.read_bytes()).hexdigest()


def groups(kind):
    """What must be equal: name -> list of (label, mesh, flags, instruction set)."""
    mesh = {"dense": "fsdp=2,tp=2", "moe": "ep=2,tp=2"}[kind]
    some = [*TENSOR, *MESHES[kind]]
    return {
        "invariant=tp": [(m, m, ["--invariant=tp"], None) for m in TENSOR],
        "invariant=mesh": [(m, m, ["--invariant"], None) for m in some]
        + [(f"{mesh}, {name}", mesh, ["--invariant", *flags], isa) for name, (flags, isa) in OTHERS.items()],
        "partials in bf16": [(m, m, ["--invariant", "--partials", "bf16"], None) for m in some[::2]],
        "fast": [(m, m, [], None) for m in some[::3]],
    }  # fmt: skip


def equal(options):
    rows, wrong = [], False
    for config in options.config.split(","):
        for dtype in options.dtype.split(","):
            step = export(config, dtype, options)
            for name, runs in groups(step.kind).items():
                digests = {label: digest(config, dtype, step.axes, mesh, flags, options, isa)
                           for label, mesh, flags, isa in runs}
                count = len(set(digests.values()))
                is_right = count > 1 if name == "fast" else count == 1
                wrong |= not is_right
                rows.append({"config": config, "dtype": dtype, "group": name, "digests": digests})
                print(f"{config} {dtype}, {options.steps} steps, {name}: {count} of {len(digests)} differ"
                      if count > 1 else f"{config} {dtype}, {options.steps} steps, {name}: {len(digests)} equal, "
                      f"{next(iter(digests.values()))[:16]}", "" if is_right else " WRONG", flush=True)
    return rows, wrong


def main():
    options = arguments()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.part == "jax":
        return run_jax(options)
    import jax
    jax.config.update("jax_platforms", "cpu")
    try:
        rows, wrong = {"cost": cost, "drift": drift, "equal": equal}[options.part](options)
    except Failed as failure:
        sys.exit(f"bench: {failure}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
