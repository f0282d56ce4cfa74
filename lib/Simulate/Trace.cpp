// SPDX-License-Identifier: Apache-2.0

// Events have a fixed order: names of threads, then slices by stream and time,
// then memory. Times are microseconds with three decimals.

#include "weft/Simulate/Trace.h"

#include "weft/Support/Printable.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace mlir::weft;
using llvm::StringRef;

namespace {

/// Writes events one by one.
class TraceWriter {
public:
  TraceWriter(const Timeline &timeline, llvm::raw_ostream &os)
      : timeline(timeline), os(os) {}

  void write() {
    os << "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
    metadata("process_name", 0, "rank " + std::to_string(timeline.rank));
    for (size_t i = 0; i < timeline.streams.size(); ++i) {
      metadata("thread_name", int(i), timeline.streams[i]);
      begin("M", "thread_sort_index", int(i), 0);
      os << ", \"args\": {\"sort_index\": " << i << "}}";
    }
    for (const Slice &slice : timeline.slices)
      writeSlice(slice);
    for (const MemoryPoint &point : timeline.memory) {
      begin("C", "memory", 0, point.ns);
      os << ", \"args\": {\"bytes\": " << point.bytes << "}}";
    }
    os << "\n]}\n";
  }

private:
  void begin(StringRef phase, const std::string &name, int stream, int64_t ns) {
    os << (isFirst ? "\n" : ",\n") << "{\"ph\": \"" << phase
       << "\", \"name\": " << llvm::json::Value(makePrintable(name))
       << ", \"pid\": " << timeline.rank << ", \"tid\": " << stream
       << ", \"ts\": " << microseconds(ns);
    isFirst = false;
  }

  /// Whole and thousandths: no rounding.
  static std::string microseconds(int64_t ns) {
    std::string text;
    llvm::raw_string_ostream(text)
        << ns / 1000 << llvm::format(".%03d", int(ns % 1000));
    return text;
  }

  void metadata(StringRef what, int stream, const std::string &name) {
    begin("M", what.str(), stream, 0);
    os << ", \"args\": {\"name\": " << llvm::json::Value(makePrintable(name))
       << "}}";
  }

  void complete(const Slice &slice, StringRef category, int stream,
                int64_t beginNs, int64_t endNs) {
    begin("X", slice.name, stream, beginNs);
    os << ", \"cat\": \"" << category
       << "\", \"dur\": " << microseconds(endNs - beginNs);
    if (slice.kind == Slice::Collective)
      os << ", \"args\": {\"bytes\": " << slice.bytes << "}";
    os << "}";
  }

  void flow(StringRef phase, const Slice &slice, int stream, int64_t ns) {
    begin(phase, "collective", stream, ns);
    os << ", \"cat\": \"flow\", \"id\": \"" << timeline.rank << "."
       << slice.flow << "\"" << (phase == "f" ? ", \"bp\": \"e\"}" : "}");
  }

  void writeSlice(const Slice &slice) {
    switch (slice.kind) {
    case Slice::Compute:
      return complete(slice, "compute", slice.stream, slice.beginNs,
                      slice.endNs);
    case Slice::Wait:
      complete(slice, "wait", slice.stream, slice.beginNs, slice.endNs);
      return flow("f", slice, slice.stream, slice.endNs);
    case Slice::Collective:
      complete(slice, "start", 0, slice.startedNs, slice.startedNs);
      flow("s", slice, 0, slice.startedNs);
      complete(slice, "collective", slice.stream, slice.beginNs, slice.endNs);
      return flow("t", slice, slice.stream, slice.beginNs);
    }
  }

  const Timeline &timeline;
  llvm::raw_ostream &os;
  bool isFirst = true;
};

} // namespace

void mlir::weft::writeTrace(const Timeline &timeline, llvm::raw_ostream &os) {
  TraceWriter(timeline, os).write();
}
