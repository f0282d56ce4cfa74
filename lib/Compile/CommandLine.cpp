// SPDX-License-Identifier: Apache-2.0

// weft-compile's command line. LLVM's parser is not used: libLLVM registers
// options of its own (--stats among them), and exits with 1 on wrong usage.

#include "weft/Compile/Compile.h"

#include "DiffOrder.h"

#include "weft/Schedule/Scheduler.h"
#include "weft/Support/Guard.h"
#include "weft/Support/OutputPath.h"
#include "weft/Support/Printable.h"
#include "weft/Support/Version.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

#include <limits>

using namespace mlir;
using namespace mlir::weft;

llvm::StringRef weft::getCompileHelp() {
  return R"(usage: weft-compile INPUT -o OUTPUT [options]

Compiles a training step (MLIR text or bytecode in any phase; "-" reads the
standard input). The suffix of OUTPUT says what is written: .mlir (text of a
phase), .ll (LLVM IR), .o, .so, or none for an executable with the runtime
inside, which takes the flags of weft-run.

options:
  -o FILE               the output; "-" is text on the standard output
  --to PHASE            for text: stop at global, local (the default),
                        scheduled, planned or llvm
  --target host         the machine that the code is for
  --cpu NAME            its CPU as LLVM names it; native (the default): this one
  --linker PROGRAM      the C++ compiler that links (c++)
  --emit-header FILE    write a C header that names arguments and results
  --mesh A=N,B=N,...    replace the sizes of mesh axes; others keep theirs
  --ranks N             fail unless the mesh has N ranks
  --accumulate AXIS     gradient accumulation: each rank goes through the parts
                        of this mesh axis (microbatches) one after the other
  --no-infer-storage    shard weights as written: do not take axes that shard
                        the batch for storage axes
  --invariant[=AXES]    the same bits for all sizes of these axes (A,B,..., or
                        mesh, the default: all axes)
  --leaves N            leaves of a sum's tree, the most parts of it (8)
  --partials TYPE       partial sums of narrow contractions: f32 (the default),
                        or bf16: fewer bytes, more rounding
  --schedule POLICY     order of the step: sync, next-layer, greedy or best (the
                        default)
  --machine NAME|FILE   the machine that it is ordered for (host)
  --memory-limit BYTES  what a rank may use at most, as in 8GiB (units B, KiB,
                        MiB, GiB, TiB), or none; without it, what the machine
                        has
  --merge-channels      one channel for all collectives over the same axes
  --report FILE         write a page (HTML) about the schedule: timeline, memory,
                        what is exposed and why
  --compare POLICY      put a second schedule beside it in that page
  --stats               print what each rank receives, by kind of collective,
                        the figures of the schedule, and what memory it needs
  --no-proofs           do not prove that the program is right
  --remarks             print what the compiler says about its decisions
  --diff-order A B      compare the certificates of two programs (.so, .o,
                        executables, or .mlir of phase local) without running them:
                        say "equal", or what is summed in another order
  --version, --help     print and exit

exit codes: 0, 1 (an error in the input or with a file; --diff-order: they
differ), 2 (wrong usage; --diff-order: one has no certificate)
)";
}

namespace {

/// The arguments, seen from the front. Options take their value as `--name
/// value` or `--name=value`.
class Arguments {
public:
  explicit Arguments(ArrayRef<StringRef> arguments) : rest(arguments) {}

  bool empty() const { return rest.empty(); }

  /// Takes the next argument; splits the value off an option.
  StringRef next() {
    StringRef argument = rest.front();
    rest = rest.drop_front();
    value.reset();
    if (argument.starts_with("--") && argument.contains('=')) {
      auto [name, text] = argument.split('=');
      value = text;
      return name;
    }
    return argument;
  }

  bool hasAttachedValue() const { return value.has_value(); }

