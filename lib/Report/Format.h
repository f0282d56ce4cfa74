// SPDX-License-Identifier: Apache-2.0

// Numbers as people read them, and text that is safe inside HTML. The scripts
// of the page have the same functions (units.js) and give the same text.

#ifndef WEFT_LIB_REPORT_FORMAT_H
#define WEFT_LIB_REPORT_FORMAT_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace mlir::weft {

/// "812.4 µs": four digits, in the unit that leaves one to three before the
/// point. Nanoseconds are never cut.
std::string formatTime(int64_t nanoseconds);

/// "310.2 MiB", by the same rule, in powers of 1024.
std::string formatBytes(int64_t bytes);

/// "36,000".
std::string formatCount(int64_t count);

/// "0.52 %" of `part` in `whole`; "0 %" is exactly nothing. Cut, not rounded:
/// only all of it is "100 %".
std::string formatShare(int64_t part, int64_t whole);

/// A difference with its sign: "+1.250 ms", "−12 ns", "0 ns".
std::string formatTimeDifference(int64_t nanoseconds);
std::string formatBytesDifference(int64_t bytes);

/// Text for HTML, in elements and in attributes, without what turns the
/// direction of writing and what is not UTF-8 (see weft/Support/Printable.h).
std::string escapeHTML(llvm::StringRef text);

} // namespace mlir::weft

#endif // WEFT_LIB_REPORT_FORMAT_H
