#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What invariant mode costs, what it moves, how exact it is, and how far others drift.

    bench/invariance.py cost [--case medium:f32:tp=4 ...] [--rounds 6] [--steps 5]
    bench/invariance.py bytes [--case narrow:f32:tp=4 ...]
    bench/invariance.py drift [--config medium] [--dtype f32 bf16] [--mesh tp=2 ...] [--steps 10]
    bench/invariance.py accuracy [--config small small-moe] [--dtype f32 bf16] [--mesh tp=4] [--seeds 8]
    bench/invariance.py equal [--config small small-moe] [--dtype f32 bf16] [--steps 100]

cost: the step's time and the bytes that a rank receives, on one mesh: fast;
invariant with partial sums in f32, and in bf16; invariant with everything
gathered; and JAX. Rounds are interleaved (JAX has one, in a process of its own).
A round's figure is the median of all steps but the first two, and what is shown
is the median over rounds, of times and of their ratios to fast mode's. Then the
share of weights that differ after the steps from those of one device: JAX, fast
and invariant. Ends with 1 if invariant mode misses a bar.
bytes: of these the bytes that a rank receives, which the compiler knows; nothing
runs.
drift: more about the weights after some steps on several meshes.
accuracy: errors of a step's gradients against f64, fast and invariant. Ends with
1 if invariant mode's are larger.
equal: sha256 of all weights, of the optimizer's state and of the losses after
some steps, over meshes, numbers of microbatches, schedules, CPUs and partial
sums. Ends with 1 if two that must be equal differ, or if fast mode's do not.

