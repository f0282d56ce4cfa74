// SPDX-License-Identifier: Apache-2.0

// Rows of all ranks are added up, and divided by ranks and steps at the end.

#include "tool/profile.h"

#include "core/json.h"
#include "core/status.h"

#include <algorithm>
#include <map>

namespace weft::rt {
namespace {

constexpr const char *activityNames[] = {"step",       "gemm", "kernel",
                                         "collective", "copy", "attention"};
constexpr int numActivities = 6;

struct Sum {
  int64_t calls = 0;
  double seconds = 0, cpu = 0, wait = 0, work = 0;

  void add(const weft_rt_profile_row &row) {
    calls += row.calls;
    seconds += row.seconds;
    cpu += row.cpu_seconds;
    wait += row.wait_seconds;
    work += row.work;
  }
};

struct NamedSum {
  weft_rt_activity activity;
  std::string name;
  Sum sum;
};

/// Sums by name, the costliest first.
class NamedSums {
public:
  void add(const char *name, const weft_rt_profile_row &row) {
    auto [place, isNew] = places.emplace(name, sums.size());
    if (isNew)
      sums.push_back({row.activity, name, Sum()});
    sums[place->second].sum.add(row);
  }

  std::vector<NamedSum> sorted() const {
    std::vector<NamedSum> result = sums;
    std::stable_sort(result.begin(), result.end(),
                     [](const NamedSum &a, const NamedSum &b) {
                       return a.sum.cpu > b.sum.cpu;
                     });
    return result;
  }

private:
  std::vector<NamedSum> sums;
  std::map<std::string, size_t> places;
};

/// The profile in the forms that are printed.
struct Summary {
  int64_t threads = 0, steps = 0;
  std::vector<int64_t> ranks; // of this process
  Sum all[numActivities];
  std::map<int64_t, std::vector<Sum>> ofRank; // [rank][activity]
  NamedSums named, ops;                       // without steps

