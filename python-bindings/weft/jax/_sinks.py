# SPDX-License-Identifier: Apache-2.0

"""Scores of keys that have no value, beside attention as one operation.

Letters of dimensions are those of weft.jax.attention. With L the log of the sum of a query's
keys and s the sink, the log of all is M = log(exp(L) + exp(s)), and a key's weight is what it is
without the sink, times exp(L - M). So is the output. weft.attention_grad has its own L, that
output, and the output's gradient with the same factor: all that it makes has the factor then.
"""

import jax.numpy as jnp
from jax.extend import source_info_util

# Errors are to point at the caller.
source_info_util.register_exclusion(__file__)


def scale_rows(tensor, lse, sinks):
    """An output or its gradient times what the keys of a query are of all."""
    share = _exp_of_difference(lse, _total(lse, sinks))
    return (tensor * jnp.einsum("bhgi->bihg", share)[..., None]).astype(tensor.dtype)


def sink_gradient(out, lse, sinks, dout):
    """A sink has its weight, a gradient of it of 0, and what all weights of a query share."""
    weight = _exp_of_difference(sinks[None, :, :, None], _total(lse, sinks))
    return -jnp.sum(weight * sum_of_values(dout, out), axis=(0, 3))


def sum_of_values(dout, out):
    return jnp.einsum("bihge,bihge->bhgi", dout.astype(jnp.float32), out.astype(jnp.float32))


def _total(lse, sinks):
    return jnp.logaddexp(lse, sinks[None, :, :, None])


def _exp_of_difference(score, total):
    """What a score is of a sum, both as logarithms; nothing of nothing is 0."""
    return jnp.where(total == -jnp.inf, 0, jnp.exp(score - jnp.where(total == -jnp.inf, 0, total)))
