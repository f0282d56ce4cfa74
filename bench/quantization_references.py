#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Compares weft.quantization with torchao and with TransformerEngine's Python references.

    bench/quantization_references.py                    what the packages do differently, as a table
    bench/quantization_references.py --write FILE.npz   small inputs and bytes, for the test

Packages are taken from the environment that it runs in, and left out if they are not there: torch with
torchao, and the Python files of a TransformerEngine wheel (pip install --no-deps transformer-engine-cu13),
whose compiled part is not loaded. --te-tests names tests/pytorch of TransformerEngine's sources, which
has the reference of its blockwise recipe.
"""

import argparse
import collections
import importlib.util
import json
import sys
import types
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python-bindings"))
from weft import quantization as weft_q

# What is compared: the name, and the arguments of weft.quantization.quantize.
CASES: dict[str, dict] = {
    "fp8 e4m3": {"format": "fp8"},
    "fp8 e5m2": {"format": "fp8", "element": "float8_e5m2"},
    "fp8-block 1x128": {"format": "fp8-block"},
    "fp8-block 128x128": {"format": "fp8-block", "block": [128, 128]},
    "mxfp8 e4m3": {"format": "mxfp8"},
    "mxfp8 e5m2": {"format": "mxfp8", "element": "float8_e5m2"},
    "nvfp4 1x16": {"format": "nvfp4"},
    "nvfp4 16x16": {"format": "nvfp4", "block": [16, 16]},
    "nvfp4 1x16 columns": {"format": "nvfp4", "axis": 0},
    "nvfp4 hadamard columns": {"format": "nvfp4", "axis": 0, "hadamard": True},
    "nvfp4 stochastic": {"format": "nvfp4", "seed": 1234, "stream": 5},
}


def ours(x, case):
    """What the reference gives for a case: scales, data, global scale."""
    arguments = {key: tuple(value) if key == "block" else value for key, value in CASES[case].items()}
    if arguments.pop("hadamard", False):
        x = weft_q.hadamard(x, arguments["axis"])
    return weft_q.quantize(x, **arguments)


def inputs(rows, columns):
    """Random, wide, ties and edges of each format, zeros, subnormals, infinities, NaN."""
    random = np.random.Generator(np.random.PCG64(1))
    shape = (rows, columns)
    normal = random.standard_normal(shape).astype(np.float32)
    blocks = random.integers(-20, 20, (rows, -(-columns // 16)))
    wide = normal * np.exp2(np.repeat(blocks, 16, axis=1)[:, :columns]).astype(np.float32)
    # With 2^k at the head of each block of 16, multipliers are powers of two and these are ties.
    grid = np.array([6, .25, .75, 1.25, 1.75, 2.5, 3.5, 5, -.25, -.75, -1.25, -5, -0., 448, 17, -19], np.float32)
    ties = np.resize(np.where(grid > 100, 6, grid), shape).astype(np.float32)
    ties8 = np.resize(np.where(grid == 6, 448, grid), shape) * np.exp2(np.resize(np.arange(-9, 9), (rows, 1))).astype(np.float32)
    edges = edge_values(random, shape)
    tiny = (random.integers(-2**20, 2**20, shape) * 2.0**-149).astype(np.float32)
    small = (normal * np.float32(1e-37)).astype(np.float32)
    inf, nan = normal.copy(), normal.copy()
    inf[rows // 2, 3], inf[-1, columns // 2] = np.inf, -np.inf
    nan[rows // 2, 3] = np.nan
    zeros = np.zeros(shape, np.float32)
    zeros[::2] = -0.0
    zero_blocks = np.where(random.random((rows, 1)) < 0.5, 0, normal).astype(np.float32)
    return {"randn": normal, "randn bf16": normal.astype(ml_dtypes.bfloat16), "wide": wide,
            "wide bf16": wide.astype(ml_dtypes.bfloat16), "ties": ties, "ties e4m3": ties8.astype(np.float32),
            "edges": edges, "zeros": zeros, "zero rows": zero_blocks, "subnormal": tiny, "1e-37": small,
            "1e-37 bf16": small.astype(ml_dtypes.bfloat16), "inf": inf, "nan": nan}


def edge_values(random, shape):
    """Blocks of 16 whose amax lies on or beside the numbers at which a scale changes."""
    rows, columns = shape
    tops = np.array([448, 464, 480, 496, 512, 256, 1, 1.75, 1.9375, 6, 7, 57344], np.float32)
    count = rows * -(-columns // 16)
    top = np.resize(tops, count) * np.exp2(random.integers(-100, 100, count)).astype(np.float32)
    bits = top.view(np.int32) + random.integers(-2, 3, count).astype(np.int32)
    part = random.uniform(-1, 1, (count, 16)).astype(np.float32)
    part[:, 0] = 1
    values = part * bits.view(np.float32)[:, None]
    return values.reshape(rows, -1)[:, :columns].astype(np.float32)


class Torchao:
    """Every adapter gives (scales, data, global scale) as arrays; 4-bit data one code a byte."""

    name = "torchao"

    def __init__(self):
        import torch
        from torchao.float8 import float8_utils
        from torchao.prototype.mx_formats import mx_tensor, nvfp4_tensor
        self.torch, self.f8, self.mx, self.nv, self.blocks = torch, float8_utils, mx_tensor, nvfp4_tensor, None
        if importlib.util.find_spec("triton"):
            self.blocks = importlib.import_module("torchao.prototype.blockwise_fp8_training.kernels")

    def run(self, x, case):
        x = to_torch(self.torch, x)
        if case.startswith("fp8 "):
            dtype = self.torch.float8_e4m3fn if "e4m3" in case else self.torch.float8_e5m2
            scale = self.f8.tensor_to_scale(x, dtype)
            return (1 / scale).numpy(), codes(self.torch, self.f8.to_fp8_saturated(x.float() * scale, dtype)), None
        if case.startswith("fp8-block") and self.blocks:
            quantize = self.blocks.torch_blockwise_scale_act_quant_lhs if "1x128" in case else self.blocks.torch_blockwise_scale_weight_quant
            data, scales = quantize(x)
            return scales.numpy(), codes(self.torch, data), None
        if case.startswith("mxfp8"):
            dtype = self.torch.float8_e4m3fn if "e4m3" in case else self.torch.float8_e5m2
            scales, data = self.mx.to_mx(x, dtype, 32, self.mx.ScaleCalculationMode.RCEIL)
            return codes(self.torch, scales), codes(self.torch, data), None
        if case == "nvfp4 1x16":
            tensor = self.nv.per_tensor_amax_to_scale(x.abs().max())
            scales, data = self.nv.nvfp4_quantize(x, 16, tensor)
            return codes(self.torch, scales).reshape(x.shape[0], -1), nibbles(codes(self.torch, data)), tensor.numpy()
        return None


class TransformerEngine:
    """Its references, loaded as files: the package wants its compiled part."""

    name = "TE"
    REFERENCES = ("reference_utils", "reference_nvfp4", "reference_current_scaling")

    def __init__(self, tests):
        import torch
        self.torch = torch
        found = importlib.util.find_spec("transformer_engine")
        if found is None:
            raise ImportError("no transformer_engine")
        folder = Path(next(iter(found.submodule_search_locations))) / "pytorch" / "custom_recipes"
        package = "transformer_engine.pytorch"
        gemm = types.SimpleNamespace(FPROP=0, DGRAD=1, WGRAD=2)
        for name, content in ((package.split(".")[0], {}), (package, {}), (package + ".custom_recipes", {}),
                              (package + ".quantized_tensor", {"QuantizedTensorStorage": type("Storage", (), {}), "Quantizer": Usage}),
                              (package + ".custom_recipes.gemm", {"MMParams": object, "GEMMType": gemm})):
            stand_in(name, content)
        self.utils, self.nv, self.current = (load(f"{package}.custom_recipes.{name}", folder / f"{name}.py") for name in self.REFERENCES)
        self.blocks = None
        if tests:
            sys.path.insert(0, str(tests))
            self.blocks = importlib.import_module("references.blockwise_quantizer_reference").BlockwiseQuantizerReference()

    def run(self, x, case):
        x = to_torch(self.torch, x)
        if case.startswith("fp8 "):
            dtype = self.torch.float8_e4m3fn if "e4m3" in case else self.torch.float8_e5m2
            data, scale, _, _ = self.current.CurrentScalingQuantizerRef(dtype, columnwise=False)._quantize(x)
            return scale.reshape(()).numpy(), codes(self.torch, data), None
        if case.startswith("fp8-block") and self.blocks:
            tile = (1, 128) if "1x128" in case else (128, 128)
            result = self.blocks.quantize(x, self.torch.float8_e4m3fn, pow_2_scales=True, quant_tile_shape=tile, munge_scale_shapes=False)
            return result.scale.numpy(), codes(self.torch, result.data), None
        if case.startswith("nvfp4") and "stochastic" not in case:
            return self.nvfp4(x, case)
        return None

    def nvfp4(self, x, case):
        columns = "columns" in case
        tile = (16, 16) if "16x16" in case else (1, 16)
        quantizer = self.nv.NVFP4QuantizerRef(self.utils.Fp4Formats.E2M1, rowwise=not columns, columnwise=columns,
                                              quant_tile_shape=tile, with_rht="hadamard" in case)
        data, scales, data_t, scales_t, amax, amax_t = quantizer._quantize(x)
        if columns:
            return codes(self.torch, scales_t).T, nibbles(data_t.numpy()).T, amax_t.numpy() / np.float32(2688)
        return codes(self.torch, scales)[::tile[0]], nibbles(data.numpy()), amax.numpy() / np.float32(2688)


class Usage:
    """What TransformerEngine's references take from the class of quantizers."""

    def __init__(self, rowwise=True, columnwise=True):
        self.rowwise_usage, self.columnwise_usage = rowwise, columnwise


