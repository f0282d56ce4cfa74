# SPDX-License-Identifier: Apache-2.0

"""Language models of several families: their steps, arguments and shardings.

Written as in families.py, each for the axes dp, fsdp and tp.
"""

import jax
import jax.numpy as jnp
import numpy as np
from families import BATCH, Draw, NORM_SPECS, layer_norm, norm_weights
from jax import lax
from jax.sharding import PartitionSpec as P
from optimizers import (adafactor, adafactor_shardings, adafactor_state, adam, adam_shardings, adam_state, lion,
                        lion_shardings, lion_state)

COLUMN, ROW = P("fsdp", "tp"), P("tp", "fsdp")


def rms_norm(x, weight):
    wide = x.astype(jnp.float32)
    wide = wide * lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-6)
    return (wide * weight).astype(x.dtype)


def smoothed_cross_entropy(logits, targets, smoothing=0.1, z_weight=1e-3):
    """Label smoothing and a penalty on the logarithm of the normalizer."""
    log_z = jax.nn.logsumexp(logits, -1)
    chosen = jnp.take_along_axis(logits, targets[..., None], -1)[..., 0]
    uniform = logits.mean(-1)
    nll = log_z - (1 - smoothing) * chosen - smoothing * uniform
    return jnp.mean(nll + z_weight * log_z ** 2)


# -- T5: encoder, decoder with cross attention, relative position biases

def _buckets(queries, keys, bidirectional, count=8, furthest=16):
    """T5's relative position buckets: exact when near, logarithmic when far."""
    relative = jnp.arange(keys)[None, :] - jnp.arange(queries)[:, None]
    offset = 0
    if bidirectional:
        count //= 2
        offset = jnp.where(relative > 0, count, 0)
        distance = jnp.abs(relative)
    else:
        distance = jnp.maximum(-relative, 0)
    exact = count // 2
    ratio = jnp.log(jnp.maximum(distance, 1) / exact) / np.log(furthest / exact)
    far = jnp.minimum(exact + (ratio * (count - exact)).astype(jnp.int32), count - 1)
    return offset + jnp.where(distance < exact, distance, far)


def t5():
    d, heads, size, ffn, vocab, batch, source, target = 24, 4, 6, 48, 36, 8, 10, 7
    draw = Draw(11)
    attention = lambda: {"q": draw.normal(d, heads * size), "k": draw.normal(d, heads * size),
                         "v": draw.normal(d, heads * size), "o": draw.normal(heads * size, d), "ln": np.ones(d, np.float32)}
    feed = lambda: {"gate": draw.normal(d, ffn), "up": draw.normal(d, ffn), "down": draw.normal(ffn, d),
                    "ln": np.ones(d, np.float32)}
    attention_specs = {"q": COLUMN, "k": COLUMN, "v": COLUMN, "o": ROW, "ln": P()}
    feed_specs = {"gate": COLUMN, "up": COLUMN, "down": ROW, "ln": P()}
    params = {"embed": draw.normal(vocab, d, scale=1), "enc_bias": draw.normal(8, heads), "dec_bias": draw.normal(8, heads),
              "encoder": [{"self": attention(), "ff": feed()}],
              "decoder": [{"self": attention(), "cross": attention(), "ff": feed()}],
              "enc_ln": np.ones(d, np.float32), "dec_ln": np.ones(d, np.float32)}
    specs = {"embed": ROW, "enc_bias": P(None, "tp"), "dec_bias": P(None, "tp"),
             "encoder": [{"self": attention_specs, "ff": feed_specs}],
             "decoder": [{"self": attention_specs, "cross": attention_specs, "ff": feed_specs}],
             "enc_ln": P(), "dec_ln": P()}

    def attend(x, memory, w, bias):
        cut = lambda a: a.reshape(*a.shape[:2], heads, size)
        q, k, v = cut(x @ w["q"]), cut(memory @ w["k"]), cut(memory @ w["v"])
        weight = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) + bias, -1)
        return jnp.einsum("bhqk,bkhd->bqhd", weight, v).reshape(*x.shape[:2], -1) @ w["o"]

    def feed_forward(x, w):
        h = rms_norm(x, w["ln"])
        return x + (jax.nn.gelu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]

    def encode(params, tokens, mask):
        bias = params["enc_bias"][_buckets(source, source, True)].transpose(2, 0, 1)[None]
        bias = jnp.where(mask[:, None, None, :], bias, -1e9)
        x = params["embed"][tokens]
        for w in params["encoder"]:
            h = rms_norm(x, w["self"]["ln"])
            x = feed_forward(x + attend(h, h, w["self"], bias), w["ff"])
        return rms_norm(x, params["enc_ln"])

    def loss_fn(params, tokens, lengths, labels):
        mask = jnp.arange(source)[None, :] < lengths[:, None]
        memory = encode(params, tokens, mask)
        shifted = jnp.pad(labels[:, :-1], ((0, 0), (1, 0)))
        bias = params["dec_bias"][_buckets(target, target, False)].transpose(2, 0, 1)[None]
        bias = bias + jnp.where(jnp.tril(jnp.ones((target, target), bool)), 0.0, -1e9)
        cross = jnp.where(mask, 0.0, -1e9)[:, None, None, :]
        y = params["embed"][shifted]
        for w in params["decoder"]:
            h = rms_norm(y, w["self"]["ln"])
            y = y + attend(h, h, w["self"], bias)
            y = y + attend(rms_norm(y, w["cross"]["ln"]), memory, w["cross"], cross)
            y = feed_forward(y, w["ff"])
        logits = (rms_norm(y, params["dec_ln"]) * d ** -0.5) @ params["embed"].T
        return smoothed_cross_entropy(logits, labels)
    args = (adafactor_state(params), draw.ints(vocab, batch, source), draw.ints(source, batch) + 1,
            draw.ints(vocab, batch, target))
    return adafactor(loss_fn), args, (adafactor_shardings(specs, params), P(BATCH), P(BATCH), P(BATCH)), 0


