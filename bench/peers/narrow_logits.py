# SPDX-License-Identifier: Apache-2.0
"""Logits as torch_step.py has them: products that are rounded to the type of the
model, and widened for the loss. examples/qwen3 keeps them in f32."""
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P


def use_narrow_logits(model):
    def head_loss(c, params, x, table, targets):
        x = model.rms_norm(x, params["final_norm"].astype(c.compute_dtype))
        logits = jnp.einsum("bsd,vd->bsv", x, table)
        logits = lax.with_sharding_constraint(logits, P(model.BATCH, None, "tp"))
        return model.cross_entropy(logits.astype(jnp.float32), targets)

    model.head_loss = head_loss
