# SPDX-License-Identifier: Apache-2.0

"""Words from and for people: names that come from files of others, and what goes to C."""

import os
import re

# What moves a terminal's cursor or turns the direction of writing, and bytes that were not UTF-8.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text):
    """Text as a terminal may show it; lines stay lines."""
    return _UNPRINTABLE.sub(_escape, text)


def _escape(match):
    return "".join(f"\\x{byte:02x}" for byte in match.group().encode("utf-8", "surrogatepass"))


def to_bytes(word):
    """A path, or a word of a command line, which has no zeros."""
    word = os.fsencode(word if isinstance(word, (bytes, os.PathLike)) else str(word))
    if b"\0" in word:
        raise ValueError(f"{word!r} has a zero byte, which no path and no option has")
    return word
