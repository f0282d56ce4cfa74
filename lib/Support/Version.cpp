// SPDX-License-Identifier: Apache-2.0

// The version comes from the build, so that it stands in one place.

#include "weft/Support/Version.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/PrettyStackTrace.h"

#include <csignal>

using namespace mlir;

llvm::StringRef weft::getVersion() { return WEFT_VERSION; }

void weft::printVersion(llvm::raw_ostream &os) {
  os << "weft " << getVersion() << " (MLIR " << LLVM_VERSION_STRING << ")\n";
}

void weft::initTool() {
  llvm::setBugReportMsg(
      "weft crashed. Please report this as a bug of weft, with the input, the "
      "command line and the lines below.\n");
  llvm::cl::SetVersionPrinter(printVersion);
  // A file that is larger than allowed (ulimit -f) is an error of the write.
  std::signal(SIGXFSZ, SIG_IGN);
}
