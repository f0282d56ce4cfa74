# SPDX-License-Identifier: Apache-2.0

"""Meshes and shardings: from what users and Shardy write to #weft.sharding."""

import jax
from jax.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from weft.jax import _keys
from weft.jax._errors import ExportError

MESH_SYMBOL = "mesh"
# The memory in which JAX keeps what is put into its memory space Host.
HOST_KIND = "pinned_host"


def abstract_mesh(mesh):
    """The mesh without devices of a dict of sizes, a JAX mesh or None."""
    if mesh is None or isinstance(mesh, AbstractMesh):
        return mesh
    if isinstance(mesh, Mesh):
        return mesh.abstract_mesh
    return AbstractMesh(tuple(mesh.values()), tuple(mesh.keys()))


def axis_sizes(mesh):
    return {} if mesh is None else dict(zip(mesh.axis_names, mesh.axis_sizes))


def find_mesh(shardings):
    """The mesh that the shardings of a tree name, or None."""
    for leaf in jax.tree.leaves(shardings, is_leaf=is_sharding):
        if isinstance(leaf, NamedSharding):
            return abstract_mesh(leaf.mesh)
    return None


def is_sharding(leaf):
    return isinstance(leaf, (PartitionSpec, jax.sharding.Sharding))


def named(tree, mesh):
    """Replaces the specs of a tree by shardings over the mesh without devices."""
    def one(leaf):
        if isinstance(leaf, PartitionSpec):
            return _over(_required(mesh), leaf)
        if isinstance(leaf, NamedSharding):
            _check_same(mesh, leaf.mesh)
            return _over(_required(mesh), leaf.spec)
        return leaf
    return jax.tree.map(one, tree, is_leaf=is_sharding)


def on_host(sharding):
    """Whether JAX keeps a value with this sharding in the host's memory."""
    return getattr(sharding, "memory_kind", None) == HOST_KIND


def given_hosts(prefix, tree):
    """For each leaf of a tree whether the prefix tree of shardings keeps it in the host's memory."""
    flags = []
    jax.tree.map(lambda sharding, part: flags.extend([on_host(sharding)] * len(jax.tree.leaves(part))),
                 prefix, tree, is_leaf=lambda leaf: leaf is None or is_sharding(leaf))
    return flags


def _over(mesh, spec):
    try:
        return NamedSharding(mesh, spec)
    except ValueError as error:  # an axis that the mesh does not have, or has twice
        raise ExportError(f"{spec} does not fit the mesh {axis_sizes(mesh)}: {error}") from None


def given_texts(what, prefix, tree, mesh):
    """For each leaf of a tree the sharding that a prefix tree gives it: a text for
    each dimension, or None. A size need not be a multiple of its axes' sizes."""
    if prefix is None:
        return [None] * len(jax.tree.leaves(tree))
    is_given = lambda leaf: leaf is None or is_sharding(leaf)
    prefix, texts = named(prefix, mesh), []

    def give(sharding, part):
        # A None of the tree itself is a part without leaves.
        texts.extend(_given_text(what, sharding, leaf) for leaf in jax.tree.leaves(part))
    try:
        jax.tree.map(give, prefix, tree, is_leaf=is_given)
    except ValueError as error:
        raise ExportError(f"{what} has not the structure of what it is for: {error}") from None
    return texts


def _given_text(what, sharding, leaf):
    if sharding is None:
        return None
    if not isinstance(sharding, NamedSharding):
        raise ExportError(f"{what} has {sharding!r}, expected a PartitionSpec, a NamedSharding or None")
    spec, rank = tuple(sharding.spec), len(jax.numpy.shape(leaf))
    if len(spec) > rank:
        raise ExportError(f"{what} gives {sharding.spec} to a value of rank {rank}")
    inner = len(_keys.data_shape(leaf)) - rank
    if rank + inner == 0:
        return None
    return tuple(_spec_text(entry) for entry in spec + (None,) * (rank + inner - len(spec)))


def _spec_text(entry):
    """The axes of one dimension of a PartitionSpec."""
    if entry is PartitionSpec.UNCONSTRAINED:
        return "{?}"
    axes = () if entry is None else entry if isinstance(entry, tuple) else (entry,)
    return "{" + ", ".join(f'"{axis}"' for axis in axes) + "}"


def _required(mesh):
    if mesh is None:
        raise ExportError("a sharding is given but no mesh")
    return mesh


def _check_same(mesh, other):
    if axis_sizes(mesh) != axis_sizes(other):
        raise ExportError(f"a sharding is over the mesh {axis_sizes(other)}, "
                          f"the export is over {axis_sizes(mesh)}")


class ModuleMeshes:
    """The meshes that a lowered module declares; all have to be one."""

    def __init__(self, operations, mesh):
        self.sizes = axis_sizes(mesh)
        for op in operations:
            if op.operation.name == "sdy.mesh":
                self._add(sdy.MeshAttr(op.operation.attributes["mesh"]))

    def _add(self, mesh):
        axes = [sdy.MeshAxisAttr(axis) for axis in mesh.axes]
        sizes = {axis.name: axis.size for axis in axes}
        if not sizes:
            return
        if self.sizes and self.sizes != sizes:
            raise ExportError(f"the function uses the mesh {sizes}, the export is over {self.sizes}")
        self.sizes = sizes


def _axis_text(axis):
    part = axis.sub_axis_info
    if part is None:
        return f'"{axis.name}"'
    part = sdy.SubAxisInfoAttr(part)
    return f'"{axis.name}":({part.pre_size}){part.size}'


def _dim_text(dim):
    dim = sdy.DimensionShardingAttr(dim)
    axes = [_axis_text(sdy.AxisRefAttr(a)) for a in dim.axes]
    return "{" + ", ".join(axes + ([] if dim.is_closed else ["?"])) + "}"


def sharding_text(attribute):
    """Per dimension the text of its axes, as in #weft.sharding."""
    return [_dim_text(d) for d in sdy.TensorShardingAttr(attribute).dimension_shardings]


def weft_sharding(attribute, meshes, per_value=False):
    """#weft.sharding of a Shardy attribute; None where there is no mesh to speak of."""
    if per_value:
        shardings = list(sdy.TensorShardingPerValueAttr(attribute).shardings)
        if len(shardings) != 1:
            return None
        attribute = shardings[0]
    if not meshes.sizes:
        return None
    dims = ", ".join(sharding_text(attribute))
    return ir.Attribute.parse(f"#weft.sharding<@{MESH_SYMBOL}, [{dims}]>")


def mesh_attribute(meshes):
    axes = ", ".join(f'"{name}"={size}' for name, size in meshes.sizes.items())
    return ir.Attribute.parse(f"#weft.mesh<[{axes}]>")
