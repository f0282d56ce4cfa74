# SPDX-License-Identifier: Apache-2.0

"""Gradient accumulation in invariant mode: any number of microbatches, on any
mesh, gives the bits of the whole batch on one rank, and the same certificate."""

import concurrent.futures
import re

import numpy as np
import pytest
import weft
from compiled import Exported, mesh_text, tool
from conftest import ROOT
from families import FAMILIES, MESH

STEPS = 2
AXIS = "dp"  # whose coordinates are the microbatches
# Sizes of dp, fsdp and tp, beside all of them being one.
CASES = [
    ("moe", [], [(1, 2, 1), (2, 2, 1), (4, 1, 2)]),
    ("gpt2_erf", [], [(2, 2, 2)]),
    ("vit", [], [(8, 1, 2)]),
    ("qwen3", [], [(4, 2, 1)]),
    ("qwen3", ["--partials", "bf16"], [(2, 2, 2)]),
]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Path of a step and of its inputs, by name."""
    def export(name):
        if name == "qwen3":
            return ROOT / "examples/qwen3/step_bf16.mlir", ROOT / "examples/qwen3/inputs.safetensors"
        step, args, shardings, donate = FAMILIES[name]()
        module = weft.jax.export(step, *args, mesh=MESH, in_shardings=shardings, donate_argnums=donate)
        made = Exported(module, args, tmp_path_factory.mktemp(name))
        return made.step, made.inputs
    return export


def result_of(step, inputs, library, sizes, *flags):
    """The digest of all results after some steps, and the certificate."""
    mesh = dict(zip(MESH, sizes))
    tool("weft-compile", step, "--mesh", mesh_text(mesh), "--invariant", *flags, "-o", library)
    ranks = 1 if "--accumulate" not in flags else np.prod(sizes[1:])
    digest = tool("weft-run", library, "--ranks", ranks, "--inputs", inputs, "--steps", STEPS, "--digest")
    certificate = re.search("certificate ([0-9a-f]+)", tool("weft-run", library, "--inspect"))
    return digest.splitlines()[-1], certificate[1]


@pytest.mark.parametrize("name, flags, meshes", CASES)
def test_microbatches_keep_bits(exported, tmp_path, name, flags, meshes):
    files = exported(name)
    runs = {"whole": ((1, 1, 1), flags)} | {sizes: (sizes, [*flags, "--accumulate", AXIS]) for sizes in meshes}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        made = {tag: pool.submit(result_of, *files, tmp_path / f"{i}.so", sizes, *given)
                for i, (tag, (sizes, given)) in enumerate(runs.items())}  # fmt: skip
        results = {tag: run.result() for tag, run in made.items()}
    assert len(set(results.values())) == 1, results
