# SPDX-License-Identifier: Apache-2.0

"""Optimizers as users write them, and the steps that they make of a loss.

Each maker returns step(state, *data) -> state, report. The report has the loss and
the gradients, so that a test sees both before an optimizer evens them out.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P


def zeros_like(params):
    return jax.tree.map(np.zeros_like, params)


def global_norm(tree):
    return jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in jax.tree.leaves(tree)))


def clipped(grads, limit=1.0):
    factor = limit / jnp.maximum(global_norm(grads), limit)
    return jax.tree.map(lambda g: g * factor, grads)


def sgd(loss_fn, rate=0.1):
    """The state is the weights."""
    def step(params, *data):
        loss, grads = jax.value_and_grad(loss_fn)(params, *data)
        params = jax.tree.map(lambda p, g: p - rate * g, params, grads)
        return params, {"loss": loss, "grads": grads}
    return step


def momentum(loss_fn, rate=0.05, decay=0.9):
    """Nesterov's, after clipping by the global norm, with a moving average of the weights."""
    def step(state, *data):
        loss, grads = jax.value_and_grad(loss_fn)(state["params"], *data)
        clip = clipped(grads)
        trace = jax.tree.map(lambda t, g: decay * t + g, state["trace"], clip)
        params = jax.tree.map(lambda p, t, g: p - rate * (g + decay * t), state["params"], trace, clip)
        ema = jax.tree.map(lambda e, p: 0.99 * e + 0.01 * p, state["ema"], params)
        return {"params": params, "trace": trace, "ema": ema}, {"loss": loss, "grads": grads}
    return step


def momentum_state(params):
    return {"params": params, "trace": zeros_like(params), "ema": params}


def momentum_shardings(specs):
    return {"params": specs, "trace": specs, "ema": specs}


def adam(loss_fn, rate=1e-3, epsilon=1e-5):
    def step(state, *data):
        loss, grads = jax.value_and_grad(loss_fn)(state["params"], *data)
        clip, count = clipped(grads), state["count"] + 1
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], clip)
        v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, state["v"], clip)
        warmup = jnp.minimum(count / 10.0, 1.0)
        fix = lambda x, b: x / (1 - b ** count.astype(jnp.float32))
        params = jax.tree.map(
            lambda p, m, v: p - rate * warmup * fix(m, 0.9) / (jnp.sqrt(fix(v, 0.99)) + epsilon),
            state["params"], m, v)
        state = {"params": params, "m": m, "v": v, "count": count}
        return state, {"loss": loss, "grads": grads, "grad_norm": global_norm(grads)}
    return step


def adam_state(params):
    return {"params": params, "m": zeros_like(params), "v": zeros_like(params), "count": np.zeros((), np.int32)}


def adam_shardings(specs):
    return {"params": specs, "m": specs, "v": specs, "count": P()}


def lion(loss_fn, rate=1e-3):
    def step(state, *data):
        loss, grads = jax.value_and_grad(loss_fn)(state["params"], *data)
        params = jax.tree.map(lambda p, m, g: p - rate * (jnp.sign(0.9 * m + 0.1 * g) + 0.1 * p),
                              state["params"], state["m"], grads)
        m = jax.tree.map(lambda m, g: 0.99 * m + 0.01 * g, state["m"], grads)
        return {"params": params, "m": m}, {"loss": loss, "grads": grads}
    return step


def lion_state(params):
    return {"params": params, "m": zeros_like(params)}


def lion_shardings(specs):
    return {"params": specs, "m": specs}


# -- Adafactor: second moments of matrices as an outer product of row and column means

def _factored(shape):
    return len(shape) >= 2


def adafactor_state(params):
    def moments(p):
        if not _factored(p.shape):
            return {"full": np.zeros_like(p)}
        return {"rows": np.zeros(p.shape[:-1], np.float32), "columns": np.zeros(p.shape[:-2] + p.shape[-1:], np.float32)}
    return {"params": params, "v": jax.tree.map(moments, params)}


def adafactor_shardings(specs, params):
    def moments(p, spec):
        axes = [*spec] + [None] * (p.ndim - len(spec))
        if not _factored(p.shape):
            return {"full": P(*axes)}
        return {"rows": P(*axes[:-1]), "columns": P(*axes[:-2], axes[-1])}
    return {"params": specs, "v": jax.tree.map(moments, params, specs)}


def _scaled(g, v, decay=0.8):
    square = g * g + 1e-12
    if "full" in v:
        full = decay * v["full"] + (1 - decay) * square
        return g * jax.lax.rsqrt(full), {"full": full}
    rows = decay * v["rows"] + (1 - decay) * square.mean(-1)
    columns = decay * v["columns"] + (1 - decay) * square.mean(-2)
    factor = jax.lax.rsqrt(rows / rows.mean(-1, keepdims=True))[..., None]
    return g * factor * jax.lax.rsqrt(columns)[..., None, :], {"rows": rows, "columns": columns}


def adafactor(loss_fn, rate=1e-2):
    def step(state, *data):
        loss, grads = jax.value_and_grad(loss_fn)(state["params"], *data)
        leaves, tree = jax.tree.flatten(state["params"])
        new, moments = [], []
        for p, g, v in zip(leaves, jax.tree.leaves(grads), tree.flatten_up_to(state["v"])):
            update, v = _scaled(g, v)
            update = update / jnp.maximum(1.0, jnp.sqrt(jnp.mean(update * update)))
            scale = jnp.maximum(1e-3, jnp.sqrt(jnp.mean(p * p)))
            new.append(p - rate * scale * update)
            moments.append(v)
        state = {"params": tree.unflatten(new), "v": tree.unflatten(moments)}
        return state, {"loss": loss, "grads": grads}
    return step
