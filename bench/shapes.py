# SPDX-License-Identifier: Apache-2.0

"""Random shapes of training steps, meshes and machines: no step that the scheduler was made with.

A seed has the same shape everywhere. Needs nothing but Python; see steps.py and schedule.py.
"""

from dataclasses import dataclass
from math import prod
from random import Random

# The most ranks that a machine has; those of one node are first.
MACHINES = {"h100x8": 8, "b200x8": 8, "nvl72": 64, "h100-cluster": 256, "b200-cluster": 256}


@dataclass(frozen=True)
class Shape:
    """What a model's Config takes, a mesh, and a machine that has its ranks."""
    fields: dict[str, int]
    experts: dict[str, int]
    mesh: str
    machine: str


def draw_mesh(random, experts):
    """Sizes of the axes by name, of at most 256 ranks."""
    mesh = {"dp": random.choice([1, 1, 2]), "fsdp": random.choice([2, 4, 8, 16]),
            "tp": 1 if experts else random.choice([1, 1, 2, 4, 8])}
    if experts:
        mesh["ep"] = random.choice([2, 4, 8, 16])
    return mesh if prod(mesh.values()) <= max(MACHINES.values()) else draw_mesh(random, experts)


def draw(seed, layers=(2, 12)):
    """The shape of a seed, with so many layers at least and at most."""
    random = Random(seed)
    has_experts = random.random() < 0.5
    mesh = draw_mesh(random, has_experts)
    data = mesh["dp"] * mesh["fsdp"] * mesh.get("ep", 1)
    ranks = data * mesh["tp"]
    head_dim, heads = random.choice([64, 128]), random.choice([16, 24, 32, 48, 64])
    fields = {"layers": random.randint(*layers), "heads": heads,
              "kv_heads": random.choice([8, heads]), "head_dim": head_dim,
              "d_model": head_dim * random.choice([heads, heads // 2]),
              "ffn": 256 * random.randint(6, 64), "vocab": random.choice([32000, 65536, 128256]),
              "seq": random.choice([1024, 2048, 4096, 8192]), "batch": data * random.choice([1, 2, 4])}
    experts = {}
    if has_experts:
        experts = {"experts": mesh["ep"] * random.choice([1, 2, 4, 8]), "chosen": random.choice([1, 2])}
        if experts["experts"] >= 32:
            experts["chosen"] = random.choice([4, 8])
            fields["ffn"] = 256 * random.randint(2, 8)
    machine = random.choice([name for name, most in MACHINES.items() if most >= ranks])
    return Shape(fields, experts, ",".join(f"{k}={v}" for k, v in mesh.items()), machine)
