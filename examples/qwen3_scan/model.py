# SPDX-License-Identifier: Apache-2.0

"""The Qwen3-style step with its loops written as lax.scan.

The layers' weights are stacked, one array per kind, and scanned over; the batch
is cut in microbatches whose gradients a second scan adds up in f32. weft
unrolls both: stacked weights are sliced where they are used, and the stacked
gradients are joined from the layers' own.
"""

import importlib.util
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P


def _load_dense():
    """The model of the plain example, whose layer is the same."""
    path = pathlib.Path(__file__).parents[1] / "qwen3" / "model.py"
    spec = importlib.util.spec_from_file_location("qwen3_dense", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


dense = _load_dense()
CONFIGS, config, init_optimizer, BATCH = dense.CONFIGS, dense.config, dense.init_optimizer, dense.BATCH


def _stack(layers):
    return {name: np.stack([w[name] for w in layers]) for name in layers[0]}


def init(c, seed=0):
    """The plain example's tensors with the layers stacked."""
    params, tokens, targets = dense.init(c, seed)
    return {**params, "layers": _stack(params["layers"])}, tokens, targets


def param_specs(c):
    """The stacked dimension is whole on each rank."""
    specs = dense.param_specs(c)
    return {**specs, "layers": {name: P(None, *spec) for name, spec in specs["layers"][0].items()}}


def loss_fn(c, params, tokens, targets):
    angles = dense.rotary_angles(c)
    x, table = dense.embed(c, params, tokens)
    x, _ = lax.scan(lambda x, w: (dense.layer(c, x, w, angles), None), x, params["layers"])
    return dense.head_loss(c, params, x, table, targets)


def microbatches(array, count):
    """[batch, ...] -> [count, batch / count, ...], each one sharded like the batch."""
    cut = array.reshape(array.shape[0] // count, count, *array.shape[1:]).swapaxes(0, 1)
    return lax.with_sharding_constraint(cut, P(None, BATCH, None))


def accumulate(c, params, tokens, targets, count):
    """The mean loss and the mean of the gradients over microbatches."""
    gradient = jax.value_and_grad(lambda p, *data: loss_fn(c, p, *data))

    def add(total, data):
        loss, grads = gradient(params, *data)
        return jax.tree.map(lambda t, g: t + g.astype(jnp.float32), total, (loss, grads)), None
    zero = jax.tree.map(lambda p: jnp.zeros(p.shape, jnp.float32), (np.zeros(()), params))
    data = (microbatches(tokens, count), microbatches(targets, count))
    total, _ = lax.scan(add, zero, data)
    return jax.tree.map(lambda t: t / count, total)


def make_step(c, count=2):
    """step(params, opt, tokens, targets) -> params, opt, loss."""
    def train_step(params, opt, tokens, targets):
        loss, grads = accumulate(c, params, tokens, targets, count)
        params, opt = dense.adamw(c, params, grads, opt, param_specs(c))
        return params, opt, loss
    return train_step


def shardings(c):
    """in_shardings and out_shardings of the step."""
    params = param_specs(c)
    opt = {"m": params, "v": params, "t": P()}
    data = P(BATCH, None)
    return (params, opt, data, data), (params, opt, P())
