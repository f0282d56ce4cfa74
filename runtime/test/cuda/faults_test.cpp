// SPDX-License-Identifier: Apache-2.0

// What a person sees when something below the CUDA backend is missing, too old,
// too small, or fails: one line that names it, and an end within seconds.
// Each case is a process of its own, cuda-step, over the stand-ins.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <dlfcn.h>
#include <string>
#include <sys/wait.h>

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

namespace {

struct Ending {
  int code;
  std::string text;
};

/// Runs cuda-step with variables of the environment; 124: it did not end.
Ending step(const std::string &environment, const std::string &words = "2",
            const std::string &folder = WEFT_RT_EMULATED_CUDA) {
  std::string command = "env LD_LIBRARY_PATH='" + folder + "' " + environment +
                        " timeout 30 " WEFT_RT_CUDA_STEP " " + words + " 2>&1";
  FILE *pipe = popen(command.c_str(), "r");
  std::string text;
  char buffer[512];
  while (size_t count = std::fread(buffer, 1, sizeof(buffer), pipe))
    text.append(buffer, count);
  int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

std::string plainName(const std::string &function) {
  size_t version = function.rfind("_v");
  return version == std::string::npos ? function : function.substr(0, version);
}

void expectLine(const Ending &run, int code, const std::string &part) {
  EXPECT_EQ(run.code, code) << run.text;
  // One line.
  EXPECT_THAT(run.text,
              AllOf(MatchesRegex("error: [^\n]*\n"), HasSubstr(part)));
}

TEST(CudaStep, ComputesOnOneGpuAndOnSeveral) {
  for (const char *gpus : {"1", "4"})
    for (const char *words : {"1 3", "2 3", "4 3"}) {
      Ending run = step(
          std::string("EMULATED_GPU_DELAYS=5 EMULATED_GPUS=") + gpus, words);
      EXPECT_EQ(run.text, "ok\n") << gpus << " GPUs, " << words;
    }
}

/// Every function that is called before or in a step.
TEST(CudaFaults, AFailedCallIsNamed) {
  const char *functions[] = {
#define WEFT_CUDA_FUNCTION(name, ...) #name,
#include "backends/cuda/driver_functions.def"
#define WEFT_CUBLASLT_FUNCTION(name, ...) #name,
#include "backends/cuda/cublaslt_functions.def"
#define WEFT_NCCL_FUNCTION(name, ...) #name,
#define WEFT_NCCL_TEXT(name, ...)
#include "backends/cuda/nccl_functions.def"
  };
  // What cleans up, what says what failed, what only looks, and what this step
  // does not call.
  const std::string others =
      " cuGetErrorName cuGetErrorString cuDevicePrimaryCtxRelease_v2 "
      "cuCtxPushCurrent_v2 cuCtxPopCurrent_v2 cuMemFree_v2 cuMemFreeHost "
      "cuStreamDestroy_v2 cuEventDestroy_v2 cuEventQuery cuModuleUnload "
      "cublasLtDestroy cublasLtMatmulDescDestroy cublasLtMatrixLayoutDestroy "
      "cublasLtMatmulPreferenceDestroy cublasLtMatrixLayoutSetAttribute "
      "ncclCommDestroy ncclCommAbort ncclReduceScatter ncclSend ncclRecv ";
  for (std::string function : functions) {
    if (others.find(" " + function + " ") != std::string::npos)
      continue;
    for (const char *gpus : {"1", "2"}) {
      Ending run =
          step("EMULATED_GPU_ERROR=" + function + ":1:1 EMULATED_GPUS=" + gpus);
      bool isOfNccl = function.compare(0, 4, "nccl") == 0;
      if (isOfNccl && *gpus == '1') {
        EXPECT_EQ(run.text, "ok\n");
        continue;
      }
      EXPECT_THAT(run.code, AnyOf(1, 3)) << function;
      EXPECT_THAT(run.text, AllOf(MatchesRegex("error: [^\n]*\n"),
                                  HasSubstr(plainName(function) + ": ")));
    }
  }
}

/// In the middle of a step of many.
TEST(CudaFaults, ALaterFailureEndsTheStepToo) {
  for (const char *function :
       {"cuLaunchKernel", "cuEventRecord", "cuStreamWaitEvent",
        "cuMemcpyDtoDAsync_v2", "cuStreamQuery", "cublasLtMatmul"})
    for (const char *call : {":2:719", ":7:719", ":12:719"}) {
      Ending run =
          step("EMULATED_GPU_ERROR=" + std::string(function) + call, "2 20");
      EXPECT_THAT(run.code, AnyOf(1, 3)) << function << call;
      EXPECT_THAT(run.text, AllOf(MatchesRegex("error: [^\n]*\n"),
                                  HasSubstr(plainName(function))));
    }
}

TEST(CudaFaults, MissingLibraries) {
  if (!dlopen("libcuda.so.1", RTLD_NOW))
    expectLine(step("", "2", "/nowhere"), 1,
               "backend 'cuda' does not find libcuda.so.1 (the NVIDIA driver): "
               "install the driver of this machine's GPU");
  expectLine(step("", "2", WEFT_RT_EMULATED_NOTHING), 1,
             "libcuda.so.1 (the NVIDIA driver) has no function cuInit: it is "
             "too old, update it");
}

TEST(CudaFaults, WhatIsTooOld) {
  expectLine(step("EMULATED_GPU_DRIVER=11040"), 1,
             "the NVIDIA driver is for CUDA 11.4, expected 12.0 or newer");
  expectLine(step("EMULATED_NCCL_VERSION=21403 EMULATED_GPUS=2"), 1,
             "NCCL is of version 2.14, expected 2.18 or newer");
  expectLine(step("EMULATED_GPU_ERROR=cuInit:1:34"), 1,
             "libcuda.so.1 is the stub to link with, not a driver");
}

TEST(CudaFaults, ImagesThatDoNotFit) {
  expectLine(step("EMULATED_GPU_ERROR=cuModuleLoadDataEx:2:209"), 1,
             "it was compiled for another GPU; compile it for this one");
  expectLine(step("EMULATED_GPU_ERROR=cuModuleLoadDataEx:2:222"), 1,
             "its PTX is newer than the driver; update the driver");
}

TEST(CudaFaults, NumbersOfGpus) {
  expectLine(step("EMULATED_GPUS=0"), 1,
             "backend 'cuda' finds no GPU: look at nvidia-smi");
  expectLine(step("EMULATED_GPUS=2", "4"), 1,
             "program 'step' is for 4 ranks, and there are 2 GPUs");
}

TEST(CudaFaults, TooLittleMemory) {
  expectLine(step("EMULATED_GPU_MEMORY=1000"), 1,
             "2 of the program's ranks need 0.00 GiB (1152 bytes) on GPU 0 "
             "(emulated, sm_90)");
  // Enough for the program, but not for what contractions need beside it.
  expectLine(step("EMULATED_GPU_MEMORY=40000000"), 1,
             "cuMemAlloc: out of memory (CUDA_ERROR_OUT_OF_MEMORY)");
}

TEST(CudaFaults, AHangEndsAtTheDeadline) {
  for (const char *gpus : {"1", "2"}) {
    Ending run =
        step(std::string("EMULATED_GPU_HANG=1 EMULATED_GPUS=") + gpus, "2 1 1");
    expectLine(run, 3, "all_reduce 'total' on channel 'reduce.a': rank");
    EXPECT_THAT(run.text, HasSubstr("waited 1 s for rank"));
  }
}

/// Each event that the backend waits for is needed: without it, some order of
/// events gives other results. A step of two ranks has 8, on one GPU and on
/// two.
TEST(CudaMutants, DelaysFindEachDroppedWait) {
  for (std::string gpus : {"EMULATED_GPUS=1 ", "EMULATED_GPUS=2 "}) {
    for (int wait = 1; wait <= 8; ++wait) {
      bool isFound = false;
      for (int seed = 1; seed <= 100 && !isFound; ++seed)
        isFound = step(gpus + "EMULATED_GPU_DROP_WAIT=" + std::to_string(wait) +
                       " EMULATED_GPU_DELAYS=" + std::to_string(seed))
                      .code == 4;
      EXPECT_TRUE(isFound) << gpus << "wait " << wait;
    }
    for (int seed = 1; seed <= 20; ++seed)
      EXPECT_EQ(step(gpus + "EMULATED_GPU_DELAYS=" + std::to_string(seed)).text,
                "ok\n");
  }
}

} // namespace
