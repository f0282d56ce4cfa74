# SPDX-License-Identifier: Apache-2.0
"""What JAX puts into the host's memory waits there: the same bits, and less of the rank's own memory."""

import functools
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import weft
import weft.jax

LAYERS, ROWS, WIDTH, HIDDEN = 6, 256, 16, 128
POLICIES = jax.checkpoint_policies
OFFLOADED = POLICIES.save_and_offload_only_these_names(
    names_which_can_be_saved=[], names_which_can_be_offloaded=["h"], offload_src="device",
    offload_dst="pinned_host")
SAVED = POLICIES.save_only_these_names("h")


def layer(x, w):
    h = checkpoint_name(jnp.tanh(x @ w["up"]), "h")
    return x + jnp.sin(h @ w["down"])


def in_a_row(policy, weights, x):
    for i in range(LAYERS):
        x = jax.checkpoint(layer, policy=policy)(x, jax.tree.map(lambda w: w[i], weights))
    return x


def as_a_scan(policy, weights, x):
    def body(x, w):
        return layer(x, w), None

    return jax.lax.scan(jax.checkpoint(body, policy=policy), x, weights)[0]


def step_of(model, policy):
    def loss(weights, x):
        return jnp.mean(model(policy, weights, x) ** 2)

    return jax.value_and_grad(loss)


def make_inputs():
    random = np.random.default_rng(7)
    weights = {"up": random.standard_normal((LAYERS, WIDTH, HIDDEN), np.float32) * 0.3,
               "down": random.standard_normal((LAYERS, HIDDEN, WIDTH), np.float32) * 0.1}
    return weights, random.standard_normal((ROWS, WIDTH), np.float32)


SHARDINGS = ({"up": P(None, None, "d"), "down": P(None, "d")}, P("d"))


@functools.cache
def export(model, policy=OFFLOADED):
    return weft.jax.export(step_of(model, policy), *make_inputs(), mesh={"d": 2}, in_shardings=SHARDINGS)


@functools.cache
def run(model, **keywords):
    """Results and what the program says of itself."""
    keywords.setdefault("mesh", (("d", 2),))
    program = weft.compile(export(model), **{**keywords, "mesh": dict(keywords["mesh"])})
    return jax.tree.map(np.array, program(*make_inputs())), program.stats


MODELS = [in_a_row, as_a_scan]


@pytest.mark.parametrize("model", MODELS)
def test_results_are_those_of_jax(model):
    got, _ = run(model)
    expected = jax.jit(step_of(model, SAVED))(*make_inputs())
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6), got, expected)


@pytest.mark.parametrize("schedule", ["sync", "next-layer", "greedy", "best"])
@pytest.mark.parametrize("model", MODELS)
def test_bits_are_those_without(model, schedule):
    got, _ = run(model, schedule=schedule)
    expected, _ = run(model, schedule=schedule, offload=("none",))
    jax.tree.map(np.testing.assert_array_equal, got, expected)


@pytest.mark.parametrize("model", MODELS)
def test_invariant_bits_do_not_depend_on_it(model):
    got, _ = run(model, invariant=True)
    expected, _ = run(model, invariant=True, offload=("none",), mesh=(("d", 1),))
    jax.tree.map(np.testing.assert_array_equal, got, expected)


@pytest.mark.parametrize("model", MODELS)
def test_bytes_are_elsewhere(model):
    """Six times h, of a rank's half of the rows."""
    _, kept = run(model, schedule="sync", offload=("none",))
    _, moved = run(model, schedule="sync")
    assert kept.host_bytes_per_rank == 0
    least = LAYERS * ROWS // 2 * HIDDEN * 4
    assert moved.host_bytes_per_rank == least
    assert moved.arena_bytes_per_rank < 0.7 * kept.arena_bytes_per_rank


def least_limit(model, below=2, **keywords):
    with pytest.raises(weft.CompileError, match=r"needs \d+ bytes at least") as error:
        weft.compile(export(model), mesh={"d": 2}, memory_limit=below - 1, recompute="marked", **keywords)
    return int(re.search(r"needs (\d+) bytes at least", str(error.value))[1])


def test_the_least_limit_is_smaller():
    least = least_limit(in_a_row)
    assert least == least_limit(in_a_row, least)
    assert least < 0.8 * least_limit(in_a_row, offload=["none"])
    got, _ = run(in_a_row, memory_limit=least, recompute="marked")
    expected, _ = run(in_a_row, offload=("none",))
    jax.tree.map(np.testing.assert_array_equal, got, expected)


def adam(state: Any, x):
    """Of an optimizer's moments, which lie in the host's memory, each is read once."""
    def loss(w):
        return jnp.mean(jnp.tanh(x @ w) ** 2)

    grad = jax.grad(loss)(state["w"])
    m = 0.9 * jax.device_put(state["m"], jax.memory.Space.Device) + 0.1 * grad
    v = 0.99 * jax.device_put(state["v"], jax.memory.Space.Device) + 0.01 * grad * grad
    w = state["w"] - 0.01 * m / (jnp.sqrt(v) + 1e-8)
    return {"w": w, "m": jax.device_put(m, jax.memory.Space.Host), "v": jax.device_put(v, jax.memory.Space.Host)}


def shapes_of_adam():
    return {k: jax.ShapeDtypeStruct((64, 32), np.float32) for k in ("w", "m", "v")}, jax.ShapeDtypeStruct(
        (16, 64), np.float32)


