// SPDX-License-Identifier: Apache-2.0

// The page that compares two schedules of one step. Collectives are the same
// if their names are: a schedule moves, joins or drops them, but never renames
// them.

#include "weft/Report/Report.h"

#include "Format.h"
#include "Page.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir::weft;
using llvm::raw_ostream;
using llvm::StringRef;

namespace {

/// A collective in both schedules; one of them may lack it.
struct Pair {
  const CollectiveSummary *first = nullptr, *second = nullptr;

  const Slice &get() const { return *(first ? first : second)->slice; }
  static int64_t exposed(const CollectiveSummary *side) {
    return side ? side->exposedNs : 0;
  }
  int64_t difference() const { return exposed(second) - exposed(first); }
};

/// One kind of collective on one channel, by name.
struct TrafficPair {
  StringRef kind, channel;
  const TrafficSummary *first = nullptr, *second = nullptr;
};

class ComparisonPage {
public:
  ComparisonPage(const Report &first, const Report &second, raw_ostream &os)
      : reports{&first, &second},
        summaries{ReportSummary(first), ReportSummary(second)}, page(os) {}

  void write() {
    std::string title = reports[0]->title + ": " + reports[0]->policy +
                        " beside " + reports[1]->policy;
    page.writeDocument(title, {reports[0], reports[1]}, [&] {
      writeHeader();
      page.os << "<main>\n";
      writeNumbers();
      page.writeSection("timeline", "Timelines",
                        "Both on one time axis. Pointing at an op shows it in "
                        "both.",
                        [&] { page.writeTimeline(); });
      page.writeSection("memory", "Memory",
                        "Bytes that are alive on a rank: arguments, results, "
                        "and the buffers of the arena.",
                        [&] { page.writeMemory(); });
      writeCollectives();
      writeTraffic();
      page.os << "</main>\n";
    });
  }

private:
  std::string name(int side) const { return escapeHTML(reports[side]->policy); }

  std::string getVerdict() const {
    int64_t first = reports[0]->timeline.stepNs,
            second = reports[1]->timeline.stepNs;
    if (first == second)
      return "Both schedules take " + formatTime(first) + ".";
    bool firstWins = first < second;
    int64_t low = std::min(first, second), high = std::max(first, second);
    return "<b>" + name(firstWins ? 0 : 1) + "</b> takes " + formatTime(low) +
           ", " + formatTime(high - low) + " (" +
           formatShare(high - low, high) + ") less than <b>" +
           name(firstWins ? 1 : 0) + "</b>.";
  }

  void writeHeader() {
    page.os << "<header>\n<h1>" << escapeHTML(reports[0]->title) << "</h1>\n";
    for (const Report *report : reports)
      page.os << "<p>" << describeReport(*report) << "</p>\n";
    page.os << "<p class=\"verdict\">" << getVerdict() << "</p>\n</header>\n";
  }

  void writeNumbers() {
    std::string names[] = {name(0), name(1)};
    const std::vector<Column> columns = {
        {""}, {names[0], true}, {names[1], true}, {"difference", true}};
    auto times = [&](StringRef what, int64_t first, int64_t second) {
      page.writeRow(columns, {what.str(), formatTime(first), formatTime(second),
                              formatTimeDifference(second - first)});
    };
    auto bytes = [&](StringRef what, int64_t first, int64_t second) {
      page.writeRow(columns,
                    {what.str(), formatBytes(first), formatBytes(second),
                     formatBytesDifference(second - first)});
    };
    const Timeline &a = reports[0]->timeline, &b = reports[1]->timeline;
    page.writeSection("numbers", "Numbers", "", [&] {
      page.writeTable("numbers-table", "Side by side", columns, [&] {
        times("step time", a.stepNs, b.stepNs);
        times("lower bound", a.boundNs, b.boundNs);
        times("above the bound", a.stepNs - a.boundNs, b.stepNs - b.boundNs);
        page.writeRow(columns,
                      {"gap", formatShare(a.stepNs - a.boundNs, a.boundNs),
                       formatShare(b.stepNs - b.boundNs, b.boundNs), ""});
        times("compute", a.computeNs, b.computeNs);
        times("exposed", a.exposedNs, b.exposedNs);
        page.writeRow(
            columns,
            {"hidden of what can be",
             formatShare(summaries[0].hiddenNs, summaries[0].hideableNs),
             formatShare(summaries[1].hiddenNs, summaries[1].hideableNs), ""});
        page.writeRow(columns, {"exposed collectives",
                                formatCount(summaries[0].exposed.size()),
                                formatCount(summaries[1].exposed.size()), ""});
        times("communication", summaries[0].collectiveNs,
              summaries[1].collectiveNs);
        bytes("peak memory", a.peakBytes, b.peakBytes);
        bytes("arena", a.arenaBytes, b.arenaBytes);
        if (a.hostBytes > 0 || b.hostBytes > 0)
          bytes("host's memory", a.hostBytes, b.hostBytes);
      });
    });
  }

