// SPDX-License-Identifier: Apache-2.0

// Slices are complete events ("ph": "X") with times in microseconds. Arrows are
// flow events, which viewers bind to the slice that encloses them: "s" in the
// start, "t" in the collective, "f" in the wait, all with the same id.

#include "core/trace.h"

#include "core/collective.h"
#include "core/json.h"
#include "core/output_file.h"
#include "core/profile.h"

#include <algorithm>

namespace weft::rt {
namespace {

/// Names of what spans show; each is made once.
using Names = std::map<const void *, std::string>;

constexpr const char *categories[] = {"step",   "gemm",      "attention",
                                      "kernel", "copy",      "start",
                                      "wait",   "collective"};

weft_rt_activity activityOf(SpanKind kind) {
  switch (kind) {
  case SpanKind::Step:
    return WEFT_RT_IN_STEP;
  case SpanKind::Gemm:
    return WEFT_RT_IN_GEMM;
  case SpanKind::Attention:
    return WEFT_RT_IN_ATTENTION;
  case SpanKind::Kernel:
    return WEFT_RT_IN_KERNEL;
  case SpanKind::Copy:
    return WEFT_RT_IN_COPY;
  case SpanKind::Start:
  case SpanKind::Wait:
  case SpanKind::Collective:
    return WEFT_RT_IN_COLLECTIVE;
  }
  return WEFT_RT_IN_STEP;
}

/// The events of one rank.
class RankTrace {
public:
  RankTrace(size_t rank, const RankLog &log, int64_t origin, Names &names,
            std::string &text)
      : rank(rank), log(log), program(log.programOf()), origin(origin),
        names(names), text(text) {}

  void write() {
    writeMetadata();
    for (const Span &span : log.trace())
      writeSpan(span);
  }

private:
  void add(const std::string &event) {
    text += text.back() == '[' ? "\n" : ",\n";
    text += event;
  }
  void nameRow(int32_t row, const char *name);
  void writeMetadata();
  void writeSpan(const Span &span);
  void writeArrow(const Span &span, const char *phase, const char *binding,
                  int64_t time);
  std::string nameOf(const Span &span);
  std::string detailsOf(const Span &span) const;
  static int32_t rowOf(const Span &span) {
    return span.kind == SpanKind::Collective ? 1 + collectiveOf(span).channel
                                             : 0;
  }
  static const weft_rt_collective &collectiveOf(const Span &span) {
    return *static_cast<const weft_rt_collective *>(span.what);
  }
  double microseconds(int64_t time) const {
    return double(time - origin) / 1e3;
  }

  size_t rank;
  const RankLog &log;
  const weft_rt_program &program;
  int64_t origin;
  Names &names;
  std::string &text;
};

void RankTrace::nameRow(int32_t row, const char *name) {
  add(format("{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %zu, "
             "\"tid\": %d, \"args\": {\"name\": %s}}",
             rank, row, jsonString(name).c_str()));
  add(format("{\"ph\": \"M\", \"name\": \"thread_sort_index\", \"pid\": %zu, "
             "\"tid\": %d, \"args\": {\"sort_index\": %d}}",
             rank, row, row));
}

void RankTrace::writeMetadata() {
  add(format("{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %zu, "
             "\"tid\": 0, \"args\": {\"name\": \"rank %zu\", \"lost_events\": "
             "%lld}}",
             rank, rank, (long long)log.lost()));
  nameRow(0, "compute");
  for (int32_t i = 0; i < program.num_channels; ++i)
    nameRow(1 + i, program.channels[i].name);
}

/// The op's name; without one, what is done.
std::string RankTrace::nameOf(const Span &span) {
  if (const char *name = opName(program, span.op))
    return name;
  std::string &name = names[span.what];
  if (name.empty())
    name = activityName(activityOf(span.kind), span.what);
  return name;
}

std::string RankTrace::detailsOf(const Span &span) const {
  if (activityOf(span.kind) != WEFT_RT_IN_COLLECTIVE)
    return "{}";
  std::string channel =
      jsonString(program.channels[collectiveOf(span).channel].name);
  if (span.kind != SpanKind::Collective)
    return format("{\"channel\": %s}", channel.c_str());
  return format("{\"channel\": %s, \"bytes\": %lld%s}", channel.c_str(),
                (long long)span.bytes,
                isTree(collectiveOf(span)) ? ", \"order\": \"tree\"" : "");
}

void RankTrace::writeSpan(const Span &span) {
  add(format("{\"ph\": \"X\", \"name\": %s, \"cat\": \"%s\", \"pid\": %zu, "
             "\"tid\": %d, \"ts\": %.3f, \"dur\": %.3f, \"args\": %s}",
             jsonString(nameOf(span)).c_str(), categories[int(span.kind)], rank,
             rowOf(span), microseconds(span.begin),
             double(span.end - span.begin) / 1e3, detailsOf(span).c_str()));
  if (span.kind == SpanKind::Start)
    writeArrow(span, "s", "", span.begin);
  if (span.kind == SpanKind::Collective)
    writeArrow(span, "t", "", span.begin);
  // In the end of the wait, which may begin before the collective.
  if (span.kind == SpanKind::Wait)
    writeArrow(span, "f", ", \"bp\": \"e\"",
               std::max(span.begin, span.end - 1));
}

void RankTrace::writeArrow(const Span &span, const char *phase,
                           const char *binding, int64_t time) {
  add(format("{\"ph\": \"%s\"%s, \"name\": \"collective\", \"cat\": \"flow\", "
             "\"id\": \"%zu.%lld\", \"pid\": %zu, \"tid\": %d, \"ts\": %.3f}",
             phase, binding, rank, (long long)span.ticket, rank, rowOf(span),
             microseconds(time)));
}

} // namespace

Status writeTrace(const std::string &path,
                  const std::vector<TracedRank> &ranks) {
  int64_t origin = INT64_MAX;
  for (const TracedRank &traced : ranks)
    for (const Span &span : traced.log->trace())
      origin = std::min(origin, span.begin);
  Names names;
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
  for (const TracedRank &traced : ranks)
    RankTrace(size_t(traced.rank), *traced.log, origin, names, text).write();
  return writeFile(path, text + "\n]}\n");
}

} // namespace weft::rt