  explicit Summary(weft_rt_session *session);
  double perStep(double value) const {
    return value / double(std::max<int64_t>(1, int64_t(ranks.size()) * steps));
  }
  /// What was done a second: of the thread, or of the team by the clock.
  double rate(const Sum &sum) const {
    double seconds = threads > 1 ? sum.seconds : sum.cpu;
    return seconds > 0 ? sum.work / seconds : 0;
  }
};

Summary::Summary(weft_rt_session *session) {
  int64_t numRanks;
  const int64_t *first = weft_rt_session_ranks(session, &numRanks);
  ranks.assign(first, first + numRanks);
  weft_rt_stats stats;
  weft_rt_session_stats(session, &stats);
  threads = stats.threads_per_rank;
  for (int64_t rank : ranks)
    ofRank[rank].resize(numActivities);
  const weft_rt_profile_row *rows;
  int64_t count;
  if (weft_rt_session_profile(session, &rows, &count) != WEFT_RT_OK)
    return;
  for (int64_t i = 0; i < count; ++i) {
    const weft_rt_profile_row &row = rows[i];
    all[row.activity].add(row);
    ofRank[row.rank][row.activity].add(row);
    if (row.activity == WEFT_RT_IN_STEP)
      continue;
    named.add(row.name, row);
    if (row.op)
      ops.add(row.op, row);
  }
  if (numRanks > 0)
    steps = all[WEFT_RT_IN_STEP].calls / numRanks;
}

std::string line(const Summary &summary, const char *name, const Sum &sum) {
  double whole = std::max(1e-12, summary.all[WEFT_RT_IN_STEP].cpu);
  return format("  %-12s %10.3f %10.3f %10.3f %6.1f%%\n", name,
                summary.perStep(sum.seconds) * 1e3,
                summary.perStep(sum.cpu) * 1e3, summary.perStep(sum.wait) * 1e3,
                sum.cpu / whole * 100);
}

std::string activityTable(const Summary &summary) {
  std::string text = format("  %-12s %10s %10s %10s %7s\n", "", "wall ms",
                            "cpu ms", "waiting", "of cpu");
  Sum rest = summary.all[WEFT_RT_IN_STEP];
  for (int i = 0; i < numActivities; ++i) {
    const Sum &sum = summary.all[i];
    text += line(summary, activityNames[i], sum);
    if (i == WEFT_RT_IN_STEP)
      continue;
    rest.seconds -= sum.seconds;
    rest.cpu -= sum.cpu;
  }
  return text + line(summary, "other", rest);
}

std::string rankTable(const Summary &summary) {
  std::string text = "\n  rank    wall ms     cpu ms       gemm     kernel "
                     "collective    waiting\n";
  double steps = double(std::max<int64_t>(1, summary.steps)) / 1e3;
  for (const auto &[rank, sums] : summary.ofRank)
    text += format("  %4lld %10.3f %10.3f %10.3f %10.3f %10.3f %10.3f\n",
                   (long long)rank, sums[WEFT_RT_IN_STEP].seconds / steps,
                   sums[WEFT_RT_IN_STEP].cpu / steps,
                   sums[WEFT_RT_IN_GEMM].cpu / steps,
                   sums[WEFT_RT_IN_KERNEL].cpu / steps,
                   sums[WEFT_RT_IN_COLLECTIVE].cpu / steps,
                   sums[WEFT_RT_IN_COLLECTIVE].wait / steps);
  return text;
}

std::string rateText(const Summary &summary, const NamedSum &row) {
  if (row.activity == WEFT_RT_IN_KERNEL)
    return "";
  bool countsOperations =
      row.activity == WEFT_RT_IN_GEMM || row.activity == WEFT_RT_IN_ATTENTION;
  const char *unit = countsOperations ? "GFLOP/s" : "GB/s";
  return format("%.1f %s", summary.rate(row.sum) / 1e9, unit);
}

std::string nameTable(const Summary &summary) {
  std::string text = "\n     cpu ms    wall ms  calls          rate\n";
  for (const NamedSum &row : summary.named.sorted())
    text += format("  %9.3f  %9.3f  %5.0f  %12s  %s\n",
                   summary.perStep(row.sum.cpu) * 1e3,
                   summary.perStep(row.sum.seconds) * 1e3,
                   summary.perStep(double(row.sum.calls)),
                   rateText(summary, row).c_str(), row.name.c_str());
  return text;
}

} // namespace

std::string profileText(weft_rt_session *session) {
  Summary summary(session);
  int64_t ranksOfJob = weft_rt_session_program(session)->num_ranks;
  size_t ranks = summary.ranks.size();
  if (ranks == 0)
    return format("no profile: none of the %lld ranks runs in this process\n",
                  (long long)ranksOfJob);
  std::string job = int64_t(ranks) < ranksOfJob
                        ? format(" of %lld", (long long)ranksOfJob)
                        : "";
  return format("profile of %lld steps, %zu%s ranks with %lld threads; per "
                "step, mean of the ranks\n",
                (long long)summary.steps, ranks, job.c_str(),
                (long long)summary.threads) +
         activityTable(summary) + rankTable(summary) + nameTable(summary);
}

namespace {

std::vector<std::string> entriesOf(const Summary &summary,
                                   const NamedSums &sums) {
  std::vector<std::string> entries;
  for (const NamedSum &row : sums.sorted())
    entries.push_back(format(
        "    {\"activity\": \"%s\", \"name\": %s, \"calls\": %.3f, "
        "\"wall_ms\": %.6f, \"cpu_ms\": %.6f, \"wait_ms\": %.6f, \"work\": "
        "%.0f}",
        activityNames[row.activity], jsonString(row.name).c_str(),
        summary.perStep(double(row.sum.calls)),
        summary.perStep(row.sum.seconds) * 1e3,
        summary.perStep(row.sum.cpu) * 1e3, summary.perStep(row.sum.wait) * 1e3,
        summary.perStep(row.sum.work)));
  return entries;
}

} // namespace

std::vector<std::string> profileEntries(weft_rt_session *session) {
  Summary summary(session);
  return entriesOf(summary, summary.named);
}

std::vector<std::string> profileOpEntries(weft_rt_session *session) {
  Summary summary(session);
  return entriesOf(summary, summary.ops);
}

} // namespace weft::rt
