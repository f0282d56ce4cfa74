# SPDX-License-Identifier: Apache-2.0

"""Files that are read whole, and files that are there whole or not at all."""

import os
import stat
import tempfile

from weft.words import printable


class FormatError(ValueError):
    """A file is not what it should be; names the file, and the tensor if it is about one."""


def read(path):
    """The bytes of a file. A pipe would never end."""
    path = os.fspath(path)  # a number would be somebody's descriptor
    if os.path.isdir(path):
        raise _not_regular("read", path)
    with open(path, "rb", opener=_open_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise _not_regular("read", path)
        return file.read()


def _not_regular(verb, path):
    return FormatError(f"cannot {verb} '{printable(os.fsdecode(path))}': not a regular file")


def _open_at_once(path, flags):
    return os.open(path, flags | os.O_NONBLOCK)


def write(path, pieces):
    """Writes a temporary file beside the path, and renames it. Devices are written to as they are."""
    path = os.fsdecode(path)
    mode = os.stat(path).st_mode if os.path.exists(path) else stat.S_IFREG
    if not stat.S_ISREG(mode) and not stat.S_ISCHR(mode):
        raise _not_regular("write", path)
    if stat.S_ISCHR(mode):
        with open(path, "wb") as file:
            return file.writelines(pieces)
    path = os.path.realpath(path)  # a link stays
    number, name = tempfile.mkstemp(dir=os.path.dirname(path), prefix=os.path.basename(path)[:64] + ".",
                                    suffix=".tmp")
    try:
        with open(number, "wb") as file:
            file.writelines(pieces)
            os.fchmod(file.fileno(), 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _umask():
    """Python asks for it only by setting it, which other threads would see."""
    with open("/proc/self/status") as file:
        return next((int(line.split()[1], 8) for line in file if line.startswith("Umask:")), 0o022)
