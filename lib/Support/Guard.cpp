// SPDX-License-Identifier: Apache-2.0

// Signals that ask the tool to end are passed on to the child, and to the
// linker that it may run: they have a process group of their own. Where the
// standard input is a terminal they stay in its group, as they could not read
// from it otherwise; there Ctrl-C reaches them directly.

#include "weft/Support/Guard.h"

#include "weft/Support/TemporaryFile.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int kEndingSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

volatile pid_t child = 0;
bool hasOwnGroup = false;
volatile sig_atomic_t passedOn = 0;

void passOn(int number) {
  passedOn = number;
  if (child > 0)
    kill(hasOwnGroup ? -child : child, number);
}

void setHandlers(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  for (int number : kEndingSignals) {
    struct sigaction old = {};
    sigaction(number, nullptr, &old);
    // Who started the tool may have it ignore a signal, as nohup does.
    if (old.sa_handler != SIG_IGN)
      sigaction(number, &action, nullptr);
  }
}

/// Without a limit, a recursion that does not end would fill the memory.
void limitStack() {
  constexpr rlim_t most = rlim_t(64) << 20;
  rlimit limit;
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur <= most)
    return;
  limit.rlim_cur = most;
  setrlimit(RLIMIT_STACK, &limit);
}

/// What was printed may only now be found not to fit on the disk.
int finishOutput(llvm::StringRef tool, int code) {
  llvm::outs().flush();
  if (!llvm::outs().has_error())
    return code;
  llvm::errs() << tool << ": error: cannot write the standard output: "
               << llvm::outs().error().message() << "\n";
  llvm::outs().clear_error();
  return std::max(code, 1);
}

/// The work, in the child.
[[noreturn]] void work(llvm::StringRef tool, llvm::function_ref<int()> body) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  setHandlers(SIG_DFL);
  limitStack();
  std::exit(finishOutput(tool, body()));
}

/// Waits for the child's end, and then for all that it started: a linker that
/// heeds the signal later than the child could make a file again that is to go.
int waitForEnd() {
  siginfo_t info;
  while (waitid(P_PID, child, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
    ;
  if (hasOwnGroup)
    kill(-child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  if (hasOwnGroup)
    while (waitpid(-child, nullptr, 0) > 0 || errno == EINTR)
      ;
  return status;
}

/// Ends this process by the signal that ended its child.
void endLike(int number) {
  signal(number, SIG_DFL);
  raise(number);
}

int reportEnd(llvm::StringRef tool, int number) {
  llvm::errs() << tool << ": error: ended by ";
  if (const char *name = sigabbrev_np(number))
    llvm::errs() << "SIG" << name;
  else
    llvm::errs() << "signal " << number;
  llvm::errs() << (number == SIGSEGV || number == SIGBUS
                       ? "; is the module nested too deeply, or wrong in a "
                         "way that ends MLIR's parser?\n"
                       : "\n");
  return 1;
}

} // namespace

int mlir::weft::runGuarded(llvm::StringRef tool,
                           llvm::function_ref<int()> body) {
  llvm::outs().flush();
  setHandlers(passOn);
  hasOwnGroup = !isatty(STDIN_FILENO);
  shareTemporaryNames();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  child = fork();
  if (hasOwnGroup && child >= 0)
    setpgid(child, 0); // by whoever comes first
  if (child < 0) {
    llvm::errs() << tool
                 << ": error: cannot start a process: " << std::strerror(errno)
                 << "\n";
    return 1;
  }
  if (child == 0)
    work(tool, body);
  int status = waitForEnd();
  removeSharedTemporaries();
  if (WIFEXITED(status)) {
    // While one thread of the child heeds the signal, another may see the
    // linker ended by it, and end the child as after any failure.
    if (passedOn && WEXITSTATUS(status) != 0)
      endLike(passedOn);
    return WEXITSTATUS(status);
  }
  int number = WTERMSIG(status);
  if (std::find(std::begin(kEndingSignals), std::end(kEndingSignals), number) !=
          std::end(kEndingSignals) ||
      number == SIGPIPE)
    endLike(number);
  return reportEnd(tool, number);
}