Needs a finished build and a python with JAX. docs/invariance.md has the figures.
"""
import argparse
import dataclasses
import functools
import hashlib
import itertools
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "python-bindings"))
from weft import safetensors  # noqa: E402

TIME_BAR = 1.05
# Steps of a round whose time does not count.
WARMUP = 2
# Elements that no leaf has.
NEVER = 1 << 40
CASES = ["medium:f32:tp=4", "medium:f32:tp=8", "medium:f32:fsdp=4", "medium:f32:dp=2,fsdp=2,tp=2",
         "medium:bf16:tp=4", "medium:bf16:fsdp=4", "medium:bf16:dp=2,fsdp=2,tp=2",
         "medium-moe:bf16:fsdp=2,ep=4", "medium-moe:f32:ep=2,tp=2"]  # fmt: skip
BYTE_CASES = ["narrow:f32:tp=4", "narrow:f32:fsdp=4", "narrow:f32:dp=2,fsdp=2,tp=2", "narrow:bf16:tp=4",
              "narrow:bf16:fsdp=4", "medium:bf16:tp=4", "medium:bf16:tp=8", "medium:bf16:fsdp=4",
              "medium:bf16:dp=2,fsdp=2,tp=2", "medium-moe:bf16:fsdp=2,ep=4"]  # fmt: skip
INVARIANT = "tree f32"
# name -> flags, and the most bytes per byte of fast mode
MODES = {
    "fast": ([], None),
    INVARIANT: (["--invariant"], 2.0),
    "tree bf16": (["--invariant", "--partials", "bf16"], 1.0),
    "gather": (None, None),
}
# A step in f32 has no partial sums to round.
NARROW = {"tree bf16": "bf16"}
# What drifts, and how tables call it.
SIDES = {"JAX": "JAX", "fast": "weft", INVARIANT: "weft, invariant"}
TENSOR = ["tp=1", "tp=2", "tp=4", "tp=8"]
MESHES = {
    "dense": ["dp=2", "dp=4", "dp=8", "fsdp=2", "fsdp=4", "fsdp=8", "dp=2,fsdp=2,tp=2", "dp=4,tp=2", "fsdp=2,tp=4",
              "dp=2,fsdp=4", "dp=2,tp=8", "dp=2,fsdp=2,tp=4"],
    "moe": ["ep=2", "ep=4", "ep=8", "dp=2", "fsdp=8", "dp=2,ep=2,tp=2", "fsdp=4,ep=2", "ep=4,tp=4", "dp=2,fsdp=2,ep=2",
            "fsdp=2,tp=4", "dp=8,tp=2", "dp=2,fsdp=2,ep=2,tp=2"],
}  # fmt: skip
# Whose ranks along dp are microbatches of one rank.
MICROBATCHES = ["dp=2", "dp=4", "dp=8", "dp=4,fsdp=2", "dp=4,tp=2"]
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
    cost.add_argument("--rounds", type=int, default=6)
    cost.add_argument("--steps", type=int, default=5, help="of a round; the first two do not count")
    parts.add_parser("bytes").add_argument("--case", nargs="+", default=BYTE_CASES, metavar="CONFIG:TYPE:MESH")
    drift, accuracy, equal = (parts.add_parser(name) for name in ("drift", "accuracy", "equal"))
    for part in (drift, accuracy, equal):
        part.add_argument("--config", nargs="+", default=["medium"] if part is drift else ["small", "small-moe"])
        part.add_argument("--dtype", nargs="+", default=["f32", "bf16"])
    drift.add_argument("--mesh", nargs="+", default=["tp=2", "tp=4", "tp=8", "dp=2,fsdp=2,tp=2"])
    drift.add_argument("--steps", type=int, default=10)
    accuracy.add_argument("--mesh", default="tp=4")
    accuracy.add_argument("--seeds", type=int, default=8)
    equal.add_argument("--steps", type=int, default=100)
    peer = parts.add_parser("jax")  # of `cost` and `drift`, in a process of its own
    peer.add_argument("config"), peer.add_argument("dtype"), peer.add_argument("mesh")
    peer.add_argument("steps", type=int), peer.add_argument("file")
    options = parser.parse_args()
    options.work = options.build / "bench"
    return options


class Failed(Exception):
    """A command failed; the text says which, and what it said."""


def must(command, environment=None, stream="stdout"):
    run = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                         env={**os.environ, **(environment or {})})
    if run.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))} ended with {run.returncode}\n{run.stderr[:3000]}")
    return getattr(run, stream)


# -- steps, compiled and run

def export(config, dtype, options):
    """The step, in a file; its inputs are written once."""
    import invariant_steps
    step, inputs = options.work / f"{config}-{dtype}.mlir", options.work / f"{config}.safetensors"
    made = invariant_steps.Step(config, dtype)
    module = made.export()
    module.save(step)
    if not inputs.exists():
        module.save_inputs(inputs, *made.arguments)
    return made


def prepare(config, dtype, axes, mesh, flags, tag, options):
    """The library to be, and how it is compiled; without flags with leaves so long that nothing is cut."""
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
    return library, [options.build / "bin/weft-compile", step, *flags]


def build(*step):
    library, command = prepare(*step)
    must([*command, "-o", library])
    return library


def count_bytes(*step):
    """What a rank receives in a step."""
    library, command = prepare(*step)
    said = must([*command, "--to", "planned", "-o", library.with_suffix(".planned.mlir"), "--stats"], stream="stderr")
    return int(re.search(r"^  total +\d+ tensors +(\d+) B$", said, re.M).group(1))


@dataclasses.dataclass
class Measured:
    """Of some steps: the last weights, with the loss, and each step's time; in weft also what a rank receives in
    a step, and what the run prints."""
    weights: dict
    ms: list
    bytes: int = 0
    text: str = ""


def run(library, config, steps, options, weights=False, isa=None):
    stats, outputs = library.with_suffix(".json"), library.with_suffix(".safetensors")
    text = must([options.build / "bin/weft-run", library, "--inputs", options.work / f"{config}.safetensors",
                 "--steps", steps, "--print", "loss", "--stats", stats, "--quiet",
                 *(["--outputs", outputs] if weights else [])], {"WEFT_GEMM_ISA": isa} if isa else None)
    figures = json.loads(stats.read_text())
    moved = sum(entry["bytes"] for entry in figures["traffic"])
    return Measured(safetensors.load(outputs) if weights else None, figures["step_ms"], moved, text)


def run_jax(config, dtype, mesh, options):
    """The same under JAX, one device per rank, in a process of its own."""
    file = options.work / "jax.npz"
    times = must([sys.executable, __file__, "jax", config, dtype, mesh, options.steps, file])
    return Measured(dict(np.load(file)), json.loads(times))


def jax_side(options):
    """What such a process does: it writes the weights and prints the times."""
    sizes = dict(part.split("=") for part in options.mesh.split(","))
    sizes = {axis: int(size) for axis, size in sizes.items()}
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={math.prod(sizes.values())}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import invariant_steps
    (params, _, loss), times = invariant_steps.Step(options.config, options.dtype).run_jax(options.steps, **sizes)
    np.savez(options.file, loss=loss, **invariant_steps.named(params, "params."))
    print(json.dumps(times))


# -- drift

def ordered(array):
    """Floats as integers in the same order, one apart for neighbours."""
    whole = array.view(np.int32).astype(np.int64)
    return np.where(whole < 0, -(whole & 0x7FFFFFFF), whole)


def distances(a, b):
    """How many numbers lie between those that differ."""
    apart = np.abs(ordered(a) - ordered(b)).reshape(-1)
    return apart[apart != 0]


def drift_between(left, right):
    names = [name for name in left if name.startswith("params.")]
    pairs = [(np.asarray(left[name]), np.asarray(right[name])) for name in names]
    differ = sum(int((a != b).sum()) for a, b in pairs)
    return {"differ": differ / sum(a.size for a, _ in pairs),
            "largest": max(float(np.abs(a - b).max()) for a, b in pairs),
            "ulps": float(np.median(np.concatenate([distances(a, b) for a, b in pairs]))) if differ else 0,
            "loss": abs(float(left["loss"]) - float(right["loss"]))}


def run_side(side, config, dtype, mesh, options):
    """What JAX, or a mode of weft, gives after the steps on a mesh."""
    if side == "JAX":
        return run_jax(config, dtype, mesh, options)
    axes = export(config, dtype, options).axes
    library = build(config, dtype, axes, mesh, MODES[side][0], "one", options)
    return run(library, config, options.steps, options, weights=True)


def one_device(options):
    """(side, config, dtype) -> weights after the steps on one device; each is run once."""
    return functools.cache(lambda *step: run_side(*step, "dp=1", options).weights)  # type: ignore[call-arg]


def drift(options):
    print("| step | by | mesh | weights that differ | by at most | median, ulps | loss by |\n|---|---|---|" + "--:|" * 4)
    rows, alone = [], one_device(options)
    for config, dtype, side in itertools.product(options.config, options.dtype, ("JAX", "fast", INVARIANT)):
        for mesh in options.mesh:
            row = drift_between(alone(side, config, dtype),
                                run_side(side, config, dtype, mesh, options).weights)
            rows.append({"config": config, "dtype": dtype, "side": side, "mesh": mesh, **row})
            print(f"| {config} {dtype} | {SIDES[side]} | {mesh} | {row['differ']:.1%} | {row['largest']:.2g} | "
                  f"{row['ulps']:.0f} | {row['loss']:.2g} |", flush=True)
    return rows, any(row["side"] == INVARIANT and row["differ"] for row in rows)


# -- cost

def measure_jax(case, options):
    try:
        return run_jax(*case, options)  # type: ignore[call-arg]
    except Failed as failure:
        print(f"bench: left out JAX: {failure}", file=sys.stderr)
        return None


def measure(case, options):
    """name -> what was measured, for the modes that compile."""
    config, dtype, mesh = case
    axes = export(config, dtype, options).axes
    libraries, results = {}, {}
    for mode, (flags, _) in MODES.items():
        if NARROW.get(mode, dtype) != dtype:
            continue
        try:
            libraries[mode] = build(config, dtype, axes, mesh, flags, mode.replace(" ", "-"), options)
        except Failed as failure:
            if mode == "fast":
                raise
            print(f"bench: left out {mode}: {failure}", file=sys.stderr)
    times = {mode: [] for mode in libraries}
    for _ in range(options.rounds):
        for mode, library in libraries.items():
            results[mode] = run(library, config, options.steps, options, weights=mode in ("fast", INVARIANT))
            times[mode].append(statistics.median(results[mode].ms[WARMUP:]))
    for mode in libraries:
        results[mode].ms = times[mode]
    if result := measure_jax(case, options):
        result.ms = [statistics.median(result.ms[WARMUP:])]
        results["JAX"] = result
    return results


def slower(result, fast):
    """How often fast mode's time: from round to round the machine may be faster or slower for all modes."""
    if len(result.ms) != len(fast.ms):
        return statistics.median(result.ms) / statistics.median(fast.ms)
    return statistics.median(one / other for one, other in zip(result.ms, fast.ms))


