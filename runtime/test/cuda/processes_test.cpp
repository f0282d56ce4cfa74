// SPDX-License-Identifier: Apache-2.0

// Jobs of several processes on this machine, each cuda-step over the stand-ins:
// what they compute together, and how all of them end when one of them does
// something wrong, dies, or never comes.

#include "run_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

namespace {

int freePort() {
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr *>(&address), size), 0);
  getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size);
  close(listener);
  return ntohs(address.sin_port);
}

/// What torchrun says to a process.
std::string torchrun(int process, int count, int port) {
  std::string number = std::to_string(process);
  return "RANK=" + number + " LOCAL_RANK=" + number +
         " WORLD_SIZE=" + std::to_string(count) +
         " MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(port) + " ";
}

/// A job's processes; `extra` adds to what one of them is started with.
struct Extra {
  int process = -1;
  std::string environment, words;
};
std::vector<Ending> job(int processes, const std::string &environment,
                        const std::string &words, const Extra &extra = {},
                        int absent = -1) {
  int port = freePort();
  std::vector<RunningStep> running;
  for (int process = 0; process < processes; ++process) {
    bool isTheOne = process == extra.process;
    if (process != absent)
      running.emplace_back(torchrun(process, processes, port) + environment +
                               (isTheOne ? " " + extra.environment : ""),
                           words + (isTheOne ? " " + extra.words : ""));
  }
  std::vector<Ending> endings;
  for (RunningStep &one : running)
    endings.push_back(one.finish());
  return endings;
}

void expectLines(const std::vector<Ending> &endings, int code,
                 const std::string &part) {
  for (const Ending &run : endings) {
    EXPECT_EQ(run.code, code) << run.text;
    EXPECT_THAT(run.text,
                AllOf(MatchesRegex("error: [^\n]*\n"), HasSubstr(part)));
  }
}

TEST(CudaProcesses, ComputeTogether) {
  for (const char *words : {"2 3", "2 3 20 no-graphs", "2 9 20 scalar"})
    for (const Ending &run :
         job(2, "EMULATED_GPUS=2 EMULATED_GPU_DELAYS=3", words))
      EXPECT_EQ(run.text, "ok\n") << words;
  for (const Ending &run : job(4, "EMULATED_GPUS=4", "4 3"))
    EXPECT_EQ(run.text, "ok\n");
}

TEST(CudaProcesses, MayHaveSeveralRanksEach) {
  for (const Ending &run : job(2, "EMULATED_GPUS=4", "4 3"))
    EXPECT_EQ(run.text, "ok\n");
}

/// As srun --gpus-per-task=1 starts them.
TEST(CudaProcesses, MaySeeTheirOwnGpuAlone) {
  for (const Ending &run :
       job(2, "EMULATED_GPUS=1", "2 3", {1, "EMULATED_GPU_FIRST=1", ""}))
    EXPECT_EQ(run.text, "ok\n");
}

TEST(CudaProcesses, AreMetAsMpirunAndSrunSayIt) {
  for (std::string kind : {"mpirun", "srun"}) {
    std::vector<RunningStep> running;
    for (int process = 0; process < 2; ++process) {
      std::string number = std::to_string(process);
      std::string job = std::to_string(getpid());
      running.emplace_back(
          (kind == "mpirun"
               ? "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=2 "
                 "OMPI_COMM_WORLD_RANK=" +
                     number + " OMPI_COMM_WORLD_LOCAL_RANK=" + number +
                     " PMIX_NAMESPACE=" + job
               : "SLURM_NTASKS=2 SLURM_NNODES=1 SLURM_STEP_ID=0 SLURM_PROCID=" +
                     number + " SLURM_LOCALID=" + number +
                     " SLURM_JOB_ID=" + job) +
              " EMULATED_GPUS=2",
          "2 2");
    }
    for (RunningStep &one : running)
      EXPECT_EQ(one.finish().text, "ok\n") << kind;
  }
}

TEST(CudaProcesses, AllEndWhenOneIsKilled) {
  for (const char *graphs : {"", " no-graphs"})
    for (int victim : {0, 1, 2}) {
      std::vector<Ending> endings =
          job(3, "EMULATED_GPUS=3", std::string("3 50 5") + graphs,
              {victim, "", "kill=4"});
      EXPECT_EQ(endings[size_t(victim)].text, "Killed\n");
      endings.erase(endings.begin() + victim);
      expectLines(endings, 3, "rank " + std::to_string(victim) + " is gone");
    }
}

/// Also where NCCL notices it, too.
TEST(CudaProcesses, NcclsNoticesAreNotFirst) {
  std::vector<Ending> endings =
      job(3, "EMULATED_GPUS=3 EMULATED_NCCL_NOTICES=1", "3 50 5",
          {1, "", "kill=4"});
  expectLines({endings[0], endings[2]}, 3, "rank 1 is gone");
}

