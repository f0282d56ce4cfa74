# SPDX-License-Identifier: Apache-2.0

"""Attention in the forms in which users write it.

Each entry of FORMS gives (function, arguments, what the op's configuration says
beside the scale). The gradients of queries, keys and values, which come first,
are taken in the tests. Forms of libraries are written as the library has them.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

B, S, H, D = 2, 8, 4, 16
SCALE = np.float32(0.25)
random = np.random.default_rng(4)
LOW = -1e30


def draw(*shape):
    return random.standard_normal(shape).astype(np.float32)


def of_heads(keys=H):
    """Queries, keys and values as sequences of heads."""
    return draw(B, S, H, D), draw(B, S, keys, D), draw(B, S, keys, D)


def causal(size=S):
    return jnp.tril(jnp.ones((size, size), bool))


def scores(q, k):
    return jnp.einsum("bqhd,bkhd->bhqk", q, k) * SCALE


def mix(weights, v):
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v)


def plain(q, k, v):
    return mix(jax.nn.softmax(scores(q, k), -1), v)


def heads_first(q, k, v):
    s = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.float32(4)
    s = jnp.where(causal(), s, -jnp.inf)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(s, -1), v)


def one_head(q, k, v):
    s = q @ k.T * SCALE
    e = jnp.exp(s - lax.stop_gradient(s.max(-1, keepdims=True)))
    return (e / e.sum(-1, keepdims=True)) @ v


def mapped(q, k, v):
    """vmap over sequences and heads, with an additive mask."""
    def one(q, k, v):
        before = jnp.arange(S)[:, None] >= jnp.arange(S)[None, :]
        s = q @ k.T / np.float32(8.9442) + jnp.where(before, 0.0, -1e9)
        return jax.nn.softmax(s) @ v
    return jax.vmap(jax.vmap(one, (1, 1, 1), 1))(q, k, v)


def repeated(q, k, v):
    """Two heads share keys and values, which are repeated."""
    k, v = jnp.repeat(k, 2, axis=2), jnp.repeat(v, 2, axis=2)
    row, column = (lax.broadcasted_iota(jnp.int32, (S, S), d) for d in (0, 1))
    return mix(jax.nn.softmax(jnp.where(column <= row, scores(q, k), LOW), -1), v)


def grouped(q, k, v):
    """The same by a reshape of the queries."""
    q = q.reshape(B, S, 2, 2, D)
    s = jnp.where(causal(), jnp.einsum("bqkgd,bskd->bkgqs", q, k) * SCALE, LOW)
    return jnp.einsum("bkgqs,bskd->bqkgd", jax.nn.softmax(s, -1), v).reshape(B, S, H, D)


def one_for_all(q, k, v):
    """All heads share one head of keys and values."""
    s = jnp.einsum("bqhd,bkd->bhqk", q, k) * SCALE
    return jnp.einsum("bhqk,bkd->bqhd", jax.nn.softmax(s, -1), v)


def merged(q, k, v):
    """Heads lie in one dim with the depth, before and after."""
    q, k, v = (x.reshape(B, S, H, D).transpose(0, 2, 1, 3) for x in (q, k, v))
    mixed = jax.nn.softmax(q @ k.swapaxes(-1, -2) * SCALE) @ v
    return mixed.transpose(0, 2, 1, 3).reshape(B, S, H * D)


def divided_after(q, k, v):
    s = scores(q, k)
    e = jnp.exp(s - lax.stop_gradient(s.max(-1, keepdims=True)))
    return mix(e, v) / e.sum(-1).swapaxes(1, 2)[..., None]


def no_maximum(q, k, v):
    e = jnp.exp(scores(q, k))
    return mix(e / e.sum(-1, keepdims=True), v)


def log_softmax(q, k, v):
    return mix(jnp.exp(jax.nn.log_softmax(scores(q, k), -1)), v)


def multiplied(q, k, v):
    """GPT-2's mask: scores are multiplied by it, and what it leaves out is made very low."""
    kept = jnp.tril(jnp.ones((S, S), q.dtype))
    return mix(jax.nn.softmax(scores(q, k) * kept - 1e10 * (1 - kept), -1), v)


def powers_of_two(q, k, v):
    powers = jnp.exp2(scores(q, k) * np.log2(np.e))
    return mix(powers / powers.sum(-1, keepdims=True), v)


def keys_first(q, k, v):
    weights = jax.nn.softmax(jnp.einsum("bjhd,bihd->bjhi", k, q), axis=1)
    return jnp.einsum("bjhi,bjhd->bihd", weights, v)


def masked_twice(q, k, v):
    seen = causal()
    weights = jax.nn.softmax(jnp.where(seen, scores(q, k), -1e9), -1)
    return mix(jnp.where(seen, weights, 0), v)


def prefix(q, k, v):
    """All see the first three keys."""
    seen = causal() | (jnp.arange(S) < 3)
    return mix(jax.nn.softmax(jnp.where(seen, scores(q, k), -1e9), -1), v)


