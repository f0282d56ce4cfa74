// SPDX-License-Identifier: Apache-2.0

// Runs cuda-step over the stand-ins, once or as the processes of a job.

#ifndef WEFT_RT_TEST_CUDA_RUN_STEP_H
#define WEFT_RT_TEST_CUDA_RUN_STEP_H

#include <cstdio>
#include <string>
#include <sys/wait.h>
#include <vector>

/// How a process ended; 124: it did not.
struct Ending {
  int code;
  std::string text;
};

/// One that runs.
class RunningStep {
public:
  RunningStep(const std::string &environment, const std::string &words,
              const std::string &folder = WEFT_RT_EMULATED_CUDA) {
    std::string command = "env LD_LIBRARY_PATH='" + folder + "' " +
                          environment + " timeout 60 " WEFT_RT_CUDA_STEP " " +
                          words + " 2>&1";
    pipe = popen(command.c_str(), "r");
  }

  Ending finish() {
    std::string text;
    char buffer[512];
    while (size_t count = std::fread(buffer, 1, sizeof(buffer), pipe))
      text.append(buffer, count);
    int status = pclose(pipe);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
  }

private:
  FILE *pipe;
};

inline Ending step(const std::string &environment,
                   const std::string &words = "2",
                   const std::string &folder = WEFT_RT_EMULATED_CUDA) {
  return RunningStep(environment, words, folder).finish();
}

#endif // WEFT_RT_TEST_CUDA_RUN_STEP_H
