# SPDX-License-Identifier: Apache-2.0

"""Compares what --stats, the planned program, the report and the simulator say
of one step, and what a run says of its bytes.

    figures.py STEP.mlir RANKS INPUTS.safetensors FOLDER [options of weft-compile]
"""

import html
import json
import re
import subprocess
import sys
from pathlib import Path

BOUNDS = {"bound_link_ns": "the busiest link", "bound_path_ns": "the longest path",
          "bound_heads_and_tails_ns": "heads and tails",
          "bound_work_and_waits_ns": "work and waits", "bound_two_paths_ns": "two paths"}


def must(*command):
    run = subprocess.run([str(word) for word in command], text=True, capture_output=True)
    if run.returncode != 0:
        sys.exit(f"{command}: {run.stderr}")
    return run


def stats_of(step, folder, options):
    """Figures that --stats prints, of a library and its report."""
    text = must("weft-compile", step, "-o", folder / "step.so", "--stats", "--report",
                folder / "report.html", *options).stderr
    traffic, _, rest = text.partition("schedule '")
    number = lambda pattern, where: re.search(pattern, where, re.MULTILINE).group(1)
    return {"received": int(number(r"^  total +\d+ tensors +(\d+) B$", traffic)),
            "collectives": int(number(r"^  total +(\d+) tensors", traffic)),
            "step": number(r"^  step +([\d.]+) ms", rest),
            "bound": number(r"^  lower bound  ([\d.]+) ms", rest),
            "term": number(r"gap [\d.]+ %, by (.*)$", rest),
            "exposed": number(r"^  exposed +([\d.]+) ms", rest),
            "memory": int(number(r"^  memory +(\d+) B", rest)),
            "kept": int((re.search(r"(\d+) gathers kept", rest) or [0, 0])[1]),
            "total": int(number(r"^  total +(\d+) B$", rest))}


def figures_of(step, phase, options):
    """Figures of the attribute in the scheduled or the planned program."""
    text = must("weft-compile", step, "-o", "-", "--to", phase, *options).stdout
    figures = text[text.index("weft.schedule = {"):]
    return {key: int(re.search(rf"\b{key} = (\d+) : i64", figures).group(1))
            for key in ("step_ns", "bound_ns", "compute_ns", "peak_bytes", "kept_gathers", *BOUNDS)}


def milliseconds(ns):
    return f"{ns / 1e6:.3f}"


def needed_in(page):
    """Bytes that a rank needs, in the report's page."""
    text = html.unescape(re.sub(r"<[^>]+>", " ", page))
    return int(re.sub(r"\D", "", re.search(r"with arguments and results (.*?) ?B", text).group(1)))


def same(name, *values):
    if len(set(values)) != 1:
        sys.exit(f"{name} differs: {values}")


def main(step, ranks, inputs, folder, *options):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    stats, planned = stats_of(step, folder, options), figures_of(step, "planned", options)
    same("step time", stats["step"], milliseconds(planned["step_ns"]))
    same("bound", stats["bound"], milliseconds(planned["bound_ns"]))
    same("memory", stats["memory"], stats["total"], planned["peak_bytes"])
    if planned["bound_ns"] > planned["step_ns"]:
        sys.exit(f"the bound is above the step: {planned}")
    # Planning may add copies, and nothing else.
    scheduled = figures_of(step, "scheduled", options)
    copies = max(0, planned["compute_ns"] - scheduled["compute_ns"])
    if max(planned["bound_ns"], planned["step_ns"]) > scheduled["step_ns"] + copies:
        sys.exit(f"the plan, {planned}, is slower than its schedule, {scheduled}")
    same("kept gathers", stats["kept"], planned["kept_gathers"])
    terms = {"compute": planned["compute_ns"]} | {name: planned[key] for key, name in BOUNDS.items()}
    same("bound and largest term", planned["bound_ns"], max(terms.values()))
    same("binding term", terms[stats["term"]], planned["bound_ns"])
    page = (folder / "report.html").read_text(encoding="utf-8")
    same("memory in the report", needed_in(page), stats["total"])
    simulated = must("weft-sim", step, *options).stdout
    same("simulated step", stats["step"], re.search(r"step time +([\d.]+) ms", simulated).group(1))
    same("simulated bound", stats["bound"], re.search(r"bound +([\d.]+) ms", simulated).group(1))
    same("simulated wait", stats["exposed"],
         re.search(r"exposed +([\d.]+) ms", simulated).group(1))
    must("weft-run", folder / "step.so", "--ranks", ranks, "--inputs", inputs, "--stats",
         folder / "run.json")
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    same("memory of a run", run["total_bytes"], int(ranks) * stats["total"])
    same("bytes received", stats["received"], sum(one["bytes"] for one in run["traffic"]))
    same("tensors received", stats["collectives"], sum(one["count"] for one in run["traffic"]))
    print(json.dumps(stats))


if __name__ == "__main__":
    main(*sys.argv[1:])