def cost_of(case, alone, options):
    config, dtype, _ = case
    results = measure(case, options)
    differ = {side: drift_between(alone(side, config, dtype), results[side].weights)["differ"]
              for side in SIDES if side in results}
    return {"case": ":".join(case), "ms": {name: statistics.median(result.ms) for name, result in results.items()},
            "slower": {name: slower(result, results["fast"]) for name, result in results.items()},
            "bytes": {mode: results[mode].bytes for mode in MODES if mode in results}, "differ": differ}


def misses_of(row):
    if row["differ"].get(INVARIANT):
        yield f"{row['case']}: invariant mode differs from one device"
    for mode, (_, bar) in MODES.items():
        if mode not in row["ms"] or bar is None:
            continue
        if row["slower"][mode] > TIME_BAR:
            yield f"{row['case']}: {mode} takes {row['slower'][mode]:.3f} of the fast step's time"
        moved, fast = row["bytes"][mode], row["bytes"]["fast"]
        if moved > bar * fast:
            yield f"{row['case']}: {mode} moves {moved / fast:.3f} of the fast step's bytes"


def cells(row):
    """The columns of a row: figure, and how often fast mode's."""
    more = {mode: moved / row["bytes"]["fast"] for mode, moved in row["bytes"].items() if row["bytes"]["fast"]}
    for key, names, shares, form in (("ms", [*MODES, "JAX"], row["slower"], "{:.1f}".format),
                                     ("bytes", MODES, more, lambda b: f"{b / 1e6:.2f}")):
        for name in names:
            value = row[key].get(name)
            share = f" ({shares[name]:.2f})" if name in shares and name != "fast" else ""
            yield "-" if value is None else form(value) + share
    yield from (f"{row['differ'][side]:.1%}" if side in row["differ"] else "-" for side in SIDES)


