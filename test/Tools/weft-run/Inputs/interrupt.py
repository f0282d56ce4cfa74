# SPDX-License-Identifier: Apache-2.0
"""Runs a command again and again, and ends it by a signal once it has a temporary file in this
folder; fails unless the signal ended it and the file is gone.

  interrupt.py COMMAND...
"""
import glob
import signal
import subprocess
import sys
import time

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def heed_signals():
    """Test runners may ignore signals, and who is started by them inherits that."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


def interrupt(number):
    # A process group of its own: a terminal's Ctrl-C would not reach it otherwise.
    process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               start_new_session=True, preexec_fn=heed_signals)
    try:
        while process.poll() is None and not glob.glob("*.tmp"):
            time.sleep(0.001)
        process.send_signal(number)
        return process.wait(60)
    finally:
        process.kill()


for number in SIGNALS:
    code = 0
    while code == 0:  # it may have been done before the signal came
        code = interrupt(number)
    assert code == -number, (number, code)
    assert not glob.glob("*.tmp"), glob.glob("*.tmp")
