// SPDX-License-Identifier: Apache-2.0

// The table of a program in a file, read without loading the file: nothing of
// it runs. Files may be damaged or hostile; every read stays within the file.

#ifndef WEFT_RT_CORE_PROGRAM_FILE_H
#define WEFT_RT_CORE_PROGRAM_FILE_H

#include "core/status.h"
#include "weft-rt/abi.h"

#include <memory>
#include <vector>

namespace weft::rt {

/// A copy of a program's table. Its entry is no function of the file: to run
/// the program, load it.
class ProgramFile {
public:
  /// Reads the shared object or executable, and checks the table and its
  /// checksum.
  static Result<std::unique_ptr<ProgramFile>> read(const std::string &path);

  ProgramFile(const ProgramFile &) = delete;
  ProgramFile &operator=(const ProgramFile &) = delete;

  const weft_rt_program &program() const { return table; }

private:
  ProgramFile() = default;

  weft_rt_program table = {};
  std::vector<std::unique_ptr<char[]>> storage; // what the table points to
};

} // namespace weft::rt

#endif // WEFT_RT_CORE_PROGRAM_FILE_H
