// SPDX-License-Identifier: Apache-2.0

// The compiler's C functions. Diagnostics are returned as tuples; the Python
// side makes exceptions of them.

#include "bindings.h"

#include "weft-c/Weft.h"

#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

namespace nb = nanobind;

namespace {

struct Diagnostic {
  int severity;
  std::string file;
  int line, column;
  std::string message;
};

/// A call of the compiler: what it says, and the interpreter's lock.
struct Call {
  std::vector<Diagnostic> diagnostics;
  weft::python::Released *released = nullptr;
};

void addDiagnostic(void *call, weft_severity severity, const char *file,
                   int line, int column, const char *message) {
  static_cast<Call *>(call)->diagnostics.push_back(
      {static_cast<int>(severity), file ? file : "", line, column, message});
}

int pollCall(void *call) {
  return weft::python::Released::poll(static_cast<Call *>(call)->released);
}

/// After an interruption Python has an exception already.
void checkInterrupted(weft_status status) {
  if (status == WEFT_INTERRUPTED)
    throw nb::python_error();
}

nb::str toText(const std::string &bytes) {
  return weft::python::toText(bytes.data(), bytes.size());
}

nb::list toList(const std::vector<Diagnostic> &diagnostics) {
  nb::list list;
  for (const Diagnostic &d : diagnostics)
    list.append(nb::make_tuple(d.severity, toText(d.file), d.line, d.column,
                               toText(d.message)));
  return list;
}

std::vector<const char *> pointers(const std::vector<nb::bytes> &texts) {
  std::vector<const char *> result;
  for (const nb::bytes &text : texts)
    result.push_back(text.c_str());
  return result;
}

/// Returns (status, diagnostics).
nb::tuple compile(const nb::bytes &text, const nb::bytes &name,
                  const std::vector<nb::bytes> &arguments) {
  Call call;
  std::vector<const char *> list = pointers(arguments);
  weft_status status;
  {
    weft::python::Released released;
    call.released = &released;
    status = weft_compile(text.c_str(), text.size(), name.c_str(), list.data(),
                          list.size(), addDiagnostic, pollCall, &call);
  }
  checkInterrupted(status);
  return nb::make_tuple(static_cast<int>(status), toList(call.diagnostics));
}

/// Returns (status, diagnostics, text).
nb::tuple compileToText(const nb::bytes &text, const nb::bytes &name,
                        const std::vector<nb::bytes> &arguments) {
  Call call;
  std::vector<const char *> list = pointers(arguments);
  weft_status status;
  char *output;
  size_t size;
  {
    weft::python::Released released;
    call.released = &released;
    status = weft_compile_to_text(text.c_str(), text.size(), name.c_str(),
                                  list.data(), list.size(), addDiagnostic,
                                  pollCall, &call, &output, &size);
  }
  checkInterrupted(status);
  nb::str result = weft::python::toText(output ? output : "", size);
  weft_free(output);
  return nb::make_tuple(static_cast<int>(status), toList(call.diagnostics),
                        result);
}

/// Returns (flag, name, kind, value, default, choices, group, help) of each.
nb::list options() {
  nb::list list;
  while (const weft_option *o = weft_get_option(nb::len(list)))
    list.append(nb::make_tuple(o->flag, o->name, int(o->kind), o->value,
                               o->default_value, o->choices, o->group,
                               o->help));
  return list;
}

} // namespace

void weft::python::bindCompiler(nb::module_ &module) {
  module.attr("version") = weft_version();
  module.def("options", options);
  module.def("compile", compile);
  module.def("compile_to_text", compileToText);
}
