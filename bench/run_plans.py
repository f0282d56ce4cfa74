# SPDX-License-Identifier: Apache-2.0

"""What weft plans for published runs: exports their steps, of few layers, and extends figures.

A model repeats one layer, so that a step of 2 and one of 4 layers say what each more takes;
likewise two microbatches and four.
"""

import hashlib
import json
import re
import subprocess
from pathlib import Path

import llama

ROOT = Path(__file__).resolve().parent.parent
SYSTEMS = json.loads((ROOT / "bench" / "run_systems.json").read_text())
FEW_LAYERS = (2, 4)
# Of a run's settings, those of llama.Config that not each has.
MORE = ("qk_norm", "activation", "tied")
AXES = ("mb", "dp", "fsdp", "cp", "tp")


def set_field(machine, path, value):
    """Sets what `path`, such as levels.0.nvls, names; None takes it away."""
    *way, last = path.split(".")
    for step in way:
        machine = machine[int(step) if isinstance(machine, list) else step]
    if value is None:
        del machine[last]
    else:
        machine[last] = value


def make_machine(name, attention=None, clock=None):
    """The description of a machine of run_systems.json, or of one that weft has."""
    changes = SYSTEMS["machines"].get(name, {"like": name})
    machine = json.loads((ROOT / "machines" / f"{changes['like']}.json").read_text())
    machine["name"] = name
    # They would be those of what it is like.
    machine.pop("sources")
    for path, value in changes.get("set", {}).items():
        set_field(machine, path, value)
    clock = clock or changes.get("clock", 1)
    for rate in machine["compute"]["flops"].values():
        rate["per_s"] = int(rate["per_s"] * clock)
    machine["compute"]["elementwise_per_s"] = int(machine["compute"]["elementwise_per_s"] * clock)
    if attention:
        kernel = SYSTEMS["attention"][attention]
        by_head = {"efficiency_by_head_size": [[64, kernel["head_64"]], [128, 1]]}
        machine["compute"]["attention"] = {
            way: {**kernel[way], **by_head} for way in ("forward", "gradient")}
    return machine


def count_data_ranks(run):
    """Ranks, each with sequences of its own, or with a part of them (cp)."""
    mesh = run["mesh"]
    return mesh.get("dp", 1) * mesh.get("fsdp", 1)


def make_config(run, layers, microbatches):
    _, *dims = run["dims"]
    more = {name: run[name] for name in MORE if name in run}
    return llama.Config(layers, *dims, seq=run["sequence"], batch=run["batch"] * microbatches,
                        kept=run["kept"], **more)


def make_key(*parts):
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


class Planner:
    """Plans steps, and keeps figures in a file, by all that they depend on."""

    def __init__(self, folder, build):
        self.folder, self.compiler = folder, build / "bin" / "weft-compile"
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "figures.json"
        self.figures = json.loads(self.path.read_text()) if self.path.exists() else {}

    def plan(self, run, layers, microbatches, machine, options):
        """Seconds of a step, and bytes of a rank."""
        flags = ["--no-proofs", "--to", "planned", "--stats", *options]
        if microbatches > 1:
            flags += ["--accumulate", "mb"]
        step, built = self._export(run, layers, microbatches), self.compiler.stat()
        key = make_key(step.name, machine, flags, built.st_size, int(built.st_mtime))
        if key not in self.figures:
            self.figures[key] = self._compile(step, machine, flags, key)
            self.path.write_text(json.dumps(self.figures))
        return self.figures[key]

    def _export(self, run, layers, microbatches):
        """The step's file, which later calls find."""
        config = make_config(run, layers, microbatches)
        mesh = {**dict.fromkeys(AXES, 1), "mb": microbatches, **run["mesh"]}
        sources = Path(llama.__file__).read_text()
        step = self.folder / f"{make_key(str(config), mesh, sources)}.mlir"
        if not step.exists():
            llama.export(config, mesh).save(step)
        return step

    def _compile(self, step, machine, flags, key):
        described = self.folder / f"{key}.json"
        described.write_text(json.dumps(machine))
        command = [self.compiler, step, "-o", "-", "--machine", described, *flags]
        done = subprocess.run([str(word) for word in command], text=True, capture_output=True)
        described.unlink()
        if done.returncode:
            raise RuntimeError(next(iter(done.stderr.splitlines()), "no message")[:300])
        seconds = float(re.search(r"^  step +([\d.]+) ms", done.stderr, re.M)[1]) / 1000
        needs = done.stderr.split("bytes that each rank needs:")[1]
        return seconds, int(re.search(r"^  total +(\d+) B$", needs, re.M)[1])

    def extend_layers(self, run, microbatches, machine, options, whole=False):
        """Figures of all layers, from those of few unless `whole`."""
        layers = run["dims"][0]
        if whole:
            return self.plan(run, layers, microbatches, machine, options)
        few, more = FEW_LAYERS
        plans = [self.plan(run, count, microbatches, machine, options) for count in FEW_LAYERS]
        return tuple(extend(few, more, low, high, layers) for low, high in zip(*plans))


def extend(x0, x1, y0, y1, x):
    """On the line through (x0, y0) and (x1, y1)."""
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
