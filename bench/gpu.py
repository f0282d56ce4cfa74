#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests and measures weft on a GPU, in two commands on two machines.

  bench/gpu.py pack BUNDLE.tar.gz [--arch sm_90] [--step STEP.mlir...] [--small]
      compiles all that is run, where weft is built; some MiB
  python3 gpu.py run [--json FILE] [--only PART...] [--minutes 25]
      in the unpacked bundle, on a machine with a GPU, CUDA's libraries and a
      Python without packages

Each part is a process of its own and has its own end: what fails or hangs is a
line in the JSON, and the rest goes on. docs/cuda-runtime.md says what the parts
are. --step adds big steps, as bench/steps.py exports them.
"""
import argparse
import array
import json
import os
import random
import re
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PARTS = ["device", "examples", "values", "conformance", "kernels", "contractions", "step", "peers"]
EXAMPLE_MESHES = {1: "dp=1,fsdp=1,tp=1", 2: "dp=1,fsdp=2,tp=1", 4: "dp=1,fsdp=2,tp=2",
                  8: "dp=2,fsdp=2,tp=2"}
# The most that results may be away from the host's, of each tensor's largest element.
TOLERANCE = 1e-3
FORMATS = {"F32": ("f", 4), "I32": ("i", 4), "F64": ("d", 8), "I64": ("q", 8)}


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    pack_ = commands.add_parser("pack")
    pack_.add_argument("bundle", type=Path)
    pack_.add_argument("--build", type=Path, default=ROOT / "build")
    pack_.add_argument("--arch", help="instead of weft-compile's own choice, which all take")
    pack_.add_argument("--compiler", help="instead of the build's weft-compile")
    pack_.add_argument("--step", type=Path, nargs="+", default=[],
                       help="modules of a big step for one rank; what is narrow-*.mlir has torch's logits")
    pack_.add_argument("--peers-config", default="Q06", help="of torch_step.py and jax_step.py")
    pack_.add_argument("--small", action="store_true", help="small shapes, to try the bundle")
    run_ = commands.add_parser("run")
    run_.add_argument("--json", type=Path, default=Path("gpu.json"))
    run_.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    run_.add_argument("--minutes", type=float, default=25, help="for all parts together")
    part_ = commands.add_parser("part")
    part_.add_argument("name", choices=PARTS)
    return parser.parse_args()


# ---- pack ------------------------------------------------------------------


class Packer:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.bin = options.build / "bin"
        self.compiler = options.compiler or str(self.bin / "weft-compile")
        self.cases = {"small": options.small, "examples": [], "kernels": [], "contractions": [],
                      "step": []}

    def target(self):
        return f"cuda:{self.options.arch}" if self.options.arch else "cuda"

    def compile(self, source, name, *words, target=True):
        out = self.folder / "programs" / f"{name}.so"
        compiler = self.compiler if target else str(self.bin / "weft-compile")
        goal = ["--target", self.target()] if target else []
        subprocess.run([compiler, str(source), *goal, *words, "-o", str(out)], check=True)
        return f"programs/{name}.so"

    def compile_text(self, text, name, *words):
        source = self.folder / f"{name}.mlir"
        source.write_text(text)
        program = self.compile(source, name, *words)
        source.unlink()
        return program

    def examples(self):
        source = ROOT / "examples" / "qwen3"
        shutil.copy(source / "inputs.safetensors", self.folder / "inputs.safetensors")
        host = self.compile(source / "step.mlir", "host", "--mesh", EXAMPLE_MESHES[1], target=False)
        subprocess.run([self.bin / "weft-run", self.folder / host, "--inputs",
                        self.folder / "inputs.safetensors", "--outputs",
                        self.folder / "expected.safetensors", "--quiet"], check=True)
        (self.folder / host).unlink()
        for ranks in [1, 2] if self.options.small else EXAMPLE_MESHES:
            program = self.compile(source / "step.mlir", f"qwen3-{ranks}", "--mesh",
                                   EXAMPLE_MESHES[ranks])
            self.cases["examples"].append({"name": f"qwen3, {ranks} ranks", "program": program,
                                           "ranks": ranks})

    def kernels(self):
        import gpu_cases
        import gpu_launches
        rows, columns = (64, 128) if self.options.small else (65536, 1024)
        cases = [(f"{name} {element}", *make(rows, columns + more, element))
                 for name, (make, more) in gpu_cases.KERNELS.items() for element in ("f32", "bf16")
                 if not (self.options.small and more)]
        # Its step is what all steps take beside their kernels.
        cases.append(("nothing", *gpu_cases.elementwise(1, 1, "f32")))
        for name, text, size in cases:
            file = name.replace(" ", "-")
            source = self.folder / f"{file}.mlir"
            source.write_text(text)
            plan = gpu_launches.list_launches(source, ["--target", self.target()],
                                              self.bin / "weft-compile", self.bin / "weft-opt")
            self.cases["kernels"].append({"name": name, "bytes": size, "plan": plan,
                                          "program": self.compile(source, file)})
            source.unlink()

    def contractions(self):
        import gpu_cases
        shapes = [(64, 64, 64)] if self.options.small else [(4096, 4096, 4096), (8192, 1024, 3072)]
        for m, n, k in shapes:
            for element in ["f32", "bf16"]:
                name = f"{m}x{n}x{k} {element}"
                text = gpu_cases.matmul(m, n, k, element)
                self.cases["contractions"].append({
                    "name": name, "m": m, "n": n, "k": k, "type": element,
                    "program": self.compile_text(text, f"matmul-{m}-{n}-{k}-{element}")})

    def step(self):
        example = "step.mlir" if self.options.small else "step_bf16.mlir"
        for source in self.options.step or [ROOT / "examples" / "qwen3" / example]:
            self.one_step(source)

    def one_step(self, source):
        # XLA takes TF32 unasked, so that JAX is to be compared with the first one. With
        # narrow logits there are no products of f32.
        ways = {"f32": []} if source.stem.startswith("narrow") else {"tf32": ["--tf32"], "f32": []}
        for name, words in ways.items():
            name, words = f"{source.stem}-{name}", ["--mesh", EXAMPLE_MESHES[1], *words]
            simulated = subprocess.run(
                [self.bin / "weft-sim", source, *words, "--target", self.target(), "--machine", "h200x8",
                 "--memory-limit", "none"], capture_output=True, text=True)
            predicted = re.search(r"^step time +([\d.]+) ms", simulated.stdout, re.M)
            self.cases["step"].append({
                "name": f"{source.name} {' '.join(words[2:])}".strip(),
                "config": self.options.peers_config if self.options.step else None,
                "program": self.compile(source, name, *words),
                "predicted_ms": float(predicted[1]) if predicted else None, "predicted_on": "h200x8"})

    def peers(self):
        """The step of --step, if its peers know it, under torch and JAX, where these are."""
        for script in (*(HERE / "peers").glob("*_step.py"), HERE / "peers/sizes.py",
                       HERE / "peers/narrow_logits.py", HERE / "peers/qwen3_inputs.py", ROOT / "examples/qwen3/model.py"):
            shutil.copy(script, self.folder / script.name)
        size = self.options.peers_config
        words = ["--config", size, "--dtype", "bf16", "--device", "cuda", "--steps", "10"]
        jax = ["jax_step.py", *words, "--model", "."]
        self.cases["peers"] = [] if self.options.small else [
            {"name": f"torch.compile {size}", "words": ["torch_step.py", *words, "--mode", "compile"]},
            {"name": f"torch eager {size}", "words": ["torch_step.py", *words, "--mode", "eager"]},
            {"name": f"jax with narrow logits {size}",
             "words": [*jax, "--narrow-logits", "--attention", "cudnn"]},
            {"name": f"jax {size}", "words": jax},
            {"name": f"jax with cuDNN's attention {size}", "words": [*jax, "--attention", "cudnn"]}]

    def compile_for_values(self, source, program, *words):
        return subprocess.run([self.compiler, str(source), "--target", self.target(), *words, "-o",
                               str(program)], capture_output=True, text=True)

    def programs_with_values(self):
        import gpu_values
        self.cases["steps"] = gpu_values.STEPS
        self.cases["values"], refused = gpu_values.pack(
            self.folder / "values", self.bin, self.compile_for_values, self.options.small)
        for line in refused:
            print(f"refused: {line}")

    def pack(self):
        (self.folder / "programs").mkdir(parents=True)
        (self.folder / "bin").mkdir()
        for tool in ("weft-run", "weft_rt_cts"):
            shutil.copy(self.bin / tool, self.folder / "bin" / tool)
            subprocess.run(["strip", self.folder / "bin" / tool], check=True)
        for script in ("gpu.py", "gpu_direct.py", "gpu_launches.py", "gpu_compare.py"):
            shutil.copy(HERE / script, self.folder / script)
        for part in (self.examples, self.programs_with_values, self.kernels, self.contractions,
                     self.step, self.peers):
            part()
        (self.folder / "cases.json").write_text(json.dumps(self.cases, indent=1) + "\n")


def pack(options):
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "weft-gpu"
        Packer(options, folder).pack()
        with tarfile.open(options.bundle, "w:gz") as file:
            file.add(folder, "weft-gpu")
    print(f"{options.bundle}: {options.bundle.stat().st_size / 2**20:.1f} MiB")


# ---- tensors ---------------------------------------------------------------


def read_tensors(path):
    """Names, types and bytes of a safetensors file."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        yield name, entry["dtype"], data[8 + length + begin:8 + length + end]


