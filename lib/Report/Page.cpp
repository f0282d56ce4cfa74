// SPDX-License-Identifier: Apache-2.0

// HTML of the parts that pages have in common.

#include "Page.h"

#include "Assets.inc"
#include "Data.h"
#include "Format.h"

using namespace mlir::weft;
using llvm::ArrayRef;
using llvm::StringRef;

void Page::writeDocument(StringRef title, ArrayRef<const Report *> reports,
                         llvm::function_ref<void()> body) {
  os << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta "
        "charset=\"utf-8\">\n"
     << "<meta name=\"viewport\" content=\"width=device-width, "
        "initial-scale=1\">\n"
     << "<meta name=\"color-scheme\" content=\"light dark\">\n"
     // The browser itself sees to it that the page fetches nothing.
     << "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
        "'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
     << "<title>" << escapeHTML(title) << "</title>\n<style>\n"
     << page_css << "</style>\n</head>\n<body>\n";
  body();
  os << "<script type=\"application/json\" id=\"data\">";
  writeReportData(reports, os);
  os << "</script>\n<script>\n\"use strict\";\n(() => {\n"
     << units_js << axis_js << timeline_js << memory_js << page_js
     << "})();\n</script>\n</body>\n</html>\n";
}

void Page::writeSection(StringRef id, StringRef heading, StringRef text,
                        llvm::function_ref<void()> body) {
  os << "<section id=\"" << id << "\" aria-labelledby=\"" << id
     << "-heading\">\n<h2 id=\"" << id << "-heading\">" << heading << "</h2>\n";
  if (!text.empty())
    os << "<p>" << escapeHTML(text) << "</p>\n";
  body();
  os << "</section>\n";
}

void Page::writeTable(StringRef id, StringRef caption, ArrayRef<Column> columns,
                      llvm::function_ref<void()> rows) {
  os << "<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
        "aria-labelledby=\""
     << id << "-caption\">\n<table id=\"" << id << "\">\n<caption id=\"" << id
     << "-caption\">" << escapeHTML(caption) << "</caption>\n<thead><tr>";
  for (const Column &column : columns)
    os << "<th scope=\"col\"" << (column.isNumber ? " class=\"number\"" : "")
       << ">" << column.heading << "</th>";
  os << "</tr></thead>\n<tbody>\n";
  rows();
  os << "</tbody>\n</table>\n</div>\n";
}

void Page::writeRow(ArrayRef<Column> columns, ArrayRef<std::string> cells) {
  os << "<tr>";
  for (size_t i = 0; i < cells.size(); ++i) {
    StringRef tag = i == 0 ? "th" : "td";
    os << "<" << tag << (i == 0 ? " scope=\"row\"" : "")
       << (columns[i].isNumber ? " class=\"number\"" : "") << ">" << cells[i]
       << "</" << tag << ">";
  }
  os << "</tr>\n";
}

void Page::writeFigure(StringRef name, StringRef value, StringRef note) {
  os << "<div><dt>" << name << "</dt><dd>" << value << "<span>" << note
     << "</span></dd></div>\n";
}

void Page::writeTimeline() {
  os << R"(<noscript><p class="note">The drawings need JavaScript. All figures are in the tables.</p></noscript>
<div class="tools" id="timeline-tools" hidden>
<button type="button" id="zoom-in">Zoom in</button>
<button type="button" id="zoom-out">Zoom out</button>
<button type="button" id="zoom-all">Whole step</button>
<button type="button" id="next-exposed">Next exposed wait</button>
<ul class="legend" aria-label="Colours">
<li><i class="compute"></i>compute</li>
<li><i class="gather"></i>gather</li>
<li><i class="reduce"></i>reduce</li>
<li><i class="move"></i>other transfers</li>
<li><i class="wait"></i>exposed: compute waits</li>
</ul>
</div>
<canvas id="overview" class="drawing" role="img" aria-label="The whole step, with exposed waits marked and the part that the timeline shows"></canvas>
<canvas id="timeline-canvas" class="drawing" tabindex="0" role="application" aria-describedby="timeline-help" aria-label="Timeline"></canvas>
<p id="detail" class="detail" role="status" aria-live="polite" hidden></p>
<p id="timeline-help" class="note">Wheel: zoom. Drag: move. Shift and drag, or drag on the time axis: zoom to a range. Click: keep a slice selected. Keys: arrows go from slice to slice, + and &#8722; zoom, shift with arrows moves, 0 shows the whole step, E goes to the next exposed wait, Escape lets go.</p>
)";
}

void Page::writeMemory() {
  os << R"(<canvas id="memory-canvas" class="drawing" tabindex="0" role="application" aria-label="Memory over time. Left and right move in time, Enter lists the buffers that live then."></canvas>
<h3 class="drawing-heading" id="arena-heading" hidden>The arena: offset over time</h3>
<canvas id="arena-canvas" class="drawing" role="img" aria-labelledby="arena-heading"></canvas>
)";
}

std::string mlir::weft::linkToFlow(size_t schedule, const Slice &slice) {
  std::string name = escapeHTML(slice.name);
  if (slice.flow < 0)
    return name;
  return "<a href=\"#flow=" + std::to_string(schedule) + "." +
         std::to_string(slice.flow) + "\">" + name + "</a>";
}

std::string mlir::weft::describeReport(const Report &report) {
  std::string text = report.policy.empty()
                         ? "order as written"
                         : "schedule <b>" + escapeHTML(report.policy) + "</b>";
  if (!report.machine.empty())
    text += " on " + escapeHTML(report.machine);
  if (!report.mesh.empty())
    text += ", mesh " + escapeHTML(report.mesh);
  return text + ", rank " + std::to_string(report.timeline.rank);
}

std::string mlir::weft::describeBound(const Report &report,
                                      const ReportSummary &summary) {
  std::string text = "compute " + formatTime(report.timeline.computeNs);
  if (summary.busiestStream >= 0)
    text += ", busiest channel " +
            escapeHTML(report.timeline.streams[summary.busiestStream]) + " " +
            formatTime(summary.busiestNs);
  if (report.criticalPathNs)
    text += ", critical path " + formatTime(*report.criticalPathNs);
  // The schedule's own bound follows dependences further.
  int64_t bound = report.timeline.boundNs;
  if (bound > std::max({report.timeline.computeNs, summary.busiestNs,
                        report.criticalPathNs.value_or(0)}))
    text += ", " + report.boundTerm + " " + formatTime(bound);
  return text;
}
