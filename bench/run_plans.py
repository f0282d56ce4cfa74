# SPDX-License-Identifier: Apache-2.0

"""What weft plans for published runs: exports their steps, of few layers, and extends figures.

A model repeats one layer, so that a step of 2 and one of 4 layers say what each more takes;
likewise two microbatches and four.
"""

import hashlib
import json
import re
import subprocess
from dataclasses import astuple, dataclass
from pathlib import Path

import llama

ROOT = Path(__file__).resolve().parent.parent
SYSTEMS = json.loads((ROOT / "bench" / "run_systems.json").read_text())
FEW_LAYERS = (2, 4)
# For bytes: the peak may be in a layer with others before and after it.
MEMORY_LAYERS = (3, 4)
# Of a run's settings, those of llama.Config that not each has.
MORE = ("qk_norm", "activation", "tied")
AXES = ("mb", "dp", "fsdp", "cp", "tp")


@dataclass(frozen=True)
class Parts:
    """Seconds of a simulated step: of all kernels but products and attention, of waits for
    magnitudes of other ranks, and of the link that is busy longest but for these."""

    kernels: float
    magnitudes: float
    link: float


def set_field(machine, path, value):
    """Sets what `path`, such as levels.0.nvls, names; None takes it away."""
    *way, last = path.split(".")
    for step in way:
        machine = machine[int(step) if isinstance(machine, list) else step]
    if value is None:
        del machine[last]
    else:
        machine[last] = value


def reach(rate):
    """What the largest products of a type reach."""
    return rate["per_s"] * rate["efficiency_by_flops"][-1][1]


def make_machine(name, attention=None, clock=None):
    """The description of a machine of run_systems.json, or of one that weft has."""
    changes = SYSTEMS["machines"].get(name, {"like": name})
    machine = json.loads((ROOT / "machines" / f"{changes['like']}.json").read_text())
    machine["name"] = name
    # They would be those of what it is like.
    machine.pop("sources")
    for path, value in changes.get("set", {}).items():
        set_field(machine, path, value)
    flops = machine["compute"]["flops"]
    for kind, ratio in changes.get("products", {}).get("of_bf16", {}).items():
        flops[kind]["per_s"] *= ratio * reach(flops["bf16"]) / reach(flops[kind])
    clock = clock or changes.get("clock", 1)
    for rate in flops.values():
        rate["per_s"] = int(rate["per_s"] * clock)
    machine["compute"]["elementwise_per_s"] = int(machine["compute"]["elementwise_per_s"] * clock)
    if attention:
        # What was measured on this GPU, if it was.
        kernel = SYSTEMS["attention"][changes.get("attention", {}).get(attention, attention)]
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
        return self._keep(self._compile, run, layers, microbatches, machine, flags)

    def measure(self, run, layers, microbatches, machine, options):
        """The Parts of a step, as a tuple."""
        flags = ["--no-proofs", *options]
        return self._keep(self._simulate, run, layers, microbatches, machine, flags)

    def _keep(self, make, run, layers, microbatches, machine, flags):
        if microbatches > 1:
            flags += ["--accumulate", "mb"]
        step, built = self._export(run, layers, microbatches), self.compiler.stat()
        key = make_key(make.__name__, step.name, machine, flags, built.st_size, int(built.st_mtime))
        if key not in self.figures:
            self.figures[key] = make(step, machine, flags, key)
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

    def _run(self, tool, step, machine, flags, key):
        described = self.folder / f"{key}.json"
        described.write_text(json.dumps(machine))
        command = [self.compiler.with_name(tool), step, "--machine", described, *flags]
        done = subprocess.run([str(word) for word in command], text=True, capture_output=True)
        described.unlink()
        if done.returncode:
            raise RuntimeError(next(iter(done.stderr.splitlines()), "no message")[:300])
        return done

    def _compile(self, step, machine, flags, key):
        printed = self._run("weft-compile", step, machine, ["-o", "-", *flags], key).stderr
        seconds = float(re.search(r"^  step +([\d.]+) ms", printed, re.M)[1]) / 1000
        needs = printed.split("bytes that each rank needs:")[1]
        read = lambda name: int(re.search(rf"^  {name} +(\d+) B$", needs, re.M)[1])
        # What is in use at the peak: how tightly a plan packs it is not of the model.
        return seconds, read("total") - read("arena") + read("all at the peak")

    def _simulate(self, step, machine, flags, key):
        trace = self.folder / f"{key}-trace.json"
        printed = self._run("weft-sim", step, machine, [*flags, "--trace", trace], key).stdout
        events = json.loads(trace.read_text())["traceEvents"]
        trace.unlink()
        return astuple(Parts(sum_kernels(events), *read_channels(printed)))

    def extend_layers(self, run, figures, whole=False, numbers=FEW_LAYERS):
        """Of all layers, from those of few unless `whole`; `figures` says them of a number."""
        layers = run["dims"][0]
        if whole:
            return figures(layers)
        few, more = numbers
        return tuple(extend(few, more, low, high, layers)
                     for low, high in zip(figures(few), figures(more)))


def sum_kernels(events):
    """Seconds of a trace's kernels."""
    return sum(event["dur"] for event in events if event.get("cat") == "compute"
               and event["name"].startswith("kernel")) / 1e6


def read_channels(printed):
    """Seconds of waits for magnitudes, and of the busiest axes, of what weft-sim prints."""
    waits, busy = 0.0, {}
    for name, axes, taken, exposed in re.findall(
            r"^(\w+)\.([\w.]+) .*?([\d.]+) ms +([\d.]+) ms$", printed, re.M):
        if name == "amax":
            waits += float(exposed) / 1000
        else:
            busy[axes] = busy.get(axes, 0) + float(taken) / 1000
    return waits, max(busy.values(), default=0)


def extend(x0, x1, y0, y1, x):
    """On the line through (x0, y0) and (x1, y1)."""
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