def largest_error(path, expected):
    """Over all tensors, of each one's largest element."""
    known = {name: (dtype, data) for name, dtype, data in read_tensors(expected)}
    worst = 0.0
    for name, dtype, data in read_tensors(path):
        if dtype not in FORMATS:
            raise ValueError(f"{name} is of {dtype}")
        ours, theirs = array.array(FORMATS[dtype][0], data), array.array(FORMATS[dtype][0],
                                                                         known[name][1])
        most = max(map(abs, theirs), default=0) or 1
        errors = [abs(a - b) / most for a, b in zip(ours, theirs)]
        worst = max([worst] + [e if e == e else float("inf") for e in errors])
    return worst


def block_of(dtype, count):
    """Some elements in a range that suits a step; to be repeated."""
    generator = random.Random(0)
    if dtype[0] in "iu":
        width = int(re.sub(r"\D", "", dtype)) // 8
        return b"".join(generator.randrange(64).to_bytes(width, "little") for _ in range(count))
    values = array.array("f", (generator.uniform(0.01, 0.1) for _ in range(count))).tobytes()
    if dtype == "f32":
        return values
    if dtype == "bf16":
        return b"".join(values[i + 2:i + 4] for i in range(0, len(values), 4))
    raise ValueError(f"no values of {dtype}")


