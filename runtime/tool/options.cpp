// SPDX-License-Identifier: Apache-2.0

// Flags are `--name value` or `--name=value`. One table lists them, for the
// parser and for the help.

#include "tool/options.h"

#include "core/job_place.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace weft::rt {
namespace {

using Store = Status (*)(ToolOptions &, const std::string &flag,
                         const std::string &value);

struct Flag {
  const char *name;
  const char *value; // what stands for the value in the help; null: none
  const char *help;
  Store store;
};

Status parseInteger(const std::string &flag, const std::string &text,
                    int64_t least, int64_t most, int64_t &value) {
  char *end;
  errno = 0;
  value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end || errno || value < least || value > most)
    return invalid(format("%s takes an integer from %lld to %lld, not '%s'",
                          flag.c_str(), (long long)least, (long long)most,
                          text.c_str()));
  return Status();
}

Status parseSeconds(const std::string &flag, const std::string &text,
                    double &value) {
  char *end;
  value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !(value > 0) || value > 1e9)
    return invalid(format("%s takes a positive number of seconds, not '%s'",
                          flag.c_str(), text.c_str()));
  return Status();
}

template <std::string ToolOptions::*member>
Status storePath(ToolOptions &options, const std::string &flag,
                 const std::string &value) {
  if (value.empty())
    return invalid(flag + " takes a file name");
  options.*member = value;
  return Status();
}

Status storeBackend(ToolOptions &options, const std::string &flag,
                    const std::string &value) {
  if (value.empty())
    return invalid(flag + " takes the name of a backend");
  options.backend = value;
  return Status();
}

template <int64_t ToolOptions::*member, int64_t most, int64_t least = 1>
Status storeInteger(ToolOptions &options, const std::string &flag,
                    const std::string &value) {
  return parseInteger(flag, value, least, most, options.*member);
}

Status storeRendezvous(ToolOptions &options, const std::string &flag,
                       const std::string &value) {
  std::string host;
  int64_t port = 0;
  options.rendezvous = value;
  return parseAddress(flag, value, host, port);
}

template <bool ToolOptions::*member>
Status storeFlag(ToolOptions &options, const std::string &,
                 const std::string &) {
  options.*member = true;
  return Status();
}

Status storeDeadline(ToolOptions &options, const std::string &flag,
                     const std::string &value) {
  return parseSeconds(flag, value, options.deadline);
}

/// KIND:RANK[:COLLECTIVE[:MILLISECONDS]]
Status storeFault(ToolOptions &options, const std::string &flag,
                  const std::string &value) {
  constexpr const char *kinds[] = {"fail", "vanish", "delay"};
  size_t colon = value.find(':');
  std::string kind = value.substr(0, colon);
  auto *known = std::find(std::begin(kinds), std::end(kinds), kind);
  long long rank = 0, collective = 0, milliseconds = 0;
  int used = 0;
  bool isWhole =
      colon != std::string::npos && known != std::end(kinds) &&
      std::sscanf(value.c_str() + colon, ":%lld%n:%lld%n:%lld%n", &rank, &used,
                  &collective, &used, &milliseconds, &used) > 0 &&
      colon + used == value.size();
  if (!isWhole || rank < 0 || collective < 0 || milliseconds < 0)
    return invalid(flag +
                   " takes fail, vanish or delay, a rank, a number of "
                   "a collective and milliseconds, as in vanish:3:10, "
                   "not '" +
                   value + "'");
  options.faults.push_back(
      {weft_rt_fault_kind(known - kinds), rank, collective, milliseconds});
  return Status();
}

/// AXIS=LATENCY_US,GB_PER_S
Status storeLink(ToolOptions &options, const std::string &flag,
                 const std::string &value) {
  size_t equals = value.find('=');
  LinkOption link{value.substr(0, equals), 0, 0};
  int used = 0;
  bool isWhole = equals != std::string::npos && equals > 0 &&
                 std::sscanf(value.c_str() + equals, "=%lf,%lf%n",
                             &link.latency, &link.bandwidth, &used) == 2 &&
                 equals + used == value.size();
  if (!isWhole || !(link.latency >= 0) || !(link.bandwidth > 0))
    return invalid(flag +
                   " takes an axis, microseconds and GB/s, as in "
                   "fsdp=10,40, not '" +
                   value + "'");
  options.links.push_back(link);
  return Status();
}

/// RANK=FILE
Status storeRankProgram(ToolOptions &options, const std::string &flag,
                        const std::string &value) {
  size_t equals = value.find('=');
  RankProgram program{0, ""};
  if (equals == std::string::npos || equals + 1 == value.size())
    return invalid(flag + " takes a rank and a file, as in 2=other.so, not '" +
                   value + "'");
  program.path = value.substr(equals + 1);
  WEFT_RT_RETURN_IF_ERROR(
      parseInteger(flag, value.substr(0, equals), 0, 1 << 20, program.rank));
  options.rankPrograms.push_back(program);
  return Status();
}

Status storePrint(ToolOptions &options, const std::string &,
                  const std::string &value) {
  options.print.push_back(value);
  return Status();
}

