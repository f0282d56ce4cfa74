# SPDX-License-Identifier: Apache-2.0

"""Whole training steps in invariant mode: the same bits on every mesh."""

import concurrent.futures
import functools
import hashlib
import itertools
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import weft
from compiled import BIN, relative_error, tool
from conftest import ROOT, days, nightly
from jax.sharding import PartitionSpec as P
from weft import safetensors

sys.path.append(str(ROOT / "bench"))
import invariant_steps  # noqa: E402

STEPS = 5
CASES = [("small", "f32"), ("small", "bf16"), ("small-moe", "f32"), ("small-moe", "bf16")]
MESHES = {
    ("small", "f32"): ["dp=8", "fsdp=4", "tp=2", "dp=2,fsdp=2,tp=2", "fsdp=2,tp=4", "dp=2,tp=8"],
    ("small", "bf16"): ["dp=4", "tp=8", "dp=2,fsdp=2,tp=2"],
    ("small-moe", "f32"): ["ep=8", "dp=2,ep=2,tp=2"],
    ("small-moe", "bf16"): ["ep=4", "fsdp=2,ep=2,tp=2"],
}  # fmt: skip


class Compiler:
    """Compiles and runs the steps, whose files lie in one folder."""

    def __init__(self, folder):
        self.folder, self.count, self.known = folder, itertools.count(), {}

    @functools.cache
    def export(self, name, dtype):
        return self.save(invariant_steps.Step(name, dtype), name, dtype)

    def save(self, step, name, dtype):
        module = step.export()
        paths = self.folder / f"{name}-{dtype}.mlir", self.folder / f"{name}.safetensors"
        module.save(paths[0])
        module.save_inputs(paths[1], *step.arguments)
        return paths, step.axes

    def run(self, paths, axes, mesh, *flags, isa=None, count=STEPS):
        """The results after some steps, and the losses of all."""
        step, inputs = paths
        tag = next(self.count)
        library, outputs = (self.folder / f"{tag}{end}" for end in (".so", ".safetensors"))
        sizes = {axis: "1" for axis in axes} | dict(part.split("=") for part in mesh.split(","))
        sizes = ",".join(f"{axis}={size}" for axis, size in sizes.items())
        tool("weft-compile", step, "--mesh", sizes, "-o", library, *flags)
        done = subprocess.run(
            [BIN / "weft-run", library, "--inputs", inputs, "--outputs", outputs, "--steps", str(count), "--print",
             "loss", "--poison", "--quiet"], text=True, capture_output=True,
            env={**os.environ, **({"WEFT_GEMM_ISA": isa} if isa else {})})  # fmt: skip
        assert done.returncode == 0, done.stderr
        library.unlink()
        return done.stdout, outputs

    def digest(self, name, dtype, mesh, *flags, isa=None):
        """What gives sha256 of all weights, of the optimizer's state and of the losses; each is run once."""
        key, saved = (name, dtype, mesh, *flags, isa), self.export(name, dtype)
        def digest():
            if key not in self.known:
                losses, outputs = self.run(*saved, mesh, *flags, isa=isa)
                self.known[key] = hashlib.sha256(losses.encode() + outputs.read_bytes()).hexdigest()
            return self.known[key]
        return digest

    def invariant(self, name, dtype, meshes, *flags):
        """mesh -> what gives the digest in invariant mode, for those meshes and for one rank."""
        return {mesh: self.digest(name, dtype, mesh, "--invariant", *flags) for mesh in ("dp=1", *meshes)}

    def tensors(self, saved, mesh, *flags):
        return safetensors.load(self.run(*saved, mesh, *flags, count=1)[1])


@pytest.fixture(scope="module")
def compiler(tmp_path_factory):
    return Compiler(tmp_path_factory.mktemp("invariance"))


