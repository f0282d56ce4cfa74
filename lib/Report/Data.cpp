// SPDX-License-Identifier: Apache-2.0

// Writes reports as JSON. The keys are read by the scripts in assets/.

#include "Data.h"

#include "weft/Support/Printable.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

using namespace mlir::weft;
using llvm::StringRef;

namespace {

/// Names in the order of their first use, each with its index.
class NameTable {
public:
  int64_t add(StringRef name) {
    auto [entry, isNew] = indices.try_emplace(name, names.size());
    if (isNew)
      names.push_back(entry->getKey());
    return entry->second;
  }
  const std::vector<StringRef> &getNames() const { return names; }

private:
  llvm::StringMap<int64_t> indices;
  std::vector<StringRef> names;
};

/// Writes one schedule.
class Writer {
public:
  Writer(const Report &report, llvm::json::OStream &json)
      : report(report), timeline(report.timeline), json(json) {}

  void write() {
    json.attribute("policy", fix(report.policy));
    json.attribute("stepNs", timeline.stepNs);
    json.attribute("boundNs", timeline.boundNs);
    json.attribute("peakBytes", timeline.peakBytes);
    json.attribute("arenaBytes", timeline.arenaBytes);
    if (report.memoryLimit)
      json.attribute("memoryLimit", *report.memoryLimit);
    json.attributeArray("streams", [&] {
      for (const std::string &stream : timeline.streams)
        json.value(fix(stream));
    });
    writeSlices();
    writeMemory();
    writeOwners();
    writeRemarks();
    json.attributeArray("names", [&] {
      for (StringRef name : names.getNames())
        json.value(fix(name));
    });
  }

private:
  static std::string fix(StringRef text) { return makePrintable(text); }

  /// Writes one number of each item as an array.
  template <typename Items, typename Get>
  void column(StringRef name, const Items &items, Get get) {
    json.attributeArray(name, [&] {
      for (const auto &item : items)
        json.value(static_cast<int64_t>(get(item)));
    });
  }

  void writeSlices() {
    const std::vector<Slice> &slices = timeline.slices;
    json.attributeObject("slices", [&] {
      column("name", slices, [&](const Slice &s) { return names.add(s.name); });
      column("stream", slices, [](const Slice &s) { return s.stream; });
      column("begin", slices, [](const Slice &s) { return s.beginNs; });
      column("length", slices,
             [](const Slice &s) { return s.endNs - s.beginNs; });
      column("kind", slices, [](const Slice &s) { return s.kind; });
      column("bytes", slices, [](const Slice &s) { return s.bytes; });
      column("flow", slices, [](const Slice &s) { return s.flow; });
      column("started", slices, [](const Slice &s) { return s.startedNs; });
    });
  }

  void writeMemory() {
    json.attributeObject("memory", [&] {
      column("ns", timeline.memory, [](const MemoryPoint &p) { return p.ns; });
      column("bytes", timeline.memory,
             [](const MemoryPoint &p) { return p.bytes; });
    });
  }

  void writeOwners() {
    const std::vector<Owner> &owners = timeline.owners;
    json.attributeObject("owners", [&] {
      column("name", owners, [&](const Owner &o) { return names.add(o.name); });
      column("bytes", owners, [](const Owner &o) { return o.bytes; });
      column("begin", owners, [](const Owner &o) { return o.beginNs; });
      column("end", owners, [](const Owner &o) { return o.endNs; });
      column("offset", owners, [](const Owner &o) { return o.offset; });
    });
  }

  /// Remarks about ops, for tooltips: pairs of a name and a text.
  void writeRemarks() {
    json.attributeArray("remarks", [&] {
      for (const ReportRemark &remark : report.remarks)
        if (!remark.op.empty())
          json.array([&] {
            json.value(names.add(remark.op));
            json.value(fix(remark.text));
          });
    });
  }

  const Report &report;
  const Timeline &timeline;
  llvm::json::OStream &json;
  NameTable names;
};

} // namespace

void mlir::weft::writeReportData(llvm::ArrayRef<const Report *> reports,
                                 llvm::raw_ostream &os) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  {
    llvm::json::OStream json(stream);
    json.object([&] {
      json.attributeArray("schedules", [&] {
        for (const Report *report : reports)
          json.object([&] { Writer(*report, json).write(); });
      });
    });
  }
  // "<" stands in strings alone, and "</script>" would end the element.
  for (char c : text) {
    if (c == '<')
      os << "\\u003c";
    else
      os << c;
  }
}
