# SPDX-License-Identifier: Apache-2.0

"""A Qwen3-style dense decoder and its AdamW training step in plain JAX.

RMSNorm, QK-norm, rotary positions, grouped-query causal attention, SwiGLU, a
tied output head and cross-entropy. Weights are kept in f32; the compute type is
f32 or bf16. Written as a user of JAX would, with nothing about weft in it:
shardings are PartitionSpecs, and activations are constrained where tensor
parallelism needs a hint.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P

BATCH = ("dp", "fsdp")


@dataclass(frozen=True)
class Config:
    layers: int
    d_model: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    seq: int
    batch: int
    dtype: str = "f32"
    learning_rate: float = 1e-3

    @property
    def compute_dtype(self):
        return {"f32": jnp.float32, "bf16": jnp.bfloat16}[self.dtype]


CONFIGS = {
    "XS": Config(2, 64, 4, 2, 16, 128, 256, 32, 8),
    "S": Config(2, 256, 4, 2, 64, 768, 1024, 128, 8),
    "M": Config(4, 512, 8, 4, 64, 1536, 4096, 256, 8),
    "Q06": Config(2, 1024, 16, 8, 128, 3072, 16384, 256, 8),
}


def config(size, dtype="f32"):
    return replace(CONFIGS[size], dtype=dtype)


# -- weights

def layer_weights(c):
    """name -> (shape, sharding, standard deviation; None for a norm's ones)."""
    d, q, kv = c.d_model, c.heads * c.head_dim, c.kv_heads * c.head_dim
    column, row = P("fsdp", "tp"), P("tp", "fsdp")
    return {
        "attn_norm": ((d,), P(), None),
        "wq": ((d, q), column, d ** -0.5),
        "wk": ((d, kv), column, d ** -0.5),
        "wv": ((d, kv), column, d ** -0.5),
        "q_norm": ((c.head_dim,), P(), None),
        "k_norm": ((c.head_dim,), P(), None),
        "wo": ((q, d), row, q ** -0.5),
        "mlp_norm": ((d,), P(), None),
        "w_gate": ((d, c.ffn), column, d ** -0.5),
        "w_up": ((d, c.ffn), column, d ** -0.5),
        "w_down": ((c.ffn, d), row, c.ffn ** -0.5),
    }


def weights(c):
    """The tree of all weights, in the order in which they are drawn."""
    return {
        "embed": ((c.vocab, c.d_model), P("tp", "fsdp"), 0.02),
        "layers": [layer_weights(c) for _ in range(c.layers)],
        "final_norm": ((c.d_model,), P(), None),
    }


def is_weight(leaf):
    return isinstance(leaf, tuple)


def param_specs(c):
    return jax.tree.map(lambda w: w[1], weights(c), is_leaf=is_weight)


def init(c, seed=0):
    """Weights, tokens and targets as numpy arrays, tokens and targets drawn first."""
    random = np.random.default_rng(seed)
    tokens, targets = (random.integers(0, c.vocab, (c.batch, c.seq), dtype=np.int32)
                       for _ in range(2))
    draw = lambda tree: {name: _draw(random, entry) for name, entry in tree.items()}
    params = {}
    for name, entry in weights(c).items():
        params[name] = [draw(layer) for layer in entry] if name == "layers" else _draw(random, entry)
    return params, tokens, targets


def _draw(random, weight):
    shape, _, deviation = weight
    if deviation is None:
        return np.ones(shape, np.float32)
    return random.standard_normal(shape, np.float32) * np.float32(deviation)


def init_optimizer(params):
    zeros = lambda: jax.tree.map(lambda p: np.zeros(p.shape, np.float32), params)
    return {"m": zeros(), "v": zeros(), "t": np.zeros((), np.int32)}


# -- the model

def rms_norm(x, weight):
    wide = x.astype(jnp.float32)
    scale = lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-6)
    return (wide * scale * weight.astype(jnp.float32)).astype(x.dtype)


def rotary_angles(c):
    half = c.head_dim // 2
    inverse = jnp.exp(lax.iota(jnp.float32, half) * np.float32(-np.log(1e6) / half))
    angle = lax.iota(jnp.float32, c.seq)[:, None] * inverse[None, :]
    return jnp.cos(angle)[None, :, None, :], jnp.sin(angle)[None, :, None, :]


def rotate(x, angles):
    cos, sin = angles
    half = x.shape[-1] // 2
    wide = x.astype(jnp.float32)
    a, b = wide[..., :half], wide[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1).astype(x.dtype)


