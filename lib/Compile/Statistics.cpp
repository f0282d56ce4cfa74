// SPDX-License-Identifier: Apache-2.0

// Figures that other parts compute, as text.

#include "Statistics.h"

#include "weft/Analysis/PlanSummary.h"
#include "weft/Analysis/Traffic.h"
#include "weft/Schedule/Figures.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::weft;

/// Collectives that are named because they are waited for longest.
static constexpr int kNumExposed = 8;

/// Buffers that are named at the peak.
static constexpr unsigned kNumOwners = 10;

static void printTraffic(ModuleOp module, raw_ostream &os) {
  int64_t count = 0, bytes = 0;
  os << "bytes that each rank receives in a step:\n";
  auto line = [&](const Twine &name, int64_t count, int64_t bytes) {
    os << "  " << llvm::left_justify(name.str(), 40)
       << llvm::format("%6lld tensors %14lld B\n",
                       static_cast<long long>(count),
                       static_cast<long long>(bytes));
  };
  for (const TrafficEntry &entry : computeTraffic(module)) {
    std::string axes;
    llvm::raw_string_ostream(axes) << entry.axes;
    line(stringifyCollectiveKind(entry.kind) + " " +
             StringRef(axes).drop_front(StringRef("#weft.axes").size()),
         entry.count, entry.bytes);
    count += entry.count;
    bytes += entry.bytes;
  }
  line("total", count, bytes);
}

void mlir::weft::printStatistics(ModuleOp module, raw_ostream &os) {
  printTraffic(module, os);
  for (auto func : module.getOps<func::FuncOp>())
    printSchedule(func, kNumExposed, os);
}

void mlir::weft::printMemory(func::FuncOp planned, raw_ostream &os) {
  printPlan(summarizePlan(planned), kNumOwners, os);
}
