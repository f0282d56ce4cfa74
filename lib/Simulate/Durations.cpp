// SPDX-License-Identifier: Apache-2.0

// Takes the complete events ("ph": "X") of kernels and products from a trace.

#include "weft/Simulate/Durations.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <cmath>
#include <map>

using namespace mlir::weft;
using llvm::StringRef;
namespace json = llvm::json;

namespace {
/// Durations of one op on one rank, in the order of the trace.
struct Occurrences {
  double firstNs = 0, restNs = 0;
  int64_t numRest = 0;
};
using OccurrencesByRank = std::map<int64_t, Occurrences>;
} // namespace

/// A run tells products from kernels, the simulator does not.
static bool isCompute(StringRef category) {
  return category == "compute" || category == "gemm" || category == "kernel";
}

/// Adds the duration of an event, if it is a compute slice. Returns what is
/// wrong with it, or an empty text.
static std::string addEvent(const json::Value &event,
                            llvm::StringMap<OccurrencesByRank> &durations) {
  const json::Object *object = event.getAsObject();
  if (!object)
    return "is not an object";
  if (object->getString("ph").value_or("") != "X" ||
      !isCompute(object->getString("cat").value_or("")))
    return "";
  std::optional<StringRef> name = object->getString("name");
  std::optional<double> microseconds = object->getNumber("dur");
  if (!name || !microseconds || !(*microseconds >= 0 && *microseconds < 1e12))
    return "is a compute slice without a name or a duration of at least 0";
  int64_t rank = object->getInteger("pid").value_or(0);
  auto [entry, isFirst] = durations[*name].try_emplace(rank);
  if (isFirst) {
    entry->second.firstNs = *microseconds * 1e3;
    return "";
  }
  entry->second.restNs += *microseconds * 1e3;
  ++entry->second.numRest;
  return "";
}

/// The mean of all but the first of each rank, or of these if there are no
/// others.
static int64_t getMean(const OccurrencesByRank &ranks) {
  double first = 0, rest = 0;
  int64_t numRest = 0;
  for (const auto &[rank, one] : ranks) {
    first += one.firstNs;
    rest += one.restNs;
    numRest += one.numRest;
  }
  return std::llround(numRest ? rest / double(numRest)
                              : first / double(ranks.size()));
}

llvm::FailureOr<llvm::StringMap<int64_t>>
mlir::weft::readDurations(StringRef text, StringRef file, std::string &error) {
  llvm::Expected<json::Value> trace = json::parse(text);
  if (!trace) {
    error = (file + ": " + llvm::toString(trace.takeError())).str();
    return llvm::failure();
  }
  const json::Object *object = trace->getAsObject();
  const json::Array *events =
      object ? object->getArray("traceEvents") : nullptr;
  if (!events) {
    error = (file + ": has no array 'traceEvents'").str();
    return llvm::failure();
  }
  llvm::StringMap<OccurrencesByRank> all;
  for (size_t i = 0; i < events->size(); ++i) {
    std::string problem = addEvent((*events)[i], all);
    if (!problem.empty()) {
      error = (file + ": event " + llvm::Twine(i) + " " + problem).str();
      return llvm::failure();
    }
  }
  llvm::StringMap<int64_t> means;
  for (const auto &entry : all)
    means[entry.first()] = getMean(entry.second);
  return means;
}
