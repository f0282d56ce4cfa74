# SPDX-License-Identifier: Apache-2.0

"""Training steps of many families, compiled for several meshes, run, and compared with JAX."""

import functools

import families
import families_mixed
import families_science
import families_state
import families_text
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import test_lookup
import test_ops
import test_sorting
import weft
from compiled import Exported, assert_agrees, assert_as_close_as_jax
from conftest import nightly
from families import MESH
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P
from optimizers import sgd
from test_ops import ints, normal

FAMILIES = {
    **families.FAMILIES, "t5": families_text.t5, "llama": families_text.llama, "bert": families_text.bert,
    "lstm": families_state.lstm, "gru": families_state.gru, "mamba": families_state.mamba,
    "linear_attention": families_state.linear_attention, "dlrm": families_mixed.dlrm,
    "diffusion": families_mixed.diffusion, "clip": families_mixed.clip, "graph": families_mixed.graph,
    "codebook": families_mixed.codebook, "experts": families_mixed.experts, **families_science.FAMILIES,
}
MESHES = {"eight": (2, 2, 2), "one": (1, 1, 1), "threes": (1, 3, 2), "nine": (3, 1, 3), "five": (1, 1, 5)}
TOLERANCE = 1e-5


def cases():
    """Each family on eight ranks and on two of the other meshes in turn. One of the three is the day's: of every second
    family that of eight ranks, and of those of other fields none."""
    others = list(MESHES)[1:]
    for i, name in enumerate(FAMILIES):
        pair = [others[(i + k) % len(others)] for k in (0, 1)]
        day = pair[i // 4 % 2] if i % 2 else "eight"
        is_daily = name not in families_science.FAMILIES
        for mesh in ["eight", *pair]:
            yield (name, mesh) if mesh == day and is_daily else nightly(name, mesh)


def sizes(mesh):
    return dict(zip(MESH, MESHES[mesh]))


def jax_results(step, args, steps=1):
    """What JAX returns on one device, where the axes that steps name have size one."""
    with jax.set_mesh(Mesh(np.array(jax.devices()[:1]).reshape(1, 1, 1), tuple(MESH))):
        jitted, results = jax.jit(step), None
        for step in range(steps):
            args = (results[0], *args[1:]) if step else args
            results = jitted(*args)
        return jax.tree.map(np.asarray, results)


def export(step, args, shardings, donate, folder):
    module = weft.jax.export(step, *args, mesh=MESH, in_shardings=shardings, donate_argnums=donate)
    return Exported(module, args, folder)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A function that gives a family's exported step, a function of a number of steps that
    gives what JAX returns after them, and what it returns after one."""
    @functools.cache
    def prepare(name):
        step, args, shardings, donate = FAMILIES[name]()
        exported = export(step, args, shardings, donate, tmp_path_factory.mktemp(name))
        return exported, functools.partial(jax_results, step, args), jax_results(step, args)
    return prepare


@pytest.mark.parametrize("name,mesh", list(cases()))
def test_family(name, mesh, prepared):
    exported, _, expected = prepared(name)
    assert_agrees(exported.module, exported.run(sizes(mesh)), expected, TOLERANCE)


OPERATIONS = {
    # XLA leaves out roundings to bf16 between elementwise operations.
    "elementwise": ({k: v for k, v in test_ops.ELEMENTWISE.items() if k != "to_bf16"}, (normal(5, 8),), P("fsdp", "tp")),
    "integer": (test_ops.INTEGER, (ints(5, 6, high=10), ints(5, 6, high=10, seed=1)), P(None, ("dp", "tp"))),
    "reduce": (test_ops.REDUCE, (normal(3, 5, 4),), P("dp", "fsdp", "tp")),
    "shape": (test_ops.SHAPE, (normal(3, 5, 4),), P("dp", "fsdp", "tp")),
    "windows": (test_ops.WINDOWS, (normal(7, 12),), P("fsdp", "tp")),
    "sorts": (test_sorting.SORTS, (normal(3, 7),), P("dp", "tp")),
    "lookups": (test_lookup.LOOKUPS, (test_lookup.TABLE, test_lookup.ROWS), P("tp", "fsdp")),
    "scatters": ({**test_lookup.SCATTERS, **test_lookup.REPLACEMENTS},
                 (test_lookup.TABLE, test_lookup.ROWS, normal(3, 4, 6, seed=2)), P("fsdp", "tp")),
}


@pytest.mark.parametrize("mesh", ["eight", nightly("threes")])
@pytest.mark.parametrize("kind", OPERATIONS)
def test_operations(kind, mesh, tmp_path):
    """Each kind of operation on arguments that are all sharded, all in one program."""
    table, args, sharding = OPERATIONS[kind]

    def every(*args):
        return {name: fn(*args) for name, fn in table.items()}
    exported = export(every, args, sharding, (), tmp_path)
    assert_agrees(exported.module, exported.run(sizes(mesh)), jax_results(every, args), TOLERANCE)


@pytest.mark.nightly
def test_the_state_goes_on(prepared):
    """Four steps on a donated state, of an optimizer that counts them."""
    exported, jax_after, _ = prepared("gpt2_tanh")
    expected = jax_after(4)
    assert expected[0]["count"] == 4
    assert_agrees(exported.module, exported.run(sizes("eight"), steps=4), expected, 2 * TOLERANCE)


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    """A step that computes in bf16, what JAX makes of it, and of the same step in f32."""
    make = functools.partial(families_text.llama, optimizer=sgd)
    step, args, shardings, donate = make(jnp.bfloat16)
    exported = export(step, args, shardings, donate, tmp_path_factory.mktemp("bf16"))
    return exported, jax_results(step, args), jax_results(make(jnp.float32)[0], args)


@pytest.mark.parametrize("mesh", [nightly("one"), "eight", nightly("threes")])
def test_bf16_is_as_close_as_jax(mesh, half):
    exported, rounded, exact = half
    assert_as_close_as_jax(exported.module, exported.run(sizes(mesh)), rounded, exact)
