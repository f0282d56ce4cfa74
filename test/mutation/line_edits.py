# SPDX-License-Identifier: Apache-2.0
"""What edits of a module's text have in common."""
import random
import re


class LineEdits:
    """The lines of a text, and texts in which some of them differ."""

    def __init__(self, text, seed):
        self.lines = text.rstrip().split("\n")
        self.random = random.Random(seed)

    def text(self, lines):
        return "\n".join(lines) + "\n"

    def with_line(self, i, line):
        return self.text([*self.lines[:i], line, *self.lines[i + 1:]])

    def make_itself(self):
        yield self.text(self.lines)

    def at_matches(self, pattern, edit):
        """One match at a time, given to `edit`: None for no edit."""
        found = [(i, match) for i, line in enumerate(self.lines) for match in re.finditer(pattern, line)]
        self.random.shuffle(found)
        for i, match in found:
            new = edit(match)
            if new is not None and new != match[0]:
                line = self.lines[i]
                yield self.with_line(i, line[:match.start()] + new + line[match.end():])