# -- LLaMA with a sliding window: layers under scan, rematerialized, sequence sharded between blocks

def _rotate(x, positions):
    """Rotary positions on interleaved pairs."""
    size = x.shape[-1]
    angle = positions[:, None] * (1e4 ** (-jnp.arange(0, size, 2) / size))[None, :]
    cos, sin = jnp.cos(angle)[None, :, None, :], jnp.sin(angle)[None, :, None, :]
    pairs = x.astype(jnp.float32).reshape(*x.shape[:-1], size // 2, 2)
    a, b = pairs[..., 0], pairs[..., 1]
    return jnp.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape).astype(x.dtype)


def llama(dtype=jnp.float32, optimizer=lion):
    d, heads, groups, size, ffn, vocab, batch, seq, layers, window = 32, 4, 2, 8, 48, 40, 8, 12, 2, 5
    draw = Draw(12)
    stack = lambda *shape: draw.normal(layers, *shape)
    params = {"embed": draw.normal(vocab, d), "head": draw.normal(d, vocab), "norm": np.ones(d, np.float32),
              "layers": {"ln1": np.ones((layers, d), np.float32), "wq": stack(d, heads * size),
                         "wkv": stack(d, 2, groups, size), "wo": stack(heads * size, d),
                         "ln2": np.ones((layers, d), np.float32), "w13": stack(d, 2 * ffn), "w2": stack(ffn, d)}}
    specs = {"embed": ROW, "head": COLUMN, "norm": P(),
             "layers": {"ln1": P(), "wq": P(None, "fsdp", "tp"), "wkv": P(None, "fsdp", None, "tp"),
                        "wo": P(None, "tp", "fsdp"), "ln2": P(), "w13": P(None, "fsdp", "tp"),
                        "w2": P(None, "tp", "fsdp")}}
    spread = lambda x: lax.with_sharding_constraint(x, P(BATCH, "tp", None))

    @jax.checkpoint
    def layer(x, w):
        w = jax.tree.map(lambda a: a.astype(dtype), w)
        h = rms_norm(x, w["ln1"])
        position = jnp.arange(seq)
        q = _rotate((h @ w["wq"]).reshape(batch, seq, heads, size), position)
        k, v = jnp.moveaxis(jnp.einsum("bsd,dcgk->bscgk", h, w["wkv"]), 2, 0)
        k, v = (jnp.repeat(a, heads // groups, 2) for a in (_rotate(k, position), v))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k, preferred_element_type=jnp.float32) * size ** -0.5
        back = position[:, None] - position[None, :]
        scores = jnp.where((back >= 0) & (back < window), scores, jnp.finfo(jnp.float32).min)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1).astype(dtype), v)
        x = spread(x + mixed.reshape(batch, seq, -1) @ w["wo"])
        gate, up = jnp.split(rms_norm(x, w["ln2"]) @ w["w13"], 2, -1)
        return spread(x + (jax.nn.silu(gate) * up) @ w["w2"])

    def loss_fn(params, tokens):
        x = spread(params["embed"].astype(dtype)[tokens])
        x, _ = lax.scan(lambda x, w: (layer(x, w), None), x, params["layers"])
        logits = jnp.dot(rms_norm(x, params["norm"]), params["head"].astype(dtype),
                         preferred_element_type=jnp.float32)[:, :-1]
        targets = tokens[:, 1:]
        kept = (targets != 0).astype(jnp.float32)
        nll = -jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], -1)[..., 0]
        return jnp.sum(nll * kept) / jnp.sum(kept)
    tokens = draw.ints(vocab, batch, seq)
    if optimizer is not lion:
        return optimizer(loss_fn), (params, tokens), (specs, P(BATCH)), 0
    return lion(loss_fn), (lion_state(params), tokens), (lion_shardings(specs), P(BATCH)), 0


