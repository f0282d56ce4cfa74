// SPDX-License-Identifier: Apache-2.0

// Reads machine descriptions. Every field is checked: a name that is not known,
// a type or value that is not allowed and a field that is missing end the
// reading with a message that names the field by its path and shows the value.

#include "weft/Cost/Machine.h"

#include "JsonLines.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir::weft;
using llvm::StringRef;
namespace json = llvm::json;

namespace {

/// Nothing is slower, larger or more than this: times stay whole nanoseconds
/// that can be added.
constexpr double largest = 1e18;

/// Deeper than any description.
constexpr int mostNested = 32;

/// What is wrong with a field; nothing as long as there is no text.
struct Problem {
  std::string path, text;

  bool empty() const { return text.empty(); }
};

/// Fields of one object. The first error of all objects of a file is kept;
/// after it everything that is read is nothing.
class Fields {
public:
  Fields(const json::Value &value, std::string path, Problem &error)
      : object(value.getAsObject()), path(std::move(path)), error(error) {
    if (!object)
      fail(this->path, value, "an object");
  }

  bool isOk() const { return error.empty(); }

  bool has(StringRef key) const { return object && object->get(key); }

  std::string pathOf(StringRef key) const {
    return path.empty() ? key.str() : path + "." + key.str();
  }

  /// The value of a field, or null. A field that is missing is an error.
  const json::Value *get(StringRef key) {
    known.push_back(key);
    const json::Value *value = object ? object->get(key) : nullptr;
    if (!value && isOk())
      error = {path, "'" + pathOf(key) + "' is missing"};
    return isOk() ? value : nullptr;
  }

  /// As get; a field that is missing is none.
  const json::Value *getOptional(StringRef key) {
    known.push_back(key);
    return object && isOk() ? object->get(key) : nullptr;
  }

  double number(StringRef key, double smallest) {
    return checkNumber(get(key), key, smallest);
  }

  double number(StringRef key, double smallest, double missing) {
    const json::Value *value = getOptional(key);
    return value ? checkNumber(value, key, smallest) : missing;
  }

  int64_t integer(StringRef key, int64_t smallest, int64_t missing) {
    const json::Value *value = getOptional(key);
    if (!value)
      return missing;
    std::optional<int64_t> number = value->getAsInteger();
    if (number && *number >= smallest && *number <= int64_t(largest))
      return *number;
    fail(pathOf(key), *value,
         "a whole number of at least " + std::to_string(smallest));
    return missing;
  }

  std::string text(StringRef key, bool isNeeded) {
    const json::Value *value = isNeeded ? get(key) : getOptional(key);
    if (value && value->getAsString())
      return value->getAsString()->str();
    if (value)
      fail(pathOf(key), *value, "a string");
    return "";
  }

  bool boolean(StringRef key, bool missing) {
    const json::Value *value = getOptional(key);
    if (value && !value->getAsBoolean())
      fail(pathOf(key), *value, "true or false");
    return value ? value->getAsBoolean().value_or(missing) : missing;
  }

  const json::Array *array(StringRef key, bool isNeeded) {
    const json::Value *value = isNeeded ? get(key) : getOptional(key);
    if (value && !value->getAsArray())
      fail(pathOf(key), *value, "an array");
    return value ? value->getAsArray() : nullptr;
  }

  /// Keys in alphabetical order.
  std::vector<StringRef> keys() const {
    std::vector<StringRef> all;
    if (object)
      for (const auto &entry : *object)
        all.push_back(entry.first);
    llvm::sort(all);
    return all;
  }

  const json::Value &value(StringRef key) const { return *object->get(key); }

  /// Fails if there is a field that nobody asked for.
  void finish() {
    for (StringRef key : keys())
      if (isOk() && !llvm::is_contained(known, key))
        fail(pathOf(key), value(key),
             "only the fields " + llvm::join(known, ", "));
  }

  void fail(const std::string &field, const json::Value &value,
            const std::string &expected) {
    if (!isOk())
      return;
    std::string text;
    llvm::raw_string_ostream(text) << value;
    if (text.size() > 60)
      text = text.substr(0, 60) + "...";
    error = {field, "'" + (field.empty() ? "the description" : field) +
                        "' is " + text + ": expected " + expected};
  }

private:
  double checkNumber(const json::Value *value, StringRef key, double smallest) {
    if (!value)
      return smallest;
    std::optional<double> number = value->getAsNumber();
    if (number && *number >= smallest && *number <= largest)
      return *number;
    std::string bound;
    llvm::raw_string_ostream(bound) << json::Value(smallest);
    fail(pathOf(key), *value, "a number from " + bound + " to 1e18");
    return smallest;
  }

