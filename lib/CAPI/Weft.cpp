// SPDX-License-Identifier: Apache-2.0

// The C functions over weft/Compile: strings in, strings out, diagnostics
// through a callback.

#include "weft-c/Weft.h"

#include "weft/Compile/Compile.h"
#include "weft/Support/Version.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MemAlloc.h"
#include "llvm/Support/Path.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace mlir;
using namespace mlir::weft;

namespace {

/// A diagnostic, or a note of the one before.
struct Report {
  weft_severity severity;
  std::string file;
  int line = 0, column = 0;
  std::string message;
};

/// Collects diagnostics, of whichever thread, for the caller's callback.
class Reports {
public:
  void add(weft_severity severity, Location loc, std::string message) {
    Report report{severity, "", 0, 0, std::move(message)};
    if (auto place = loc->findInstanceOf<FileLineColLoc>()) {
      report.file = place.getFilename().str();
      report.line = place.getLine();
      report.column = place.getColumn();
    }
    list.push_back(std::move(report));
  }

  /// Wrong usage, which has no place.
  void add(std::string message) {
    list.push_back({WEFT_SEVERITY_ERROR, "", 0, 0, std::move(message)});
  }

  void deliver(weft_report report, void *user) const {
    if (!report)
      return;
    for (const Report &one : list)
      report(user, one.severity, one.file.empty() ? nullptr : one.file.c_str(),
             one.line, one.column, one.message.c_str());
  }

private:
  std::vector<Report> list;
};

weft_severity getSeverity(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return WEFT_SEVERITY_ERROR;
  case DiagnosticSeverity::Warning:
    return WEFT_SEVERITY_WARNING;
  case DiagnosticSeverity::Remark:
    return WEFT_SEVERITY_REMARK;
  case DiagnosticSeverity::Note:
    return WEFT_SEVERITY_NOTE;
  }
  llvm_unreachable("a severity that is not listed");
}

void addDiagnostic(Reports &reports, Diagnostic &diagnostic) {
  reports.add(getSeverity(diagnostic.getSeverity()), diagnostic.getLocation(),
              diagnostic.str());
  for (Diagnostic &note : diagnostic.getNotes())
    reports.add(WEFT_SEVERITY_NOTE, note.getLocation(), note.str());
}

/// The runtime's archives, which go into executables, lie beside this library.
std::string findRuntimeDir() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&weft_compile), &info))
    return "";
  return llvm::sys::path::parent_path(info.dli_fname).str();
}

/// Parses the arguments; the input is in memory, so they may not name one.
std::string parseArguments(const char *name, const char *const *arguments,
                           size_t numArguments, bool toText,
                           CompileOptions &options) {
  SmallVector<StringRef> list;
  for (size_t i = 0; i < numArguments; ++i)
    list.push_back(arguments[i]);
  if (toText && llvm::is_contained(list, "-o"))
    return "text is returned: there is no output file to name";
  list.push_back(name);
  if (toText)
    list.append({"-o", "-"});
  std::string problem = parseCompileOptions(list, options);
  if (problem.empty() && !toText && options.output == "-")
    return "there is no standard output: use weft_compile_to_text";
  return problem;
}

/// Compiles with the arguments; standard output is `text`, if there is one.
weft_status run(StringRef input, const char *name, const char *const *arguments,
                size_t numArguments, Reports &reports, std::string *text) {
  CompileOptions options;
  std::string problem =
      parseArguments(name, arguments, numArguments, text != nullptr, options);
  if (!problem.empty()) {
    reports.add(problem);
    return WEFT_USAGE;
  }
  options.host.runtimeDir = findRuntimeDir();
  MLIRContext context;
  prepareContext(context);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    addDiagnostic(reports, diagnostic);
  });
  // A copy: MLIR's parser wants a zero behind the last byte.
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(input, name);
  std::string unused;
  llvm::raw_string_ostream os(text ? *text : unused);
  return succeeded(compile(context, options, std::move(buffer), os))
             ? WEFT_OK
             : WEFT_ERROR;
}

} // namespace

const char *weft_version(void) { return getVersion().data(); }

weft_status weft_compile(const char *input, size_t size, const char *name,
                         const char *const *arguments, size_t num_arguments,
                         weft_report report, void *user) {
  Reports reports;
  weft_status status = run(StringRef(input, size), name, arguments,
                           num_arguments, reports, /*text=*/nullptr);
  reports.deliver(report, user);
  return status;
}

weft_status weft_compile_to_text(const char *input, size_t size,
                                 const char *name, const char *const *arguments,
                                 size_t num_arguments, weft_report report,
                                 void *user, char **text, size_t *text_size) {
  *text = nullptr;
  *text_size = 0;
  Reports reports;
  std::string result;
  weft_status status = run(StringRef(input, size), name, arguments,
                           num_arguments, reports, &result);
  reports.deliver(report, user);
  if (status != WEFT_OK)
    return status;
  *text = static_cast<char *>(llvm::safe_malloc(result.size() + 1));
  std::memcpy(*text, result.c_str(), result.size() + 1);
  *text_size = result.size();
  return WEFT_OK;
}

void weft_free(void *pointer) { std::free(pointer); }
