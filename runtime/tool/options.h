// SPDX-License-Identifier: Apache-2.0

// The command line of weft-run and of executables that hold a program.

#ifndef WEFT_RT_TOOL_OPTIONS_H
#define WEFT_RT_TOOL_OPTIONS_H

#include "core/status.h"
#include "weft-rt/session.h"

#include <string>
#include <vector>

namespace weft::rt {

/// --link: the model of the links along an axis.
struct LinkOption {
  std::string axis;
  double latency, bandwidth; // microseconds, GB/s
};

/// --rank-program: what one rank runs instead.
struct RankProgram {
  int64_t rank;
  std::string path;
};

/// What the command line asks for; empty strings: not asked for.
struct ToolOptions {
  std::string program; // path of the shared object
  std::string inputs, outputs, trace, stats, backend, backendLibrary,
      rendezvous;
  std::vector<std::string> print; // names of scalar results
  int64_t ranks = 0, steps = 1, threads = 0, perturb = 0;
  int64_t processes = 0, process = -1, localProcess = -1; // -1: not said
  double deadline = 0;
  std::vector<weft_rt_fault> faults;
  std::vector<LinkOption> links;
  std::vector<RankProgram> rankPrograms;
  bool sharedLink = false, forceThreads = false, noGraphs = false;
  bool registerBuffers = false;
  bool calls = false, digest = false, quiet = false, inspect = false,
       poison = false, profile = false, help = false;
};

/// Reads the command line; a failure is a wrong use of it. `isEmbedded`: the
/// program is in the executable, and no path is expected.
Result<ToolOptions> parseOptions(int argc, const char *const *argv,
                                 bool isEmbedded);

/// What --help prints.
std::string usageText(const std::string &tool, bool isEmbedded);

} // namespace weft::rt

#endif // WEFT_RT_TOOL_OPTIONS_H
