# SPDX-License-Identifier: Apache-2.0
"""Programs whose results bench/gpu.py compares with the host's: bit for bit in
invariant mode, else within what their types allow. Each is compiled for both
targets with the same options; the host's run here, when the bundle is packed."""
import importlib.util
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "test" / "Integration" / "reference"), str(ROOT / "test" / "fuzz")]

# Of a program whose bits are compared.
STEPS = 2
# Seeds of random programs of each kind; small: to try the bundle.
SEEDS = {"random": 40, "data": 25, "scan": 15, "attention": 16, "quantized": 20}
SMALL = {"random": 2}
FORMATS = ("fp8", "fp8-block", "mxfp8", "nvfp4")


class Values:
    """Makes the cases in a folder; what the compiler refuses is left out and counted."""

    def __init__(self, folder, tools, compile_cuda):
        self.folder, self.tools, self.compile_cuda = folder, tools, compile_cuda
        self.refused: list[str] = []
        folder.mkdir()

    def run(self, *words):
        return subprocess.run([str(w) for w in words], capture_output=True, text=True)

    def case(self, name, source, inputs, *options):
        """A case of the step in `source`; None where either target refuses it."""
        host = self.folder / f"{name}.host.so"
        program = self.folder / f"{name}.so"
        for done in (lambda: self.run(self.tools / "weft-compile", source, *options, "-o", host),
                     lambda: self.compile_cuda(source, program, *options)):
            made = done()
            if made.returncode:
                self.refused.append(f"{name}: {(made.stderr.strip().splitlines() or ['no word'])[0]}")
                host.unlink(missing_ok=True)
                return None
        found = {"name": name, "program": f"values/{program.name}", "inputs": f"values/{inputs.name}"}
        words = [self.tools / "weft-run", host, "--inputs", inputs, "--quiet"]
        if "--invariant" in options:
            done = self.run(*words, "--steps", STEPS, "--digest")
            found["digest"] = done.stdout
        else:
            expected = self.folder / f"{name}.out"
            done = self.run(*words, "--outputs", expected)
            found["expected"] = f"values/{expected.name}"
        host.unlink()
        if done.returncode:
            raise ValueError(f"{name} fails on the host: {done.stderr}")
        return found


def examples(values):
    """Steps of the examples, on several meshes, with the formats of weights."""
    for example, file in (("qwen3", "step"), ("qwen3", "step_bf16"), ("qwen3_scan", "step")):
        source = ROOT / "examples" / example / f"{file}.mlir"
        inputs = values.folder / f"{example}.in"
        if not inputs.exists():
            inputs.write_bytes((source.parent / "inputs.safetensors").read_bytes())
        for mesh in ("dp=1,fsdp=1,tp=1", "dp=1,fsdp=2,tp=1", "dp=1,fsdp=2,tp=2", "dp=2,fsdp=2,tp=2"):
            name = f"{example}-{file}-{mesh.replace(',', '-').replace('=', '')}"
            yield name, source, inputs, ["--mesh", mesh, "--invariant"]
    for format_ in FORMATS:
        source, inputs = ROOT / "examples/qwen3/step_bf16.mlir", values.folder / "qwen3.in"
        for mesh in ("dp=1,fsdp=1,tp=1", "dp=1,fsdp=2,tp=1"):
            name = f"qwen3-{format_}-{mesh.replace(',', '-').replace('=', '')}"
            yield name, source, inputs, ["--mesh", mesh, "--quantize", format_, "--invariant"]


def casts(values):
    """Casts to and from 8 bits of numbers of all exponents."""
    import equivalence
    inputs = values.folder / "float8.in"
    equivalence.write_safetensors(inputs, device_inputs("float8").arguments())
    yield "float8", ROOT / "test/Integration/Device/Inputs/float8.mlir", inputs, []


def random_programs(values, kind, seeds):
    """Programs of test/fuzz/random_programs.py, on their own meshes."""
    import equivalence
    import interpreter
    import numpy as np
    import random_programs
    for seed in seeds:
        text = random_programs.KINDS[{"random": "any"}.get(kind, kind)](seed).text()
        source = values.folder / f"{kind}-{seed}.mlir"
        source.write_text(text)
        func = interpreter.Interpreter(equivalence.weft_opt(text)).func
        types, generator = func.attrs["function_type"][1], np.random.default_rng(seed)
        arrays = {attrs["weft.name"]: (equivalence.random_array(generator, type_), type_.element)
                  for attrs, type_ in zip(func.attrs.get("arg_attrs", []), types)}
        inputs = values.folder / f"{kind}-{seed}.in"
        equivalence.write_safetensors(inputs, arrays)
        for name, options in ((f"{kind}-{seed}", ["--invariant"]), (f"{kind}-{seed}-fast", [])):
            yield name, source, inputs, options


def exported(values, name, step, arrays, *options):
    """A step that weft.jax.export gave, with its first arguments."""
    source, inputs = values.folder / f"{name}.mlir", values.folder / f"{name}.in"
    step.save(source)
    step.save_inputs(inputs, *arrays)
    return name, source, inputs, options


def module_of(folder, name):
    """A module of the tests, where another has one of its name."""
    spec = importlib.util.spec_from_file_location(f"test_{name}", ROOT / folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fuzz(name):
    return module_of("test/fuzz", name)


def device_inputs(name):
    return module_of("test/Integration/Device/Inputs", name)


def attention_steps(values, count):
    Attention = fuzz("attention").Attention
    for seed in range(count):
        model = Attention(seed)
        tp, fsdp = model.meshes[0]
        mode = ["--invariant"] if seed % 2 else []
        yield exported(values, f"attention-{seed}", model.export(), model.args, "--mesh",
                       f"tp={tp},fsdp={fsdp}", *mode)


def quantized_steps(values, count):
    Model = fuzz("quantization").Model
    for seed in range(count):
        model = Model(seed)
        formats = [word for entry in model.formats for word in ("--quantize", entry)]
        yield exported(values, f"quantized-{seed}", model.export(), (model.params, model.x, model.target),
                       "--mesh", "mb=1,dp=1,fsdp=2,tp=1", *formats, "--invariant")


def pack(folder, tools, compile_cuda, small):
    """The cases, and why some programs have none."""
    os.environ["PATH"] = f"{tools}:{os.environ['PATH']}"
    values = Values(folder, tools, compile_cuda)
    seeds = SMALL if small else SEEDS
    wanted = [] if small else [*examples(values), *casts(values)]
    for kind, count in seeds.items():
        make = {"attention": attention_steps, "quantized": quantized_steps}.get(kind)
        wanted += make(values, count) if make else random_programs(values, kind, range(count))
    with ThreadPoolExecutor(2) as pool:
        cases = list(pool.map(lambda words: values.case(*words[:3], *words[3]), wanted))
    for source in folder.glob("*.mlir"):
        source.unlink()
    return [case for case in cases if case], values.refused
