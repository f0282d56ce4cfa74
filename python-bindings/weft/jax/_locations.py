# SPDX-License-Identifier: Apache-2.0

"""Reduces JAX's locations to the one line of user code that they stand for.

JAX attaches a whole Python call stack to each operation (without its own
frames). The innermost frame says what a person wants to know; the rest would
make the text several times as large. A function that JAX lowers once and calls
often has no frames at all: its operations get the location of the call.
"""

from jaxlib.mlir import ir

from weft.jax._errors import display_path


def frame(location):
    """(file, line, column) of the innermost frame of a location, or None."""
    if isinstance(location, ir.FileLineColLoc):
        return str(location.filename), location.start_line, location.start_col
    if isinstance(location, ir.NameLoc):
        return frame(location.child_loc)
    if isinstance(location, ir.CallSiteLoc):
        return frame(location.callee) or frame(location.caller)
    if isinstance(location, ir.FusedLoc):
        frames = (frame(part) for part in location.locations)
        return next((found for found in frames if found), None)
    return None


class UserLocations:
    """Maps JAX's locations to file locations; remembers the calls around."""

    def __init__(self, enabled):
        self._enabled = enabled
        self._calls = []
        self._made = {}

    def enter_call(self, location):
        self._calls.append(location)

    def leave_call(self):
        self._calls.pop()

    def user_frame(self, location):
        for candidate in [location, *reversed(self._calls)]:
            found = frame(candidate)
            if found:
                return found
        return None

    def get(self, location):
        found = self.user_frame(location) if self._enabled else None
        if found not in self._made:
            self._made[found] = (
                ir.Location.file(display_path(found[0]), found[1], found[2])
                if found else ir.Location.unknown())
        return self._made[found]

    def describe(self, location):
        found = self.user_frame(location)
        return f"{display_path(found[0])}:{found[1]}" if found else None
