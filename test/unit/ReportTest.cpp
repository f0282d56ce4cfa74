// SPDX-License-Identifier: Apache-2.0

// Tests that pages say what the timelines hold, in bytes that are the same each
// time, and that no name can leave its place in the text.

#include "ReportFixture.h"

#include "../../lib/Report/Format.h"
#include "../../lib/Report/Summary.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include "gtest/gtest.h"

#include <cstdint>

using namespace mlir::weft;

namespace {

std::string print(const Report &report) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  writeReport(report, stream);
  return text;
}

std::string print(const Report &first, const Report &second) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  writeComparison(first, second, stream);
  return text;
}

bool has(const std::string &text, llvm::StringRef part) {
  return llvm::StringRef(text).contains(part);
}

/// The page's data.
llvm::json::Value getData(const std::string &text) {
  llvm::StringRef rest(text);
  rest = rest.split("id=\"data\">").second.split("</script>").first;
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(rest);
  EXPECT_TRUE(static_cast<bool>(value));
  return value ? *value : llvm::json::Value(nullptr);
}

TEST(ReportFormat, Times) {
  EXPECT_EQ(formatTime(0), "0\u00a0ns");
  EXPECT_EQ(formatTime(999), "999\u00a0ns");
  EXPECT_EQ(formatTime(1000), "1.000\u00a0\u00b5s");
  EXPECT_EQ(formatTime(81240), "81.24\u00a0\u00b5s");
  EXPECT_EQ(formatTime(999949), "999.9\u00a0\u00b5s");
  EXPECT_EQ(formatTime(999960), "1.000\u00a0ms");
  EXPECT_EQ(formatTime(int64_t(5400) * 1000000000), "5400.0\u00a0s");
  EXPECT_EQ(formatTime(-12), "\u221212\u00a0ns");
  EXPECT_EQ(formatTimeDifference(1250000), "+1.250\u00a0ms");
}

TEST(ReportFormat, Bytes) {
  EXPECT_EQ(formatBytes(1023), "1023\u00a0B");
  EXPECT_EQ(formatBytes(1 << 20), "1.000\u00a0MiB");
  EXPECT_EQ(formatBytes(int64_t(80) << 30), "80.00\u00a0GiB");
  EXPECT_EQ(formatBytesDifference(-2048), "\u22122.000\u00a0KiB");
  EXPECT_NO_FATAL_FAILURE(formatBytes(INT64_MIN));
}

TEST(ReportFormat, CountsAndShares) {
  EXPECT_EQ(formatCount(36000), "36,000");
  EXPECT_EQ(formatCount(-1234567), "-1,234,567");
  EXPECT_EQ(formatCount(999), "999");
  EXPECT_EQ(formatShare(1, 3), "33.33\u00a0%");
  EXPECT_EQ(formatShare(0, 0), "0\u00a0%");
  EXPECT_EQ(formatShare(1, 100000), "under 0.01\u00a0%");
  EXPECT_EQ(formatShare(7, 7), "100\u00a0%");
  // Almost all is not all.
  EXPECT_EQ(formatShare(999999, 1000000), "99.99\u00a0%");
}

TEST(ReportSummary, AddsUp) {
  Report report = makeReportFixture(12, /*ahead=*/true);
  ReportSummary summary(report);
  EXPECT_EQ(summary.collectives.size(), 27u);
  // The first gather, and the last reduction, have no compute beside them.
  ASSERT_EQ(summary.exposed.size(), 2u);
  EXPECT_EQ(summary.exposed[0].slice->name, "all_gather params.layers.0.wq");
  EXPECT_EQ(summary.exposed[0].exposedNs, 30000);
  EXPECT_EQ(summary.exposed[0].why,
            "exposed 30.0 us: nothing can run before it");
  EXPECT_EQ(summary.exposed[1].exposedNs, 20000);
  EXPECT_EQ(summary.collectiveNs, 12 * 30000 + 12 * 20000 + 3 * 5000);
  EXPECT_EQ(summary.busiestStream, 1);
  EXPECT_EQ(summary.busiestNs, 12 * 30000);
  int64_t owned = 16 << 20;
  for (const Owner *owner : summary.peakOwners)
    owned += owner->bytes;
  EXPECT_EQ(owned, report.timeline.peakBytes);
}

TEST(ReportSummary, PeakInAStepWithoutTime) {
  Report report;
  Timeline &timeline = report.timeline;
  timeline.owners = {{"before", 3, 0, 5, 0, 0, 2},
                     {"for a moment", 4, 5, 5, 3, 1, 2},
                     {"after", 5, 5, 9, 0, 2, 3}};
  timeline.memory = {{0, 3, 0}, {5, 7, 1}, {5, 5, 2}};
  timeline.peakBytes = 7;
  ReportSummary summary(report);
  EXPECT_EQ(summary.peakNs, 5);
  ASSERT_EQ(summary.peakOwners.size(), 2u);
  EXPECT_EQ(summary.peakOwners[0]->name, "for a moment");
  EXPECT_EQ(summary.peakOwners[1]->name, "before");
}

TEST(Report, SaysTheNumbers) {
  std::string page = print(makeReportFixture(12, /*ahead=*/true));
  EXPECT_TRUE(has(page, "The step takes 530.0\u00a0\u00b5s, 3.92\u00a0% above "
                        "the lower bound. 2 of 27 collectives are exposed, for "
                        "50.00\u00a0\u00b5s."));
  EXPECT_TRUE(has(page, "schedule <b>best</b> on h100x8, mesh fsdp=4, tp=2, "
                        "rank 0"));
  EXPECT_TRUE(has(page, "busiest channel gather.fsdp 360.0\u00a0\u00b5s"));
  EXPECT_TRUE(has(page, "<td>exposed 30.0 us: nothing can run before it</td>"));
  EXPECT_TRUE(has(page, "<a href=\"#flow=0.0\">all_gather params.layers.0.wq"));
}