def make_inputs(program, path):
    """A file of the program's arguments, as weft-run --inspect lists them."""
    text = weft_run(program, "--inspect").stdout
    listed = re.search(r"^arguments: \d+\n((?:  .*\n)*)", text, re.M)
    header, at, kinds = {}, 0, []
    for name, shape in re.findall(r"^  '(.*)': tensor<(.*?)>, local", listed[1], re.M):
        *sizes, dtype = shape.split("x")
        count = 1
        for size in sizes:
            count *= int(size)
        width = int(re.sub(r"\D", "", dtype.split("E")[0])) // 8
        header[name] = {"dtype": {"f32": "F32", "bf16": "BF16", "i32": "I32", "i64": "I64"}[dtype],
                        "shape": [int(size) for size in sizes],
                        "data_offsets": [at, at + count * width]}
        kinds.append((dtype, count * width))
        at += count * width
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for dtype, size in kinds:
            block = block_of(dtype, 1 << 16)
            for begin in range(0, size, len(block)):
                file.write(block[:size - begin])


# ---- run -------------------------------------------------------------------


def weft_run(program, *words, env=None):
    done = subprocess.run([str(HERE / "bin" / "weft-run"), str(HERE / program), *map(str, words)],
                          capture_output=True, text=True, env={**os.environ, **(env or {})})
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or f"weft-run ended with {done.returncode}")[:2000])
    return done


