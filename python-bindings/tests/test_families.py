# SPDX-License-Identifier: Apache-2.0

"""Whole training steps, against JAX, and their names and shardings."""

from dataclasses import replace

import jax
import numpy as np
import pytest
import weft
from conftest import assert_close, load, nightly, parses
from families import FAMILIES, MESH
from jax.sharding import Mesh

import interpreter


@pytest.mark.parametrize("name", FAMILIES)
def test_family(name):
    step, args, shardings, donate = FAMILIES[name]()
    m = weft.jax.export(step, *args, mesh=MESH, in_shardings=shardings, donate_argnums=donate)
    parses(m.text)
    donated = len(jax.tree.leaves(args[0]))
    assert [r.alias for r in m.results][:donated] == list(range(donated))
    assert all(m.results[i].name == m.arguments[i].name for i in range(donated))
    got = interpreter.run(m, *args)
    jax.tree.map(lambda g, e: assert_close(g, e, 1e-4), got, jax.jit(step)(*args))


def small(module, dtype):
    c = replace(module.config("XS", dtype), seq=8, batch=4)
    params, tokens, targets = module.init(c)
    return c, (params, module.init_optimizer(params), tokens, targets)


def one_device():
    return jax.set_mesh(Mesh(np.array(jax.devices()[:1]).reshape(1, 1, 1), tuple(MESH)))


@pytest.mark.parametrize("example, dtype", [("qwen3", "f32"), nightly("qwen3", "bf16"), nightly("qwen3_scan", "f32"), ("qwen3_scan", "bf16")])
def test_example(example, dtype):
    module = load(f"examples/{example}/model.py")
    c, call = small(module, dtype)
    step = module.make_step(c)
    ins, outs = module.shardings(c)
    m = weft.jax.export(step, *call, mesh=MESH, in_shardings=ins, out_shardings=outs, donate_argnums=(0, 1))
    parses(m.text)
    got = interpreter.run(m, *call)
    with one_device():
        expected = jax.jit(step)(*call)
    assert_close(got[2], expected[2], {"f32": 1e-6, "bf16": 1e-3}[dtype])
    moments = zip(jax.tree.leaves(got[1]["m"]), jax.tree.leaves(expected[1]["m"]))
    for g, e in moments:
        assert_close(g, e, {"f32": 1e-5, "bf16": 6e-2}[dtype])
