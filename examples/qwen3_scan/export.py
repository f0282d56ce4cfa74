# SPDX-License-Identifier: Apache-2.0

"""Writes the scanned training step and its inputs for weft-compile and weft-run.

    python examples/qwen3_scan/export.py --size XS --mesh dp=2,fsdp=2,tp=2 \\
        --step step.mlir --inputs inputs.safetensors
"""

import argparse

import jax

import model
import weft


def parse_mesh(text):
    return {name: int(size) for name, size in (part.split("=") for part in text.split(","))}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=model.CONFIGS, default="XS")
    parser.add_argument("--dtype", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--microbatches", type=int, default=2)
    parser.add_argument("--mesh", type=parse_mesh, default=parse_mesh("dp=2,fsdp=2,tp=2"))
    parser.add_argument("--step", help="where the program goes")
    parser.add_argument("--inputs", help="where the tensors go")
    return parser.parse_args()


def main():
    options = arguments()
    c = model.config(options.size, options.dtype)
    mesh = {"dp": 1, "fsdp": 1, "tp": 1, **options.mesh}
    params, tokens, targets = model.init(c)
    call = (params, model.init_optimizer(params), tokens, targets)
    ins, outs = model.shardings(c)
    step = weft.jax.export(model.make_step(c, options.microbatches), *call, mesh=mesh, in_shardings=ins,
                           out_shardings=outs, donate_argnums=(0, 1))
    if options.step:
        step.save(options.step)
    if options.inputs:
        step.save_inputs(options.inputs, *call)


if __name__ == "__main__":
    jax.config.update("jax_platforms", "cpu")
    main()