def part_shared(q, k, v):
    """Keys of which a part is the same for all heads, and shorter values."""
    shared = jnp.broadcast_to(k[:, :, :1, :2], (*k.shape[:3], 2))
    return mix(jax.nn.softmax(scores(q, jnp.concatenate([shared, k[..., 2:]], -1)), -1), v[..., :3])


def mapped_norms(q, k, v):
    """Keys are repeated and then normalized, values only repeated; a mask from outside of the trace."""
    def norm(x):
        return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)

    def one(q, k, v):
        return jax.nn.softmax(jnp.where(TRIANGLE, norm(q) @ norm(k).T, -jnp.inf)) @ v

    k, v = jnp.repeat(k, 2, axis=2), jnp.repeat(v, 2, axis=2)
    return jax.vmap(jax.vmap(one, (1, 1, 1), 1))(q, k, v)


def shared_queries(q, k, v):
    """Values are repeated and then scaled, keys only repeated."""
    k, v = jnp.repeat(k, 2, axis=2), jnp.repeat(v, 2, axis=2) * (1 + jnp.arange(H))[:, None]
    return mix(jax.nn.softmax(scores(q, k), -1), v)


def of_a_constant(mask):
    return lambda q, k, v: mix(jax.nn.softmax(jnp.where(mask, scores(q, k), -jnp.inf), -1), v)


def softcap(q, k, v):
    """As Gemma has it: scaled queries, a softcap, and the lowest number."""
    s = jnp.einsum("bqhd,bkhd->bhqk", q * SCALE, k)
    s = jnp.tanh(s / 50.0) * 50.0
    s = jnp.where(causal()[None, None], s, jnp.finfo(jnp.float32).min)
    return mix(jax.nn.softmax(s, -1), v)


def alibi(q, k, v):
    place = jnp.arange(S)
    slopes = jnp.array([0.5, 0.25, 0.125, 0.0625])[:, None, None]
    s = scores(q, k) + slopes * (place[None, :] - place[:, None])
    return mix(jax.nn.softmax(jnp.where(place[:, None] >= place, s, -jnp.inf), -1), v)


def biased(q, k, v, bias):
    return mix(jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) + bias[None], -1), v)


def padded(q, k, v, kept):
    seen = kept[:, None, None, :] & causal()
    return mix(jax.nn.softmax(jnp.where(seen, scores(q, k), -1e9), -1), v)


def segmented(q, k, v, ids):
    seen = (ids[:, :, None] == ids[:, None, :]) & causal()
    return jax.nn.dot_product_attention(q, k, v, mask=seen[:, None])


def linen(q, k, v):
    """flax.linen: positions are data to tracing, masks are floats, queries are divided."""
    place = jnp.broadcast_to(jnp.arange(S, dtype=jnp.int32), (B, S))
    mask = jnp.greater_equal(place[..., None], place[..., None, :])[:, None].astype(jnp.float32)
    q = q / jnp.sqrt(D).astype(q.dtype)
    s = jnp.einsum("...qhd,...khd->...hqk", q, k)
    s = jnp.where(mask, s, jnp.finfo(s.dtype).min)
    return jnp.einsum("...hqk,...khd->...qhd", jax.nn.softmax(s).astype(v.dtype), v)


def equinox(q, k, v):
    """equinox.nn: one sequence, vmap over heads and over the batch."""
    def one(q, k, v):
        logits = jnp.einsum("sd,Sd->sS", q / jnp.sqrt(D).astype(q.dtype), k)
        logits = jnp.where(causal(), logits, jnp.finfo(logits.dtype).min)
        weights = jax.nn.softmax(logits.astype(jnp.float32), axis=-1).astype(q.dtype)
        return jnp.einsum("sS,Sd->sd", weights, v)
    return jax.vmap(jax.vmap(one, 1, 1))(q, k, v)


def hugging_face(q, k, v, kept):
    """A Hugging Face Flax model: a bias of 0 and the lowest number, from data."""
    seen = (kept[:, None, None, :] & causal()).astype(jnp.int32)
    bias = lax.select(seen > 0, jnp.zeros(seen.shape), jnp.full(seen.shape, jnp.finfo(jnp.float32).min))
    s = jnp.einsum("bqhd,bkhd->bhqk", q / jnp.sqrt(D).astype(q.dtype), k) + bias
    return mix(jax.nn.softmax(s), v)


def in_layers(q, k, v):
    """A loop over layers."""
    return lax.scan(lambda x, w: (plain(x * w, k, v), None), q, jnp.array([1.0, 0.5]))[0]


def library(**settings):
    return lambda q, k, v: jax.nn.dot_product_attention(q, k, v, **settings)


# Arrays that tracing only sees as constants.
TRIANGLE = np.tril(np.ones((S, S), bool))
# The first tokens see all and are seen by all.
LANDMARKS = (np.abs(np.arange(S)[:, None] - np.arange(S)) < 2) | (np.arange(S) < 2) | (np.arange(S) < 2)[:, None]

