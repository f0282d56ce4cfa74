# SPDX-License-Identifier: Apache-2.0

"""Training steps of the kinds of Llama, Qwen3, MPT and Nemotron as published runs have them:
weights in f32, products in bf16, AdamW, and what their frameworks keep of the forward pass.

Shapes only; see runs.py.
"""

import functools
import sys
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import PartitionSpec as P

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "examples" / "qwen3"), str(ROOT / "python-bindings")]

import model  # noqa: E402
import weft  # noqa: E402

BATCH = ("mb", *model.BATCH)
# What stores weights, gradients and moments in shards.
SHARDS = ("fsdp", "cp")
# What is kept of a layer; None: everything.
KEPT: dict[str, object] = {
    "none": None,
    "full": jax.checkpoint_policies.nothing_saveable,
    # Of the products, in their order, every second one; and attention.
    "op": jax.checkpoint_policies.save_only_these_names("q", "v", "gate", "down", "attention"),
    # Products that are not PyTorch's own are not counted.
    "attention": jax.checkpoint_policies.save_only_these_names("attention"),
    "op-attention": jax.checkpoint_policies.save_only_these_names("q", "v", "gate", "down"),
    "projections": jax.checkpoint_policies.save_only_these_names("q", "k", "v", "out", "down"),
    "qkv": jax.checkpoint_policies.save_only_these_names("q", "k", "v"),
    # All products and attention: norms and activation functions are computed again.
    "products": jax.checkpoint_policies.save_only_these_names(
        "q", "k", "v", "attention", "out", "gate", "up", "down"),
}
ACTIVATIONS = {"swiglu": lambda x: x * jax.nn.sigmoid(x), "gelu": jax.nn.gelu,
               "relu2": lambda x: jnp.square(jax.nn.relu(x))}


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
    kept: str = "none"
    qk_norm: bool = False
    # Of the feed-forward part: swiglu multiplies a second product by it.
    activation: str = "swiglu"
    # Whether the head is the table of embeddings.
    tied: bool = False

    compute_dtype = jnp.bfloat16
    learning_rate = 1e-3


def norms(c):
    """Weights of the norms of queries and keys, if the model has them."""
    names = ("q_norm", "k_norm") if c.qk_norm else ()
    return {name: ((c.head_dim,), P()) for name in names}


def layer_weights(c):
    d, q, kv = c.d_model, c.heads * c.head_dim, c.kv_heads * c.head_dim
    column, row = P(SHARDS, "tp"), P("tp", SHARDS)
    attention = {"attn_norm": ((d,), P()), "wq": ((d, q), column), "wk": ((d, kv), column),
                 "wv": ((d, kv), column), "wo": ((q, d), row), "mlp_norm": ((d,), P())}
    gate = {"w_gate": ((d, c.ffn), column)} if c.activation == "swiglu" else {}
    return {**attention, **gate, "w_up": ((d, c.ffn), column), "w_down": ((c.ffn, d), row),
            **norms(c)}


def weights(c):
    table = ((c.vocab, c.d_model), P("tp", SHARDS))
    head = {} if c.tied else {"head": table}
    return {"embed": table, "layers": [layer_weights(c) for _ in range(c.layers)],
            "final_norm": ((c.d_model,), P()), **head}


def feed_forward(c, h, w):
    up = checkpoint_name(h @ w["w_up"], "up")
    gate = checkpoint_name(h @ w["w_gate"], "gate") if c.activation == "swiglu" else up
    hidden = ACTIVATIONS[c.activation](gate)
    hidden = lax.with_sharding_constraint(hidden * up if c.activation == "swiglu" else hidden,
                                          P(BATCH, "cp", "tp"))
    return checkpoint_name(hidden @ w["w_down"], "down")


def layer(c, x, w, angles):
    w = jax.tree.map(lambda a: a.astype(c.compute_dtype), w)
    batch, seq, _ = x.shape
    whole = functools.partial(lax.with_sharding_constraint, shardings=P(BATCH, "cp", None))
    parted = functools.partial(lax.with_sharding_constraint,
                               shardings=P(BATCH, ("cp", "tp"), None))
    h = whole(model.rms_norm(x, w["attn_norm"]))
    split = lambda name, heads: lax.with_sharding_constraint(
        checkpoint_name(h @ w["w" + name], name).reshape(batch, seq, heads, c.head_dim),
        P(BATCH, "cp", "tp", None))
    q, k, v = split("q", c.heads), split("k", c.kv_heads), split("v", c.kv_heads)
    if c.qk_norm:
        q, k = model.rms_norm(q, w["q_norm"]), model.rms_norm(k, w["k_norm"])
    mixed = weft.jax.dot_product_attention(model.rotate(q, angles), model.rotate(k, angles), v,
                                           is_causal=True, residual_checkpoint_name="attention")
    mixed = lax.with_sharding_constraint(mixed, P(BATCH, "cp", "tp", None))
    x = parted(x + parted(checkpoint_name(mixed.reshape(batch, seq, -1) @ w["wo"], "out")))
    return parted(x + parted(feed_forward(c, whole(model.rms_norm(x, w["mlp_norm"])), w)))


def loss_fn(c, params, tokens, targets):
    angles = model.rotary_angles(c)
    x = params["embed"].astype(c.compute_dtype).at[tokens].get(mode="promise_in_bounds")
    x = lax.with_sharding_constraint(x, P(BATCH, "cp", None))
    step = functools.partial(layer, c)
    if KEPT[c.kept]:
        step = jax.checkpoint(step, policy=KEPT[c.kept])
    for w in params["layers"]:
        x = step(x, w, angles)
    x = model.rms_norm(x, params["final_norm"].astype(c.compute_dtype))
    head = params["embed" if c.tied else "head"].astype(c.compute_dtype)
    logits = jnp.einsum("bsd,vd->bsv", x, head).astype(jnp.float32)
    logits = lax.with_sharding_constraint(logits, P(BATCH, "cp", "tp"))
    return model.cross_entropy(logits, targets)


def export(c, mesh):
    """The step's module; `mesh` has mb (microbatches), dp, fsdp, cp (parts of a sequence) and tp."""
    is_weight = lambda leaf: isinstance(leaf, tuple)
    tree = weights(c)
    specs = jax.tree.map(lambda w: w[1], tree, is_leaf=is_weight)
    params = jax.tree.map(lambda w: jax.ShapeDtypeStruct(w[0], jnp.float32), tree,
                          is_leaf=is_weight)
    opt = {"m": params, "v": params, "t": jax.ShapeDtypeStruct((), jnp.int32)}
    tokens = jax.ShapeDtypeStruct((c.batch, c.seq), jnp.int32)

    def train_step(params, opt, tokens, targets):
        loss, grads = jax.value_and_grad(lambda p: loss_fn(c, p, tokens, targets))(params)
        params, opt = model.adamw(c, params, grads, opt, specs)
        return params, opt, loss

    state, data = (specs, {"m": specs, "v": specs, "t": P()}), P(BATCH, "cp")
    return weft.jax.export(train_step, params, opt, tokens, tokens, mesh=mesh,
                           donate_argnums=(0, 1), in_shardings=(*state, data, data),
                           out_shardings=(*state, P()))
