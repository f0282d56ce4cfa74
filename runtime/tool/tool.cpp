// SPDX-License-Identifier: Apache-2.0

// One run, in this order: everything that can be wrong with the command line,
// the program, the inputs and the output paths is found before the first byte
// of the ranks' memory is allocated; then the steps; then the outputs.

#include "tool/tool.h"

#include "core/checksum.h"
#include "core/elf_image.h"
#include "core/executable.h"
#include "core/manifest.h"
#include "core/output_file.h"
#include "core/processor.h"
#include "core/program_file.h"
#include "core/types.h"
#include "tool/options.h"
#include "tool/profile.h"
#include "tool/scalar.h"
#include "tool/stats.h"
#include "tool/tensors.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <unistd.h>

namespace weft::rt {
namespace {

/// Room for events per rank when a trace is asked for: 24 MiB.
constexpr int64_t traceEvents = 1 << 19;

struct SessionCloser {
  void operator()(weft_rt_session *session) { weft_rt_session_close(session); }
};
using SessionPtr = std::unique_ptr<weft_rt_session, SessionCloser>;

/// A scalar result to print after each step.
struct PrintedResult {
  int32_t index;
  weft_rt_type type;
  std::string name;
};

/// What was printed may only now be found not to fit on the disk.
Status flushOutput() {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout))
    return Status();
  return ioError(
      format("cannot write the standard output: %s", std::strerror(errno)));
}

