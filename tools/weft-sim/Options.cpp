// SPDX-License-Identifier: Apache-2.0

// The simulator's options in front of the compiler's.

#include "Options.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// "3=1.5"; each rank has one factor.
std::string addSlowRank(StringRef text, std::map<int64_t, double> &factors) {
  auto [rankText, factorText] = text.split('=');
  int64_t rank;
  double factor;
  if (rankText.getAsInteger(10, rank) || rank < 0 ||
      factorText.getAsDouble(factor) || !(factor > 0 && factor <= 1e6))
    return describeBadValue("--slow-rank", text,
                            "RANK=FACTOR with a factor above 0, such as 3=1.5");
  if (!factors.emplace(rank, factor).second)
    return "two factors for rank " + std::to_string(rank);
  return "";
}

/// "5%"
struct PercentRule {
  static constexpr OptionKind kKind = OptionKind::Text;

  std::string read(StringRef text, double &part) const {
    double percent;
    if (!text.consume_back("%") || text.getAsDouble(percent) ||
        !(percent >= 0 && percent < 100))
      return "a part from 0% to less than 100%";
    part = percent / 100;
    return "";
  }
  std::string show(double) const { return "0%"; }
};

/// Whether the simulator has an option of the compiler's. It stops where it
/// does, writes nothing of a program, and makes a page of its own.
bool isShared(const ToolOption &option) {
  return option.group != "output" && option.name != "report" &&
         option.name != "compare" && option.name != "timing";
}

std::vector<ToolOption> listSimOptions(SimOptions &options) {
  constexpr StringLiteral group = "simulation";
  SimulateOptions &simulate = options.simulate;
  std::vector<ToolOption> list = {
      makeOption(group, "trace", options.trace, "--trace", "FILE", FileRule{},
                 "write what the rank does as a trace for Perfetto"),
      makeOption(group, "report", options.report, "--report", "FILE",
                 FileRule{}, "write it as a page (HTML)"),
      makeOption(group, "rank", simulate.rank, "--rank", "R", NumberRule{},
                 "the rank to show; the last to be done if not given"),
      {group,
       "--slow-rank",
       "slow_ranks",
       OptionKind::Text,
       "R=F",
       "rank R computes F times as long; may be repeated",
       "",
       {},
       [&simulate](std::optional<StringRef> text) {
         return addSlowRank(*text, simulate.slowRanks);
       }},
      makeOption(group, "jitter", simulate.jitter, "--jitter", "P%",
                 PercentRule{}, "each op takes up to P % less or more"),
      makeOption(group, "seed", simulate.seed, "--seed", "N", NumberRule{},
                 "the random numbers of --jitter"),
      makeOption(group, "durations", options.durations, "--durations", "FILE",
                 FileRule{},
                 "take durations of kernels and products from the trace of a "
                 "run, where it has them")};
  for (ToolOption &option : listCompileOptions(options.compile))
    if (isShared(option))
      list.push_back(std::move(option));
  return list;
}

} // namespace

std::string weft::parseSimOptions(ArrayRef<StringRef> arguments,
                                  SimOptions &options) {
  options.compile.output = "-";
  options.compile.to = Phase::Planned;
  options.compile.simulates = true;
  std::string problem =
      parseOptions(arguments, listSimOptions(options), options.compile.input);
  return problem.empty() ? checkOptions(options.compile) : problem;
}

void weft::printSimHelp(raw_ostream &os) {
  os << R"(usage: weft-sim INPUT [options]

Simulates a step on a described machine: how long it takes, how much of the
communication is exposed, how much memory it needs. INPUT is a step as
weft-compile takes it, in any phase up to planned ("-" reads the standard input);
it is compiled as far as needed, for the machine that is simulated.
)";
  SimOptions defaults;
  printOptions(listSimOptions(defaults), os);
  os << R"(
instead of simulating:
  --version, --help      print and exit

exit codes: 0, 1 (an error in the input or with a file), 2 (wrong usage)
)";
}
