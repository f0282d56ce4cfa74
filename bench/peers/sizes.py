# SPDX-License-Identifier: Apache-2.0
"""Sizes of the Qwen3-style step beside those of its example: the model's own on a GPU."""
QWEN3 = {"qwen3-0.6b": (28, 1024, 16, 8, 128, 3072, 151936, 2048, 8)}


def config(model, name, dtype):
    """A Config of the example's module `model`."""
    model.CONFIGS.update({known: model.Config(*fields) for known, fields in QWEN3.items()})
    return model.config(name, dtype)
