// SPDX-License-Identifier: Apache-2.0

#include "ProcessorTimes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Format.h"

#include <ctime>

using namespace mlir;
using namespace mlir::weft;

static double now() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

std::optional<void *> ProcessorTimes::rootTimer() {
  if (!isEnabled)
    return std::nullopt;
  std::lock_guard lock(mutex);
  if (entries.empty())
    entries.push_back({nullptr, "total"});
  return &entries.front();
}

void ProcessorTimes::startTimer(void *handle) {
  std::lock_guard lock(mutex);
  auto *entry = static_cast<Entry *>(handle);
  entry->begin = now();
  if (entry->parent == &entries.front())
    running = entry;
}

void ProcessorTimes::stopTimer(void *handle) {
  std::lock_guard lock(mutex);
  auto *entry = static_cast<Entry *>(handle);
  entry->seconds += now() - entry->begin;
  if (running == entry)
    running = nullptr;
}

/// By name: a pass may lie where another one was before.
void *ProcessorTimes::nestTimer(void *handle, const void *,
                                function_ref<std::string()> nameBuilder) {
  std::lock_guard lock(mutex);
  std::string name = nameBuilder();
  // MLIR puts a pipeline that a pass runs beside the pass.
  if (running && handle == &entries.front())
    handle = running;
  for (Entry &entry : entries)
    if (entry.parent == handle && entry.name == name)
      return &entry;
  entries.push_back({handle, std::move(name)});
  return &entries.back();
}

void ProcessorTimes::hideTimer(void *handle) {
  std::lock_guard lock(mutex);
  static_cast<Entry *>(handle)->isHidden = true;
}

void ProcessorTimes::print(raw_ostream &os) const {
  if (entries.empty())
    return;
  const Entry &total = entries.front();
  llvm::MapVector<StringRef, double> byName;
  double rest = total.seconds;
  for (const Entry &entry : llvm::drop_begin(entries)) {
    // What a pass needs to know counts in the pass.
    if (entry.parent != &total || entry.isHidden)
      continue;
    byName[entry.name] += entry.seconds;
    rest -= entry.seconds;
  }
  auto line = [&](StringRef name, double seconds) {
    os << llvm::format("  %8.3f  ", seconds) << name << '\n';
  };
  os << "seconds of the processor:\n";
  for (auto [name, seconds] : byName)
    line(name, seconds);
  line("other", rest);
  line("total", total.seconds);
}