def attention(c, q, k, v):
    batch, seq = q.shape[:2]
    q = q.reshape(batch, seq, c.kv_heads, c.heads // c.kv_heads, c.head_dim)
    scores = jnp.einsum("bqkgd,bskd->bkgqs", q, k, preferred_element_type=jnp.float32)
    scores = scores * (c.head_dim ** -0.5)
    row, column = (lax.broadcasted_iota(jnp.int32, (seq, seq), d) for d in (0, 1))
    scores = jnp.where(column <= row, scores, -1e30)
    peak = lax.stop_gradient(jnp.max(scores, -1, keepdims=True))
    weight = jnp.exp(scores - peak)
    weight = (weight / jnp.sum(weight, -1, keepdims=True)).astype(q.dtype)
    out = jnp.einsum("bkgqs,bskd->bqkgd", weight, v)
    return out.reshape(batch, seq, c.heads * c.head_dim)


def layer(c, x, w, angles):
    w = jax.tree.map(lambda a: a.astype(c.compute_dtype), w)
    batch, seq, _ = x.shape
    h = rms_norm(x, w["attn_norm"])
    split = lambda y, heads: lax.with_sharding_constraint(
        y.reshape(batch, seq, heads, c.head_dim), P(BATCH, None, "tp", None))
    q = split(h @ w["wq"], c.heads)
    k = split(h @ w["wk"], c.kv_heads)
    v = split(h @ w["wv"], c.kv_heads)
    q = rotate(rms_norm(q, w["q_norm"]), angles)
    k = rotate(rms_norm(k, w["k_norm"]), angles)
    mixed = lax.with_sharding_constraint(attention(c, q, k, v), P(BATCH, None, "tp"))
    x = lax.with_sharding_constraint(x + mixed @ w["wo"], P(BATCH, None, None))
    h = rms_norm(x, w["mlp_norm"])
    gate, up = h @ w["w_gate"], h @ w["w_up"]
    hidden = (gate * jax.nn.sigmoid(gate)) * up
    hidden = lax.with_sharding_constraint(hidden, P(BATCH, None, "tp"))
    return lax.with_sharding_constraint(x + hidden @ w["w_down"], P(BATCH, None, None))


def cross_entropy(logits, targets):
    peak = lax.stop_gradient(jnp.max(logits, -1, keepdims=True))
    shifted = logits - peak
    total = jnp.log(jnp.sum(jnp.exp(shifted), -1))
    chosen = jnp.take_along_axis(shifted, targets[..., None], -1, mode="promise_in_bounds")
    return jnp.mean(total - chosen[..., 0])


def embed(c, params, tokens):
    table = params["embed"].astype(c.compute_dtype)
    x = table.at[tokens].get(mode="promise_in_bounds")
    return lax.with_sharding_constraint(x, P(BATCH, None, None)), table


def head_loss(c, params, x, table, targets):
    x = rms_norm(x, params["final_norm"].astype(c.compute_dtype))
    logits = jnp.einsum("bsd,vd->bsv", x, table, preferred_element_type=jnp.float32)
    logits = lax.with_sharding_constraint(logits, P(BATCH, None, "tp"))
    return cross_entropy(logits, targets)


def loss_fn(c, params, tokens, targets):
    angles = rotary_angles(c)
    x, table = embed(c, params, tokens)
    for w in params["layers"]:
        x = layer(c, x, w, angles)
    return head_loss(c, params, x, table, targets)


# -- the step

def adamw(c, params, grads, opt, specs):
    """Decoupled weight decay on matrices only: a norm's weight is not sharded."""
    b1, b2, eps, decay = 0.9, 0.95, 1e-8, 0.1
    t = opt["t"] + 1
    tf = t.astype(jnp.float32)
    c1, c2 = 1 - jnp.power(b1, tf), 1 - jnp.power(b2, tf)
    m = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, opt["m"], grads)
    v = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, opt["v"], grads)

    def update(p, m, v, spec):
        direction = (m / c1) / (jnp.sqrt(v / c2) + eps)
        is_matrix = any(axis is not None for axis in spec)
        return p - c.learning_rate * (direction + (decay if is_matrix else 0.0) * p)
    params = jax.tree.map(update, params, m, v, specs)
    return params, {"m": m, "v": v, "t": t}


def make_step(c):
    """step(params, opt, tokens, targets) -> params, opt, loss."""
    def train_step(params, opt, tokens, targets):
        loss, grads = jax.value_and_grad(lambda p: loss_fn(c, p, tokens, targets))(params)
        params, opt = adamw(c, params, grads, opt, param_specs(c))
        return params, opt, loss
    return train_step


def shardings(c):
    """in_shardings and out_shardings of the step."""
    params = param_specs(c)
    opt = {"m": params, "v": params, "t": P()}
    data = P(BATCH, None)
    return (params, opt, data, data), (params, opt, P())
