# SPDX-License-Identifier: Apache-2.0

"""The compiler's options as keywords. Which there are, and what they may be, the compiler
says: here values of Python become words of its command line."""

import difflib
import functools
import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# What a dict for an option looks like.
_PAIRS = {"mesh": {"dp": 2}, "target_options": {"cpu": "znver4"}}
_KINDS = ("flag", "number", "bytes", "choice", "text", "file", "names", "pairs", "words")


@dataclass(frozen=True)
class Option:
    """An option of weft-compile: its flag, and the keyword that stands for it."""
    flag: str
    name: str
    kind: str
    value: str
    default: str
    choices: tuple[str, ...]
    group: str
    help: str

    def words(self, value: Any) -> list[Any]:
        """The words of the command line that give the option this value."""
        if self.kind == "flag":
            if value not in (True, False):
                raise TypeError(f"{self.name} is {value!r}, expected True or False")
            return [] if bool(value) == (self.default == "on") else [self.flag]
        if self.kind == "pairs":
            if not isinstance(value, Mapping):
                raise TypeError(f"{self.name} is {value!r}, expected a dict, as in {_PAIRS.get(self.name)}")
            return [self.flag, ",".join(self._pair(*pair) for pair in value.items())] if value else []
        if self.kind == "names":
            return self._names(value)
        if self.kind == "words":
            words = [value] if isinstance(value, str) else list(value) if isinstance(value, Iterable) else [value]
            if not all(isinstance(word, str) for word in words):
                raise TypeError(f"{self.name} is {value!r}, expected a text, or several")
            return [self.flag, ",".join(words)] if words else []
        if self.kind == "bytes" and isinstance(value, int):
            value = f"{value}B"
        return [self.flag, value]

    def _pair(self, name, value):
        """A name and a value as the command line has them, where commas and = have a meaning."""
        if isinstance(value, bool) or not isinstance(value, str | numbers.Integral) or not isinstance(name, str):
            raise TypeError(f"{self.name} has {name!r}: {value!r}, expected texts or numbers, as in {_PAIRS.get(self.name)}")
        if "," in f"{name}{value}" or "=" in f"{name}{value}":
            raise ValueError(f"{self.name} has {name!r}: {value!r}, which no command line can say")
        return f"{name}={value}"

    def _names(self, value):
        if value in (True, False):
            return [self.flag] if value else []
        if isinstance(value, str):
            return [f"{self.flag}={value}"]
        names = list(value) if isinstance(value, Iterable) else [value]
        if not all(isinstance(name, str) for name in names):
            raise TypeError(f"{self.name} is {value!r}, expected names, or True for all")
        return [f"{self.flag}={','.join(names)}"] if names else []


@functools.cache
def table() -> dict[str, Option]:
    """All options by their keywords, in the order of `weft-compile --help`."""
    from weft import _native
    options = [Option(flag, name, _KINDS[kind], value, default, tuple(choices.split(",")) if choices else (), *texts)
               for flag, name, kind, value, default, choices, *texts in _native.options()]
    return {option.name: option for option in options}


def to_words(function: str, keywords: Mapping[str, Any], without: tuple[str, ...]) -> list[Any]:
    """The command line of a call of `function`, which has no keywords `without`. None stands
    for an option that is not given."""
    options = {name: option for name, option in table().items() if name not in without}
    words = []
    for name, value in keywords.items():
        if name not in options:
            similar = difflib.get_close_matches(name, options, 1)
            hint = f"; is '{similar[0]}' meant?" if similar else ""
            raise TypeError(f"{function}() has no option '{name}'{hint}")
        if value is not None:
            words += options[name].words(value)
    return words