/// What `new` calls when there is no memory: what it would throw, nobody here
/// could catch.
[[noreturn]] void onNoMemory() {
  static constexpr char text[] = "error: out of memory\n";
  (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
  removeTemporaryFiles();
  _exit(1);
}

Status lastError(weft_rt_status code) {
  return code == WEFT_RT_OK ? Status() : Status(code, weft_rt_last_error());
}

class Tool {
public:
  Tool(ToolOptions options, const weft_rt_program *embedded)
      : options(std::move(options)), program(embedded) {}

  Status run();

private:
  Status inspect();
  Status checkPaths();
  Status load();
  Status loadRankPrograms();
  Status checkInputFile();
  Status findProcess();
  Status createOutputs();
  Status checkOutputPaths();
  Status checkPrinted();
  weft_rt_options sessionOptions();
  Status createSession();
  Status runSteps();
  Status printResults(int64_t step);
  void showProgress(int64_t step) const;
  Status writeOutputs();

  ToolOptions options;
  const weft_rt_program *program;
  std::vector<const weft_rt_program *> programs; // one, or one per rank
  std::vector<std::unique_ptr<Executable>> executables;
  std::unique_ptr<SafetensorsReader> inputs;
  std::unique_ptr<OutputFile> outputs;
  std::vector<TensorEntry> order; // of outputs
  std::vector<PrintedResult> printed;
  std::vector<weft_rt_link> links;
  int64_t process = 0; // the first one of a job prints and writes
  SessionPtr session;
  std::vector<double> seconds;
};

/// A damaged executable that could start nevertheless does nothing else.
Status checkOwnFile() {
  constexpr const char *path = "/proc/self/exe";
  if (access(path, R_OK) != 0)
    return Status();
  Status status = ElfImage::checkFile(path);
  return status.ok() ? status
                     : Status(status.code(),
                              "cannot run this program: " + status.message());
}

Status Tool::run() {
  if (program)
    WEFT_RT_RETURN_IF_ERROR(checkOwnFile());
  if (options.inspect)
    return inspect();
  WEFT_RT_RETURN_IF_ERROR(checkPaths());
  WEFT_RT_RETURN_IF_ERROR(load());
  WEFT_RT_RETURN_IF_ERROR(checkInputFile());
  WEFT_RT_RETURN_IF_ERROR(checkPrinted());
  WEFT_RT_RETURN_IF_ERROR(findProcess());
  WEFT_RT_RETURN_IF_ERROR(checkOutputPaths());
  WEFT_RT_RETURN_IF_ERROR(createSession());
  WEFT_RT_RETURN_IF_ERROR(runSteps());
  return writeOutputs();
}

/// A program in a file is looked at, and not loaded: loading it runs its code.
Status Tool::inspect() {
  if (program) {
    WEFT_RT_RETURN_IF_ERROR(checkProgram(*program));
    WEFT_RT_RETURN_IF_ERROR(checkChecksum(*program));
    std::fputs(describeProgram(*program).c_str(), stdout);
    return Status();
  }
  Result<std::unique_ptr<ProgramFile>> file =
      ProgramFile::read(options.program);
  if (!file.ok())
    return file.status();
  std::fputs(describeProgram((*file)->program()).c_str(), stdout);
  return Status();
}

Status Tool::checkPaths() {
  // An executable is its own program.
  std::string own = program ? "/proc/self/exe" : options.program;
  std::vector<NamedPath> inputPaths = {{"the program", own},
                                       {"--inputs", options.inputs}};
  for (const RankProgram &given : options.rankPrograms)
    inputPaths.push_back({"--rank-program", given.path});
  return checkDistinct({{"--outputs", options.outputs},
                        {"--trace", options.trace},
                        {"--stats", options.stats}},
                       inputPaths);
}

Status Tool::load() {
  if (!program) {
    Result<std::unique_ptr<Executable>> loaded =
        Executable::load(options.program);
    if (!loaded.ok())
      return loaded.status();
    executables.push_back(std::move(*loaded));
    program = &executables.back()->program();
  }
  WEFT_RT_RETURN_IF_ERROR(checkProgram(*program));
  WEFT_RT_RETURN_IF_ERROR(checkChecksum(*program));
  WEFT_RT_RETURN_IF_ERROR(checkProcessor(*program));
  programs = {program};
  return loadRankPrograms();
}

Status Tool::loadRankPrograms() {
  if (!options.rankPrograms.empty())
    programs.resize(program->num_ranks, program);
  for (const RankProgram &given : options.rankPrograms) {
    if (given.rank >= program->num_ranks)
      return invalid(format("a program is given for rank %lld, and there are "
                            "%d ranks",
                            (long long)given.rank, program->num_ranks));
    Result<std::unique_ptr<Executable>> loaded = Executable::load(given.path);
    if (!loaded.ok())
      return loaded.status();
    executables.push_back(std::move(*loaded));
    programs[given.rank] = &executables.back()->program();
  }
  return Status();
}

Status Tool::checkInputFile() {
  if (options.inputs.empty() && program->num_args > 0)
    return invalid(format("%s takes %d arguments: --inputs is missing",
                          quote(program->name).c_str(), program->num_args));
  if (options.inputs.empty())
    return Status();
  Result<std::unique_ptr<SafetensorsReader>> file =
      SafetensorsReader::open(options.inputs);
  if (!file.ok())
    return file.status();
  inputs = std::move(*file);
  std::string problems = checkInputs(*program, *inputs, options.inputs);
  return problems.empty() ? Status() : invalid(problems);
}

Status Tool::checkPrinted() {
  for (const std::string &name : options.print) {
    int32_t index = 0;
    while (index < program->num_results && name != program->results[index].name)
      ++index;
    if (index == program->num_results)
      return invalid(format("%s has no result %s to print",
                            quote(program->name).c_str(), quote(name).c_str()));
    const weft_rt_tensor &result = program->results[index];
    if (*elementCount(result.shape, result.rank) != 1 || !canPrint(result.type))
      return invalid(format(
          "cannot print result %s: %s is not a scalar number",
          quote(name).c_str(),
          tensorTypeName(result.type, result.shape, result.rank).c_str()));
    printed.push_back({index, result.type, name});
  }
  return Status();
}

Status Tool::findProcess() {
  if (!options.backendLibrary.empty())
    WEFT_RT_RETURN_IF_ERROR(
        lastError(weft_rt_load_backend(options.backendLibrary.c_str())));
  weft_rt_options given = sessionOptions();
  int64_t processes = 1;
  return lastError(
      weft_rt_find_process(given.backend ? given.backend : program->backend,
                           &given, &process, &processes));
}

/// The first process alone writes.
Status Tool::createOutputs() {
  if (process == 0) {
    Result<std::unique_ptr<OutputFile>> file =
        OutputFile::create(options.outputs);
    if (!file.ok())
      return file.status();
    outputs = std::move(*file);
  }
  Result<std::vector<TensorEntry>> found =
      outputs ? beginOutputs(*program, *outputs)
              : outputOrder(*program, options.outputs);
  if (!found.ok())
    return found.status();
  order = std::move(*found);
  return Status();
}

Status Tool::checkOutputPaths() {
  if (!options.outputs.empty())
    WEFT_RT_RETURN_IF_ERROR(createOutputs());
  if (process != 0)
    return Status();
  for (const std::string &path : {options.trace, options.stats})
    if (!path.empty())
      WEFT_RT_RETURN_IF_ERROR(checkWritable(path));
  return Status();
}

weft_rt_options Tool::sessionOptions() {
  weft_rt_options given = WEFT_RT_OPTIONS_INIT;
  given.ranks = options.ranks;
  given.threads = int32_t(options.threads);
  given.force_threads = options.forceThreads;
  given.deadline_seconds = options.deadline;
  given.trace_events = options.trace.empty() ? 0 : traceEvents;
  given.poison = options.poison;
  given.profile = options.profile;
  given.num_faults = int32_t(options.faults.size());
  given.faults = options.faults.data();
  links.clear();
  for (const LinkOption &link : options.links)
    links.push_back({link.axis.c_str(), link.latency, link.bandwidth});
  given.num_links = int32_t(links.size());
  given.links = links.data();
  given.shared_link = options.sharedLink;
  given.perturb_seed = uint64_t(options.perturb);
  given.backend = options.backend.empty() ? nullptr : options.backend.c_str();
  given.catch_signals = 1;
  given.processes = options.processes;
  given.process = options.process < 0 ? 0 : options.process;
  given.local_process = options.localProcess;
  given.rendezvous =
      options.rendezvous.empty() ? nullptr : options.rendezvous.c_str();
  given.no_graphs = options.noGraphs;
  given.register_buffers = options.registerBuffers;
  return given;
}

Status Tool::createSession() {
  weft_rt_options given = sessionOptions();
  weft_rt_session *created;
  WEFT_RT_RETURN_IF_ERROR(lastError(weft_rt_session_create(
      programs.data(), programs.size(), &given, &created)));
  session.reset(created);
  return inputs ? lastError(setArguments(created, *inputs)) : Status();
}

Status Tool::printResults(int64_t step) {
  for (const PrintedResult &result : printed) {
    uint64_t value;
    int64_t bytes = byteSize(result.type, 1);
    WEFT_RT_RETURN_IF_ERROR(lastError(weft_rt_session_get_result(
        session.get(), result.index, process == 0 ? &value : nullptr, bytes)));
    if (process != 0)
      continue;
    std::printf("step %lld: %s = %s\n", (long long)step,
                printable(result.name).c_str(),
                scalarText(result.type, &value).c_str());
  }
  return flushOutput();
}

void Tool::showProgress(int64_t step) const {
  if (options.quiet || process != 0 || !isatty(STDERR_FILENO))
    return;
  std::fprintf(stderr, "\rstep %lld/%lld: %.3f ms%s", (long long)step,
               (long long)options.steps, seconds.back() * 1e3,
               step == options.steps ? "\n" : "");
}

Status Tool::runSteps() {
  for (int64_t step = 1; step <= options.steps; ++step) {
    double time;
    weft_rt_status status = weft_rt_session_run(session.get(), 1, &time);
    if (status == WEFT_RT_RANK_FAILED) {
      // A rank that is stuck may still run the program's code.
      for (auto &executable : executables)
        (void)executable.release();
      return Status(status,
                    format("step %lld: %s\nlast collectives:\n%s",
                           (long long)step, weft_rt_last_error(),
                           weft_rt_session_flight_record(session.get())));
    }
    WEFT_RT_RETURN_IF_ERROR(lastError(status));
    seconds.push_back(time);
    WEFT_RT_RETURN_IF_ERROR(printResults(step));
    showProgress(step);
  }
  return Status();
}

Status Tool::writeOutputs() {
  if (!options.outputs.empty())
    WEFT_RT_RETURN_IF_ERROR(writeResults(session.get(), order, outputs.get()));
  if (options.digest) {
    Result<std::string> digests = resultDigests(session.get(), process == 0);
    if (!digests.ok())
      return digests.status();
    std::fputs(digests->c_str(), stdout);
  }
  if (process != 0)
    return Status();
  if (options.calls)
    std::fputs(printableLines(weft_rt_session_calls(session.get())).c_str(),
               stdout);
  if (options.profile)
    std::fputs(printableLines(profileText(session.get())).c_str(), stdout);
  if (!options.stats.empty())
    WEFT_RT_RETURN_IF_ERROR(writeFile(
        options.stats, statsText(session.get(), options.profile, seconds)));
  if (!options.trace.empty())
    return lastError(
        weft_rt_session_write_trace(session.get(), options.trace.c_str()));
  return Status();
}

/// Prints each line of the message as an error of its own, but for those that
/// belong to the line above.
void printFailure(const std::string &tool, const Status &status) {
  std::string text = printableLines(status.message());
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  bool isList = status.code() == WEFT_RT_INVALID;
  size_t begin = 0;
  while (begin <= text.size()) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (begin == 0 || isList)
      line = tool + ": error: " + line;
    std::fprintf(stderr, "%s\n", line.c_str());
    begin = end + 1;
  }
}