TEST(CudaProcesses, OneThatNeverComesIsNamed) {
  expectLines(job(3, "EMULATED_GPUS=3", "3 1 1", {}, /*absent=*/2), 3,
              "rank 2 did not come to the rendezvous at 127.0.0.1:");
  expectLines(job(2, "EMULATED_GPUS=2", "2 1 1", {}, /*absent=*/0), 3,
              "rank 0 is not there within 1 s: Connection refused");
}

TEST(CudaProcesses, OneThatHangsIsNamed) {
  for (const char *graphs : {"", " no-graphs"})
    expectLines(job(3, "EMULATED_GPUS=3", std::string("3 3 2") + graphs,
                    {1, "EMULATED_GPU_HANG=1", ""}),
                3, "for rank 1, in the group of ranks 0, 1, 2");
}

TEST(CudaProcesses, AFailureIsToldToAll) {
  std::vector<Ending> endings =
      job(3, "EMULATED_GPUS=3", "3 3 5",
          {1, "EMULATED_GPU_ERROR=cuLaunchKernel:2:719", ""});
  expectLines(endings, 3, "rank 1: kernel 'weft_test_add': cuLaunchKernel: ");
}

TEST(CudaProcesses, OneThatLeavesBeforeTheOthersIsNamed) {
  int port = freePort();
  RunningStep first(torchrun(0, 2, port) + "EMULATED_GPUS=2", "2 3 5");
  RunningStep other(torchrun(1, 2, port) + "EMULATED_GPUS=2", "2 1 5");
  Ending ending = first.finish();
  EXPECT_EQ(ending.code, 3);
  EXPECT_THAT(ending.text, HasSubstr("rank 1 has left the job"));
  EXPECT_THAT(other.finish().code, AnyOf(0, 3));
}

TEST(CudaProcesses, WhatDoesNotFitTogetherIsSaid) {
  expectLines(job(2, "EMULATED_GPUS=2", "2 1 5", {1, "", "plan=7"}), 1,
              "rank 0 and rank 1 have different plans: 00");
  expectLines(job(2, "EMULATED_GPUS=1", "2 1 5"), 1,
              "rank 0 and rank 1 have the same GPU on '");
  expectLines(job(2, "EMULATED_GPUS=2", "3 1 5"), 1,
              "program 'step' is for 3 ranks, which 2 processes cannot share "
              "evenly");
  std::vector<Ending> endings = job(4, "EMULATED_GPUS=3", "4 1 5");
  expectLines(endings, 1, "process 3 of this machine");
  EXPECT_THAT(endings[3].text, HasSubstr("needs GPU 3 for rank 3, and there "
                                         "are 3: start fewer processes here"));
  EXPECT_THAT(endings[0].text, HasSubstr("rank 3: process 3"));
}

TEST(CudaProcesses, TooLittleMemoryOnOneEndsAll) {
  expectLines(
      job(2, "EMULATED_GPUS=2", "2 1 5", {1, "EMULATED_GPU_MEMORY=100", ""}), 1,
      "of the program's ranks need 0.00 GiB");
}

TEST(CudaProcesses, WrongNumbersAreSaid) {
  auto one = [](const std::string &environment) {
    return std::vector<Ending>{step(environment + " EMULATED_GPUS=2", "2 1 1")};
  };
  expectLines(one("RANK=2 WORLD_SIZE=2"), 1,
              "RANK in the environment is '2', expected a number from 0 to 1");
  expectLines(one("RANK=0 WORLD_SIZE=two"), 1,
              "WORLD_SIZE in the environment is 'two', expected a number from "
              "1 to 65536");
  expectLines(one("WORLD_SIZE=2"), 1,
              "WORLD_SIZE is 2 in the environment, and RANK is not set");
  expectLines(one("RANK=0 WORLD_SIZE=2"), 1,
              "this is process 0 of 2, and nothing says where process 0 is");
  expectLines(one("RANK=0 WORLD_SIZE=2 MASTER_ADDR=localhost"), 1,
              "MASTER_ADDR is 'localhost' in the environment, and MASTER_PORT "
              "is not set");
  int port = freePort();
  RunningStep first(torchrun(0, 3, port) + "EMULATED_GPUS=2", "3 1 5");
  RunningStep other(torchrun(1, 2, port) + "EMULATED_GPUS=2", "2 1 5");
  expectLines({first.finish(), other.finish()}, 1,
              "process 1 says that the job has 2 processes, and process 0 that "
              "it has 3");
}

} // namespace
