# SPDX-License-Identifier: Apache-2.0
"""Programs of several kinds whose dumps tokens.py edits: modules with their inputs,
and the meshes and options with which they are compiled."""
import dataclasses
import functools
import json
import os
import shutil
import struct
import sys
from pathlib import Path

from run import HERE, ROOT

sys.path.insert(0, str(ROOT / "test/fuzz"))
sys.path.insert(0, str(ROOT / "build/python"))
os.environ.setdefault("JAX_PLATFORMS", "cpu")

PLAIN = {"fast": ["a=2,b=1", "a=3,b=1", "a=2,b=2", "a=1,b=4"], "invariant": ["a=2,b=1", "a=2,b=2", "a=1,b=4"]}
MODEL = ["fsdp=2,tp=2", "fsdp=1,tp=2", "fsdp=4,tp=1"]


@dataclasses.dataclass
class Program:
    path: Path
    # By mode.
    meshes: dict[str, list[str]] = dataclasses.field(default_factory=lambda: PLAIN)
    # By the phase of what is compiled.
    options: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    # Those with which the canonical form is the user's program; None: there are none.
    plain_options: list[str] | None = dataclasses.field(default_factory=list)


def save(module, path, *arguments):
    module.save(path)
    module.save_inputs(path.with_suffix(".safetensors"), *arguments)
    return path


def write_tensors(path, tensors):
    """A safetensors file of numpy's arrays of f32 and i32."""
    header, data = {}, bytearray()
    for name, tensor in tensors.items():
        kind = {"float32": "F32", "int32": "I32"}[tensor.dtype.name]
        header[name] = {"dtype": kind, "shape": tensor.shape, "data_offsets": [len(data), len(data) + tensor.nbytes]}
        data += tensor.tobytes()
    raw = json.dumps(header).encode()
    raw += b" " * (-len(raw) % 8)
    path.write_bytes(struct.pack("<Q", len(raw)) + raw + data)


def make_integers(seed, folder):
    import integers
    program = integers.IntegerProgram(seed)
    return Program(save(integers.export(program), folder / f"integers{seed}.mlir", *program.arguments.values()))


def make_attention(seed, folder):
    """Keys and values of several query heads, rotated and masked, and the gradient."""
    import attention
    model = attention.Attention(seed + 1)  # that of 0 has no form that is raised
    path = save(model.export(), folder / f"attention{seed}.mlir", *model.args)
    return Program(path, {mode: MODEL for mode in PLAIN}, plain_options=["--attention", "keep"])


def make_quantized(seed, folder):
    """Linear layers with narrow operands, and their gradients."""
    import quantization
    model = quantization.Model(seed)
    path = save(model.export(), folder / f"quantized{seed}.mlir", model.params, model.x, model.target)
    meshes = [f"mb=1,dp=1,{mesh}" for mesh in MODEL]
    # Blocks of 128 divide few of its sizes, and an entry that takes nothing is an error.
    formats = dict.fromkeys(entry.replace("fp8-block", "mxfp8") for entry in model.formats)
    return Program(path, {mode: meshes for mode in PLAIN}, {"source": ["--quantize", ",".join(formats)]}, None)


def make_scan(seed, folder):
    """Loops that are not written out."""
    import numpy as np
    path = Path(shutil.copy(HERE / "Inputs/scan.mlir", folder / f"scan{seed}.mlir"))
    draw = np.random.default_rng(seed)
    shapes = {"state": (4, 6), "inputs": (300, 6), "weight": (4, 6)}
    tensors = {name: draw.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    write_tensors(path.with_suffix(".safetensors"), tensors | {"place": np.int32(draw.integers(2, 8))})
    return Program(path)


def make_small(kind, seed, folder):
    import small_step
    step = small_step.SmallStep(seed, kind)
    path = save(step.export(), folder / f"{kind}{seed}.mlir", *step.arguments())
    return Program(path, {mode: step.meshes for mode in PLAIN}, step.options, None if step.formats else ["--attention", "keep"])


MAKERS = {"integers": make_integers, "attention": make_attention, "quantized": make_quantized, "scan": make_scan,
          **{kind: functools.partial(make_small, kind) for kind in ("state", "ring", "narrow", "memory", "microbatches", "mixed")}}
