#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Published training runs beside what weft plans for them.

    bench/runs.py [--runs FILE] [--run r001 ...] [--best] [--whole] [--folder DIR] [--json FILE]

runs.json has the settings, tokens per second and memory of each run, and where they are
published; run_systems.json the machines, and how the frameworks order a step. Each run is
exported with its settings (llama.py) and planned as its framework does it; with --best also as
weft would. Half of the runs, by their number, calibrate the clocks of machines; the others are
reported apart. Ends with exit code 1 if one with complete settings misses its bar that
is not said to miss it.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

import jax

import run_costs
from run_plans import MEMORY_LAYERS, SYSTEMS, Parts, Planner, extend, make_machine

ROOT = Path(__file__).resolve().parent.parent
RUNS = json.loads((ROOT / "bench" / "runs.json").read_text())
BAR, MEDIAN_BAR = 0.10, 0.05


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, help="instead of bench/runs.json")
    parser.add_argument("--run", nargs="+", metavar="ID")
    parser.add_argument("--on", nargs="+", help="runs on these machines alone",
                        choices=SYSTEMS["machines"])
    parser.add_argument("--best", action="store_true", help="plan as weft would, too")
    parser.add_argument("--whole", action="store_true", help="plan all layers, not few")
    parser.add_argument("--clock", type=float, help="instead of the machine's own")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "runs")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def calibrates(run):
    """A fixed rule, half of the runs; published ones have odd numbers."""
    return int(run["id"][1:]) // 2 % 2 == 0


def plan_layers(planner, run, microbatches, machine, flags, whole):
    """Of all layers, of which some may have products in another type."""
    def planned(part, quantize):
        plan = lambda layers: planner.plan(
            part, layers, microbatches, machine, flags + quantizing(quantize))
        seconds, _ = planner.extend_layers(run, plan, whole)
        _, memory = planner.extend_layers(run, plan, whole, MEMORY_LAYERS)
        return seconds, memory
    figures = planned(narrow_layers(run), run["quantize"])
    if "quantized_layers" not in run:
        return figures
    part = run["quantized_layers"] / run["dims"][0]
    return tuple(part * some + (1 - part) * others
                 for some, others in zip(figures, planned(run, None)))


def narrow_layers(run):
    """`run` with what its quantized layers keep."""
    return {**run, "kept": run.get("kept_quantized", run["kept"])}


def quantizing(quantize):
    return ["--quantize", quantize] if quantize else []


def measure_layers(planner, run, microbatches, machine, flags, quantize):
    return Parts(*planner.extend_layers(run, lambda layers: planner.measure(
        narrow_layers(run), layers, microbatches, machine, flags + quantizing(quantize))))


def cast_as_framework(planner, run, microbatches, machine, flags, seconds):
    """`seconds` of a plan with the framework's scales and casts instead of weft's."""
    framework = SYSTEMS["frameworks"][run["framework"]]
    narrow = measure_layers(planner, run, microbatches, machine, flags, run["quantize"])
    part = run.get("quantized_layers", run["dims"][0]) / run["dims"][0]
    # Scales of activations are a rank's own: none waits for another but along tp.
    if run["mesh"].get("tp", 1) == 1:
        seconds -= part * narrow.magnitudes
    if run["quantize"] not in framework.get("casts", ()):
        return seconds
    wide = measure_layers(planner, run, microbatches, machine, flags, None)
    casts = microbatches * run_costs.cast_seconds(narrow_layers(run), machine)
    casts += run_costs.cast_weight_seconds(narrow_layers(run), machine)
    return max(seconds - part * (narrow.kernels - wide.kernels) + casts, narrow.link)


def schedule_as_framework(run, framework):
    """Data of frameworks has sequences in an order that balances their parts (cp); what weft's rings
    exchange for that is there, but hidden."""
    return "best" if run["mesh"].get("cp", 1) > 1 else framework["schedule"]


def plan_as_framework(planner, run, options):
    """Seconds of a step, and bytes of a rank."""
    framework = SYSTEMS["frameworks"][run["framework"]]
    machine = make_machine(run["machine"], run["attention"], options.clock)
    own, timed = (
        ["--schedule", schedule, "--memory-limit", "none", "--recompute", "marked"]
        for schedule in (framework["schedule"], schedule_as_framework(run, framework)))
    count = run["microbatches"]
    def planned(number):
        seconds, memory = plan_layers(planner, run, number, machine, own, options.whole)
        if timed != own:
            seconds, _ = plan_layers(planner, run, number, machine, timed, options.whole)
        if run["quantize"]:
            seconds = cast_as_framework(planner, run, number, machine, timed, seconds)
        return seconds, memory
    if count == 1:
        seconds, memory = planned(1)
    elif framework.get("accumulate") == "each":
        seconds, memory = planned(1)
        seconds = count * seconds - (count - 1) * run_costs.optimizer_seconds(run, machine)
    else:
        (two, memory), (four, _) = planned(2), planned(4)
        seconds = extend(2, 4, two, four, count)
        if framework.get("accumulate") == "in products":
            seconds -= (count - 1) * run_costs.sum_seconds(run, machine)
    seconds += count * run_costs.framework_seconds(run, framework, machine)
    return seconds, memory + run_costs.framework_bytes(run, framework)


