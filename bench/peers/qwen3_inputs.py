#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the first arguments of the Qwen3-style step, those that its peers draw, so
that losses are comparable: qwen3_inputs.py CONFIG FILE [--model FOLDER]. Needs numpy,
JAX, and safetensors."""
import argparse
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config")
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", type=Path, help="the folder of model.py",
                        default=Path(__file__).resolve().parents[2] / "examples" / "qwen3")
    return parser.parse_args()


def named(tree, name):
    """Leaves of nested dicts and lists, by their paths with dots."""
    if isinstance(tree, np.ndarray):
        yield name, tree
        return
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield from named(value, f"{name}.{key}")


def main():
    options = arguments()
    sys.path.insert(0, str(options.model))
    import model
    import sizes
    params, tokens, targets = model.init(sizes.config(model, options.config, "bf16"))
    tensors = {**dict(named(params, "params")), **dict(named(model.init_optimizer(params), "opt")),
               "tokens": tokens, "targets": targets}
    save_file(tensors, options.file)


if __name__ == "__main__":
    main()
