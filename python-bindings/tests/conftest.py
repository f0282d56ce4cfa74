# SPDX-License-Identifier: Apache-2.0

"""Helpers of the frontend's tests."""

import collections
import functools
import importlib.util
import os
import pathlib
import shutil
import subprocess

import jax
import numpy as np
import pytest

jax.config.update("jax_platforms", "cpu")
# What JAX computes is compared, not how fast.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

import interpreter  # noqa: E402  (JAX has to be told its platform first)
import weft  # noqa: E402

# What steps compute is tested here: scripts/run-tests.py asks for quick orders, but by night. A test about orders says effort="full".
EFFORT = os.environ.get("WEFT_TEST_EFFORT", "full")
_compile = weft.compile


@functools.wraps(_compile)
def compile_with_effort(*args, effort=EFFORT, **options):
    return _compile(*args, effort=effort, **options)


weft.compile = compile_with_effort

ROOT = pathlib.Path(__file__).parents[2]
TOOLS = {"weft-opt": [ROOT / "build/bin/weft-opt"],
         "mlir-opt": ["/usr/lib/llvm-22/bin/mlir-opt"]}


def nightly(*values):
    """Values of a parametrized test that scripts/nightly runs, not every change."""
    return pytest.param(*values, marks=pytest.mark.nightly)


def days(values, of_the_day):
    """All values of a parametrized test, of which a change runs only some."""
    as_tuple = lambda value: value if isinstance(value, tuple) else (value,)
    return [value if value in of_the_day else nightly(*as_tuple(value)) for value in values]


def pytest_collection_modifyitems(items):
    """Of a test with variants a change runs every second to fourth, scripts/nightly all."""
    variants = collections.defaultdict(list)
    for item in items:
        if "[" in item.nodeid and not any(item.iter_markers("nightly")):
            variants[item.nodeid.split("[")[0]].append(item)
    for group in variants.values():
        step = next(step for least, step in ((16, 4), (6, 3), (2, 2), (0, 1)) if len(group) >= least)
        for number, item in enumerate(group):
            if number % step:
                item.add_marker(pytest.mark.nightly)


def find_tool(name):
    for candidate in [*TOOLS[name], shutil.which(name), shutil.which(f"{name}-22")]:
        if candidate and pathlib.Path(candidate).exists():
            return str(candidate)
    return None


def parses(text):
    """The text parses with every tool that is there; returns their names."""
    used = []
    for name, flags in (("weft-opt", []), ("mlir-opt", ["--allow-unregistered-dialect"])):
        tool = find_tool(name)
        if tool is None:
            continue
        done = subprocess.run([tool, *flags, "-o", "/dev/null", "-"], input=text, text=True,
                              capture_output=True)
        assert done.returncode == 0, f"{name}: {done.stderr[:2000]}"
        used.append(name)
    return used


def load(path):
    """A module of the examples, by its path below the root."""
    spec = importlib.util.spec_from_file_location(path.replace("/", "_"), ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assert_close(got, expected, tolerance=2e-5):
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape and got.dtype == expected.dtype
    if got.dtype.kind in "iub":
        np.testing.assert_array_equal(got, expected)
        return
    wide, reference = got.astype(np.float64), expected.astype(np.float64)
    scale = max(np.nanmax(np.abs(reference), initial=0), 1e-30)
    np.testing.assert_allclose(wide / scale, reference / scale, atol=tolerance, rtol=0)


def check(fn, *args, tolerance=2e-5, **options):
    """Exports, parses, runs by definition and compiled, and compares with JAX; returns the module."""
    module = weft.jax.export(fn, *args, **options)
    parses(module.text)
    expected = jax.jit(fn)(*args) if not options.get("mesh") else None
    if expected is not None:
        for run in (functools.partial(interpreter.run, module), weft.compile(module)):
            jax.tree.map(lambda g, e: assert_close(g, e, tolerance), run(*args), expected)
    return module


@pytest.fixture
def random():
    return np.random.default_rng(0)
