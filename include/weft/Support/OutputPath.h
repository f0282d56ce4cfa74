// SPDX-License-Identifier: Apache-2.0

// Input and output files: checked before the work begins, and never seen
// half-written.

#ifndef WEFT_SUPPORT_OUTPUTPATH_H
#define WEFT_SUPPORT_OUTPUTPATH_H

#include "weft/Support/TemporaryFile.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <system_error>

namespace mlir::weft {

/// A file that a command line names, and the option that names it. An empty
/// path or "-" is no file.
struct NamedPath {
  llvm::StringRef option, path;
};

/// Returns why `path` cannot be read, or an empty text. "-" is the standard
/// input; other files have to be regular.
std::string checkInputPath(llvm::StringRef path);

/// Returns why a file at `path` cannot be written, or an empty text.
std::string checkOutputPath(llvm::StringRef path);

/// Returns which two outputs are one file, or which output is an input, by path
/// or by links; or an empty text. Devices may be written by several. An input
/// "-" is the file that the standard input reads, if it is one.
std::string checkDistinctPaths(llvm::ArrayRef<NamedPath> outputs,
                               llvm::ArrayRef<NamedPath> inputs);

/// Both for a tool whose command line MLIR reads, and which opens its output
/// before it reads its input: says so, and returns true, if `-o` names a file
/// that is another argument too, or the standard input, or if an argument is a
/// file that cannot be read.
bool refusePaths(llvm::StringRef tool, llvm::ArrayRef<const char *> arguments);

/// Says whether the path is that of a character device, such as /dev/null,
/// which is written to as it is.
bool isDevice(llvm::StringRef path);

/// A file beside its place, which it takes when all else has been written: of
/// several outputs there are all or none. A device is written to at once.
class StagedFile {
public:
  /// Writes the file. Returns what went wrong, or an empty text.
  std::string write(llvm::StringRef path,
                    llvm::function_ref<void(llvm::raw_ostream &)> write);
  /// Renames it, if one was written.
  std::string keep();

private:
  std::string describe(std::error_code error) const;

  std::string path, target;
  TemporaryFile file;
};

/// Writes a file beside `path` and renames it. Returns what went wrong, or an
/// empty text.
std::string
writeOutputFile(llvm::StringRef path,
                llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace mlir::weft

#endif // WEFT_SUPPORT_OUTPUTPATH_H
