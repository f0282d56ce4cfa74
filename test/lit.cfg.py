# SPDX-License-Identifier: Apache-2.0
# How the lit tests run: which files are tests, where the tools are, and which
# features a test may require.
import os
import shutil
import subprocess
import sys

import lit.formats

config.name = "weft"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.weft_test_build_dir

# Inputs of tests, not tests.
config.excludes = ["Inputs"]

tools = [config.weft_bin_dir, config.llvm_tools_dir]
config.environment["PATH"] = os.pathsep.join(tools + [os.environ["PATH"]])

# A check that can never fail is an error: an unused prefix, a variable that
# leaks from one function to the next.
config.environment["FILECHECK_OPTS"] = "-enable-var-scope --allow-unused-prefixes=false"

# %python runs the scripts that tests call, with the packages that they need if
# WEFT_TEST_PYTHON names such an interpreter; %repo is where the scripts are; %cc
# compiles the test of the C API, with weft's library in %weft_lib, and %cxx is what
# compiled the build, %build.
config.test_python = os.environ.get("WEFT_TEST_PYTHON", sys.executable)
config.substitutions.append(("%python", config.test_python))
config.substitutions.append(("%repo", os.path.dirname(config.test_source_root)))
config.substitutions.append(("%build", os.path.dirname(config.test_exec_root)))
config.substitutions.append(("%cc", config.c_compiler))
config.substitutions.append(("%cxx", config.cxx_compiler))
config.substitutions.append(("%weft_lib", config.weft_lib_dir))

# Runs a command with addresses that are not random, where that is allowed.
fixed = ["setarch", "-R"]
if not shutil.which("setarch") or subprocess.run(fixed + ["true"], capture_output=True).returncode:
    fixed = ["env"]
config.substitutions.append(("%same_addresses", " ".join(fixed)))

# `host`: compiled steps run on this machine, with ranks as threads.
config.available_features.add("host")
# `nightly`: what is slow and rarely fails runs too (lit -Dnightly=1).
if lit_config.params.get("nightly"):
    config.available_features.add("nightly")