  /// The value of the option that was taken last, or nullopt if it has none.
  std::optional<StringRef> takeValue() {
    if (!value && !rest.empty()) {
      value = rest.front();
      rest = rest.drop_front();
    }
    return value;
  }

private:
  ArrayRef<StringRef> rest;
  std::optional<StringRef> value;
};

/// Sets an option that is on or off. Returns false if there is no such option.
bool setFlag(StringRef name, CompileOptions &options) {
  if (name == "--stats")
    options.stats = true;
  else if (name == "--remarks")
    options.remarks = true;
  else if (name == "--no-infer-storage")
    options.inferStorage = false;
  else if (name == "--merge-channels")
    options.mergeChannels = true;
  else if (name == "--no-proofs")
    options.proofs = false;
  else if (name == "--invariant")
    options.invariant = {"mesh"};
  else
    return false;
  return true;
}

bool takesValue(StringRef name) {
  return llvm::is_contained({"-o", "--to", "--mesh", "--ranks", "--accumulate",
                             "--target", "--cpu", "--linker", "--emit-header",
                             "--leaves", "--partials", "--report", "--compare",
                             "--schedule", "--machine", "--memory-limit"},
                            name);
}

/// A number of bytes with a unit, as in "8GiB"; at least 1.
std::optional<int64_t> parseBytes(StringRef text) {
  int shift = llvm::StringSwitch<int>(text.ltrim("0123456789"))
                  .Case("B", 0)
                  .Case("KiB", 10)
                  .Case("MiB", 20)
                  .Case("GiB", 30)
                  .Case("TiB", 40)
                  .Default(-1);
  StringRef digits = text.take_while([](char c) { return llvm::isDigit(c); });
  int64_t number;
  if (shift < 0 || digits.getAsInteger(10, number) || number < 1 ||
      number > (std::numeric_limits<int64_t>::max() >> shift))
    return std::nullopt;
  return number << shift;
}

/// Sets an option of the schedule. Returns what is wrong with the value.
std::string setScheduleValue(StringRef name, StringRef value,
                             SchedulePassOptions &options) {
  auto bad = [&](StringRef expected) {
    return ("'" + value + "' is not a value of " + name + ": expected " +
            expected)
        .str();
  };
  if (name == "--schedule") {
    if (!symbolizeSchedulePolicy(value.str()))
      return bad("sync, next-layer, greedy or best");
    options.policy = value.str();
  } else if (name == "--machine") {
    options.machine = value.str();
  } else if (name == "--memory-limit") {
    std::optional<int64_t> bytes = value == "none" ? -1 : parseBytes(value);
    if (!bytes)
      return bad(
          "a number of bytes with a unit, as in 512MiB or 8GiB, or none");
    options.memoryLimit = *bytes;
  }
  return "";
}

/// The most leaves of a sum. A mesh needs one for each of its ranks, and none
/// has a million of them.
constexpr int64_t maxLeaves = int64_t(1) << 20;

/// Sets an option of invariant mode. Returns what is wrong with the value.
std::string setInvarianceValue(StringRef name, StringRef value,
                               CompileOptions &options) {
  if (name == "--invariant") {
    SmallVector<StringRef> axes;
    value.split(axes, ',');
    options.invariant.clear();
    for (StringRef axis : axes)
      options.invariant.push_back(axis.str());
  } else if (name == "--leaves") {
    int64_t leaves;
    if (value.getAsInteger(10, leaves) || leaves < 1 || leaves > maxLeaves)
      return ("'" + value +
              "' is not a value of --leaves: expected a number "
              "from 1 to " +
              Twine(maxLeaves))
          .str();
    options.leaves = leaves;
  } else if (name == "--partials") {
    if (value != "f32" && value != "bf16")
      return ("'" + value +
              "' is not a value of --partials: expected f32 or "
              "bf16")
          .str();
    options.partials = value.str();
  }
  return "";
}

/// Sets an option that has a value. Returns what is wrong with the value.
std::string setValue(StringRef name, StringRef value, CompileOptions &options) {
  auto bad = [&](StringRef expected) {
    return ("'" + value + "' is not a value of " + name + ": expected " +
            expected)
        .str();
  };
  if (name == "-o") {
    options.output = value.str();
  } else if (name == "--mesh") {
    SmallVector<StringRef> axes;
    value.split(axes, ',');
    for (StringRef axis : axes)
      options.mesh.push_back(axis.str());
  } else if (name == "--ranks") {
    int64_t ranks;
    if (value.getAsInteger(10, ranks) || ranks < 1)
      return bad("a number of at least 1");
    options.ranks = ranks;
  } else if (name == "--accumulate") {
    options.accumulate = value.str();
  } else if (name == "--to") {
    options.to = symbolizePhase(value);
    if (!options.to)
      return bad("global, local, scheduled, planned or llvm");
  } else if (name == "--target") {
    if (value != "host")
      return bad("host");
  } else if (name == "--cpu") {
    options.host.cpu = value.str();
  } else if (name == "--linker") {
    options.host.linker = value.str();
  } else if (name == "--emit-header") {
    options.header = value.str();
  } else if (name == "--report") {
    options.report = value.str();
  } else if (name == "--compare") {
    if (!symbolizeSchedulePolicy(value.str()))
      return bad("sync, next-layer, greedy or best");
    options.compare = value.str();
  }
  std::string problem = setInvarianceValue(name, value, options);
  return problem.empty() ? setScheduleValue(name, value, options.schedule)
                         : problem;
}

/// Checks what options mean together.
std::string checkOptions(const CompileOptions &options) {
  if (options.input.empty())
    return "no input file";
  if (options.output.empty())
    return "no output file: -o is missing";
  std::optional<OutputKind> kind = getOutputKind(options.output);
  if (!kind)
    return "unknown suffix '" +
           llvm::sys::path::extension(options.output).str() + "' of '" +
           options.output + "': expected .mlir, .ll, .o, .so or none";
  if (options.report == "-" ||
      (!options.report.empty() && options.report == options.output))
    return "--report needs a file of its own, not '" + options.report + "'";
  if (!options.compare.empty() && options.report.empty())
    return "--compare is for a report: --report is missing";
  CompileOptions defaults;
  if (options.invariant.empty() && (options.leaves != defaults.leaves ||
                                    options.partials != defaults.partials))
    return "--leaves and --partials are for sums with an order: --invariant is "
           "missing";
  if (options.to && *kind != OutputKind::Text)
    return "--to " + stringifyPhase(*options.to).str() + " is for text, and '" +
           options.output + "' is not";
  if (!options.header.empty() && *kind == OutputKind::Text)
    return "--emit-header is for machine code, and '" + options.output +
           "' is text";
  return "";
}

/// Folder of the runtime's archives: beside the folder of this program.
std::string findRuntimeDir(const char *program) {
  std::string path = llvm::sys::fs::getMainExecutable(
      program, reinterpret_cast<void *>(&findRuntimeDir));
  SmallString<128> folder(
      llvm::sys::path::parent_path(llvm::sys::path::parent_path(path)));
  llvm::sys::path::append(folder, "lib");
  return folder.str().str();
}

} // namespace

