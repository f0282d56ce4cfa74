# SPDX-License-Identifier: Apache-2.0

"""Attention that says what it is: weft keeps it one operation, plain JAX computes it.

Tensors are named by the letters of their dimensions, as in einsum: b a sequence, h a head
of keys and values, g one of the heads of queries that share it, i a query, j a key, d a
head's depth, e a value's.
"""

import functools
import json
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.ad_checkpoint import checkpoint_name
from jax.extend import source_info_util

from weft.jax._sinks import scale_rows, sink_gradient, sum_of_values

# Errors are to point at the caller.
source_info_util.register_exclusion(__file__)

# What jax.nn.dot_product_attention puts where a mask is False.
FILL = float(np.float32(-0.7 * float(np.finfo(np.float32).max)))

_LETTERS = {"q": "bihgd", "k": "bjhd", "v": "bjhe", "bias": "bhgij", "mask": "bhgij",
            "q_segments": "bi", "k_segments": "bj", "low_seeds": "bhgi", "high_seeds": "bhgi",
            "out": "bihge", "lse": "bhgi", "dout": "bihge", "dq": "bihgd", "dk": "bjhd",
            "dv": "bjhe"}
_FORWARD = ("out", "lse")
_GRADIENTS = ("dq", "dk", "dv")


def dot_product_attention(
        query: jax.Array, key: jax.Array, value: jax.Array, bias: jax.Array | None = None,
        mask: jax.Array | None = None, *, scale: float | None = None, is_causal: bool = False,
        key_value_seq_lengths: jax.Array | None = None,
        local_window_size: int | tuple[int, int] | None = None,
        logits_soft_cap: float | None = None, query_segment_ids: jax.Array | None = None,
        key_value_segment_ids: jax.Array | None = None, dropout_rate: float = 0.0,
        dropout_key: jax.Array | None = None, sinks: jax.Array | None = None,
        residual_checkpoint_name: str | None = None) -> jax.Array:
    """Attention without the square of scores, as jax.nn.dot_product_attention says it.

    Shapes: query (B, T, N, H) or (T, N, H), key (B, S, K, H), value (B, S, K, V), where K
    divides N; bias and mask broadcast to (B, N, T, S); segment ids (B, T) and (B, S), i32: a
    query sees the keys of its segment. float32, bfloat16 or float16; scores and sums are
    float32. Returns (B, T, N, V).

    A query's position is its index, also if T and S differ. A query that sees no key because of
    is_causal, local_window_size or segments gives zeros; where the mask leaves it none, all
    keys that it sees otherwise count alike. The gradient of the bias, if it is asked for, is
    computed from the scores anew, which then are in memory. Errors: shapes and types that are
    not these.

    dropout_rate drops weights at random, by dropout_key, a key of jax.random (threefry), and
    divides the others by 1 - dropout_rate. Which are dropped is a function of the key and the
    index of batch, head, query and key in this call: the same in plain JAX, in the backward
    pass and on every mesh. It is computed where it is used, and not kept.

    sinks (N,) are one more score for each query of a head, of a key that has no value: the
    weights of the keys then add up to less than one. They have a gradient, and are not dropped.

    residual_checkpoint_name is what a policy of jax.checkpoint calls the output and the sums of
    rows that the backward pass reads: one that keeps them computes no attention again.

    weft.jax.export makes it one operation, forward and backward, whose memory grows with the
    length of the sequence and not with its square. Elsewhere it is computed by einsum.
    """
    if query.ndim == 3:
        alone = lambda x: None if x is None else x[None]
        wide = lambda x: x if x is None or x.ndim == 4 else x[None]
        return dot_product_attention(
            query[None], key[None], value[None], wide(bias), wide(mask), scale=scale,
            is_causal=is_causal, key_value_seq_lengths=alone(key_value_seq_lengths),
            local_window_size=local_window_size, logits_soft_cap=logits_soft_cap,
            query_segment_ids=alone(query_segment_ids),
            key_value_segment_ids=alone(key_value_segment_ids), dropout_rate=dropout_rate,
            dropout_key=dropout_key, sinks=sinks,
            residual_checkpoint_name=residual_checkpoint_name)[0]
    _check(query, key, value, query_segment_ids, key_value_segment_ids)
    _check_dropout(dropout_rate, dropout_key)
    batch, queries, heads, depth = query.shape
    keys, shared = key.shape[1], key.shape[2]
    if key_value_seq_lengths is not None:
        inside = jnp.arange(keys)[None, :] < key_value_seq_lengths[:, None]
        inside = inside[:, None, None, :]
        mask = inside if mask is None else jnp.logical_and(mask, inside)
    grouped = (batch, queries, shared, heads // shared)
    tensors = {"q": query.reshape(*grouped, depth), "k": key, "v": value,
               "bias": _scores_like("bias", bias, (batch, heads, queries, keys), shared),
               "mask": _scores_like("mask", mask, (batch, heads, queries, keys), shared),
               "q_segments": query_segment_ids, "k_segments": key_value_segment_ids}
    if mask is not None:
        tensors["mask"] = tensors["mask"].astype(bool)
    left, right = _window(is_causal, local_window_size)
    config = {"scale": _float32(1 / math.sqrt(depth) if scale is None else scale)}
    if logits_soft_cap is not None:
        config["softcap"] = _float32(logits_soft_cap)
    if mask is not None:
        config["fill"] = FILL
    for name, bound in (("left", left), ("right", right)):
        if bound is not None:
            config[name] = bound
    if _float32(dropout_rate) != 0:
        config["dropout"] = _float32(dropout_rate)
        tensors["low_seeds"], tensors["high_seeds"] = _seeds(
            dropout_key, (batch, shared, heads // shared, queries))
    if sinks is not None:
        tensors["sinks"] = _of_heads(sinks, heads).reshape(shared, heads // shared)
    out = _attend(json.dumps(config), tensors, residual_checkpoint_name)
    return out.reshape(batch, queries, heads, value.shape[3])


def _float32(number):
    return float(np.float32(number))


def _of_heads(sinks, heads):
    if sinks.shape != (heads,) or not jnp.issubdtype(sinks.dtype, jnp.floating):
        raise ValueError(f"expected sinks of shape {(heads,)} and a type of floats, got {sinks.dtype} of {sinks.shape}")
    return sinks.astype(jnp.float32)


def _check(query, key, value, query_segments, key_segments):
    shapes = f"query {query.shape}, key {key.shape}, value {value.shape}"
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ValueError(f"expected tensors of four dimensions, got {shapes}")
    if (query.shape[0] != key.shape[0] or key.shape[:3] != value.shape[:3]
            or query.shape[3] != key.shape[3] or 0 in key.shape or query.shape[2] % key.shape[2]):
        raise ValueError(f"these do not fit together: {shapes}")
    if not query.dtype == key.dtype == value.dtype or query.dtype not in (
            jnp.float32, jnp.bfloat16, jnp.float16):
        raise ValueError("expected one of float32, bfloat16 and float16 for all, got "
                         f"{query.dtype}, {key.dtype} and {value.dtype}")
    if (query_segments is None) != (key_segments is None):
        raise ValueError("segments of queries or keys are given, expected both or none")
    for name, ids, like in (("query", query_segments, query), ("key", key_segments, key)):
        if ids is not None and (ids.shape != like.shape[:2] or ids.dtype != jnp.int32):
            raise ValueError(f"expected int32 segments of shape {like.shape[:2]} for the {name}, "
                             f"got {ids.dtype} of {ids.shape}")


def _check_dropout(rate, key):
    if isinstance(rate, (str, jax.core.Tracer)):
        raise ValueError(f"expected a dropout_rate that is a number, known when the step is traced, got {rate}")
    if not 0 <= _float32(rate) < 1:
        raise ValueError(f"expected a dropout_rate of at least 0 and below 1, got {rate}")
    if rate and key is None:
        raise ValueError(f"a dropout_rate of {rate} needs a dropout_key")


# -- what is dropped

def _threefry(low, high, first, second):
    """The words that threefry2x32 makes of a counter, as jax.random does."""
    keys = (low, high, low ^ high ^ np.uint32(0x1BD11BDA))
    first, second = first + keys[0], second + keys[1]
    for group in range(5):
        for by in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            first = first + second
            second = (second << np.uint32(by)) | (second >> np.uint32(32 - by))
            second = second ^ first
        first = first + keys[(group + 1) % 3]
        second = second + keys[(group + 2) % 3] + np.uint32(group + 1)
    return first, second


def _seeds(key, shape):
    """Two words for each query of each head, from its indices: what tells it from others."""
    if not isinstance(key, (jax.Array, np.ndarray)):
        raise ValueError(f"expected a key of threefry, got {key!r}")
    if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        key = jax.random.key_data(key)
    if key.shape != (2,) or key.dtype != jnp.uint32:
        raise ValueError("expected a key of threefry, which is two words of uint32, got "
                         f"{key.dtype} of shape {key.shape}")
    # Each index is a vector of its own: of several indices in one tensor, a part of one row and
    # one column could not tell which is which.
    batch, head, group, query = (jnp.arange(size, dtype=jnp.uint32).reshape([-1] + [1] * (3 - i))
                                 for i, size in enumerate(shape))
    place = batch * np.uint32(shape[1] * shape[2]) + head * np.uint32(shape[2]) + group
    made = _threefry(key[0], key[1], place, query)
    return tuple(jax.lax.bitcast_convert_type(words, jnp.int32) for words in made)


def _retained(settings, tensors):
    """What the weights of keys are multiplied by; see weft.attention."""
    rate = settings.get("dropout")
    if rate is None:
        return jnp.float32(1)
    low, high = (jax.lax.bitcast_convert_type(tensors[name], jnp.uint32)[..., None]
                 for name in ("low_seeds", "high_seeds"))
    keys = tensors["k"].shape[1]
    counter = jnp.arange(-(-keys // 32) * 16, dtype=jnp.uint32)
    words = _threefry(low, high, counter, jnp.zeros_like(counter))
    blocks = [word.reshape(*word.shape[:-1], -1, 1, 16) for word in words]
    bits = jnp.concatenate(blocks, axis=-2).reshape(*low.shape[:-1], -1)[..., :keys]
    gain = np.float32(1 / (1 - np.float64(rate)))
    return jnp.where(bits >= np.uint32(rate * 2.0 ** 32), gain, np.float32(0))


def _scores_like(name, array, shape, shared):
    """Brings a bias or mask to (b, h, g, i, j), dimensions of size one where it is the same."""
    if array is None:
        return None
    if array.ndim != 4 or any(size not in (1, whole) for size, whole in zip(array.shape, shape)):
        raise ValueError(f"the {name} has shape {array.shape}, which does not broadcast to {shape}")
    batch, heads, queries, keys = array.shape
    split = (shared, heads // shared) if heads != 1 else (1, 1)
    return array.reshape(batch, *split, queries, keys)


def _window(is_causal, window):
    left, right = (window, window) if isinstance(window, int) else window or (None, None)
    for bound in (left, right):
        if bound is not None and bound < 0:
            raise ValueError(f"expected a window of sizes of at least 0, got {window}")
    return left, 0 if is_causal else right


# -- one call, forward and backward

def _attend(config, tensors, kept):
    """The output of attention. `kept` names what the backward pass reads."""
    given = [name for name, tensor in tensors.items() if tensor is not None]
    parts = [name for name in given if name != "sinks"]

    def run(arrays):
        arrays = dict(zip(given, arrays))
        out, lse = forward(*[arrays[name] for name in parts])
        return scale_rows(out, lse, arrays["sinks"]) if "sinks" in arrays else out, lse

    @jax.custom_vjp
    def attend(*arrays):
        return run(arrays)[0]

    def remember(*arrays):
        # Known while the step is traced; nothing but a tuple's length can say so later.
        asked = tuple(() for name, array in zip(given, arrays) if name == "bias" and array.perturbed)
        arrays = [array.value for array in arrays]
        out, lse = run(arrays)
        if kept is not None:
            out, lse = checkpoint_name(out, kept), checkpoint_name(lse, kept)
        return out, (arrays, out, lse, asked)

    def differentiate(saved, dout):
        arrays, out, lse, asked = saved
        if not isinstance(dout, jax.Array):
            dout = jnp.zeros(out.shape, out.dtype)
        known, made = {**dict(zip(given, arrays)), "out": out, "lse": lse, "dout": dout}, {}
        if "sinks" in known:
            made["sinks"] = sink_gradient(out, lse, known["sinks"], dout)
            known["dout"] = scale_rows(dout, lse, known["sinks"])
        made.update(zip(("q", "k", "v"), backward(*[known[name] for name in (*parts, *_FORWARD, "dout")])))
        if asked:
            made["bias"] = _bias_gradient(json.loads(config), known)
        return tuple(made.get(name) for name in given)

    forward = _operation("weft.attention", config, (*parts, *_FORWARD), len(_FORWARD))
    backward = _operation("weft.attention_grad", config, (*parts, *_FORWARD, "dout", *_GRADIENTS),
                          len(_GRADIENTS))
    attend.defvjp(remember, differentiate, symbolic_zeros=True)
    return attend(*[tensors[name] for name in given])


@functools.cache
def _operation(name, config, parts, results):
    """A function of arrays that exports as one operation; under vmap its sequences are more."""
    inputs = parts[:-results]
    settings = json.loads(config)
    compute = {"weft.attention": _compute, "weft.attention_grad": _compute_gradient}[name]

    def decomposition(*arrays, config):
        return compute(settings, dict(zip(inputs, arrays)))

    @jax.custom_batching.custom_vmap
    def operation(*arrays):
        layout = json.dumps({"parts": parts, "results": results, "config": settings})
        return jax.lax.composite(decomposition, name=name, version=1)(*arrays, config=layout)

    @operation.def_vmap
    def _(size, is_batched, *arrays):
        sequences = arrays[0].shape[int(is_batched[0])]
        merged = [_merge(name, array, batched, size, sequences)
                  for name, array, batched in zip(inputs, arrays, is_batched)]
        made = operation(*merged)
        split = [array.reshape(size, -1, *array.shape[1:]) for array in made]
        return tuple(split), tuple([True] * len(split))

    return operation


def _merge(name, array, is_batched, size, sequences):
    """Makes a mapped dimension part of the first one. What is the same for all stays one."""
    if not is_batched:
        if name in ("bias", "mask") and array.shape[0] == 1:
            return array
        array = jnp.broadcast_to(array[None], (size, *array.shape))
    array = jnp.broadcast_to(array, (size, sequences, *array.shape[2:]))
    return array.reshape(-1, *array.shape[2:])


def letters(part: str) -> str:
    """The dimensions of a part."""
    return _LETTERS[part]


# -- what it means

def _scores(settings, tensors):
    """Scores (b, h, g, i, j), what they were before the bias, and which keys are seen."""
    product = jnp.einsum("bihgd,bjhd->bhgij", tensors["q"], tensors["k"],
                         preferred_element_type=jnp.float32)
    capped = product * jnp.float32(settings["scale"])
    cap = settings.get("softcap")
    if cap is not None:
        capped = cap * jnp.tanh(capped / cap)
    scores = capped
    if "bias" in tensors:
        scores = scores + tensors["bias"].astype(jnp.float32)
    if "mask" in tensors:
        scores = jnp.where(tensors["mask"], scores, jnp.float32(settings["fill"]))
    query = jnp.arange(scores.shape[3])[:, None]
    key = jnp.arange(scores.shape[4])[None, :]
    seen = jnp.ones((1, 1, 1, *scores.shape[3:]), bool)
    if "left" in settings:
        seen &= key >= query - settings["left"]
    if "right" in settings:
        seen &= key <= query + settings["right"]
    if "q_segments" in tensors:
        same = tensors["q_segments"][:, :, None] == tensors["k_segments"][:, None, :]
        seen &= same[:, None, None]
    return scores, capped, seen


def _weights(settings, tensors):
    """What each key counts, the scores before the bias, and the log of the sums."""
    scores, capped, seen = _scores(settings, tensors)
    scores = jnp.where(seen, scores, -jnp.inf)
    highest = jnp.max(scores, axis=-1, keepdims=True)
    weights = jnp.exp(scores - jnp.where(highest == -jnp.inf, 0, highest))
    total = jnp.sum(weights, axis=-1, keepdims=True)
    weights = jnp.where(total == 0, 0, weights / jnp.where(total == 0, 1, total))
    return weights, capped, (jnp.log(total) + highest)[..., 0]


def _compute(settings, tensors):
    weights, _, lse = _weights(settings, tensors)
    weights = weights * _retained(settings, tensors)
    out = jnp.einsum("bhgij,bjhe->bihge", weights, tensors["v"].astype(jnp.float32))
    return out.astype(tensors["q"].dtype), lse


def _compute_gradient(settings, tensors):
    weights, grad, capped = _score_gradient(settings, tensors)
    cap = settings.get("softcap")
    if cap is not None:
        grad = grad * (1 - jnp.square(capped / cap))
    grad = grad * jnp.float32(settings["scale"])
    query, key, dout = (tensors[name].astype(jnp.float32) for name in ("q", "k", "dout"))
    made: dict[str, Any] = {
        "dq": jnp.einsum("bhgij,bjhd->bihgd", grad, key),
        "dk": jnp.einsum("bhgij,bihgd->bjhd", grad, query),
        "dv": jnp.einsum("bhgij,bihge->bjhe", weights * _retained(settings, tensors), dout)}
    return tuple(made[name].astype(tensors[name[1:]].dtype) for name in _GRADIENTS)


def _score_gradient(settings, tensors):
    """Weights, the gradient of the scores with the bias, and the scores before it."""
    weights, capped = _weights(settings, tensors)[:2]
    dout, out, value = (tensors[name].astype(jnp.float32) for name in ("dout", "out", "v"))
    delta = sum_of_values(dout, out)[..., None]
    change = jnp.einsum("bihge,bjhe->bhgij", dout, value) * _retained(settings, tensors)
    grad = weights * (change - delta)
    if "mask" in tensors:
        grad = jnp.where(tensors["mask"], grad, 0)
    return weights, grad, capped


def _bias_gradient(settings, tensors):
    """Summed over what the bias is the same for."""
    bias = tensors["bias"]
    grad = _score_gradient(settings, tensors)[1]
    same = [i for i, size in enumerate(bias.shape) if size != grad.shape[i]]
    return jnp.sum(grad, axis=same, keepdims=True).astype(bias.dtype)