def stand_in(name, content):
    module = types.ModuleType(name)
    module.__path__ = []
    module.__dict__.update(content)
    sys.modules[name] = module
    if "." in name:
        parent, child = name.rsplit(".", 1)
        setattr(sys.modules[parent], child, module)


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    setattr(sys.modules[name.rsplit(".", 1)[0]], name.rsplit(".", 1)[1], module)
    spec.loader.exec_module(module)
    return module


def to_torch(torch, x):
    if x.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(x.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(x.copy())


def codes(torch, tensor):
    return tensor.contiguous().view(torch.uint8).numpy()


def nibbles(packed):
    return np.stack([packed & 15, packed >> 4], -1).reshape(packed.shape[0], -1)


def differing(one, two, nan=None):
    """How many entries differ in their bits; NaN of any sign and payload are one."""
    one, two = np.asarray(one), np.asarray(two)
    assert one.shape == two.shape, f"shapes {one.shape} and {two.shape}"
    if one.dtype == np.float32:
        both = np.isnan(one) & np.isnan(two)
        return int(((one.view(np.uint32) != two.view(np.uint32)) & ~both).sum())
    both = False if nan is None else ((one & 0x7F) >= nan) & ((two & 0x7F) >= nan)
    return int(((one != two) & ~both).sum())


def compare(q, theirs):
    """(scales that differ, bytes of data that differ, whether the global scale does by more than an ulp)."""
    scales, data, whole = theirs
    mine = q.scales if q.scales.dtype == np.float32 else q.scales.view(np.uint8)
    nan = {"float8_e4m3fn": 0x7F, "float8_e5m2": 0x7D}.get(q.data.dtype.name)
    nan_scale = 0x7F if q.scales.dtype.name == "float8_e4m3fn" else None
    apart = 0
    if whole is not None:
        one, two = np.float32(q.global_scale), np.float32(whole).reshape(())
        with np.errstate(all="ignore"):
            apart = int(not (one == two or np.isnan(one) and np.isnan(two) or abs(one - two) <= 2 * np.spacing(two)))
    return differing(mine, scales, nan_scale), differing(q.data.view(np.uint8) & (15 if nan is None else 255), data, nan), apart


def table(packages, rows, columns):
    print(f"{'case':23s} {'input':11s} {'package':8s} {'scales':>15s} {'data':>17s}  global scale")
    for case in CASES:
        for name, x in inputs(rows, columns).items():
            q = ours(x, case)
            for package in packages:
                theirs = package.run(x, case)
                if theirs is None:
                    continue
                scales, data, apart = compare(q, theirs)
                print(f"{case:23s} {name:11s} {package.name:8s} {scales:6d} of {q.scales.size:5d} {data:7d} of {q.data.size:6d}"
                      f"  {'' if theirs[2] is None else 'differs' if apart else 'equal'}")


# What is left out of the file, to keep it small: what others show as well.
NOT_WRITTEN = {"wide bf16", "zero rows", "1e-37", "mxfp8 e5m2"}


def write(path, packages, rows, columns):
    """Inputs, our bytes, and which packages gave the same ones."""
    stored, cases = {}, []
    kept = {name: x for name, x in inputs(rows, columns).items() if name not in NOT_WRITTEN}
    for number, (name, x) in enumerate(kept.items()):
        stored[f"x{number}"] = x.view(np.uint16 if x.dtype.itemsize == 2 else np.uint32)
        for case in [case for case in CASES if case not in NOT_WRITTEN]:
            q = ours(x, case)
            data, scales, whole = q.to_bytes()
            key = f"y{len(cases)}"
            stored[key] = np.frombuffer(data + scales + whole, np.uint8)
            same = [p.name for p in packages if (theirs := attempt(p, x, case)) and not any(compare(q, theirs))]
            cases.append({"input": name, "x": f"x{number}", "dtype": x.dtype.name, "y": key, "case": case,
                          "arguments": CASES[case], "equal": same})
    np.savez_compressed(path, cases=np.frombuffer(json.dumps(cases).encode(), np.uint8), **stored)
    counts = collections.Counter(name for case in cases for name in case["equal"])
    print(f"{path}: {Path(path).stat().st_size} bytes, {len(cases)} cases; equal: {dict(counts)}")


def attempt(package, x, case):
    """None as well where the package does not take the shape."""
    try:
        return package.run(x, case)
    except (AssertionError, ValueError, RuntimeError):
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", metavar="FILE", help="write inputs and bytes for the test instead")
    parser.add_argument("--te-tests", metavar="DIR", help="tests/pytorch of TransformerEngine's sources")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    packages = []
    for make in (lambda: TransformerEngine(options.te_tests), Torchao):
        try:
            packages.append(make())
        except ImportError as error:
            print(f"left out: {error}")
    if options.write:
        write(options.write, packages, 16, 64)
    else:
        table(packages, 256, 384)


if __name__ == "__main__":
    main()
