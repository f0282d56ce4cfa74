// SPDX-License-Identifier: Apache-2.0

// Files that are gone when the process ends, also by a signal.

#ifndef WEFT_SUPPORT_TEMPORARYFILE_H
#define WEFT_SUPPORT_TEMPORARYFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <string>
#include <system_error>

namespace mlir::weft {

/// A file that this object owns. It is removed at the end of its life unless it
/// was kept, and if a signal ends the process at any moment between: its name
/// is noted before there is a file, and forgotten after it is gone.
class TemporaryFile {
public:
  TemporaryFile() = default;
  TemporaryFile(TemporaryFile &&other);
  TemporaryFile &operator=(TemporaryFile &&) = delete;
  ~TemporaryFile();

  /// Makes an empty file of a name that is not taken: each % of the model is
  /// replaced by a random digit.
  std::error_code create(const llvm::Twine &model, unsigned mode = 0666);
  /// Makes one in the system's folder for such files, with a suffix, that
  /// nobody else may read.
  std::error_code createInSystemFolder(llvm::StringRef suffix);

  /// Its path; empty if there is none.
  const std::string &getPath() const { return path; }

  /// Renames it, over a file that may be there. It belongs to nobody then.
  std::error_code keep(llvm::StringRef target);

private:
  std::string path;
};

/// Has the names of temporary files noted where a process that is started from
/// now on shares them with this one.
void shareTemporaryNames();

/// Removes the files of which the names are still noted there: by the process
/// that shared them, once those that could make such a file again have ended.
void removeSharedTemporaries();

} // namespace mlir::weft

#endif // WEFT_SUPPORT_TEMPORARYFILE_H