  const json::Object *object;
  std::string path;
  Problem &error;
  llvm::SmallVector<StringRef> known;
};

/// [[size, factor], ...] with rising sizes and positive factors.
EfficiencyTable readTable(Fields &fields, StringRef key) {
  EfficiencyTable table;
  const json::Array *points = fields.array(key, /*isNeeded=*/false);
  if (!points)
    return table;
  double last = -1;
  for (size_t i = 0; i < points->size(); ++i) {
    const json::Value &point = (*points)[i];
    const json::Array *pair = point.getAsArray();
    auto number = [&](size_t at) {
      return pair && pair->size() == 2 ? (*pair)[at].getAsNumber()
                                       : std::nullopt;
    };
    std::optional<double> size = number(0), factor = number(1);
    if (!size || !factor || *size <= last || *size > largest ||
        *factor < 1e-6 || *factor > 1e6) {
      fields.fail(fields.pathOf(key) + "[" + std::to_string(i) + "]", point,
                  "[size, factor] with a size above that before and a factor "
                  "from 1e-6 to 1e6");
      return table;
    }
    table.points.push_back({*size, *factor});
    last = *size;
  }
  return table;
}

LinkRate readLink(Fields &fields) {
  LinkRate link;
  link.latencyNs = fields.number("latency_ns", 0);
  link.latencyPerStepNs = fields.number("latency_ns_per_step", 0, 0);
  link.bytesPerSecond = fields.number("bytes_per_s", 1);
  link.byBytes = readTable(fields, "efficiency_by_bytes");
  return link;
}

/// One more way of doing a collective, beside the ring.
std::optional<LinkRate> readWay(Fields &level, StringRef key, Problem &error) {
  const json::Value *value = level.getOptional(key);
  if (!value)
    return std::nullopt;
  Fields fields(*value, level.pathOf(key), error);
  LinkRate link = readLink(fields);
  fields.finish();
  return link;
}

std::optional<SwitchRate> readSwitches(Fields &level, Problem &error) {
  const json::Value *value = level.getOptional("nvls");
  if (!value)
    return std::nullopt;
  Fields fields(*value, level.pathOf("nvls"), error);
  SwitchRate switches;
  switches.link = readLink(fields);
  switches.leastRanks = fields.integer("least_ranks", 2, 2);
  const json::Array *names = fields.array("collectives", /*isNeeded=*/true);
  for (size_t i = 0; names && i < names->size(); ++i) {
    StringRef name = (*names)[i].getAsString().value_or("");
    if (name != "all_reduce" && name != "all_gather" &&
        name != "reduce_scatter")
      fields.fail(fields.pathOf("collectives") + "[" + std::to_string(i) + "]",
                  (*names)[i], "all_reduce, all_gather or reduce_scatter");
    switches.collectives.push_back(name.str());
  }
  fields.finish();
  return switches;
}

/// All element types that products have rates of.
constexpr StringRef productTypes[] = {"f32", "tf32", "f64", "f16", "bf16",
                                      "f8",  "f4",   "i8",  "i32"};

void readRates(const json::Value &value, Machine &machine, Problem &error) {
  Fields types(value, "compute.flops", error);
  types.get("f32");
  for (StringRef type : llvm::drop_begin(productTypes))
    types.getOptional(type);
  types.finish();
  for (StringRef type : types.keys()) {
    Fields fields(types.value(type), types.pathOf(type), error);
    ComputeRate &rate = machine.rates[type.str()];
    rate.flopsPerSecond = fields.number("per_s", 1);
    rate.byFlops = readTable(fields, "efficiency_by_flops");
    rate.bySmallestDim = readTable(fields, "efficiency_by_smallest_dim");
    fields.finish();
  }
}

AttentionRate readAttentionRate(const json::Value &value, std::string path,
                                Problem &error) {
  Fields fields(value, std::move(path), error);
  AttentionRate rate;
  rate.byKeys = readTable(fields, "efficiency_by_keys");
  rate.byHeadSize = readTable(fields, "efficiency_by_head_size");
  fields.finish();
  return rate;
}

void readAttention(const json::Value &value, Machine &machine, Problem &error) {
  Fields fields(value, "compute.attention", error);
  if (const json::Value *forward = fields.get("forward"))
    machine.attention =
        readAttentionRate(*forward, fields.pathOf("forward"), error);
  if (const json::Value *gradient = fields.get("gradient"))
    machine.attentionGradient =
        readAttentionRate(*gradient, fields.pathOf("gradient"), error);
  fields.finish();
}

/// Which type's rate products of a type have.
void readRunsAs(const json::Value &value, Machine &machine, Problem &error) {
  Fields fields(value, "compute.runs_as", error);
  for (StringRef type : productTypes)
    if (type != "tf32")
      fields.getOptional(type);
  fields.finish();
  for (StringRef type : fields.keys()) {
    std::string run = fields.text(type, /*isNeeded=*/true);
    if (!machine.rates.count(run))
      fields.fail(fields.pathOf(type), fields.value(type),
                  "a type that 'compute.flops' has a rate of");
    machine.runsAs[type.str()] = run;
  }
}

void readCompute(const json::Value &value, Machine &machine, Problem &error) {
  Fields fields(value, "compute", error);
  machine.threads = fields.integer("threads", 1, 1);
  machine.kernelOverheadNs = fields.number("kernel_overhead_ns", 0);
  machine.elementwisePerSecond = fields.number("elementwise_per_s", 1);
  if (const json::Value *flops = fields.get("flops"))
    readRates(*flops, machine, error);
  if (const json::Value *runsAs = fields.getOptional("runs_as"))
    readRunsAs(*runsAs, machine, error);
  if (const json::Value *attention = fields.getOptional("attention"))
    readAttention(*attention, machine, error);
  machine.multiprocessors = fields.integer("multiprocessors", 1, 0);
  fields.finish();
}

void readMemory(const json::Value &value, Machine &machine, Problem &error) {
  Fields fields(value, "memory", error);
  machine.memoryBytes = fields.integer("bytes", 1, 0);
  machine.memoryBytesPerSecond = fields.number("bytes_per_s", 1);
  machine.memoryByBytes = readTable(fields, "efficiency_by_bytes");
  fields.finish();
}

/// A level holds whole blocks of the one inside it.
void checkLevel(const Machine &machine, Fields &fields,
                const MachineLevel &level) {
  size_t last = machine.levels.size() - 1;
  if (level.multiprocessors > 0 &&
      level.multiprocessors >= machine.multiprocessors)
    fields.fail(fields.pathOf("multiprocessors"), level.multiprocessors,
                "fewer than 'compute.multiprocessors', which is " +
                    std::to_string(machine.multiprocessors));
  if (last == 0)
    return;
  int64_t inner = machine.levels[last - 1].ranks;
  int64_t ranks = level.ranks;
  if (inner == 0 || (ranks != 0 && (ranks <= inner || ranks % inner != 0)))
    fields.fail(fields.pathOf("ranks"), level.ranks,
                "a multiple of the level before, which has " +
                    (inner ? std::to_string(inner) : "any number of") +
                    " ranks");
}

void readLevels(const json::Array &levels, Machine &machine, Problem &error) {
  for (size_t i = 0; i < levels.size() && error.empty(); ++i) {
    Fields fields(levels[i], "levels[" + std::to_string(i) + "]", error);
    MachineLevel level;
    level.name = fields.text("name", /*isNeeded=*/true);
    level.ranks = fields.integer("ranks", 1, 0);
    level.sharedLink = fields.boolean("shared_link", true);
    level.hasRails = fields.boolean("rails", false);
    level.link = readLink(fields);
    level.lowLatencyRing = readWay(fields, "ring_ll", error);
    level.tree = readWay(fields, "tree", error);
    level.switches = readSwitches(fields, error);
    level.multiprocessors = fields.integer("multiprocessors", 0, 0);
    level.memoryBytesPerByte = fields.number("memory_bytes_per_byte", 0, 0);
    fields.finish();
    machine.levels.push_back(level);
    if (error.empty())
      checkLevel(machine, fields, level);
  }
}

void readAxes(const json::Value &value, Machine &machine, Problem &error) {
  Fields axes(value, "axes", error);
  for (StringRef axis : axes.keys()) {
    Fields fields(axes.value(axis), axes.pathOf(axis), error);
    machine.axes[axis.str()] = readLink(fields);
    fields.finish();
  }
}

void readDurations(const json::Value &value, Machine &machine, Problem &error) {
  Fields fields(value, "durations_ns", error);
  for (StringRef name : fields.keys())
    machine.durations[name] = fields.integer(name, 0, 0);
}

/// Whether `path` is `root` or a field somewhere in it.
bool isWithin(StringRef path, StringRef root) {
  if (!path.consume_front(root))
    return false;
  return path.empty() || path.front() == '.' || path.front() == '[';
}

/// Calls `visit` with the path of each number; a table counts as one.
void visitNumbers(const json::Value &value, const std::string &path,
                  llvm::function_ref<void(StringRef)> visit) {
  if (const json::Object *object = value.getAsObject()) {
    for (const auto &entry : *object)
      visitNumbers(entry.second,
                   path.empty() ? entry.first.str()
                                : path + "." + entry.first.str(),
                   visit);
  } else if (const json::Array *array = value.getAsArray()) {
    bool isTable = !array->empty() && array->front().getAsArray();
    if (isTable)
      return visit(path);
    for (size_t i = 0; i < array->size(); ++i)
      visitNumbers((*array)[i], path + "[" + std::to_string(i) + "]", visit);
  } else if (value.getAsNumber()) {
    visit(path);
  }
}

/// Each source is a text and belongs to a field; notes which numbers have none.
void readSources(const json::Value &description, Fields &machineFields,
                 Machine &machine, Problem &error) {
  std::vector<std::string> numbers;
  visitNumbers(description, "",
               [&](StringRef path) { numbers.push_back(path.str()); });
  llvm::sort(numbers);
  if (const json::Value *value = machineFields.getOptional("sources")) {
    Fields fields(*value, "sources", error);
    for (StringRef root : fields.keys()) {
      std::string text = fields.text(root, /*isNeeded=*/true);
      if (text.empty() || llvm::none_of(numbers, [&](StringRef number) {
            return isWithin(number, root);
          }))
        fields.fail(fields.pathOf(root), fields.value(root),
                    "a text that says where the figures of a field of this "
                    "name come from");
      machine.sources[root.str()] = text;
    }
  }
  for (const std::string &number : numbers)
    if (llvm::none_of(machine.sources, [&](const auto &source) {
          return isWithin(number, source.first);
        }))
      machine.unsourced.push_back(number);
}

void readMachine(const json::Value &value, Machine &machine, Problem &error) {
  Fields fields(value, "", error);
  machine.name = fields.text("name", /*isNeeded=*/true);
  machine.description = fields.text("description", /*isNeeded=*/false);
  if (const json::Value *memory = fields.get("memory"))
    readMemory(*memory, machine, error);
  if (const json::Value *compute = fields.get("compute"))
    readCompute(*compute, machine, error);
  machine.hostLink = readWay(fields, "host_link", error);
  if (const json::Array *levels = fields.array("levels", /*isNeeded=*/true))
    readLevels(*levels, machine, error);
  if (const json::Value *axes = fields.getOptional("axes"))
    readAxes(*axes, machine, error);
  if (const json::Value *durations = fields.getOptional("durations_ns"))
    readDurations(*durations, machine, error);
  readSources(value, fields, machine, error);
  fields.finish();
}

/// "[3:5, byte=40]: what" as "3:5: what".
std::string getSyntaxError(llvm::Error error) {
  std::string text = llvm::toString(std::move(error));
  auto [place, what] = StringRef(text).split("]: ");
  if (!place.consume_front("["))
    return text;
  return (place.split(',').first + ": " + what).str();
}

} // namespace

llvm::FailureOr<Machine> Machine::parse(StringRef text, StringRef file,
                                        std::string &error) {
  if (getJsonDepth(text) > mostNested) {
    error = (file + ": brackets are nested deeper than " +
             llvm::Twine(mostNested) + " times")
                .str();
    return llvm::failure();
  }
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value) {
    error = (file + ":" + getSyntaxError(value.takeError())).str();
    return llvm::failure();
  }
  if (auto repeated = findRepeatedField(text)) {
    auto &[field, line] = *repeated;
    error = (file + ":" + llvm::Twine(line) + ": '" + field +
             "' stands here for the second time")
                .str();
    return llvm::failure();
  }
  Machine machine;
  Problem problem;
  readMachine(*value, machine, problem);
  if (!problem.empty()) {
    error = (file + ":" + llvm::Twine(getJsonLines(text)[problem.path]) + ": " +
             problem.text)
                .str();
    return llvm::failure();
  }
  return machine;
}