# -- BERT: masked positions are gathered; dropout; a sentence head

def bert():
    d, heads, ffn, vocab, batch, seq, masked = 24, 3, 48, 40, 8, 10, 3
    draw = Draw(13)
    linear = lambda i, o: {"w": draw.normal(i, o), "b": draw.normal(o)}
    block = lambda: {"q": draw.normal(d, d), "k": draw.normal(d, d), "v": draw.normal(d, d), "o": linear(d, d),
                     "ln1": norm_weights(d), "fc": linear(d, ffn), "out": linear(ffn, d), "ln2": norm_weights(d)}
    column, row = {"w": COLUMN, "b": P("tp")}, {"w": ROW, "b": P()}
    specs_block = {"q": COLUMN, "k": COLUMN, "v": COLUMN, "o": row, "ln1": NORM_SPECS, "fc": column, "out": row,
                   "ln2": NORM_SPECS}
    params = {"word": draw.normal(vocab, d), "position": draw.normal(seq, d), "segment": draw.normal(2, d),
              "ln": norm_weights(d), "blocks": [block()], "mlm": linear(d, d),
              "mlm_ln": norm_weights(d), "mlm_bias": draw.normal(vocab), "pool": linear(d, d), "nsp": linear(d, 2)}
    specs = {"word": ROW, "position": P(), "segment": P(), "ln": NORM_SPECS, "blocks": [specs_block], "mlm": column,
             "mlm_ln": NORM_SPECS, "mlm_bias": P("tp"), "pool": column, "nsp": {"w": P("fsdp"), "b": P()}}
    apply = lambda x, w: x @ w["w"] + w["b"]
    drop = lambda key, x: jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0.0)

    def attend(x, w, mask):
        cut = lambda a: a.reshape(batch, seq, heads, d // heads).swapaxes(1, 2)
        q, k, v = (cut(x @ w[n]) for n in "qkv")
        scores = jnp.where(mask[:, None, None, :], q @ k.swapaxes(-1, -2) * (d // heads) ** -0.5, -jnp.inf)
        return apply((jax.nn.softmax(scores) @ v).swapaxes(1, 2).reshape(batch, seq, d), w["o"])

    def loss_fn(params, key, tokens, segments, lengths, places, labels, follows):
        mask = jnp.arange(seq) < lengths[:, None]
        x = params["word"][tokens] + params["position"] + jnp.take(params["segment"], segments, axis=0)
        x = layer_norm(x, params["ln"])
        for w, part in zip(params["blocks"], jax.random.split(key, 1)):
            x = layer_norm(x + drop(part, attend(x, w, mask)), w["ln1"])
            h = jax.nn.gelu(apply(x, w["fc"]), approximate=False)
            x = layer_norm(x + apply(h, w["out"]), w["ln2"])
        picked = jnp.take_along_axis(x, places[..., None], 1)
        picked = layer_norm(jax.nn.gelu(apply(picked, params["mlm"]), approximate=False), params["mlm_ln"])
        logits = picked @ params["word"].T + params["mlm_bias"]
        mlm = -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1).mean()
        pooled = apply(jnp.tanh(apply(x[:, 0], params["pool"])), params["nsp"])
        return mlm - jnp.mean(jnp.sum(jax.nn.one_hot(follows, 2) * jax.nn.log_softmax(pooled), -1))
    key = np.array([3, 1234567], np.uint32)
    args = (adam_state(params), key, draw.ints(vocab, batch, seq), draw.ints(2, batch, seq), draw.ints(seq, batch) + 1,
            draw.ints(seq, batch, masked), draw.ints(vocab, batch, masked), draw.ints(2, batch))
    data = P(BATCH)
    return adam(loss_fn), args, (adam_shardings(specs), P(), data, data, data, data, data, data), 0
