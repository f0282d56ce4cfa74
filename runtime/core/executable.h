// SPDX-License-Identifier: Apache-2.0

// A compiled step in a shared object: loaded privately,
// unloaded when the last owner goes. Its table and all that the table points
// to live as long as this object.

#ifndef WEFT_RT_CORE_EXECUTABLE_H
#define WEFT_RT_CORE_EXECUTABLE_H

#include "core/status.h"

#include <memory>

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
  Executable(void *handle, const weft_rt_program *table)
      : handle(handle), table(table) {}

  void *handle;
  const weft_rt_program *table;
};

} // namespace weft::rt

#endif // WEFT_RT_CORE_EXECUTABLE_H
