#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Qwen3-style step under JAX/XLA, as the peer: on this machine's CPU, one device
per rank, as threads of this process; or (--device cuda) on its first GPU, where
--attention cudnn takes XLA's call of cuDNN instead of the model's own attention. Prints one JSON object:
compile_s, step_ms_median, step_ms (all), peak_rss_mb, losses.
"""
import argparse
import json
import os
import resource
import sys
import time
from pathlib import Path


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", default="M")
    parser.add_argument("--dtype", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--attention", choices=["own", "cudnn"], default="own")
    parser.add_argument("--narrow-logits", action="store_true",
                        help="rounded to bf16, as torch_step.py has them")
    parser.add_argument("--model", type=Path, help="model.py, where it is not in the example's folder",
                        default=Path(__file__).resolve().parents[2] / "examples" / "qwen3")
    parser.add_argument("--mesh", default="dp=1,fsdp=1,tp=1")
    parser.add_argument("--steps", type=int, default=5)
    options = parser.parse_args()
    options.mesh = {"dp": 1, "fsdp": 1, "tp": 1, **{
        name: int(size) for name, size in
        (part.split("=") for part in options.mesh.split(","))}}
    return options


def main():
    options = arguments()
    ranks = options.mesh["dp"] * options.mesh["fsdp"] * options.mesh["tp"]
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={ranks}"
    os.environ["JAX_PLATFORMS"] = options.device
    sys.path.insert(0, str(options.model))
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding

    import model
    import narrow_logits
    import sizes

    c = sizes.config(model, options.config, options.dtype)
    if options.attention == "cudnn":
        model.attention = lambda c, q, k, v: jax.nn.dot_product_attention(
            q, k, v, is_causal=True, implementation="cudnn").reshape(*q.shape[:2], -1)
    if options.narrow_logits:
        narrow_logits.use_narrow_logits(model)
    mesh = Mesh(np.array(jax.devices()[:ranks]).reshape(tuple(options.mesh.values())),
                tuple(options.mesh))
    named = lambda tree: jax.tree.map(lambda spec: NamedSharding(mesh, spec), tree,
                                      is_leaf=lambda x: isinstance(x, jax.sharding.PartitionSpec))
    ins, outs = (named(tree) for tree in model.shardings(c))
    params, tokens, targets = model.init(c)
    state = (params, model.init_optimizer(params))
    with jax.set_mesh(mesh):
        state = jax.device_put(state, ins[:2])
        data = jax.device_put((tokens, targets), ins[2:])
        step = jax.jit(model.make_step(c), in_shardings=ins, out_shardings=outs,
                       donate_argnums=(0, 1))
        lowered = step.lower(*state, *data)
        start = time.perf_counter()
        compiled = lowered.compile()
        compile_s = time.perf_counter() - start
        losses, times = [], []
        for index in range(options.steps + 2):
            start = time.perf_counter()
            *state, loss = compiled(*state, *data)
            jax.block_until_ready((state, loss))
            if index >= 2:
                times.append((time.perf_counter() - start) * 1e3)
            losses.append(float(loss))
    print(json.dumps({
        "compile_s": round(compile_s, 3), "step_ms": [round(t, 2) for t in times],
        "step_ms_median": round(float(np.median(times)), 2),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "losses": losses, "jax": jax.__version__}))


if __name__ == "__main__":
    main()
