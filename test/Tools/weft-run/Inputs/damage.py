# SPDX-License-Identifier: Apache-2.0
"""Flips bits of a program's file one by one; what is damaged must be refused.

  damage.py FILE SECTION...    flips a bit of each fifth byte of the sections
  damage.py FILE --hash        flips a bit of each byte of the plan's hash
  damage.py FILE --any         flips a bit of bytes all over the file, and runs it
  damage.py FILE --unseal      takes the checksum of the whole file off, for the others

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


MARK = b"weft-file-sha256"


def unseal(path, data):
    """Leaves what the linker made."""
    assert data.endswith(MARK), "has no checksum"
    with open(path, "wb") as file:
        file.write(data[:-32 - len(MARK)])


def damage_anywhere(path, data):
    """No bit may flip unnoticed."""
    places = [*range(0, len(data), 1 + len(data) // 150), len(data) - len(MARK), len(data) - 1]
    for place in places:
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        with open(path + ".damaged", "wb") as file:
            file.write(damaged)
        for flags in ([], ["--inspect"]):
            found = subprocess.run(["weft-run", path + ".damaged", *flags], capture_output=True, timeout=60)
            assert found.returncode == 1, (place, found)
            assert b"the file is damaged: " in found.stderr, (place, found)
    print("all refused")


def main():
    path, *what = sys.argv[1:]
    data = open(path, "rb").read()
    if what[0] == "--unseal":
        return unseal(path, data)
    if what[0] == "--any":
        return damage_anywhere(path, data)
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
