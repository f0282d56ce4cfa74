// SPDX-License-Identifier: Apache-2.0

// Where the values of a JSON text stand, for messages about them: the parser
// does not keep it.

#ifndef WEFT_COST_JSONLINES_H
#define WEFT_COST_JSONLINES_H

#include "llvm/ADT/StringRef.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace mlir::weft {

/// How deep brackets and braces of a text are nested. Parsers recurse as deep.
int getJsonDepth(llvm::StringRef text);

/// The line, from 1 on, on which each value of a valid JSON text begins, by its
/// path: "" for the whole, "a.b[2]" for a field.
std::map<std::string, int> getJsonLines(llvm::StringRef text);

/// The first field of a valid JSON text that its object has twice, and the line
/// of the second: parsers keep one of the two and say nothing.
std::optional<std::pair<std::string, int>>
findRepeatedField(llvm::StringRef text);

} // namespace mlir::weft

#endif // WEFT_COST_JSONLINES_H
