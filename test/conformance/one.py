# SPDX-License-Identifier: Apache-2.0

"""One case of StableHLO's test data through weft: exported, compiled, run and compared."""

import re
import warnings

import cases
import numpy as np
import weft
from jaxlib.mlir import ir
from weft.jax import _export
from weft.jax._errors import ExportError

# Ways in which each case runs: are inputs arguments, which dimension is cut, how many ranks, in invariant mode or not.
WAYS = {"alone": (True, None, 1, False), "constant": (False, None, 1, False), "cut": (True, 0, 2, False),
        "cut-last": (True, -1, 2, False), "invariant": (True, 0, 2, True)}  # fmt: skip

# What the expected values, which XLA computed, may be off by as well (relative).
CLOSE = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}


class Result:
    """right, refused, wrong or failed, and why."""

    def __init__(self, word, why=""):
        self.word, self.why = word, why


def run(checkout, context, name, way):
    is_argument, dim, ranks, is_invariant = WAYS[way]
    with context, ir.Location.unknown():
        case = cases.load(checkout, name, not is_argument)
        cuts = [_cut(type, dim) for type in case.types]
        if dim is not None and not any(cuts) or way == "cut-last" and cuts == [_cut(t, 0) for t in case.types]:
            return None
        has_parts = ranks > 1 or _has_other_sums(case.module)
    try:
        module = _exported(case, cuts, ranks)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = weft.compile(module, threads=1, invariant=is_invariant)
    except (ExportError, weft.CompileError) as error:
        return Result("refused", str(error))
    found = program(*case.arguments)
    differences = [_difference(f, c, has_parts) for f, c in zip(found, case.checks)]
    differences = [d for d in differences if d]
    return Result("wrong", "; ".join(differences)) if differences else Result("right")


def _has_other_sums(module):
    """Updates of a scatter are added in f32, and rounded to a narrow type once, which XLA does each time. Fourier transforms
    are products."""
    text = str(module)
    return "stablehlo.fft" in text or bool(re.search(r"stablehlo\.(select_and_)?scatter", text)) and "stablehlo.add" in text


def _cut(type, dim):
    """The sharding of a tensor: one dimension of at least two elements, the first or the last."""
    wide = [i for i, size in enumerate(type.shape) if size > 1]
    if dim is None or not wide:
        return None
    return tuple('{"d"}' if i == wide[dim] else "{}" for i in range(len(type.shape)))


def _exported(case, cuts, ranks):
    """What weft.jax.export makes of a function of JAX whose StableHLO this is."""
    from jax.sharding import AbstractMesh
    leaves, checks = range(len(case.types)), range(len(case.checks))
    lowered = _export.Lowered(
        module=case.module, name="main", argument_paths=[[f"x{i}"] for i in leaves],
        argument_types=[(tuple(t.shape), np.float32) for t in case.types], donated=[False for _ in leaves],
        kept=list(leaves), result_paths=[[f"y{i}"] for i in checks], output=None,
        argument_shardings=cuts, result_shardings=[None for _ in checks],
        arguments_on_host=[False for _ in leaves], results_on_host=[False for _ in checks],
        argument_keys=[None for _ in leaves], result_keys=[None for _ in checks])
    mesh = AbstractMesh((ranks,), ("d",)) if ranks > 1 else None
    rows = [_export._tree(tuple(leaves)), _export._tree(tuple(checks))]
    return _export._assemble(lowered, mesh, True, *rows)


def _difference(found, check, has_parts):
    """Says how a result differs from what it has to be."""
    if check.expected is None:
        return "has a type that it should not have"
    found, expected = np.asarray(found), check.expected
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"is {found.dtype}{found.shape}, expected {expected.dtype}{expected.shape}"
    same = _is_same(found, expected, check, has_parts)
    if np.all(same):
        return None
    at = tuple(np.argwhere(~same)[0])
    ulps = f", at most {_ulps(found, expected)[~same].max()} ulps" if check.ulps else ""
    return f"{(~same).sum()} of {same.size} differ{ulps}: {[int(i) for i in at]} is {found[at]}, expected {expected[at]}"


def _is_same(found, expected, check, has_parts):
    """A sum of parts has another order, or other roundings, whatever a file says of it."""
    with np.errstate(all="ignore"):
        if found.dtype.kind in "iub":
            return found == expected
        a, b = found.astype(np.float64), expected.astype(np.float64)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if check.tolerance is not None:
            same |= np.abs(a - b) <= check.tolerance
        if check.ulps is not None:
            same |= np.isfinite(a) & np.isfinite(b) & (_ulps(found, expected) <= check.ulps)
        if check.ulps is not None or check.tolerance is not None or has_parts:
            # Parts of a sum are rounded, and may be larger than it.
            size = np.max(np.abs(b), initial=0, where=np.isfinite(b)) if has_parts else np.abs(b)
            same |= np.abs(a - b) <= CLOSE.get(found.dtype.name, 0) * size
        return same


def _ulps(a, b):
    """How many floats lie between."""
    width = a.dtype.itemsize * 8
    bits = [x.view(f"u{a.dtype.itemsize}").astype(object) for x in (a, b)]
    sides = [np.where(x >> (width - 1) == 1, -(x & ((1 << (width - 1)) - 1)), x) for x in bits]
    return np.abs(sides[0] - sides[1])
