// SPDX-License-Identifier: Apache-2.0

// The page of one schedule.

#include "weft/Report/Report.h"

#include "Format.h"
#include "Page.h"

using namespace mlir::weft;
using llvm::raw_ostream;
using llvm::StringRef;

namespace {

class ReportPage {
public:
  ReportPage(const Report &report, raw_ostream &os)
      : report(report), timeline(report.timeline), summary(report), page(os) {}

  void write() {
    page.writeDocument(report.title + ": schedule of a step", {&report}, [&] {
      writeHeader();
      page.os << "<main>\n";
      writeTimeline();
      writeMemory();
      writeExposed();
      writeTraffic();
      writeRecomputed();
      writeRemarks();
      page.os << "</main>\n";
    });
  }

private:
  /// The one thing to know, in a sentence.
  std::string getVerdict() const {
    std::string text =
        "The step takes " + formatTime(timeline.stepNs) + ", " +
        formatShare(timeline.stepNs - timeline.boundNs, timeline.boundNs) +
        " above the lower bound. " + describeExposed();
    if (report.machineBytes && timeline.peakBytes > *report.machineBytes)
      text += " It needs " + formatBytes(timeline.peakBytes) +
              ", more than the " + formatBytes(*report.machineBytes) +
              " that a rank has.";
    return text;
  }

  std::string describeExposed() const {
    if (summary.collectives.empty())
      return "It has no communication.";
    if (summary.exposed.empty())
      return "All communication is hidden behind compute.";
    return formatCount(summary.exposed.size()) + " of " +
           formatCount(summary.collectives.size()) + " collectives " +
           (summary.exposed.size() == 1 ? "is" : "are") + " exposed, for " +
           formatTime(timeline.exposedNs) + ".";
  }

  void writeFigures() {
    page.os << "<dl class=\"figures\">\n";
    page.writeFigure("Step time", formatTime(timeline.stepNs),
                     "on rank " + std::to_string(timeline.rank));
    page.writeFigure("Lower bound", formatTime(timeline.boundNs),
                     describeBound(report, summary));
    page.writeFigure(
        "Gap",
        formatShare(timeline.stepNs - timeline.boundNs, timeline.boundNs),
        formatTime(timeline.stepNs - timeline.boundNs) + " above the bound");
    page.writeFigure("Exposed", formatTime(timeline.exposedNs),
                     formatShare(timeline.exposedNs, timeline.stepNs) +
                         " of the step");
    page.writeFigure("Hidden",
                     formatShare(summary.hiddenNs, summary.hideableNs),
                     "of " + formatTime(summary.hideableNs) +
                         " of communication that can be hidden");
    page.writeFigure("Peak memory", formatBytes(timeline.peakBytes),
                     "at " + formatTime(summary.peakNs) + describeLimit());
    page.writeFigure("Arena", formatBytes(timeline.arenaBytes),
                     describeArena());
    if (timeline.hostBytes > 0)
      page.writeFigure("Host's memory", formatBytes(timeline.hostBytes),
                       "for what waits or lies there");
    page.os << "</dl>\n";
  }

  std::string describeLimit() const {
    if (report.memoryLimit)
      return "; the limit is " + formatBytes(*report.memoryLimit);
    if (report.machineBytes)
      return "; a rank has " + formatBytes(*report.machineBytes);
    return "";
  }

  /// No arena is smaller than what lives in it at the peak.
  std::string describeArena() const {
    int64_t least = timeline.peakBytes - timeline.fixedBytes;
    std::string text = formatShare(timeline.arenaBytes - least, least) +
                       " above what lives at once, " + formatBytes(least);
    if (report.neededBytes > 0)
      text += "; with arguments and results " +
              formatCount(report.neededBytes) + " B";
    return text;
  }

  void writeHeader() {
    page.os << "<header>\n<h1>" << escapeHTML(report.title) << "</h1>\n<p>"
            << describeReport(report) << "</p>\n<p class=\"verdict\">"
            << getVerdict() << "</p>\n";
    writeFigures();
    page.os << "</header>\n";
  }

  void writeTimeline() {
    page.writeSection("timeline", "Timeline",
                      "Compute above, a row for each channel below it. A "
                      "collective starts as early as its channel is free; "
                      "compute stands still only where a wait is drawn.",
                      [&] { page.writeTimeline(); });
  }

  void writeMemory() {
    page.writeSection(
        "memory", "Memory",
        "Bytes that are alive on a rank: arguments, results, and the buffers "
        "of the arena. Point at the curve to see whose they are, click to "
        "list them.",
        [&] {
          page.writeMemory();
          writeOwners();
        });
  }

