// SPDX-License-Identifier: Apache-2.0

// weft-measure: writes a description of the machine that it runs on. What the
// fields mean is in docs/machines.md.

#include "Measurement.h"

#include "core/output_file.h"
#include "core/status.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

using namespace weft::rt;

namespace {

const char help[] = R"(usage: weft-measure [options]

Measures products, memory and collectives of the runtime on this machine, with
all ranks at work at once, and writes a machine description for weft-sim and
weft-compile. Takes about half a minute; the machine should be idle.

options:
  -o FILE        the output; standard output if not given
  --name NAME    the machine's name in reports (measured)
  --ranks N      ranks, in one process; one per core if not given
  --threads N    threads of each rank (1)
  --quick        a moment, with figures that mean nothing
  --help         print and exit

exit codes: 0, 1 (the measurement or the file failed), 2 (wrong usage)
)";

struct Options {
  MeasureOptions measure;
  std::string output, name = "measured";
};

/// Three digits: more would not be true.
std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", value);
  return text;
}

std::string tableText(const Table &table) {
  std::string text;
  for (auto [size, factor] : table)
    text += (text.empty() ? "[" : ", [") + number(size) + ", " +
            number(factor > 1e-6 ? factor : 1e-6) + "]";
  return "[" + text + "]";
}

std::string productText(const ProductFigures &figures) {
  return "      \"" + figures.type +
         "\": {\n        \"per_s\": " + number(figures.flopsPerSecond) +
         ",\n        \"efficiency_by_flops\": " + tableText(figures.byFlops) +
         ",\n        \"efficiency_by_smallest_dim\": " +
         tableText(figures.bySmallestDim) + "\n      }";
}

std::string description(const Options &options, const Figures &figures) {
  std::string products;
  for (const ProductFigures &product : figures.products)
    products += (products.empty() ? "" : ",\n") + productText(product);
  std::string levels;
  if (options.measure.ranks > 1)
    levels = "\n    {\"name\": \"memory\", \"latency_ns\": " +
             number(figures.latencyNs) +
             ", \"bytes_per_s\": " + number(figures.linkBytesPerSecond) +
             ", \"shared_link\": true}\n  ";
  return "{\n  \"name\": \"" + options.name + "\",\n  \"description\": \"" +
         std::to_string(options.measure.ranks) +
         " ranks in one process\",\n  \"memory\": {\n    \"bytes_per_s\": " +
         number(figures.bytesPerSecond) +
         ",\n    \"efficiency_by_bytes\": " + tableText(figures.byBytes) +
         "\n  },\n  \"compute\": {\n    \"threads\": " +
         std::to_string(options.measure.threads) +
         ",\n    \"kernel_overhead_ns\": " + number(figures.kernelOverheadNs) +
         ",\n    \"elementwise_per_s\": " +
         number(figures.elementwisePerSecond) + ",\n    \"flops\": {\n" +
         products + "\n    }\n  },\n  \"levels\": [" + levels +
         "],\n  \"sources\": {\"memory\": \"weft-measure\", \"compute\": "
         "\"weft-measure\"" +
         (levels.empty() ? "" : ", \"levels\": \"weft-measure\"") + "}\n}\n";
}

bool parseCount(const char *text, int64_t most, int64_t &value) {
  char *end;
  value = std::strtoll(text, &end, 10);
  return end != text && *end == 0 && value >= 1 && value <= most;
}

/// A name that needs no quoting, in JSON nor in a terminal.
bool isPlain(const std::string &name) {
  return !name.empty() && name.find_first_of("\"\\") == std::string::npos &&
         printable(name) == name;
}

/// Returns what is wrong, or an empty text.
std::string parse(int argc, char **argv, Options &options) {
  options.measure.ranks = std::max(1u, std::thread::hardware_concurrency());
  for (int i = 1; i < argc; ++i) {
    std::string option = argv[i];
    if (option == "--quick") {
      options.measure.isQuick = true;
      continue;
    }
    if (option != "-o" && option != "--name" && option != "--ranks" &&
        option != "--threads")
      return "unknown option '" + option + "'";
    if (++i == argc)
      return option + " needs a value";
    int64_t count = 1;
    if (option == "-o")
      options.output = argv[i];
    else if (option == "--name")
      options.name = argv[i];
    else if (!parseCount(argv[i], 1024, count))
      return "'" + std::string(argv[i]) + "' is not a value of " + option +
             ": expected a number from 1 to 1024";
    else if (option == "--ranks")
      options.measure.ranks = count;
    else
      options.measure.threads = int32_t(count);
  }
  return isPlain(options.name)
             ? ""
             : "'" + options.name +
                   "' is not a value of --name: expected text without quotes";
}

int fail(const std::string &text, int code) {
  std::fprintf(stderr, "weft-measure: %s\n", printableLines(text).c_str());
  return code;
}

int print(const std::string &text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0)
    return 0;
  return fail(
      format("cannot write the standard output: %s", std::strerror(errno)), 1);
}

/// A path that cannot be written is found before anything is measured.
Status measureToFile(const Options &options) {
  removeTemporaryFilesOnSignals();
  Result<std::unique_ptr<OutputFile>> file = OutputFile::create(options.output);
  if (!file.ok())
    return file.status();
  Figures figures;
  std::string problem = measure(options.measure, figures);
  if (!problem.empty())
    return invalid(problem);
  WEFT_RT_RETURN_IF_ERROR((*file)->append(description(options, figures)));
  return (*file)->commit();
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0)
    return print(help);
  Options options;
  std::string problem = parse(argc, argv, options);
  if (!problem.empty())
    return fail(problem + "\nsee weft-measure --help", 2);
  if (!options.output.empty()) {
    Status status = measureToFile(options);
    return status.ok() ? 0 : fail(status.message(), 1);
  }
  Figures figures;
  problem = measure(options.measure, figures);
  return problem.empty() ? print(description(options, figures))
                         : fail(problem, 1);
}
