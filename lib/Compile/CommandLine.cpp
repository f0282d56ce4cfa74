// SPDX-License-Identifier: Apache-2.0

// weft-compile, around the compiler: its help, the input's file, exit codes.

#include "weft/Compile/Compile.h"

#include "DiffOrder.h"

#include "weft/Support/Guard.h"
#include "weft/Support/OutputPath.h"
#include "weft/Support/Printable.h"
#include "weft/Support/Version.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace mlir;
using namespace mlir::weft;

static void printHelp() {
  llvm::outs() << R"(usage: weft-compile INPUT -o OUTPUT [options]
       weft-compile --diff-order A B

Compiles a training step (MLIR text or bytecode in any phase; "-" reads the
standard input). The suffix of OUTPUT says what is written: .mlir (text of a
phase), .ll (LLVM IR), .o, .so, or none for an executable with the runtime
inside, which takes the flags of weft-run.
)";
  CompileOptions defaults;
  printOptions(listCompileOptions(defaults), llvm::outs());
  llvm::outs() << R"(
instead of compiling:
  --diff-order A B       compare the certificates of two programs (.so, .o,
                         executables, or .mlir of phase local) without running
                         them: say "equal", or what is summed in another order
  --version, --help      print and exit

exit codes: 0, 1 (an error in the input or with a file; --diff-order: they
differ), 2 (wrong usage; --diff-order: one has no certificate)
)";
}

/// Folder of the runtime's archives: beside the folder of this program.
static std::string findRuntimeDir(const char *program) {
  std::string path = llvm::sys::fs::getMainExecutable(
      program, reinterpret_cast<void *>(&findRuntimeDir));
  SmallString<128> folder(
      llvm::sys::path::parent_path(llvm::sys::path::parent_path(path)));
  llvm::sys::path::append(folder, "lib");
  return folder.str().str();
}

/// Reads the input and compiles it.
static int compileFile(const CompileOptions &options) {
  PrintableStream said(llvm::errs());
  std::string problem = checkInputPath(options.input);
  if (!problem.empty()) {
    said << "weft-compile: " << problem << "\n";
    return 1;
  }
  auto input = llvm::MemoryBuffer::getFileOrSTDIN(options.input);
  if (std::error_code error = input.getError()) {
    said << "weft-compile: cannot read '" << options.input
         << "': " << error.message() << "\n";
    return 1;
  }
  MLIRContext context;
  prepareContext(context);
  // Shows the line of the source that a diagnostic is about.
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer((*input)->getMemBufferRef(),
                                       /*RequiresNullTerminator=*/false),
      llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context, said);
  // The compiler owns a copy: the handler's text must outlive it.
  auto text =
      llvm::MemoryBuffer::getMemBuffer((*input)->getMemBufferRef(),
                                       /*RequiresNullTerminator=*/false);
  return succeeded(compile(context, options, std::move(text), llvm::outs()))
             ? 0
             : 1;
}

static int runTool(const char *program, ArrayRef<StringRef> arguments) {
  if (llvm::is_contained(arguments, "--help")) {
    printHelp();
    return 0;
  }
  if (llvm::is_contained(arguments, "--version")) {
    printVersion(llvm::outs());
    return 0;
  }
  if (!arguments.empty() && arguments[0] == "--diff-order") {
    if (arguments.size() == 3)
      return diffOrder(arguments[1], arguments[2]);
    llvm::errs()
        << "weft-compile: --diff-order needs two programs, and nothing "
           "else\nsee weft-compile --help\n";
    return 2;
  }
  CompileOptions options;
  std::string problem = parseCompileOptions(arguments, options);
  if (!problem.empty()) {
    llvm::errs() << "weft-compile: " << makePrintable(problem)
                 << "\nsee weft-compile --help\n";
    return 2;
  }
  options.runtimeDir = findRuntimeDir(program);
  options.progress = llvm::sys::Process::StandardErrIsDisplayed();
  options.endsProcess = true;
  return compileFile(options);
}

int weft::compileMain(int argc, char **argv) {
  initTool();
  SmallVector<StringRef> arguments(argv + 1, argv + argc);
  return runGuarded("weft-compile",
                    [&] { return runTool(argv[0], arguments); });
}
