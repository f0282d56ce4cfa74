// SPDX-License-Identifier: Apache-2.0

// Takes the complete events ("ph": "X") of category "compute" from a trace.

#include "weft/Simulate/Durations.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <cmath>
#include <vector>

using namespace mlir::weft;
using llvm::StringRef;
namespace json = llvm::json;

/// Adds the duration of an event, if it is a compute slice. Returns what is
/// wrong with it, or an empty text.
static std::string addEvent(const json::Value &event,
                            llvm::StringMap<std::vector<int64_t>> &durations) {
  const json::Object *object = event.getAsObject();
  if (!object)
    return "is not an object";
  if (object->getString("ph").value_or("") != "X" ||
      object->getString("cat").value_or("") != "compute")
    return "";
  std::optional<StringRef> name = object->getString("name");
  std::optional<double> microseconds = object->getNumber("dur");
  if (!name || !microseconds || !(*microseconds >= 0 && *microseconds < 1e12))
    return "is a compute slice without a name or a duration of at least 0";
  durations[*name].push_back(std::llround(*microseconds * 1e3));
  return "";
}

/// The middle one, or the mean of the two in the middle.
static int64_t getMedian(std::vector<int64_t> values) {
  llvm::sort(values);
  size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle]
                           : (values[middle - 1] + values[middle]) / 2;
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
  llvm::StringMap<std::vector<int64_t>> all;
  for (size_t i = 0; i < events->size(); ++i) {
    std::string problem = addEvent((*events)[i], all);
    if (!problem.empty()) {
      error = (file + ": event " + llvm::Twine(i) + " " + problem).str();
      return llvm::failure();
    }
  }
  llvm::StringMap<int64_t> medians;
  for (const auto &entry : all)
    medians[entry.first()] = getMedian(entry.second);
  return medians;
}
