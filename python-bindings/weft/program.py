# SPDX-License-Identifier: Apache-2.0

"""A compiled step that runs: all ranks are threads of this process."""

import contextlib
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from weft.arrays import as_array, as_bytes, as_result, empty
from weft.device_arrays import DeviceArgument, DeviceArray, device_of
from weft.module import Module, TensorSpec
from weft.trees import Tree
from weft.words import printable, to_bytes

# In the order of weft_rt_type and weft_rt_collective_kind.
_TYPES = (np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64,
          np.uint64, np.float16, ml_dtypes.bfloat16, np.float32, np.float64,
          ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e8m0fnu)
_KINDS = ("all_gather", "reduce_scatter", "all_reduce", "all_to_all", "permute")


@dataclass(frozen=True)
class Stats:
    """What a program has used since it was loaded.

    received_bytes: by kind of collective, what the rank that got most received from
    the others in one step. step_seconds: the last call's steps. memory_bytes: of all
    ranks: arguments, results and arenas; nothing else is allocated, but host_bytes_per_rank
    of the host's memory for what waits there.
    """
    steps: int
    threads_per_rank: int
    received_bytes: dict[str, int]
    step_seconds: list[float]
    memory_bytes: int
    argument_bytes_per_rank: int
    result_bytes_per_rank: int
    arena_bytes_per_rank: int
    host_bytes_per_rank: int


class Program:
    """A step in memory, with its own copies of arguments and results.

        loss, params = program(params, batch)

    takes and returns what the exported function does: the arguments may be arrays of
    any library that knows DLPack or numpy, the results are numpy arrays (`weft.Array`
    for bfloat16 and float8). Arrays on the GPU that has all ranks stay there. The caller's arrays are only read, donated or not.

    A training loop copies less if it leaves the parameters where they are:

        program.set_arguments(params, batches[0])
        for batch in batches:
            program.set_argument(1, batch)
            program.run()                   # donated arguments go from step to step
            print(program.get_result(0))
        loss, params = program.get_results()

    Calls from several threads take turns. Ctrl-C ends a call within a second: after the
    step that runs, and then the program can go on from there, or in the middle of a
    step that takes longer, and then `is_usable` is false. The ranks are threads of the
    process that made the program: one that is forked from it cannot use it, and loses
    nothing when it drops it.
    """

    def __init__(self, session: Any, module: Module | None = None, diagnostics: Iterable[Any] = ()) -> None:
        self._session, self._lock = session, threading.Lock()
        self._seconds: list[float] = []
        self.diagnostics = list(diagnostics)
        if module is None or module.arguments is None:
            self.arguments = [_spec(*described) for described in session.arguments]
            self.results = [_spec(*described) for described in session.results]
        else:
            self.arguments = _check("argument", module.arguments, session.arguments)
            self.results = _check("result", module.results, session.results)
        self._in_tree = module and module.in_tree or Tree.row("tuple", len(self.arguments))
        self._out_tree = module and module.out_tree or Tree.row("tuple", len(self.results))

    @property
    def name(self) -> str:
        """The function's name in the source."""
        return self._session.name

    @property
    def ranks(self) -> int:
        return self._session.ranks

    @property
    def mesh(self) -> dict[str, int]:
        """The sizes of the mesh's axes."""
        return self._session.mesh

    @property
    def is_usable(self) -> bool:
        """False after a rank has failed or was interrupted, and in a forked process."""
        return self._session.is_usable

    def __reduce__(self):
        raise TypeError(f"program '{printable(self.name)}' cannot be pickled or copied: its ranks are threads "
                        "of this process; save it with weft.build and load it with weft.load")

    def __call__(self, *args: Any) -> Any:
        """Runs one step."""
        with self._turn():
            self._set(args, 0, self._in_tree)
            self._run(1)
            return self._get(0, self._out_tree)

    def set_arguments(self, *args: Any) -> None:
        """Cuts the arrays into the ranks' shares. They stay until they are set again;
        a donated argument takes the value of its result after each step."""
        with self._turn():
            self._set(args, 0, self._in_tree)

    def set_argument(self, position: int, value: Any) -> None:
        """Sets one of the call's arguments, by its position."""
        with self._turn():
            self._set(value, *self._in_tree.part(position))

    def run(self, steps: int = 1) -> None:
        """Runs steps, one after the other."""
        with self._turn():
            self._run(steps)

    def get_results(self, *, on_device: bool = False) -> Any:
        """Joins the ranks' shares of what the last step returned.

        on_device: gives each as a `weft.DeviceArray`, where it lies on a GPU; some rank
        of this process must have all of it, and the next step overwrites it."""
        with self._turn():
            return (self._get_on_device if on_device else self._get)(0, self._out_tree)

    def get_result(self, key: int | str, *, on_device: bool = False) -> Any:
        """One item of what the last step returned: a tuple's by position, a dict's by key.
        on_device: as in get_results."""
        with self._turn():
            return (self._get_on_device if on_device else self._get)(*self._out_tree.part(key))

    @property
    def stats(self) -> Stats:
        with self._turn():
            numbers = self._session.stats()
            received = dict.fromkeys(_KINDS, 0)
            for kind, _, _, count in self._session.traffic():
                received[_KINDS[kind]] += count // numbers["steps"]
            return Stats(numbers["steps"], numbers["threads_per_rank"], received,
                         list(self._seconds), numbers["total_bytes"], numbers["argument_bytes"],
                         numbers["result_bytes"], numbers["arena_bytes"], numbers["host_bytes"])

    @contextlib.contextmanager
    def _turn(self):
        """Waits for other threads. In a forked process they are not there, and nobody
        would ever give back a lock that one of them held."""
        if os.getpid() != self._session.process:
            from weft._native import RunError
            raise RunError(f"program '{printable(self.name)}' belongs to process {self._session.process}, from "
                           f"which this one ({os.getpid()}) was forked: its ranks are not here; "
                           "compile or load it in this process")
        with self._lock:
            yield

    def _set(self, value, first, tree):
        """Sets the arguments from number `first` on to a value's leaves."""
        leaves = tree.flatten(value)
        # All are checked before one is taken.
        arrays = [self._take(leaf, spec) for leaf, spec in zip(leaves, self.arguments[first:])]
        for index, array in enumerate(arrays, first):
            if isinstance(array, DeviceArgument):
                self._session.set_argument_on_device(index, array.device, array.address, array.bytes)
            else:
                self._session.set_argument(index, as_bytes(array))

    def _take(self, leaf, spec):
        """What is on the ranks' GPU stays there; anything else comes to the CPU."""
        device = device_of(leaf)
        if device is None or self._session.devices != [device]:
            return as_array(leaf, spec)
        return DeviceArgument(leaf, spec, self._session.device_stream(device))

    def _run(self, steps):
        try:
            self._session.run(steps)
        finally:
            self._seconds = self._session.step_seconds

    def _get_on_device(self, first, tree):
        arrays = []
        for index, spec in enumerate(self.results[first:first + tree.count()], first):
            device, address = self._session.result_on_device(index)
            arrays.append(DeviceArray(self._session, address, device, spec))
        return tree.unflatten(arrays)

    def _get(self, first, tree):
        arrays = [empty(spec) for spec in self.results[first:first + tree.count()]]
        for index, array in enumerate(arrays, first):
            self._session.get_result(index, as_bytes(array))
        return tree.unflatten([as_result(*pair) for pair in zip(arrays, self.results[first:])])


