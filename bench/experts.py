# SPDX-License-Identifier: Apache-2.0

"""Feed-forward parts of experts as published runs have them: as many tokens for each expert,
which are moved, not multiplied, on their way to it and back.

Tokens are routed in groups, one for each rank. An expert takes its tokens in their order;
runs that are measured force routers to be even, so that none is left out.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

BATCH = ("mb", "dp", "fsdp", "ep")


def layer_weights(c):
    up, down = P("ep", "fsdp", "tp"), P("ep", "tp", "fsdp")
    return {"router": ((c.d_model, c.experts), P()),
            "w_gate": ((c.experts, c.d_model, c.ffn), up),
            "w_up": ((c.experts, c.d_model, c.ffn), up),
            "w_down": ((c.experts, c.ffn, c.d_model), down)}


def take_rows(x, rows):
    """Of each group the rows that are named."""
    return jax.vmap(lambda x, rows: x.at[rows].get(mode="promise_in_bounds"))(x, rows)


def choose(c, x, router, count):
    """For each group: the choices in the order of their experts, each one's place in that order,
    and the shares."""
    gates = jax.nn.softmax((x @ router).astype(jnp.float32))
    shares, chosen = lax.top_k(gates, c.chosen)
    shares = shares / jnp.sum(shares, -1, keepdims=True)
    chosen = chosen.reshape(x.shape[0], -1)
    hit = jax.nn.one_hot(chosen, c.experts, dtype=jnp.int32)
    place = jnp.sum((jnp.cumsum(hit, 1) - 1) * hit, -1) + chosen * count
    numbers = lax.broadcasted_iota(jnp.int32, place.shape, 1)
    order = jax.vmap(lambda place, number: jnp.zeros_like(number).at[place].add(
        number, mode="promise_in_bounds"))(place, numbers)
    return order, place, shares.astype(x.dtype)


def feed_forward(c, x, w):
    shape = x.shape
    x = x.reshape(c.groups, -1, c.d_model)
    count = x.shape[1] * c.chosen // c.experts
    order, place, shares = choose(c, x, w["router"], count)
    at_experts = lambda y, width: lax.with_sharding_constraint(
        y, P("ep", ("mb", "dp", "fsdp"), None, width))
    at_tokens = lambda y: lax.with_sharding_constraint(y, P(BATCH, *[None] * (y.ndim - 1)))
    sent = at_tokens(take_rows(x, order // c.chosen))
    sent = at_experts(sent.reshape(c.groups, c.experts, count, c.d_model).transpose(1, 0, 2, 3), None)
    gate = at_experts(jnp.einsum("egcd,edf->egcf", sent, w["w_gate"]), "tp")
    up = at_experts(jnp.einsum("egcd,edf->egcf", sent, w["w_up"]), "tp")
    out = at_experts(jnp.einsum("egcf,efd->egcd", gate * jax.nn.sigmoid(gate) * up, w["w_down"]), None)
    out = at_tokens(out.transpose(1, 0, 2, 3)).reshape(c.groups, -1, c.d_model)
    back = at_tokens(take_rows(out, place)).reshape(*x.shape[:2], c.chosen, c.d_model)
    return jnp.einsum("gtkd,gtk->gtd", back, shares).reshape(shape)
