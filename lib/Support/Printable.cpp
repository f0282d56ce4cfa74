// SPDX-License-Identifier: Apache-2.0

// Lines are made printable as wholes, so that no character is cut in two.

#include "weft/Support/Printable.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

using namespace mlir::weft;

namespace {

bool isControl(llvm::UTF32 code) {
  bool isKept = code == '\n' || code == '\t';
  bool turnsDirection = (code >= 0x202a && code <= 0x202e) ||
                        (code >= 0x2066 && code <= 0x2069) || code == 0x200e ||
                        code == 0x200f;
  bool endsLine = code == 0x2028 || code == 0x2029;
  return (code < 0x20 && !isKept) || (code >= 0x7f && code < 0xa0) ||
         turnsDirection || endsLine;
}

} // namespace

std::string mlir::weft::makePrintable(llvm::StringRef text) {
  std::string result;
  const auto *at = reinterpret_cast<const llvm::UTF8 *>(text.begin());
  const auto *end = reinterpret_cast<const llvm::UTF8 *>(text.end());
  while (at < end) {
    const llvm::UTF8 *begin = at;
    llvm::UTF32 code = 0;
    bool isValid =
        llvm::convertUTF8Sequence(&at, end, &code, llvm::strictConversion) ==
        llvm::conversionOK;
    if (!isValid)
      at = begin + 1;
    if (isValid && !isControl(code)) {
      result.append(begin, at);
      continue;
    }
    for (; begin < at; ++begin)
      result += "\\x" + llvm::utohexstr(*begin, /*LowerCase=*/true, 2);
  }
  return result;
}

PrintableStream::~PrintableStream() {
  flush();
  finish();
}

void PrintableStream::finish() {
  target << makePrintable(line);
  line.clear();
}

void PrintableStream::write_impl(const char *data, size_t size) {
  position += size;
  line.append(data, size);
  size_t end = line.rfind('\n');
  if (end == std::string::npos)
    return;
  target << makePrintable(llvm::StringRef(line).take_front(end + 1));
  line.erase(0, end + 1);
}
