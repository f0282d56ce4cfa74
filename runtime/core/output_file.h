// SPDX-License-Identifier: Apache-2.0

// A file that appears whole or not at all. Opening it makes a temporary file
// beside the target, so that a path that cannot be written is found before
// hours of work; `commit` gives it its name. Without a commit the temporary
// file is removed and the target stays as it was. A character device, as
// /dev/null, is written to as it is.

#ifndef WEFT_RT_CORE_OUTPUT_FILE_H
#define WEFT_RT_CORE_OUTPUT_FILE_H

#include "core/status.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace weft::rt {

/// A file that is being written.
class OutputFile {
public:
  static Result<std::unique_ptr<OutputFile>> create(const std::string &path);

  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  /// Writes the next `count` bytes.
  Status append(const void *data, int64_t count);
  Status append(const std::string &text) {
    return append(text.data(), text.size());
  }

  /// Closes the file and gives it its name.
  Status commit();

  const std::string &path() const { return target; }

private:
  OutputFile() = default;

  std::string target, temporary; // no temporary: a device
  int descriptor = -1;
};

/// Creates, fills and commits a file.
Status writeFile(const std::string &path, const std::string &text);

/// Has signals that end the process remove the temporary files of all that are
/// being written; a limit on their size is an error, and no signal.
void removeTemporaryFilesOnSignals();

/// Removes them now, without allocating memory.
void removeTemporaryFiles();

/// A file that a command line names, and the option that names it.
struct NamedPath {
  const char *option;
  std::string path;
};

/// Fails if two outputs are one file, or an output is an input: by the same
/// path, or by links. Empty paths are not there; devices may be written by
/// several.
Status checkDistinct(const std::vector<NamedPath> &outputs,
                     const std::vector<NamedPath> &inputs);

/// Fails if a file could not be written under this path.
Status checkWritable(const std::string &path);

} // namespace weft::rt

#endif // WEFT_RT_CORE_OUTPUT_FILE_H