std::optional<OutputKind> weft::getOutputKind(StringRef path) {
  if (path == "-")
    return OutputKind::Text;
  return llvm::StringSwitch<std::optional<OutputKind>>(
             llvm::sys::path::extension(path))
      .Case(".mlir", OutputKind::Text)
      .Case(".ll", OutputKind::LLVMIR)
      .Case(".o", OutputKind::Object)
      .Case(".so", OutputKind::SharedLibrary)
      .Case("", OutputKind::Executable)
      .Default(std::nullopt);
}

std::string weft::parseCompileOptions(ArrayRef<StringRef> list,
                                      CompileOptions &options) {
  Arguments arguments(list);
  while (!arguments.empty()) {
    StringRef name = arguments.next();
    if (!name.starts_with("-") || name == "-") {
      if (!options.input.empty())
        return "more than one input file: '" + options.input + "' and '" +
               name.str() + "'";
      options.input = name.str();
    } else if (takesValue(name) ||
               (name == "--invariant" && arguments.hasAttachedValue())) {
      std::optional<StringRef> value = arguments.takeValue();
      if (!value || value->empty())
        return name.str() + " needs a value";
      std::string problem = setValue(name, *value, options);
      if (!problem.empty())
        return problem;
    } else if (!setFlag(name, options)) {
      return "unknown option '" + name.str() + "'";
    } else if (arguments.hasAttachedValue()) {
      return name.str() + " takes no value";
    }
  }
  return checkOptions(options);
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
    llvm::outs() << getCompileHelp();
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
  options.host.runtimeDir = findRuntimeDir(program);
  options.progress = llvm::sys::Process::StandardErrIsDisplayed();
  return compileFile(options);
}

int weft::compileMain(int argc, char **argv) {
  initTool();
  SmallVector<StringRef> arguments(argv + 1, argv + argc);
  return runGuarded("weft-compile",
                    [&] { return runTool(argv[0], arguments); });
}
