// SPDX-License-Identifier: Apache-2.0

// The compiler as a function: from a module's text or bytecode, in any phase,
// to a file: text, an object, a library or an executable. weft-compile, the C
// API and the Python package are thin layers over it.
//
// Errors in the input are reported through the context's diagnostics, at their
// locations; errors about files at the location of the input's first line.

#ifndef WEFT_COMPILE_COMPILE_H
#define WEFT_COMPILE_COMPILE_H

#include "weft/Pipelines/Pipelines.h"
#include "weft/Schedule/Passes.h"
#include "weft/Target/Host.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include <string>
#include <vector>

namespace mlir::weft {

struct CompileOptions {
  /// The file to compile; "-" is the standard input.
  std::string input;
  /// The file to write; "-" is standard output. Its suffix says what: .mlir
  /// (text of a phase), .ll, .o, .so, or none for an executable.
  std::string output;
  /// Where to stop, for text; `local` unless said otherwise.
  std::optional<Phase> to;
  /// A C header to write that names arguments and results; empty: none.
  std::string header;
  /// CPU, linker and runtime of machine code.
  HostOptions host;
  /// New sizes of mesh axes, as in `dp=2`.
  std::vector<std::string> mesh;
  /// How many ranks the mesh must have.
  std::optional<int64_t> ranks;
  bool inferStorage = true;
  /// The axes whose sizes must not change bits, or "mesh"; empty: fast mode.
  std::vector<std::string> invariant;
  /// Leaves of a sum's tree.
  int64_t leaves = 8;
  /// Type of the partial sums of narrow contractions: f32 or bf16.
  std::string partials = "f32";
  /// The mesh axis that each rank goes through by itself; empty: none.
  std::string accumulate;
  /// A page about the schedule to write; empty: none. See docs/report.md.
  std::string report;
  /// The policy of a second schedule that the page compares with; empty: none.
  std::string compare;
  /// How the step is ordered: policy, machine, and the bytes that a rank may
  /// use (0: what the machine has, -1: any number).
  SchedulePassOptions schedule;
  /// One channel for all collectives over the same axes.
  bool mergeChannels = false;
  /// Prove that the planned program is right before going on.
  bool proofs = true;
  /// Print what a rank receives per kind of collective to standard error.
  bool stats = false;
  /// Print what passes say about their decisions.
  bool remarks = false;
  /// Print the name of the running pass to standard error.
  bool progress = false;
};

/// What is written to the output.
enum class OutputKind { Text, LLVMIR, Object, SharedLibrary, Executable };

/// The kind that the suffix of `path` stands for.
std::optional<OutputKind> getOutputKind(llvm::StringRef path);

/// Takes options from a command line without the program's name. Returns what
/// is wrong as text, or an empty text.
std::string parseCompileOptions(llvm::ArrayRef<llvm::StringRef> arguments,
                                CompileOptions &options);

/// The text of `--help`.
llvm::StringRef getCompileHelp();

/// Adds the dialects and translations that compilation needs.
void prepareContext(MLIRContext &context);

/// Compiles `input`. Writes the output only if all went well. Standard output
/// is `os`.
LogicalResult compile(MLIRContext &context, const CompileOptions &options,
                      std::unique_ptr<llvm::MemoryBuffer> input,
                      llvm::raw_ostream &os);

/// Compiles `input` up to the phase `options.to` and returns the module; null
/// if an error was reported. Writes nothing.
OwningOpRef<ModuleOp> compileModule(MLIRContext &context,
                                    const CompileOptions &options,
                                    std::unique_ptr<llvm::MemoryBuffer> input);

/// The tool: parses the command line, compiles, prints diagnostics. Returns the
/// exit code: 0, 1 for an error in the input or files, 2 for wrong usage.
int compileMain(int argc, char **argv);

} // namespace mlir::weft

#endif // WEFT_COMPILE_COMPILE_H
