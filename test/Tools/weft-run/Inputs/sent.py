# SPDX-License-Identifier: Apache-2.0
"""Runs a command again and again, and sends it each signal that a fault is, once it has printed a
line; fails unless the signal ended it.

  sent.py COMMAND...
"""
import resource
import signal
import subprocess
import sys

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL):
    with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline(), process.stderr.read()
        process.send_signal(number)
        process.communicate()
    assert process.returncode == -number, (number, process.returncode)
