// SPDX-License-Identifier: Apache-2.0

// What goes between libweft and the process that compiles for it: a request and
// an outcome, as numbers and texts one after the other. Both ends are of one
// build, so that there is no version; an outcome ends with a mark, so that one
// that was cut off is not taken for a whole one.

#ifndef WEFT_LIB_CAPI_RECORDS_H
#define WEFT_LIB_CAPI_RECORDS_H

#include "weft-c/Weft.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir::weft {

/// What to compile. `toText`: the output is text that is returned.
struct Request {
  std::string input, name;
  std::vector<std::string> arguments;
  bool toText = false;
};

/// A diagnostic, or a note of the one before.
struct Report {
  weft_severity severity = WEFT_SEVERITY_ERROR;
  std::string file;
  int line = 0, column = 0;
  std::string message;
};

struct Outcome {
  weft_status status = WEFT_ERROR;
  std::vector<Report> reports;
  std::string text;
};

std::string encode(const Request &request);
std::string encode(const Outcome &outcome);

/// Nothing if the bytes are not a whole record.
std::optional<Request> decodeRequest(llvm::StringRef bytes);
std::optional<Outcome> decodeOutcome(llvm::StringRef bytes);

} // namespace mlir::weft

#endif // WEFT_LIB_CAPI_RECORDS_H
