// SPDX-License-Identifier: Apache-2.0

// dlopen with local symbols: a program's functions must neither see nor
// replace those of the process or of another program. The loader knows files
// by their names: while one is loaded, it gives that to whoever asks for its
// name, also if another file has the name by then.

#include "core/executable.h"

#include "core/processor.h"
#include "core/program_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>

namespace weft::rt {

namespace {

/// A file, and which of its contents.
struct FileIdentity {
  dev_t device;
  ino_t number;
  off_t size;
  timespec written;

  bool isSameFile(const FileIdentity &other) const {
    return device == other.device && number == other.number;
  }
  bool isUnchanged(const FileIdentity &other) const {
    return size == other.size && written.tv_sec == other.written.tv_sec &&
           written.tv_nsec == other.written.tv_nsec;
  }
};

/// What the loader knows by a name, and how many executables that is.
struct LoadedName {
  FileIdentity file;
  int count;
};

struct LoadedNames {
  std::mutex lock;
  std::unordered_map<std::string, LoadedName> names;
};

LoadedNames &loaded() {
  static auto *all = new LoadedNames;
  return *all;
}

Status cannotLoad(const std::string &path, const char *why,
                  weft_rt_status code = WEFT_RT_INCOMPATIBLE) {
  return Status(code, format("cannot load %s: %s", quote(path).c_str(), why));
}

} // namespace

Result<std::unique_ptr<Executable>> Executable::load(const std::string &path) {
  // Loading runs the file's code: what can be known before is checked before.
  Result<std::unique_ptr<ProgramFile>> file = ProgramFile::read(path);
  if (!file.ok())
    return file.status();
  WEFT_RT_RETURN_IF_ERROR(checkProcessor((*file)->program()));
  std::unique_ptr<Executable> executable(new Executable());
  WEFT_RT_RETURN_IF_ERROR(executable->open(path));
  executable->table = static_cast<const weft_rt_program *>(
      dlsym(executable->handle, "weft_program"));
  if (!executable->table)
    return cannotLoad(path, "it does not define weft_program");
  return executable;
}

Status Executable::open(const std::string &path) {
  // A name without a slash would be looked up in the library path.
  char *real = realpath(path.c_str(), nullptr);
  if (!real)
    return cannotLoad(path, "no such file", WEFT_RT_IO);
  std::string own = real;
  std::free(real);
  descriptor = ::open(own.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (descriptor < 0 || fstat(descriptor, &info) != 0)
    return cannotLoad(path, std::strerror(errno), WEFT_RT_IO);
  FileIdentity found{info.st_dev, info.st_ino, info.st_size, info.st_mtim};
  std::lock_guard<std::mutex> guard(loaded().lock);
  auto &names = loaded().names;
  auto known = names.find(own);
  bool isKnown = known != names.end();
  bool isReplaced = isKnown && !found.isSameFile(known->second.file);
  if (isKnown && !isReplaced && !found.isUnchanged(known->second.file))
    return cannotLoad(path, "it was written over while a program that was "
                            "loaded from it is there; remove it first, or "
                            "write another file");
  // A name that no other file has for as long as the descriptor is open.
  std::string opened =
      isReplaced ? "/proc/self/fd/" + std::to_string(descriptor) : own;
  handle = dlopen(opened.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return cannotLoad(path, dlerror());
  if (!isReplaced) {
    name = own;
    ++names.try_emplace(own, LoadedName{found, 0}).first->second.count;
  }
  return Status();
}

Executable::~Executable() {
  std::lock_guard<std::mutex> guard(loaded().lock);
  if (handle)
    dlclose(handle);
  if (descriptor >= 0)
    ::close(descriptor);
  auto known = loaded().names.find(name);
  if (known != loaded().names.end() && --known->second.count == 0)
    loaded().names.erase(known);
}

} // namespace weft::rt
