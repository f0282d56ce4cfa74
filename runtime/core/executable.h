// SPDX-License-Identifier: Apache-2.0

// A compiled step in a shared object: loaded privately,
// unloaded when the last owner goes. Its table and all that the table points
// to live as long as this object. What is loaded is the file that has the name
// now, also beside an older one that had it.

#ifndef WEFT_RT_CORE_EXECUTABLE_H
#define WEFT_RT_CORE_EXECUTABLE_H

#include "core/status.h"

#include <memory>
#include <string>

namespace weft::rt {

/// A loaded shared object with a weft_program.
class Executable {
public:
  /// Loads the file and finds the table, which the session checks.
  static Result<std::unique_ptr<Executable>> load(const std::string &path);

  ~Executable();
  Executable(const Executable &) = delete;
  Executable &operator=(const Executable &) = delete;

  const weft_rt_program &program() const { return *table; }

private:
  Executable() = default;

  Status open(const std::string &path);

  void *handle = nullptr;
  const weft_rt_program *table = nullptr;
  /// Keeps the name by which a replaced file's successor was loaded.
  int descriptor = -1;
  /// The name by which the loader knows it; empty: by the descriptor.
  std::string name;
};

} // namespace weft::rt

#endif // WEFT_RT_CORE_EXECUTABLE_H
