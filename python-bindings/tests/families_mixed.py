# SPDX-License-Identifier: Apache-2.0

"""Families that are no language models: recommendation, diffusion, contrastive, graphs, codebooks, experts.

Written as in families.py, each for the axes dp, fsdp and tp.
"""

import jax
import jax.numpy as jnp
import numpy as np
from families import BATCH, Draw
from jax import lax
from jax.sharding import PartitionSpec as P
from optimizers import momentum, momentum_shardings, momentum_state, sgd


def _mlp(params, x, activate=jax.nn.relu):
    for w in params[:-1]:
        x = activate(x @ w["w"] + w["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def _mlp_weights(draw, *sizes):
    return [{"w": draw.normal(i, o, scale=0.3), "b": draw.normal(o)} for i, o in zip(sizes, sizes[1:])]


def _mlp_specs(count):
    kinds = {"w": P("fsdp", "tp"), "b": P("tp")}, {"w": P("tp", "fsdp"), "b": P()}
    return [kinds[k % 2] for k in range(count)]


# -- DLRM: bags of embeddings, products of all pairs of features

def dlrm():
    d, dense, batch, hots, rows = 8, 5, 16, 3, (20, 14, 9)
    draw = Draw(31)
    params = {"tables": [draw.normal(n, d, scale=0.5) for n in rows], "bottom": _mlp_weights(draw, dense, 16, d),
              "top": _mlp_weights(draw, d + 6, 16, 1)}
    specs = {"tables": [P(("fsdp", "tp"), None), P(None, "tp"), P("fsdp")], "bottom": _mlp_specs(2),
             "top": [_mlp_specs(1)[0], {"w": P("tp"), "b": P()}]}
    low, high = np.tril_indices(len(rows) + 1, -1)

    def loss_fn(params, x, bags, weights, clicked):
        features = [_mlp(params["bottom"], x)]
        for k, table in enumerate(params["tables"]):
            features.append(jnp.sum(table[bags[:, k]] * weights[:, k, :, None], 1))
        stack = jnp.stack(features, 1)
        pairs = jnp.einsum("bfd,bgd->bfg", stack, stack)[:, low, high]
        logit = _mlp(params["top"], jnp.concatenate([features[0], pairs], -1))[:, 0]
        return jnp.mean(jnp.maximum(logit, 0) - logit * clicked + jnp.log1p(jnp.exp(-jnp.abs(logit))))
    bags = np.stack([draw.ints(n, batch, hots) for n in rows], 1)
    args = (params, draw.normal(batch, dense, scale=1), bags, np.abs(draw.normal(batch, len(rows), hots, scale=1)),
            draw.ints(2, batch).astype(np.float32))
    return sgd(loss_fn), args, (specs, P(BATCH), P(BATCH), P(BATCH), P(BATCH)), 0


# -- diffusion: noise from a key, sin/cos time embedding, scale and shift by time

def diffusion():
    d, width, times, batch = 6, 24, 50, 16
    draw = Draw(32)
    block = lambda: {"in": draw.normal(width, width), "time": draw.normal(width, 2, width), "out": draw.normal(width, width)}
    params = {"in": draw.normal(d, width, scale=0.3), "blocks": [block()],
              "out": draw.normal(width, d), "time": _mlp_weights(draw, 16, width, width)}
    block_specs = {"in": P("fsdp", "tp"), "time": P("fsdp", None, "tp"), "out": P("tp", "fsdp")}
    specs = {"in": P("fsdp", "tp"), "blocks": [block_specs], "out": P("tp", "fsdp"), "time": _mlp_specs(2)}
    kept = np.cumprod(1 - np.linspace(1e-4, 0.2, times)).astype(np.float32)

    def embed_time(t):
        rates = jnp.exp(-np.log(1e4) * jnp.arange(8) / 8)
        angle = t.astype(jnp.float32)[:, None] * rates
        return jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], -1)

    def loss_fn(params, key, x):
        time_key, noise_key, drop_key = jax.random.split(key, 3)
        t = jax.random.randint(time_key, (batch,), 0, times)
        noise = jax.random.normal(noise_key, x.shape)
        share = jnp.asarray(kept)[t][:, None]
        h = (jnp.sqrt(share) * x + jnp.sqrt(1 - share) * noise) @ params["in"]
        time = _mlp(params["time"], embed_time(t), jax.nn.silu)
        for w in params["blocks"]:
            scale, shift = jnp.moveaxis(jnp.einsum("bw,wcv->bcv", time, w["time"]), 1, 0)
            inner = jax.nn.silu((h @ w["in"]) * (1 + scale) + shift)
            inner = jnp.where(jax.random.bernoulli(drop_key, 0.8, inner.shape), inner / 0.8, 0)
            h = h + inner @ w["out"]
        target = jnp.sqrt(share) * noise - jnp.sqrt(1 - share) * x
        return jnp.mean(jnp.sum((h @ params["out"] - target) ** 2, -1))
    args = (momentum_state(params), np.array([0, 42], np.uint32), draw.normal(batch, d, scale=1))
    return momentum(loss_fn), args, (momentum_shardings(specs), P(), P(BATCH)), 0


# -- CLIP: two towers, logits between all pairs of the batch, sharded by their rows

