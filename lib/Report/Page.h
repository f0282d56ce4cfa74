// SPDX-License-Identifier: Apache-2.0

// The parts that both pages are put together from. All figures stand in the
// HTML itself: scripts add the drawings.

#ifndef WEFT_LIB_REPORT_PAGE_H
#define WEFT_LIB_REPORT_PAGE_H

#include "Summary.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::weft {

/// A table's column: its heading, and whether it holds numbers.
struct Column {
  llvm::StringRef heading;
  bool isNumber = false;
};

class Page {
public:
  explicit Page(llvm::raw_ostream &os) : os(os) {}

  /// Writes a document with `body` inside; `reports` are its data.
  void writeDocument(llvm::StringRef title,
                     llvm::ArrayRef<const Report *> reports,
                     llvm::function_ref<void()> body);
  /// Writes a section with a heading and a paragraph of plain text.
  void writeSection(llvm::StringRef id, llvm::StringRef heading,
                    llvm::StringRef text, llvm::function_ref<void()> body);
  /// Writes a table that scrolls in its own box if it is long. Cells are HTML.
  void writeTable(llvm::StringRef id, llvm::StringRef caption,
                  llvm::ArrayRef<Column> columns,
                  llvm::function_ref<void()> rows);
  /// One row of it; the first cell is the row's heading.
  void writeRow(llvm::ArrayRef<Column> columns,
                llvm::ArrayRef<std::string> cells);
  /// A figure with its name, and a line that explains it.
  void writeFigure(llvm::StringRef name, llvm::StringRef value,
                   llvm::StringRef note);
  /// The places that the scripts draw into: timeline, memory, arena.
  void writeTimeline();
  void writeMemory();

  llvm::raw_ostream &os;
};

/// A link that shows the slice of a flow in the timeline; `schedule` is 0 or 1.
std::string linkToFlow(size_t schedule, const Slice &slice);

/// "best on h100, mesh fsdp=2, tp=4, rank 0", as HTML.
std::string describeReport(const Report &report);

/// What bounds the step, with its parts: "compute 1 ms, busiest channel ...".
std::string describeBound(const Report &report, const ReportSummary &summary);

} // namespace mlir::weft

#endif // WEFT_LIB_REPORT_PAGE_H