def predict(planner, run, options):
    seconds, memory = plan_as_framework(planner, run, options)
    ranks = 1
    for size in run["mesh"].values():
        ranks *= size
    tokens = run["batch"] * run["microbatches"] * run["sequence"] / ranks
    published = tokens / run["tokens_per_s_per_gpu"]
    row = {"id": run["id"], "seconds": seconds, "published_seconds": published,
           "time_error": seconds / published - 1, "gib": memory / 2 ** 30}
    if "memory_gib" in run:
        if run["memory_kind"] == "reserved":
            framework = SYSTEMS["frameworks"][run["framework"]]
            row["gib"] = run_costs.reserve_bytes(run, framework, memory) / 2 ** 30
        row["memory_error"] = row["gib"] / run["memory_gib"] - 1
    if options.best:
        machine = make_machine(run["machine"], run["attention"], options.clock)
        row["best_seconds"] = plan_layers(
            planner, run, 1, machine, ["--memory-limit", "none"], options.whole)[0]
    return row


COLUMNS = ("run", "model", "machine", "mesh", "type", "planned, s", "published", "error", "best, s",
           "GiB", "published", "error", "")


def describe_memory(run, row):
    if "memory_error" not in row:
        return [f"{row['gib']:.1f}", "", ""]
    letter = run["memory_kind"][0]
    return [f"{row['gib']:.1f}", f"{run['memory_gib']:.1f} {letter}", f"{row['memory_error']:+.1%}"]


def print_row(run, row):
    mesh = ",".join(f"{axis}={size}" for axis, size in run["mesh"].items())
    notes = ["calibrates"] if calibrates(run) else []
    notes += ["incomplete"] if "missing" in run else ["expected"] if "misses" in run else []
    cells = [run["id"], run["model"], run["machine"], mesh, run["quantize"] or "bf16",
             f"{row['seconds']:.3f}", f"{row['published_seconds']:.3f}", f"{row['time_error']:+.1%}",
             f"{row['best_seconds']:.3f}" if "best_seconds" in row else "",
             *describe_memory(run, row), ", ".join(notes)]
    print("| " + " | ".join(cells) + " |", flush=True)


def print_errors(name, errors):
    if errors:
        print(f"{name}: median {statistics.median(errors):.1%}, largest {max(errors):.1%}, "
              f"{sum(error <= BAR for error in errors)} of {len(errors)} within {BAR:.0%}")


def find_misses(runs, rows):
    """Runs with complete settings that miss a bar and are not said to."""
    misses = []
    for run, row in zip(runs, rows):
        figures = [abs(row["time_error"]), abs(row.get("memory_error", 0))]
        if "missing" not in run and "misses" not in run and max(figures) > BAR:
            misses.append(run["id"])
    return misses


def main():
    options = arguments()
    planner = Planner(options.folder, options.build)
    runs, rows, failed = [], [], []
    print("| " + " | ".join(COLUMNS) + " |")
    print("| " + " | ".join("--:" if "," in name or name == "error" else "---"
                             for name in COLUMNS) + " |")
    for run in json.loads(options.runs.read_text()) if options.runs else RUNS:
        if (options.run and run["id"] not in options.run) or \
                (options.on and run["machine"] not in options.on):
            continue
        try:
            row = predict(planner, run, options)
        except RuntimeError as error:
            print(f"{run['id']} {run['model']}: {error}", flush=True)
            failed.append(run["id"])
            continue
        runs.append(run)
        rows.append(row)
        print_row(run, row)
    complete = [(run, row) for run, row in zip(runs, rows) if "missing" not in run]
    for name, half in (("time, runs that calibrate", True), ("time, other runs", False)):
        print_errors(name, [abs(row["time_error"]) for run, row in complete
                            if calibrates(run) == half])
    print_errors("memory", [abs(row["memory_error"]) for _, row in complete
                            if "memory_error" in row])
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    misses = find_misses(runs, rows)
    if misses:
        print(f"miss a bar: {' '.join(misses)}")
    return 1 if misses or failed else 0


if __name__ == "__main__":
    jax.config.update("jax_platforms", "cpu")
    sys.exit(main())
