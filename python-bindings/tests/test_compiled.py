# SPDX-License-Identifier: Apache-2.0

"""Training steps of many families, compiled for several meshes, run, and compared with JAX."""

import functools

import families
import families_mixed
import families_state
import families_text
import jax
import numpy as np
import pytest
import weft
from compiled import Exported, assert_agrees
from families import MESH
from jax.sharding import Mesh

FAMILIES = {
    **families.FAMILIES,
    "t5": families_text.t5, "llama": families_text.llama, "bert": families_text.bert,
    "lstm": families_state.lstm, "gru": families_state.gru, "mamba": families_state.mamba,
    "linear_attention": families_state.linear_attention,
    "dlrm": families_mixed.dlrm, "diffusion": families_mixed.diffusion, "clip": families_mixed.clip,
    "graph": families_mixed.graph, "codebook": families_mixed.codebook,
}
MESHES = {
    "one rank": (1, 1, 1), "eight": (2, 2, 2), "threes": (1, 3, 2), "nines": (3, 1, 3), "narrow": (1, 1, 5),
}
TOLERANCE = 1e-5


def one_device():
    """The steps name mesh axes; on one device each of them has size one."""
    return jax.set_mesh(Mesh(np.array(jax.devices()[:1]).reshape(1, 1, 1), tuple(MESH)))


def jax_results(step, args):
    with one_device():
        return jax.tree.map(np.asarray, jax.jit(step)(*args))


@functools.cache
def prepared(name, factory):
    """The exported step of a family and what JAX gives for it."""
    step, args, shardings, donate = FAMILIES[name]()
    module = weft.jax.export(step, *args, mesh=MESH, in_shardings=shardings, donate_argnums=donate)
    return Exported(module, args, factory.mktemp(name)), jax_results(step, args)


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("name", FAMILIES)
def test_family(name, mesh, tmp_path_factory):
    exported, expected = prepared(name, tmp_path_factory)
    got = exported.run(dict(zip(MESH, MESHES[mesh])))
    assert_agrees(exported.module, got, expected, TOLERANCE)
