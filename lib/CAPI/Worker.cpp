// SPDX-License-Identifier: Apache-2.0

// The request, the outcome and what the worker prints are files in memory, so
// that nobody waits for anybody to read. The worker holds one end of a pipe,
// and is gone when the other end says so. It leads a process group, as it may
// run a linker, and so that Ctrl-C of a terminal reaches the caller alone.

#include "Worker.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir::weft;

namespace {

/// A descriptor that is closed at the end, above those that the worker gets.
class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int given) {
    if (given < 0)
      return;
    number = fcntl(given, F_DUPFD_CLOEXEC, 10);
    int problem = errno == EINVAL ? EMFILE : errno; // the limit is below 10
    close(given);
    errno = problem;
  }
  ~Descriptor() { reset(); }
  Descriptor(Descriptor &&other) : number(other.number) { other.number = -1; }
  Descriptor &operator=(Descriptor &&other) {
    std::swap(number, other.number);
    return *this;
  }
  void reset() {
    if (number >= 0)
      close(number);
    number = -1;
  }
  bool isOpen() const { return number >= 0; }
  int get() const { return number; }

private:
  int number = -1;
};

bool writeAll(int descriptor, llvm::StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR)
      return false;
    bytes = bytes.drop_front(std::max<ssize_t>(written, 0));
  }
  return true;
}

std::string readAll(int descriptor) {
  std::string bytes;
  char block[1 << 16];
  for (off_t at = 0;;) {
    ssize_t count = pread(descriptor, block, sizeof(block), at);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return bytes;
    bytes.append(block, count);
    at += count;
  }
}

Outcome makeError(const Request &request, const llvm::Twine &message) {
  Outcome outcome;
  outcome.reports.push_back(
      {WEFT_SEVERITY_ERROR, request.name, 1, 1, message.str()});
  return outcome;
}

/// The program lies beside this library, or in the folder of programs beside
/// the library's.
std::string findWorker() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&weft_compile), &info))
    return "";
  llvm::StringRef folder = llvm::sys::path::parent_path(info.dli_fname);
  for (llvm::StringRef place : {"weft-worker", "../bin/weft-worker"}) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, place);
    if (llvm::sys::fs::can_execute(path))
      return path.str().str();
  }
  return "";
}

/// A running worker.
class Worker {
public:
  /// Starts it; returns what went wrong, or an empty text.
  std::string start(const Request &request);
  /// Waits until it is gone; false if it was stopped because `poll` said so.
  bool wait(weft_poll poll, void *user);
  /// What it left: an outcome, or why there is none.
  Outcome finish(const Request &request);

private:
  std::string spawn(const std::string &program);
  bool isGone(int milliseconds);
  void stop();
  std::string describeEnd() const;

  Descriptor input, output, messages, lifeline, otherEnd;
  pid_t process = -1;
  int status = 0;
  bool hasStatus = false;
};

std::string Worker::start(const Request &request) {
  std::string program = findWorker();
  if (program.empty())
    return "there is no program weft-worker beside libweft";
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0)
    return std::strerror(errno);
  lifeline = Descriptor(ends[0]);
  otherEnd = Descriptor(ends[1]);
  input = Descriptor(memfd_create("weft-request", MFD_CLOEXEC));
  output = Descriptor(memfd_create("weft-outcome", MFD_CLOEXEC));
  messages = Descriptor(memfd_create("weft-messages", MFD_CLOEXEC));
  if (!lifeline.isOpen() || !otherEnd.isOpen() || !input.isOpen() ||
      !output.isOpen() || !messages.isOpen() ||
      !writeAll(input.get(), encode(request)))
    return std::strerror(errno);
  return spawn(program);
}

std::string Worker::spawn(const std::string &program) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, messages.get(), 1);
  posix_spawn_file_actions_adddup2(&files, messages.get(), 2);
  posix_spawn_file_actions_adddup2(&files, input.get(), kRequestFile);
  posix_spawn_file_actions_adddup2(&files, output.get(), kOutcomeFile);
  posix_spawn_file_actions_adddup2(&files, otherEnd.get(), kLifeline);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP |
                                            POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  char *const arguments[] = {const_cast<char *>(program.c_str()), nullptr};
  int error = posix_spawn(&process, program.c_str(), &files, &attributes,
                          arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  otherEnd.reset();
  return error ? std::strerror(error) : "";
}

bool Worker::isGone(int milliseconds) {
  pollfd end = {lifeline.get(), POLLIN, 0};
  return ::poll(&end, 1, milliseconds) > 0;
}

/// Gives it the time to remove its temporary files.
void Worker::stop() {
  kill(-process, SIGTERM);
  if (!isGone(1000))
    kill(-process, SIGKILL);
}

bool Worker::wait(weft_poll poll, void *user) {
  constexpr int pollMilliseconds = 50;
  bool isStopped = false;
  while (!isStopped && !isGone(pollMilliseconds))
    isStopped = poll && poll(user) != 0;
  if (isStopped)
    stop();
  pid_t waited;
  while ((waited = waitpid(process, &status, 0)) < 0 && errno == EINTR)
    ;
  // A host that ignores its children's ends never learns of them.
  hasStatus = waited == process;
  return !isStopped;
}

std::string Worker::describeEnd() const {
  if (!hasStatus)
    return "the compiler ended without a word";
  if (!WIFSIGNALED(status))
    return "the compiler ended with exit code " +
           std::to_string(WEXITSTATUS(status));
  int number = WTERMSIG(status);
  const char *name = sigabbrev_np(number);
  std::string text = "the compiler was ended by ";
  text += name ? "SIG" + std::string(name) : std::to_string(number);
  if (number == SIGSEGV || number == SIGBUS)
    text += "; is the module nested too deeply, or wrong in a way that ends "
            "MLIR's parser?";
  return text;
}

Outcome Worker::finish(const Request &request) {
  std::string said = readAll(messages.get());
  (void)writeAll(STDERR_FILENO, said);
  if (std::optional<Outcome> outcome = decodeOutcome(readAll(output.get())))
    return *outcome;
  llvm::StringRef last = llvm::StringRef(said).trim().rsplit('\n').second;
  if (last.empty())
    last = llvm::StringRef(said).trim();
  return makeError(request,
                   describeEnd() + (last.empty() ? "" : ": " + last.str()));
}

} // namespace

Outcome mlir::weft::compileInWorker(const Request &request, weft_poll poll,
                                    void *user) {
  Worker worker;
  std::string problem = worker.start(request);
  if (!problem.empty())
    return makeError(request, "cannot start the compiler: " + problem);
  if (worker.wait(poll, user))
    return worker.finish(request);
  Outcome interrupted;
  interrupted.status = WEFT_INTERRUPTED;
  return interrupted;
}
