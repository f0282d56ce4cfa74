# SPDX-License-Identifier: Apache-2.0

"""Scores of keys that have no value, beside attention as one operation.

Letters of dimensions are those of weft.jax.attention. With L the log of the sum of a query's
keys and s the sink, the log of all is M = log(exp(L) + exp(s)), and all weights are as if the
keys' sum were M: the output is that without sinks times exp(L - M), and the gradients of
queries, keys and values are those of weft.attention_grad with that output and M.
"""

import jax.numpy as jnp
from jax.extend import source_info_util

# Errors are to point at the caller.
source_info_util.register_exclusion(__file__)


def exp_of_difference(score, total):
    """What a score is of a sum, both as logarithms; nothing of nothing is 0."""
    return jnp.where(total == -jnp.inf, 0, jnp.exp(score - jnp.where(total == -jnp.inf, 0, total)))


def add_sinks(out, lse, sinks):
    """The output and the log of the sums with one more score each, whose value is 0."""
    total = jnp.logaddexp(lse, sinks[None, :, :, None])
    share = jnp.einsum("bhgi->bihg", exp_of_difference(lse, total))[..., None]
    return (out * share).astype(out.dtype), total


def sink_gradient(tensors):
    """A sink has its weight, a gradient of it of 0, and what all weights of a query share."""
    sinks = tensors["sinks"]
    delta = rows(tensors["dout"].astype(jnp.float32), tensors["out"].astype(jnp.float32))
    return -jnp.sum(exp_of_difference(sinks[None, :, :, None], tensors["lse"]) * delta, axis=(0, 3))


def rows(dout, out):
    return jnp.einsum("bihge,bihge->bhgi", dout, out)
