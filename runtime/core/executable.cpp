// SPDX-License-Identifier: Apache-2.0

// dlopen with local symbols: a program's functions must neither see nor
// replace those of the process or of another program.

#include "core/executable.h"

#include "core/processor.h"
#include "core/program_file.h"

#include <cstdlib>
#include <dlfcn.h>

namespace weft::rt {

Result<std::unique_ptr<Executable>> Executable::load(const std::string &path) {
  // Loading runs the file's code: what can be known before is checked before.
  Result<std::unique_ptr<ProgramFile>> file = ProgramFile::read(path);
  if (!file.ok())
    return file.status();
  WEFT_RT_RETURN_IF_ERROR(checkProcessor((*file)->program()));
  // A name without a slash would be looked up in the library path.
  char *real = realpath(path.c_str(), nullptr);
  if (!real)
    return ioError(format("cannot load %s: no such file", quote(path).c_str()));
  void *handle = dlopen(real, RTLD_NOW | RTLD_LOCAL);
  std::free(real);
  if (!handle)
    return Status(WEFT_RT_INCOMPATIBLE,
                  format("cannot load %s: %s", quote(path).c_str(), dlerror()));
  void *symbol = dlsym(handle, "weft_program");
  if (!symbol) {
    dlclose(handle);
    return Status(WEFT_RT_INCOMPATIBLE,
                  format("cannot load %s: it does not define weft_program",
                         quote(path).c_str()));
  }
  return std::unique_ptr<Executable>(
      new Executable(handle, static_cast<const weft_rt_program *>(symbol)));
}

Executable::~Executable() { dlclose(handle); }

} // namespace weft::rt