def cost(options):
    columns = [f"{name}, ms" for name in (*MODES, "JAX")] + [f"{mode}, MB" for mode in MODES]
    columns += [f"{name} differs" for name in SIDES.values()]
    print(f"| step | mesh | {' | '.join(columns)} |\n|---|---|" + "--:|" * len(columns), flush=True)
    rows, misses, alone = [], [], one_device(options)
    for case in options.case:
        row = cost_of(case.split(":"), alone, options)
        rows.append(row)
        misses += misses_of(row)
        config, dtype, mesh = case.split(":")
        print(f"| {config} {dtype} | {mesh} | {' | '.join(cells(row))} |", flush=True)
    for miss in misses:
        print(f"miss: {miss}")
    return rows, bool(misses)


def bytes_of(case, options):
    """The row of a table: what is moved, and how often fast mode's."""
    config, dtype, mesh = case.split(":")
    axes = export(config, dtype, options).axes
    row = {"case": case, "bytes": {}}
    for mode, (flags, _) in MODES.items():
        try:
            row["bytes"][mode] = count_bytes(config, dtype, axes, mesh, flags, mode.replace(" ", "-"), options)
        except Failed as failure:
            if mode == "fast":
                raise
            print(f"bench: left out {mode}: {failure}", file=sys.stderr)
    return row


def compare_bytes(options):
    print(f"| step | mesh | {' | '.join(f'{mode}, MB' for mode in MODES)} |\n|---|---|" + "--:|" * len(MODES), flush=True)
    rows = []
    for case in options.case:
        row = bytes_of(case, options)
        rows.append(row)
        fast = row["bytes"]["fast"]
        cells = [f"{row['bytes'][mode] / 1e6:.2f}" + (f" ({row['bytes'][mode] / fast:.2f})" if mode != "fast" else "")
                 if mode in row["bytes"] else "" for mode in MODES]
        config, dtype, mesh = case.split(":")
        print(f"| {config} {dtype} | {mesh} | {' | '.join(cells)} |", flush=True)
    return rows, False


# -- accuracy

def relative_error(got, expected):
    """The norm of the difference as a share of the norm."""
    return float(np.linalg.norm(np.float64(got) - expected) / np.linalg.norm(expected))


