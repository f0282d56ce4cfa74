# SPDX-License-Identifier: Apache-2.0
# Made by scripts/make-options.py from the compiler's table of options.

"""The keywords of weft.compile, weft.build and weft.lower, for type checkers."""

import os
from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict


class Options(TypedDict, total=False):
    """Options of the compiler, as docs/options.md lists them. None is as if not given.

    header: write a C header that names arguments and results
    linker: the C++ compiler that links (default: c++)
    target: what the code is for; if not given, what the module names, or host
    target_options: what the target wants to be told, with commas
    cpu: its CPU, as LLVM names it; native is this one (default: native)
    tf32: let products of f32 round their factors to TF32, on GPUs that have it (default:
        False)
    mesh: replace the sizes of mesh axes; others keep theirs
    ranks: fail unless the mesh has N ranks
    accumulate: each rank computes this axis's parts, the microbatches, one by one
    infer_storage: if not: shard weights as written, also while they are used (default:
        True)
    invariant: for all sizes of these axes; of all axes: mesh
    leaves: leaves of a sum's tree, the most parts of it (default: 8)
    partials: partial sums of narrow contractions (default: f32)
    attention: whether attention that is written out becomes one op (default: raise)
    ring_attention: whether keys that are cut over ranks travel instead of being gathered
        (default: auto)
    quantize: narrow operands of linear layers: fp8, fp8-block, mxfp8 or nvfp4; with
        =PATTERN of weights with such names
    schedule: order of the step (default: best)
    effort: how long orders are searched: quick takes the best of a few (default: full)
    machine: the machine that it is ordered for; if not given, the target's
    memory_limit: what a rank may use at most, as in 8GiB, or none; else the machine's
    recompute: what is computed again instead of kept (default: auto)
    offload: beside what is marked, which arguments lie in the host's memory: patterns of
        names, or auto for those that time and the limit tell; or none, not even what is
        marked
    merge_channels: one channel for all collectives over the same axes (default: False)
    proofs: if not: do not prove that the program is right (default: True)
    report: write a page (HTML) about the schedule and its memory
    compare: put a second schedule beside it in that page
    stats: print what each rank receives, the schedule's figures, and its memory (default:
        False)
    remarks: print what the compiler says about its decisions (default: False)
    timing: print the seconds of each pass and each proof (default: False)
    """
    header: str | bytes | os.PathLike | None
    linker: str | bytes | os.PathLike | None
    target: str | None
    target_options: Mapping[str, int | str] | None
    cpu: str | None
    tf32: bool | None
    mesh: Mapping[str, int | str] | None
    ranks: int | None
    accumulate: str | None
    infer_storage: bool | None
    invariant: bool | str | Sequence[str] | None
    leaves: int | None
    partials: Literal["f32", "bf16"] | None
    attention: Literal["raise", "keep"] | None
    ring_attention: Literal["never", "auto", "always", "balanced"] | None
    quantize: str | Sequence[str] | None
    schedule: Literal["sync", "next-layer", "greedy", "best"] | None
    effort: Literal["quick", "full"] | None
    machine: str | bytes | os.PathLike | None
    memory_limit: int | str | None
    recompute: Literal["none", "marked", "auto"] | None
    offload: str | Sequence[str] | None
    merge_channels: bool | None
    proofs: bool | None
    report: str | bytes | os.PathLike | None
    compare: Literal["sync", "next-layer", "greedy", "best"] | None
    stats: bool | None
    remarks: bool | None
    timing: bool | None
