// SPDX-License-Identifier: Apache-2.0

// One key a line, so that the file can be read and compared by eye.

#include "tool/stats.h"

#include "core/certificate.h"
#include "core/json.h"
#include "core/status.h"
#include "core/types.h"
#include "tool/profile.h"

#include <algorithm>
#include <sys/resource.h>

namespace weft::rt {
namespace {

std::string trafficEntry(weft_rt_collective_kind kind, const char *channel,
                         int64_t count, int64_t bytes) {
  return format("    {\"kind\": \"%s\", \"channel\": %s, \"count\": %lld, "
                "\"bytes\": %lld}",
                kindName(kind), jsonString(channel).c_str(), (long long)count,
                (long long)bytes);
}

std::string joined(const std::vector<std::string> &entries) {
  std::string text = "[";
  for (size_t i = 0; i < entries.size(); ++i)
    text += (i ? ",\n" : "\n") + entries[i];
  return text + (entries.empty() ? "]" : "\n  ]");
}

std::string measuredTraffic(const weft_rt_session *session, int64_t steps) {
  const weft_rt_program *program = weft_rt_session_program(session);
  std::vector<std::string> entries;
  for (int kind = 0; kind <= WEFT_RT_PERMUTE; ++kind) {
    for (int32_t channel = 0; channel < program->num_channels; ++channel) {
      int64_t count, bytes;
      auto typedKind = static_cast<weft_rt_collective_kind>(kind);
      weft_rt_session_traffic(session, typedKind, channel, &count, &bytes);
      if (count > 0)
        entries.push_back(trafficEntry(typedKind,
                                       program->channels[channel].name,
                                       count / steps, bytes / steps));
    }
  }
  return joined(entries);
}

std::string plannedTraffic(const weft_rt_program &program) {
  std::vector<std::string> entries;
  for (int32_t i = 0; i < program.num_traffic; ++i) {
    const weft_rt_traffic &traffic = program.traffic[i];
    entries.push_back(trafficEntry(traffic.kind, traffic.channel, traffic.count,
                                   traffic.bytes));
  }
  return joined(entries);
}

/// What was captured, or why not; "" where the backend has no graphs.
std::string graphsText(weft_rt_session *session) {
  weft_rt_graphs graphs;
  weft_rt_session_graphs(session, &graphs);
  if (!graphs.can_capture)
    return "";
  return format("  \"graphs\": {\"captured\": %s, \"why_not\": %s, "
                "\"reads_scalars\": %s, \"graphs\": %lld, \"launches\": "
                "%lld, \"captured_calls\": %lld, \"calls\": %lld},\n",
                *graphs.reason ? "false" : "true",
                jsonString(graphs.reason).c_str(),
                graphs.reads_scalars ? "true" : "false",
                (long long)graphs.graphs, (long long)graphs.launches,
                (long long)graphs.captured_calls, (long long)graphs.calls);
}

std::string stepTimes(const std::vector<double> &seconds) {
  std::string text = "[";
  for (size_t i = 0; i < seconds.size(); ++i)
    text += format("%s%.6f", i ? ", " : "", seconds[i] * 1e3);
  return text + "]";
}

int64_t peakResidentBytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return int64_t(usage.ru_maxrss) * 1024;
}

} // namespace

std::string statsText(weft_rt_session *session, bool withProfile,
                      const std::vector<double> &seconds) {
  const weft_rt_program *program = weft_rt_session_program(session);
  weft_rt_stats stats;
  weft_rt_session_stats(session, &stats);
  std::string text = "{\n";
  auto number = [&](const char *key, int64_t value) {
    text += format("  \"%s\": %lld,\n", key, (long long)value);
  };
  text += "  \"program\": " + jsonString(program->name) + ",\n";
  if (program->certificate)
    text += "  \"invariance\": " + invarianceJson(*program) + ",\n";
  number("ranks", program->num_ranks);
  number("threads_per_rank", stats.threads_per_rank);
  number("steps", stats.steps);
  text += "  \"step_ms\": " + stepTimes(seconds) + ",\n";
  text += graphsText(session);
  number("argument_bytes", stats.argument_bytes);
  number("result_bytes", stats.result_bytes);
  number("arena_bytes", stats.arena_bytes);
  number("host_bytes", stats.host_bytes);
  number("total_bytes", stats.total_bytes);
  number("peak_resident_bytes", peakResidentBytes());
  int64_t steps = std::max<int64_t>(stats.steps, 1);
  text += "  \"traffic\": " + measuredTraffic(session, steps) + ",\n";
  text += "  \"planned_traffic\": " + plannedTraffic(*program);
  if (withProfile)
    text += ",\n  \"profile\": " + joined(profileEntries(session)) +
            ",\n  \"profile_ops\": " + joined(profileOpEntries(session));
  return text + "\n}\n";
}

} // namespace weft::rt
