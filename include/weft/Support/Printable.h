// SPDX-License-Identifier: Apache-2.0

// Text for a terminal: names come from files of others, and must not move the
// cursor or turn the direction of writing.

#ifndef WEFT_SUPPORT_PRINTABLE_H
#define WEFT_SUPPORT_PRINTABLE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace mlir::weft {

/// The text with control characters but those of lines and tabs, those that
/// turn the direction of writing, and bytes that are not UTF-8 as \xNN.
std::string makePrintable(llvm::StringRef text);

/// A stream that makes what is written to it printable, and passes it on. It is
/// written out line by line, and at the end.
class PrintableStream : public llvm::raw_ostream {
public:
  explicit PrintableStream(llvm::raw_ostream &target)
      : raw_ostream(/*unbuffered=*/true), target(target) {}
  ~PrintableStream() override;

  /// Passes on what has no end of line yet.
  void finish();

private:
  void write_impl(const char *data, size_t size) override;
  uint64_t current_pos() const override { return position; }

  llvm::raw_ostream &target;
  std::string line;
  uint64_t position = 0;
};

} // namespace mlir::weft

#endif // WEFT_SUPPORT_PRINTABLE_H