  void writeOwners() {
    const std::vector<Column> columns = {{"buffer"},      {"bytes", true},
                                         {"share", true}, {"from", true},
                                         {"to", true},    {"offset", true}};
    int64_t rest = timeline.peakBytes;
    page.writeTable(
        "owners", "Alive at the peak, " + formatTime(summary.peakNs), columns,
        [&] {
          for (const Owner *owner : summary.peakOwners) {
            rest -= owner->bytes;
            page.writeRow(
                columns, {escapeHTML(owner->name), formatBytes(owner->bytes),
                          formatShare(owner->bytes, timeline.peakBytes),
                          formatTime(owner->beginNs), formatTime(owner->endNs),
                          owner->offset < 0 ? "" : formatCount(owner->offset)});
          }
          if (rest > 0)
            page.writeRow(columns,
                          {"arguments and results", formatBytes(rest),
                           formatShare(rest, timeline.peakBytes), formatTime(0),
                           formatTime(timeline.stepNs), ""});
        });
  }

  void writeExposed() {
    const std::vector<Column> columns = {{"collective"},  {"exposed", true},
                                         {"takes", true}, {"bytes", true},
                                         {"channel"},     {"why"}};
    page.writeSection(
        "exposed", "Exposed collectives",
        summary.exposed.empty()
            ? "None: compute never waits for communication."
            : "Compute waits for these. A name shows its place in the "
              "timeline.",
        [&] {
          if (summary.exposed.empty())
            return;
          page.writeTable("exposed-table", "Longest first", columns, [&] {
            for (const CollectiveSummary &row : summary.exposed)
              page.writeRow(columns,
                            {linkToFlow(0, *row.slice),
                             formatTime(row.exposedNs),
                             formatTime(row.slice->endNs - row.slice->beginNs),
                             formatBytes(row.slice->bytes),
                             escapeHTML(timeline.streams[row.slice->stream]),
                             escapeHTML(row.why)});
          });
        });
  }

  void writeTraffic() {
    const std::vector<Column> columns = {{"collective"},  {"channel"},
                                         {"count", true}, {"bytes", true},
                                         {"busy", true},  {"exposed", true}};
    page.writeSection(
        "traffic", "Communication",
        "What a rank receives, by kind of collective and channel.", [&] {
          TrafficSummary total;
          page.writeTable("traffic-table", "In one step", columns, [&] {
            for (const TrafficSummary &row : summary.traffic) {
              writeTrafficRow(columns, row.kind, timeline.streams[row.stream],
                              row);
              total.count += row.count;
              total.bytes += row.bytes;
              total.busyNs += row.busyNs;
              total.exposedNs += row.exposedNs;
            }
            writeTrafficRow(columns, "total", "", total);
          });
        });
  }

  void writeTrafficRow(const std::vector<Column> &columns, StringRef kind,
                       StringRef channel, const TrafficSummary &row) {
    page.writeRow(columns, {escapeHTML(kind), escapeHTML(channel),
                            formatCount(row.count), formatBytes(row.bytes),
                            formatTime(row.busyNs), formatTime(row.exposedNs)});
  }

  void writeRecomputed() {
    const std::vector<Column> columns = {{"what"},
                                         {"count", true},
                                         {"takes", true},
                                         {"share", true},
                                         {"frees", true}};
    page.writeSection(
        "recomputed", "Recomputation",
        report.recomputed.empty()
            ? "Nothing is computed again."
            : "What is computed again for the backward pass instead of being "
              "kept, the time of that (of elementwise ops, their arithmetic), "
              "and the bytes that would be kept otherwise.",
        [&] {
          if (report.recomputed.empty())
            return;
          ReportRecomputed total{"total", 0, 0, 0};
          page.writeTable(
              "recomputed-table", "What frees most first", columns, [&] {
                for (const ReportRecomputed &row : report.recomputed) {
                  writeRecomputedRow(columns, row);
                  total.count += row.count;
                  total.nanoseconds += row.nanoseconds;
                  total.bytes += row.bytes;
                }
                writeRecomputedRow(columns, total);
              });
        });
  }

  void writeRecomputedRow(const std::vector<Column> &columns,
                          const ReportRecomputed &row) {
    page.writeRow(columns, {escapeHTML(row.what), formatCount(row.count),
                            formatTime(row.nanoseconds),
                            formatShare(row.nanoseconds, timeline.stepNs),
                            formatBytes(row.bytes)});
  }

  void writeRemarks() {
    const std::vector<Column> columns = {{"about"}, {"remark"}};
    page.writeSection(
        "remarks", "Remarks",
        report.remarks.empty()
            ? "The compiler has nothing to say about its decisions."
            : "What the compiler says about its decisions.",
        [&] {
          if (report.remarks.empty())
            return;
          page.writeTable("remarks-table",
                          formatCount(report.remarks.size()) + " remarks",
                          columns, [&] {
                            for (const ReportRemark &remark : report.remarks)
                              page.writeRow(columns, {getSubject(remark),
                                                      escapeHTML(remark.text)});
                          });
        });
  }

  static std::string getSubject(const ReportRemark &remark) {
    if (!remark.op.empty())
      return escapeHTML(remark.op);
    return remark.place.empty() ? "the step" : escapeHTML(remark.place);
  }

  const Report &report;
  const Timeline &timeline;
  ReportSummary summary;
  Page page;
};

} // namespace

void mlir::weft::writeReport(const Report &report, raw_ostream &os) {
  ReportPage(report, os).write();
}
