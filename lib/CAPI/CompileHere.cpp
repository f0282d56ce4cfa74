// SPDX-License-Identifier: Apache-2.0

// A compilation in this process, for weft-worker: strings in, strings and
// diagnostics out.

#include "Worker.h"

#include "weft/Compile/Compile.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Path.h"

#include <csignal>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Adds a diagnostic, of whichever thread.
void addReport(std::vector<Report> &reports, weft_severity severity,
               Location loc, std::string message) {
  Report report{severity, "", 0, 0, std::move(message)};
  if (auto place = loc->findInstanceOf<FileLineColLoc>()) {
    report.file = place.getFilename().str();
    report.line = place.getLine();
    report.column = place.getColumn();
  }
  reports.push_back(std::move(report));
}

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

void addDiagnostic(std::vector<Report> &reports, Diagnostic &diagnostic) {
  addReport(reports, getSeverity(diagnostic.getSeverity()),
            diagnostic.getLocation(), diagnostic.str());
  for (Diagnostic &note : diagnostic.getNotes())
    addReport(reports, WEFT_SEVERITY_NOTE, note.getLocation(), note.str());
}

/// The runtime's archives, which go into executables, lie beside this library.
std::string findRuntimeDir() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&weft_compile), &info))
    return "";
  return llvm::sys::path::parent_path(info.dli_fname).str();
}

/// Parses the arguments; the input is in memory, so they may not name one.
std::string parseArguments(const Request &request, CompileOptions &options) {
  SmallVector<StringRef> list(request.arguments.begin(),
                              request.arguments.end());
  if (request.toText && llvm::is_contained(list, "-o"))
    return "text is returned: there is no output file to name";
  list.push_back(request.name);
  if (request.toText)
    list.append({"-o", "-"});
  std::string problem = parseCompileOptions(list, options);
  if (problem.empty() && !request.toText && options.output == "-")
    return "there is no standard output: use weft_compile_to_text";
  return problem;
}

std::string readFile(int descriptor) {
  std::string bytes;
  char block[1 << 16];
  lseek(descriptor, 0, SEEK_SET);
  while (true) {
    ssize_t count = read(descriptor, block, sizeof(block));
    if (count <= 0)
      return bytes;
    bytes.append(block, count);
  }
}

} // namespace

Outcome mlir::weft::compileHere(const Request &request) {
  Outcome outcome;
  CompileOptions options;
  std::string problem = parseArguments(request, options);
  if (!problem.empty()) {
    // Wrong usage has no place.
    outcome.reports.push_back({WEFT_SEVERITY_ERROR, "", 0, 0, problem});
    outcome.status = WEFT_USAGE;
    return outcome;
  }
  options.runtimeDir = findRuntimeDir();
  MLIRContext context;
  prepareContext(context);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    addDiagnostic(outcome.reports, diagnostic);
  });
  // A copy: MLIR's parser wants a zero after the last byte.
  auto buffer =
      llvm::MemoryBuffer::getMemBufferCopy(request.input, request.name);
  std::string text;
  llvm::raw_string_ostream os(text);
  if (succeeded(compile(context, options, std::move(buffer), os))) {
    outcome.status = WEFT_OK;
    outcome.text = std::move(text);
  }
  return outcome;
}

int weft_worker_main(void) {
  // Whoever asked may be killed; what nobody waits for ends.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // A file that is larger than allowed (ulimit -f) is an error of the write.
  std::signal(SIGXFSZ, SIG_IGN);
  for (int descriptor : {kRequestFile, kOutcomeFile, kLifeline})
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  std::optional<Request> request = decodeRequest(readFile(kRequestFile));
  if (!request) {
    llvm::errs() << "weft-worker is started by libweft, not by hand\n";
    return 2;
  }
  std::string outcome = encode(compileHere(*request));
  llvm::raw_fd_ostream os(kOutcomeFile, /*shouldClose=*/false);
  os << outcome;
  os.flush();
  bool isWritten = !os.has_error();
  os.clear_error();
  return isWritten ? 0 : 1;
}