TEST(Report, SaysWhatIsComputedAgain) {
  std::string page = print(makeReportFixture(12, true));
  EXPECT_TRUE(has(page, ">Recomputation</h2>"));
  EXPECT_TRUE(has(page, "<th scope=\"row\">matmul params.layers.*.wq</th>"
                        "<td class=\"number\">12</td><td class=\"number\">"
                        "2.500\u00a0ms</td>"));
  EXPECT_TRUE(has(page, "<td class=\"number\">1.000\u00a0MiB</td>"));
  EXPECT_TRUE(has(page, "<th scope=\"row\">total</th><td class=\"number\">36"
                        "</td><td class=\"number\">2.600\u00a0ms</td>"));
}

TEST(Report, SameInputSameBytes) {
  EXPECT_EQ(print(makeReportFixture(40, true)),
            print(makeReportFixture(40, true)));
}

TEST(Report, NeedsNothingElse) {
  std::string page = print(makeReportFixture(3, true));
  for (llvm::StringRef part : {"http:", "https:", "src=", "@import", "url("})
    EXPECT_FALSE(has(page, part)) << part.str();
}

TEST(Report, DataHoldsEachSlice) {
  Report report = makeReportFixture(12, true);
  llvm::json::Value data = getData(print(report));
  const llvm::json::Object &schedule =
      *(*data.getAsObject()->getArray("schedules"))[0].getAsObject();
  const llvm::json::Object &slices = *schedule.getObject("slices");
  for (llvm::StringRef column : {"name", "stream", "begin", "length", "kind",
                                 "bytes", "flow", "started"})
    EXPECT_EQ(slices.getArray(column)->size(), report.timeline.slices.size());
  const llvm::json::Array &names = *schedule.getArray("names");
  int64_t last = *slices.getArray("name")->back().getAsInteger();
  EXPECT_EQ(names[last].getAsString(), report.timeline.slices.back().name);
}

TEST(Report, NamesAreText) {
  Report report = makeReportFixture(1, true);
  report.title = "</title><script>alert(1)</script>";
  report.timeline.streams[1] = "<b>&\"'";
  report.timeline.slices[0].name = "all_gather </script><img>";
  report.timeline.owners[0].name = "bad \xff byte";
  report.remarks[0].text = "<i>remark</i>";
  report.recomputed[0].what = "<i>again</i>";
  std::string page = print(report);
  EXPECT_FALSE(has(page, "<script>alert"));
  EXPECT_FALSE(has(page, "</script><img>"));
  EXPECT_FALSE(has(page, "<i>remark"));
  EXPECT_FALSE(has(page, "<i>again"));
  EXPECT_TRUE(has(page, "&lt;b&gt;&amp;&quot;&#39;"));
  EXPECT_TRUE(llvm::json::isUTF8(page));
  EXPECT_NE(getData(page).kind(), llvm::json::Value::Null);
}

TEST(Report, WithoutCommunication) {
  Report report;
  report.title = "one.mlir";
  report.timeline.streams = {"compute"};
  report.timeline.slices = {{"matmul #0", 0, 0, 10, Slice::Compute, 0, -1, -1}};
  report.timeline.stepNs = report.timeline.boundNs = 10;
  std::string page = print(report);
  EXPECT_TRUE(has(page, "<p>order as written, rank 0</p>"));
  EXPECT_TRUE(has(page, "It has no communication."));
  EXPECT_TRUE(has(page, "None: compute never waits for communication."));
  EXPECT_TRUE(has(page, "The compiler has nothing to say"));
  EXPECT_TRUE(has(page, "Nothing is computed again."));
}

TEST(Comparison, SaysWhatDiffers) {
  std::string page =
      print(makeReportFixture(12, true), makeReportFixture(12, false));
  EXPECT_TRUE(has(page, "<b>best</b> takes 530.0\u00a0\u00b5s, "
                        "330.0\u00a0\u00b5s (38.37\u00a0%) less than "
                        "<b>sync</b>."));
  EXPECT_TRUE(has(page, "<th scope=\"row\">step time</th><td class=\"number\">"
                        "530.0\u00a0\u00b5s</td><td class=\"number\">"
                        "860.0\u00a0\u00b5s</td><td class=\"number\">"
                        "+330.0\u00a0\u00b5s</td>"));
  // Exposed in both for the same time: no row.
  EXPECT_FALSE(has(page, "\">all_gather params.layers.0.wq</a>"));
  EXPECT_TRUE(has(page, "\">all_gather params.layers.1.wq</a>"));
}

TEST(Comparison, ShowsWhatOneLacks) {
  Report kept = makeReportFixture(2, true), other = makeReportFixture(2, true);
  other.timeline.slices[0].name = "all_gather again";
  std::string page = print(kept, other);
  EXPECT_TRUE(has(page, "#flow=0.0\">all_gather params.layers.0.wq</a>"));
  EXPECT_TRUE(has(page, "#flow=1.0\">all_gather again</a>"));
}

TEST(Comparison, EqualSchedules) {
  Report report = makeReportFixture(2, true);
  std::string page = print(report, report);
  EXPECT_TRUE(has(page, "Both schedules take"));
  EXPECT_TRUE(has(page, "Each collective is exposed for the same time"));
}

} // namespace
