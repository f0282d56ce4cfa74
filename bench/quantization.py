#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Trains a small decoder in bf16 and in each format of --quantize, on a language with structure.

    PYTHONPATH=build/python:examples/qwen3 bench/quantization.py [--task words] [--steps 300] [--mesh dp=1,fsdp=2,tp=1]
                                                                 [--seeds 1] [--plot FILE.png]

The tasks: in `words`, after a word one of three follows, mostly the same one; which ones is drawn once. A decoder that has
learnt it loses the entropy of that choice, 0.613. In `brackets`, 32 kinds of brackets are nested: what closes has to be
of the kind that was opened last and is still open, which may be far back. `text` is the bytes of Python's own reference, as
pydoc has it. Each format starts from the same weights and sees the same text. The table
has the loss over the last tenth of the steps, and by how much it is above that of bf16, in the mean over seeds of
weights and text; of several seeds the least and the greatest stand beside it. Two variants are wrong on
purpose, so that what the table says is seen to differ: scales of mxfp8 that are rounded down, so that the greatest
elements of a block saturate, and fp8 with the magnitudes of one rank for all. --plot draws the curves of the first seed, with
matplotlib.
"""

import argparse
import dataclasses
import re
import sys
import tempfile
from pathlib import Path
from pydoc_data.topics import topics

import model
import numpy as np

import weft
import weft.jax

CONFIG = model.Config(layers=2, d_model=128, heads=4, kv_heads=2, head_dim=32, ffn=256, vocab=256, seq=128, batch=8,
                      dtype="bf16", learning_rate=2e-3)
FORMATS = ["bf16", "fp8", "fp8-block", "mxfp8", "nvfp4"]


def parse_mesh(text):
    return {name: int(size) for name, size in (part.split("=") for part in text.split(","))}


class Words:
    """Words that depend on the one before them."""

    def __init__(self, vocab, seed):
        self.random = np.random.default_rng(seed)
        self.following = np.stack([self.random.permutation(vocab) for _ in range(3)], -1).astype(np.int32)

    def draw(self, batch, length):
        text = np.zeros((batch, length + 1), np.int32)
        text[:, 0] = self.random.integers(0, len(self.following), batch)
        for at in range(1, length + 1):
            choice = self.random.choice(3, batch, p=[0.8, 0.15, 0.05])
            text[:, at] = self.following[text[:, at - 1], choice]
        return text[:, :-1], text[:, 1:]


class Brackets:
    """Nested brackets of 32 kinds: kind k opens as word k, and closes as word 32 + k. Which kinds open within which is drawn
    once; half of what could close does."""
    KINDS = 32

    def __init__(self, vocab, seed):
        assert vocab >= 2 * self.KINDS
        self.random = np.random.default_rng(seed)
        self.within = self.random.integers(0, self.KINDS, (self.KINDS + 1, 4))

    def draw(self, batch, length):
        text = np.zeros((batch, length + 1), np.int32)
        for row in text:
            opened = []
            for at in range(length + 1):
                if opened and self.random.random() < 0.5:
                    row[at] = self.KINDS + opened.pop()
                else:
                    around = opened[-1] if opened else self.KINDS
                    opened.append(self.random.choice(self.within[around]))
                    row[at] = opened[-1]
        return text[:, :-1], text[:, 1:]


class Text:
    """The bytes of Python's reference, from places that are drawn."""

    def __init__(self, vocab, seed):
        assert vocab >= 256
        self.random = np.random.default_rng(seed)
        reference = "".join(text for _, text in sorted(topics.items()))
        self.bytes = np.frombuffer(reference.encode(), np.uint8).astype(np.int32)

    def draw(self, batch, length):
        text = np.stack([self.bytes[at:at + length + 1] for at in self.random.integers(0, len(self.bytes) - length - 1, batch)])
        return text[:, :-1].copy(), text[:, 1:].copy()


Task = Words | Brackets | Text
TASKS: dict[str, type[Task]] = {"words": Words, "brackets": Brackets, "text": Text}


