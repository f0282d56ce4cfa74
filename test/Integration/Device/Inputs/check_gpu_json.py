#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what bench/gpu.py wrote to its form; times may be any positive numbers."""
import json
import sys

FORM: dict[str, dict[str, type]] = {
    "device": {"name": str, "driver": int, "gpus": int, "memory_bytes": int, "free_bytes": int,
               "architecture": str},
    "examples": {"name": str, "ranks": int, "shared_error": float,
                 "shared_same_bits_with_graphs": bool},
    "values": {"name": str, "bits": bool},
    "conformance": {"name": str, "passed": int, "failed": list},
    "kernels": {"name": str},
    "contractions": {"name": str, "ms": float, "direct_ms": float, "tflops": float,
                     "direct_tflops": float, "of_direct": float},
    "step": {"name": str, "ms": float, "no_graphs_ms": float, "graphs": dict, "predicted_ms": float,
             "predicted_on": str, "measured_of_predicted": float},
    "peers": {},
}
with open(sys.argv[1]) as file:
    result = json.load(file)
assert result["format"] == 1 and result["cases"] == "small", result
assert list(result["parts"]) == list(FORM)
for name, fields in FORM.items():
    part = result["parts"][name]
    assert part["ok"] and part["error"] is None and (part["results"] or name == "peers"), part
    for row in part["results"]:
        assert row["error"] is None, row
        for field, kind in fields.items():
            assert isinstance(row[field], kind), (name, field, row)
            assert kind is not float or row[field] >= 0, (name, field, row)
*_, nothing = result["parts"]["kernels"]["results"]
assert nothing["name"] == "nothing" and nothing["step_ms"] > 0, nothing
for row in result["parts"]["kernels"]["results"][1:-1]:
    assert row["ms"] > 0 and row["step_ms"] > 0 and row["of_copy"] > 0, row
for part in ("kernels", "contractions"):
    types = {row["name"].split()[-1] for row in result["parts"][part]["results"]}
    assert {"f32", "bf16"} <= types, types
step = result["parts"]["step"]["results"][0]
assert step["graphs"]["captured"] and step["graphs"]["launches"] > 0, step
