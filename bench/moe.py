# SPDX-License-Identifier: Apache-2.0

"""A decoder whose feed-forward parts are experts, on a mesh axis of their own.

Attention, norms and AdamW are those of examples/qwen3. Tokens are routed in
groups: each expert takes up to `capacity` tokens of a group, chosen by top_k.
Outside of the experts the axis `ep` shards the batch, so that tokens cross it
by all_to_all on their way to an expert and back.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

import model

BATCH = ("dp", "fsdp", "ep")


@dataclass(frozen=True)
class Config(model.Config):
    """`ffn` is the width of one expert."""
    experts: int = 8
    chosen: int = 2
    group: int = 512
    spare: float = 1.25

    @property
    def capacity(self):
        return int(self.group * self.chosen / self.experts * self.spare)


def layer_weights(c):
    """name -> (shape, sharding), as in examples/qwen3."""
    dense = model.layer_weights(c)
    kept = {name: dense[name][:2] for name in dense if not name.startswith("w_")}
    up, down = P("ep", "fsdp", "tp"), P("ep", "tp", "fsdp")
    return {**kept, "router": ((c.d_model, c.experts), P("fsdp")),
            "w_gate": ((c.experts, c.d_model, c.ffn), up),
            "w_up": ((c.experts, c.d_model, c.ffn), up),
            "w_down": ((c.experts, c.ffn, c.d_model), down)}


def weights(c):
    tree = model.weights(c)
    return {"embed": tree["embed"][:2], "layers": [layer_weights(c) for _ in range(c.layers)],
            "final_norm": tree["final_norm"][:2]}


def choose(c, gates):
    """The experts of each token."""
    return lax.top_k(gates, c.chosen)[1]


def route(c, x, router):
    """For each token its share of each place of each expert: (group, token, expert, place)."""
    gates = jax.nn.softmax((x @ router).astype(jnp.float32))
    hit = jnp.sum(jax.nn.one_hot(choose(c, gates), c.experts, dtype=jnp.int32), -2)
    place = jnp.where(hit > 0, jnp.cumsum(hit, 1) - 1, -1)
    gates = gates * hit
    gates = gates / jnp.sum(gates, -1, keepdims=True)
    share = gates[..., None] * jax.nn.one_hot(place, c.capacity)
    return share.astype(x.dtype)


def feed_forward(c, x, w):
    shape = x.shape
    x = x.reshape(-1, c.group, c.d_model)
    share = route(c, x, w["router"])
    at_experts = lambda y, width: lax.with_sharding_constraint(
        y, P("ep", ("dp", "fsdp"), None, width))
    inputs = at_experts(jnp.einsum("gtec,gtd->egcd", (share > 0).astype(x.dtype), x), None)
    gate = at_experts(jnp.einsum("egcd,edf->egcf", inputs, w["w_gate"]), "tp")
    up = at_experts(jnp.einsum("egcd,edf->egcf", inputs, w["w_up"]), "tp")
    out = at_experts(jnp.einsum("egcf,efd->egcd", jax.nn.silu(gate) * up, w["w_down"]), None)
    out = lax.with_sharding_constraint(out, P(None, BATCH, None, None))
    return jnp.einsum("gtec,egcd->gtd", share, out).reshape(shape)


def attention(c, x, w, angles):
    batch, seq, _ = x.shape
    split = lambda y, heads: lax.with_sharding_constraint(
        y.reshape(batch, seq, heads, c.head_dim), P(BATCH, None, "tp", None))
    h = model.rms_norm(x, w["attn_norm"])
    q, k, v = (split(h @ w[name], heads) for name, heads in
               (("wq", c.heads), ("wk", c.kv_heads), ("wv", c.kv_heads)))
    q = model.rotate(model.rms_norm(q, w["q_norm"]), angles)
    k = model.rotate(model.rms_norm(k, w["k_norm"]), angles)
    return model.attention(c, q, k, v) @ w["wo"]


def layer(c, x, w, angles):
    w = jax.tree.map(lambda a: a.astype(c.compute_dtype), w)
    keep = lambda y: lax.with_sharding_constraint(y, P(BATCH, None, None))
    x = keep(x + attention(c, x, w, angles))
    return keep(x + feed_forward(c, model.rms_norm(x, w["mlp_norm"]), w))


def loss_fn(c, params, tokens, targets):
    table = params["embed"].astype(c.compute_dtype)
    x = table.at[tokens].get(mode="promise_in_bounds")
    x = lax.with_sharding_constraint(x, P(BATCH, None, None))
    for w in params["layers"]:
        x = layer(c, x, w, model.rotary_angles(c))
    x = model.rms_norm(x, params["final_norm"].astype(c.compute_dtype))
    logits = jnp.einsum("bsd,vd->bsv", x, table, preferred_element_type=jnp.float32)
    logits = lax.with_sharding_constraint(logits, P(BATCH, None, "tp"))
    return model.cross_entropy(logits, targets)


def make_step(c, specs):
    def train_step(params, opt, tokens, targets):
        loss, grads = jax.value_and_grad(lambda p: loss_fn(c, p, tokens, targets))(params)
        params, opt = model.adamw(c, params, grads, opt, specs)
        return params, opt, loss
    return train_step
