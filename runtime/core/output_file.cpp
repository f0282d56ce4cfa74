// SPDX-License-Identifier: Apache-2.0

// The temporary file is in the target's directory, so that renaming it is one
// step of the file system.

#include "core/output_file.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::rt {
namespace {

Status writeError(const std::string &path) {
  return ioError(
      format("cannot write %s: %s", quote(path).c_str(), std::strerror(errno)));
}

/// The file that a path means: links are followed when it exists.
Result<std::string> resolveTarget(const std::string &path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0)
    return path;
  if (!S_ISREG(info.st_mode))
    return ioError("cannot write " + quote(path) + ": not a regular file");
  if (access(path.c_str(), W_OK) != 0)
    return writeError(path);
  char *real = realpath(path.c_str(), nullptr);
  if (!real)
    return writeError(path);
  std::string target = real;
  std::free(real);
  return target;
}

/// Creates a file beside the target under a name that is not taken.
int createBeside(const std::string &target, std::string &name) {
  for (int i = 0; i < 100; ++i) {
    name = format("%s.%d-%d.tmp", target.c_str(), int(getpid()), i);
    int descriptor =
        ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST)
      return descriptor;
  }
  return -1;
}

} // namespace

Result<std::unique_ptr<OutputFile>>
OutputFile::create(const std::string &path) {
  Result<std::string> target = resolveTarget(path);
  if (!target.ok())
    return target.status();
  std::unique_ptr<OutputFile> file(new OutputFile());
  file->target = *target;
  std::string name;
  file->descriptor = createBeside(*target, name);
  if (file->descriptor < 0)
    return writeError(path);
  file->temporary = name;
  return file;
}

OutputFile::~OutputFile() {
  if (descriptor >= 0)
    ::close(descriptor);
  if (!temporary.empty())
    unlink(temporary.c_str());
}

Status OutputFile::append(const void *data, int64_t count) {
  auto *at = static_cast<const char *>(data);
  while (count > 0) {
    ssize_t written = ::write(descriptor, at, count);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return writeError(target);
    at += written;
    count -= written;
  }
  return Status();
}

Status OutputFile::commit() {
  int closed = ::close(descriptor);
  descriptor = -1;
  if (closed != 0 || std::rename(temporary.c_str(), target.c_str()) != 0)
    return writeError(target);
  temporary.clear();
  return Status();
}

Status writeFile(const std::string &path, const std::string &text) {
  Result<std::unique_ptr<OutputFile>> file = OutputFile::create(path);
  if (!file.ok())
    return file.status();
  WEFT_RT_RETURN_IF_ERROR((*file)->append(text));
  return (*file)->commit();
}

Status checkWritable(const std::string &path) {
  return OutputFile::create(path).status();
}

} // namespace weft::rt
