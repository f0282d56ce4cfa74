# SPDX-License-Identifier: Apache-2.0

"""Typed PRNG keys. A program has a key's data, unsigned integers in further
dimensions; what kind of key they are stands in the tensor's spec."""

import jax

from weft.jax._errors import ExportError


def is_key(leaf):
    dtype = getattr(leaf, "dtype", None)
    return dtype is not None and jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)


def data_shape(leaf):
    """The shape that the program has for a leaf."""
    return data_type(leaf)[0] if is_key(leaf) else jax.numpy.shape(leaf)


def data_type(leaf):
    """The shape and type that the program has for a leaf with both."""
    if not is_key(leaf):
        return tuple(leaf.shape), leaf.dtype
    data = jax.eval_shape(jax.random.key_data, _struct(leaf))
    return tuple(data.shape), data.dtype


def _struct(leaf):
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)


def kind(leaf):
    """The name of a key's implementation, by which JAX makes keys of data; None for other leaves."""
    if not is_key(leaf):
        return None
    found = []
    jax.eval_shape(lambda key: found.append(jax.random.key_impl(key)), _struct(leaf))
    if not isinstance(found[0], str):
        raise ExportError(f"a key's implementation {found[0]} is not registered with JAX by a name")
    return found[0]
