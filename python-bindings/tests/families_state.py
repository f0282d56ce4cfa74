# SPDX-License-Identifier: Apache-2.0

"""Recurrent families: loops over time under lax.scan or lax.associative_scan.

Written as in families.py, each for the axes dp, fsdp and tp.
"""

import jax
import jax.numpy as jnp
import numpy as np
from families import BATCH, Draw
from jax import lax
from jax.sharding import PartitionSpec as P
from optimizers import momentum, momentum_shardings, momentum_state, sgd


def _token_loss(logits, targets):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], -1).mean()


def lstm():
    d, hidden, vocab, batch, seq = 12, 16, 30, 8, 6
    draw = Draw(21)
    cell = lambda i: {"wx": draw.normal(i, 4 * hidden), "wh": draw.normal(hidden, 4 * hidden), "b": draw.normal(4 * hidden)}
    params = {"embed": draw.normal(vocab, d), "cells": [cell(d), cell(hidden)], "head": draw.normal(hidden, vocab)}
    cell_specs = {"wx": P("fsdp", "tp"), "wh": P("fsdp", "tp"), "b": P("tp")}
    specs = {"embed": P("tp", "fsdp"), "cells": [cell_specs] * 2, "head": P("fsdp", "tp")}

    def run(w, xs):
        def tick(carry, x):
            h, c = carry
            i, f, g, o = jnp.split(x @ w["wx"] + h @ w["wh"] + w["b"], 4, -1)
            c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h
        zero = jnp.zeros((xs.shape[1], hidden))
        return lax.scan(tick, (zero, zero), xs)[1]

    def loss_fn(params, tokens):
        x = params["embed"][tokens[:, :-1]].swapaxes(0, 1)
        for w in params["cells"]:
            x = run(w, x)
        return _token_loss(x.swapaxes(0, 1) @ params["head"], tokens[:, 1:])
    args = (momentum_state(params), draw.ints(vocab, batch, seq))
    return momentum(loss_fn), args, (momentum_shardings(specs), P(BATCH)), 0


def gru():
    """Two directions, lengths that end early, a label per sequence."""
    d, hidden, classes, batch, seq = 10, 12, 5, 8, 7
    draw = Draw(22)
    cell = lambda: {"gates": draw.normal(d + hidden, 2, hidden), "new": draw.normal(d + hidden, hidden)}
    params = {"forward": cell(), "backward": cell(), "head": draw.normal(2 * hidden, classes)}
    cell_specs = {"gates": P("fsdp", None, "tp"), "new": P("fsdp", "tp")}
    specs = {"forward": cell_specs, "backward": cell_specs, "head": P(("fsdp", "tp"))}

    def run(w, xs, alive, reverse):
        def tick(h, step):
            x, on = step
            r, z = jax.nn.sigmoid(jnp.einsum("bi,igh->gbh", jnp.concatenate([x, h], -1), w["gates"]))
            n = jnp.tanh(jnp.concatenate([x, r * h], -1) @ w["new"])
            return jnp.where(on[:, None], (1 - z) * n + z * h, h), None
        return lax.scan(tick, jnp.zeros((batch, hidden)), (xs, alive), reverse=reverse)[0]

    def loss_fn(params, x, lengths, labels):
        xs = x.swapaxes(0, 1)
        alive = jnp.arange(seq)[:, None] < lengths[None, :]
        ends = [run(params["forward"], xs, alive, False), run(params["backward"], xs, alive, True)]
        log_p = jax.nn.log_softmax(jnp.concatenate(ends, -1) @ params["head"])
        return -jnp.sum(jax.nn.one_hot(labels, classes) * log_p) / batch
    args = (params, draw.normal(batch, seq, d, scale=1), draw.ints(seq, batch) + 1, draw.ints(classes, batch))
    return sgd(loss_fn), args, (specs, P(BATCH), P(BATCH), P(BATCH)), 0


