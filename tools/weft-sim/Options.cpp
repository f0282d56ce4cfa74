// SPDX-License-Identifier: Apache-2.0

// Options of the simulator are taken out; the rest must be the compiler's, but
// for those that say what to write.

#include "Options.h"

using namespace mlir;
using namespace mlir::weft;

llvm::StringRef weft::getSimHelp() {
  return R"(usage: weft-sim INPUT [options]

Simulates a step on a described machine: how long it takes, how much of the
communication is exposed, how much memory it needs. INPUT is a step as
weft-compile takes it, in any phase up to planned ("-" reads the standard input);
it is compiled as far as needed.

options:
  --machine NAME|FILE   the machine (host), for which the step is ordered, too,
                        unless it is already; see docs/machines.md
  --trace FILE          write what the rank does as a trace for Perfetto
  --report FILE         write it as a page (HTML); see docs/report.md
  --rank R              the rank to show; the last to be done if not given
  --slow-rank R=F       rank R computes F times as long; may be repeated
  --jitter P%           each op takes up to P % less or more
  --seed N              the random numbers of --jitter (0)
  --durations FILE      take durations of kernels and products from the trace of
                        a run (weft-run --trace) where it has them
  --version, --help     print and exit
and those of weft-compile that say how to compile, such as --mesh and --schedule,
but none that say what to write.

exit codes: 0, 1 (an error in the input or with a file), 2 (wrong usage)
)";
}

namespace {

bool isOwnOption(StringRef name) {
  return llvm::is_contained({"--machine", "--trace", "--rank", "--slow-rank",
                             "--jitter", "--seed", "--durations", "--report"},
                            name);
}

bool isAboutOutput(StringRef name) {
  return llvm::is_contained({"-o", "--to", "--emit-header", "--compare"}, name);
}

std::string badValue(StringRef name, StringRef value, StringRef expected) {
  return ("'" + value + "' is not a value of " + name + ": expected " +
          expected)
      .str();
}

/// "3=1.5"
std::string addSlowRank(StringRef value, SimulateOptions &options) {
  auto [rankText, factorText] = value.split('=');
  int64_t rank;
  double factor;
  if (rankText.getAsInteger(10, rank) || rank < 0 ||
      factorText.getAsDouble(factor) || !(factor > 0 && factor <= 1e6))
    return badValue("--slow-rank", value,
                    "RANK=FACTOR with a factor above 0, such as 3=1.5");
  if (!options.slowRanks.emplace(rank, factor).second)
    return "two factors for rank " + std::to_string(rank);
  return "";
}

std::string setValue(StringRef name, StringRef value, SimOptions &options) {
  if (name == "--machine") {
    options.machine = value.str();
  } else if (name == "--trace") {
    options.trace = value.str();
  } else if (name == "--report") {
    options.report = value.str();
  } else if (name == "--durations") {
    options.durations = value.str();
  } else if (name == "--slow-rank") {
    return addSlowRank(value, options.simulate);
  } else if (name == "--rank") {
    if (value.getAsInteger(10, options.simulate.rank) ||
        options.simulate.rank < 0)
      return badValue(name, value, "a number of at least 0");
  } else if (name == "--seed") {
    if (value.getAsInteger(10, options.simulate.seed))
      return badValue(name, value, "a number of at least 0");
  } else if (name == "--jitter") {
    StringRef number = value;
    double percent;
    if (!number.consume_back("%") || number.getAsDouble(percent) ||
        !(percent >= 0 && percent < 100))
      return badValue(name, value, "a part from 0% to less than 100%");
    options.simulate.jitter = percent / 100;
  }
  return "";
}

} // namespace

std::string weft::parseSimOptions(ArrayRef<StringRef> arguments,
                                  SimOptions &options) {
  SmallVector<StringRef> forCompiler;
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto [name, value] = arguments[i].split('=');
    if (isAboutOutput(name))
      return "unknown option '" + name.str() + "'";
    if (!isOwnOption(name)) {
      forCompiler.push_back(arguments[i]);
      continue;
    }
    if (!arguments[i].contains('=') && i + 1 < arguments.size())
      value = arguments[++i];
    if (value.empty())
      return name.str() + " needs a value";
    // The step is ordered for the machine that it is simulated on.
    if (name == "--machine")
      forCompiler.append({name, value});
    std::string problem = setValue(name, value, options);
    if (!problem.empty())
      return problem;
  }
  forCompiler.append({"-o", "-", "--to", "planned"});
  return parseCompileOptions(forCompiler, options.compile);
}