SEEN = random.random((B, 1, S, S)) > 0.2
SEEN[..., 0] = True
KEPT = random.random((B, S)) > 0.3
KEPT[:, 0] = True
IDS = np.array([[0] * 3 + [1] * 5, [0] * 4 + [1] * 4], np.int32)
BHQD = (draw(B, H, S, D), draw(B, H, S, D), draw(B, H, S, D))
SHARED = (draw(B, S, H, D), draw(B, S, D), draw(B, S, D))
FLAT = (draw(B, S, H * D), draw(B, S, H * D), draw(B, S, H * D))
ROWS = (draw(S, D), draw(S, D), draw(S, D))
CROSS = (draw(B, S, H, D), draw(B, 12, H, D), draw(B, 12, H, D))

def latent(q, k, v):
    """Keys of which one part all heads share; values have fewer numbers."""
    shared = jnp.broadcast_to(k[:, :, :1, :6], (B, S, H, 6))
    s = scores(q, jnp.concatenate([k[..., 6:], shared], -1))
    return mix(jax.nn.softmax(jnp.where(causal(), s, -jnp.inf), -1), v[..., :10])


def sum_of_products(q, k, v):
    """Of what has positions, of which all heads share the keys, and of the rest."""
    s = jnp.einsum("bqhd,bkhd->bhqk", q[..., 6:], k[..., 6:]) + jnp.einsum("bqhd,bkd->bhqk", q[..., :6], k[:, :, 0, :6])
    return mix(jax.nn.softmax(jnp.where(causal(), s * SCALE, -jnp.inf), -1), v[..., :10])


def shared_by_all_heads(q, k, v):
    """Both keys, and the values, which are a part of them."""
    s = jnp.einsum("bkd,bqhd->bhqk", k[:, :, 0, 6:], q[..., 6:]) + jnp.einsum("bqhd,bkd->bhqk", q[..., :6], k[:, :, 0, :6])
    return jnp.einsum("bhqk,bkd->bhqd", jax.nn.softmax(s * SCALE, -1), v[:, :, 0])


FORMS = {
    "plain": (plain, of_heads(), ""),
    "heads_first": (heads_first, BHQD, "right = 0"),
    "one_head": (one_head, ROWS, ""),
    "mapped": (mapped, of_heads(), "right = 0"),
    "repeated": (repeated, of_heads(2), "right = 0"),
    "grouped": (grouped, of_heads(2), "right = 0"),
    "one_for_all": (one_for_all, SHARED, ""),
    "merged": (merged, FLAT, ""),
    "divided_after": (divided_after, of_heads(), ""),
    "no_maximum": (no_maximum, of_heads(), ""),
    "log_softmax": (log_softmax, of_heads(), ""),
    "multiplied": (multiplied, of_heads(), "right = 0"),
    "powers_of_two": (powers_of_two, of_heads(), ""),
    "keys_first": (keys_first, of_heads(), ""),
    "masked_twice": (masked_twice, of_heads(), "right = 0"),
    "prefix": (prefix, of_heads(), ""),
    "part_shared": (part_shared, of_heads(), ""),
    "mapped_norms": (mapped_norms, of_heads(2), "right = 0"),
    "shared_queries": (shared_queries, of_heads(2), ""),
    "latent": (latent, of_heads(), "right = 0"),
    "sum_of_products": (sum_of_products, of_heads(), "right = 0"),
    "shared_by_all_heads": (shared_by_all_heads, of_heads(), ""),
    "triangle": (of_a_constant(TRIANGLE), of_heads(), "right = 0"),
    "triangle_of_integers": (of_a_constant(TRIANGLE.astype(np.int32)), of_heads(), "right = 0"),
    "landmarks": (of_a_constant(LANDMARKS), of_heads(), ""),
    "softcap": (softcap, of_heads(), "softcap = 5.000000e+01 : f32, right = 0"),
    "alibi": (alibi, of_heads(), "right = 0"),
    "biased": (biased, (*of_heads(), draw(H, S, S)), ""),
    "padded": (padded, (*of_heads(), KEPT), "fill = -1.000000e+09 : f32"),
    "segmented": (segmented, (*of_heads(), IDS), "right = 0"),
    "linen": (linen, of_heads(), "right = 0"),
    "equinox": (equinox, of_heads(), "right = 0"),
    "hugging_face": (hugging_face, (*of_heads(), KEPT), ""),
    "library": (library(), of_heads(), ""),
    "library_causal": (library(is_causal=True), of_heads(), "right = 0"),
    "library_grouped": (library(is_causal=True, scale=0.5), of_heads(2), "right = 0"),
    "library_window": (library(local_window_size=(3, 0)), of_heads(), "left = 3, right = 0"),
    "library_mask": (library(mask=SEEN), of_heads(), "fill = "),
    "library_cross": (library(), CROSS, ""),
}
