# SPDX-License-Identifier: Apache-2.0

"""Training steps of several model families, small, as users write them.

Each entry of FAMILIES gives (step, arguments, in_shardings, donate_argnums) for
the mesh MESH. The names of the axes are the families' own.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P
from optimizers import adam, adam_shardings, adam_state, sgd

MESH = {"dp": 2, "fsdp": 2, "tp": 2}
BATCH = ("dp", "fsdp")


class Draw:
    """Weights from one numpy generator."""

    def __init__(self, seed=0):
        self._random = np.random.default_rng(seed)

    def normal(self, *shape, scale=0.1):
        return (self._random.standard_normal(shape) * scale).astype(np.float32)

    def ints(self, high, *shape):
        return self._random.integers(0, high, shape, np.int32)


def layer_norm(x, w):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * w["scale"] + w["bias"]


def norm_weights(d):
    return {"scale": np.ones(d, np.float32), "bias": np.zeros(d, np.float32)}


NORM_SPECS = {"scale": P(), "bias": P()}


# -- an MLP with a squared error

def mlp():
    draw = Draw(1)
    params = {"w1": draw.normal(12, 32), "b1": draw.normal(32), "w2": draw.normal(32, 8), "b2": draw.normal(8)}
    specs = {"w1": P("fsdp", "tp"), "b1": P("tp"), "w2": P("tp", "fsdp"), "b2": P()}

    def loss_fn(params, x, y):
        h = jax.nn.relu(x @ params["w1"] + params["b1"])
        return jnp.mean((h @ params["w2"] + params["b2"] - y) ** 2)
    args = (params, draw.normal(16, 12, scale=1), draw.normal(16, 8, scale=1))
    return sgd(loss_fn), args, (specs, P(BATCH), P(BATCH)), 0


# -- GPT-2: LayerNorm, GELU, learned positions, biases, untied head

def gpt2(approximate):
    d, heads, ffn, vocab, seq, batch, layers = 32, 4, 64, 48, 12, 8, 2
    draw = Draw(2)
    linear = lambda i, o: {"w": draw.normal(i, o), "b": draw.normal(o)}
    block = lambda: {"ln1": norm_weights(d), "qkv": linear(d, 3 * d), "proj": linear(d, d),
                     "ln2": norm_weights(d), "fc": linear(d, ffn), "out": linear(ffn, d)}
    params = {"wte": draw.normal(vocab, d), "wpe": draw.normal(seq, d), "h": [block() for _ in range(layers)],
              "ln_f": norm_weights(d), "lm_head": draw.normal(d, vocab)}
    column, row = {"w": P("fsdp", "tp"), "b": P("tp")}, {"w": P("tp", "fsdp"), "b": P()}
    whole = {"w": P("fsdp"), "b": P()}
    block_specs = {"ln1": NORM_SPECS, "qkv": whole, "proj": row, "ln2": NORM_SPECS, "fc": column, "out": row}
    specs = {"wte": P("tp", "fsdp"), "wpe": P(), "h": [block_specs] * layers, "ln_f": NORM_SPECS,
             "lm_head": P("fsdp", "tp")}

    def attend(x, w):
        q, k, v = jnp.split(x @ w["qkv"]["w"] + w["qkv"]["b"], 3, -1)
        cut = lambda a: a.reshape(batch, seq, heads, d // heads).transpose(0, 2, 1, 3)
        q, k, v = cut(q), cut(k), cut(v)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(d // heads).astype(np.float32)
        scores = jnp.where(jnp.tril(jnp.ones((seq, seq), bool)), scores, -jnp.inf)
        mixed = (jax.nn.softmax(scores, -1) @ v).transpose(0, 2, 1, 3).reshape(batch, seq, d)
        return mixed @ w["proj"]["w"] + w["proj"]["b"]

    def loss_fn(params, tokens):
        x = params["wte"][tokens] + params["wpe"][jnp.arange(seq)]
        for w in params["h"]:
            x = x + attend(layer_norm(x, w["ln1"]), w)
            h = jax.nn.gelu(layer_norm(x, w["ln2"]) @ w["fc"]["w"] + w["fc"]["b"], approximate=approximate)
            x = x + h @ w["out"]["w"] + w["out"]["b"]
        logits = layer_norm(x, params["ln_f"]) @ params["lm_head"]
        log_p = jax.nn.log_softmax(logits[:, :-1])
        return -jnp.take_along_axis(log_p, tokens[:, 1:, None], -1).mean()
    args = (adam_state(params), draw.ints(vocab, batch, seq))
    return adam(loss_fn), args, (adam_shardings(specs), P(BATCH)), 0


# -- mixture of experts: rounds of argmax, one-hot dispatch

def moe():
    d, ffn, experts, top, batch, seq = 16, 32, 4, 2, 8, 6
    draw = Draw(3)
    params = {"router": draw.normal(d, experts, scale=1), "up": draw.normal(experts, d, ffn),
              "down": draw.normal(experts, ffn, d)}
    specs = {"router": P("fsdp", None), "up": P(None, "fsdp", "tp"), "down": P(None, "tp", "fsdp")}
    capacity = batch * seq * top // experts

    def route(probabilities):
        left, gates, chosen = probabilities, [], []
        for _ in range(top):
            hot = jax.nn.one_hot(lax.stop_gradient(jnp.argmax(left, -1)), experts)
            gates.append(jnp.sum(probabilities * hot, -1))
            chosen.append(hot)
            left = left - 2 * hot
        gates = jnp.stack(gates, -1)
        return gates / gates.sum(-1, keepdims=True), jnp.stack(chosen, -2)

    def loss_fn(params, x, y):
        flat = x.reshape(batch * seq, d)
        probabilities = jax.nn.softmax(flat @ params["router"], -1)
        gates, chosen = route(probabilities)
        queue = chosen.reshape(-1, experts)
        place = (jnp.cumsum(queue, 0) - queue).reshape(chosen.shape)
        place = jnp.sum(place * chosen, -1).astype(jnp.int32)
        slot = jax.nn.one_hot(place, capacity)
        dispatch = jnp.einsum("tke,tkc->tec", chosen, slot)
        combine = jnp.einsum("tke,tkc,tk->tec", chosen, slot, gates)
        inputs = jnp.einsum("td,tec->ecd", flat, dispatch)
        hidden = jax.nn.silu(jnp.einsum("ecd,edf->ecf", inputs, params["up"]))
        out = jnp.einsum("ecf,efd,tec->td", hidden, params["down"], combine)
        balance = jnp.sum(probabilities.mean(0) * chosen[:, 0].mean(0)) * experts
        return jnp.mean((out - y.reshape(-1, d)) ** 2) + 0.01 * balance
    args = (params, draw.normal(batch, seq, d, scale=1), draw.normal(batch, seq, d, scale=1))
    return sgd(loss_fn), args, (specs, P(BATCH), P(BATCH)), 0


# -- a vision transformer: patches by reshape, a class token, labels

def vit():
    d, heads, ffn, classes, batch, size, patch = 24, 3, 48, 10, 8, 12, 4
    draw = Draw(4)
    count = (size // patch) ** 2
    params = {"patch": draw.normal(patch * patch * 3, d), "cls": draw.normal(1, 1, d), "pos": draw.normal(count + 1, d),
              "ln1": norm_weights(d), "qkv": draw.normal(d, 3, heads, d // heads), "proj": draw.normal(heads, d // heads, d),
              "ln2": norm_weights(d), "fc": draw.normal(d, ffn), "out": draw.normal(ffn, d), "head": draw.normal(d, classes)}
    specs = {"patch": P("fsdp"), "cls": P(), "pos": P(), "ln1": NORM_SPECS, "qkv": P("fsdp"), "proj": P(None, None, "fsdp"),
             "ln2": NORM_SPECS, "fc": P("fsdp", "tp"), "out": P("tp", "fsdp"), "head": P("fsdp")}

    def loss_fn(params, images, labels):
        n = size // patch
        x = images.reshape(batch, n, patch, n, patch, 3).transpose(0, 1, 3, 2, 4, 5)
        x = x.reshape(batch, n * n, -1) @ params["patch"]
        x = jnp.concatenate([jnp.broadcast_to(params["cls"], (batch, 1, d)), x], 1) + params["pos"]
        q, k, v = jnp.einsum("bsd,dchk->cbhsk", layer_norm(x, params["ln1"]), params["qkv"])
        weight = jax.nn.softmax(jnp.einsum("bhqk,bhsk->bhqs", q, k) * (d // heads) ** -0.5, -1)
        x = x + jnp.einsum("bhqs,bhsk,hkd->bqd", weight, v, params["proj"])
        x = x + jax.nn.gelu(layer_norm(x, params["ln2"]) @ params["fc"]) @ params["out"]
        logits = x[:, 0] @ params["head"]
        return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(batch), labels])
    args = (params, draw.normal(batch, size, size, 3, scale=1), draw.ints(classes, batch))
    return sgd(loss_fn), args, (specs, P(BATCH), P(BATCH)), 0


FAMILIES = {"mlp": mlp, "gpt2_erf": lambda: gpt2(False), "gpt2_tanh": lambda: gpt2(True), "moe": moe, "vit": vit}
