# SPDX-License-Identifier: Apache-2.0

"""What JAX says of the host's memory: jax.device_put there and back.

A value that is put into the host's memory, and comes back to be read, goes through
weft.optimization_barrier {offload}. Where it comes back is for the schedule to say.
"""

from jaxlib.mlir import ir

from weft.jax._barrier import bits, same_bits
from weft.jax._builder import element_of, shape_of

# The custom call by which JAX says where a value lies from there on.
CALL = "annotate_device_placement"
_HOST = {"pinned_host", "unpinned_host"}


def lowering_rules():
    """Rules that keep jax.device_put: JAX lowers it to nothing for the CPU, whose memory is the host's.

    None where this JAX has no such rule.
    """
    try:
        from jax._src.dispatch import _tpu_gpu_device_put_lowering as rule
        from jax._src.dispatch import device_put_p
        return ((device_put_p, rule),)
    except ImportError:
        return ()


def place(build, op, value):
    """The value where the custom call puts it; a ValueError says what cannot be."""
    kind = _kind_of(op)
    if kind == "device":
        return value
    if kind not in _HOST:
        raise ValueError(f"puts a value into memory of kind '{kind}', expected device, pinned_host or unpinned_host")
    if value in build.known or 0 in shape_of(value) or _is_there(value):
        return value
    passed = build.create("weft.optimization_barrier", [bits(build, value).type], [bits(build, value)],
                          {"offload": ir.UnitAttr.get()}).results[0]
    return same_bits(build, passed, element_of(value))


def _is_there(value):
    owner = value.owner
    return not isinstance(owner, ir.Block) and owner.name == "weft.optimization_barrier" and "offload" in owner.attributes


def _kind_of(op):
    attributes = op.attributes["mhlo.frontend_attributes"]
    return ir.StringAttr(ir.DictAttr(attributes)["_xla_buffer_placement"]).value
