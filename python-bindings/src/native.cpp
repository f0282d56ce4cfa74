// SPDX-License-Identifier: Apache-2.0

// The extension module weft._native: the compiler's and the runtime's C
// functions for weft's Python code, which alone uses it.

#include "bindings.h"

nanobind::str weft::python::toText(const char *bytes, size_t size) {
  PyObject *text =
      PyUnicode_DecodeUTF8(bytes, Py_ssize_t(size), "backslashreplace");
  if (!text)
    throw nanobind::python_error();
  return nanobind::steal<nanobind::str>(text);
}

NB_MODULE(_native, module) {
  // A thread that runs steps as the interpreter ends keeps what it uses.
  nanobind::set_leak_warnings(false);
  weft::python::bindArrays(module);
  weft::python::bindDeviceArrays(module);
  weft::python::bindCompiler(module);
  weft::python::bindSession(module);
}
