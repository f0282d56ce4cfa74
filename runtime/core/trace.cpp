// SPDX-License-Identifier: Apache-2.0

// Events are complete events ("ph": "X") with times in microseconds.

#include "core/trace.h"

#include "core/collective.h"
#include "core/json.h"
#include "core/output_file.h"
#include "core/types.h"

#include <algorithm>

namespace weft::rt {
namespace {

std::string gemmName(const weft_rt_gemm &desc) {
  int64_t sizes[4] = {1, 1, 1, 1}; // by role
  for (int32_t i = 0; i < desc.num_dims; ++i)
    sizes[desc.dims[i].role] *= desc.dims[i].size;
  return format(
      "gemm %lld x %lld x %lld x %lld %s %s -> %s",
      (long long)sizes[WEFT_RT_GEMM_BATCH], (long long)sizes[WEFT_RT_GEMM_M],
      (long long)sizes[WEFT_RT_GEMM_N], (long long)sizes[WEFT_RT_GEMM_K],
      typeName(desc.type_a), typeName(desc.type_b), typeName(desc.type_c));
}

std::string spanName(const Span &span) {
  switch (span.kind) {
  case SpanKind::Step:
    return "step";
  case SpanKind::Collective:
    return collectiveName(*static_cast<const weft_rt_collective *>(span.what));
  case SpanKind::Gemm:
    return gemmName(*static_cast<const weft_rt_gemm *>(span.what));
  }
  return "";
}

std::string spanDetails(const weft_rt_program &program, const Span &span) {
  if (span.kind != SpanKind::Collective)
    return "{}";
  auto &collective = *static_cast<const weft_rt_collective *>(span.what);
  return format("{\"channel\": %s, \"waited_us\": %.3f}",
                jsonString(program.channels[collective.channel].name).c_str(),
                span.waited / 1e3);
}

std::string rankText(const weft_rt_program &program, size_t rank,
                     const RankLog &log, int64_t origin) {
  constexpr const char *categories[] = {"step", "collective", "gemm"};
  std::string text = format(
      "%s{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 0, \"tid\": %zu, "
      "\"args\": {\"name\": \"rank %zu\", \"lost_events\": %lld}}",
      rank ? ",\n" : "", rank, rank, (long long)log.lost());
  for (const Span &span : log.trace())
    text +=
        format(",\n{\"ph\": \"X\", \"name\": %s, \"cat\": \"%s\", \"pid\": 0, "
               "\"tid\": %zu, \"ts\": %.3f, \"dur\": %.3f, \"args\": %s}",
               jsonString(spanName(span)).c_str(), categories[int(span.kind)],
               rank, (span.begin - origin) / 1e3, (span.end - span.begin) / 1e3,
               spanDetails(program, span).c_str());
  return text;
}

} // namespace

Status writeTrace(const std::string &path, const weft_rt_program &program,
                  const std::vector<const RankLog *> &logs) {
  int64_t origin = INT64_MAX;
  for (const RankLog *log : logs)
    for (const Span &span : log->trace())
      origin = std::min(origin, span.begin);
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  for (size_t rank = 0; rank < logs.size(); ++rank)
    text += rankText(program, rank, *logs[rank], origin);
  return writeFile(path, text + "\n]}\n");
}

} // namespace weft::rt
