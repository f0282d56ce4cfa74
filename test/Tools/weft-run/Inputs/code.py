# SPDX-License-Identifier: Apache-2.0
"""Runs a command and fails unless it ends with the expected exit code.

  code.py CODE COMMAND...
"""
import subprocess
import sys

code = subprocess.run(sys.argv[2:]).returncode
sys.exit(0 if code == int(sys.argv[1]) else f"exit code {code}, expected {sys.argv[1]}")