def load(path: str | bytes | os.PathLike, *, module: Module | None = None, ranks: int | None = None,
         threads: int = 0, deadline: float = 60.0, backend: str | None = None,
         diagnostics: Iterable[Any] = ()) -> Program:
    """Loads a shared library that weft-compile or `weft.build` wrote.

    module: what it was compiled from; without it arguments are passed one by one and
    results are a tuple. ranks: how many it must have. threads, deadline: as for
    `weft.compile`. backend: what runs it instead of the backend that it is for.
    """
    from weft import _native
    if not -1 < threads < 2**31:
        raise ValueError(f"{threads} threads are none or more than any machine has")
    session = _native.Session(to_bytes(path), ranks or 0, threads, deadline, to_bytes(backend or ""))
    return Program(session, module, diagnostics)


def load_backend(path: str | bytes | os.PathLike) -> None:
    """Loads a shared library with a backend of the runtime, which runs its code, and
    makes the backend known to programs that are loaded after that."""
    from weft import _native
    _native.load_backend(to_bytes(os.fspath(path)))


def _spec(name, type, shape, sharding, alias):
    if type >= len(_TYPES):
        raise TypeError(f"'{printable(name)}' is of a type that numpy does not have")
    return TensorSpec(name, shape, np.dtype(_TYPES[type]), sharding, alias if alias >= 0 else None)


def _check(kind, specs, described):
    """The module's specs, which know signs that types in MLIR lack, if they fit."""
    found = [_spec(*one) for one in described]
    names = [spec.name for spec in found]
    if [spec.name for spec in specs] != names:
        raise ValueError(f"the program's {kind}s are {names}, "
                         f"the module's are {[spec.name for spec in specs]}")
    for spec, own in zip(specs, found):
        if tuple(spec.shape) != own.shape or _signless(spec.dtype) != _signless(own.dtype):
            raise ValueError(f"{kind} '{printable(spec.name)}' of the program is {_type_text(own)}, "
                             f"the module's is {_type_text(spec)}")
    return specs


def _signless(dtype):
    return np.dtype(f"i{dtype.itemsize}") if dtype.kind == "u" else dtype


def _type_text(spec):
    return f"{spec.dtype.name}[{', '.join(map(str, spec.shape))}]"
