# SPDX-License-Identifier: Apache-2.0

"""The steps of bench/runs.py compute what JAX computes, whatever they keep of the forward pass."""

import dataclasses
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import weft

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))
import llama  # noqa: E402
import runs  # noqa: E402

SMALL = llama.Config(2, 64, 4, 2, 16, 96, 128, 16, 8)


def inputs(c):
    rng = np.random.default_rng(5)
    is_weight = lambda leaf: isinstance(leaf, tuple)
    draw = lambda w: jnp.asarray(rng.standard_normal(w[0], np.float32) * 0.1)
    params = jax.tree.map(draw, llama.weights(c), is_leaf=is_weight)
    zeros = lambda: jax.tree.map(jnp.zeros_like, params)
    tokens = lambda: jnp.asarray(rng.integers(0, c.vocab, (c.batch, c.seq), dtype=np.int32))
    return params, {"m": zeros(), "v": zeros(), "t": jnp.zeros((), jnp.int32)}, tokens(), tokens()


@pytest.mark.parametrize("kept", llama.KEPT)
def test_loss_is_that_of_jax(kept):
    c = dataclasses.replace(SMALL, kept=kept, qk_norm=kept == "op")
    arguments = inputs(c)
    plain = dataclasses.replace(c, kept="none")
    mesh = jax.make_mesh((1, 1, 1, 1), ("mb", "dp", "fsdp", "tp"), (jax.sharding.AxisType.Auto,) * 4)
    with jax.set_mesh(mesh):
        loss = jax.jit(llama.loss_fn, static_argnums=0)
        wanted = float(loss(plain, arguments[0], *arguments[2:]))
    module = llama.export(c, {"mb": 1, "dp": 1, "fsdp": 2, "tp": 2})
    assert abs(float(weft.compile(module)(*arguments)[2]) - wanted) <= 0.01 * wanted


def test_every_run_has_its_settings():
    assert len({run["id"] for run in runs.RUNS}) == len(runs.RUNS)
    for run in runs.RUNS:
        assert run["kept"] in llama.KEPT and len(run["dims"]) == 7 and run["source"]
        assert run["tokens_per_s_per_gpu"] > 0 and run["batch"] % run["mesh"]["fsdp"] == 0
