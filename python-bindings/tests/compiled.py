# SPDX-License-Identifier: Apache-2.0

"""Runs exported steps the way users do: weft-compile, then weft-run on files."""

import subprocess

import numpy as np
from conftest import EFFORT, ROOT
from weft import safetensors

BIN = ROOT / "build/bin"


def tool(name, *arguments):
    """Runs a tool; what it prints. Fails with its diagnostics if it does."""
    effort = ["--effort", EFFORT] if name == "weft-compile" else []
    done = subprocess.run([str(BIN / name), *effort, *map(str, arguments)], text=True, capture_output=True)
    assert done.returncode == 0, f"{name} ended with {done.returncode}:\n{done.stderr[:3000]}"
    return done.stdout


def mesh_text(mesh):
    return ",".join(f"{axis}={size}" for axis, size in mesh.items())


def run_files(step, inputs, mesh, folder, steps=1):
    """Compiles a step for a mesh and runs it; its results by name.

    Memory that the program must not read holds NaN bits.
    """
    tag = "-".join(str(size) for size in mesh.values())
    library, outputs = folder / f"step-{tag}.so", folder / f"outputs-{tag}.safetensors"
    tool("weft-compile", step, "--mesh", mesh_text(mesh), "-o", library)
    tool("weft-run", library, "--ranks", int(np.prod(list(mesh.values()))), "--inputs", inputs,
         "--outputs", outputs, "--steps", steps, "--poison", "--quiet")
    return safetensors.load(outputs)


class Exported:
    """An exported step with its inputs in a folder, to be compiled for several meshes."""

    def __init__(self, module, args, folder):
        self.module, self.folder = module, folder
        self.step, self.inputs = folder / "step.mlir", folder / "inputs.safetensors"
        module.save(self.step)
        module.save_inputs(self.inputs, *args)

    def run(self, mesh, steps=1):
        """What the step returns on this mesh, as the pytree that the function returns."""
        tensors = run_files(self.step, self.inputs, mesh, self.folder, steps)
        # Files have a program's integers, which have no sign.
        return self.module.out_tree.unflatten([tensors[r.name].view(r.dtype) for r in self.module.results])


def relative_error(got, expected):
    """The norm of the difference as a share of the norm; integers differ or not."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape and got.dtype == expected.dtype
    if got.dtype.kind in "iub":
        return float(np.any(got != expected))
    wide, reference = got.astype(np.float64), expected.astype(np.float64)
    if np.array_equal(wide, reference, equal_nan=True):
        return 0.0
    return float(np.linalg.norm(wide - reference) / max(np.linalg.norm(reference), 1e-30))


def named_errors(module, got, expected):
    """The relative error of each result by its name, the largest first."""
    leaves = zip(module.results, module.out_tree.flatten(got), module.out_tree.flatten(expected))
    errors = {spec.name: relative_error(g, e) for spec, g, e in leaves}
    return dict(sorted(errors.items(), key=lambda item: -item[1] if item[1] == item[1] else -1e9))


def assert_agrees(module, got, expected, tolerance):
    errors = named_errors(module, got, expected)
    wrong = {name: error for name, error in errors.items() if not error <= tolerance}
    assert not wrong, f"{len(wrong)} of {len(errors)} results differ: {dict(list(wrong.items())[:6])}"


# Of the examples.
LEARNING_RATE = 1e-3


def turned_signs(module, expected):
    """The errors of weights of which one element in fifty, and one at least, moves the other way.

    Adam's first step is the sign of the gradient, which rounding may turn where it is nearly zero.
    """
    errors = {}
    for spec, array in zip(module.results, module.out_tree.flatten(expected)):
        turned = 2 * LEARNING_RATE * np.sqrt(max(1, array.size // 50))
        is_weight = spec.name.startswith("params.")
        errors[spec.name] = turned / float(np.linalg.norm(array.astype(np.float64))) if is_weight else 0.0
    return errors


def assert_as_close_as_jax(module, got, rounded, exact):
    """Each result within twice the difference of JAX's own bf16 and f32 runs.

    Where that is less than an f32 rounding, or belongs to one number, which may
    come out well by chance, a bar of its kind of value stands in for it.
    """
    bars, errors = named_errors(module, rounded, exact), named_errors(module, got, exact)
    turned = turned_signs(module, exact) if any(name.startswith("opt.m.") for name in bars) else {}
    floor = {spec.name: max(1e-6 if spec.shape else 1e-4, turned.get(spec.name, 0)) for spec in module.results}
    wrong = {name: (error, bars[name]) for name, error in errors.items()
             if not error <= 2 * max(bars[name], floor[name])}
    assert not wrong, f"{len(wrong)} of {len(errors)} results differ (error, JAX's): {wrong}"