  /// The collectives whose exposure differs, the largest difference first.
  std::vector<Pair> findDifferences() const {
    std::vector<Pair> pairs;
    llvm::StringMap<size_t> indices;
    for (int side : {0, 1})
      for (const CollectiveSummary &row : summaries[side].collectives) {
        auto [entry, isNew] =
            indices.try_emplace(row.slice->name, pairs.size());
        if (isNew)
          pairs.emplace_back();
        Pair &pair = pairs[entry->second];
        (side == 0 ? pair.first : pair.second) = &row;
      }
    llvm::erase_if(pairs, [](const Pair &pair) {
      return pair.first && pair.second && pair.difference() == 0;
    });
    llvm::stable_sort(pairs, [](const Pair &a, const Pair &b) {
      return std::abs(a.difference()) > std::abs(b.difference());
    });
    return pairs;
  }

  void writeCollectives() {
    std::string headings[] = {"exposed, " + name(0), "exposed, " + name(1),
                              "starts, " + name(0), "starts, " + name(1)};
    const std::vector<Column> columns = {
        {"collective"},       {headings[0], true}, {headings[1], true},
        {"difference", true}, {headings[2], true}, {headings[3], true}};
    std::vector<Pair> pairs = findDifferences();
    page.writeSection(
        "differences", "Collectives that differ",
        pairs.empty() ? "Each collective is exposed for the same time in both."
                      : "Those that are exposed for another time, or that one "
                        "schedule does without. A name shows its place in the "
                        "timelines.",
        [&] {
          if (pairs.empty())
            return;
          page.writeTable("differences-table", "Largest difference first",
                          columns, [&] {
                            for (const Pair &pair : pairs)
                              writePair(columns, pair);
                          });
        });
  }

  void writePair(const std::vector<Column> &columns, const Pair &pair) {
    auto exposed = [](const CollectiveSummary *side) {
      return side ? formatTime(side->exposedNs) : std::string("\u2013");
    };
    auto start = [](const CollectiveSummary *side) {
      return side ? formatTime(side->slice->beginNs) : std::string("\u2013");
    };
    page.writeRow(columns, {linkToFlow(pair.first ? 0 : 1, pair.get()),
                            exposed(pair.first), exposed(pair.second),
                            formatTimeDifference(pair.difference()),
                            start(pair.first), start(pair.second)});
  }

  std::vector<TrafficPair> pairTraffic() const {
    std::vector<TrafficPair> pairs;
    for (int side : {0, 1})
      for (const TrafficSummary &row : summaries[side].traffic) {
        StringRef channel = reports[side]->timeline.streams[row.stream];
        auto pair = llvm::find_if(pairs, [&](const TrafficPair &pair) {
          return pair.kind == row.kind && pair.channel == channel;
        });
        if (pair == pairs.end())
          pair = pairs.insert(pairs.end(), {row.kind, channel});
        (side == 0 ? pair->first : pair->second) = &row;
      }
    return pairs;
  }

  void writeTraffic() {
    std::string headings[] = {"count, " + name(0), "count, " + name(1),
                              "bytes, " + name(0), "bytes, " + name(1)};
    const std::vector<Column> columns = {
        {"collective"},      {"channel"},         {headings[0], true},
        {headings[1], true}, {headings[2], true}, {headings[3], true},
        {"difference", true}};
    static const TrafficSummary none{};
    page.writeSection(
        "traffic", "Communication",
        "What a rank receives, by kind of collective and channel.", [&] {
          page.writeTable("traffic-table", "In one step", columns, [&] {
            for (const TrafficPair &pair : pairTraffic()) {
              const TrafficSummary &a = pair.first ? *pair.first : none;
              const TrafficSummary &b = pair.second ? *pair.second : none;
              page.writeRow(columns,
                            {escapeHTML(pair.kind), escapeHTML(pair.channel),
                             formatCount(a.count), formatCount(b.count),
                             formatBytes(a.bytes), formatBytes(b.bytes),
                             formatBytesDifference(b.bytes - a.bytes)});
            }
          });
        });
  }

  const Report *reports[2];
  ReportSummary summaries[2];
  Page page;
};

} // namespace

void mlir::weft::writeComparison(const Report &first, const Report &second,
                                 raw_ostream &os) {
  ComparisonPage(first, second, os).write();
}
