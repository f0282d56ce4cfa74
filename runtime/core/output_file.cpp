// SPDX-License-Identifier: Apache-2.0

// The temporary file is in the target's directory, so that renaming it is one
// step of the file system.

#include "core/output_file.h"

#include <atomic>
#include <cerrno>
#include <csignal>
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

/// Temporary files that are there, for a handler of signals. A name stays in
/// its place until the file has its own, or is gone.
constexpr int maxTemporaries = 16;
std::atomic<const char *> temporaries[maxTemporaries];

/// Notes a temporary file, if there is room; there is for those of a tool.
void noteTemporary(const char *name) {
  for (auto &place : temporaries) {
    const char *none = nullptr;
    if (place.compare_exchange_strong(none, name))
      return;
  }
}

void forgetTemporary(const char *name) {
  for (auto &place : temporaries) {
    const char *expected = name;
    place.compare_exchange_strong(expected, nullptr);
  }
}

constexpr int endingSignals[] = {SIGINT, SIGTERM, SIGHUP};

/// Keeps signals away from this thread while it lives.
class SignalBlock {
public:
  SignalBlock() {
    sigset_t ending;
    sigemptyset(&ending);
    for (int number : endingSignals)
      sigaddset(&ending, number);
    pthread_sigmask(SIG_BLOCK, &ending, &before);
  }
  ~SignalBlock() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

private:
  sigset_t before;
};

/// The file that a path means: links are followed when it exists.
Result<std::string> resolveTarget(const std::string &path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 && lstat(path.c_str(), &info) == 0)
    return ioError("cannot write " + quote(path) +
                   ": a link that leads to no file");
  if (stat(path.c_str(), &info) != 0)
    return path;
  if (S_ISCHR(info.st_mode))
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

bool isDevice(const std::string &path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISCHR(info.st_mode);
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
  if (isDevice(*target)) {
    file->descriptor = ::open(target->c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (file->descriptor < 0)
      return writeError(path);
    return file;
  }
  SignalBlock block;
  std::string name;
  file->descriptor = createBeside(*target, name);
  if (file->descriptor < 0)
    return writeError(path);
  file->temporary = name;
  noteTemporary(file->temporary.c_str());
  return file;
}

OutputFile::~OutputFile() {
  if (descriptor >= 0)
    ::close(descriptor);
  if (!temporary.empty())
    unlink(temporary.c_str());
  forgetTemporary(temporary.c_str());
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
  if (closed != 0)
    return writeError(target);
  if (temporary.empty())
    return Status();
  SignalBlock block;
  if (std::rename(temporary.c_str(), target.c_str()) != 0)
    return writeError(target);
  forgetTemporary(temporary.c_str());
  temporary.clear();
  return Status();
}

void removeTemporaryFiles() {
  for (auto &place : temporaries)
    if (const char *name = place.load())
      unlink(name);
}

namespace {

/// Ends the process as the signal would have, without temporary files.
void onEndingSignal(int number) {
  removeTemporaryFiles();
  signal(number, SIG_DFL);
  raise(number);
}

} // namespace

void removeTemporaryFilesOnSignals() {
  // A file that is larger than allowed (ulimit -f) is an error of the write.
  signal(SIGXFSZ, SIG_IGN);
  struct sigaction action = {};
  action.sa_handler = onEndingSignal;
  for (int number : endingSignals) {
    struct sigaction before = {};
    sigaction(number, nullptr, &before);
    // Who started the tool may have it ignore a signal, as nohup does.
    if (before.sa_handler != SIG_IGN)
      sigaction(number, &action, nullptr);
  }
}

namespace {

/// What a file is known by: its number if it is there, or else its folder's and
/// its name.
struct Identity {
  bool isThere = false, isDevice = false;
  dev_t device = 0;
  ino_t number = 0;
  std::string name;

  bool operator==(const Identity &other) const {
    return isThere == other.isThere && device == other.device &&
           number == other.number && name == other.name;
  }
};

Identity identify(const std::string &path) {
  Identity result;
  struct stat info = {};
  result.isThere = stat(path.c_str(), &info) == 0;
  result.isDevice = result.isThere && S_ISCHR(info.st_mode);
  if (!result.isThere) {
    size_t slash = path.rfind('/');
    std::string folder =
        slash == std::string::npos ? "." : path.substr(0, slash + 1);
    result.name = path.substr(slash + 1);
    if (stat(folder.c_str(), &info) != 0)
      result.name = path;
  }
  result.device = info.st_dev;
  result.number = info.st_ino;
  return result;
}

} // namespace

Status checkDistinct(const std::vector<NamedPath> &outputs,
                     const std::vector<NamedPath> &inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].path.empty())
      continue;
    Identity own = identify(outputs[i].path);
    if (own.isDevice)
      continue;
    for (size_t other = 0; other < i; ++other)
      if (!outputs[other].path.empty() && identify(outputs[other].path) == own)
        return invalid(format("%s and %s name one file: %s and %s",
                              outputs[other].option, outputs[i].option,
                              quote(outputs[other].path).c_str(),
                              quote(outputs[i].path).c_str()));
    for (const NamedPath &input : inputs)
      if (!input.path.empty() && identify(input.path) == own)
        return invalid(format("%s would write over %s: %s and %s are one file",
                              outputs[i].option, input.option,
                              quote(outputs[i].path).c_str(),
                              quote(input.path).c_str()));
  }
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