def timed(program, inputs, steps, *words):
    """The statistics of a run, with the median of its later steps."""
    with tempfile.TemporaryDirectory() as scratch:
        stats = Path(scratch) / "stats.json"
        weft_run(program, "--inputs", inputs, "--steps", steps, "--stats", stats, "--quiet", *words)
        result = json.loads(stats.read_text())
    return statistics.median(result["step_ms"][3:] or result["step_ms"]), result


def keep(part, rows):
    """What a part has so far, for the case that its time is over."""
    (HERE / f"{part}.rows.json").write_text(json.dumps(rows))


class Cases:
    def __init__(self):
        self.all = json.loads((HERE / "cases.json").read_text())
        self.small = self.all["small"]

    def each(self, part, measure, together=1):
        """One row a case; what fails says why. So many cases run at one time."""
        def row_of(case):
            row = {"name": case["name"]}
            try:
                row.update(measure(case))
                row["error"] = None
            # Whatever it is, the others go on.
            except Exception as error:  # noqa: BLE001
                row["error"] = f"{type(error).__name__}: {error}"
            return row

        rows = []
        if together == 1:  # in this thread, which has the driver's context
            for case in self.all[part]:
                rows.append(row_of(case))
                keep(part, rows)
            return rows
        with ThreadPoolExecutor(together) as pool:
            return list(pool.map(row_of, self.all[part]))


def part_device(_):
    import gpu_direct
    return [{"name": "gpu 0", "error": None, **gpu_direct.Gpu().describe()}]


def conformance(filters, env):
    done = subprocess.run([str(HERE / "bin" / "weft_rt_cts"), "--gtest_filter=" + filters],
                          capture_output=True, text=True,
                          env={**os.environ, "WEFT_CTS_BACKEND": "cuda", **env})
    passed = re.search(r"\[  PASSED  \] (\d+) test", done.stdout)
    failed = sorted(set(re.findall(r"^\[  FAILED  \] (\S+)", done.stdout, re.M)))
    row = {"passed": int(passed[1]) if passed else 0, "failed": failed, "error": None}
    if done.returncode and not failed:
        row["error"] = (done.stderr.strip() or f"it ended with {done.returncode}")[-2000:]
    return row


def part_conformance(cases):
    import gpu_direct
    gpus = gpu_direct.Gpu().describe()["gpus"]
    some = "*/Call*" if cases.small else "*/Async.*:*/Failure.*:*/Call*:*/Gemm.*:*/Trees.*:*_1:*_2:*_4:*_8"
    rows = [{"name": "ranks share a GPU",
             **conformance(some, {"CUDA_VISIBLE_DEVICES": "0"} if gpus > 1 else {})}]
    if gpus > 1:
        # Groups of up to 4 are also parts of jobs of twice as many ranks.
        sizes = ":".join(f"*_{n}" for n in (1, 2, 4, 8) if (2 * n if n <= 4 else n) <= gpus)
        rows.append({"name": "a GPU for each rank", **conformance(sizes, {})})
    return rows


