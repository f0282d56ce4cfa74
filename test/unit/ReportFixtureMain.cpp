// SPDX-License-Identifier: Apache-2.0

// Writes a page of a made-up schedule, for the tests in a browser:
//   weft-report-fixture OUTPUT.html LAYERS [compare]

#include "ReportFixture.h"

#include "llvm/ADT/StringRef.h"

#include <cstdlib>

using namespace mlir::weft;

int main(int argc, char **argv) {
  if (argc < 3) {
    llvm::errs() << "usage: weft-report-fixture OUTPUT.html LAYERS [compare]\n";
    return 2;
  }
  std::error_code error;
  llvm::raw_fd_ostream os(argv[1], error);
  if (error) {
    llvm::errs() << argv[1] << ": " << error.message() << "\n";
    return 1;
  }
  int layers = std::atoi(argv[2]);
  if (argc > 3 && llvm::StringRef(argv[3]) == "compare")
    writeComparison(makeReportFixture(layers, true),
                    makeReportFixture(layers, false), os);
  else
    writeReport(makeReportFixture(layers, true), os);
  return 0;
}