def round_scales_down(text):
    """A program whose power-of-two scales are rounded down: nothing is added to what becomes an exponent."""
    changed = re.sub(r"arith\.addi (%\w+), %c8388607_i32\w*", r"arith.maxsi \1, \1", text)
    assert changed != text
    return changed


def keep_own_magnitudes(text):
    """A local program whose ranks do not compare the magnitudes of tensors."""
    def drop(match):
        results, operands, types = match.groups()
        return f"{results} = weft.optimization_barrier {operands} : {types}"

    changed = re.sub(r"(%\w+(?::\d+)?) = weft\.all_reduce max ([^\n]*?) on @mesh [^\n]*? : \(([^\n]*?)\) -> [^\n]*", drop, text)
    assert changed != text
    return changed


def compile_variant(module, name, mesh, folder):
    """A program for the name of a format, or of a variant that is wrong on purpose."""
    if name == "bf16":
        return weft.compile(module, mesh=mesh)
    if " " not in name:
        return weft.compile(module, mesh=mesh, quantize=name)
    format, variant = name.split(" ", 1)
    phase, change = {"rounded down": ("global", round_scales_down), "own magnitudes": ("local", keep_own_magnitudes)}[variant]
    path = Path(folder) / (name.replace(" ", "_") + ".mlir")
    path.write_text(change(weft.lower(module, to=phase, mesh=mesh, quantize=format)))
    library = path.with_suffix(".so")
    weft.build(path, library, proofs=False)
    return weft.load(library, module=module)


def train(program, config, task, steps, seed):
    params, _, _ = model.init(config, seed)
    language = TASKS[task](config.vocab, seed)
    losses = []
    for step in range(steps):
        tokens, targets = language.draw(config.batch, config.seq)
        if step == 0:
            program.set_arguments(params, model.init_optimizer(params), tokens, targets)
        else:
            program.set_argument(2, tokens)
            program.set_argument(3, targets)
        program.run(1)
        losses.append(float(program.get_result(2)))
    return np.array(losses)


def plot(curves, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    for name, losses in curves.items():
        smooth = np.convolve(losses, np.full(9, 1 / 9), "valid")
        pyplot.plot(smooth, label=name, linewidth=1)
    pyplot.xlabel("step")
    pyplot.ylabel("loss (mean of 9 steps)")
    pyplot.legend()
    pyplot.savefig(path, dpi=120)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=TASKS, default="words")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--layers", type=int, default=CONFIG.layers)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--mesh", type=parse_mesh, default=parse_mesh("dp=1,fsdp=2,tp=1"))
    parser.add_argument("--plot", metavar="FILE")
    return parser.parse_args()


def export(config, mesh):
    params, tokens, targets = model.init(config)
    ins, outs = model.shardings(config)
    return weft.jax.export(model.make_step(config), params, model.init_optimizer(params), tokens, targets,
                           mesh={"dp": 1, "fsdp": 1, "tp": 1, **mesh}, in_shardings=ins, out_shardings=outs,
                           donate_argnums=(0, 1))


def describe(last, wide):
    """A line of the table, of what each seed ended with, and bf16's."""
    above = 100 * (last / wide - 1)
    text = f"{last.mean():8.4f} {above.mean():+7.2f} %"
    return text if len(last) == 1 else f"{text}   {above.min():+.2f} to {above.max():+.2f} %"


def main():
    options = parse_options()
    config = dataclasses.replace(CONFIG, layers=options.layers)
    module = export(config, options.mesh)
    curves, ends = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name in [*FORMATS, "mxfp8 rounded down", "fp8 own magnitudes"]:
            program = compile_variant(module, name, options.mesh, folder)
            losses = np.stack([train(program, config, options.task, options.steps, seed) for seed in range(options.seeds)])
            curves[name] = losses[0]
            ends[name] = losses[:, -max(options.steps // 10, 1):].mean(1)
            print(f"{name:20} {describe(ends[name], ends['bf16'])}", flush=True)
    if options.plot:
        plot(curves, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