def clip():
    d, pixels, vocab, seq, batch, space = 12, 20, 30, 5, 12, 8
    draw = Draw(33)
    params = {"image": _mlp_weights(draw, pixels, 24, space), "embed": draw.normal(vocab, d, scale=1),
              "text": _mlp_weights(draw, d, 24, space), "log_scale": np.float32(1.2)}
    specs = {"image": _mlp_specs(2), "embed": P("tp", "fsdp"), "text": _mlp_specs(2), "log_scale": P()}
    unit = lambda x: x / jnp.linalg.norm(x, axis=-1, keepdims=True)

    def loss_fn(params, images, tokens):
        image = unit(_mlp(params["image"], images, jax.nn.gelu))
        text = unit(_mlp(params["text"], jnp.max(params["embed"][tokens], 1), jax.nn.gelu))
        logits = jnp.exp(jnp.minimum(params["log_scale"], 4.6)) * (image @ text.T)
        logits = lax.with_sharding_constraint(logits, P(BATCH, "tp"))
        own = jnp.arange(batch)
        by_row = jax.nn.log_softmax(logits, 1)[own, own]
        by_column = jnp.diagonal(jax.nn.log_softmax(logits, 0))
        return -(by_row.mean() + by_column.mean()) / 2
    args = (params, draw.normal(batch, pixels, scale=1), draw.ints(vocab, batch, seq))
    return sgd(loss_fn), args, (specs, P(BATCH), P(BATCH)), 0


# -- a graph network: messages along edges, summed and maximized at nodes

def graph():
    nodes, edges, d, hidden, classes = 18, 40, 6, 16, 4
    draw = Draw(34)
    params = {"message": draw.normal(2 * d, hidden), "update": draw.normal(d + hidden, hidden), "head": draw.normal(hidden, classes)}
    specs = {"message": P("fsdp", "tp"), "update": P("fsdp", "tp"), "head": P("tp", "fsdp")}

    def loss_fn(params, x, sources, targets, labels):
        message = jax.nn.relu(jnp.concatenate([x[sources], x[targets]], -1) @ params["message"])
        degree = jax.ops.segment_sum(jnp.ones(edges), targets, nodes)
        mean = jax.ops.segment_sum(message, targets, nodes) / jnp.maximum(degree, 1)[:, None]
        h = jnp.tanh(jnp.concatenate([x, mean], -1) @ params["update"])
        logits = h @ params["head"]
        return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(nodes), labels])
    args = (params, draw.normal(nodes, d, scale=1), draw.ints(nodes, edges), draw.ints(nodes, edges), draw.ints(classes, nodes))
    return sgd(loss_fn), args, (specs, P(("dp",)), P(BATCH), P(BATCH), P(("dp",))), 0


# -- a codebook (VQ-VAE): the nearest code, gradients passed straight through

def codebook():
    d, hidden, codes, batch = 10, 16, 12, 12
    draw = Draw(35)
    params = {"encode": _mlp_weights(draw, d, 16, hidden), "codes": draw.normal(codes, hidden),
              "decode": _mlp_weights(draw, hidden, 16, d)}
    specs = {"encode": _mlp_specs(2), "codes": P("tp", "fsdp"), "decode": _mlp_specs(2)}

    def loss_fn(params, x):
        z, codes = _mlp(params["encode"], x), params["codes"]
        distance = jnp.sum(z * z, -1)[:, None] - 2 * z @ codes.T + jnp.sum(codes * codes, -1)
        chosen = codes[jnp.argmin(distance, -1)]
        passed = z + lax.stop_gradient(chosen - z)
        rebuilt = _mlp(params["decode"], passed)
        square = lambda a: jnp.mean(jnp.sum(a * a, -1))
        return (square(rebuilt - x) + square(chosen - lax.stop_gradient(z))
                + 0.25 * square(z - lax.stop_gradient(chosen)))
    args = (params, draw.normal(batch, d, scale=1))
    return sgd(loss_fn), args, (specs, P(BATCH)), 0


# -- experts on an axis of their own (tp), chosen by top_k, each with a capacity

def experts():
    d, ffn, count, top, tokens = 12, 20, 6, 2, 24
    draw = Draw(36)
    params = {"router": draw.normal(d, count, scale=1), "up": draw.normal(count, d, ffn), "down": draw.normal(count, ffn, d)}
    specs = {"router": P("fsdp"), "up": P("tp", "fsdp"), "down": P("tp", None, "fsdp")}
    capacity = 6

    def loss_fn(params, x, y):
        logits = x @ params["router"]
        gates, chosen = lax.top_k(jax.nn.softmax(logits), top)
        gates = gates / gates.sum(-1, keepdims=True)
        hot = jax.nn.one_hot(chosen, count, dtype=jnp.int32)
        place = (jnp.cumsum(hot.reshape(-1, count), 0) - 1).reshape(hot.shape)
        slots = jax.nn.one_hot(jnp.where(hot > 0, place, -1), capacity)
        combine = jnp.einsum("tk,tkec->tec", gates, slots)
        inputs = jnp.einsum("td,tec->ecd", x, (combine > 0).astype(x.dtype))
        inputs = lax.with_sharding_constraint(inputs, P("tp", None, None))
        hidden = jax.nn.silu(jnp.einsum("ecd,edf->ecf", inputs, params["up"]))
        out = jnp.einsum("ecf,efd,tec->td", hidden, params["down"], combine)
        balance = count * jnp.sum(jax.nn.softmax(logits).mean(0) * hot.sum(1).mean(0))
        return jnp.mean((x + out - y) ** 2) + 0.01 * balance + 1e-3 * jnp.mean(jax.nn.logsumexp(logits, -1) ** 2)
    args = (params, draw.normal(tokens, d, scale=1), draw.normal(tokens, d, scale=1))
    return sgd(loss_fn), args, (specs, P(BATCH), P(BATCH)), 0
