# SPDX-License-Identifier: Apache-2.0

"""Runs the step with JAX on one device and writes its losses and final weights.

    python examples/qwen3/reference.py --size XS --steps 5 --out reference.safetensors

Tensors: `loss` (one per step) and every result of the last step by its name.
"""

import argparse

import jax
import numpy as np
from jax.sharding import Mesh

import model
import weft
from weft import safetensors


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=model.CONFIGS, default="XS")
    parser.add_argument("--dtype", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--weights-only", action="store_true", help="leave the optimizer's state out")
    parser.add_argument("--out", required=True)
    return parser.parse_args()


def one_device_mesh():
    """The step names mesh axes; on one device each of them has size one."""
    return Mesh(np.array(jax.devices()[:1]).reshape(1, 1, 1), ("dp", "fsdp", "tp"))


def run(step, call, count):
    """The losses and the state after some steps."""
    params, opt, *data = call
    jitted, losses = jax.jit(step), []
    with jax.set_mesh(one_device_mesh()):
        for _ in range(count):
            params, opt, loss = jitted(params, opt, *data)
            losses.append(np.asarray(loss))
    return losses, params, opt


def main():
    options = arguments()
    c = model.config(options.size, options.dtype)
    params, tokens, targets = model.init(c)
    call = (params, model.init_optimizer(params), tokens, targets)
    step = model.make_step(c)
    losses, params, opt = run(step, call, options.steps)
    exported = weft.jax.export(step, *call, mesh=dict(dp=1, fsdp=1, tp=1), donate_argnums=(0, 1))
    tensors = {"loss": np.array(losses, np.float32)}
    for spec, leaf in zip(exported.results, jax.tree.leaves((params, opt))):
        if spec.name.startswith("params.") or not options.weights_only:
            tensors[spec.name] = np.asarray(leaf)
    safetensors.save(options.out, tensors)
    print("loss", " ".join(f"{loss:.6f}" for loss in losses))


if __name__ == "__main__":
    jax.config.update("jax_platforms", "cpu")
    main()
