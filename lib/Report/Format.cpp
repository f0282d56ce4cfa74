// SPDX-License-Identifier: Apache-2.0

// The numbers and texts of reports. No locale takes part: the same value gives
// the same text everywhere.

#include "Format.h"

#include "weft/Support/Printable.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::weft;
using llvm::ArrayRef;
using llvm::StringRef;

/// Between a number and its unit.
static constexpr const char *space = "\u00a0";
static constexpr const char *minus = "\u2212";

/// Prints `value` with four digits in the first unit in which it is below
/// `step`, or in the last.
static std::string formatScaled(int64_t value, double step,
                                ArrayRef<StringRef> units) {
  if (value < 0)
    return minus +
           formatScaled(value == INT64_MIN ? INT64_MAX : -value, step, units);
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (value < static_cast<int64_t>(step)) {
    stream << value << space << units.front();
    return text;
  }
  double scaled = static_cast<double>(value);
  size_t unit = 0;
  // 999.96 would be printed as 1000 of this unit.
  while (scaled >= step - 0.05 && unit + 1 < units.size()) {
    scaled /= step;
    ++unit;
  }
  int decimals = scaled < 9.9995 ? 3 : scaled < 99.995 ? 2 : 1;
  stream << llvm::format("%.*f", decimals, scaled) << space << units[unit];
  return text;
}

std::string mlir::weft::formatTime(int64_t nanoseconds) {
  return formatScaled(nanoseconds, 1000, {"ns", "\u00b5s", "ms", "s"});
}

std::string mlir::weft::formatBytes(int64_t bytes) {
  return formatScaled(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB"});
}

std::string mlir::weft::formatCount(int64_t count) {
  std::string digits = std::to_string(count);
  size_t first = count < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string mlir::weft::formatShare(int64_t part, int64_t whole) {
  if (part == 0 || whole <= 0)
    return std::string("0") + space + "%";
  if (part == whole)
    return std::string("100") + space + "%";
  double percent =
      100.0 * static_cast<double>(part) / static_cast<double>(whole);
  // Two decimals, cut. Far above 100 % they say nothing.
  int64_t hundredths = static_cast<int64_t>(percent * 100);
  if (hundredths == 0)
    return std::string("under 0.01") + space + "%";
  std::string text;
  llvm::raw_string_ostream(text)
      << (percent < 0 ? minus : "")
      << llvm::format("%.2f", static_cast<double>(std::abs(hundredths)) / 100)
      << space << "%";
  return text;
}

std::string mlir::weft::formatTimeDifference(int64_t nanoseconds) {
  return (nanoseconds > 0 ? "+" : "") + formatTime(nanoseconds);
}

std::string mlir::weft::formatBytesDifference(int64_t bytes) {
  return (bytes > 0 ? "+" : "") + formatBytes(bytes);
}

std::string mlir::weft::escapeHTML(StringRef text) {
  std::string escaped;
  for (char c : makePrintable(text)) {
    switch (c) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    case '\'':
      escaped += "&#39;";
      break;
    default:
      escaped += c;
    }
  }
  return escaped;
}
