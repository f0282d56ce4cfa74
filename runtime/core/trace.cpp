// SPDX-License-Identifier: Apache-2.0

// Events are complete events ("ph": "X") with times in microseconds.

#include "core/trace.h"

#include "core/json.h"
#include "core/output_file.h"
#include "core/profile.h"

#include <algorithm>

namespace weft::rt {
namespace {

std::string spanDetails(const weft_rt_program &program, const Span &span) {
  if (span.activity != WEFT_RT_IN_COLLECTIVE)
    return "{}";
  auto &collective = *static_cast<const weft_rt_collective *>(span.what);
  return format("{\"channel\": %s, \"waited_us\": %.3f}",
                jsonString(program.channels[collective.channel].name).c_str(),
                span.waited / 1e3);
}

/// Names of what spans show; a name costs a look into the program's file.
using Names = std::map<const void *, std::string>;

const std::string &nameOf(const Span &span, Names &names) {
  std::string &name = names[span.what];
  if (name.empty())
    name = activityName(span.activity, span.what);
  return name;
}

std::string rankText(const weft_rt_program &program, size_t rank,
                     const RankLog &log, int64_t origin, Names &names) {
  constexpr const char *categories[] = {"step", "gemm", "kernel", "collective"};
  std::string text = format(
      "%s{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 0, \"tid\": %zu, "
      "\"args\": {\"name\": \"rank %zu\", \"lost_events\": %lld}}",
      rank ? ",\n" : "", rank, rank, (long long)log.lost());
  for (const Span &span : log.trace())
    text += format(
        ",\n{\"ph\": \"X\", \"name\": %s, \"cat\": \"%s\", \"pid\": 0, "
        "\"tid\": %zu, \"ts\": %.3f, \"dur\": %.3f, \"args\": %s}",
        jsonString(nameOf(span, names)).c_str(), categories[span.activity],
        rank, (span.begin.wall - origin) / 1e3,
        (span.end.wall - span.begin.wall) / 1e3,
        spanDetails(program, span).c_str());
  return text;
}

} // namespace

Status writeTrace(const std::string &path, const weft_rt_program &program,
                  const std::vector<const RankLog *> &logs) {
  int64_t origin = INT64_MAX;
  for (const RankLog *log : logs)
    for (const Span &span : log->trace())
      origin = std::min(origin, span.begin.wall);
  Names names;
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  for (size_t rank = 0; rank < logs.size(); ++rank)
    text += rankText(program, rank, *logs[rank], origin, names);
  return writeFile(path, text + "\n]}\n");
}

} // namespace weft::rt