def part_examples(cases):
    import gpu_direct
    gpus = gpu_direct.Gpu().describe()["gpus"]
    inputs, expected = HERE / "inputs.safetensors", HERE / "expected.safetensors"

    def measure(case):
        row = {"ranks": case["ranks"]}
        share = {"CUDA_VISIBLE_DEVICES": "0"} if gpus > 1 else {}
        for way, env in (("shared", share), ("own", {})):
            if way == "own" and (gpus < case["ranks"] or case["ranks"] == 1):
                continue
            with tempfile.TemporaryDirectory() as scratch:
                out = Path(scratch) / "out"
                weft_run(case["program"], "--inputs", inputs, "--outputs", out, "--quiet", env=env)
                row[f"{way}_error"] = largest_error(out, expected)
            digests = [weft_run(case["program"], "--inputs", inputs, "--steps", 4, "--digest",
                                "--quiet", *words, env=env).stdout
                       for words in ([], ["--no-graphs"])]
            row[f"{way}_same_bits_with_graphs"] = digests[0] == digests[1]
            if row[f"{way}_error"] > TOLERANCE:
                raise ValueError(f"results are {row[f'{way}_error']:.2e} away from the host's")
            if digests[0] != digests[1]:
                raise ValueError("graphs change results")
        return row

    return cases.each("examples", measure)


def part_values(cases):
    import gpu_compare
    share = {"CUDA_VISIBLE_DEVICES": "0"}

    def measure(case):
        with tempfile.TemporaryDirectory() as scratch:
            words = ["--inputs", HERE / case["inputs"], "--quiet"]
            if "digest" in case:
                got = weft_run(case["program"], *words, "--steps", cases.all["steps"], "--digest",
                               env=share).stdout
                gpu_compare.same_digests(got, case["digest"])
                return {"bits": True}
            out = Path(scratch) / "out"
            weft_run(case["program"], *words, "--outputs", out, env=share)
            return {"bits": False, "error_of_tolerance": gpu_compare.close(
                read_tensors(out), read_tensors(HERE / case["expected"]))}

    # Programs are small, and most of their time is a process's start.
    return cases.each("values", measure, together=8)


def part_kernels(cases):
    """Each kernel twice: with its step, and launched directly one after the other."""
    import gpu_direct
    import gpu_launches
    gpu = gpu_direct.Gpu()
    copy = gpu_direct.copy_bandwidth(gpu, 1 << (16 if cases.small else 28))

    def measure(case):
        with tempfile.TemporaryDirectory() as scratch:
            inputs = Path(scratch) / "in"
            make_inputs(case["program"], inputs)
            step, _ = timed(case["program"], inputs, 6 if cases.small else 40)
        if case["plan"] is None:
            return {"step_ms": step}
        seconds = gpu_launches.kernel_seconds(gpu, HERE / case["program"], case["plan"], block_of,
                                              3 if cases.small else 20)
        rate = case["bytes"] / seconds
        return {"step_ms": step, "ms": seconds * 1e3, "gb_per_s": rate / 1e9, "of_copy": rate / copy}

    return [{"name": "copy", "gb_per_s": copy / 1e9, "error": None}] + cases.each("kernels", measure)


def part_contractions(cases):
    import gpu_direct
    gpu = gpu_direct.Gpu()

    def measure(case):
        m, n, k = case["m"], case["n"], case["k"]
        kind = gpu_direct.F32 if case["type"] == "f32" else gpu_direct.BF16
        with tempfile.TemporaryDirectory() as scratch:
            inputs = Path(scratch) / "in"
            make_inputs(case["program"], inputs)
            milliseconds, _ = timed(case["program"], inputs, 6 if cases.small else 40)
        direct = gpu_direct.product_seconds(gpu, m, n, k, kind) * 1e3
        return {"ms": milliseconds, "direct_ms": direct, "tflops": 2e-9 * m * n * k / milliseconds,
                "direct_tflops": 2e-9 * m * n * k / direct, "of_direct": direct / milliseconds}

    return cases.each("contractions", measure)


