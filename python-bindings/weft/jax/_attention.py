# SPDX-License-Identifier: Apache-2.0

"""Turns the calls of weft.jax.dot_product_attention into weft.attention and its gradient."""

import json

from jaxlib.mlir import ir

from weft.jax._builder import shape_of
from weft.jax._contract import map_attribute
from weft.jax.attention import letters

_LOOPS = "bhgijde"
_OPERANDS = ("q", "k", "v", "bias", "mask", "q_segments", "k_segments", "low_seeds", "high_seeds",
             "out", "lse", "dout")


def attention(build, op, operands):
    """The results of one call, in the order of its parts."""
    layout = json.loads(ir.StringAttr(op.attributes["composite_attributes"]["config"]).value)
    parts, count = layout["parts"], layout["results"]
    inputs = dict(zip(parts, operands))
    made = dict(zip(parts[-count:], op.results))
    sizes = dict(zip(_LETTERS_OF_Q, shape_of(inputs["q"])))
    # Single groups and sequences are no loops; neither are dimensions in which a part is the same.
    loops = [x for x in _LOOPS if x in "ijde" or sizes[x] != 1]
    kept = {name: _kept(name, value, loops) for name, value in {**inputs, **made}.items()}
    tensors = [_drop(build, inputs[name], kept[name]) for name in parts[:-count]]
    types = [build.tensor([made[name].type.shape[i] for i in kept[name]], made[name].type.element_type)
             for name in parts[-count:]]
    maps = [map_attribute(len(loops), [loops.index(letters(name)[i]) for i in kept[name]]) for name in parts]
    order = [name for name in _OPERANDS if name in inputs]
    attributes = {
        "config": _config(layout["config"]), "indexing_maps": ir.ArrayAttr.get(maps),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get(_segments(op, order))}
    name = ir.StringAttr(op.attributes["name"]).value
    results = build.create(name, types, tensors, attributes).results
    return [build.reshape(result, made[part].type.shape)
            for result, part in zip(results, parts[-count:])]


_LETTERS_OF_Q = letters("q")


def _kept(name, value, loops):
    """The dimensions of a part that are loops; a bias or mask may have others of size one."""
    shape = shape_of(value)
    return [i for i, letter in enumerate(letters(name))
            if letter in loops and (shape[i] != 1 or name not in ("bias", "mask"))]


def _drop(build, value, kept):
    return build.reshape(value, [shape_of(value)[i] for i in kept])


def _segments(op, there):
    """How many operands each part has; the start, which comes last, has none."""
    known = _OPERANDS
    if "grad" not in ir.StringAttr(op.attributes["name"]).value:
        known = known[:known.index("out")]
    return [int(name in there) for name in known] + [0]


def _config(settings):
    names = ("scale", "softcap", "fill", "left", "right", "dropout")
    text = [f"{name} = {_number(settings[name])}" for name in names if name in settings]
    return ir.Attribute.parse(f"#weft.attention<{', '.join(text)}>")


def _number(value):
    return str(value) if isinstance(value, int) else f"{value:.9e} : f32"
