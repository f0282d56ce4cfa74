# SPDX-License-Identifier: Apache-2.0

"""The package as others get it: its wheel, its version, its types."""

import inspect
import pathlib
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv

import pytest

import weft
import weft.jax
from weft import _native

ROOT = pathlib.Path(__file__).parents[2]

STEP = """
weft.mesh @mesh = <["dp"=2]>
func.func @step(%x: tensor<4xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"dp"}]>})
    -> (tensor<4xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"dp"}]>}) {
  %0 = arith.addf %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""

# What somebody does who has nothing but the wheel.
PROGRAM = f"""
import pathlib, sys
import numpy as np
import weft
assert pathlib.Path(weft.__file__).is_relative_to(sys.prefix), weft.__file__
assert "jax" not in sys.modules
pathlib.Path("step.mlir").write_text({STEP!r})
program = weft.compile("step.mlir", ranks=2)
y, = program(np.arange(4, dtype=np.float32))
print(weft.__version__, y.tolist())
weft.build("step.mlir", "step")  # an executable, with the archives that the wheel has
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of the build that is tested."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
                    "--disable-pip-version-check", "--wheel-dir", folder,
                    "--config-settings", f"build-dir={ROOT / 'build/python-build'}",
                    "--config-settings", f"cmake.define.WEFT_BUILD_DIR={ROOT / 'build'}", ROOT], check=True)
    path, = folder.glob("weft-*.whl")
    return path


def link_packages(names, folder):
    """The only packages that the wheel asks for, without the network."""
    for name in names:
        here = pathlib.Path(sysconfig.get_path("platlib"))
        for path in here.glob(f"{name}*"):
            (folder / path.name).symlink_to(path)


def test_wheel_runs_in_an_empty_environment(wheel, tmp_path):
    place = tmp_path / "venv"
    venv.create(place, with_pip=False, symlinks=True)
    packages = next(place.glob("lib/python*/site-packages"))
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
                    "--disable-pip-version-check", "--target", packages, wheel], check=True)
    link_packages(["numpy", "ml_dtypes"], packages)
    done = subprocess.run([place / "bin/python", "-I", "-c", PROGRAM], cwd=tmp_path, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{weft.__version__} [0.0, 2.0, 4.0, 6.0]\n"
    assert subprocess.run([tmp_path / "step", "--inspect"], capture_output=True).returncode == 0
    assert (packages / "weft/py.typed").exists()


def test_sdist_has_what_the_build_needs(tmp_path):
    # The backend speaks of the folder that it is called in.
    code = "import sys; from scikit_build_core.build import build_sdist; print(build_sdist(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, tmp_path], cwd=ROOT, check=True, capture_output=True)
    path, = tmp_path.glob("weft-*.tar.gz")
    with tarfile.open(path) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, text=True, capture_output=True, check=True).stdout
    tracked = {name for name in listing.splitlines() if (ROOT / name).exists()}
    needed = {name for name in tracked
              if re.match(r"(cmake|include|lib|machines|tools|python-bindings/(src|weft)|runtime/(backends|core|"
                          r"include|tool))/|[^/]*(CMakeLists.txt|pyproject.toml|README.md|LICENSE)$", name)}
    assert needed <= held, sorted(needed - held)
    assert not any(name.startswith(("test/", "build", "python-bindings/tests/")) for name in held)


def test_version_is_that_of_the_build():
    project = re.search(r"project\(weft VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    assert weft.__version__ == project == _native.version


def public_functions():
    """Functions of the package and of weft.jax, and the methods and properties of their classes."""
    for owner in (weft, weft.jax):
        for name in owner.__all__:
            item = getattr(owner, name)
            if inspect.isfunction(item):
                yield name, item
            if inspect.isclass(item) and item.__module__.startswith("weft.") and item is not weft.Array:
                for key, value in vars(item).items():
                    method = value.fget if isinstance(value, property) else getattr(item, key)
                    if inspect.isfunction(method) and not key.startswith("_"):
                        yield f"{name}.{key}", method


def test_a_tree_that_is_not_installed_has_no_version(tmp_path):
    packages = tmp_path / "packages"
    packages.mkdir()
    link_packages(["numpy", "ml_dtypes"], packages)
    code = "import weft; print(hasattr(weft, '__version__'), callable(weft.compile))"
    done = subprocess.run([sys.executable, "-S", "-c", "import sys; sys.path += sys.argv[1:]\n" + code,
                           str(ROOT / "python-bindings"), str(packages)], text=True, capture_output=True,
                          env={}, check=True)
    assert done.stdout == "False True\n"


def test_public_functions_have_type_hints():
    found = dict(public_functions())
    assert {"compile", "export", "Module.load", "Program.run", "Program.stats"} <= found.keys()
    for name, function in found.items():
        signature = inspect.signature(function)
        missing = [p.name for p in signature.parameters.values() if p.annotation is p.empty and p.name != "self"]
        assert not missing and signature.return_annotation is not signature.empty, (name, missing)


def test_missing_llvm_is_explained():
    code = """
import sys
class Missing:
    def find_spec(self, name, path, target=None):
        if name == "weft._native":
            raise ImportError("libMLIR.so.22.1: cannot open shared object file: No such file or directory")
sys.meta_path.insert(0, Missing())
import weft
try:
    weft.load("step.so")
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)
    assert "libMLIR.so.22.1" in done.stdout and "install libmlir-22 and libllvm22" in done.stdout, done.stderr