const Flag flags[] = {
    {"--ranks", "N", "fail unless the program is for N ranks",
     storeInteger<&ToolOptions::ranks, 1 << 20>},
    {"--inputs", "FILE",
     "safetensors file with all arguments, in global shapes",
     storePath<&ToolOptions::inputs>},
    {"--outputs", "FILE", "safetensors file for all results",
     storePath<&ToolOptions::outputs>},
    {"--steps", "N", "run N steps; donated arguments carry over (default 1)",
     storeInteger<&ToolOptions::steps, int64_t(1) << 40>},
    {"--threads", "N", "threads of all ranks together (default: one per core)",
     storeInteger<&ToolOptions::threads, 1 << 20>},
    {"--force-threads", nullptr,
     "allow more than 4 threads for each core, and than one for each rank",
     storeFlag<&ToolOptions::forceThreads>},
    {"--deadline", "SECONDS", "longest wait for other ranks (default 60)",
     storeDeadline},
    {"--print", "NAME",
     "print a scalar result after each step; may be repeated", storePrint},
    {"--digest", nullptr,
     "print the SHA-256 of each result after the last step, and one of all",
     storeFlag<&ToolOptions::digest>},
    {"--trace", "FILE", "write a trace for Perfetto",
     storePath<&ToolOptions::trace>},
    {"--stats", "FILE", "write times, memory and traffic as JSON",
     storePath<&ToolOptions::stats>},
    {"--profile", nullptr, "print what the steps spend their time on",
     storeFlag<&ToolOptions::profile>},
    {"--fault", "K:R[:N[:MS]]",
     "to try what a failure does: rank R fails, vanishes or is delayed (K) as "
     "it starts its collective N (default 0)",
     storeFault},
    {"--poison", nullptr,
     "fill memory that the program must not read with NaN bits",
     storeFlag<&ToolOptions::poison>},
    {"--link", "A=US,GB/S",
     "let collectives along axis A take so many microseconds, and their bytes "
     "at so many GB/s, without computing; may be repeated",
     storeLink},
    {"--shared-link", nullptr,
     "with --link: a rank has one link for all its channels",
     storeFlag<&ToolOptions::sharedLink>},
    {"--perturb", "SEED",
     "delay ranks and moves of data at random, and move data as late as can be",
     storeInteger<&ToolOptions::perturb, INT64_MAX>},
    {"--rank-program", "R=FILE",
     "rank R runs this program, which must have the same plan hash; may be "
     "repeated",
     storeRankProgram},
    {"--backend", "NAME",
     "run on this backend of the runtime instead of the program's own",
     storeBackend},
    {"--backend-library", "FILE",
     "load this shared library, which holds a backend and runs its code",
     storePath<&ToolOptions::backendLibrary>},
    {"--processes", "N",
     "N processes share the ranks, one after the other (default: what "
     "torchrun, "
     "mpirun or srun say in the environment; 1: this one alone)",
     storeInteger<&ToolOptions::processes, 1 << 16>},
    {"--process", "I", "with --processes: which of them this is, from 0",
     storeInteger<&ToolOptions::process, (1 << 16) - 1, 0>},
    {"--local-process", "I", "with --processes: which on its machine, from 0",
     storeInteger<&ToolOptions::localProcess, (1 << 16) - 1, 0>},
    {"--rendezvous", "HOST:PORT", "where process 0 listens for the others",
     storeRendezvous},
    {"--no-graphs", nullptr,
     "enqueue steps call by call, also where a backend can capture them",
     storeFlag<&ToolOptions::noGraphs>},
    {"--register-buffers", nullptr,
     "register the ranks' memory with NCCL before the first step",
     storeFlag<&ToolOptions::registerBuffers>},
    {"--calls", nullptr,
     "print what the ranks asked of a backend that writes it down, as null",
     storeFlag<&ToolOptions::calls>},
    {"--inspect", nullptr,
     "print what the program takes and gives; run nothing",
     storeFlag<&ToolOptions::inspect>},
    {"--quiet", nullptr, "show no progress", storeFlag<&ToolOptions::quiet>},
    {"--help", nullptr, "print this", storeFlag<&ToolOptions::help>},
};

const Flag *findFlag(const std::string &name) {
  for (const Flag &flag : flags)
    if (name == flag.name)
      return &flag;
  return nullptr;
}

/// Reads the flag at argv[i], and its value if it takes one.
Status parseFlag(int argc, const char *const *argv, int &i,
                 ToolOptions &options) {
  std::string text = argv[i], value;
  size_t equals = text.find('=');
  std::string name = text.substr(0, equals);
  const Flag *flag = findFlag(name);
  if (!flag)
    return invalid("unknown option '" + name + "'");
  if (!flag->value && equals != std::string::npos)
    return invalid(name + " takes no value");
  if (flag->value && equals == std::string::npos && i + 1 >= argc)
    return invalid(name + " needs a value");
  if (flag->value)
    value = equals != std::string::npos ? text.substr(equals + 1) : argv[++i];
  return flag->store(options, name, value);
}

} // namespace

Result<ToolOptions> parseOptions(int argc, const char *const *argv,
                                 bool isEmbedded) {
  ToolOptions options;
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] == '-') {
      WEFT_RT_RETURN_IF_ERROR(parseFlag(argc, argv, i, options));
    } else if (isEmbedded || !options.program.empty()) {
      return invalid("unexpected argument '" + std::string(argv[i]) + "'");
    } else {
      options.program = argv[i];
    }
  }
  if (!isEmbedded && options.program.empty() && !options.help)
    return invalid("no program given");
  if (options.processes > 1 && options.process < 0)
    return invalid("--processes needs --process: which of them this is");
  if (options.processes == 0 &&
      (options.process >= 0 || options.localProcess >= 0))
    return invalid("--process and --local-process need --processes");
  return options;
}

std::string usageText(const std::string &tool, bool isEmbedded) {
  std::string text =
      "usage: " + tool + (isEmbedded ? "" : " step.so") + " [options]\n";
  for (const Flag &flag : flags) {
    std::string left = flag.name;
    if (flag.value)
      left += std::string(" ") + flag.value;
    text += format("  %-20s %s\n", left.c_str(), flag.help);
  }
  return text + "exit codes: 0, 1 (wrong input), 2 (wrong use), 3 (a rank "
                "failed)\n";
}

} // namespace weft::rt
