// SPDX-License-Identifier: Apache-2.0

// What a person sees when something below the CUDA backend is missing, too old,
// too small, or fails: one line that names it, and an end within seconds.
// Each case is a process of its own, cuda-step, over the stand-ins.

#include "run_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

namespace {

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

/// A profile has the times of the device, not those in which calls are
/// enqueued.
TEST(CudaStep, AProfileHasTheDevicesTimes) {
  for (const char *words : {"1 3 20 profile", "2 3 20 profile streams"}) {
    Ending run = step("EMULATED_GPU_KERNEL=20", words);
    int milliseconds = 0;
    EXPECT_EQ(std::sscanf(run.text.c_str(), "weft_test_add: %d ms\nok\n",
                          &milliseconds),
              1)
        << run.text;
    EXPECT_GE(milliseconds, 20) << words;
  }
}

/// With delays after which an op that waits for nothing comes too early or
/// late.
TEST(CudaStep, HasOpsOnTheStreamOfAChannel) {
  for (const char *gpus : {"1", "4"})
    for (const char *delays : {"", "EMULATED_GPU_DELAYS=5 "})
      for (const char *words :
           {"1 4 20 streams", "2 6 20 streams", "4 6 20 streams",
            "2 6 20 streams scalar", "2 6 20 streams no-graphs",
            "4 6 20 streams scalar no-graphs"}) {
        Ending run =
            step(delays + ("EMULATED_GPUS=" + std::string(gpus)), words);
        EXPECT_EQ(run.text, "ok\n") << gpus << " GPUs, " << delays << words;
      }
}

/// Some delays show it, which they are depends on the machine.
TEST(CudaMutants, NeedsEachEvent) {
  constexpr int kMaxSeeds = 60;
  for (const char *gpus : {"1", "4"})
    for (const char *words :
         {"4 20 20 streams drop=0", "4 20 20 streams drop=1",
          "4 20 20 streams no-graphs drop=0",
          "4 20 20 streams no-graphs drop=1"}) {
      bool isWrong = false;
      for (int seed = 1; seed <= kMaxSeeds && !isWrong; ++seed)
        isWrong = step("EMULATED_GPU_DELAYS=" + std::to_string(seed) +
                           " EMULATED_GPUS=" + gpus,
                       words)
                      .text == "wrong\n";
      EXPECT_TRUE(isWrong) << gpus << " GPUs, " << words;
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
#define WEFT_NCCL_OPTIONAL(name, ...)
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
      "cuGraphDestroy cuGraphExecDestroy cuMemcpyAsync "
      "ncclCommDestroy ncclCommAbort ncclReduceScatter ncclSend ncclRecv ";
  for (std::string function : functions) {
    if (others.find(" " + function + " ") != std::string::npos)
      continue;
    for (const char *gpus : {"1", "2"}) {
      // Graphs are made where each rank has a GPU, in the second step.
      bool isOfGraphs = function.find("Graph") != std::string::npos ||
                        function.find("Capture") != std::string::npos;
      Ending run =
          step("EMULATED_GPU_ERROR=" + function + ":1:1 EMULATED_GPUS=" + gpus,
               isOfGraphs ? "2 3" : "2");
      bool isOfNccl = function.compare(0, 4, "nccl") == 0;
      if ((isOfNccl || isOfGraphs) && *gpus == '1') {
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

/// While the communicators are made, or later. A step without graphs asks four
/// times, and more often where it waits, so that the call is always met.
TEST(CudaFaults, WhatNcclNoticesEndsTheStep) {
  for (const char *call : {":9:6", ":15:6"}) {
    Ending run = step(std::string("EMULATED_GPU_ERROR=ncclCommGetAsyncError") +
                          call + " EMULATED_GPUS=2",
                      "2 6 5 no-graphs");
    EXPECT_THAT(run.text, HasSubstr("ncclCommGetAsyncError: told to fail"));
  }
}

/// Also in a graph, whose kernels are launched once: a step of two ranks has
/// four, as each adds and unpacks.
TEST(CudaFaults, AHangEndsAtTheDeadline) {
  for (const char *where : {"EMULATED_GPU_HANG=1 EMULATED_GPUS=1",
                            "EMULATED_GPU_HANG=1 EMULATED_GPUS=2",
                            "EMULATED_GPU_HANG=3 EMULATED_GPUS=2"}) {
    Ending run = step(where, "2 3 1");
    expectLine(run, 3, "all_reduce 'total' on channel 'reduce.a': rank");
    EXPECT_THAT(run.text, HasSubstr("waited 1 s for rank"));
  }
}

// ---- registered buffers ----------------------------------------------------

/// Once for each rank and communicator, and taken back from the same one.
TEST(CudaRegistration, EachCommunicatorKnowsItsRanksMemory) {
  const std::string report = "EMULATED_NCCL_REPORT=1 EMULATED_GPUS=2";
  for (const char *words : {"2 5 20 register", "2 5 20 register no-graphs"})
    EXPECT_THAT(step(report, words).text,
                MatchesRegex("(registered 1, deregistered 1\n)+ok\n"));
  EXPECT_THAT(step(report, "2 5").text,
              MatchesRegex("(registered 0, deregistered 0\n)+ok\n"));
  // There is no NCCL between ranks that share a GPU.
  EXPECT_EQ(step("EMULATED_NCCL_REPORT=1", "2 3 20 register").text, "ok\n");
}

TEST(CudaRegistration, FailuresAreOneLine) {
  for (const char *call : {":1:1", ":2:1"})
    expectLine(step(std::string("EMULATED_GPU_ERROR=ncclCommRegister") + call +
                        " EMULATED_GPUS=2",
                    "2 3 20 register"),
               1, "channel 'reduce.a': ncclCommRegister: told to fail");
  const std::string old = WEFT_RT_EMULATED_OLD ":" WEFT_RT_EMULATED_CUDA;
  expectLine(step("EMULATED_GPUS=2", "2 3 20 register", old), 1,
             "NCCL has no ncclCommRegister, which --register-buffers asks for: "
             "update it to 2.19 or newer");
  EXPECT_EQ(step("EMULATED_GPUS=2", "2 3", old).text, "ok\n");
}

// ---- graphs ----------------------------------------------------------------

/// A step is captured when it is met for the second time.
TEST(CudaGraphs, AStepIsOneLaunch) {
  for (const char *seed : {"", "EMULATED_GPU_DELAYS=3 "})
    for (const char *gpus : {"2", "4"}) {
      std::string environment =
          std::string(seed) + "CUDA_STEP_GRAPHS=1 " + "EMULATED_GPUS=" + gpus;
      Ending run = step(environment, std::string(gpus) + " 6");
      EXPECT_EQ(run.text, "1 graphs, 5 launches, 45 of 54 calls\nok\n");
    }
  EXPECT_EQ(step("CUDA_STEP_GRAPHS=1", "1 6").text,
            "1 graphs, 5 launches, 45 of 54 calls\nok\n");
}

TEST(CudaGraphs, AScalarThatIsReadEndsAChain) {
  for (const char *seed : {"", "EMULATED_GPU_DELAYS=3 "}) {
    Ending run = step(std::string(seed) + "CUDA_STEP_GRAPHS=1 EMULATED_GPUS=2",
                      "2 16 20 scalar");
    // Before it one chain, and two after it, one of them met in each seventh
    // step.
    EXPECT_EQ(run.text, "3 graphs, 29 launches, 144 of 158 calls\nok\n");
  }
}

TEST(CudaGraphs, WhyNothingIsCaptured) {
  EXPECT_EQ(step("CUDA_STEP_GRAPHS=1 EMULATED_GPUS=2", "2 3 20 no-graphs").text,
            "0 graphs, 0 launches, 0 of 0 calls: --no-graphs\nok\n");
  EXPECT_EQ(step("CUDA_STEP_GRAPHS=1", "2 3").text,
            "0 graphs, 0 launches, 0 of 0 calls: ranks share a GPU, and the "
            "last one to start a collective enqueues it for all\nok\n");
}

/// Edges are what the events say: without one of them the capture is refused,
/// or some order of the graph's nodes gives other results. Of the 11 waits of a
/// captured step of one rank, after the 4 of the step before, two are for the
/// watchdog's eyes alone.
TEST(CudaMutants, DelaysFindEachDroppedEdge) {
  for (int wait : {6, 7, 9, 10, 11, 12, 13, 14, 15}) {
    bool isFound = false;
    for (int seed = 1; seed <= 60 && !isFound; ++seed)
      isFound = step("EMULATED_GPU_DROP_WAIT=" + std::to_string(wait) +
                         " EMULATED_GPU_DELAYS=" + std::to_string(seed),
                     "1 3")
                    .code != 0;
    EXPECT_TRUE(isFound) << "wait " << wait;
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
