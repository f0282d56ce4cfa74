# SPDX-License-Identifier: Apache-2.0
"""A warning ends a build with WEFT_WERROR, which scripts/build.sh sets."""
import subprocess

from conftest import SCRIPTS

PROJECT = f"""
cmake_minimum_required(VERSION 3.22)
project(warns LANGUAGES C CXX)
list(APPEND CMAKE_MODULE_PATH {SCRIPTS.parent}/cmake/modules)
include(WeftOptions)
add_library(warns STATIC warns.cpp)
"""


def test_warnings(tree):
    tree.write("CMakeLists.txt", PROJECT)
    tree.write("warns.cpp", "int f() {\n  int unused = 1;\n  return 0;\n}\n")
    for option, fails in (("ON", True), ("OFF", False)):
        subprocess.run(["cmake", "-G", "Ninja", "-S", tree.folder, "-B", tree.folder / "build", f"-DWEFT_WERROR={option}"],
                       check=True, capture_output=True)
        built = subprocess.run(["ninja", "-C", tree.folder / "build"], text=True, capture_output=True)
        assert (built.returncode != 0) == fails
        assert "unused variable" in built.stdout
    assert "-DWEFT_WERROR=ON" in (SCRIPTS / "build.sh").read_text()