def errors_of(config, dtype, routed, options):
    """mode -> for each seed the mean error of the gradients of all weights. If routed, tokens go to the experts
    that f64 chooses."""
    import invariant_steps
    step, exact = invariant_steps.Step(config, dtype, routed=routed), invariant_steps.Exact(config, routed)
    choose = invariant_steps.Exact(config).choose if routed else lambda seed: ()
    step.choices = choose(0)
    module, name = step.export(), f"{config}-{'routed' if routed else 'drawn'}"
    module.save(options.work / f"{name}-{dtype}.mlir")
    modes = ["fast", INVARIANT] + [mode for mode, narrow in NARROW.items() if narrow == dtype]
    libraries = {mode: build(name, dtype, step.axes, options.mesh, MODES[mode][0], mode.replace(" ", "-"), options)
                 for mode in modes}
    errors = {mode: [] for mode in modes}
    for seed in range(options.seeds):
        step.draw(seed)
        step.choices = choose(seed)
        module.save_inputs(options.work / f"{name}.safetensors", *step.arguments)
        truth = exact.gradients(seed, step.choices)
        for mode, library in libraries.items():
            got = run(library, name, 1, options, weights=True).weights
            errors[mode].append(statistics.mean(relative_error(got[leaf], truth[leaf]) for leaf in truth))
    return errors


def accuracy(options):
    print("| step | fast | tree, partial sums in f32 | in bf16 |\n|---|--:|--:|--:|", flush=True)
    rows, wrong = [], False
    for config, dtype in itertools.product(options.config, options.dtype):
        for routed in (False, True) if "moe" in config else (False,):
            errors = errors_of(config, dtype, routed, options)
            rows.append({"config": config, "dtype": dtype, "routed": routed, "errors": errors})
            middle = {mode: statistics.median(of_mode) for mode, of_mode in errors.items()}
            share = lambda mode: f"{middle[mode]:.3g} ({middle[mode] / middle['fast']:.3f})" if mode in middle else "-"
            row = map(share, ("fast", INVARIANT, "tree bf16"))
            print(f"| {config} {dtype}{', experts as in f64' if routed else ''} | {' | '.join(row)} |", flush=True)
            wrong |= middle[INVARIANT] > middle["fast"]
    return rows, wrong


# -- equal

def digest(config, dtype, axes, mesh, flags, options, isa=None):
    library = build(config, dtype, axes, mesh, flags, "equal", options)
    text = run(library, config, options.steps, options, weights=True, isa=isa).text
    return hashlib.sha256(text.encode() + library.with_suffix(".safetensors").read_bytes()).hexdigest()


def groups(kind, dtype):
    """What must be equal: name -> list of (label, mesh, flags, instruction set)."""
    mesh = {"dense": "fsdp=2,tp=2", "moe": "ep=2,tp=2"}[kind]
    some = [*TENSOR, *MESHES[kind]]
    rounded = {"partials in bf16": [(m, m, ["--invariant", "--partials", "bf16"], None) for m in some[::2]]}
    return {
        "invariant=tp": [(m, m, ["--invariant=tp"], None) for m in TENSOR],
        "invariant=mesh": [(m, m, ["--invariant"], None) for m in some]
        + [(f"{m} in microbatches", m, ["--invariant", "--accumulate", "dp"], None) for m in MICROBATCHES]
        + [(f"{mesh}, {name}", mesh, ["--invariant", *flags], isa) for name, (flags, isa) in OTHERS.items()],
        **(rounded if dtype == "bf16" else {}),
        "fast": [(m, m, [], None) for m in some[::3]],
    }  # fmt: skip


def equal(options):
    rows, wrong = [], False
    for config, dtype in itertools.product(options.config, options.dtype):
        step = export(config, dtype, options)
        for name, runs in groups(step.kind, dtype).items():
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
        return jax_side(options)
    import jax
    jax.config.update("jax_platforms", "cpu")
    try:
        part = {"cost": cost, "bytes": compare_bytes, "drift": drift, "accuracy": accuracy, "equal": equal}[options.part]
        rows, wrong = part(options)
    except Failed as failure:
        sys.exit(f"bench: {failure}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