std::string toolName(const char *path) {
  std::string name = path ? path : "weft-run";
  return printable(name.substr(name.rfind('/') + 1));
}

int runTool(int argc, char **argv, const weft_rt_program *embedded) {
  std::string tool = toolName(argc > 0 ? argv[0] : nullptr);
  Result<ToolOptions> options = parseOptions(argc, argv, embedded != nullptr);
  if (!options.ok()) {
    printFailure(tool, options.status());
    std::fprintf(stderr, "try %s --help\n", tool.c_str());
    return 2;
  }
  if (options->help) {
    std::fputs(usageText(tool, embedded != nullptr).c_str(), stdout);
    Status status = flushOutput();
    if (!status.ok())
      printFailure(tool, status);
    return status.ok() ? 0 : 1;
  }
  removeTemporaryFilesOnSignals();
  std::set_new_handler(onNoMemory);
  Status status = Tool(std::move(*options), embedded).run();
  if (status.ok())
    status = flushOutput();
  if (!status.ok())
    printFailure(tool, status);
  return status.ok() ? 0 : status.code() == WEFT_RT_RANK_FAILED ? 3 : 1;
}

} // namespace
} // namespace weft::rt

int weft_rt_tool_main(int argc, char **argv, const weft_rt_program *embedded) {
  return weft::rt::runTool(argc, argv, embedded);
}
