// SPDX-License-Identifier: Apache-2.0

// The parts of the extension module weft._native: each adds its functions and
// classes. Everything here is thin; what a Python user sees is in weft/*.py.

#ifndef WEFT_PYTHON_BINDINGS_H
#define WEFT_PYTHON_BINDINGS_H

#include <nanobind/nanobind.h>

namespace weft::python {

/// Arrays of other libraries, and types that numpy's DLPack lacks.
void bindArrays(nanobind::module_ &module);

/// weft-c/Weft.h: from a module's text to text or a file.
void bindCompiler(nanobind::module_ &module);

/// weft-rt/session.h: a compiled step that runs.
void bindSession(nanobind::module_ &module);

} // namespace weft::python

#endif // WEFT_PYTHON_BINDINGS_H