def digests(runs):
    """name -> result of a function without arguments; two run at a time."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(zip(runs, pool.map(lambda run: run(), runs.values())))


def assert_equal(runs):
    made = digests(runs)
    assert len(set(made.values())) == 1, made


def test_tensor_parallelism_keeps_bits(compiler):
    assert_equal({mesh: compiler.digest("small", "bf16", mesh, "--invariant=tp") for mesh in ("tp=1", "tp=2", "tp=8")})


@pytest.mark.parametrize("name, dtype", days(CASES, [("small", "f32"), ("small-moe", "bf16")]))
def test_meshes_keep_bits(compiler, name, dtype):
    assert_equal(compiler.invariant(name, dtype, MESHES[name, dtype]))


def test_partial_sums_of_two_bytes_keep_bits(compiler):
    assert_equal(compiler.invariant("small", "bf16", ["dp=2,tp=8"], "--partials", "bf16"))


def test_schedules_keep_bits(compiler):
    runs = {"greedy": ["--schedule", "greedy", "--merge-channels"], "tight": ["--memory-limit", "16MiB"],
            "sync": ["--schedule", "sync"]}  # fmt: skip
    assert_equal(compiler.invariant("small", "f32", []) | {
        name: compiler.digest("small", "f32", "fsdp=2,tp=2", "--invariant", *flags) for name, flags in runs.items()})


@pytest.mark.nightly
def test_processors_keep_bits(compiler):
    """Those without instructions for bf16 spell out what those with them do."""
    runs = {("small", "AVX2"): ("x86-64-v3", "avx2"), ("small-moe", "AVX2"): ("x86-64-v3", "avx2")}
    if "avx512f" in Path("/proc/cpuinfo").read_text():
        runs["small", "AVX-512"] = "x86-64-v4", "avx512"
    made = digests({key: compiler.digest(key[0], "bf16", "fsdp=2,tp=2", "--invariant", "--cpu", cpu, isa=isa)
                    for key, (cpu, isa) in runs.items()})  # fmt: skip
    for (name, _), digest in made.items():
        assert digest == compiler.digest(name, "bf16", "dp=1", "--invariant")(), made


@pytest.mark.parametrize("name, dtype, meshes", [
    nightly("small", "f32", ["dp=2", "dp=4,tp=2", "dp=4,fsdp=2"]), ("small-moe", "bf16", ["dp=4"]), ("small", "f32", ["dp=4,tp=2"])])  # fmt: skip
def test_microbatches_keep_bits(compiler, name, dtype, meshes):
    assert_equal(compiler.invariant(name, dtype, []) | {
        f"{mesh}, in turn": compiler.digest(name, dtype, mesh, "--invariant", "--accumulate", "dp") for mesh in meshes})


@pytest.mark.parametrize("name, leaves, meshes", [
    ("small", 2, ["dp=2,tp=2"]), nightly("small", 16, ["dp=2,fsdp=2,tp=4"]),
    nightly("odd", 3, ["dp=3,tp=3"]), ("odd", 6, ["tp=6"]), nightly("odd", 6, ["fsdp=3,tp=3"])])  # fmt: skip
def test_any_number_of_leaves_keeps_bits(compiler, name, leaves, meshes):
    """In the odd step tp=6 is more than there are heads of keys."""
    assert_equal(compiler.invariant(name, "f32", meshes, "--leaves", str(leaves)))


def test_the_number_of_leaves_is_part_of_the_promise(compiler):
    eight, two = (compiler.digest("small", "f32", "dp=1", "--invariant", *flags) for flags in ([], ["--leaves", "2"]))
    assert eight() != two()


@pytest.mark.nightly
def test_an_output_head_of_its_own_keeps_bits(compiler):
    assert_equal(compiler.invariant("untied", "bf16", ["fsdp=2,tp=4"]))


def test_fast_mode_differs(compiler):
    made = digests({mesh: compiler.digest("small", "f32", mesh) for mesh in ("tp=1", "tp=4")})
    assert len(set(made.values())) == 2


@pytest.mark.parametrize("mesh, leaves, sizes", [({"dp": 3}, 8, "1, 2, 4 and 8"), ({"dp": 4}, 6, "1, 3 and 6")])
def test_axes_that_do_not_fit_the_leaves_are_errors(compiler, mesh, leaves, sizes):
    module = invariant_steps.Step("small", "f32").export()
    with pytest.raises(weft.CompileError, match=f'axis "dp" of size {mesh["dp"]} cannot be invariant with {leaves} '
                                                f"leaves: sizes that can are {sizes}"):  # fmt: skip
        weft.compile(module, mesh=mesh, invariant=True, leaves=leaves)


@pytest.mark.parametrize("name, dtype", [CASES[0], nightly(*CASES[3])])
def test_invariant_mode_is_as_exact_as_fast_mode(compiler, name, dtype):
    """Gradients, as the first moments hold them, against those of f64. The experts
    of a token are given: in bf16 it goes to others if two gates are nearly equal,
    whatever the order of sums."""
    is_routed = name == "small-moe"
    step, exact = invariant_steps.Step(name, dtype, routed=is_routed), invariant_steps.Exact(name, is_routed)
    step.choices = invariant_steps.Exact(name).choose() if is_routed else ()
    saved = compiler.save(step, f"{name}-exact", dtype)
    truth = exact.gradients(choices=step.choices)
    errors = {}
    for mode, flags in {"fast": [], "invariant": ["--invariant"]}.items():
        got = compiler.tensors(saved, "tp=4", *flags)
        errors[mode] = np.mean([relative_error(np.float64(got[leaf]), value) for leaf, value in truth.items()])
    assert errors["invariant"] <= errors["fast"], errors


def _rotate(x, step=0.3):
    a, b = jnp.split(x, 2, -1)
    angle = step * jnp.arange(x.shape[1])[:, None, None] + 0.1 * jnp.arange(a.shape[-1])
    return jnp.concatenate([a * jnp.cos(angle) - b * jnp.sin(angle), a * jnp.sin(angle) + b * jnp.cos(angle)], -1)


def _attention(heads, shared, repeat, rotate):
    """The gradients of causal attention, of which `heads` share `shared` key and value heads."""
    def loss(w, x):
        h = jnp.tanh(x @ w["in"])  # the gradients of q, k and v meet
        q, k, v = ((h @ w[n]).reshape(*x.shape[:2], -1, 4) for n in "qkv")
        q, k, v = rotate(q), repeat(rotate(k), heads // shared), repeat(v, heads // shared)
        scores = jnp.where(jnp.tril(jnp.ones((8, 8), bool)), jnp.einsum("bqhd,bkhd->bhqk", q, k), -1e9)
        out = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)
        return jnp.sum((out.reshape(*x.shape[:2], -1) @ w["o"]) ** 2)
    normal = np.random.default_rng(0).standard_normal
    sizes = {"in": (16, 16), "q": (16, 4 * heads), "k": (16, 4 * shared), "v": (16, 4 * shared), "o": (4 * heads, 16)}
    weights = {name: normal(size).astype("f") for name, size in sizes.items()}
    shardings = {name: P("tp", None) if name == "o" else P(None, "tp") for name in sizes}
    return jax.value_and_grad(loss), (weights, normal((2, 8, 16)).astype("f")), (shardings, P())


REPEATS = {"repeat": lambda x, n: jnp.repeat(x, n, 2), "tile": lambda x, n: jnp.tile(x, (1, 1, n, 1))}


@pytest.mark.parametrize("heads, shared, repeat, rotate, sizes", [
    (8, 4, "repeat", _rotate, [2, 4, 8]), (8, 2, "repeat", lambda x: x, [4, 8]), (8, 1, "repeat", _rotate, [2, 8]), (2, 1, "repeat", _rotate, [2]),
    (8, 4, "tile", _rotate, [4, 8]), (8, 2, "tile", lambda x: x, [4, 8])])  # fmt: skip
def test_shared_heads_keep_bits(heads, shared, repeat, rotate, sizes):
    step, args, shardings = _attention(heads, shared, REPEATS[repeat], rotate)
    module = weft.jax.export(step, *args, mesh={"tp": 8}, in_shardings=shardings)
    compiled = [weft.compile(module, mesh={"tp": size}, invariant=True)(*args) for size in [1, *sizes]]
    bits = [[np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(result)] for result in compiled]
    assert all(other == bits[0] for other in bits[1:])


def _certificate(exported, folder, size):
    step, args, shardings = exported
    module, library = folder / "step.mlir", folder / "step.so"
    weft.jax.export(step, *args, mesh={"tp": 8}, in_shardings=shardings).save(module)
    tool("weft-compile", module, "--mesh", f"tp={size}", "--invariant=tp", "-o", library)
    return [line for line in tool("weft-run", "--inspect", library).splitlines() if "certificate" in line]


def test_certificates_of_shared_heads_are_equal_on_all_meshes_and_not_of_other_programs(tmp_path):
    certificates = [_certificate(_attention(8, 2, REPEATS["repeat"], _rotate), tmp_path, size) for size in [1, 2, 4, 8]]
    assert certificates[0] and all(other == certificates[0] for other in certificates[1:])
    turned = _attention(8, 2, REPEATS["repeat"], functools.partial(_rotate, step=0.301))
    assert _certificate(turned, tmp_path, 4) != certificates[0]


@pytest.mark.parametrize("shapes, dim", [
    ([(1, 4, 4, 4)] * 2, 0), ([(1, 8, 16, 12)] * 2, 0), ([(2, 2, 2, 2)] * 8, 0), ([(3, 4, 4, 4), (5, 4, 4, 4)], 0),
    ([(4, 3, 4, 4), (4, 5, 4, 4)], 1), ([(4, 4, 2, 4)] * 3, 2), ([(2, 2, 4, 4, 1)] * 3, 4)])  # fmt: skip
def test_sums_over_all_of_a_concatenation(shapes, dim):
    def f(x):
        parts = [value * (i + 1.) for i, value in enumerate(x)]
        return jnp.sum(jnp.concatenate(parts, dim)), jnp.mean(jnp.concatenate(parts[::-1], dim) ** 2)
    x = [np.random.default_rng(0).standard_normal(shape).astype("f") for shape in shapes]
    spec = P(*[None] * 2, "d") if dim != 2 else P(None, "d")
    module = weft.jax.export(f, x, mesh={"d": 2}, in_shardings=([spec] * len(x),))
    one, two = (weft.compile(module, mesh={"d": size}, invariant=True)(x) for size in (1, 2))
    for first, second, value in zip(one, two, f(x), strict=True):
        assert np.asarray(first).tobytes() == np.asarray(second).tobytes()
        np.testing.assert_allclose(first, value, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("fn", [
    lambda v: jnp.flip((v[:, None] * v).sum(0)),
    lambda v: jnp.sort(v.reshape(8, 6), axis=None, descending=True),
    lambda v: (v @ jnp.ones((48, 6)))[::-1] * 2,
], ids=["sum", "sort", "product"])
def test_sums_that_are_turned_around_keep_bits(fn):
    v = np.random.default_rng(0).standard_normal(48, np.float32)
    results = []
    for size in (1, 2, 4, 8):
        module = weft.jax.export(fn, v, mesh={"a": size}, in_shardings=P("a"))
        results.append(np.asarray(weft.compile(module, invariant=True)(v)))
    assert len({r.tobytes() for r in results}) == 1
    np.testing.assert_allclose(results[0], jax.jit(fn)(v), rtol=1e-5, atol=1e-5)


# 60 is no multiple of 8 parts: the sum is cut, and no choice by values is one by places.
@pytest.mark.parametrize("block", [2, 10])
def test_sums_of_what_values_of_blocks_choose_keep_bits(block):
    def fn(x, y):
        a, b = (t.reshape(24, -1, block) for t in (x, y))
        return jnp.where(a > b.min(-1, keepdims=True), a, b * 2).reshape(24, 60).sum()

    x, y = np.random.default_rng(0).standard_normal((2, 24, 60), np.float32)
    results = []
    for size in (1, 4):
        module = weft.jax.export(fn, x, y, mesh={"a": size}, in_shardings=(P("a"), P("a")))
        results.append(np.asarray(weft.compile(module, invariant=True)(x, y)))
    assert results[0].tobytes() == results[1].tobytes()
    np.testing.assert_allclose(results[0], jax.jit(fn)(x, y), rtol=1e-5)