def _causal_mix(x, taps):
    """A depthwise causal convolution as a sum of shifts."""
    seq, width = x.shape[1], taps.shape[0]
    padded = jnp.pad(x, ((0, 0), (width - 1, 0), (0, 0)))
    return sum(padded[:, k:k + seq] * taps[k] for k in range(width))


def mamba():
    """A selective state space: h = exp(-dt A) h + dt B x, y = C h + D x, one tick at a time."""
    d, inner, state, vocab, batch, seq = 12, 24, 4, 30, 8, 6
    draw = Draw(23)
    params = {"embed": draw.normal(vocab, d), "in": draw.normal(d, 2 * inner), "taps": draw.normal(3, inner, scale=0.5),
              "bc": draw.normal(inner, 2 * state), "dt": draw.normal(inner, inner), "log_a": draw.normal(inner, state),
              "skip": np.ones(inner, np.float32), "out": draw.normal(inner, d)}
    specs = {"embed": P("tp", "fsdp"), "in": P("fsdp", "tp"), "taps": P(None, "tp"), "bc": P("tp"), "dt": P("fsdp", "tp"),
             "log_a": P("tp"), "skip": P("tp"), "out": P("tp", "fsdp")}

    def loss_fn(params, tokens):
        x = params["embed"][tokens[:, :-1]]
        u, gate = jnp.split(x @ params["in"], 2, -1)
        u = jax.nn.silu(_causal_mix(u, params["taps"]))
        b, c = jnp.split(u @ params["bc"], 2, -1)
        dt = jax.nn.softplus(u @ params["dt"])
        a = -jnp.exp(params["log_a"])

        def tick(h, now):
            u, b, c, dt = now
            h = jnp.exp(dt[..., None] * a) * h + (dt * u)[..., None] * b[:, None, :]
            return h, jnp.einsum("bis,bs->bi", h, c)
        over_time = jax.tree.map(lambda t: t.swapaxes(0, 1), (u, b, c, dt))
        _, y = lax.scan(tick, jnp.zeros((batch, inner, state)), over_time)
        y = (y.swapaxes(0, 1) + u * params["skip"]) * jax.nn.silu(gate)
        return _token_loss((x + y @ params["out"]) @ params["embed"].T, tokens[:, 1:])
    args = (params, draw.ints(vocab, batch, seq + 1))
    return sgd(loss_fn), args, (specs, P(BATCH)), 0


def linear_attention():
    """Decayed linear attention; its sums over time as an associative scan."""
    d, heads, size, vocab, batch, seq = 16, 4, 4, 24, 8, 8
    draw = Draw(24)
    params = {"embed": draw.normal(vocab, d), "qkv": draw.normal(3, d, heads, size), "decay": draw.normal(d, heads),
              "out": draw.normal(heads, size, d)}
    specs = {"embed": P("tp", "fsdp"), "qkv": P(None, "fsdp", "tp"), "decay": P("fsdp", "tp"), "out": P("tp", None, "fsdp")}

    def combine(left, right):
        (a, s), (b, t) = left, right
        return a * b, b[..., None, None] * s + t

    def loss_fn(params, tokens):
        x = params["embed"][tokens[:, :-1]]
        q, k, v = jnp.einsum("bsd,cdhk->cbshk", x, params["qkv"])
        k = jax.nn.elu(k) + 1
        decay = jax.nn.sigmoid(jnp.einsum("bsd,dh->bsh", x, params["decay"]) + 2)
        _, memory = lax.associative_scan(combine, (decay, jnp.einsum("bshk,bshv->bshkv", k, v)), axis=1)
        read = jnp.einsum("bshk,bshkv->bshv", jax.nn.elu(q) + 1, memory)
        y = x + jnp.einsum("bshv,hvd->bsd", read, params["out"])
        return _token_loss(y @ params["embed"].T, tokens[:, 1:])
    args = (params, draw.ints(vocab, batch, seq + 1))
    return sgd(loss_fn), args, (specs, P(BATCH)), 0