def export_adam(places):
    mesh = jax.sharding.AbstractMesh((2,), ("d",))
    kinds = {"w": None, "m": places, "v": places}
    shardings = {k: NamedSharding(mesh, P("d"), memory_kind=kind) for k, kind in kinds.items()}
    return weft.jax.export(adam, *shapes_of_adam(), mesh=mesh,
                           in_shardings=(shardings, P("d")), out_shardings=shardings, donate_argnums=0)


def run_adam(module, **keywords):
    program = weft.compile(module, mesh={"d": 2}, **keywords)
    random = np.random.default_rng(3)
    state = {k: np.abs(random.standard_normal((64, 32), np.float32)) for k in ("w", "m", "v")}
    for _ in range(3):
        x = random.standard_normal((16, 64), np.float32)
        state = jax.tree.map(np.array, program(state, x))
    return state, program.stats


@pytest.fixture(scope="module")
def on_device():
    return run_adam(export_adam("pinned_host"), offload=["none"])


@pytest.mark.parametrize("kind, keywords", [("pinned_host", {}), (None, {"offload": ["state.[mv]"]})])
def test_state_lies_on_the_host(kind, keywords, on_device):
    """As JAX says it, or by its name alone."""
    got, moved = run_adam(export_adam(kind) if kind else export_plain_adam(), **keywords)
    expected, kept = on_device
    jax.tree.map(np.testing.assert_array_equal, got, expected)
    both = 2 * 32 * 32 * 4
    assert moved.host_bytes_per_rank == both
    assert moved.argument_bytes_per_rank == kept.argument_bytes_per_rank - both


def export_plain_adam():
    def plain(state, x):
        grad = jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(state["w"])
        m = 0.9 * state["m"] + 0.1 * grad
        v = 0.99 * state["v"] + 0.01 * grad * grad
        return {"w": state["w"] - 0.01 * m / (jnp.sqrt(v) + 1e-8), "m": m, "v": v}

    return weft.jax.export(plain, *shapes_of_adam(), mesh={"d": 2}, in_shardings=(P("d"), P("d")), donate_argnums=0)


def test_marks_are_not_dropped():
    text = export(in_a_row).text
    assert text.count("{offload}") == LAYERS


def test_a_result_without_an_argument_is_refused():
    with pytest.raises(weft.jax.ExportError, match="result 'result0' is to lie in the host's memory"):
        weft.jax.export(lambda x: jax.device_put(x + 1, jax.memory.Space.Host), np.ones((4, 4), np.float32))


@pytest.mark.parametrize("words, message", [
    (["nothing.*"], "which is the name of no donated argument"),
    (["none", "state.m"], "has 'none' beside other words"),
    (["["], r"has the pattern '\['"),
])
def test_patterns_are_checked(words, message):
    with pytest.raises(weft.CompileError, match=message):
        weft.compile(export_plain_adam(), offload=words)


def test_attention_gradient_reads_what_waits():
    """Attention becomes one op, whose gradient reads the forward pass's operands: from the host, if they are marked."""
    policy = POLICIES.offload_dot_with_no_batch_dims("device", "pinned_host")

    def loss(w, x):
        def model(w, x):
            q, k, v = (jnp.einsum("bsd,dhe->bshe", x, w[n]) for n in "qkv")
            return x + jnp.einsum("bshe,hed->bsd", jax.nn.dot_product_attention(q, k, v, is_causal=True), w["o"])

        return jnp.mean(jax.checkpoint(model, policy=policy)(w, x) ** 2)

    random = np.random.default_rng(5)
    w = {n: random.standard_normal((32, 4, 8) if n != "o" else (4, 8, 32), np.float32) * 0.2 for n in "qkvo"}
    x = random.standard_normal((2, 64, 32), np.float32)
    module = weft.jax.export(jax.value_and_grad(loss), w, x)
    moved, kept = (weft.compile(module, schedule="sync", recompute="marked", offload=o) for o in ([], ["none"]))
    jax.tree.map(np.testing.assert_array_equal, moved(w, x), kept(w, x))
    assert moved.stats.host_bytes_per_rank == 3 * x.nbytes


@pytest.mark.nightly
def test_the_compiler_chooses_what_a_limit_needs():
    def step(weights, moments, x):
        gradient = jax.grad(lambda w: jnp.mean(in_a_row(SAVED, w, x) ** 2))(weights)
        moments = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments, gradient)
        return jax.tree.map(lambda w, m: w - 0.1 * m, weights, moments), moments

    weights, x = make_inputs()
    moments = jax.tree.map(np.zeros_like, weights)
    module = weft.jax.export(jax.jit(step, donate_argnums=(0, 1)), weights, moments, x)
    plain = weft.compile(module)
    with pytest.raises(weft.CompileError, match="needs (\\d+) bytes at least") as error:
        weft.compile(module, memory_limit=4096)
    least = int(re.search(r"needs (\d+) bytes", str(error.value)).group(1))
    with pytest.raises(weft.CompileError, match="bytes at least"):
        weft.compile(module, memory_limit=least - 4096)
    fitted = weft.compile(module, memory_limit=least - 4096, offload="auto")
    for one, other in zip(jax.tree.leaves(plain(weights, moments, x)), jax.tree.leaves(fitted(weights, moments, x)), strict=True):
        np.testing.assert_array_equal(one, other)
