// SPDX-License-Identifier: Apache-2.0

// The parts of the extension module weft._native: each adds its functions and
// classes. Everything here is thin; what a Python user sees is in weft/*.py.

#ifndef WEFT_PYTHON_BINDINGS_H
#define WEFT_PYTHON_BINDINGS_H

#include <nanobind/nanobind.h>

namespace weft::python {

/// Lets other Python threads run while it lives. A thread that comes back when
/// the interpreter is ending never gets its turn: it sleeps until the process
/// is gone, instead of being unwound through frames of C++.
class Released {
public:
  Released();
  ~Released();
  Released(const Released &) = delete;

  /// Runs the handlers of signals that have come, as between two lines of
  /// Python. Not 0: one has raised, as Ctrl-C does. For use as a callback.
  static int32_t poll(void *released);

private:
  void restore();

  PyThreadState *state;
  bool wasFinalizing;
};

/// Text of files of others, which may not be UTF-8: what is not becomes \xNN.
nanobind::str toText(const char *bytes, size_t size);

/// Arrays of other libraries, and types that numpy's DLPack lacks.
void bindArrays(nanobind::module_ &module);

/// Arrays in the memory of devices.
void bindDeviceArrays(nanobind::module_ &module);

/// weft-c/Weft.h: from a module's text to text or a file.
void bindCompiler(nanobind::module_ &module);

/// weft-rt/session.h: a compiled step that runs.
void bindSession(nanobind::module_ &module);

} // namespace weft::python

#endif // WEFT_PYTHON_BINDINGS_H
