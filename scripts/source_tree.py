# SPDX-License-Identifier: Apache-2.0
"""What the check scripts share: the tree that they look at, and how they end.

A check looks at the tree that it lies in, or at the one that is its argument:
the tests of the checks make small trees with one fault.
"""
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path


def root() -> Path:
    if len(sys.argv) > 1:
        return Path(sys.argv[1]).resolve()
    return Path(__file__).resolve().parent.parent


def tracked(top: Path, *patterns: str) -> list[Path]:
    """The files that git knows or would add, in order; outside of a checkout, all."""
    if not (top / ".git").exists():
        return [path for path in sorted(top.rglob("*"))
                if path.is_file() and (not patterns or any(fnmatch(str(path.relative_to(top)), pattern)
                                                           for pattern in patterns))]
    listing = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns],
                             cwd=top, text=True, capture_output=True, check=True).stdout
    return [top / name for name in sorted(set(listing.split("\0"))) if name and (top / name).is_file()]


def finish(problems: list[str]) -> None:
    """Prints a line per problem; exit code 1 if there is one."""
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(1 if problems else 0)
