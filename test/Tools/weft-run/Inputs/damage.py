# SPDX-License-Identifier: Apache-2.0
"""Flips bits of a program's file one by one; what is damaged must be refused.

  damage.py FILE SECTION...    flips a bit of each fifth byte of the sections
  damage.py FILE --hash        flips a bit of each byte of the plan's hash

Each damaged file is inspected: it has to be refused with a sentence, or to say exactly what the
whole file says (where the bytes mean nothing, as those that a relocation overwrites). The hash
has to be refused. Prints what came out.
"""
import struct
import subprocess
import sys


def inspect(path):
    return subprocess.run(["weft-run", path, "--inspect"], capture_output=True, timeout=60)


def sections(data, names):
    """Offset and size of sections by name."""
    at, = struct.unpack_from("<Q", data, 40)
    size, count, strings = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, at + i * size) for i in range(count)]
    texts = headers[strings][4]
    for header in headers:
        name = data[texts + header[0]:].split(b"\0", 1)[0].decode()
        if name in names and header[1] != 8:  # has bytes in the file
            yield from range(header[4], header[4] + header[5])


def main():
    path, *what = sys.argv[1:]
    data = open(path, "rb").read()
    whole = inspect(path)
    assert whole.returncode == 0, whole.stderr
    if what[0] == "--hash":
        line, = [line for line in whole.stdout.decode().splitlines() if line.startswith("plan: ")]
        text = bytes.fromhex(line.split()[1])
    else:
        text = None
    if text is None:
        places = list(sections(data, what))[::5]
    else:
        assert data.count(text) == 1, data.count(text)
        places = list(range(data.index(text), data.index(text) + len(text)))
    assert places, "no bytes to damage"
    refused = 0
    for place in places:
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        with open(path + ".damaged", "wb") as file:
            file.write(damaged)
        found = inspect(path + ".damaged")
        if found.returncode == 1 and b"weft-run: error: cannot load" in found.stderr:
            refused += 1
        else:
            assert text is None, f"byte {place} was not missed"
            assert (found.returncode, found.stdout) == (0, whole.stdout), (place, found)
    print(f"{'all' if refused == len(places) else 'some' if refused else 'none'} refused")


main()