def make_peers_inputs(case, inputs):
    """The first arguments of the peers' step, if what draws them is here; else any."""
    if case["config"]:
        done = subprocess.run([sys.executable, "qwen3_inputs.py", case["config"], inputs, "--model", "."],
                              cwd=HERE, capture_output=True)
        if done.returncode == 0:
            return True
    make_inputs(case["program"], inputs)
    return False


def read_losses(program, inputs, steps):
    """The loss of each step, as the peers say it."""
    said = weft_run(program, "--inputs", inputs, "--steps", steps, "--print", "loss").stdout
    return [float(value) for value in re.findall(r"loss = (\S+)", said)]


def part_step(cases):
    def measure(case):
        steps = 3 if cases.small else 20
        with tempfile.TemporaryDirectory() as scratch:
            inputs = Path(scratch) / "in"
            is_peers = make_peers_inputs(case, inputs)
            with_graphs, stats = timed(case["program"], inputs, steps)
            without, _ = timed(case["program"], inputs, steps, "--no-graphs")
            _, profiled = timed(case["program"], inputs, 4, "--profile")
            losses = read_losses(case["program"], inputs, steps) if is_peers else None
        predicted = case["predicted_ms"]
        return {"ms": with_graphs, "no_graphs_ms": without, "losses": losses, "graphs": stats.get("graphs"),
                "predicted_ms": predicted, "predicted_on": case["predicted_on"],
                "measured_of_predicted": with_graphs / predicted if predicted else None,
                "calls": [{key: row[key] for key in ("name", "calls", "wall_ms", "work")}
                          for row in profiled["profile"][:60]]}

    return cases.each("step", measure)


def part_peers(cases):
    def measure(case):
        done = subprocess.run([sys.executable, *case["words"]], capture_output=True, text=True, cwd=HERE)
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or ["it said nothing"])[-1][:500])
        said = json.loads(done.stdout.strip().splitlines()[-1])
        return {"ms": said["step_ms_median"], **said}

    return cases.each("peers", measure)


def run_part(name):
    sys.path.insert(0, str(HERE))
    print(json.dumps(globals()[f"part_{name}"](Cases())))


def run_apart(name, seconds):
    """What a part gives, as a process; where its time is over, it ends with all that it started."""
    with subprocess.Popen([sys.executable, str(HERE / "gpu.py"), "part", name], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          start_new_session=True) as part:
        try:
            out, said = part.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(part.pid, signal.SIGKILL)
            kept = HERE / f"{name}.rows.json"
            rows = json.loads(kept.read_text()) if kept.exists() else []
            return {"results": rows, "error": "the time was over"}
    if part.returncode:
        return {"results": [], "error": (said.strip().splitlines() or ["it said nothing"])[-1]}
    return {"results": json.loads(out), "error": None}


def run(options):
    """The file is written after each part: what is there is kept."""
    end = time.monotonic() + 60 * options.minutes
    parts: dict = {}
    result = {"format": 1, "cases": "small" if Cases().all["small"] else "full", "parts": parts}
    for name in options.only:
        begin = time.monotonic()
        row = run_apart(name, max(1.0, end - begin))
        row["seconds"] = int(10 * (time.monotonic() - begin)) / 10
        failed = [one["name"] for one in row["results"] if one["error"] or one.get("failed")]
        row["ok"] = row["error"] is None and not failed
        parts[name] = row
        options.json.write_text(json.dumps(result, indent=1) + "\n")
        print(f"{name}: {'ok' if row['ok'] else row['error'] or 'failed: ' + ', '.join(failed)}",
              flush=True)
    return all(part["ok"] for part in parts.values())


def main():
    options = arguments()
    if options.command == "pack":
        try:
            pack(options)
        except (subprocess.CalledProcessError, OSError) as error:
            sys.exit(f"gpu.py: error: the bundle is not packed: {error}")
    elif options.command == "part":
        run_part(options.name)
    else:
        sys.exit(0 if run(options) else 1)


if __name__ == "__main__":
    main()
