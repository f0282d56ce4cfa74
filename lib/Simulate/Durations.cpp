// SPDX-License-Identifier: Apache-2.0

// Takes the complete events ("ph": "X") of kernels and products from a trace,
// and those of steps, which say what belongs together.

#include "weft/Simulate/Durations.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <cmath>
#include <map>

using namespace mlir::weft;
using llvm::StringRef;
namespace json = llvm::json;

namespace {

struct Event {
  StringRef name;
  double begin, duration;
};

/// The mean of some durations.
struct Mean {
  double sum = 0;
  int64_t count = 0;

  void add(double value) {
    sum += value;
    ++count;
  }
  int64_t get() const { return std::llround(sum / double(count)); }
};

/// Events by rank, in microseconds.
class Trace {
public:
  /// Returns what is wrong with an event, or an empty text.
  std::string add(const json::Value &event);

  MeasuredDurations getDurations();

private:
  int64_t stepOf(int64_t rank, const Event &event) const;

  std::map<int64_t, std::vector<Event>> computations, steps;
};

} // namespace

/// A run tells products from kernels, the simulator does not.
static bool isCompute(StringRef category) {
  return category == "compute" || category == "gemm" || category == "kernel";
}

std::string Trace::add(const json::Value &event) {
  const json::Object *object = event.getAsObject();
  if (!object)
    return "is not an object";
  StringRef category = object->getString("cat").value_or("");
  if (object->getString("ph").value_or("") != "X" ||
      !(isCompute(category) || category == "step"))
    return "";
  std::optional<StringRef> name = object->getString("name");
  std::optional<double> begin = object->getNumber("ts");
  std::optional<double> duration = object->getNumber("dur");
  if (!name || !begin || !duration || !(*duration >= 0 && *duration < 1e12))
    return "is a slice without a name, a time or a duration of at least 0";
  auto &list = category == "step" ? steps : computations;
  int64_t rank = object->getInteger("pid").value_or(0);
  list[rank].push_back({*name, *begin, *duration});
  return "";
}

/// The number of the step in which an event begins; 0 if the trace has no
/// steps.
int64_t Trace::stepOf(int64_t rank, const Event &event) const {
  auto ofRank = steps.find(rank);
  if (ofRank == steps.end())
    return 0;
  auto after = llvm::upper_bound(
      ofRank->second, event.begin,
      [](double begin, const Event &step) { return begin < step.begin; });
  return std::max<int64_t>(after - ofRank->second.begin() - 1, 0);
}

MeasuredDurations Trace::getDurations() {
  size_t numSteps = 1;
  for (auto &[rank, list] : steps) {
    llvm::sort(
        list, [](const Event &a, const Event &b) { return a.begin < b.begin; });
    numSteps = std::max(numSteps, list.size());
  }
  int64_t numSkipped = numSteps > 1 ? 1 : 0;
  std::vector<std::map<int64_t, llvm::StringMap<Mean>>> found(numSteps);
  llvm::StringMap<Mean> all;
  for (const auto &[rank, list] : computations)
    for (const Event &event : list) {
      int64_t step = stepOf(rank, event);
      if (step < numSkipped)
        continue;
      found[step][rank][event.name].add(event.duration * 1e3);
      all[event.name].add(event.duration * 1e3);
    }
  MeasuredDurations result;
  auto getMeans = [](const llvm::StringMap<Mean> &means) {
    MeasuredDurations::ByName durations;
    for (const auto &entry : means)
      durations[entry.first()] = entry.second.get();
    return durations;
  };
  for (const auto &ranks : llvm::drop_begin(found, numSkipped)) {
    result.steps.emplace_back();
    for (const auto &[rank, means] : ranks)
      result.steps.back().push_back(getMeans(means));
  }
  result.means = getMeans(all);
  return result;
}

llvm::FailureOr<MeasuredDurations>
mlir::weft::readDurations(StringRef text, StringRef file, std::string &error) {
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value) {
    error = (file + ": " + llvm::toString(value.takeError())).str();
    return llvm::failure();
  }
  const json::Object *object = value->getAsObject();
  const json::Array *events =
      object ? object->getArray("traceEvents") : nullptr;
  if (!events) {
    error = (file + ": has no array 'traceEvents'").str();
    return llvm::failure();
  }
  Trace trace;
  for (size_t i = 0; i < events->size(); ++i) {
    std::string problem = trace.add((*events)[i]);
    if (!problem.empty()) {
      error = (file + ": event " + llvm::Twine(i) + " " + problem).str();
      return llvm::failure();
    }
  }
  return trace.getDurations();
}
