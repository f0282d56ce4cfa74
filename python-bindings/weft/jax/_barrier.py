# SPDX-License-Identifier: Apache-2.0

"""Turns what keeps a forward pass and its recomputation apart into weft.optimization_barrier.

jax.checkpoint puts a barrier around what its recomputation starts from. Inside a
loop it may put none (prevent_cse=False), for compilers do not merge what a loop
computes with what is around it; here loops are unrolled, so there is one at each
call of a recomputation.
"""

from jaxlib.mlir import ir

from weft.jax._builder import element_of, is_unsigned, shape_of

# The name that JAX gives to operations that are computed again.
_RECOMPUTED = "rematted_computation"
_VIEWS = {"stablehlo.convert", "stablehlo.reshape", "stablehlo.transpose", "stablehlo.slice",
          "stablehlo.bitcast_convert", "weft.shard"}


def recomputes_unmarked(function):
    """Whether the function computes something again, and no barrier says so."""
    names, locations = set(), []

    def visit(op):
        names.add(op.name)
        locations.append(op.location)
        return ir.WalkResult.ADVANCE

    function.operation.walk(visit)
    return "stablehlo.optimization_barrier" not in names and any(_RECOMPUTED in str(at) for at in locations)


def place(build, values):
    """The values, after barriers where that can matter: not those that are known.

    Arguments, and what is only a cast or a view of one, have one each: their
    memory is not freed anyway, and a weight's gather need not wait for the
    gradient. All else has one that is passed when everything has been computed.
    """
    made = dict.fromkeys(values)
    together = [v for v in made if not _is_known(build, v) and not _is_from_argument(v)]
    pieces = [p for v in together for p in _pieces(build, v)]
    passed = dict(zip(pieces, _barrier(build, pieces)))
    for value in made:
        if value in together:
            made[value] = _join(build, value, passed)
        elif _is_known(build, value):
            made[value] = value
        else:
            made[value], = _barrier(build, [value])
    return [made[v] for v in values]


def _is_known(build, value):
    return value in build.known or _owner_name(value) == "stablehlo.constant" or 0 in shape_of(value)


def _owner_name(value):
    return None if isinstance(value.owner, ir.Block) else value.owner.name


def _is_from_argument(value):
    while _owner_name(value) in _VIEWS:
        value = value.owner.operands[0]
    return _owner_name(value) is None


def _in_order(parts):
    return [parts.pieces[offset] for offset in sorted(parts.pieces)]


def _pieces(build, value):
    """What a stacked tensor was joined from, so that its slices still find their part."""
    parts = build.parts.get(value)
    return [piece for part in _in_order(parts) for piece in _pieces(build, part)] if parts else [value]


def _join(build, value, passed):
    parts = build.parts.get(value)
    if not parts:
        return passed[value]
    return build.concatenate([_join(build, part, passed) for part in _in_order(parts)], parts.dim)


def _barrier(build, values):
    if not values:
        return []
    plain = [bits(build, v) for v in values]
    passed = build.create("weft.optimization_barrier", [v.type for v in plain], plain).results
    return [same_bits(build, p, element_of(v)) for p, v in zip(passed, values)]


def bits(build, value):
    """The value as weft's ops take it: without signs."""
    element = element_of(value)
    return same_bits(build, value, ir.IntegerType.get_signless(element.width)) if is_unsigned(element) else value


def same_bits(build, value, element):
    if element_of(value) == element:
        return value
    return build.value("stablehlo.bitcast_convert", build.tensor(shape_of(value), element), [value])
